/*
 * perf_maker.h - perf.data files, written field by field in either byte order.
 *
 * One tracepoint (sched:sched_switch, ids 100 and 101 for CPU 0 and 1) and one sampled event
 * (cpu-clock, id 200), all records with thread, time, CPU and id at their end.
 */
#ifndef PERF_MAKER_H
#define PERF_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/perf/wire.h"

#define SWITCH_ID 372u
#define FORK_ID	  373u
#define MADE_MAX  (4u << 20)

/* IDENTIFIER, IP, TID, TIME, CPU, PERIOD; and RAW */
#define CLOCK_HAS                                                                          \
	(PERF_HAS_IDENTIFIER | PERF_HAS_IP | PERF_HAS_TID | PERF_HAS_TIME | PERF_HAS_CPU | \
	 PERF_HAS_PERIOD)
#define SWITCH_HAS (CLOCK_HAS | PERF_HAS_RAW)

/* Registers of a program and a copy of its stack, in samples: all of it where regs_user is set. */
struct made_copy {
	uint64_t regs_user; /* bits of the kernel */
	uint64_t abi;
	uint64_t regs[24]; /* index: bit */
	uint32_t room, used;
	uint8_t fill;
};

struct made {
	uint8_t *bytes;
	size_t at;
	bool swap;
	uint64_t more_has; /* of sample_type, of all events */
	bool is_old;	   /* version 1 */
	bool has_forks;	   /* sched:sched_process_fork was recorded, too */
	struct made_copy copy;
	char path[64];
};

static inline void put8(struct made *made, uint64_t number)
{
	number = made->swap ? __builtin_bswap64(number) : number;
	memcpy(made->bytes + made->at, &number, 8);
	made->at += 8;
}

static inline void put4(struct made *made, uint32_t number)
{
	number = made->swap ? __builtin_bswap32(number) : number;
	memcpy(made->bytes + made->at, &number, 4);
	made->at += 4;
}

static inline void put2(struct made *made, uint16_t number)
{
	number = made->swap ? __builtin_bswap16(number) : number;
	memcpy(made->bytes + made->at, &number, 2);
	made->at += 2;
}

static inline void put_bytes(struct made *made, const void *data, size_t bytes)
{
	memcpy(made->bytes + made->at, data, bytes);
	made->at += bytes;
}

/* With its zeros up to a multiple of 8. */
static inline void put_name(struct made *made, const char *name)
{
	size_t bytes = strlen(name) / 8 * 8 + 8;

	memset(made->bytes + made->at, 0, bytes);
	memcpy(made->bytes + made->at, name, strlen(name));
	made->at += bytes;
}

static inline size_t begin_record(struct made *made, uint32_t type, uint16_t misc)
{
	size_t start = made->at;

	put4(made, type);
	put2(made, misc);
	put2(made, 0);
	return start;
}

static inline void end_record(struct made *made, size_t start)
{
	size_t end = made->at;

	made->at = start + 6;
	put2(made, (uint16_t)(end - start));
	made->at = end;
}

/* Behind all records but samples: thread, time, CPU, id. */
static inline void put_tail(struct made *made, uint32_t tid, uint64_t time_ns, uint32_t cpu)
{
	put4(made, tid);
	put4(made, tid);
	put8(made, time_ns);
	put4(made, cpu);
	put4(made, 0);
	put8(made, 200);
}

/* The data of the tracepoint, with its length. */
static inline void put_switch_body(struct made *made, int32_t prev, int32_t next)
{
	char comm[16] = "one", other[16] = "two";

	put4(made, 68);
	put2(made, SWITCH_ID);
	made->bytes[made->at++] = 1; /* interrupts off */
	made->bytes[made->at++] = 2;
	put4(made, (uint32_t)prev);
	put_bytes(made, comm, 16);
	put4(made, (uint32_t)prev);
	put4(made, 120);
	put8(made, 1); /* sleeping */
	put_bytes(made, other, 16);
	put4(made, (uint32_t)next);
	put4(made, 120);
	put4(made, 0);
}

static inline void put_copy(struct made *made)
{
	const struct made_copy *copy = &made->copy;

	if (!copy->regs_user)
		return;
	put8(made, copy->abi);
	for (int bit = 0; copy->abi && bit < 24; bit++) {
		if (copy->regs_user >> bit & 1)
			put8(made, copy->regs[bit]);
	}
	put8(made, copy->room);
	memset(made->bytes + made->at, copy->fill, copy->room);
	made->at += copy->room;
	if (copy->room)
		put8(made, copy->used);
}

static inline void put_switch(struct made *made, uint64_t time_ns, uint32_t cpu, int32_t prev,
			      int32_t next)
{
	size_t start = begin_record(made, PERF_SAMPLE, 1);

	put8(made, 100 + cpu);
	put8(made, 0xffffffff81000000);
	put4(made, (uint32_t)prev);
	put4(made, (uint32_t)prev);
	put8(made, time_ns);
	put4(made, cpu);
	put4(made, 0);
	put8(made, 1);
	if (made->more_has & PERF_HAS_CALLCHAIN) {
		put8(made, made->copy.regs_user ? 3 : 5);
		put8(made, PERF_CONTEXT_KERNEL);
		put8(made, 0xffffffff81000010);
		put8(made, 0xffffffff81000020);
		if (!made->copy.regs_user) {
			put8(made, PERF_CONTEXT_USER);
			put8(made, 0x400000);
		}
	}
	put_switch_body(made, prev, next);
	put_copy(made);
	end_record(made, start);
}

static inline void put_clock(struct made *made, uint64_t time_ns, uint32_t cpu, int32_t tid)
{
	size_t start = begin_record(made, PERF_SAMPLE, 2);

	put8(made, 200);
	put8(made, 0x401000);
	put4(made, (uint32_t)tid);
	put4(made, (uint32_t)tid);
	put8(made, time_ns);
	put4(made, cpu);
	put4(made, 0);
	put8(made, 250000);
	if (made->more_has & PERF_HAS_CALLCHAIN)
		put8(made, 0);
	put_copy(made);
	end_record(made, start);
}

/* Code of a file, with a build-id of four bytes where 'has_id'. */
static inline void put_map(struct made *made, uint64_t time_ns, uint32_t tid, uint64_t start_at,
			   const char *path, bool has_id)
{
	size_t start = begin_record(made, PERF_MMAP2, (uint16_t)(2 | (has_id ? 1 << 14 : 0)));

	put4(made, tid);
	put4(made, tid);
	put8(made, start_at);
	put8(made, 0x1000);
	put8(made, 0x3000);
	if (has_id)
		put_bytes(made, "\4\0\0\0\xab\xcd\xef\1", 8);
	else
		put8(made, 0);
	put8(made, 0);
	put8(made, 0);
	put4(made, 5); /* read, execute */
	put4(made, 2);
	put_name(made, path);
	put_tail(made, tid, time_ns, 0);
	end_record(made, start);
}

static inline void put_comm(struct made *made, uint64_t time_ns, uint32_t tid, const char *name,
			    bool exec)
{
	size_t start = begin_record(made, PERF_COMM, exec ? PERF_MISC_COMM_EXEC : 0);

	put4(made, tid);
	put4(made, tid);
	put_name(made, name);
	put_tail(made, tid, time_ns, 0);
	end_record(made, start);
}

static inline void put_fork(struct made *made, uint64_t time_ns, const uint32_t ids[4])
{
	size_t start = begin_record(made, PERF_FORK, 0);

	for (int i = 0; i < 4; i++)
		put4(made, ids[i]); /* pid, parent, tid, thread of the parent */
	put8(made, time_ns);
	put_tail(made, ids[3], time_ns, 0);
	end_record(made, start);
}

static inline void put_lost(struct made *made, uint64_t time_ns, uint32_t cpu, uint64_t count)
{
	size_t start = begin_record(made, PERF_LOST, 0);

	put8(made, 100 + cpu);
	put8(made, count);
	put_tail(made, 0, time_ns, cpu);
	end_record(made, start);
}

/* Bytes of an attribute: those of the first version, or up to the registers. */
static inline uint32_t attr_bytes(const struct made *made)
{
	return made->copy.regs_user ? 96 : 64;
}

static inline void put_attr(struct made *made, uint32_t type, uint64_t config, uint64_t has)
{
	uint64_t flags = PERF_FLAG_SAMPLE_ID_ALL, mirrored = 0;
	bool big = made->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

	for (int bit = 0; bit < 64; bit++)
		mirrored |= (flags >> bit & 1) << (63 - bit);
	put4(made, type);
	put4(made, attr_bytes(made));
	put8(made, config);
	put8(made, 1);
	put8(made, has | made->more_has);
	put8(made, 0);
	put8(made, big ? mirrored : flags);
	for (int i = 0; i < 2; i++)
		put8(made, 0);
	if (!made->copy.regs_user)
		return;
	for (int i = 0; i < 2; i++)
		put8(made, 0);
	put8(made, made->copy.regs_user);
	put4(made, made->copy.room);
	put4(made, 0);
}

static const char switch_format[] =
	"name: sched_switch\nID: 372\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"%s:%d ==> %s:%d\", REC->prev_comm, REC->prev_pid, REC->next_comm, "
	"REC->next_pid\n";

static const char fork_format[] =
	"name: sched_process_fork\nID: 373\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:pid_t parent_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:pid_t child_pid;\toffset:12;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"%d %d\", REC->parent_pid, REC->child_pid\n";

static inline void put_section_text(struct made *made, const char *text)
{
	put8(made, strlen(text));
	put_bytes(made, text, strlen(text));
}

static inline void put_tracing(struct made *made)
{
	bool big = made->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

	put_bytes(made, "\x17\x08\x44tracing0.6", 14);
	made->at--;
	made->bytes[made->at++] = '6';
	made->bytes[made->at++] = 0;
	made->bytes[made->at++] = big;
	made->bytes[made->at++] = 8;
	put4(made, 4096);
	put_bytes(made, "header_page", 12);
	put_section_text(made, "page\n");
	put_bytes(made, "header_event", 13);
	put_section_text(made, "event\n");
	put4(made, 0);
	put4(made, 1);
	put_bytes(made, "sched", 6);
	put4(made, 1u + made->has_forks);
	put_section_text(made, switch_format);
	if (made->has_forks)
		put_section_text(made, fork_format);
	put4(made, 0);
	put4(made, 0);
	put8(made, 0);
}

static inline void made_init(struct made *made, bool swap)
{
	*made = (struct made){ .swap = swap, .bytes = calloc(1, MADE_MAX) };
	snprintf(made->path, sizeof(made->path), "/tmp/holdup-perf-XXXXXX");
	close(mkstemp(made->path));
}

static inline void made_fini(struct made *made)
{
	unlink(made->path);
	free(made->bytes);
}

static inline void made_save(const struct made *made, size_t bytes)
{
	FILE *file = fopen(made->path, "wb");

	if (!file || fwrite(made->bytes, 1, bytes, file) != bytes || fclose(file) != 0)
		abort();
}

/* Header and attributes of a file; the records follow. Returns where they begin. */
static inline size_t begin_file(struct made *made)
{
	size_t ids = PERF_FILE_HEADER;

	made->at = ids;
	put8(made, 100);
	put8(made, 101);
	put8(made, 200);
	put8(made, 300);
	put_attr(made, PERF_KIND_TRACEPOINT, SWITCH_ID, SWITCH_HAS);
	put8(made, ids);
	put8(made, 16);
	put_attr(made, PERF_KIND_SOFTWARE, 0, CLOCK_HAS);
	put8(made, ids + 16);
	put8(made, 8);
	if (made->has_forks) {
		put_attr(made, PERF_KIND_TRACEPOINT, FORK_ID, SWITCH_HAS);
		put8(made, ids + 24);
		put8(made, 8);
	}
	return made->at;
}

static inline void put_string(struct made *made, const char *text)
{
	put4(made, 64);
	memset(made->bytes + made->at, 0, 64);
	memcpy(made->bytes + made->at, text, strlen(text));
	made->at += 64;
}

/* The sections behind the records, and the header. Returns the length. */
static inline size_t end_file(struct made *made, size_t data)
{
	size_t data_end = made->at, sections = data_end, end;
	size_t at[4];
	const char *const words[] = { "perf", "record", "-a", "--", "/bin/work", "now" };

	made->at += 3 * 16;
	at[0] = made->at;
	put_tracing(made);
	at[1] = made->at;
	put_string(made, "x86_64");
	at[2] = made->at;
	put4(made, 6);
	for (int i = 0; i < 6; i++)
		put_string(made, words[i]);
	at[3] = end = made->at;
	made->at = sections;
	for (int i = 0; i < 3; i++) {
		put8(made, at[i]);
		put8(made, at[i + 1] - at[i]);
	}
	made->at = 0;
	put8(made, PERF_MAGIC);
	if (made->is_old)
		memcpy(made->bytes, "PERFFILE", 8);
	put8(made, PERF_FILE_HEADER);
	put8(made, attr_bytes(made) + 16);
	put8(made, PERF_FILE_HEADER + 32);
	put8(made, (made->has_forks ? 3 : 2) * (attr_bytes(made) + 16));
	put8(made, data);
	put8(made, data_end - data);
	put8(made, 0);
	put8(made, 0);
	put8(made, 1u << PERF_FEATURE_TRACING_DATA | 1u << PERF_FEATURE_ARCH |
			   1u << PERF_FEATURE_CMDLINE);
	made->at = end;
	return end;
}

#endif

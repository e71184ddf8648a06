/* dump.c - threads, and what the recording was of. */
#include "read/perf/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "read/perf/file.h"
#include "read/perf/scan.h"

#define COMM_MAX 16u
#define KTHREADD 2

static struct fact_thread *scan_thread(struct perf_scan *scan, int32_t tid, int32_t tgid)
{
	struct facts *facts = scan->file->facts;
	struct fact_thread *thread;
	bool is_new;
	uint64_t *index;

	if (tid <= 0 || (!map_find(&scan->threads, (uint64_t)tid) && !perf_scan_may_keep(scan)))
		return NULL;
	index = map_add(&scan->threads, (uint64_t)tid, &is_new);
	if (is_new) {
		*index = facts->thread_count;
		facts->threads = vec_room(facts->threads, facts->thread_count, &scan->thread_cap,
					  sizeof(*facts->threads));
		facts->threads[facts->thread_count++] = (struct fact_thread){
			.tid = tid,
			.comm = "",
			.cmdline = "",
			.cgroup = "",
			.policy = -1,
			.state = '?',
		};
	}
	thread = &facts->threads[*index];
	thread->tgid = tgid > 0 ? tgid : tid;
	return thread;
}

/* The name at 'at' of a record, without what stands behind. NULL = there is none. Free it. */
static char *perf_dump_text_at(const struct perf_record *record, const struct perf_attr *attr,
			       uint32_t at)
{
	uint32_t end = record->bytes - attr->tail_bytes;

	if (at >= end)
		return NULL;
	end = end - at < COMM_MAX ? end : at + COMM_MAX;
	return xstrndup((const char *)record->data + at, end - at);
}

static void take_comm(struct perf_scan *scan, const struct perf_record *record,
		      const struct perf_attr *attr)
{
	bool swap = scan->file->swap;
	char *comm = perf_dump_text_at(record, attr, 16);
	struct fact_thread *thread =
		comm ? scan_thread(scan, (int32_t)perf_u32(record->data + 12, swap),
				   (int32_t)perf_u32(record->data + 8, swap))
		     : NULL;

	if (thread && strcmp(thread->comm, comm) != 0 && perf_scan_may_keep(scan))
		thread->comm = facts_take(scan->file->facts, comm);
	else
		free(comm);
}

static void take_fork(struct perf_scan *scan, const struct perf_record *record)
{
	bool swap = scan->file->swap;
	int32_t pid, parent, tid;
	struct fact_thread *thread;

	if (record->bytes < 32)
		return;
	pid = (int32_t)perf_u32(record->data + 8, swap);
	parent = (int32_t)perf_u32(record->data + 12, swap);
	tid = (int32_t)perf_u32(record->data + 16, swap);
	thread = scan_thread(scan, tid, pid);
	/* Of other threads than the first it names the process itself. */
	if (thread && tid == pid)
		thread->ppid = parent;
}

/* Written when perf ends: how many samples of one event and CPU were lost in all. */
static void perf_dump_take_lost(struct perf_scan *scan, const struct perf_record *record,
				const struct perf_attr *attr)
{
	bool swap = scan->file->swap;
	uint64_t count = perf_u64(record->data + 8, swap);
	const uint64_t *cpu = NULL;

	if (attr->tail_id && record->bytes >= 16u + attr->tail_bytes)
		cpu = map_find(&scan->file->attrs.cpus,
			       perf_u64(record->data + record->bytes - attr->tail_id, swap));
	if (cpu && *cpu <= scan->cpu_count && scan->cpu_events[*cpu - 1])
		scan->cpu_summed[*cpu - 1] += count;
	else
		scan->lost_summed += count;
}

void perf_dump_take(struct perf_scan *scan, const struct perf_record *record,
		    const struct perf_attr *attr)
{
	if (record->type == PERF_COMM)
		take_comm(scan, record, attr);
	else if (record->type == PERF_FORK)
		take_fork(scan, record);
	else if (record->type == PERF_LOST_SAMPLES && record->bytes >= 16)
		perf_dump_take_lost(scan, record, attr);
}

/* Is the command "/usr/bin/make" one whose thread is called so? A name has room for 15 letters. */
static bool is_name_of(const char *command, const char *comm)
{
	const char *slash = strrchr(command, '/');
	const char *name = slash ? slash + 1 : command;

	return *name && strncmp(name, comm, COMM_MAX - 1) == 0 &&
	       strlen(comm) == strnlen(name, COMM_MAX - 1);
}

/*
 * Which of perf's words begins the command that has this name? The one behind "--", if there is
 * one; else any that is no option.
 */
static size_t command_called(const struct perf_file *file, const char *comm)
{
	size_t from = file->command ? file->command : 2;

	for (size_t i = from; i < file->word_count; i++) {
		if (file->words[i][0] != '-' && is_name_of(file->words[i], comm))
			return i;
		if (file->command)
			break;
	}
	return file->word_count;
}

static char *perf_dump_join_words(const struct perf_file *file, size_t from)
{
	size_t bytes = 0, used = 0;
	char *line;

	for (size_t i = from; i < file->word_count; i++)
		bytes += strlen(file->words[i]) + 1;
	line = xcalloc(bytes + 1, 1);
	for (size_t i = from; i < file->word_count; i++)
		used += (size_t)snprintf(line + used, bytes + 1 - used, "%s%s", i > from ? " " : "",
					 file->words[i]);
	return line;
}

void perf_dump_live(struct perf_scan *scan, const struct perf_record *record,
		    const struct perf_attr *attr, uint64_t time_ns)
{
	struct facts *facts = scan->file->facts;
	AUTO_FREE char *comm = NULL;
	size_t word;

	if (facts->target_tid || record->bytes < 16u + attr->tail_bytes)
		return;
	comm = perf_dump_text_at(record, attr, 16);
	word = comm ? command_called(scan->file, comm) : scan->file->word_count;
	if (word == scan->file->word_count)
		return;
	facts->target_tid = (int32_t)perf_u32(record->data + 12, scan->file->swap);
	facts->target_start_ns = time_ns;
	facts->target_cmdline = facts_take(facts, perf_dump_join_words(scan->file, word));
}

/* Threads of processes have the parent of the process; what kthreadd began is the kernel's. */
static void relate(struct perf_scan *scan)
{
	struct facts *facts = scan->file->facts;

	for (size_t i = 0; i < facts->thread_count; i++) {
		struct fact_thread *thread = &facts->threads[i];
		const uint64_t *leader = map_find(&scan->threads, (uint64_t)thread->tgid);

		if (leader && thread->tid != thread->tgid)
			thread->ppid = facts->threads[*leader].ppid;
		thread->kernel = thread->tgid == KTHREADD || thread->ppid == KTHREADD;
		thread->seen_ns = facts->first_ns;
	}
}

/* perf itself: the parent of what it ran. */
static void find_recorder(struct perf_scan *scan)
{
	struct facts *facts = scan->file->facts;
	const uint64_t *target = map_find(&scan->threads, (uint64_t)facts->target_tid);
	const uint64_t *perf;

	if (!facts->target_tid || !target)
		return;
	perf = map_find(&scan->threads, (uint64_t)facts->threads[*target].ppid);
	if (!perf || strcmp(facts->threads[*perf].comm, "perf") != 0)
		return;
	facts->recorder_tids = xcalloc(1, sizeof(int32_t));
	facts->recorder_tids[0] = facts->threads[*perf].tid;
	facts->recorder_tid_count = 1;
}

/* perf's names (perf record -k); without one it is the scheduler's clock. */
static const char *clock_name(const struct perf_file *file)
{
	int32_t clockid = file->attrs.count ? file->attrs.items[0]->clockid : -1;

	switch (clockid) {
	case CLOCK_REALTIME:
		return "realtime";
	case CLOCK_MONOTONIC:
		return "monotonic";
	case CLOCK_MONOTONIC_RAW:
		return "monotonic_raw";
	case CLOCK_BOOTTIME:
		return "boottime";
	case CLOCK_TAI:
		return "tai";
	default:
		return clockid < 0 ? "perf's own" : NULL;
	}
}

static void perf_dump_count_cpus(struct perf_scan *scan)
{
	struct facts *facts = scan->file->facts;

	for (size_t i = 0; i < scan->cpu_count; i++) {
		if (scan->cpu_events[i] || scan->cpu_lost[i])
			facts->cpu_count = i + 1;
	}
	facts->cpus = xcalloc(facts->cpu_count + 1, sizeof(*facts->cpus));
	for (size_t i = 0; i < facts->cpu_count; i++) {
		facts->cpus[i].bytes = scan->cpu_bytes[i];
		facts->cpus[i].lost = scan->cpu_lost[i];
	}
}

/*
 * What is missing behind the last record of each CPU: a buffer was full when perf ended, or the
 * file was cut, and then that of the others was written later. A CPU that is not told may be any.
 */
static void add_tail(struct perf_scan *scan)
{
	struct facts *facts = scan->file->facts;

	scan->tail = xcalloc(facts->cpu_count + 1, sizeof(*scan->tail));
	for (size_t i = 0; i < facts->cpu_count; i++) {
		uint64_t more = scan->cpu_summed[i] > scan->cpu_lost[i]
					? scan->cpu_summed[i] - scan->cpu_lost[i]
					: 0;
		bool cut = scan->file->is_cut && scan->cpu_last_ns[i] < scan->end_ns;

		if (!scan->cpu_events[i] || (!more && !cut && !scan->lost_summed))
			continue;
		facts->cpus[i].lost += more;
		scan->tail[scan->tail_count++] = (struct event){
			.time_ns = scan->end_ns,
			.tid = -1,
			.cpu = (uint16_t)i,
			.type = EV_LOST,
			.lost.since_ns = scan->cpu_last_ns[i],
			.lost.count = cut || scan->lost_summed ? 0 : more,
		};
	}
}

void perf_dump_end(struct perf_scan *scan)
{
	struct facts *facts = scan->file->facts;

	facts->first_ns = scan->begin_ns;
	facts->last_ns = scan->end_ns;
	if (!facts->tracer)
		facts->tracer = "perf";
	facts->clock = clock_name(scan->file);
	facts->recorder = facts_take(facts, perf_dump_join_words(scan->file, 0));
	relate(scan);
	find_recorder(scan);
	perf_dump_count_cpus(scan);
	add_tail(scan);
	if (scan->strangers > 1 || scan->short_ones > 1)
		facts_note_damage(facts, "%llu records of no known event, %llu too short: left out",
				  (unsigned long long)scan->strangers,
				  (unsigned long long)scan->short_ones);
}

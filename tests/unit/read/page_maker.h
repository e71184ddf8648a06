/*
 * page_maker.h - make ring-buffer pages byte by byte, and a trace directory of them.
 */
#ifndef UNIT_READ_PAGE_MAKER_H
#define UNIT_READ_PAGE_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MADE_PAGE_BYTES 512

struct made_page {
	uint8_t bytes[MADE_PAGE_BYTES];
	uint32_t used; /* of the data */
	uint32_t head; /* where the data begins */
	bool big_endian;
};

static inline void made_number(struct made_page *page, uint32_t at, uint64_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		page->bytes[at + (page->big_endian ? bytes - 1 - i : i)] =
			(uint8_t)(value >> (8 * i));
}

/* A page that begins at 'time', with a commit field of 'commit_bytes'. */
static inline struct made_page page_made(uint64_t time, uint32_t commit_bytes, bool big_endian)
{
	struct made_page page = { .head = 8 + commit_bytes, .big_endian = big_endian };

	made_number(&page, 0, time, 8);
	return page;
}

static inline void made_word(struct made_page *page, uint32_t type, uint32_t delta)
{
	uint32_t word = page->big_endian ? type << 27 | delta : delta << 5 | type;

	made_number(page, page->head + page->used, word, 4);
	page->used += 4;
	made_number(page, 8, page->used, page->head - 8);
}

static inline void made_body(struct made_page *page, uint64_t value, uint32_t bytes)
{
	made_number(page, page->head + page->used, value, bytes);
	page->used += bytes;
	made_number(page, 8, page->used, page->head - 8);
}

/* A data record: common fields (type, flags, preempt count, pid), then one int. */
static inline void made_event(struct made_page *page, uint32_t delta, uint16_t id, int32_t tid,
			      uint32_t value)
{
	made_word(page, 3, delta);
	made_body(page, id, 2);
	made_body(page, 0, 1);
	made_body(page, 0, 1);
	made_body(page, (uint32_t)tid, 4);
	made_body(page, value, 4);
}

static inline void made_extend(struct made_page *page, uint32_t type, uint64_t delta)
{
	made_word(page, type, (uint32_t)(delta & ((1u << 27) - 1)));
	made_body(page, delta >> 27, 4);
}

/* Say that events were lost; 'count' 0 stores no number. */
static inline void made_lost(struct made_page *page, uint64_t count)
{
	uint32_t flags = 1u << 31 | (count ? 1u << 30 : 0);

	if (count)
		made_number(page, page->head + page->used, count, page->head - 8);
	made_number(page, 8, page->used | flags, page->head - 8);
}

/* The format text of an event of made_event(). */
#define MADE_FORMAT(name, id, field)                                                   \
	"name: " name "\nID: " id "\nformat:\n"                                        \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" field "\nprint fmt: \"\"\n"

#define MADE_SOFTIRQ                      \
	MADE_FORMAT("softirq_raise", "7", \
		    "\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n")

/* A trace directory in a new folder below /tmp. */
struct made_dir {
	char path[64];
};

static inline void made_file(const struct made_dir *dir, const char *name, const void *bytes,
			     size_t count)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	file = fopen(path, "wb");
	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) != 0)
		abort();
}

static inline void made_append(const struct made_dir *dir, uint32_t cpu,
			       const struct made_page *page, size_t bytes)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/kernel/cpu%u.ring", dir->path, cpu);
	file = fopen(path, "ab");
	if (!file || fwrite(page->bytes, 1, bytes, file) != bytes || fclose(file) != 0)
		abort();
}

/* 'extra' is put into trace.json: "" or ",\"end_ns\":5000". */
static inline void made_manifest(const struct made_dir *dir, const char *extra)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"version\":1,\"complete\":true,\"arch\":\"x86_64\",\"clock\":\"mono\","
		 "\"page_bytes\":%d,\"long_bytes\":8,\"begin_ns\":50%s}\n",
		 MADE_PAGE_BYTES, extra);
	made_file(dir, "trace.json", text, strlen(text));
}

static inline struct made_dir dir_made(const char *extra)
{
	struct made_dir dir = { "/tmp/holdup-read-XXXXXX" };
	char text[1024], kernel[256];

	if (!mkdtemp(dir.path))
		abort();
	snprintf(kernel, sizeof(kernel), "%s/kernel", dir.path);
	if (mkdir(kernel, 0700) < 0)
		abort();
	made_manifest(&dir, extra);
	snprintf(text, sizeof(text), "=== irq/softirq_raise %zu\n%s\n", strlen(MADE_SOFTIRQ),
		 MADE_SOFTIRQ);
	made_file(&dir, "kernel/formats", text, strlen(text));
	made_file(&dir, "kernel/dump.jsonl", "", 0);
	made_file(&dir, "kernel/sync", "100 100 1000\n", 13);
	return dir;
}

static inline void dir_unmade(const struct made_dir *dir)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir->path);
	if (system(command) != 0)
		abort();
}

#endif

/*
 * buffer.c - size and shape of an instance's ring buffers, and the kernel's counts.
 */
#include "record/buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/ftrace.h"
#include "store/manifest.h"

#define DEFAULT_BYTES	 (64u << 20)
#define MEMORY_SHARE	 32
#define SUB_BUFFER_KIB	 "64" /* fewer switches of pages and bigger writes than with one page */
#define BUFFER_MAX_BYTES (1ull << 40)
#define WAKE_PERCENT	 "25" /* early enough for a burst, late enough to be rare */

uint64_t buffer_default_bytes(uint64_t memory_bytes, uint32_t cpu_count)
{
	uint64_t share = memory_bytes / MEMORY_SHARE / (cpu_count ? cpu_count : 1);
	uint64_t bytes = share < DEFAULT_BYTES ? share : DEFAULT_BYTES;

	return bytes < BUFFER_MIN_BYTES ? BUFFER_MIN_BYTES : bytes;
}

static uint64_t default_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	/* The kernel gives every possible CPU a buffer, whether it is there or not. */
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (pages <= 0 || page_bytes <= 0 || cpus <= 0)
		return BUFFER_MIN_BYTES;
	return buffer_default_bytes((uint64_t)pages * (uint64_t)page_bytes, (uint32_t)cpus);
}

static int set_kib(int instance_fd, uint64_t bytes, struct err *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, (bytes + 1023) / 1024);
	return ftrace_write(instance_fd, "buffer_size_kb", text, err);
}

/* Ask for less until it is granted. Returns the size, or a negative errno. */
static int64_t grant(int instance_fd, uint64_t bytes, struct err *err)
{
	int rc = set_kib(instance_fd, bytes, err);

	while (rc < 0 && bytes / 2 >= BUFFER_MIN_BYTES) {
		bytes /= 2;
		rc = set_kib(instance_fd, bytes, err);
	}
	return rc < 0 ? rc : (int64_t)bytes;
}

static void note_smaller(struct manifest *manifest, uint64_t wish, uint64_t granted)
{
	AUTO_FREE char *what = xasprintf("a buffer of %" PRIu64 " KiB per CPU", wish / 1024);
	AUTO_FREE char *why =
		xasprintf("the kernel has memory for only %" PRIu64 " KiB", granted / 1024);

	manifest_add_missing(manifest, what, why);
}

char *buffer_header_page(int instance_fd, size_t *out_bytes)
{
	char *text = ftrace_read(instance_fd, "events/header_page", out_bytes);

	return text ? text : ftrace_read(instance_fd, "../../events/header_page", out_bytes);
}

/* A number behind 'key' in the line of 'field'; 0 = not found. */
static uint32_t field_number(const char *text, const char *field, const char *key)
{
	const char *line = text ? strstr(text, field) : NULL;
	const char *end = line ? strchrnul(line, '\n') : NULL;
	const char *at = line ? strstr(line, key) : NULL;
	unsigned long value;

	if (!at || at > end)
		return 0;
	value = strtoul(at + strlen(key), NULL, 10);
	return value <= UINT32_MAX / 2 ? (uint32_t)value : 0;
}

uint32_t buffer_page_bytes(const char *header_page)
{
	uint32_t size = field_number(header_page, "char data;", "size:");

	return size ? field_number(header_page, "char data;", "offset:") + size : 0;
}

uint32_t buffer_long_bytes(const char *header_page)
{
	return field_number(header_page, " commit;", "size:");
}

int buffer_read_shape(int instance_fd, struct manifest *manifest, struct err *err)
{
	AUTO_FREE char *header = buffer_header_page(instance_fd, NULL);

	manifest->page_bytes = buffer_page_bytes(header);
	manifest->long_bytes = buffer_long_bytes(header);
	if (!manifest->page_bytes || !manifest->long_bytes)
		return err_set(err, -ENOTSUP,
			       "this kernel's events/header_page has an unknown "
			       "format");
	return 0;
}

int buffer_prepare(int instance_fd, uint64_t wish_bytes, struct manifest *manifest, struct err *err)
{
	uint64_t wish = wish_bytes ? wish_bytes : default_bytes();
	int64_t granted;
	int rc;

	if (wish > BUFFER_MAX_BYTES)
		return err_set(err, -EINVAL, "a buffer of %" PRIu64 " bytes per CPU is too large",
			       wish);
	if (wish < BUFFER_MIN_BYTES)
		wish = BUFFER_MIN_BYTES;
	/* Missing on older kernels, and refused without large free blocks: then one page each. */
	(void)ftrace_write(instance_fd, "buffer_subbuf_size_kb", SUB_BUFFER_KIB, NULL);
	granted = grant(instance_fd, wish, err);
	if (granted < 0) {
		/* Single pages are there when larger blocks are not. */
		(void)ftrace_write(instance_fd, "buffer_subbuf_size_kb", "4", NULL);
		granted = grant(instance_fd, wish, err);
	}
	if (granted < 0) {
		(void)err_wrap(err, "making the ring buffers");
		return (int)granted;
	}
	if ((uint64_t)granted < wish)
		note_smaller(manifest, wish, (uint64_t)granted);
	manifest->buffer_bytes = (uint64_t)granted;
	/* Missing on older kernels: then a reader wakes for every page. */
	(void)ftrace_write(instance_fd, "buffer_percent", WAKE_PERCENT, NULL);
	rc = buffer_read_shape(instance_fd, manifest, err);
	if (rc == 0 && (uint64_t)manifest->page_bytes * BUFFER_PAGES_MIN > manifest->buffer_bytes)
		manifest->buffer_bytes = (uint64_t)manifest->page_bytes * BUFFER_PAGES_MIN;
	return rc;
}

int buffer_shrink(int instance_fd, uint64_t bytes, struct manifest *manifest, struct err *err)
{
	int rc = set_kib(instance_fd, bytes / 1024 * 1024, err);

	if (rc == 0)
		manifest->buffer_bytes = bytes;
	return rc;
}

void buffer_parse_stats(const char *stats, struct manifest_cpu *out_cpu)
{
	static const struct {
		const char *key;
		size_t offset;
	} rows[] = {
		{ "entries: ", offsetof(struct manifest_cpu, events) },
		{ "read events: ", offsetof(struct manifest_cpu, events) },
		{ "overrun: ", offsetof(struct manifest_cpu, lost) },
		{ "dropped events: ", offsetof(struct manifest_cpu, dropped) },
		{ "commit overrun: ", offsetof(struct manifest_cpu, dropped) },
	};

	out_cpu->events = out_cpu->lost = out_cpu->dropped = 0;
	while (*stats) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			size_t length = strlen(rows[i].key);
			uint64_t value;

			if (strncmp(stats, rows[i].key, length))
				continue;
			memcpy(&value, (char *)out_cpu + rows[i].offset, sizeof(value));
			value += strtoull(stats + length, NULL, 10);
			memcpy((char *)out_cpu + rows[i].offset, &value, sizeof(value));
		}
		stats = strchrnul(stats, '\n');
		stats += *stats == '\n';
	}
}

void buffer_read_stats(int instance_fd, struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->cpu_count; i++) {
		char path[64];
		AUTO_FREE char *stats = NULL;

		snprintf(path, sizeof(path), "per_cpu/cpu%" PRIu32 "/stats", manifest->cpus[i].cpu);
		stats = ftrace_read(instance_fd, path, NULL);
		if (stats)
			buffer_parse_stats(stats, &manifest->cpus[i]);
	}
}

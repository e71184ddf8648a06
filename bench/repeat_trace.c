/*
 * repeat_trace.c - make a longer trace of a real one.
 *
 *	repeat_trace TRACE OUT BYTES
 *
 * Writes the trace directory OUT, in which the sub-buffers of TRACE come again and again,
 * each time later by the length of the recording, until they are BYTES ("600M") together.
 * Time stamps are shifted where they stand: in the header of each page and in absolute time
 * stamps within; clock readings and the manifest fit. What is beside the events is linked.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "read/kernel/pages.h"
#include "store/file.h"
#include "store/formats.h"
#include "store/manifest.h"

#define SYNC_MAX (64u << 20)

struct sync_point {
	uint64_t raw, mono_ns, real_ns;
};

struct job {
	const char *from, *to;
	struct manifest manifest;
	struct page_layout layout;
	struct sync_point *points; /* owned */
	size_t point_count, point_cap;
	uint64_t span_raw, span_ns; /* of one time through */
	uint64_t times;
};

/* ---------------------------------------------------------------------- read */

static int read_layout(struct job *job, struct err *err)
{
	AUTO_FREE char *path = xasprintf("%s/kernel/formats", job->from);
	struct formats formats = { 0 };
	int rc = formats_read(path, &formats, err);

	if (rc == 0)
		rc = page_layout_init(&job->layout, formats_find(&formats, "header_page"),
				      job->manifest.page_bytes, job->manifest.long_bytes, false,
				      err);
	formats_fini(&formats);
	return rc;
}

static int read_sync(struct job *job, struct err *err)
{
	AUTO_FREE char *path = xasprintf("%s/kernel/sync", job->from);
	AUTO_FREE char *text = NULL;
	char *line, *rest;
	size_t bytes;
	int rc = file_read(path, SYNC_MAX, &text, &bytes, err);

	if (rc < 0)
		return rc;
	for (rest = text; (line = strsep(&rest, "\n")) && *line;) {
		struct sync_point point;

		if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &point.raw, &point.mono_ns,
			   &point.real_ns) != 3)
			return err_set(err, -EBADMSG, "%s: no clock reading: %s", path, line);
		job->points = vec_room(job->points, job->point_count, &job->point_cap,
				       sizeof(*job->points));
		job->points[job->point_count++] = point;
	}
	if (job->point_count < 2)
		return err_set(err, -EBADMSG, "%s: there are less than two clock readings", path);
	job->span_raw = job->points[job->point_count - 1].raw - job->points[0].raw;
	job->span_ns = job->points[job->point_count - 1].mono_ns - job->points[0].mono_ns;
	return 0;
}

/* --------------------------------------------------------------------- write */

static void put_word(uint8_t *at, uint32_t word)
{
	memcpy(at, &word, sizeof(word));
}

/* An absolute time stamp: 59 bits, the low 27 of them in the header of the record. */
static void shift_stamp(uint8_t *at, uint64_t shift)
{
	uint32_t word = page_word(at, false), high = page_word(at + 4, false);
	uint64_t stamp = ((uint64_t)high << WIRE_DELTA_BITS | word >> 5) + shift;

	put_word(at, (uint32_t)(stamp << 5) | (word & 31));
	put_word(at + 4, (uint32_t)(stamp >> WIRE_DELTA_BITS));
}

static void shift_page(const struct job *job, uint8_t *bytes, uint64_t shift)
{
	struct page_cursor cursor;
	struct record record;
	struct page page;
	uint64_t time;

	memcpy(&time, bytes + job->layout.time_offset, sizeof(time));
	time += shift;
	memcpy(bytes + job->layout.time_offset, &time, sizeof(time));
	if (!page_open(&job->layout, bytes, &page))
		return;
	page_begin(&page, false, &cursor);
	while (cursor.end - cursor.at >= 8) {
		uint32_t word = page_word(cursor.at, false);

		if ((word & 31) <= WIRE_TYPE_DATA_MAX) {
			if (page_next(&cursor, &record) <= 0)
				return;
			continue;
		}
		if ((word & 31) == WIRE_TYPE_TIME_STAMP)
			shift_stamp(bytes + (cursor.at - bytes), shift);
		if (page_skip(&cursor, word & 31, word >> 5) <= 0)
			return;
	}
}

static int repeat_ring(const struct job *job, uint32_t cpu, struct err *err)
{
	AUTO_FREE char *from = xasprintf("%s/kernel/cpu%u.ring", job->from, cpu);
	AUTO_FREE char *to = xasprintf("%s/kernel/cpu%u.ring", job->to, cpu);
	AUTO_FREE uint8_t *page = xmalloc(job->layout.page_bytes);
	AUTO_FILE FILE *in = fopen(from, "r");
	AUTO_FILE FILE *out = fopen(to, "w");

	if (!in || !out)
		return err_set(err, -errno, "%s or %s: %s", from, to, strerror(errno));
	for (uint64_t i = 0; i < job->times; i++) {
		rewind(in);
		while (fread(page, job->layout.page_bytes, 1, in) == 1) {
			shift_page(job, page, i * job->span_raw);
			if (fwrite(page, job->layout.page_bytes, 1, out) != 1)
				return err_set(err, -errno, "%s: %s", to, strerror(errno));
		}
	}
	if (fflush(out) != 0)
		return err_set(err, -errno, "%s: %s", to, strerror(errno));
	return 0;
}

static int write_sync(const struct job *job, struct err *err)
{
	AUTO_FREE char *path = xasprintf("%s/kernel/sync", job->to);
	AUTO_FILE FILE *out = fopen(path, "w");

	if (!out)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	for (uint64_t i = 0; i < job->times; i++) {
		/* The last reading of one time through is the first of the next. */
		for (size_t k = i > 0; k < job->point_count; k++)
			fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				job->points[k].raw + i * job->span_raw,
				job->points[k].mono_ns + i * job->span_ns,
				job->points[k].real_ns + i * job->span_ns);
	}
	return 0;
}

static void link_beside(const struct job *job)
{
	static const char *const names[] = { "formats", "dump.jsonl", "names", "kallsyms" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO_FREE char *from = xasprintf("%s/kernel/%s", job->from, names[i]);
		AUTO_FREE char *to = xasprintf("%s/kernel/%s", job->to, names[i]);

		if (link(from, to) < 0)
			perror(to);
	}
}

static int write_manifest(struct job *job, struct err *err)
{
	struct manifest *manifest = &job->manifest;

	for (size_t i = 0; i < manifest->cpu_count; i++) {
		manifest->cpus[i].events *= job->times;
		manifest->cpus[i].lost *= job->times;
		manifest->cpus[i].dropped *= job->times;
		manifest->cpus[i].bytes *= job->times;
	}
	manifest->end_ns += (job->times - 1) * job->span_ns;
	return manifest_write(manifest, job->to, err);
}

static uint64_t bytes_of(const struct manifest *manifest)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < manifest->cpu_count; i++)
		bytes += manifest->cpus[i].bytes;
	return bytes;
}

static int repeat(struct job *job, uint64_t bytes, struct err *err)
{
	AUTO_FREE char *kernel = xasprintf("%s/kernel", job->to);
	int rc = manifest_read(job->from, &job->manifest, err);

	if (rc == 0)
		rc = read_layout(job, err);
	if (rc == 0)
		rc = read_sync(job, err);
	if (rc < 0)
		return rc;
	if (bytes_of(&job->manifest) == 0)
		return err_set(err, -EINVAL, "%s has no events", job->from);
	job->times = (bytes + bytes_of(&job->manifest) - 1) / bytes_of(&job->manifest);
	if (mkdir(job->to, 0700) < 0 || mkdir(kernel, 0700) < 0)
		return err_set(err, -errno, "%s: %s", job->to, strerror(errno));
	for (size_t i = 0; rc == 0 && i < job->manifest.cpu_count; i++) {
		if (job->manifest.cpus[i].bytes)
			rc = repeat_ring(job, job->manifest.cpus[i].cpu, err);
	}
	if (rc == 0)
		rc = write_sync(job, err);
	link_beside(job);
	return rc == 0 ? write_manifest(job, err) : rc;
}

int main(int argc, char **argv)
{
	struct job job = { 0 };
	struct err err = { 0 };
	uint64_t bytes;
	int rc;

	if (argc != 4 || !text_parse_size(argv[3], &bytes) || bytes == 0) {
		fprintf(stderr, "usage: repeat_trace TRACE OUT BYTES\n");
		return 2;
	}
	job.from = argv[1];
	job.to = argv[2];
	rc = repeat(&job, bytes, &err);
	if (rc < 0)
		fprintf(stderr, "repeat_trace: %s\n", err.text);
	else
		printf("%" PRIu64 " times, %" PRIu64 " bytes, %" PRIu64 " ns\n", job.times,
		       bytes_of(&job.manifest), job.manifest.end_ns - job.manifest.begin_ns);
	manifest_fini(&job.manifest);
	free(job.points);
	return rc < 0 ? 3 : 0;
}

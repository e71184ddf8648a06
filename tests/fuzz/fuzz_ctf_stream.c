/*
 * fuzz_ctf_stream.c - a whole trace of CTF: its metadata, a line "%%", and a stream.
 *
 * Read with and without records: the two ways to decode must give the same events.
 */
#include <stdint.h>

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"
#include "fuzz_dir.h"
#include "read/read.h"

#define MAX_EVENTS 100000

struct seen {
	uint64_t count, lost, sum;
};

static struct seen read_all(struct trace *trace)
{
	struct seen seen = { 0 };
	const struct event *event;
	struct err err = { 0 };
	uint64_t last_ns = 0;

	while (seen.count < MAX_EVENTS && source_next(trace_source(trace), &event, &err) > 0) {
		if (event->time_ns < last_ns)
			abort();
		last_ns = event->time_ns;
		seen.count++;
		seen.lost += event->type == EV_LOST;
		seen.sum = seen.sum * 31 + event->time_ns + event->type + (uint32_t)event->tid;
	}
	return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *mark = memmem(data, bytes, "\n%%\n", 4);
	struct seen plain, kept;
	struct trace *trace;
	struct err err = { 0 };

	if (!mark)
		return 0;
	fuzz_file("kernel/metadata", data, (size_t)(mark - data));
	fuzz_file("kernel/stream", mark + 4, bytes - (size_t)(mark + 4 - data));
	if (read_open(fuzz_dir_path(), &trace, &err) < 0)
		return 0;
	trace_set_threads(trace, 0);
	plain = read_all(trace);
	trace_keep_records(trace, true);
	if (source_seek(trace_source(trace), 0, &err) < 0)
		abort();
	kept = read_all(trace);
	if (plain.count != kept.count || plain.lost != kept.lost || plain.sum != kept.sum)
		abort();
	(void)source_seek(trace_source(trace), 1000, &err);
	(void)read_all(trace);
	trace_close(trace);
	return 0;
}

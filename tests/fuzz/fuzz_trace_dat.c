/*
 * fuzz_trace_dat.c - a whole trace.dat.
 *
 * Read with and without records, which must give the same events, and from the middle.
 */
#include <stdint.h>

#include "base/err.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fuzz_dir.h"
#include "read/read.h"

#define MAX_EVENTS 100000

struct seen {
	uint64_t count, lost, sum, last_ns;
};

static struct seen read_all(struct trace *trace)
{
	struct seen seen = { 0 };
	const struct event *event;
	struct err err = { 0 };

	while (seen.count < MAX_EVENTS && source_next(trace_source(trace), &event, &err) > 0) {
		if (event->time_ns < seen.last_ns)
			abort();
		seen.last_ns = event->time_ns;
		seen.count++;
		seen.lost += event->type == EV_LOST;
		seen.sum = seen.sum * 31 + event->time_ns + event->type + (uint32_t)event->tid;
	}
	return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct seen plain, kept;
	struct trace *trace;
	struct err err = { 0 };
	char path[96];
	uint64_t middle;

	fuzz_file("kernel/trace.dat", data, bytes);
	snprintf(path, sizeof(path), "%s/kernel/trace.dat", fuzz_dir_path());
	if (read_open(path, &trace, &err) < 0) {
		if (err.text[0] == '\0')
			abort();
		return 0;
	}
	trace_set_threads(trace, 0);
	plain = read_all(trace);
	trace_keep_records(trace, true);
	if (source_seek(trace_source(trace), 0, &err) < 0)
		abort();
	kept = read_all(trace);
	if (plain.count != kept.count || plain.lost != kept.lost || plain.sum != kept.sum)
		abort();
	middle = trace_facts(trace)->first_ns / 2 + plain.last_ns / 2;
	(void)source_seek(trace_source(trace), middle, &err);
	(void)read_all(trace);
	trace_close(trace);
	return 0;
}

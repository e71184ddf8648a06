/*
 * fuzz_ftrace_text.c - a trace that is text.
 *
 * Read with and without records, and from the middle on: the events must be the same.
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
	uint64_t count, lost, sum;
	uint64_t first_ns, last_ns;
};

static struct seen read_all(struct trace *trace)
{
	struct seen seen = { 0 };
	const struct event *event;
	struct err err = { 0 };

	while (seen.count < MAX_EVENTS && source_next(trace_source(trace), &event, &err) > 0) {
		if (event->time_ns < seen.last_ns)
			abort();
		if (seen.count++ == 0)
			seen.first_ns = event->time_ns;
		seen.last_ns = event->time_ns;
		seen.lost += event->type == EV_LOST;
		seen.sum = seen.sum * 31 + event->time_ns + event->type + (uint32_t)event->tid;
		if (event->type == EV_SCHED_SWITCH && event->sched_switch.prev_comm)
			seen.sum += strnlen(event->sched_switch.prev_comm, 16);
	}
	return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char path[96];
	struct seen plain, kept;
	struct trace *trace;
	struct err err = { 0 };

	fuzz_file("kernel/trace", data, bytes);
	snprintf(path, sizeof(path), "%s/kernel/trace", fuzz_dir_path());
	if (read_open(path, &trace, &err) < 0)
		return 0;
	trace_set_threads(trace, 0);
	plain = read_all(trace);
	trace_keep_records(trace, true);
	if (source_seek(trace_source(trace), 0, &err) < 0)
		abort();
	kept = read_all(trace);
	if (plain.count != kept.count || plain.lost != kept.lost || plain.sum != kept.sum)
		abort();
	/* The file is shorter than the way back of a seek: nothing is missed. */
	(void)source_seek(trace_source(trace), plain.first_ns, &err);
	if (read_all(trace).sum != plain.sum)
		abort();
	(void)source_seek(trace_source(trace), plain.last_ns, &err);
	(void)read_all(trace);
	trace_close(trace);
	return 0;
}

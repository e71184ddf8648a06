/*
 * fuzz_trace.h - all events of a trace, once without and once with its records.
 */
#ifndef FUZZ_FUZZ_TRACE_H
#define FUZZ_FUZZ_TRACE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"
#include "read/read.h"

#define MAX_EVENTS 100000

struct seen {
	uint64_t count, lost, sum;
	uint64_t first_ns, last_ns;
};

/* From where the trace stands, to its end. Times never go back. */
static inline struct seen read_all(struct trace *trace)
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

/* Both ways to decode must give the same events. The trace stands at its end, and keeps records. */
static inline struct seen read_both_ways(struct trace *trace)
{
	struct err err = { 0 };
	struct seen plain, kept;

	trace_set_threads(trace, 0);
	plain = read_all(trace);
	trace_keep_records(trace, true);
	if (source_seek(trace_source(trace), 0, &err) < 0)
		abort();
	kept = read_all(trace);
	if (plain.count != kept.count || plain.lost != kept.lost || plain.sum != kept.sum)
		abort();
	return plain;
}

#endif

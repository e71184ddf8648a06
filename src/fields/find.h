/*
 * find.h - the first or last event that an expression is true of, in a trace of any format.
 */
#ifndef FIELDS_FIND_H
#define FIELDS_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct trace;

/*
 * The time of the first (or last) event that matches 'expression' at or after
 * 'from_ns'. An expression is what fields/expr.h says, for example
 * "sched_process_exec", "sys_enter:id == 257", "sched_switch: next_comm ~ ap* && cpu == 0".
 * Returns 1 and *out_ns, 0 when nothing matches, negative when the expression is
 * wrong (-EINVAL, err says why) or the trace cannot be read.
 * Rewinds the source.
 */
int trace_find_event(struct trace *trace, const char *expression, bool last, uint64_t from_ns,
		     uint64_t *out_ns, struct err *err);

/* A thread as the events of its life name it. */
struct trace_thread {
	int32_t tid;
	uint64_t from_ns, to_ns; /* both included: its number may be used again */
};

struct trace_find {
	const char *expression;
	bool last;
	uint64_t from_ns;
	const struct trace_thread *threads; /* only events that these recorded; a view */
	size_t thread_count;		    /* 0 = those of all */
};

struct trace_found {
	uint64_t time_ns;
	int32_t tid; /* that recorded it; -1 = not known, or it was an interrupt */
};

/* The same as trace_find_event(), of some threads, and with who recorded the event. */
int trace_find_of(struct trace *trace, const struct trace_find *find, struct trace_found *out_found,
		  struct err *err);

#endif

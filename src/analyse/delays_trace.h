/*
 * delays_trace.h - the classes of delays/ computed from the states of a timeline.
 *
 *	running		on a CPU, interrupts in it
 *	for a CPU	woken and not yet there, or preempted
 *	disk		uninterruptible, until a disk request was done
 *	interrupted	inside of running
 *
 * The others are not known from states: they are not in 'classes'.
 */
#ifndef ANALYSE_DELAYS_TRACE_H
#define ANALYSE_DELAYS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delays/sample.h"

struct timeline;

struct delays_trace_opts {
	const int32_t *pids; /* processes, or single threads; none = all */
	size_t pid_count;
	const char *comm; /* processes of this name; NULL = not asked */
	bool threads;	  /* a row for each thread, too */
};

struct delays_trace {
	struct delays_sample sample; /* owned; of what lived in the recording */
	uint64_t uncertain_ns;	     /* of all of them: in no class, and in no time */
};

/* End it with delays_trace_fini(). The timeline's own names are copied. */
void delays_trace_run(const struct timeline *timeline, const struct delays_trace_opts *opts,
		      struct delays_trace *out_trace);

void delays_trace_fini(struct delays_trace *trace);

#endif

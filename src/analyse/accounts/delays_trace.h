/*
 * delays_trace.h - the classes of delays/ computed from the states of a timeline.
 *
 *	running		on a CPU, interrupts in it
 *	for a CPU	woken and not yet there, or preempted
 *	disk		uninterruptible, until a disk request was done
 *	interrupted	inside of running
 *	reclaim		the kernel's events of it (memory_spans.h), where they were recorded
 *	compaction	likewise
 *
 * The others are not known from events: they are not in 'classes'.
 */
#ifndef ANALYSE_ACCOUNTS_DELAYS_TRACE_H
#define ANALYSE_ACCOUNTS_DELAYS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/accounts/memory_spans.h"
#include "accounts/sample.h"
#include "timeline/timeline.h"

#define DELAYS_TRACE_UNSURE 6 /* as many as enum unsure has */

/* What a thread did in a window. */
struct delays_trace_account {
	struct delays_stats stats;
	uint64_t known_ns; /* what it lived of the window, less what is uncertain */
	uint64_t uncertain_ns;
	uint64_t unsure_ns[DELAYS_TRACE_UNSURE]; /* of these, by enum unsure */
	uint64_t soft_disk_ns;	 /* of the waits for disk: other I/O than a disk's request */
	uint64_t other_sleep_ns; /* uninterruptible, but not counted as waits for disk */
	uint64_t after_disk_ns;	 /* waits for a CPU that came right after waits for disk */
};

/* 'memory' may be NULL. Only start and end of 'window' count. */
void delays_trace_account(const struct timeline *timeline, const struct memory_spans *memory,
			  uint32_t slot, const struct tl_interval *window,
			  struct delays_trace_account *out_account);

struct delays_trace_opts {
	const int32_t *pids; /* processes, or single threads; none = all */
	size_t pid_count;
	const char *comm;		   /* processes of this name; NULL = not asked */
	bool threads;			   /* a row for each thread, too */
	const struct memory_spans *memory; /* NULL = not known */
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

/*
 * sampled.h - what threads waited for over a while, without tracing: looks of stuck.h at intervals.
 *
 * What was shorter than the time between two looks may be missed, and who ended a wait is not seen: all
 * of it is sampled. How long a thread had a CPU, and could have run without one, is the kernel's own
 * count (schedstat), and exact.
 */
#ifndef STUCK_SAMPLED_H
#define STUCK_SAMPLED_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stuck/stuck.h"

/* A wait of a thread that was found in so many looks. */
struct sampled_wait {
	int32_t tid, tgid;
	char comm[STUCK_COMM_MAX];
	enum stuck_kind kind;
	char in[STUCK_IN_MAX];
	char object[STUCK_OBJECT_MAX];
	int32_t waits_for; /* the only one who could end it; 0 = several, or not known */
	char waits_for_comm[STUCK_COMM_MAX];
	bool is_inferred; /* that it is that one */
	bool is_timed;	  /* a time limit ends it, too */
	uint32_t looks;
};

struct sampled_thread {
	int32_t tid, tgid;
	uint64_t cpu_ns[2],
		queue_ns[2]; /* at the first and the last look; had a CPU, waited for one */
	bool has_counts;
};

struct sampled {
	uint64_t took_ns;
	uint32_t looks;
	struct sampled_wait *waits; /* owned; the most often seen first */
	size_t wait_count, wait_cap;
	size_t waits_left_out;		/* kinds of waits beyond the bound */
	struct sampled_thread *threads; /* owned */
	size_t thread_count, thread_cap;
	struct stuck *last; /* owned; the last look: who waited for each other then does so still */
	bool is_ended;	    /* nobody was there any more */
};

/*
 * Look every 'every_ns' for 'for_ns', until *stop or until nobody is there. Returns 0 with *out_sampled
 * filled (free with sampled_free()), or a negative errno with err filled as stuck_look() does, if not even
 * one look was possible.
 */
int sampled_run(const struct stuck_select *select, uint64_t for_ns, uint64_t every_ns,
		const volatile sig_atomic_t *stop, struct sampled **out_sampled, struct err *err);

void sampled_free(struct sampled *sampled); /* NULL is fine */

#endif

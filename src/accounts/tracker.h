/*
 * tracker.h - what came to each thread since it was looked at last, without asking about those that
 * slept.
 *
 *	struct delays_tracker *tracker = delays_tracker_new(sampler);
 *	struct delays_round round;
 *
 *	rc = delays_tracker_take(tracker, &select, &round, err);	... at each interval
 *	... round.changes ...
 *	delays_tracker_free(tracker);
 *
 * The account of a thread changes only when it gets a CPU, and the kernel counts how often that was.
 * So when the sum over all threads of a process has grown by no more than what those have that ran
 * lately, all others slept, and there is no new one that has run: two answers prove it, not thousands.
 * Else all are listed and asked. In a process whose threads switch all the time the sum may be some
 * switches off; then all are asked every WHOLE_ROUNDS rounds, and what was missed counts there.
 *
 * Asks the kernel: the sampler must be one of taskstats. Used by one thread at a time.
 */
#ifndef ACCOUNTS_TRACKER_H
#define ACCOUNTS_TRACKER_H

#include <stddef.h>
#include <stdint.h>

#include "accounts/sample.h"

struct delays_ids;
struct delays_request;
struct delays_tracker;

/* Valid until the next round. */
struct delays_round {
	uint64_t
		span_ns; /* since the round before; 0 = this is the first: it has no changes to tell */
	uint64_t time_ns; /* CLOCK_BOOTTIME */
	struct delays_account account;
	/*
	 * Each process before its threads. wall_ns of a task, and what its account has beside
	 * counters, are as of the time when it was asked about last.
	 */
	const struct delays_change *const *changes; /* a view */
	size_t count;
	size_t asked; /* answers that this took */
};

/* Where tasks and answers come from; for tests. */
struct delays_tracker_ops {
	void *context;
	int (*list)(void *context, const struct delays_select *select, struct delays_ids *out_ids,
		    struct err *err);
	void (*threads)(void *context, int32_t tgid, struct delays_ids *ids);
	int (*ask)(void *context, struct delays_request *requests, size_t count, struct err *err);
	uint64_t (*now_ns)(void *context);
};

/* The sampler must outlive it, and have delays_sampler_source() DELAYS_FROM_TASKSTATS. */
struct delays_tracker *delays_tracker_new(struct delays_sampler *sampler);

struct delays_tracker *delays_tracker_new_ops(struct delays_sampler *sampler,
					      const struct delays_tracker_ops *ops);

void delays_tracker_free(struct delays_tracker *tracker); /* NULL is fine */

/* Returns 0, or a negative errno with err filled. */
int delays_tracker_take(struct delays_tracker *tracker, const struct delays_select *select,
			struct delays_round *out_round, struct err *err);

#endif

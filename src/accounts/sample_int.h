/* sample_int.h - what makes accounts of answers: for sample.c and tracker.c. */
#ifndef ACCOUNTS_SAMPLE_INT_H
#define ACCOUNTS_SAMPLE_INT_H

#include "accounts/sample.h"

#define BIRTH_SLACK_NS 20000000u /* one tick and then some: births of the same task */

struct delays_sampler {
	struct delays_socket *socket; /* owned; NULL = from /proc */
	struct delays_account account;
};

/* See whether the accounting is on by now. */
void delays_sampler_look(struct delays_sampler *sampler);

/*
 * One task, out of the account of its (main) thread and, of a process of several threads, their
 * sum. Of the sample the time, the source and the accounting count.
 */
void delays_task_make(const struct delays_id *id, const struct delays_sample *sample,
		      const struct delays_stats *own, const struct delays_stats *sum,
		      struct delays_task *out_task);

/* Is it the same one, and not a later task of the same number? */
bool delays_task_is_same(const struct delays_task *before, const struct delays_task *after);

/* What came to a task in 'span_ns'; before == NULL = it is new. */
void delays_change_make(const struct delays_stats *before, const struct delays_task *after,
			uint64_t span_ns, struct delays_change *out_change);

#endif

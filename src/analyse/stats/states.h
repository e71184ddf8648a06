/*
 * states.h - the intervals of one thread, one after the other, in the words of `why`.
 *
 * Nothing is kept: a window of any length costs the same memory.
 */
#ifndef ANALYSE_STATS_STATES_H
#define ANALYSE_STATS_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/coverage.h"
#include "analyse/why/why.h"
#include "timeline/timeline.h"

struct err;
struct facts;

/* One interval. Its strings live until the next one is given. */
struct states_span {
	uint64_t start_ns; /* cut to the window; ns on the trace clock */
	uint64_t end_ns;
	enum wib wib;
	int32_t cpu;	   /* without a CPU: whose queue it is in; else -1 */
	const char *state; /* "own code", "read", "irq 24 vda", "preempted" */
	bool is_wait;
	struct why_wait wait; /* when it is one: what for, and how it ended */
};

/* What was given in all. */
struct states_sum {
	struct why_thread who;
	uint64_t start_ns; /* the window, cut to the thread's life */
	uint64_t end_ns;
	uint64_t count; /* intervals given */
	uint64_t ns;	/* their time */
	bool more;	/* there are more: 'each' ended it */
	struct coverage coverage;
};

struct states_opts {
	uint32_t slot;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t max; /* intervals to give; 0 = all */
};

/* The thread and the window, before the first interval: -EINVAL with err filled when it is empty. */
int states_window(const struct timeline *timeline, struct states_opts *opts, struct err *err);

/*
 * Give each interval of the window that states_window() left in 'opts' to 'each', in order of
 * time. Fills *out_sum, whose strings belong to the timeline.
 */
void states_run(const struct timeline *timeline, const struct facts *facts,
		const struct states_opts *opts,
		void (*each)(void *context, const struct states_span *span), void *context,
		struct states_sum *out_sum);

#endif

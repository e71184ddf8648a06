/*
 * sampled.h - what a thread was in when it was looked at.
 *
 * The look is an interrupt itself: where interrupts were recorded, the thread is in one at the time of
 * each sample. What counts is what that one came upon.
 */
#ifndef ANALYSE_PROFILE_SAMPLED_H
#define ANALYSE_PROFILE_SAMPLED_H

#include <stddef.h>
#include <stdint.h>

struct stacks;
struct timeline;

#define SAMPLED_LATE_NS 1000000u /* longer than this no look is kept waiting by interrupts */

/* The moment before the interrupt that the look of 'time_ns' was made in, and the state word then. */
struct sampled_moment {
	uint64_t ns;
	uint32_t
		word; /* WORD_NONE: the thread was not there, or had no time before the interrupt */
};

struct sampled_moment sampled_moment(const struct timeline *timeline, uint32_t slot,
				     uint64_t time_ns);

typedef void sampled_fn(void *context, const struct sampled_moment *moment, uint32_t stack);

/*
 * Give each sample of thread 'slot' whose moment lies in [start, end) to 'each'. Costs a search where
 * there is none.
 */
void sampled_each(const struct timeline *timeline, const struct stacks *stacks, uint32_t slot,
		  uint64_t start_ns, uint64_t end_ns, sampled_fn *each, void *context);

#endif

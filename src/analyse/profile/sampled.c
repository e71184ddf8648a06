/* sampled.c - see sampled.h. */
#include "analyse/profile/sampled.h"

#include <stdbool.h>

#include "event/stacks.h"
#include "timeline/timeline.h"

static bool is_interrupt(uint32_t word)
{
	return word_kind(word) == WORD_IRQ || word_kind(word) == WORD_VECTOR;
}

struct sampled_moment sampled_moment(const struct timeline *timeline, uint32_t slot,
				     uint64_t time_ns)
{
	const struct track *track = &timeline->threads[slot]->track;
	uint64_t from_ns = time_ns > SAMPLED_LATE_NS ? time_ns - SAMPLED_LATE_NS : 0;
	struct sampled_moment moment = { .ns = time_ns, .word = word_make(WORD_NONE, 0) };
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_begin(&iter, timeline, track, from_ns, time_ns + 1);
	while (tl_iter_next(&iter, &in)) {
		if (is_interrupt(in.word))
			continue;
		moment.word = in.word;
		moment.ns = in.end_ns - 1;
	}
	return moment;
}

void sampled_each(const struct timeline *timeline, const struct stacks *stacks, uint32_t slot,
		  uint64_t start_ns, uint64_t end_ns, sampled_fn *each, void *context)
{
	int32_t tid = timeline->threads[slot]->tid;
	size_t at = stacks_first_sample(stacks, tid, start_ns);

	for (; at < stacks->sample_count; at++) {
		const struct stack_sample *sample = &stacks->samples[at];
		struct sampled_moment moment;

		if (sample->tid != tid || sample->time_ns >= end_ns + SAMPLED_LATE_NS)
			return;
		moment = sampled_moment(timeline, slot, sample->time_ns);
		if (moment.ns >= start_ns && moment.ns < end_ns)
			each(context, &moment, sample->stack);
	}
}

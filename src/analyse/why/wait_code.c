/* wait_code.c - see wait_code.h. */
#include "analyse/why/wait_code.h"

#include <stdlib.h>

#include "analyse/why/why.h"
#include "base/sorting.h"
#include "event/stacks.h"

void wait_code(const struct stacks *stacks, const struct why_wait *wait,
	       struct why_codes *out_codes)
{
	uint64_t ns = wait->end_ns - wait->start_ns;
	uint32_t stack = STACK_NONE;

	*out_codes = (struct why_codes){ 0 };
	if (stacks && wait->who.tid && ns)
		stack = stacks_find(stacks, wait->who.tid, wait->start_ns, wait->end_ns);
	if (stack == STACK_NONE)
		return;
	out_codes->at[out_codes->count++] =
		(struct why_code){ stacks->stacks[stack].alike, stack, false, ns };
	out_codes->seen_ns = ns;
}

static void codes_add(struct why_codes *codes, uint32_t place, uint32_t stack, uint64_t ns)
{
	uint32_t i = 0;

	codes->seen_ns += ns;
	while (i < codes->count && codes->at[i].place != place)
		i++;
	if (i == WHY_CODES)
		return;
	if (i == codes->count)
		codes->at[codes->count++] = (struct why_code){ place, stack, true, 0 };
	codes->at[i].ns += ns;
}

ORDER_FUNCTION(compare_codes, struct why_code, ORDER_DOWN(ns), ORDER_UP(place));

void wait_waker_code(const struct stacks *stacks, const struct why_wait *wait,
		     struct why_codes *out_codes)
{
	int32_t tid = wait->woken_by.tid;

	*out_codes = (struct why_codes){ 0 };
	if (!stacks || !tid || tid == wait->who.tid)
		return;
	for (size_t i = stacks_first_sample(stacks, tid, wait->start_ns);
	     i < stacks->sample_count && stacks->samples[i].tid == tid &&
	     stacks->samples[i].time_ns < wait->end_ns;
	     i++) {
		uint32_t stack = stacks->samples[i].stack;

		if (stacks->stacks[stack].count)
			codes_add(out_codes, stacks->stacks[stack].alike_leaf, stack,
				  stacks->sampling.period_ns);
	}
	qsort(out_codes->at, out_codes->count, sizeof(out_codes->at[0]), compare_codes);
}

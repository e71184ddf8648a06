/* wait_code.c - see wait_code.h. */
#include "analyse/why/wait_code.h"

#include <stdlib.h>

#include "analyse/why/charge_int.h"
#include "analyse/why/why.h"
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

void wait_waker_code(const struct stacks *stacks, const struct why_wait *wait,
		     struct why_codes *out_codes)
{
	int32_t tid = wait->woken_by.tid;
	struct code_part *parts = NULL;
	size_t count = 0, cap = 0;
	const struct code_list list = { &parts, &count, &cap };

	*out_codes = (struct why_codes){ 0 };
	if (!stacks || !tid || tid == wait->who.tid)
		return;
	for (size_t i = stacks_first_sample(stacks, tid, wait->start_ns);
	     i < stacks->sample_count && stacks->samples[i].tid == tid &&
	     stacks->samples[i].time_ns < wait->end_ns;
	     i++) {
		uint32_t stack = stacks->samples[i].stack;

		if (stacks->stacks[stack].count)
			code_add(&list, stacks->stacks[stack].alike_leaf | CODE_WORK, stack,
				 stacks->sampling.period_ns);
	}
	*out_codes = code_result(parts, count);
	free(parts);
}

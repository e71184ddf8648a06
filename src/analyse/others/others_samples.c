/* others_samples.c - looks at threads at work as lanes: how many of each process, and in which function. */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/others/others_int.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "event/facts.h"
#include "event/stacks.h"

#define FUNCTION_BYTES 200u

static int compare_times(const void *a, const void *b)
{
	const struct stack_sample *x = *(const struct stack_sample *const *)a,
				  *y = *(const struct stack_sample *const *)b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The innermost function; NULL = it has no name. */
static const char *function_of(const struct stacks *stacks, const struct stack_sample *sample)
{
	return sample->stack < stacks->stack_count && stacks->stacks[sample->stack].count
		       ? stacks_frame(stacks, sample->stack, 0)->function
		       : NULL;
}

static void put_sample(struct others *others, uint32_t lane, const struct stack_sample *sample)
{
	const char *function = function_of(others->opts.facts->stacks, sample);
	struct other_span span = {
		.start_ns = sample->time_ns,
		.end_ns = sample->time_ns,
		.tid = sample->tid,
		.what = OTHER_EVENT,
	};
	char text[FUNCTION_BYTES];

	(void)snprintf(text, sizeof(text), "%s", function ? function : "a function without a name");
	span.text = names_add(&others->names, text, sizeof(text));
	others_add_amount(others, lane, sample->time_ns, 0);
	others_put_span(others, lane, &span);
}

void others_add_samples(struct others *others)
{
	const struct stacks *stacks = others->opts.facts->stacks;
	AUTO_FREE const struct stack_sample **order = NULL;
	struct map processes = { 0 };

	if (!stacks || !stacks->sample_count)
		return;
	order = xcalloc(stacks->sample_count, sizeof(struct stack_sample *));
	for (size_t i = 0; i < stacks->sample_count; i++)
		order[i] = &stacks->samples[i];
	qsort(order, stacks->sample_count, sizeof(struct stack_sample *), compare_times);
	for (size_t i = 0; i < stacks->sample_count; i++)
		put_sample(others,
			   others_lane_of(others, OTHER_SAMPLES, "samples", &processes,
					  order[i]->tid, order[i]->time_ns),
			   order[i]);
	map_fini(&processes);
}

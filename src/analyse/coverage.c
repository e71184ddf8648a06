/* coverage.c - holes in the window. */
#include "analyse/coverage.h"

#include <errno.h>

#include "base/err.h"
#include "base/window.h"
#include "timeline/timeline.h"

static void add_holes(struct coverage *coverage, const struct timeline *timeline, uint64_t start_ns,
		      uint64_t end_ns)
{
	uint64_t from = end_ns;

	/* Holes are in order of their end: from the last back, joined where they overlap. */
	for (size_t i = timeline->gap_count; i > 0; i--) {
		const struct tl_gap *gap = &timeline->gaps[i - 1];
		uint64_t start = gap->since_ns > start_ns ? gap->since_ns : start_ns;
		uint64_t end = gap->until_ns < from ? gap->until_ns : from;

		if (gap->until_ns <= start_ns || gap->since_ns >= end_ns)
			continue;
		coverage->lost_events += gap->lost ? gap->lost : 1;
		if (start < end) {
			coverage->lost_span_ns += end - start;
			from = start;
		}
	}
}

struct coverage coverage_of(const struct timeline *timeline, uint64_t start_ns, uint64_t end_ns)
{
	struct coverage coverage = {
		.repairs = timeline->repairs,
		.repairs_exact = timeline->repairs_exact,
		.contradictions = timeline->contradictions,
		.damage = timeline_damage(timeline),
	};

	add_holes(&coverage, timeline, start_ns, end_ns);
	return coverage;
}

int coverage_window(const struct timeline *timeline, uint64_t *start_ns, uint64_t *end_ns,
		    struct err *err)
{
	uint64_t start = *start_ns > timeline->origin_ns ? *start_ns : timeline->origin_ns;
	uint64_t end = *end_ns < timeline->end_ns ? *end_ns : timeline->end_ns;

	if (start >= end)
		return window_refuse(err, -EINVAL, *start_ns, *end_ns, timeline->origin_ns,
				     timeline->end_ns);
	*start_ns = start;
	*end_ns = end;
	return 0;
}

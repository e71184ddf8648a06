/*
 * check_holes.c - were events lost in a span? Two searches, however many holes there are.
 *
 * Of a trace that is read to its end all holes are known in advance. That matters: a stream tells
 * of a hole where it is whole again, and events of other streams come before that.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check_int.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"

ORDER_FUNCTION(by_end, struct check_hole, ORDER_UP(until_ns), ORDER_UP(since_ns));

void check_holes_init(struct check_holes *holes, const struct check_hole *all, size_t count,
		      bool is_user)
{
	uint64_t least_ns = UINT64_MAX;

	*holes = (struct check_holes){ 0 };
	if (!count)
		return;
	holes->list = xcalloc(count, sizeof(*holes->list));
	holes->cap = count;
	for (size_t i = 0; i < count; i++) {
		if (all[i].is_user == is_user)
			holes->list[holes->count++] = all[i];
	}
	if (holes->count)
		qsort(holes->list, holes->count, sizeof(*holes->list), by_end);
	/* Of each: the earliest begin of itself and those that end later. */
	for (size_t i = holes->count; i-- > 0;) {
		if (holes->list[i].since_ns < least_ns)
			least_ns = holes->list[i].since_ns;
		holes->list[i].since_ns = least_ns;
	}
}

/* Those that are over are known by the end of the last one. */
static void drop_over(struct check_holes *holes)
{
	size_t over = 0;

	while (over < holes->count && holes->list[over].until_ns <= holes->last_ns)
		over++;
	if (!over)
		return;
	memmove(holes->list, holes->list + over, (holes->count - over) * sizeof(*holes->list));
	holes->count -= over;
}

void check_holes_add(struct check_holes *holes, const struct check_hole *hole)
{
	drop_over(holes);
	holes->list = vec_room(holes->list, holes->count, &holes->cap, sizeof(*holes->list));
	for (size_t i = holes->count; i-- > 0 && holes->list[i].since_ns > hole->since_ns;)
		holes->list[i].since_ns = hole->since_ns;
	holes->list[holes->count++] = *hole;
}

void check_holes_fini(struct check_holes *holes)
{
	free(holes->list);
}

bool check_holes_between(const struct check_holes *holes, uint64_t start_ns, uint64_t end_ns,
			 uint64_t *out_until_ns)
{
	size_t low = SEARCH_FROM(holes->list, holes->count, until_ns, end_ns);

	if (low < holes->count && holes->list[low].since_ns < end_ns) {
		*out_until_ns = end_ns;
		return start_ns < end_ns;
	}
	*out_until_ns = low ? holes->list[low - 1].until_ns : 0;
	if (holes->last_ns > *out_until_ns)
		*out_until_ns = holes->last_ns;
	return *out_until_ns > start_ns;
}

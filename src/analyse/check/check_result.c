/* check_result.c - findings in order, what came unexpected, and freeing all of it. */
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check_int.h"
#include "analyse/why/why.h"
#include "base/mem.h"
#include "base/sorting.h"

static int by_status(const void *a, const void *b)
{
	const struct check_finding *left = a, *right = b;

	if (left->status != right->status)
		return left->status > right->status ? -1 : 1;
	if (left->instance != right->instance)
		return left->instance < right->instance ? -1 : 1;
	if (left->end_ns != right->end_ns)
		return left->end_ns < right->end_ns ? -1 : 1;
	if (left->transition != right->transition)
		return left->transition < right->transition ? -1 : 1;
	return (left->constraint > right->constraint) - (left->constraint < right->constraint);
}

ORDER_FUNCTION(by_count, struct check_unexpected, ORDER_DOWN(count), ORDER_UP(state),
	       ORDER_UP(pattern));

static void list_unexpected(struct check *check)
{
	struct check_result *result = &check->result;
	const struct map *map = &check->unexpected;

	result->unexpected = xcalloc(map->count + 1, sizeof(*result->unexpected));
	for (size_t i = 0; i < map->cap; i++) {
		if (!map->used[i])
			continue;
		result->unexpected[result->unexpected_count++] = (struct check_unexpected){
			.state = (uint32_t)(map->slots[i].key >> 32),
			.pattern = (uint32_t)map->slots[i].key,
			.count = map->slots[i].value,
		};
	}
	qsort(result->unexpected, result->unexpected_count, sizeof(*result->unexpected), by_count);
}

void check_finish_result(struct check *check)
{
	struct check_result *result = &check->result;

	if (result->finding_count)
		qsort(result->findings, result->finding_count, sizeof(*result->findings),
		      by_status);
	list_unexpected(check);
	/* Nothing was seen, or something was given up: that is not the same as valid. */
	if (!result->instances || result->dropped)
		result->status = CHECK_UNCERTAIN;
	if (result->count[CHECK_UNCERTAIN])
		result->status = CHECK_UNCERTAIN;
	if (result->count[CHECK_INVALID])
		result->status = CHECK_INVALID;
}

static void free_transition(struct check_transition *transition)
{
	for (uint32_t i = 0; i < transition->value_count; i++) {
		check_stats_fini(&transition->values[i].stats);
		free(transition->values[i].worst_key);
	}
	free(transition->constraints);
	free(transition->values);
}

void check_result_fini(struct check_result *result)
{
	for (size_t i = 0; i < result->finding_count; i++) {
		free(result->findings[i].key);
		if (result->findings[i].why)
			why_fini(result->findings[i].why);
		free(result->findings[i].why);
	}
	for (size_t i = 0; i < result->list_count; i++)
		free(result->list[i].key);
	for (uint32_t i = 0; result->transitions && i < result->model->transition_count; i++)
		free_transition(&result->transitions[i]);
	free(result->findings);
	free(result->list);
	free(result->transitions);
	free(result->matched);
	free(result->unexpected);
}

/*
 * breakdown_code.c - in which code a row of the breakdown was: at work as samples say, and waiting as the
 * stacks of its waits say.
 */
#include <stdlib.h>

#include "analyse/profile/sampled.h"
#include "analyse/stats/breakdown_int.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/stacks.h"

#define SEEN_PART 5 /* of a time at work one part in so many may lack its samples by chance */

/* ------------------------------------------------------------------ of one row */

static void sums_add_wait(const struct stacks *stacks, struct code_sums *sums, uint32_t stack,
			  uint64_t ns)
{
	const struct code_list list = { &sums->waits, &sums->wait_count, &sums->wait_cap };

	code_add(&list, stacks->stacks[stack].alike, stack, ns);
}

static void sums_add_sample(const struct stacks *stacks, struct code_sums *sums, uint32_t stack)
{
	const struct code_list list = { &sums->work, &sums->work_count, &sums->work_cap };

	code_add(&list, stacks->stacks[stack].alike_leaf | CODE_WORK, stack,
		 stacks->sampling.period_ns);
}

/* Looks come at fixed times: by chance a little more or less of them than there was time. */
static void sums_fit(struct why_codes *work, uint64_t working_ns)
{
	uint64_t seen_ns = work->seen_ns;

	if (!seen_ns || seen_ns < working_ns - working_ns / SEEN_PART)
		return;
	for (uint32_t i = 0; i < work->count; i++)
		work->at[i].ns = (uint64_t)((__uint128_t)work->at[i].ns * working_ns / seen_ns);
	work->seen_ns = working_ns;
}

struct why_codes code_sums_end(struct code_sums *sums, uint64_t working_ns)
{
	struct why_codes codes = code_result(sums->waits, sums->wait_count);
	struct why_codes work = code_result(sums->work, sums->work_count);

	sums_fit(&work, working_ns);
	why_codes_add(&codes, &work);
	free(sums->waits);
	free(sums->work);
	*sums = (struct code_sums){ 0 };
	return codes;
}

/* ------------------------------------------------------------------ of a process */

static struct code_sums *code_sums_of(struct code_rows *rows, size_t index)
{
	while (rows->count <= index) {
		rows->at = vec_room(rows->at, rows->count, &rows->cap, sizeof(*rows->at));
		rows->at[rows->count++] = (struct code_sums){ 0 };
	}
	return &rows->at[index];
}

static void code_rows_fini(struct code_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->at[i].waits);
		free(rows->at[i].work);
	}
	free(rows->at);
}

static uint32_t code_stack(const struct breakdown_query *query, uint32_t slot, uint64_t start_ns,
			   uint64_t end_ns)
{
	const struct stacks *stacks = query->facts->stacks;

	return stacks ? stacks_find(stacks, query->tl->threads[slot]->tid, start_ns, end_ns)
		      : STACK_NONE;
}

void breakdown_code_wait(struct breakdown_query *query, const struct code_at *at, size_t wait,
			 uint32_t slot, const struct segment *segment)
{
	uint32_t stack = code_stack(query, slot, segment->start_ns, segment->end_ns);
	uint64_t ns = segment->end_ns - segment->start_ns;

	if (stack == STACK_NONE)
		return;
	sums_add_wait(query->facts->stacks, code_sums_of(&query->line_code, at->line), stack, ns);
	sums_add_wait(query->facts->stacks, code_sums_of(&query->thread_code, at->thread), stack,
		      ns);
	sums_add_wait(query->facts->stacks, code_sums_of(&query->wait_code, wait), stack, ns);
}

struct code_meant {
	struct breakdown_query *query;
	const struct code_at *at;
};

static void code_take_sample(void *context, const struct sampled_moment *moment, uint32_t stack)
{
	const struct code_meant *meant = context;
	struct breakdown_query *query = meant->query;
	const struct stacks *stacks = query->facts->stacks;

	(void)moment;
	if (!stacks->stacks[stack].count)
		return;
	sums_add_sample(stacks, code_sums_of(&query->line_code, meant->at->line), stack);
	sums_add_sample(stacks, code_sums_of(&query->thread_code, meant->at->thread), stack);
}

void breakdown_code_work(struct breakdown_query *query, const struct code_at *at, uint32_t slot,
			 const struct segment *segment)
{
	struct code_meant meant = { query, at };

	if (query->facts->stacks && query->facts->stacks->sample_count)
		sampled_each(query->tl, query->facts->stacks, slot, segment->start_ns,
			     segment->end_ns, code_take_sample, &meant);
}

void breakdown_code_finish(struct breakdown_query *query)
{
	struct breakdown *result = query->result;

	for (size_t i = 0; i < query->line_code.count; i++)
		result->lines[i].code = code_sums_end(&query->line_code.at[i],
						      result->lines[i].parts[PART_WORKING]);
	for (size_t i = 0; i < query->wait_code.count; i++)
		result->waits[i].code = code_sums_end(&query->wait_code.at[i], 0);
	for (size_t i = 0; i < query->thread_code.count; i++)
		result->threads[i].code = code_sums_end(&query->thread_code.at[i],
							result->threads[i].parts[PART_WORKING]);
}

void breakdown_code_fini(struct breakdown_query *query)
{
	code_rows_fini(&query->line_code);
	code_rows_fini(&query->wait_code);
	code_rows_fini(&query->thread_code);
}

/* ------------------------------------------------------------------ of another thread */

struct code_other {
	const struct stacks *stacks;
	struct code_sums *sums;
};

static void code_take_other(void *context, const struct sampled_moment *moment, uint32_t stack)
{
	const struct code_other *other = context;

	if (other->stacks->stacks[stack].count && segment_part(moment->word) == PART_WORKING)
		sums_add_sample(other->stacks, other->sums, stack);
}

void breakdown_code_other(const struct breakdown_query *query, struct code_sums *sums,
			  uint32_t slot, const struct segment *segment)
{
	const struct stacks *stacks = query->facts->stacks;
	struct code_other other = { stacks, sums };
	uint32_t stack;

	switch (segment_part(segment->word)) {
	case PART_WORKING:
		if (stacks && stacks->sample_count)
			sampled_each(query->tl, stacks, slot, segment->start_ns, segment->end_ns,
				     code_take_other, &other);
		return;
	case PART_BLOCKED:
		stack = code_stack(query, slot, segment->start_ns, segment->end_ns);
		if (stack != STACK_NONE)
			sums_add_wait(stacks, sums, stack, segment->end_ns - segment->start_ns);
		return;
	default:
		return;
	}
}

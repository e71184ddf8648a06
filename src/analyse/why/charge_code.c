/* charge_code.c - in which code threads waited and worked, beside what is charged to that. */
#include <stdlib.h>

#include "analyse/profile/sampled.h"
#include "analyse/why/charge_int.h"
#include "analyse/why/why_int.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"
#include "event/facts.h"
#include "event/stacks.h"

#define PLACES_MAX 256 /* that are told apart; what comes later is not told */
#define SPANS_FEW  4096
#define SEEN_PART  5 /* of a root's time one part in so many may lack its samples by chance */

uint32_t code_of_wait(const struct query *query, uint32_t slot, const struct wait *wait)
{
	const struct stacks *stacks = query->facts->stacks;
	uint64_t end_ns = wait->woken_ns ? wait->woken_ns : query->tl->end_ns;

	if (!stacks || slot >= query->tl->thread_count || end_ns < wait->begin_ns)
		return STACK_NONE;
	return stacks_find(stacks, query->tl->threads[slot]->tid, wait->begin_ns, end_ns);
}

void code_add(const struct code_list *list, uint32_t place, uint32_t stack, uint64_t ns)
{
	struct code_part *part;
	size_t i = 0;

	while (i < *list->count && (*list->parts)[i].place != place)
		i++;
	if (i >= PLACES_MAX)
		return;
	if (i == *list->count) {
		*list->parts = vec_room(*list->parts, i, list->cap, sizeof(**list->parts));
		(*list->parts)[(*list->count)++] = (struct code_part){ .place = place };
	}
	part = &(*list->parts)[i];
	part->ns += ns;
	if (ns > part->longest_ns) {
		part->longest_ns = ns;
		part->stack = stack;
	}
}

static void code_add_wait(const struct stacks *stacks, const struct code_list *list, uint32_t stack,
			  uint64_t ns)
{
	if (stack != STACK_NONE)
		code_add(list, stacks->stacks[stack].alike, stack, ns);
}

void code_root(const struct query *query, struct root *root, uint32_t stack, uint64_t ns)
{
	const struct code_list list = { &root->waited, &root->waited_count, &root->waited_cap };

	code_add_wait(query->facts->stacks, &list, stack, ns);
}

/* ------------------------------------------------------------------ work */

struct code_sampled {
	const struct stacks *stacks;
	struct code_list list;
};

static void code_add_sample(void *context, const struct sampled_moment *moment, uint32_t stack)
{
	const struct code_sampled *sampled = context;
	const struct stacks *stacks = sampled->stacks;

	(void)moment;
	if (stacks->stacks[stack].count)
		code_add(&sampled->list, stacks->stacks[stack].alike_leaf | CODE_WORK, stack,
			 stacks->sampling.period_ns);
}

static void code_add_samples(const struct query *query, const struct code_list *list, uint32_t slot,
			     uint64_t start_ns, uint64_t end_ns)
{
	struct code_sampled sampled = { query->facts->stacks, *list };

	if (sampled.stacks && sampled.stacks->sample_count && slot < query->tl->thread_count)
		sampled_each(query->tl, sampled.stacks, slot, start_ns, end_ns, code_add_sample,
			     &sampled);
}

void code_work(const struct query *query, struct root *root, uint32_t slot,
	       const struct tl_interval *in)
{
	const struct code_list list = { &root->code, &root->code_count, &root->code_cap };

	code_add_samples(query, &list, slot, in->start_ns, in->end_ns);
}

void code_sleep(const struct query *query, struct root *root, uint32_t slot,
		const struct wait *wait, uint64_t ns)
{
	const struct code_list list = { &root->code, &root->code_count, &root->code_cap };

	code_add_wait(query->facts->stacks, &list, code_of_wait(query, slot, wait), ns);
}

/* ------------------------------------------------------------------ hops */

/* Waits of a thread with a stack, for what of them lies in the span. */
static void code_add_waits(const struct stacks *stacks, const struct code_list *list, int32_t tid,
			   uint64_t start_ns, uint64_t end_ns)
{
	size_t at = stacks_first_wait(stacks, tid, start_ns);

	for (; at < stacks->wait_count && stacks->waits[at].tid == tid; at++) {
		const struct stack_wait *wait = &stacks->waits[at];
		uint64_t from = wait->begin_ns > start_ns ? wait->begin_ns : start_ns;
		uint64_t until = wait->end_ns < end_ns ? wait->end_ns : end_ns;
		uint64_t ns = until > from ? until - from : 0;

		if (ns && !wait->is_short)
			code_add_wait(stacks, list, wait->stack,
				      ns < wait->slept_ns ? ns : wait->slept_ns);
		if (wait->end_ns >= end_ns)
			return;
	}
}

void code_node(const struct query *query, struct node *node, uint32_t slot, const struct wait *wait)
{
	const struct code_list list = { &node->code, &node->code_count, &node->code_cap };
	const struct code_list waker = { &node->woken_in, &node->woken_in_count,
					 &node->woken_in_cap };
	uint64_t end_ns = wait->woken_ns ? wait->woken_ns : query->tl->end_ns;
	uint32_t by =
		wait->woken_ns && wait->waker.kind == ACTOR_THREAD ? wait->waker.slot : SLOT_NONE;

	code_add_wait(query->facts->stacks, &list, code_of_wait(query, slot, wait),
		      end_ns - wait->begin_ns);
	if (by >= query->tl->thread_count || by == slot)
		return;
	code_add_samples(query, &waker, by, wait->begin_ns, end_ns);
	code_add_waits(query->facts->stacks, &waker, query->tl->threads[by]->tid, wait->begin_ns,
		       end_ns);
}

/* ------------------------------------------------------------------ spans of work */

ORDER_FUNCTION(compare_spans, struct why_work_span, ORDER_UP(slot), ORDER_UP(start_ns));

void code_span(const struct query *query, uint32_t slot, const struct tl_interval *in)
{
	struct why_work *spans = query->opts->work;

	if (!spans)
		return;
	spans->at = vec_room(spans->at, spans->count, &spans->cap, sizeof(*spans->at));
	spans->at[spans->count++] = (struct why_work_span){ slot, in->start_ns, in->end_ns };
}

void why_work_end(struct why_work *spans)
{
	size_t kept = 0;

	if (!spans->count)
		return;
	qsort(spans->at, spans->count, sizeof(*spans->at), compare_spans);
	/* Several targets may be held up by the same work. */
	for (size_t i = 1; i < spans->count; i++) {
		struct why_work_span *last = &spans->at[kept];
		const struct why_work_span *next = &spans->at[i];

		if (next->slot != last->slot || next->start_ns > last->end_ns)
			spans->at[++kept] = *next;
		else if (next->end_ns > last->end_ns)
			last->end_ns = next->end_ns;
	}
	spans->count = spans->sorted = kept + 1;
}

/* Now and then, so that what several targets gave alike does not add up. */
void code_spans_end(const struct query *query)
{
	struct why_work *spans = query->opts->work;

	if (spans && spans->count / 2 > spans->sorted + SPANS_FEW)
		why_work_end(spans);
}

size_t why_work_find(const struct why_work *spans, uint32_t slot, uint64_t start_ns)
{
	return SEARCH_ITEM(spans->at, spans->count, span,
			   span->slot < slot || (span->slot == slot && span->end_ns <= start_ns));
}

void why_work_fini(struct why_work *spans)
{
	free(spans->at);
	*spans = (struct why_work){ 0 };
}

/* ------------------------------------------------------------------ results */

static int compare_codes(const void *a, const void *b)
{
	const struct why_code *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->is_work != y->is_work)
		return x->is_work ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static void keep_first(struct why_codes *codes, struct why_code *all, size_t count)
{
	qsort(all, count, sizeof(*all), compare_codes);
	codes->count = (uint32_t)(count < WHY_CODES ? count : WHY_CODES);
	for (size_t i = 0; i < codes->count; i++)
		codes->at[i] = all[i];
}

struct why_codes code_result(const struct code_part *parts, size_t count)
{
	struct why_code all[PLACES_MAX];
	struct why_codes codes = { .count = 0 };

	for (size_t i = 0; i < count && i < PLACES_MAX; i++) {
		all[i] = (struct why_code){ .place = parts[i].place & ~CODE_WORK,
					    .stack = parts[i].stack,
					    .is_work = (parts[i].place & CODE_WORK) != 0,
					    .ns = parts[i].ns };
		codes.seen_ns += parts[i].ns;
	}
	if (count)
		keep_first(&codes, all, count < PLACES_MAX ? count : PLACES_MAX);
	return codes;
}

struct why_codes *code_owned(const struct code_part *parts, size_t count)
{
	struct why_codes *codes = NULL;

	if (count) {
		codes = xcalloc(1, sizeof(*codes));
		*codes = code_result(parts, count);
	}
	return codes;
}

struct why_codes code_root_result(const struct root *root)
{
	struct why_codes codes = code_result(root->code, root->code_count);
	uint64_t seen_ns = codes.seen_ns;

	/* Looks come at fixed times: by chance a little more or less of them than there was time. */
	if (!seen_ns || seen_ns < root->ns - root->ns / SEEN_PART)
		return codes;
	for (uint32_t i = 0; i < codes.count; i++)
		codes.at[i].ns = (uint64_t)((__uint128_t)codes.at[i].ns * root->ns / seen_ns);
	codes.seen_ns = root->ns;
	return codes;
}

void why_codes_add(struct why_codes *sum, const struct why_codes *more)
{
	struct why_code all[2 * WHY_CODES];
	size_t count = sum->count;

	for (size_t i = 0; i < count; i++)
		all[i] = sum->at[i];
	for (size_t i = 0; i < more->count; i++) {
		size_t at = 0;

		while (at < count && (all[at].place != more->at[i].place ||
				      all[at].is_work != more->at[i].is_work))
			at++;
		if (at == count) {
			all[count] = more->at[i];
			all[count++].ns = 0;
		}
		all[at].ns += more->at[i].ns;
	}
	sum->seen_ns += more->seen_ns;
	if (count)
		keep_first(sum, all, count);
}

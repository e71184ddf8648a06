/* charge_told.c - what threads said of themselves, beside what is charged to them. */
#include <stddef.h>

#include "analyse/why/charge_int.h"
#include "analyse/why/why_int.h"
#include "base/mem.h"
#include "base/names.h"

#define TOLD_MAX 64 /* things that are told apart */

/* A growing list of what was said. */
struct list {
	struct part **parts;
	size_t *count, *cap;
};

static size_t find(const struct list *list, uint32_t id)
{
	size_t i = 0;

	while (i < *list->count && (*list->parts)[i].id != id)
		i++;
	return i;
}

/* From some number on all the others are one that says nothing. NULL = nothing was said. */
static void add(struct query *query, const struct list *list, const char *text, uint64_t amount)
{
	uint32_t id = text ? names_add(&query->why->texts, text, 4096) : 0;
	size_t i = find(list, id);

	if (!id)
		return;
	if (i == *list->count && i >= TOLD_MAX) {
		id = 0;
		i = find(list, id);
	}
	if (i == *list->count) {
		*list->parts = vec_room(*list->parts, i, list->cap, sizeof(**list->parts));
		(*list->parts)[(*list->count)++] = (struct part){ id, 0 };
	}
	(*list->parts)[i].ns += amount;
}

void told_work(struct query *query, struct root *root, uint32_t slot, const struct tl_interval *in)
{
	const struct list list = { &root->told, &root->told_count, &root->told_cap };
	uint64_t ns = 0;
	const char *text = query_told_work(query, slot, in, &ns);

	add(query, &list, text, ns);
}

void told_root(struct query *query, struct root *root, uint32_t slot, const struct wait *wait,
	       uint64_t ns)
{
	const struct list list = { &root->told, &root->told_count, &root->told_cap };

	if (root->kind == WHY_TIMER || root->kind == WHY_STUCK)
		add(query, &list, query_told_wait(query, slot, wait), ns);
}

void told_wait(struct query *query, struct node *node, uint32_t slot, const struct wait *wait)
{
	const struct list told = { &node->told, &node->told_count, &node->told_cap };
	const struct list woke = { &node->woke, &node->woke_count, &node->woke_cap };

	add(query, &told, query_told_wait(query, slot, wait), 1);
	add(query, &woke, query_told_waker(query, wait), 1);
}

/* hot_tree.c - see hot_tree.h. */
#include "analyse/profile/hot_tree.h"

#include <stdlib.h>

#include "analyse/profile/hot_int.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/stacks.h"

#define NODES_MAX 1000000u

struct tree_node {
	struct hot_node node;
	uint32_t up;	      /* HOT_TREE_TOP = none */
	uint32_t first, next; /* below it; beside it */
};

#define HOT_TREE_TOP UINT32_MAX

struct hot_tree {
	const struct stacks *stacks;
	enum hot_by by;
	enum hot_tree_kind kind;
	struct tree_node *nodes; /* owned */
	size_t count, cap;
	uint32_t first;	  /* of the top */
	struct map index; /* hash of who is above, and what it is -> index */
};

struct hot_tree *hot_tree_new(const struct stacks *stacks, enum hot_by by, enum hot_tree_kind kind)
{
	struct hot_tree *tree = xcalloc(1, sizeof(*tree));

	tree->stacks = stacks;
	tree->by = by;
	tree->kind = kind;
	tree->first = HOT_TREE_TOP;
	return tree;
}

/* The node of a frame below 'up', which itself is the answer when there is no more room. */
static uint32_t tree_below(struct hot_tree *tree, uint32_t up, const struct stack_frame *frame)
{
	const uint64_t parts[] = { up, frame ? hot_frame_key(tree->by, frame) : 0 };
	bool is_new;
	uint64_t hash = hash_bytes(parts, sizeof(parts), 3), *index = map_find(&tree->index, hash);
	uint32_t *first;

	if (index)
		return (uint32_t)*index;
	if (tree->count >= NODES_MAX)
		return up;
	index = map_add(&tree->index, hash, &is_new);
	*index = tree->count;
	tree->nodes = vec_room(tree->nodes, tree->count, &tree->cap, sizeof(*tree->nodes));
	first = up == HOT_TREE_TOP ? &tree->first : &tree->nodes[up].first;
	tree->nodes[tree->count] = (struct tree_node){
		.node = { .frame = frame,
			  .depth = up == HOT_TREE_TOP ? 0 : tree->nodes[up].node.depth + 1 },
		.up = up,
		.first = HOT_TREE_TOP,
		.next = *first,
	};
	*first = (uint32_t)tree->count;
	return (uint32_t)tree->count++;
}

static void tree_count(struct hot_tree *tree, uint32_t at, uint64_t ns, uint64_t count)
{
	if (at == HOT_TREE_TOP)
		return;
	tree->nodes[at].node.self_ns += ns;
	tree->nodes[at].node.samples += count;
}

void hot_tree_add(struct hot_tree *tree, uint32_t stack, uint32_t self, uint64_t ns, uint64_t count)
{
	uint32_t frames = tree->stacks->stacks[stack].count, at = HOT_TREE_TOP, first = 0;

	for (uint32_t i = self; i < frames; i++) {
		uint32_t frame = tree->kind == HOT_TREE_CALLERS ? i : frames - 1 - (i - self);

		at = tree_below(tree, at, stacks_frame(tree->stacks, stack, frame));
		first = i == self ? at : first;
		if (at != HOT_TREE_TOP)
			tree->nodes[at].node.total_ns += ns;
	}
	/* Upwards it is spent where the way begins. */
	tree_count(tree, tree->kind == HOT_TREE_CALLERS ? first : at, ns, count);
}

void hot_tree_unseen(struct hot_tree *tree, uint64_t ns)
{
	uint32_t at = tree_below(tree, HOT_TREE_TOP, NULL);

	if (at != HOT_TREE_TOP)
		tree->nodes[at].node.total_ns += ns;
	tree_count(tree, at, ns, 0);
}

/* ------------------------------------------------------------------ in order */

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct hot_tree *tree = context;
	const struct hot_node *x = &tree->nodes[*(const uint32_t *)a].node;
	const struct hot_node *y = &tree->nodes[*(const uint32_t *)b].node;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return hot_compare_frames(x->frame, y->frame);
}

/* The list that begins with 'first', sorted; its first one. */
static uint32_t tree_sort(struct hot_tree *tree, uint32_t first)
{
	AUTO_FREE uint32_t *list = NULL;
	size_t count = 0;

	for (uint32_t at = first; at != HOT_TREE_TOP; at = tree->nodes[at].next)
		count++;
	if (count < 2)
		return first;
	list = xcalloc(count, sizeof(*list));
	count = 0;
	for (uint32_t at = first; at != HOT_TREE_TOP; at = tree->nodes[at].next)
		list[count++] = at;
	qsort_r(list, count, sizeof(*list), compare_nodes, tree);
	for (size_t i = 0; i < count; i++)
		tree->nodes[list[i]].next = i + 1 < count ? list[i + 1] : HOT_TREE_TOP;
	return list[0];
}

/* The next one in the order of the result. */
static uint32_t tree_next(const struct hot_tree *tree, uint32_t at)
{
	if (tree->nodes[at].first != HOT_TREE_TOP)
		return tree->nodes[at].first;
	while (at != HOT_TREE_TOP && tree->nodes[at].next == HOT_TREE_TOP)
		at = tree->nodes[at].up;
	return at == HOT_TREE_TOP ? at : tree->nodes[at].next;
}

void hot_tree_end(struct hot_tree *tree, struct hot *hot)
{
	hot->nodes = xcalloc(tree->count + 1, sizeof(*hot->nodes));
	tree->first = tree_sort(tree, tree->first);
	for (size_t i = 0; i < tree->count; i++)
		tree->nodes[i].first = tree_sort(tree, tree->nodes[i].first);
	for (uint32_t at = tree->first; at != HOT_TREE_TOP; at = tree_next(tree, at))
		hot->nodes[hot->node_count++] = tree->nodes[at].node;
	map_fini(&tree->index);
	free(tree->nodes);
	free(tree);
}

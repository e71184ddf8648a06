/* chain.c - see chain.h: trees of waits, as far as they lead to a cause. */
#include "view/chain.h"

#include <stddef.h>
#include <stdlib.h>

#include "analyse/why/why.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"
#include "view/verdict.h"

#define NONE UINT32_MAX

bool view_wait_has_actor(const struct why_wait *wait)
{
	return wait->woken_by.tid &&
	       (wait->waker == WHY_WAKER_THREAD || wait->waker == WHY_WAKER_SIGNAL ||
		wait->waker == WHY_WAKER_WORK || wait->waker == WHY_WAKER_IPI);
}

/* A wait of depth 0 and what lies below it. */
struct chain_tree {
	const struct why_wait *waits; /* the first is its own */
	uint32_t count;
	bool leads[VIEW_CHAIN_HOPS];
	uint32_t parents[VIEW_CHAIN_HOPS];
	bool is_leaf[VIEW_CHAIN_HOPS];
};

static bool is_end(const struct chain_tree *tree, uint32_t index, const struct why_root *root)
{
	static const struct {
		enum why_kind kind;
		enum why_waker waker;
	} ended_by[] = {
		{ WHY_TIMER, WHY_WAKER_TIMER },
		{ WHY_DISK, WHY_WAKER_DISK },
		{ WHY_NETWORK, WHY_WAKER_NETWORK },
		{ WHY_IPI, WHY_WAKER_IPI },
	};
	const struct why_wait *wait = &tree->waits[index];

	if (!root)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(ended_by); i++) {
		if (ended_by[i].kind == root->kind)
			return wait->waker == ended_by[i].waker &&
			       (!root->who.tid || root->kind != WHY_TIMER ||
				wait->who.tid == root->who.tid);
	}
	if (!root->who.tid)
		return tree->is_leaf[index] && !wait->woken_by.tid;
	return (view_wait_has_actor(wait) && wait->woken_by.tid == root->who.tid) ||
	       wait->who.tid == root->who.tid;
}

/* Returns whether anything of it leads to 'root'. */
static bool make_tree(const struct why *told, uint32_t first, const struct why_root *root,
		      struct chain_tree *out_tree)
{
	uint32_t last[VIEW_CHAIN_HOPS] = { 0 }; /* of each depth */

	*out_tree = (struct chain_tree){ .waits = &told->waits[first] };
	for (size_t at = first; at < told->wait_count && out_tree->count < VIEW_CHAIN_HOPS; at++) {
		uint32_t index = out_tree->count, depth = told->waits[at].depth;

		if ((index && depth == 0) || depth >= VIEW_CHAIN_HOPS)
			break;
		last[depth] = index;
		out_tree->parents[index] = depth ? last[depth - 1] : NONE;
		out_tree->is_leaf[index] = true;
		if (depth)
			out_tree->is_leaf[last[depth - 1]] = false;
		out_tree->count++;
	}
	for (uint32_t i = out_tree->count; i-- > 0;) {
		if (!out_tree->leads[i])
			out_tree->leads[i] = is_end(out_tree, i, root);
		if (out_tree->leads[i] && out_tree->parents[i] != NONE)
			out_tree->leads[out_tree->parents[i]] = true;
	}
	return out_tree->count && out_tree->leads[0];
}

static uint64_t length_of(const struct why_wait *wait)
{
	return wait->end_ns - wait->start_ns;
}

uint32_t view_chain_path(const struct why *told, uint32_t first, const struct why_root *root,
			 uint32_t *out_waits)
{
	struct chain_tree tree;
	uint32_t count = 0, at = 0;

	if (!make_tree(told, first, root, &tree))
		return 0;
	while (at != NONE) {
		uint32_t best = NONE;

		out_waits[count++] = first + at;
		for (uint32_t i = at + 1; i < tree.count; i++) {
			if (tree.parents[i] == at && tree.leads[i] &&
			    (best == NONE ||
			     length_of(&tree.waits[i]) > length_of(&tree.waits[best])))
				best = i;
		}
		at = best;
	}
	return count;
}

/* ------------------------------------------------------------- waits of a cause */

/* The told thread's spans of the cause: a run, in order of time. */
static const struct why_span *spans_of(const struct why_root *root, int32_t tid, size_t *out_count)
{
	size_t first = 0, end;

	while (first < root->span_count && root->spans[first].tid != tid)
		first++;
	for (end = first; end < root->span_count && root->spans[end].tid == tid; end++)
		;
	*out_count = end - first;
	return *out_count ? &root->spans[first] : NULL;
}

static bool lies(const struct why_wait *wait, const struct why_span *spans, size_t count)
{
	size_t low = SEARCH_BEHIND(spans, count, end_ns, wait->start_ns);

	return low < count && spans[low].start_ns < wait->end_ns;
}

struct own {
	uint64_t ns;
	uint32_t index;
};

ORDER_FUNCTION(compare_own, struct own, ORDER_DOWN(ns), ORDER_UP(index));

uint32_t view_chains(const struct why *why, const struct why_root *root, uint32_t *out_waits,
		     uint32_t most)
{
	const struct why *told = verdict_told(why);
	AUTO_FREE struct own *own = xcalloc(told->wait_count + 1, sizeof(*own));
	size_t span_count;
	const struct why_span *spans = spans_of(root, told->target.tid, &span_count);
	uint32_t count = 0, kept = 0;

	if (root->kind == WHY_WORKING)
		return 0;
	for (size_t i = 0; i < told->wait_count; i++) {
		const struct why_wait *wait = &told->waits[i];

		if (wait->depth == 0 && lies(wait, spans, span_count))
			own[count++] = (struct own){ length_of(wait), (uint32_t)i };
	}
	qsort(own, count, sizeof(*own), compare_own);
	for (uint32_t i = 0; i < count && kept < most; i++) {
		struct chain_tree tree;

		if (make_tree(told, own[i].index, root, &tree))
			out_waits[kept++] = own[i].index;
	}
	return kept;
}

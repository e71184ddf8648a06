/*
 * flame.c - the code that worked in a window, as a tree of whole stacks: a node for each frame, with the
 * samples that have it.
 *
 * Nodes are told from the outermost frame inwards, each before its children, those in the order in which
 * they were met first. What the samples are of is as in holdup hot: threads at work, not the interrupt
 * that looked.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyse/profile/sampled.h"
#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/lanes.h"

#define NODES_MAX 20000u
#define DEPTH_MAX 200u
#define NODE_NONE UINT32_MAX

struct node {
	const struct stack_frame *frame; /* NULL = the root */
	uint64_t count;
	uint32_t first, last, next; /* children, and the next one of its parent's */
	uint32_t depth;
};

struct flame {
	const struct stacks *stacks;
	struct node *nodes; /* owned; the first one is the root */
	uint32_t count;
	uint64_t left_out; /* samples whose thread was not at work, or that is not known */
	bool is_cut; /* NODES_MAX or DEPTH_MAX was reached: the rest counts for the frame before */
};

static bool flame_is_same(const struct stack_frame *a, const struct stack_frame *b)
{
	return a->function == b->function && a->module == b->module &&
	       (a->function || (a->start ? a->start == b->start : a->offset == b->offset));
}

/* The child of 'parent' for this frame; NODE_NONE: there is no room. */
static uint32_t child_of(struct flame *flame, uint32_t parent, const struct stack_frame *frame)
{
	uint32_t at = flame->nodes[parent].first, depth = flame->nodes[parent].depth + 1;

	while (at != NODE_NONE && !flame_is_same(flame->nodes[at].frame, frame))
		at = flame->nodes[at].next;
	if (at != NODE_NONE)
		return at;
	if (flame->count == NODES_MAX || depth > DEPTH_MAX) {
		flame->is_cut = true;
		return NODE_NONE;
	}
	at = flame->count++;
	flame->nodes[at] = (struct node){ frame, 0, NODE_NONE, NODE_NONE, NODE_NONE, depth };
	if (flame->nodes[parent].last == NODE_NONE)
		flame->nodes[parent].first = at;
	else
		flame->nodes[flame->nodes[parent].last].next = at;
	flame->nodes[parent].last = at;
	return at;
}

static void take_sample(void *context, const struct sampled_moment *moment, uint32_t stack)
{
	struct flame *flame = context;
	uint32_t at = 0, frames;

	if (stack >= flame->stacks->stack_count || word_wib(moment->word) != WIB_WORKING) {
		flame->left_out++;
		return;
	}
	frames = flame->stacks->stacks[stack].count;
	flame->nodes[0].count++;
	while (frames-- > 0) {
		at = child_of(flame, at, stacks_frame(flame->stacks, stack, frames));
		if (at == NODE_NONE)
			return;
		flame->nodes[at].count++;
	}
}

/* ------------------------------------------------------------------- the answer */

static void put_node(struct json *json, const struct node *node)
{
	const struct stack_frame *frame = node->frame;

	json_begin_array(json, NULL);
	json_print_u64(json, NULL, node->depth);
	json_print_u64(json, NULL, node->count);
	if (frame && frame->function)
		view_json_text(json, NULL, frame->function);
	else
		view_json_own_text(json, NULL,
				   frame ? xasprintf("0x%" PRIx64,
						     frame->start ? frame->start : frame->offset)
					 : NULL);
	view_json_text(json, NULL, frame ? frame->module : NULL);
	json_print_bool(json, NULL, frame && frame->is_kernel);
	json_end_array(json);
}

/* Each before its children: along 'first', and back up by a stack as deep as the tree. */
static void put_nodes(struct json *json, const struct flame *flame)
{
	uint32_t open[DEPTH_MAX + 2], depth = 0, at = 0;

	json_begin_array(json, "nodes");
	while (at != NODE_NONE) {
		put_node(json, &flame->nodes[at]);
		open[depth++] = at;
		at = flame->nodes[at].first;
		while (at == NODE_NONE && depth > 0)
			at = flame->nodes[open[--depth]].next;
	}
	json_end_array(json);
}

static void walk(const struct view *view, struct flame *flame, const struct view_lane *lane,
		 uint64_t start_ns, uint64_t end_ns)
{
	const struct timeline *timeline = view->loaded->timeline;

	for (uint32_t slot = 0; slot < timeline->thread_count; slot++) {
		const struct tl_thread *thread = timeline->threads[slot];

		if (thread->tid == 0 || (lane && lane->index != slot) ||
		    thread->birth_ns >= end_ns || thread->death_ns <= start_ns)
			continue;
		sampled_each(timeline, flame->stacks, slot, start_ns, end_ns, take_sample, flame);
	}
}

static int parse(const struct view *view, const struct view_query *query,
		 struct view_lane *out_lane, bool *out_is_one, struct err *err)
{
	const char *name = view_query_text(query, "lane");
	struct view_lane lanes[VIEW_LANES_MAX];
	uint32_t count = 0;
	int rc = name ? view_lanes_parse(view, name, lanes, &count, err) : 0;

	if (rc == 0 && name && (count != 1 || lanes[0].kind != 't'))
		rc = err_set(err, -EINVAL, "expected one thread");
	if (rc == 0 && name)
		*out_lane = lanes[0];
	*out_is_one = name != NULL;
	return rc;
}

void view_answer_flame(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer)
{
	struct flame flame = { .stacks = view->loaded->facts->stacks, .count = 1 };
	struct view_lane lane = { 0 };
	uint64_t start_ns, end_ns;
	struct err err = { 0 };
	struct view_json json;
	bool is_one = false;
	int rc = view_window(view, query, &start_ns, &end_ns, &err);

	if (rc == 0)
		rc = parse(view, query, &lane, &is_one, &err);
	if (rc == 0 && (!flame.stacks || flame.stacks->sample_count == 0))
		rc = err_set(&err, -ENOENT, "no samples; record without --sample off");
	if (rc < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	flame.nodes = xcalloc(NODES_MAX, sizeof(*flame.nodes));
	flame.nodes[0] = (struct node){ NULL, 0, NODE_NONE, NODE_NONE, NODE_NONE, 0 };
	walk(view, &flame, is_one ? &lane : NULL, start_ns, end_ns);
	view_json_begin(&json);
	json_print_u64(&json.json, "period_ns", flame.stacks->sampling.period_ns);
	json_print_u64(&json.json, "left_out", flame.left_out);
	json_print_bool(&json.json, "cut", flame.is_cut);
	put_nodes(&json.json, &flame);
	view_json_end(&json, out_answer);
	free(flame.nodes);
}

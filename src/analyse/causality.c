/*
 * causality.c - the recursive blocking causality: each wait, how and by whom it
 * was ended, and under it the waits of that thread in the same span.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why_int.h"
#include "base/mem.h"

#define DEFAULT_DEPTH 8
#define MAX_WAITS     20000 /* a report longer than this helps nobody; what is cut is said */

struct explainer {
	struct query *query;
	size_t cap;
	uint32_t depth;
	uint64_t min_ns;
};

/* What the waker did in the span. */
static void add_wib(struct query *query, uint32_t slot, struct why_wait *node)
{
	struct tl_iter iter;
	struct tl_interval in;

	tl_iter_begin(&iter, query->tl, &query->tl->threads[slot]->track, node->start_ns,
		      node->end_ns);
	while (tl_iter_next(&iter, &in)) {
		uint64_t ns = in.end_ns - in.start_ns;

		switch (word_wib(in.word)) {
		case WIB_WORKING:
			node->working_ns += ns;
			break;
		case WIB_INTERRUPTED:
			node->interrupted_ns += ns;
			break;
		case WIB_BLOCKED:
			node->blocked_ns += ns;
			break;
		default:
			node->uncertain_ns += ns;
			break;
		}
	}
}

static uint32_t behind(const struct wait *wait)
{
	bool thread = wait->waker.kind == ACTOR_THREAD || wait->waker.kind == ACTOR_NETWORK;

	return thread && wait->woken_ns ? wait->waker.slot : SLOT_NONE;
}

static void explain(struct explainer *explainer, uint32_t slot, int32_t parent, uint32_t depth,
		    const struct tl_interval *span);

static void cut(struct explainer *explainer, uint32_t depth, uint64_t ns)
{
	explainer->query->why->waits_cut++;
	if (depth == 0)
		explainer->query->why->waits_cut_ns += ns;
}

static void add_wait(struct explainer *explainer, uint32_t slot, int32_t parent, uint32_t depth,
		     const struct tl_interval *in)
{
	struct query *query = explainer->query;
	struct why *why = query->why;
	const struct wait *wait = query_wait(query, slot, in->word, &(struct wait){ 0 });
	uint32_t waker = behind(wait);
	int32_t index = (int32_t)why->wait_count;
	struct why_wait *node;

	why->waits = vec_room(why->waits, why->wait_count, &explainer->cap, sizeof(*why->waits));
	node = &why->waits[why->wait_count++];
	*node = (struct why_wait){
		.start_ns = in->start_ns,
		.end_ns = in->end_ns,
		.who = why_thread(query, slot),
		.in = describe_in(query, wait),
		.object = describe_object(query, wait),
		.stack = why_keep(why, xstrdup(timeline_name(query->tl, wait->stack))),
		.class = wait_class(query, wait),
		.waker = wait_waker(wait),
		.woken_by = why_thread(query, wait->woken_ns ? wait->waker.slot : SLOT_NONE),
		.waker_name = wait->woken_ns ? describe_actor(query, &wait->waker) : "",
		.waker_state = wait->woken_ns ? describe_stack(query, &wait->waker) : "",
		.depth = depth,
		.parent = parent,
	};
	if (waker == SLOT_NONE || waker == slot)
		return;
	add_wib(query, waker, node);
	explain(explainer, waker, index, depth + 1, in);
}

/* The waits of 'slot' in the span, in time order. */
static void explain(struct explainer *explainer, uint32_t slot, int32_t parent, uint32_t depth,
		    const struct tl_interval *span)
{
	struct query *query = explainer->query;
	struct tl_iter iter;
	struct tl_interval in;

	tl_iter_begin(&iter, query->tl, &query->tl->threads[slot]->track, span->start_ns,
		      span->end_ns);
	while (tl_iter_next(&iter, &in)) {
		uint64_t ns = in.end_ns - in.start_ns;

		if (word_kind(in.word) != WORD_BLOCKED)
			continue;
		if (depth >= explainer->depth || ns < explainer->min_ns ||
		    query->why->wait_count >= MAX_WAITS)
			cut(explainer, depth, ns);
		else
			add_wait(explainer, slot, parent, depth, &in);
	}
}

/* Instances of waits point into waits[] from now on, not into the timeline. */
static void link_instances(struct why *why)
{
	uint32_t *own =
		xcalloc(why->wait_count + 1, sizeof(*own)); /* the target's, in time order */
	size_t count = 0;

	for (size_t i = 0; i < why->wait_count; i++) {
		if (why->waits[i].depth == 0)
			own[count++] = (uint32_t)i;
	}
	for (size_t i = 0; i < why->instance_count; i++) {
		struct why_instance *instance = &why->instances[i];
		size_t low = 0, high = count;

		if (instance->wait < 0)
			continue;
		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (why->waits[own[middle]].start_ns < instance->start_ns)
				low = middle + 1;
			else
				high = middle;
		}
		instance->wait = low < count && why->waits[own[low]].start_ns == instance->start_ns
					 ? (int32_t)own[low]
					 : -1;
	}
	free(own);
}

void explain_waits(struct query *query)
{
	const struct why_opts *opts = query->opts;
	struct explainer explainer = {
		.query = query,
		.depth = opts->depth ? opts->depth : DEFAULT_DEPTH,
		.min_ns = opts->min_ns,
	};
	struct tl_interval window = { query->start_ns, query->end_ns, 0 };

	if (opts->want_waits)
		explain(&explainer, query->slot, -1, 0, &window);
	link_instances(query->why);
}

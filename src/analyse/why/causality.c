/*
 * causality.c - the recursive blocking causality: each wait, how and by whom it
 * was ended, and under it the waits of that thread in the same span.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_int.h"
#include "base/mem.h"
#include "base/search.h"

#define DEFAULT_DEPTH 8
#define MAX_WAITS     20000 /* a report longer than this helps nobody; what is cut is said */

struct explainer {
	struct query *query;
	size_t cap, owner_cap;
	uint32_t depth;
	uint64_t min_ns;
};

/* What a thread did in the span: added to the four of 'sums'. */
struct wib_sums {
	uint64_t *working_ns, *interrupted_ns, *blocked_ns, *uncertain_ns;
};

static void add_wib(struct query *query, uint32_t slot, const struct tl_interval *span,
		    const struct wib_sums *sums)
{
	struct tl_iter iter;
	struct tl_interval in;

	tl_iter_thread(&iter, query->tl, slot, span->start_ns, span->end_ns);
	while (tl_iter_next(&iter, &in)) {
		uint64_t ns = in.end_ns - in.start_ns;

		switch (word_wib(in.word)) {
		case WIB_WORKING:
			*sums->working_ns += ns;
			break;
		case WIB_INTERRUPTED:
			*sums->interrupted_ns += ns;
			break;
		case WIB_BLOCKED:
			*sums->blocked_ns += ns;
			break;
		default:
			*sums->uncertain_ns += ns;
			break;
		}
	}
}

static uint32_t behind(struct query *query, const struct wait *wait)
{
	bool thread = wait->waker.kind == ACTOR_THREAD || wait->waker.kind == ACTOR_NETWORK;

	if (wait->woken_ns && wait->waker.kind == ACTOR_DISK && wait->origin.kind == ACTOR_THREAD)
		return wait->origin.slot; /* served the request */
	return thread && wait->woken_ns && !query_grace(query, wait) ? wait->waker.slot : SLOT_NONE;
}

static void causality_explain(struct explainer *explainer, uint32_t slot, int32_t parent,
			      uint32_t depth, const struct tl_interval *span);

static void cut(struct explainer *explainer, uint32_t depth, uint64_t ns)
{
	explainer->query->why->waits_cut++;
	if (depth == 0)
		explainer->query->why->waits_cut_ns += ns;
}

/* The owner's entry of the wait that was added last. */
static struct why_owner *causality_owner_of(struct explainer *explainer, int32_t index,
					    uint32_t slot)
{
	struct why *why = explainer->query->why;
	struct why_wait *node = &why->waits[index];
	struct why_thread who = why_thread(explainer->query, slot);

	for (uint32_t i = 0; i < node->owner_count; i++) {
		struct why_owner *owner = &why->owners[node->first_owner + i];

		if (owner->who.tid == who.tid)
			return owner;
	}
	why->owners = vec_room(why->owners, why->owner_count, &explainer->owner_cap,
			       sizeof(*why->owners));
	why->owners[why->owner_count] = (struct why_owner){ .who = who };
	node->owner_count++;
	return &why->owners[why->owner_count++];
}

/* Who had the lock, and what that thread did with it; each thread once, the first one first. */
static void add_owners(struct explainer *explainer, uint32_t slot, int32_t index,
		       const struct lock_owner_wait *lock, const struct tl_interval *in)
{
	struct query *query = explainer->query;
	struct owned_iter iter;
	struct owned_span span;

	query->why->waits[index].first_owner = (uint32_t)query->why->owner_count;
	if (lock->span_count == 0)
		return;
	owned_begin(&iter, query, slot, lock, in);
	while (owned_next(&iter, &span)) {
		struct why_owner *owner = causality_owner_of(explainer, index, span.slot);
		struct tl_interval part = { span.start_ns, span.end_ns, 0 };

		owner->ns += span.end_ns - span.start_ns;
		if (span.slot != SLOT_NONE)
			add_wib(query, span.slot, &part,
				&(struct wib_sums){ &owner->working_ns, &owner->interrupted_ns,
						    &owner->blocked_ns, &owner->uncertain_ns });
	}
}

/* Is the wait 'index', or one above it, that thread's own? */
static bool is_above(const struct why *why, int32_t index, int32_t tid)
{
	while (index >= 0 && why->waits[index].who.tid != tid)
		index = why->waits[index].parent;
	return index >= 0;
}

/* The waits of each owner while it had the lock; for the rest of the time the waker's. */
static void explain_owners(struct explainer *explainer, uint32_t slot, int32_t index,
			   const struct lock_owner_wait *lock, const struct tl_interval *in)
{
	struct query *query = explainer->query;
	const struct wait *wait = query_wait(query, slot, in->word, &(struct wait){ 0 });
	uint32_t depth = query->why->waits[index].depth + 1;
	struct owned_iter iter;
	struct owned_span span;

	owned_begin(&iter, query, slot, lock, in);
	while (owned_next(&iter, &span)) {
		struct tl_interval part = { span.start_ns, span.end_ns, 0 };

		if (span.slot == SLOT_NONE ||
		    is_above(query->why, index, query->tl->threads[span.slot]->tid))
			span.slot = behind(query, wait);
		if (span.slot != SLOT_NONE && span.slot != slot)
			causality_explain(explainer, span.slot, index, depth, &part);
	}
}

/* Who had the kernel lock: the waker's waits are told anyway, another one's are told before them. */
static void explain_holder(struct explainer *explainer, uint32_t slot, int32_t index,
			   uint32_t waker, const struct wait *wait, const struct tl_interval *in)
{
	struct query *query = explainer->query;
	struct why_wait *node = &query->why->waits[index];
	uint32_t holder = query_holder(query, wait, &node->holding);

	node->holder = why_thread(query, holder);
	node->holding_call = word_is_call(query, wait->origin.word) && node->holding[0];
	if (holder == SLOT_NONE || holder == waker || holder == slot ||
	    is_above(query->why, node->parent, query->tl->threads[holder]->tid))
		return;
	add_wib(query, holder, in,
		&(struct wib_sums){ &node->held.working_ns, &node->held.interrupted_ns,
				    &node->held.blocked_ns, &node->held.uncertain_ns });
	causality_explain(explainer, holder, index, node->depth + 1, in);
}

static void add_wait(struct explainer *explainer, uint32_t slot, int32_t parent, uint32_t depth,
		     const struct tl_interval *in)
{
	struct query *query = explainer->query;
	struct why *why = query->why;
	const struct wait *wait = query_wait(query, slot, in->word, &(struct wait){ 0 });
	struct last_slice last = { 0 };
	bool is_idle = wait_idle(query, slot, wait);
	bool is_slice = query_slice(query, slot, in->word, wait, &last);
	const struct wait *end = is_slice ? &last.wait : wait;
	struct answer answer = { .slot = SLOT_NONE };
	bool is_answered = !is_slice && query_answer(query, slot, in->word, wait, &answer);
	uint32_t waker = is_answered ? answer.slot : behind(query, end);
	int32_t index = (int32_t)why->wait_count;
	struct lock_owner_wait lock;
	struct why_wait *node;

	why->waits = vec_room(why->waits, why->wait_count, &explainer->cap, sizeof(*why->waits));
	node = &why->waits[why->wait_count++];
	*node = (struct why_wait){
		.start_ns = in->start_ns,
		.end_ns = in->end_ns,
		.who = why_thread(query, slot),
		.in = describe_in(query, wait),
		.in_call = word_is_call(query, wait->in),
		.object = describe_object(query, slot, wait),
		.stack = why_keep(why, xstrdup(timeline_name(query->tl, wait->stack))),
		.class = is_idle       ? WHY_IDLE
			 : is_answered ? WHY_HELD_UP
				       : wait_class(query, is_slice ? last.slot : slot, end),
		.waker = wait_waker(query, slot, in->word, wait),
		.woken_by = why_thread(query, wait->woken_ns ? wait->waker.slot : SLOT_NONE),
		.waker_name = wait->woken_ns ? describe_packet(query, wait) : "",
		.waker_data = wait->woken_ns ? query_packet(query, wait) : NULL,
		.waker_state = wait->woken_ns ? describe_stack(query, &wait->waker) : "",
		.waker_in = wait->woken_ns ? describe_innermost(query, &wait->waker) : "",
		.waker_in_call = wait->woken_ns && actor_in_call(query, &wait->waker),
		.helper = query_helper(query, wait),
		.is_slice = is_slice,
		.last_waker = is_slice ? wait_waker(query, last.slot, last.word, end)
				       : wait_waker(query, slot, in->word, wait),
		.last_woken_by = why_thread(query, end->woken_ns ? end->waker.slot : SLOT_NONE),
		.last_waker_name = end->woken_ns ? describe_packet(query, end) : "",
		.last_waker_data = end->woken_ns ? query_packet(query, end) : NULL,
		.inferred = is_answered ? answer_reason(query, &answer) : NULL,
		.answerer = why_thread(query, answer.slot),
		.known = is_answered && answer.known,
		.told = query_told_wait(query, slot, wait),
		.depth = depth,
		.parent = parent,
	};
	if (waker == slot || ((is_slice || is_answered) && waker != SLOT_NONE &&
			      is_above(why, parent, query->tl->threads[waker]->tid)))
		waker = SLOT_NONE;
	if (waker != SLOT_NONE)
		add_wib(query, waker, in,
			&(struct wib_sums){ &node->working_ns, &node->interrupted_ns,
					    &node->blocked_ns, &node->uncertain_ns });
	explain_holder(explainer, slot, index, waker, wait, in);
	if (query_lock(query, slot, wait, in, &lock)) {
		why->waits[index].lock =
			why_keep(why, xstrdup(lock_owners_name(query->opts->lock_owners, &lock)));
		add_owners(explainer, slot, index, &lock, in);
		explain_owners(explainer, slot, index, &lock, in);
	} else if (waker != SLOT_NONE) {
		causality_explain(explainer, waker, index, depth + 1, in);
	}
}

/* The waits of 'slot' in the span, in time order. */
static void causality_explain(struct explainer *explainer, uint32_t slot, int32_t parent,
			      uint32_t depth, const struct tl_interval *span)
{
	struct query *query = explainer->query;
	struct tl_iter iter;
	struct tl_interval in;

	tl_iter_thread(&iter, query->tl, slot, span->start_ns, span->end_ns);
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
		size_t at;

		if (instance->wait < 0)
			continue;
		at = SEARCH_ITEM(own, count, wait, why->waits[*wait].start_ns < instance->start_ns);
		instance->wait = at < count && why->waits[own[at]].start_ns == instance->start_ns
					 ? (int32_t)own[at]
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
		causality_explain(&explainer, query->slot, -1, 0, &window);
	link_instances(query->why);
}

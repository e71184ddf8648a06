/*
 * charge.c - the verdict: every nanosecond of the window charged to one root.
 *
 * charge(X, [a, b)) walks what X was in and charges each part:
 *
 *	working               to X and what it ran
 *	irq, softirq          to that
 *	preempted, waiting    to the threads that had the CPU instead, each its part
 *	blocked, woken by W   charge(W, the same span): one level deeper
 *	blocked, by a disk    of which a kworker serves the requests: to what that waited for
 *	blocked, by RCU       to X and the grace period, see why_helper.c
 *	blocked, by hardware  to the timer, the disk, the network, the IPI
 *	blocked, for a lock   charge(O, the span): for as long as the program told that O had it
 *	blocked, for work     to X, where its stack tells that: see event/idle_table.h
 *	blocked, in slices    as the last slice, for what that was ended by: see why_slices.c
 *	asleep, as it asked   charge(W, the span): W changed what it asked for, see why_asks.c
 *	blocked, stopped      to the stop, or to the freezer of its cgroup
 *	blocked, throttled    to the limit, up to when it let go
 *	kept at freeing memory  to the limit that it is for, as it works and as it is blocked
 *	blocked, in vain      to X: what it waited for did not come, see why_stuck.c
 *	uncertain             unknown, with the reason
 *
 * A thread that is blocked wakes nobody, so the span that is passed on to the
 * waker ends where the waker ran: the recursion ends by itself. An owner of a lock may be blocked
 * for as long as the lock is; it is followed only if no wait on the way down is its own, which
 * ends as well. A bound on depth is still kept, and said.
 *
 * The way down is kept as a tree of hops, so that the chain of the largest root
 * can be told. Hops alike share a node: its time and count add up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/charge_add.h"
#include "analyse/why/why_int.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "event/facts.h"
#include "event/stacks.h"

#define ACTED_NS     1000000u /* that an act, and the end of the sleep before it, may seem apart */
#define CHARGE_DEPTH 100

static void charge(struct charger *charger, const struct place *place, uint32_t slot,
		   uint64_t start_ns, uint64_t end_ns);

/* The disk that the thread is at work for, as far as that is why it counts; else 0. */
static uint32_t served_by(const struct place *place, uint32_t slot)
{
	return place->depth > 0 && place->server != SLOT_NONE && place->server == slot
		       ? place->served
		       : 0;
}

static void add_client(struct root *root, uint32_t slot, uint64_t ns)
{
	size_t i = 0;

	while (i < root->client_count && root->clients[i].id != slot)
		i++;
	if (slot == SLOT_NONE || i == KEPT_OFF_MAX)
		return;
	if (i == root->client_count) {
		root->clients = vec_room(root->clients, root->client_count, &root->client_cap,
					 sizeof(*root->clients));
		root->clients[root->client_count++] = (struct part){ slot, 0 };
	}
	root->clients[i].ns += ns;
}

/* A thread's work is one root, whatever it worked at: the parts tell. */
static void charge_working(struct charger *charger, const struct place *place, uint32_t slot,
			   const struct tl_interval *in)
{
	uint64_t ns = in->end_ns - in->start_ns;
	struct root root = {
		.kind = place->depth == 0 ? WHY_WORKING
			: place->lock	  ? WHY_LOCK
					  : WHY_OTHER_THREAD,
		.slot = slot,
		.object = place->depth > 0 && place->lock ? place->object : served_by(place, slot),
		.no_name = place->depth > 0 && place->lock && place->no_name,
	};
	uint32_t classes = charger->query->opts->classes;
	uint32_t index;

	if (place->depth == 0 && classes)
		root.object = charge_text(charger, why_class_words(classes));
	index = charge_add(charger, place, root, ns);
	charge_part(&charger->roots[index],
		    query_polls_ring(charger->query, slot, in->word)
			    ? word_make(WORD_KERNEL, KERNEL_POLLS)
			    : in->word,
		    ns);
	if (place->depth > 0)
		add_client(&charger->roots[index],
			   query_client(charger->query, slot, in->start_ns, &charger->client), ns);
	told_work(charger->query, &charger->roots[index], slot, in);
	code_work(charger->query, &charger->roots[index], slot, in);
	code_span(charger->query, slot, in);
}

/* Returns the root. */
static uint32_t charge_hardware(struct charger *charger, const struct place *place, uint32_t slot,
				const struct wait *wait, const struct tl_interval *in)
{
	static const uint8_t kind_of[] = {
		[ACTOR_NONE] = WHY_UNKNOWN,    [ACTOR_THREAD] = WHY_UNKNOWN,
		[ACTOR_TIMER] = WHY_TIMER,     [ACTOR_DISK] = WHY_DISK,
		[ACTOR_NETWORK] = WHY_NETWORK, [ACTOR_IPI] = WHY_IPI,
		[ACTOR_IRQ] = WHY_IRQ,	       [ACTOR_SOFTIRQ] = WHY_SOFTIRQ,
	};
	struct query *query = charger->query;
	struct root root = { .kind = kind_of[wait->waker.kind], .slot = slot };
	uint64_t ns = in->end_ns - in->start_ns;
	struct place own = *place;
	const struct place *at = place;
	uint32_t index;

	if (root.kind == WHY_UNKNOWN)
		return charge_unknown(charger, place, slot, WHY_REASON_WAKEUP_UNRECORDED, ns);
	/* A sleep is told by what was asked for; the rest by what the hardware was. */
	root.timed_out = root.kind == WHY_TIMER && wait_timed_out(query, wait);
	root.what_data = root.timed_out ? 0 : why_reason_id(query_packet(query, wait));
	if (root.timed_out)
		root.reason = why_reason_id(query_unanswered(query, slot, wait));
	if (root.timed_out && !root.reason && slot != query->slot && wait->flags & WAIT_SERVER)
		root.reason = charge_reason(charger, WHY_REASON_NO_REQUEST);
	/* Those that it seemed to wait for had waited for it, up to its own time-out. */
	if (root.timed_out && slot == query->slot && place->depth > 1 &&
	    place->class == WHY_HELD_UP && !query->opts->classes) {
		own.class = WHY_ASKED;
		at = &own;
		query->why->held_up_ns -= ns;
		query->why->asked_ns += ns;
	}
	if (root.kind == WHY_TIMER && root.what_data)
		root.kind = WHY_NETWORK;
	if (root.timed_out || (root.kind == WHY_TIMER && (wait->flags & WAIT_TIMED_OUT)))
		root_in(charger, &root, wait);
	else
		root.what = charge_text(charger, describe_packet(query, wait));
	if (root.kind == WHY_NETWORK || root.kind == WHY_TIMER)
		root_for(charger, &root, slot, wait);
	index = charge_add(charger, at, root, ns);
	code_sleep(query, &charger->roots[index], slot, wait, ns);
	if (root.kind == WHY_DISK) {
		const char *object = describe_object(query, slot, wait);

		charger->roots[index].no_name |= wait_has_no_name(query, slot, wait);
		charge_part(&charger->roots[index],
			    *object ? charge_text(charger, object) : served_by(place, slot), ns);
	}
	return index;
}

/* Work ran for somebody: until it was queued, whoever queued it was awaited. */
static uint64_t charge_origin(struct charger *charger, const struct place *place, uint32_t slot,
			      const struct wait *wait, const struct tl_interval *in)
{
	const struct actor *origin = &wait->origin;
	struct wait stand_in = *wait;
	uint64_t until = origin->time_ns;

	if (!origin->time_ns || until <= in->start_ns ||
	    (origin->kind == ACTOR_THREAD &&
	     (origin->slot == slot || origin->slot == wait->waker.slot)))
		return in->start_ns;
	if (until > in->end_ns)
		until = in->end_ns;
	if (origin->kind == ACTOR_THREAD && origin->slot != SLOT_NONE) {
		charge(charger, place, origin->slot, in->start_ns, until);
		return until;
	}
	if (origin->kind == ACTOR_NONE || origin->kind == ACTOR_THREAD)
		return in->start_ns;
	stand_in.waker = *origin;
	stand_in.flags &= ~(uint32_t)WAIT_TIMED_OUT;
	(void)charge_hardware(charger, place, slot, &stand_in,
			      &(struct tl_interval){ in->start_ns, until, in->word });
	return until;
}

/* Is the thread waiting already, on the way down to 'place'? */
static bool is_waiting_above(const struct charger *charger, const struct place *place,
			     uint32_t slot)
{
	uint32_t node = place->node;

	while (node != NODE_NONE && charger->nodes[node].slot != slot)
		node = charger->nodes[node].parent;
	return node != NODE_NONE;
}

/* Is the kworker at what serves the request in that span, as it was before or as the span says? */
static bool goes_on_serving(struct charger *charger, const struct wait *wait,
			    const struct tl_interval *at, uint64_t end_ns, bool served)
{
	struct query *query = charger->query;
	struct wait below;

	switch (word_kind(at->word)) {
	case WORD_BLOCKED:
		query_wait(query, wait->origin.slot, at->word, &below);
		return below.in == wait->origin.word && below.woken_ns && below.woken_ns <= end_ns;
	case WORD_WORK:
	case WORD_KERNEL:
	case WORD_UNCERTAIN:
	case WORD_NONE:
		return at->word == wait->origin.word;
	default:
		return served;
	}
}

/* "for loop0 (/srv/disk.img)" */
static uint32_t served_text(struct charger *charger, const struct wait *wait)
{
	const char *request = timeline_name(charger->query->tl, wait->waker.name);
	const char *verb = strrchr(request, ' ');
	AUTO_FREE char *text =
		xasprintf("for %.*s", verb ? (int)(verb - request) : (int)strlen(request), request);

	return charge_text(charger, text);
}

/*
 * A kworker served the request: what held that up meanwhile, the disk below or a process, is what the
 * request waited for; the rest is the disk's own.
 */
static void charge_served(struct charger *charger, const struct place *place, uint32_t slot,
			  const struct wait *wait, const struct tl_interval *in)
{
	struct query *query = charger->query;
	uint32_t server = wait->origin.slot;
	uint64_t since_ns = wait->origin.time_ns, rest_ns = in->end_ns - in->start_ns;
	struct place below = *place;
	bool serves = false;
	struct tl_interval at;
	struct tl_iter iter;

	below.server = server;
	below.served = served_text(charger, wait);

	tl_iter_thread(&iter, query->tl, server, since_ns > in->start_ns ? since_ns : in->start_ns,
		       in->end_ns);
	while (since_ns < in->end_ns && tl_iter_next(&iter, &at)) {
		serves = goes_on_serving(charger, wait, &at, in->end_ns, serves);
		if (!serves)
			continue;
		charge(charger, &below, server, at.start_ns, at.end_ns);
		rest_ns -= at.end_ns - at.start_ns;
	}
	if (rest_ns)
		charge_hardware(charger, place, slot, wait,
				&(struct tl_interval){ in->end_ns - rest_ns, in->end_ns,
						       in->word });
}

static bool is_served(const struct charger *charger, const struct place *place,
		      const struct wait *wait)
{
	return wait->waker.kind == ACTOR_DISK && wait->origin.kind == ACTOR_THREAD &&
	       wait->origin.time_ns && wait->origin.slot < charger->query->tl->thread_count &&
	       place->depth <= CHARGE_DEPTH && !is_waiting_above(charger, place, wait->origin.slot);
}

/* The sender was awaited until the packet was on its way; then whatever carried it. */
static void charge_sent(struct charger *charger, const struct place *place, uint32_t slot,
			const struct wait *wait, const struct tl_interval *in)
{
	uint64_t sent = wait->origin.time_ns;
	struct place by_then = *place;

	if (sent < in->start_ns)
		sent = in->start_ns;
	if (sent > in->end_ns)
		sent = in->end_ns;
	by_then.until_ns = wait->origin.time_ns;
	charge(charger, &by_then, wait->waker.slot, in->start_ns, sent);
	if (sent < in->end_ns)
		(void)charge_hardware(charger, place, slot, wait,
				      &(struct tl_interval){ sent, in->end_ns, in->word });
}

/* A child that sleeps in its stead is another one each time. */
static uint32_t hop_of_nap(struct charger *charger, const struct place *place, uint32_t slot,
			   const struct wait *wait, const struct led *led)
{
	struct wait nap = *wait;

	if (nap.waker.kind == ACTOR_THREAD)
		nap.waker = (struct actor){ .slot = SLOT_NONE };
	return charge_hop(charger, place, slot, &nap, led);
}

/* One level deeper. A wait in several spans counts once. */
static struct place place_below(struct charger *charger, const struct place *place, uint32_t slot,
				const struct wait *wait, const struct led *led)
{
	struct place below = *place;
	struct node *node;

	if (place->depth == 0)
		below.class = wait_class(charger->query, slot, wait);
	below.node = led->inferred ? hop_of_nap(charger, place, slot, wait, led)
				   : charge_hop(charger, place, slot, wait, led);
	below.depth = place->depth + 1;
	below.owner = SLOT_NONE;
	below.acted_ns = below.until_ns = 0;
	node = &charger->nodes[below.node];
	charge_note_holder(charger, node, wait);
	if (node->count > 1 && (led->lock || led->inferred || node->slices) &&
	    node->counted_ns == wait->begin_ns)
		node->count--;
	else
		told_wait(charger->query, node, slot, wait);
	if (charger->query->facts->stacks && node->counted_ns != wait->begin_ns)
		code_node(charger->query, node, slot, wait);
	node->counted_ns = wait->begin_ns;
	below.lock = led->owner != SLOT_NONE || wait->flags & WAIT_LOCK;
	below.object = led->owner != SLOT_NONE ? led->lock : node->object;
	below.no_name = led->owner == SLOT_NONE && node->no_name;
	node->known = led->known;
	if (led->inferred) {
		below.inferred = led->known ? place->inferred : led->inferred;
		below.lock = led->known;
		if (led->known)
			below.object = charge_text(charger, describe_asked(charger->query, wait));
		below.class = place->depth == 0 ? WHY_HELD_UP : below.class;
	}
	return below;
}

/* They wait for each other, maybe through others: nothing ends that. */
static const struct why_reason *circle(struct charger *charger, uint32_t awaited,
				       const struct why_reason *instead)
{
	return why_reason_keep(charger->query->why,
			       &(struct why_reason){ .kind = WHY_REASON_CIRCLE,
						     .who = why_thread(charger->query, awaited),
						     .inner = instead });
}

/* From what it is inferred that it waits for that one: what is below is so, too. Returns a reason. */
static uint32_t note_expected(struct node *node, const struct place *place,
			      const struct why_reason *by)
{
	if (!by)
		return place->inferred;
	node->expects_by = by->id;
	return place->inferred ? place->inferred : node->expects_by;
}

/*
 * Any of several children could end it: each is charged for an equal part of the time, for what it was in then. False:
 * there are no such.
 */
static bool charge_children(struct charger *charger, const struct place *place, uint32_t slot,
			    const struct wait *wait, const struct why_reason *instead,
			    const struct tl_interval *in)
{
	uint64_t start = in->start_ns, ns = in->end_ns - in->start_ns;
	struct place below = *place;
	struct query_group group;

	query_group(charger->query, wait, in, &group);
	if (!group.children || group.count < 2 || place->depth >= CHARGE_DEPTH)
		return false;
	if (!below.inferred)
		below.inferred = why_reason_id(
			why_reason_keep(charger->query->why,
					&(struct why_reason){ .kind = WHY_REASON_EQUAL_PART,
							      .number = (uint32_t)group.count }));
	for (size_t i = 0; i < group.count; i++) {
		uint64_t end = i + 1 < group.count ? start + ns / group.count : in->end_ns;

		if (end > start && is_waiting_above(charger, place, group.slots[i]))
			charge_open(charger, &below, slot, wait,
				    circle(charger, group.slots[i], instead), end - start);
		else if (end > start)
			charge(charger, &below, group.slots[i], start, end);
		start = end;
	}
	return true;
}

/* Who waits for what does not come is held up by what those do who could bring it. */
static void charge_in_vain(struct charger *charger, const struct place *place, uint32_t slot,
			   const struct wait *wait, const struct why_reason *instead,
			   const struct tl_interval *in)
{
	struct node *node = &charger->nodes[place->node];
	struct place below = *place;
	const struct why_reason *by = NULL;
	bool is_sleep = !wait->woken_ns && wait_sleeps_there(charger->query, slot, wait);
	uint32_t awaited = instead && !is_sleep && place->depth < CHARGE_DEPTH
				   ? query_awaited(charger->query, slot, wait, in, &by)
				   : SLOT_NONE;
	uint64_t until = in->start_ns;
	bool in_circle;

	if (instead)
		node->instead = instead->id;
	if (instead && place->owner != SLOT_NONE)
		awaited = place->owner;
	node->expects = awaited;
	if (awaited != SLOT_NONE && place->owner == SLOT_NONE)
		below.inferred = note_expected(node, place, by);
	if (instead && !is_sleep && awaited == SLOT_NONE &&
	    charge_children(charger, place, slot, wait, instead, in))
		return;
	in_circle = awaited != SLOT_NONE && is_waiting_above(charger, place, awaited);
	node->in_circle = in_circle;
	if (in_circle) {
		instead = circle(charger, awaited, instead);
	} else if (awaited != SLOT_NONE) {
		until = charger->query->tl->threads[awaited]->death_ns;
		until = until < in->end_ns ? until : in->end_ns;
		charge(charger, &below, awaited, in->start_ns, until);
	}
	if (until < in->end_ns)
		charge_open(charger, in_circle ? &below : place, slot, wait, instead,
			    in->end_ns - until);
}

/* Who listens had no room for the connection up to then, as is inferred. Returns when that was. */
static uint64_t charge_listener(struct charger *charger, const struct place *place,
				const struct wait *wait, const struct tl_interval *in)
{
	uint32_t listener = wait->origin.slot;
	struct place below = *place;
	uint64_t until;

	if (wait->waker.kind != ACTOR_NETWORK || wait->origin.kind != ACTOR_TIMER ||
	    listener >= charger->query->tl->thread_count || place->depth > CHARGE_DEPTH ||
	    is_waiting_above(charger, place, listener))
		return in->start_ns;
	until = query_accepts_ns(charger->query, listener, wait, in);
	if (!below.inferred)
		below.inferred = charge_reason(charger, WHY_REASON_QUEUE_FULL);
	if (until > in->start_ns)
		charge(charger, &below, listener, in->start_ns, until);
	return until;
}

/* Hardware ended it: of a disk, up to when the request was issued, whoever did that. */
static void charge_device(struct charger *charger, const struct place *place, uint32_t slot,
			  const struct wait *wait, const struct tl_interval *in)
{
	uint64_t from = wait->waker.kind == ACTOR_DISK && wait->origin.kind == ACTOR_DISK
				? charge_origin(charger, place, slot, wait, in)
				: charge_listener(charger, place, wait, in);
	uint32_t index;

	if (from >= in->end_ns)
		return;
	index = charge_hardware(charger, place, slot, wait,
				&(struct tl_interval){ from, in->end_ns, in->word });
	told_root(charger->query, &charger->roots[index], slot, wait, in->end_ns - from);
}

/* What ended the wait says what it was for. */
static void charge_ended(struct charger *charger, const struct place *place, uint32_t slot,
			 const struct wait *wait, const struct tl_interval *in)
{
	struct query *query = charger->query;
	uint32_t by = wait->waker.slot;
	bool by_thread = wait->waker.kind == ACTOR_THREAD ||
			 (wait->waker.kind == ACTOR_NETWORK && by != SLOT_NONE);
	const struct why_reason *instead = query_stuck(query, slot, wait, in);
	enum why_reason_kind grace = query_grace(query, wait);

	if (wait->woken_ns == 0 || instead) {
		charge_in_vain(charger, place, slot, wait, instead, in);
	} else if (grace) {
		charge_grace(charger, place, slot, wait, grace, in->end_ns - in->start_ns);
	} else if (is_served(charger, place, wait)) {
		charge_served(charger, place, slot, wait, in);
	} else if (!by_thread || by == slot || by == SLOT_NONE) {
		charge_device(charger, place, slot, wait, in);
	} else if (place->depth > CHARGE_DEPTH) {
		query->why->depth_limit_hits++;
		(void)charge_unknown(charger, place, slot, WHY_REASON_TOO_DEEP,
				     in->end_ns - in->start_ns);
	} else if (wait->waker.kind == ACTOR_NETWORK && wait->origin.time_ns) {
		charge_sent(charger, place, slot, wait, in);
	} else {
		uint64_t from = charge_origin(charger, place, slot, wait, in);
		struct place by_then = *place;

		by_then.until_ns = wait->woken_ns;
		charge(charger, &by_then, by, from, in->end_ns);
	}
}

/* The program told of the lock: its owner is charged while it had it, for the rest what ended it. */
static void charge_lock(struct charger *charger, const struct place *place, uint32_t slot,
			const struct wait *wait, const struct tl_interval *in,
			const struct lock_owner_wait *lock)
{
	struct query *query = charger->query;
	uint32_t text = charge_text(charger, lock_owners_name(query->opts->lock_owners, lock));
	struct owned_iter iter;
	struct owned_span span;

	owned_begin(&iter, query, slot, lock, in);
	while (owned_next(&iter, &span)) {
		struct tl_interval part = { span.start_ns, span.end_ns, in->word };
		struct led led = { text, span.slot };
		bool is_circle = span.slot != SLOT_NONE && span.slot != slot &&
				 is_waiting_above(charger, place, span.slot);
		struct place below;

		if (place->depth >= CHARGE_DEPTH || span.slot == slot || is_circle)
			led.owner = SLOT_NONE;
		below = place_below(charger, place, slot, wait, &led);
		below.owner = is_circle ? span.slot : SLOT_NONE;
		if (led.owner != SLOT_NONE)
			charge(charger, &below, led.owner, part.start_ns, part.end_ns);
		else
			charge_ended(charger, &below, slot, wait, &part);
	}
}

/* What it did between the two, in memory, is what led here. */
static bool has_acted(const struct place *place, const struct wait *wait, const struct wait *last)
{
	return place->acted_ns && wait->woken_ns && wait->woken_ns <= place->acted_ns + ACTED_NS &&
	       last->begin_ns > wait->woken_ns && last->begin_ns + ACTED_NS >= place->acted_ns;
}

/*
 * Between two slices it did what is asked for, and woke somebody: what ended the last of them came later, and cannot be
 * why. Threads that have one set of descriptors by turns wake each other for that alone.
 */
static bool is_too_late(const struct charger *charger, const struct place *place, uint32_t slot,
			const struct wait *last)
{
	struct query *query = charger->query;

	if (!place->until_ns || place->node == NODE_NONE ||
	    (last->woken_ns && last->woken_ns <= place->until_ns))
		return false;
	return strncmp(describe_in(query, last), "futex", strlen("futex")) == 0 ||
	       !query_is_one_process(query, charger->nodes[place->node].slot, slot);
}

/*
 * A slice is charged to what ended the last one, for what that did in the slice. Who ended it may have
 * waited then, unlike whoever ends a whole wait: so it is not followed in circles.
 */
static bool charge_slice(struct charger *charger, const struct place *place, uint32_t slot,
			 const struct wait *wait, const struct tl_interval *in)
{
	const struct led led = { .owner = SLOT_NONE };
	struct why *why = charger->query->why;
	struct tl_interval slice = *in;
	struct last_slice last;
	struct place below;

	if (is_waiting_above(charger, place, slot) ||
	    !query_slice(charger->query, slot, in->word, wait, &last) ||
	    has_acted(place, wait, &last.wait) || is_too_late(charger, place, slot, &last.wait))
		return false;
	slice.word = last.word;
	below = place_below(charger, place, slot, &last.wait, &led);
	if (!below.inferred)
		below.inferred = why_reason_id(last.inferred);
	if (!below.inferred)
		below.inferred = why_reason_id(
			query_for_nothing(charger->query, last.slot, last.word, &last.wait));
	charger->nodes[below.node].slices += !query_broken_off(charger->query, wait);
	if (place->depth == 0 && !query_broken_off(charger->query, wait)) {
		why->slice_count++;
		why->slice_ns += in->end_ns - in->start_ns;
	}
	charge_ended(charger, &below, last.slot, &last.wait, &slice);
	return true;
}

/*
 * A sleep between questions is charged to who changed the answer, up to then; what is left of the
 * last one is a sleep. Nobody is followed in circles, as with slices.
 */
static bool charge_answer(struct charger *charger, const struct place *place, uint32_t slot,
			  const struct wait *wait, const struct tl_interval *in)
{
	struct led led = { .owner = SLOT_NONE };
	struct query *query = charger->query;
	struct tl_interval rest = *in;
	struct answer answer;
	struct place below;

	if (place->depth >= CHARGE_DEPTH || is_waiting_above(charger, place, slot) ||
	    !query_answer(query, slot, in->word, wait, &answer) || answer.time_ns <= in->start_ns)
		return false;
	rest.start_ns = answer.time_ns < in->end_ns ? answer.time_ns : in->end_ns;
	led.inferred = why_reason_id(answer_reason(query, &answer));
	led.known = answer.known;
	below = place_below(charger, place, slot, wait, &led);
	charger->nodes[below.node].answerer = answer.slot;
	below.acted_ns = answer.time_ns;
	charge(charger, &below, answer.slot, in->start_ns, rest.start_ns);
	if (place->depth == 0 && !answer.known) {
		query->why->answer_count += !answer.reason;
		query->why->answer_ns += answer.reason ? 0 : rest.start_ns - in->start_ns;
		query->why->missed_count += answer.reason != NULL;
		query->why->missed_ns += answer.reason ? rest.start_ns - in->start_ns : 0;
	}
	if (rest.start_ns < in->end_ns) {
		led.inferred = 0;
		led.known = false;
		below = place_below(charger, place, slot, wait, &led);
		charge_ended(charger, &below, slot, wait, &rest);
	}
	return true;
}

/* Whatever it waited for: it could not have gone on. */
static bool charge_stopped(struct charger *charger, const struct place *place, uint32_t slot,
			   const struct wait *wait, const struct tl_interval *in)
{
	const struct led led = { .owner = SLOT_NONE };
	struct query *query = charger->query;
	const struct why_reason *until = query_stopped(query, slot, wait, in);
	struct place below;

	if (!until)
		return false;
	below = place_below(charger, place, slot, wait, &led);
	(void)charge_add(
		charger, &below,
		(struct root){
			.kind = WHY_STOPPED,
			.slot = slot,
			.what = charge_what(charger, wait_frozen(wait) ? "frozen" : "stopped"),
			.object = wait_frozen(wait)
					  ? charge_text(charger, describe_object(query, slot, wait))
					  : 0,
			.reason = until->id,
		},
		in->end_ns - in->start_ns);
	return true;
}

/* From what it is inferred that the limit held back what was waited for; 0 = it is known. Returns a reason. */
static uint32_t limit_inferred(struct charger *charger, const struct place *place,
			       const struct wait *wait)
{
	if (place->inferred || !(wait->flags & WAIT_THROTTLED))
		return place->inferred;
	switch (wait_limit_by(wait)) {
	case LIMIT_BELOW:
		return charge_reason(charger, WHY_REASON_ENDED_BELOW);
	case LIMIT_POLLED:
		return why_reason_id(
			why_reason_keep(charger->query->why,
					&(struct why_reason){
						.kind = WHY_REASON_POLLED_LIMIT,
						.who = why_thread(charger->query, wait->waker.slot),
					}));
	case LIMIT_SEEN:
		return charge_reason(charger, WHY_REASON_NOT_AT_DISK);
	case LIMIT_TOLD:
	case LIMIT_WOKE:
		break;
	}
	return 0;
}

static void add_throttled(struct charger *charger, const struct place *place, uint32_t slot,
			  const struct wait *wait, uint64_t ns)
{
	struct place at = *place;

	at.inferred = limit_inferred(charger, place, wait);
	(void)charge_add(charger, &at,
			 (struct root){
				 .kind = WHY_THROTTLED,
				 .slot = slot,
				 .what = charge_text(charger, timeline_name(charger->query->tl,
									    wait->origin.name)),
			 },
			 ns);
}

/* The sender was awaited until the packet was in the queue; then the queue. */
static bool charge_queued(struct charger *charger, const struct place *place, uint32_t slot,
			  const struct wait *wait, const struct tl_interval *in)
{
	const struct led led = { .owner = SLOT_NONE };
	struct place below = place_below(charger, place, slot, wait, &led);
	uint32_t sender = wait->origin.slot;
	uint64_t since = wait->origin.time_ns;

	since = since < in->start_ns ? in->start_ns : since < in->end_ns ? since : in->end_ns;
	if (since > in->start_ns && sender != SLOT_NONE && sender != slot &&
	    place->depth <= CHARGE_DEPTH && !is_waiting_above(charger, place, sender))
		charge(charger, &below, sender, in->start_ns, since);
	else if (since > in->start_ns)
		charge_hardware(charger, &below, slot, wait,
				&(struct tl_interval){ in->start_ns, since, in->word });
	if (since < in->end_ns)
		add_throttled(charger, &below, slot, wait, in->end_ns - since);
	return true;
}

/* Nobody was at work for it up to when the limit let go. */
static bool charge_throttled(struct charger *charger, const struct place *place, uint32_t slot,
			     const struct wait *wait, const struct tl_interval *in)
{
	const struct led led = { .owner = SLOT_NONE };
	uint64_t until = wait->origin.time_ns ? wait->origin.time_ns : in->end_ns;
	struct tl_interval rest = *in;
	struct place below;

	if (!(wait->flags & WAIT_THROTTLED))
		return false;
	if (wait->waker.kind == ACTOR_NETWORK)
		return charge_queued(charger, place, slot, wait, in);
	rest.start_ns = until < in->start_ns ? in->start_ns
			: until < in->end_ns ? until
					     : in->end_ns;
	below = place_below(charger, place, slot, wait, &led);
	if (rest.start_ns > in->start_ns)
		add_throttled(charger, &below, slot, wait, rest.start_ns - in->start_ns);
	if (rest.start_ns < in->end_ns)
		charge_ended(charger, &below, slot, wait, &rest);
	return true;
}

/* It had nothing to do: who gave it work, or that its time was up, is not what held it up. */
static bool charge_idle(struct charger *charger, const struct place *place, uint32_t slot,
			const struct wait *wait, const struct tl_interval *in)
{
	const struct led led = { .owner = SLOT_NONE };
	struct query *query = charger->query;
	struct root root = { .kind = WHY_STUCK, .slot = slot };
	enum stack_idle idle = STACK_NOT_IDLE;
	struct place below;

	if (place->depth == 0 && !query->opts->classes)
		idle = wait_idle(query, slot, wait);
	if (!idle)
		return false;
	if (idle == STACK_PARKED)
		root.reason = charge_reason(charger, WHY_REASON_PARKED);
	if (idle == STACK_LAUNCHED)
		root.reason = charge_reason(charger, WHY_REASON_LAUNCHED);
	if (idle == STACK_IDLE_WORD)
		root.reason = charge_reason(charger, WHY_REASON_WORD_FOR_WORK);
	below = place_below(charger, place, slot, wait, &led);
	root_in(charger, &root, wait);
	(void)charge_add(charger, &below, root, in->end_ns - in->start_ns);
	return true;
}

static void charge_wait(struct charger *charger, const struct place *place, uint32_t slot,
			const struct wait *wait, const struct tl_interval *in)
{
	struct query *query = charger->query;
	const struct led led = { .owner = SLOT_NONE };
	struct lock_owner_wait lock;
	struct place below;

	if (query_lock(query, slot, wait, in, &lock)) {
		charge_lock(charger, place, slot, wait, in, &lock);
		return;
	}
	if (charge_idle(charger, place, slot, wait, in) ||
	    charge_stopped(charger, place, slot, wait, in) ||
	    charge_throttled(charger, place, slot, wait, in) ||
	    charge_slice(charger, place, slot, wait, in) ||
	    charge_answer(charger, place, slot, wait, in))
		return;
	below = place_below(charger, place, slot, wait, &led);
	if (!below.inferred)
		below.inferred = why_reason_id(query_for_nothing(query, slot, in->word, wait));
	charge_ended(charger, &below, slot, wait, in);
}

static void charge_blocked(struct charger *charger, const struct place *place, uint32_t slot,
			   const struct tl_interval *in)
{
	const struct wait *wait = query_wait(charger->query, slot, in->word, &(struct wait){ 0 });

	if (place->depth == 0)
		charger->waited = code_of_wait(charger->query, slot, wait);
	charge_wait(charger, place, slot, wait, in);
	if (place->depth == 0)
		charger->waited = STACK_NONE;
}

/* The thread was not there: before its birth its parent stands in. */
static void charge_absent(struct charger *charger, const struct place *place, uint32_t slot,
			  const struct tl_interval *in)
{
	const struct timeline *tl = charger->query->tl;
	const struct tl_thread *thread = tl->threads[slot];
	struct place below = *place;

	/* Standing in for the target itself, the parent's work counts as the target's. */
	below.depth += place->depth > 0;
	if (thread->born && in->end_ns <= thread->birth_ns && thread->parent != SLOT_NONE &&
	    tl->threads[thread->parent]->tid != 0 && below.depth <= CHARGE_DEPTH)
		charge(charger, &below, thread->parent, in->start_ns, in->end_ns);
	else
		(void)charge_unknown(charger, place, slot,
				     in->start_ns >= thread->death_ns ? WHY_REASON_HAD_ENDED
								      : WHY_REASON_NOT_YET_THERE,
				     in->end_ns - in->start_ns);
}

static void charge_interval(struct charger *charger, const struct place *place, uint32_t slot,
			    const struct tl_interval *in)
{
	switch (word_kind(in->word)) {
	case WORD_NONE:
		charge_absent(charger, place, slot, in);
		break;
	case WORD_UNCERTAIN:
		(void)charge_add(charger, place,
				 (struct root){
					 .kind = WHY_UNKNOWN,
					 .slot = slot,
					 .reason = charge_unsure(charger, word_arg(in->word)),
				 },
				 in->end_ns - in->start_ns);
		break;
	case WORD_BLOCKED:
		charge_blocked(charger, place, slot, in);
		break;
	case WORD_PREEMPTED:
	case WORD_WAIT_CPU:
		charge_queue(charger, place, slot, in);
		break;
	case WORD_IRQ:
	case WORD_VECTOR:
	case WORD_SOFTIRQ:
		charge_irq(charger, place, in);
		break;
	default:
		charge_working(charger, place, slot, in);
		break;
	}
}

/*
 * The limit had the thread free memory, or pause, meanwhile: it was held up, at work or not. False: something
 * else went on.
 */
static bool charge_limit(struct charger *charger, const struct place *place, uint32_t slot,
			 const struct tl_interval *in, const struct tl_limit *limit)
{
	const struct led led = { .owner = SLOT_NONE };
	struct wait wait = { .origin.name = limit->name };
	struct place below = *place;

	if (word_kind(in->word) == WORD_BLOCKED) {
		const struct wait *own =
			query_wait(charger->query, slot, in->word, &(struct wait){ 0 });

		below = place_below(charger, place, slot, own, &led);
	} else if (word_wib(in->word) != WIB_WORKING) {
		return false;
	}
	if (below.class == WHY_RUNS)
		below.class = WHY_HELD_UP;
	add_throttled(charger, &below, slot, &wait, in->end_ns - in->start_ns);
	return true;
}

/* In parts: within spans in which a limit kept it at something, and between them. */
static void charge_limited(struct charger *charger, const struct place *place, uint32_t slot,
			   const struct tl_interval *in)
{
	const struct tl_thread *thread = charger->query->tl->threads[slot];
	struct tl_interval part = *in;

	for (; part.start_ns < in->end_ns; part.start_ns = part.end_ns) {
		const struct tl_limit *limit = timeline_limit(thread, part.start_ns);
		bool within = limit && limit->start_ns <= part.start_ns;
		uint64_t end = !limit ? in->end_ns : within ? limit->end_ns : limit->start_ns;

		part.end_ns = end < in->end_ns ? end : in->end_ns;
		if (!within || !charge_limit(charger, place, slot, &part, limit))
			charge_interval(charger, place, slot, &part);
	}
}

static void charge(struct charger *charger, const struct place *place, uint32_t slot,
		   uint64_t start_ns, uint64_t end_ns)
{
	const struct timeline *tl = charger->query->tl;
	/* A class of delay may be just that: what went on in it is asked. */
	bool limited = tl->threads[slot]->limit_count && !charger->query->opts->classes;
	struct tl_iter iter;
	struct tl_interval in;

	tl_iter_thread(&iter, tl, slot, start_ns, end_ns);
	while (tl_iter_next(&iter, &in)) {
		if (place->depth == 0)
			charger->own = in;
		if (limited)
			charge_limited(charger, place, slot, &in);
		else
			charge_interval(charger, place, slot, &in);
	}
}

/* Only what is in the classes that were asked for. */
static void charge_classes(struct charger *charger, const struct place *place)
{
	struct query *query = charger->query;
	struct tl_interval *spans;
	size_t count = query_class_spans(query, &spans);

	query->why->class_ns = 0;
	query->why->class_count = count;
	for (size_t i = 0; i < count; i++) {
		query->why->class_ns += spans[i].end_ns - spans[i].start_ns;
		charge(charger, place, query->slot, spans[i].start_ns, spans[i].end_ns);
	}
	free(spans);
}

static void root_fini(struct root *root)
{
	free(root->parts);
	free(root->told);
	free(root->clients);
	free(root->waited);
	free(root->code);
	free(root->spans);
}

void charge_window(struct query *query)
{
	struct charger *charger = xcalloc(1, sizeof(*charger));
	struct place place = {
		.node = NODE_NONE, .class = WHY_RUNS, .owner = SLOT_NONE, .server = SLOT_NONE
	};

	charger->query = query;
	charger->client.slot = SLOT_NONE;
	charger->waited = STACK_NONE;
	if (query->opts->classes)
		charge_classes(charger, &place);
	else
		charge(charger, &place, query->slot, query->start_ns, query->end_ns);
	code_spans_end(query);
	charge_publish(&(struct charged){
		.query = query,
		.roots = charger->roots,
		.root_count = charger->root_count,
		.nodes = charger->nodes,
		.node_count = charger->node_count,
		.flows = charger->flows,
		.flow_count = charger->flow_count,
	});
	for (size_t i = 0; i < charger->root_count; i++)
		root_fini(&charger->roots[i]);
	for (size_t i = 0; i < charger->node_count; i++) {
		free(charger->nodes[i].told);
		free(charger->nodes[i].woke);
		free(charger->nodes[i].code);
		free(charger->nodes[i].woken_in);
	}
	free(charger->roots);
	free(charger->nodes);
	free(charger->flows);
	map_fini(&charger->root_index);
	map_fini(&charger->node_index);
	map_fini(&charger->flow_index);
	free(charger);
}

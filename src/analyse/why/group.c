/*
 * group.c - several who could end a wait that nobody ended.
 *
 *	reader ──── any who has the other end ──┬── writer ──── lock ──── owner ──── sleeps
 *	                                        ├── owner
 *	                                        └── reader's helper ──── owner
 *
 * Which of them it waits for is not known. But where each of them waits, and all of them for the same one in the
 * end, that one holds it up, whichever it is: the one of the longest way there is followed. Who waits for the same
 * ones itself, as another reader of a FIFO does, leads nowhere. So do the other threads of the waiter's process, where
 * all of them wait for work: as those that serve an event loop, which they wake up when they have done what it asked
 * them to.
 *
 *	client ──── proxy ──── any of ──┬── client
 *	                                └── server ──── sleeps
 *
 * Who waits for the waiter itself has nothing to end its wait with: another one has to come first. The same goes for
 * groups behind a group: a proxy that asks the next proxy is one of the clients of that.
 *
 * Children that a parent waits for are followed otherwise, each for its part: see charge.c.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_int.h"

#define WALK_MAX  64u
#define LOOKS_MAX 512u /* at threads, for one wait: a bound on time */
#define NO_WAY	  UINT32_MAX

/* Whom each one on the way waits for, from the first waiter on; of several ways that which is being looked at. */
struct way {
	struct query *query;
	uint64_t time_ns;
	uint32_t path[WALK_MAX];
	uint32_t depth; /* in use of 'path' */
	uint32_t looks;
	bool skipped; /* some of the first waiter's group wait for that one */
};

/* Where a way ends. */
struct way_end {
	uint32_t slot;	 /* SLOT_NONE = it leads back */
	uint32_t back;	 /* to what index of 'path'; NO_WAY = it does not */
	uint32_t length; /* of the way */
	uint32_t first;	 /* of a group: whom that way begins with */
};

void query_group(struct query *query, const struct wait *wait, const struct tl_interval *in,
		 struct query_group *out)
{
	const char *text = timeline_name(query->tl, wait->origin.name);
	const struct timeline *tl = query->tl;
	const char *at = strchr(text, ' ');
	char *end;

	*out = (struct query_group){
		.children = strncmp(text, BY_CHILDREN, sizeof(BY_CHILDREN) - 1) == 0,
	};
	for (; wait->flags & WAIT_GROUP && at && out->count < GROUP_MAX; at = end) {
		unsigned long slot = strtoul(at, &end, 10);

		if (end == at)
			break;
		if (slot < tl->thread_count && tl->threads[slot]->birth_ns <= in->start_ns &&
		    tl->threads[slot]->death_ns >= in->end_ns)
			out->slots[out->count++] = (uint32_t)slot;
	}
}

/* What it waits for at that time; false: it does not wait. */
static bool waits_at(struct query *query, uint32_t slot, uint64_t time_ns,
		     struct tl_interval *out_in, struct wait *out_wait)
{
	struct tl_iter iter;

	tl_iter_thread(&iter, query->tl, slot, time_ns - 1, time_ns);
	if (!tl_iter_next(&iter, out_in) || word_kind(out_in->word) != WORD_BLOCKED)
		return false;
	query_wait(query, slot, out_in->word, out_wait);
	return true;
}

/* Does it wait for no others than those of the group, or for who waits for that? */
static bool waits_alike(struct query *query, uint32_t slot, uint32_t member,
			const struct query_group *group, uint64_t time_ns)
{
	struct query_group own;
	struct tl_interval in;
	struct wait wait;

	if (!waits_at(query, member, time_ns, &in, &wait))
		return false;
	query_group(query, &wait, &in, &own);
	for (size_t i = 0; i < own.count; i++) {
		bool found = own.slots[i] == slot;

		for (size_t k = 0; k < group->count && !found; k++)
			found = own.slots[i] == group->slots[k];
		if (!found)
			return false;
	}
	return own.count && !own.children;
}

/* Does it wait for work then? */
static bool is_idle(struct query *query, uint32_t slot, uint64_t time_ns)
{
	struct tl_interval in;
	struct wait wait;

	return waits_at(query, slot, time_ns, &in, &wait) && !wait.woken_ns &&
	       wait_class(query, slot, &wait) == WHY_IDLE;
}

/* Do all other threads of its process wait for work, so that none of them ends its wait by itself? */
static bool others_idle(struct query *query, uint32_t slot, uint64_t time_ns)
{
	const struct timeline *tl = query->tl;

	for (uint32_t i = 0; i < tl->thread_count; i++) {
		if (i == slot || tl->threads[i]->tid == 0 || tl->threads[i]->birth_ns >= time_ns ||
		    tl->threads[i]->death_ns < time_ns || !query_is_one_process(query, i, slot))
			continue;
		if (!is_idle(query, i, time_ns))
			return false;
	}
	return true;
}

/* One of those could be any thread of its own process. */
static bool has_own(struct query *query, uint32_t slot, const struct query_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		if (query_is_one_process(query, group->slots[i], slot))
			return true;
	}
	return false;
}

static struct way_end way_find(struct way *way, uint32_t from);

/* Of all who could end it those who lead to one and the same, whichever it is. */
static struct way_end group_end(struct way *way, uint32_t slot, const struct query_group *group)
{
	struct way_end end = { SLOT_NONE, NO_WAY, 0, SLOT_NONE };
	uint32_t depth = way->depth - 1; /* of who waits */

	for (size_t i = 0; i < group->count; i++) {
		struct way_end at;

		if (waits_alike(way->query, slot, group->slots[i], group, way->time_ns))
			continue;
		at = way_find(way, group->slots[i]);
		way->skipped |= !depth && at.slot == SLOT_NONE;
		if (at.slot == SLOT_NONE && at.back < end.back)
			end.back = at.back;
		if (at.slot == SLOT_NONE)
			continue;
		if (end.slot != SLOT_NONE && end.slot != at.slot)
			return (struct way_end){ slot, NO_WAY, 0, SLOT_NONE };
		if (end.slot == SLOT_NONE || at.length >= end.length)
			end = (struct way_end){ at.slot, end.back, at.length + 1, group->slots[i] };
	}
	/* All of them wait for each other, and nobody before them is in that. */
	if (end.slot == SLOT_NONE && end.back >= depth)
		return (struct way_end){ slot, NO_WAY, 0, SLOT_NONE };
	return end;
}

static bool is_followed(struct query *query, uint32_t slot, const struct query_group *group,
			uint64_t time_ns)
{
	return !group->children && group->count &&
	       (!has_own(query, slot, group) || others_idle(query, slot, time_ns));
}

/* Who waits for one: the way goes on there. */
static struct way_end way_step(struct way *way, uint32_t from, uint32_t next)
{
	struct way_end end = way_find(way, next);

	if (end.slot == SLOT_NONE && end.back == way->depth - 1)
		return (struct way_end){ from, NO_WAY, 0, SLOT_NONE };
	end.length++;
	return end;
}

/* How it goes on from there, for as long as nothing comes: where 'from' is the last one of the path. */
static struct way_end way_on(struct way *way, uint32_t from)
{
	const struct way_end here = { from, NO_WAY, 0, SLOT_NONE };
	struct query *query = way->query;
	const struct why_reason *by;
	struct query_group group;
	struct tl_interval in;
	struct wait wait;
	uint32_t next;

	if (!waits_at(query, from, way->time_ns, &in, &wait) ||
	    !query_stuck(query, from, &wait, &in) || wait_sleeps(query, &wait))
		return here;
	query_group(query, &wait, &in, &group);
	if (wait.flags & WAIT_GROUP && is_followed(query, from, &group, way->time_ns))
		return group_end(way, from, &group);
	next = query_awaited(query, from, &wait, &in, &by);
	return next == SLOT_NONE ? here : way_step(way, from, next);
}

static struct way_end way_find(struct way *way, uint32_t from)
{
	struct way_end end = { from, NO_WAY, 0, SLOT_NONE };

	for (uint32_t i = 0; i < way->depth; i++) {
		if (way->path[i] == from)
			return (struct way_end){ SLOT_NONE, i, 0, SLOT_NONE };
	}
	if (way->depth == WALK_MAX || way->looks++ == LOOKS_MAX)
		return end;
	way->path[way->depth++] = from;
	end = way_on(way, from);
	way->depth--;
	return end;
}

uint32_t group_leads_to(struct query *query, uint32_t slot, const struct wait *wait,
			const struct tl_interval *in, bool *out_others_wait)
{
	struct way way = { .query = query, .time_ns = in->end_ns, .path = { slot }, .depth = 1 };
	struct query_group group;
	struct way_end end;

	*out_others_wait = false;
	query_group(query, wait, in, &group);
	if (query->in_group || in->end_ns == 0 || !is_followed(query, slot, &group, in->end_ns))
		return SLOT_NONE;
	query->in_group = true;
	end = group_end(&way, slot, &group);
	query->in_group = false;
	if (way.looks > LOOKS_MAX || end.slot == SLOT_NONE || end.first == SLOT_NONE ||
	    (way.skipped && is_idle(query, end.slot, in->end_ns)))
		return SLOT_NONE;
	*out_others_wait = way.skipped;
	return end.first;
}

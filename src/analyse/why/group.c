/*
 * group.c - several who could end a wait that nobody ended.
 *
 *	reader ──── any who has the other end ──┬── writer ──── lock ──── owner ──── sleeps
 *	                                        ├── owner
 *	                                        └── reader's helper ──── owner
 *
 * Which of them it waits for is not known. But where each of them waits, and all of them for the same one in the
 * end, that one holds it up, whichever it is: the one of the longest way there is followed. Who waits for the same
 * ones itself, as another reader of a FIFO does, leads nowhere. Other groups behind a group are not followed.
 * So do the other threads of the waiter's process, where all of them wait for work: as those that serve an event loop,
 * which they wake up when they have done what it asked them to.
 *
 * Children that a parent waits for are followed otherwise, each for its part: see charge.c.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_int.h"

#define WALK_MAX 64u

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

/* Who it waits for at that time, for as long as nothing comes; SLOT_NONE = nobody. */
static uint32_t waits_for(struct query *query, uint32_t slot, uint64_t time_ns)
{
	struct tl_interval in;
	struct tl_iter iter;
	const struct why_reason *by;
	struct wait wait;

	tl_iter_thread(&iter, query->tl, slot, time_ns - 1, time_ns);
	if (!tl_iter_next(&iter, &in) || word_kind(in.word) != WORD_BLOCKED)
		return SLOT_NONE;
	query_wait(query, slot, in.word, &wait);
	if (!query_stuck(query, slot, &wait, &in) || wait_sleeps(query, &wait))
		return SLOT_NONE;
	return query_awaited(query, slot, &wait, &in, &by);
}

/* The end of the way from there, and how long that is. */
static uint32_t walk(struct query *query, uint32_t slot, uint32_t from, uint64_t time_ns,
		     uint32_t *out_length)
{
	uint32_t length = 0;

	while (from != slot && length < WALK_MAX) {
		uint32_t next = waits_for(query, from, time_ns);

		if (next == SLOT_NONE)
			break;
		from = next;
		length++;
	}
	*out_length = length;
	return from;
}

/* Does it wait for no others than those of the group, or for who waits for that? */
static bool waits_alike(struct query *query, uint32_t slot, uint32_t member,
			const struct query_group *group, uint64_t time_ns)
{
	struct query_group own;
	struct tl_interval in;
	struct tl_iter iter;
	struct wait wait;

	tl_iter_thread(&iter, query->tl, member, time_ns - 1, time_ns);
	if (!tl_iter_next(&iter, &in) || word_kind(in.word) != WORD_BLOCKED)
		return false;
	query_wait(query, member, in.word, &wait);
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

/* Do all other threads of its process wait for work, so that none of them ends its wait by itself? */
static bool others_idle(struct query *query, uint32_t slot, uint64_t time_ns)
{
	const struct timeline *tl = query->tl;

	for (uint32_t i = 0; i < tl->thread_count; i++) {
		struct tl_interval in;
		struct tl_iter iter;
		struct wait wait;

		if (i == slot || tl->threads[i]->tid == 0 || tl->threads[i]->birth_ns >= time_ns ||
		    tl->threads[i]->death_ns < time_ns || !query_is_one_process(query, i, slot))
			continue;
		tl_iter_thread(&iter, tl, i, time_ns - 1, time_ns);
		if (!tl_iter_next(&iter, &in) || word_kind(in.word) != WORD_BLOCKED)
			return false;
		query_wait(query, i, in.word, &wait);
		if (wait.woken_ns || wait_class(query, i, &wait) != WHY_IDLE)
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

uint32_t group_leads_to(struct query *query, uint32_t slot, const struct wait *wait,
			const struct tl_interval *in)
{
	uint32_t best = SLOT_NONE, most = 0, end = SLOT_NONE;
	struct query_group group;

	query_group(query, wait, in, &group);
	if (query->in_group || group.children || in->end_ns == 0 ||
	    (has_own(query, slot, &group) && !others_idle(query, slot, in->end_ns)))
		return SLOT_NONE;
	query->in_group = true;
	for (size_t i = 0; i < group.count; i++) {
		uint32_t length, last;

		if (waits_alike(query, slot, group.slots[i], &group, in->end_ns))
			continue;
		last = walk(query, slot, group.slots[i], in->end_ns, &length);
		if (best != SLOT_NONE && last != end) {
			best = SLOT_NONE;
			break;
		}
		end = last;
		if (best == SLOT_NONE || length > most) {
			best = group.slots[i];
			most = length;
		}
	}
	query->in_group = false;
	return best;
}

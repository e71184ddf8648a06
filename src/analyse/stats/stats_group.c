/* stats_group.c - which row a thread belongs to. */
#include <stdlib.h>

#include "analyse/facts_at.h"
#include "analyse/stats/stats_int.h"
#include "base/mem.h"
#include "event/facts.h"

void group_init(struct stats_query *query)
{
	query->fact_of = fact_of_threads(query->tl, query->facts);
}

void group_fini(struct stats_query *query)
{
	for (size_t i = 0; i < query->group_count; i++)
		totals_fini(&query->groups[i].totals);
	free(query->groups);
	free(query->fact_of);
	map_fini(&query->by_key);
}

static const struct fact_thread *fact_of(const struct stats_query *query, uint32_t slot)
{
	uint32_t fact = query->fact_of[slot];

	return fact ? &query->facts->threads[fact - 1] : NULL;
}

/* The slot of the main thread of its process, or its own when that is not known. */
static uint32_t main_slot(const struct timeline *tl, uint32_t slot)
{
	const struct tl_thread *thread = tl->threads[slot];
	uint32_t main = SLOT_NONE;

	if (thread->tgid > 0 && thread->tgid != thread->tid)
		main = timeline_find_thread(tl, thread->tgid, thread->birth_ns);
	return main != SLOT_NONE && tl->threads[main]->tgid == thread->tgid ? main : slot;
}

#define KEY_UNKNOWN UINT64_MAX

static uint64_t stats_slot_key(struct stats_query *query, uint32_t slot)
{
	const struct fact_thread *fact = fact_of(query, slot);
	struct names *texts = &query->why.texts;

	switch (query->opts->by) {
	case STATS_THREAD:
		return slot;
	case STATS_CGROUP:
		if (!fact || !fact->cgroup || !fact->cgroup[0])
			return KEY_UNKNOWN;
		return names_add(texts, fact->cgroup, 4096);
	case STATS_USER:
		return fact ? fact->uid : KEY_UNKNOWN;
	case STATS_COMM:
		return names_add(texts, timeline_comm(query->tl, slot), 64);
	default:
		return main_slot(query->tl, slot);
	}
}

struct group *group_of(struct stats_query *query, uint32_t slot)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	uint64_t key = stats_slot_key(query, slot);
	uint64_t *found = map_find(&query->by_key, key);
	struct group *group;

	if (!found) {
		query->groups = vec_room(query->groups, query->group_count, &query->group_cap,
					 sizeof(*query->groups));
		map_put(&query->by_key, key, query->group_count);
		group = &query->groups[query->group_count++];
		*group = (struct group){
			.slot = query->opts->by == STATS_PROCESS ? (uint32_t)key : slot,
			.fact = query->fact_of[slot],
			.kernel = true,
		};
	} else {
		group = &query->groups[*found];
	}
	group->kernel = group->kernel && thread->kernel;
	return group;
}

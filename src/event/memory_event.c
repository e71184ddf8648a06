/* memory_event.c - see memory_event.h. */
#include "event/memory_event.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "event/event.h"

static const struct memory_event events[] = {
	{ "vmscan", "mm_vmscan_direct_reclaim_begin", MEMORY_MACHINE, false },
	{ "vmscan", "mm_vmscan_direct_reclaim_end", MEMORY_MACHINE, true },
	{ "vmscan", "mm_vmscan_memcg_reclaim_begin", MEMORY_CGROUP, false },
	{ "vmscan", "mm_vmscan_memcg_reclaim_end", MEMORY_CGROUP, true },
	{ "vmscan", "mm_vmscan_node_reclaim_begin", MEMORY_NODE, false },
	{ "vmscan", "mm_vmscan_node_reclaim_end", MEMORY_NODE, true },
	{ "compaction", "mm_compaction_begin", MEMORY_COMPACTION, false },
	{ "compaction", "mm_compaction_end", MEMORY_COMPACTION, true },
	{ "writeback", "balance_dirty_pages", MEMORY_DIRTY, false },
};

const struct memory_event *memory_event_of(const struct event *event)
{
	const char *name = event->other.name;

	/* Most others are told by their first letters. */
	if (!name || (strncmp(name, "mm_", 3) != 0 && strncmp(name, "bal", 3) != 0))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(events); i++) {
		const struct memory_event *known = &events[i];

		/* A trace in text may not tell the system; the names stand for themselves. */
		if (strcmp(name, known->name) == 0 &&
		    (!event->other.system || !event->other.system[0] ||
		     strcmp(event->other.system, known->system) == 0))
			return known;
	}
	return NULL;
}

/* info_int.h - what the files of info.h share. */
#ifndef ANALYSE_STATS_INFO_INT_H
#define ANALYSE_STATS_INFO_INT_H

#include "analyse/stats/info.h"
#include "base/map.h"
#include "base/names.h"

#define INFO_KINDS     65536u
#define INFO_MAX_NAMES 4096u /* of events without a kind; what is more counts as "others" */

struct info_work {
	uint64_t *kinds;     /* owned; events by the number of their kind */
	uint8_t *kind_types; /* owned; enum event_type */
	uint64_t types[EV_TYPE_COUNT];
	uint64_t plain[EV_TYPE_COUNT]; /* of these, events without a kind */
	struct names other_names;      /* "SYSTEM:NAME" of other events without a kind */
	struct map other_ids;	       /* address of the name: id in other_names */
	uint64_t *others;	       /* owned; index = id */
	bool recorded[EV_TYPE_COUNT];
	bool user_locks;
	uint64_t user_events;
	struct info_stream *cpus[2]; /* owned; kernel, user; index = CPU */
	size_t cpu_cap[2];
	struct info_stream *added; /* owned */
	size_t added_count, added_cap;
};

/* Which questions can be answered; info_able.c. */
void info_find_abilities(struct info *info);

#endif

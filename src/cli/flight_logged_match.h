/*
 * flight_logged_match.h - which events of a program's own, or pairs of them, fire a trigger.
 *
 * Events come in any order, but all of a time are there when it is judged: a pair is of one thread, which may have been on several CPUs.
 * A pair fires when its second event comes too late, or has not come when it is too late, and then not once more.
 */
#ifndef CLI_FLIGHT_LOGGED_MATCH_H
#define CLI_FLIGHT_LOGGED_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct ctf_found;

#define FLIGHT_LOGGED_ALONE UINT32_MAX /* second event of a trigger that has none */

struct flight_logged_trigger {
	uint32_t first, second; /* indices of names */
	uint64_t limit_ns;
};

/* What fired a trigger lately: how often, and the first of these. */
struct flight_logged_fire {
	uint64_t count;
	int32_t tid;
	uint64_t first_ticks, second_ticks; /* second: 0 = it has not come, or there is none */
};

struct flight_logged_event {
	uint64_t ticks;
	int32_t tid;
	uint32_t name;
	uint32_t order; /* as it came */
};

/* Of one program. Zeroed: nothing is known. */
struct flight_logged_match {
	struct flight_logged_event *events; /* owned; not judged yet */
	size_t count, cap;
	struct map opens;		    /* trigger and thread -> index + 1 of 'firsts' */
	struct flight_logged_first *firsts; /* owned */
	size_t first_count, first_cap;
	uint64_t salt; /* of the map: programs choose their threads' numbers */
};

/* How triggers are judged now. */
struct flight_logged_rules {
	const struct flight_logged_trigger *triggers;
	size_t count;
	double ticks_per_ns;
};

/* False: there are too many. */
bool flight_logged_add(struct flight_logged_match *match, const struct ctf_found *found,
		       size_t count);

/*
 * All events before 'until_ticks' are there: judge these. 'fires': of each trigger, added to. False: too many threads are
 * between two events, and some are forgotten.
 */
bool flight_logged_judge(struct flight_logged_match *match, const struct flight_logged_rules *rules,
			 uint64_t until_ticks, struct flight_logged_fire *fires);

/* Some events are missing: what began before does not count. */
void flight_logged_forget(struct flight_logged_match *match);

void flight_logged_match_fini(struct flight_logged_match *match);

#endif

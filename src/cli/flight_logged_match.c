/* flight_logged_match.c - see flight_logged_match.h. */
#include "cli/flight_logged_match.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "read/ctf/pieces.h"

#define EVENTS_MOST (512u << 10) /* of one look, and those that it could not judge */
#define KEPT_MOST   4096u	 /* of the room, between two looks */
#define FIRSTS_MOST 4096u

/* A thread between the two events of a pair. */
struct flight_logged_first {
	uint64_t key;
	uint64_t ticks;
	int32_t tid;
	uint32_t trigger;
	bool has_fired;
};

bool flight_logged_add(struct flight_logged_match *match, const struct ctf_found *found,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (match->count >= EVENTS_MOST)
			return false;
		match->events =
			vec_room(match->events, match->count, &match->cap, sizeof(*match->events));
		match->events[match->count] =
			(struct flight_logged_event){ found[i].ticks, found[i].tid, found[i].name,
						      (uint32_t)match->count };
		match->count++;
	}
	return true;
}

ORDER_FUNCTION(compare_events, struct flight_logged_event, ORDER_UP(ticks), ORDER_UP(order));

static void fire(struct flight_logged_fire *fire, int32_t tid, uint64_t first, uint64_t second)
{
	if (!fire->count++)
		*fire = (struct flight_logged_fire){ 1, tid, first, second };
}

static uint64_t key_of(const struct flight_logged_match *match, uint32_t trigger, int32_t tid)
{
	return ((uint64_t)trigger << 32 | (uint32_t)tid) ^ match->salt;
}

static struct flight_logged_first *find_first(const struct flight_logged_match *match, uint64_t key)
{
	const uint64_t *place = map_find(&match->opens, key);

	return place ? &match->firsts[*place - 1] : NULL;
}

/* The last one takes its place. */
static void remove_first(struct flight_logged_match *match, struct flight_logged_first *first)
{
	struct flight_logged_first *last = &match->firsts[--match->first_count];

	(void)map_remove(&match->opens, first->key);
	if (first == last)
		return;
	*first = *last;
	map_put(&match->opens, first->key, (uint64_t)(first - match->firsts) + 1);
}

/* Those that have fired wait only for their end, which need not come. */
static bool make_room(struct flight_logged_match *match)
{
	for (size_t i = match->first_count; i > 0; i--) {
		if (match->firsts[i - 1].has_fired)
			remove_first(match, &match->firsts[i - 1]);
	}
	return match->first_count < FIRSTS_MOST;
}

static bool begin_pair(struct flight_logged_match *match, uint32_t trigger,
		       const struct flight_logged_event *event)
{
	uint64_t key = key_of(match, trigger, event->tid);
	struct flight_logged_first *first = find_first(match, key);

	if (!first) {
		if (match->first_count >= FIRSTS_MOST && !make_room(match))
			return false;
		match->firsts = vec_room(match->firsts, match->first_count, &match->first_cap,
					 sizeof(*match->firsts));
		first = &match->firsts[match->first_count++];
		map_put(&match->opens, key, match->first_count);
	}
	*first = (struct flight_logged_first){ key, event->ticks, event->tid, trigger, false };
	return true;
}

static uint64_t limit_ticks(const struct flight_logged_rules *rules, uint32_t trigger)
{
	return (uint64_t)((double)rules->triggers[trigger].limit_ns * rules->ticks_per_ns);
}

static void end_pair(struct flight_logged_match *match, const struct flight_logged_rules *rules,
		     uint32_t trigger, const struct flight_logged_event *event,
		     struct flight_logged_fire *fires)
{
	struct flight_logged_first *first = find_first(match, key_of(match, trigger, event->tid));

	if (!first)
		return;
	if (!first->has_fired && event->ticks > first->ticks &&
	    event->ticks - first->ticks > limit_ticks(rules, trigger))
		fire(&fires[trigger], event->tid, first->ticks, event->ticks);
	remove_first(match, first);
}

static bool judge_event(struct flight_logged_match *match, const struct flight_logged_rules *rules,
			const struct flight_logged_event *event, struct flight_logged_fire *fires)
{
	bool is_all = true;

	for (uint32_t i = 0; i < rules->count; i++) {
		const struct flight_logged_trigger *trigger = &rules->triggers[i];

		if (trigger->second == FLIGHT_LOGGED_ALONE) {
			if (trigger->first == event->name)
				fire(&fires[i], event->tid, event->ticks, 0);
			continue;
		}
		if (trigger->second == event->name)
			end_pair(match, rules, i, event, fires);
		if (trigger->first == event->name)
			is_all &= begin_pair(match, i, event);
	}
	return is_all;
}

/* Those whose end is too late already. */
static void judge_firsts(const struct flight_logged_match *match,
			 const struct flight_logged_rules *rules, uint64_t until_ticks,
			 struct flight_logged_fire *fires)
{
	for (size_t i = 0; i < match->first_count; i++) {
		struct flight_logged_first *first = &match->firsts[i];

		if (first->has_fired || until_ticks <= first->ticks ||
		    until_ticks - first->ticks <= limit_ticks(rules, first->trigger))
			continue;
		first->has_fired = true;
		fire(&fires[first->trigger], first->tid, first->ticks, 0);
	}
}

/* Those that were judged are forgotten, and so is most of their room. */
static void keep_rest(struct flight_logged_match *match, size_t judged)
{
	match->count -= judged;
	if (match->count)
		memmove(match->events, match->events + judged,
			match->count * sizeof(*match->events));
	for (size_t i = 0; i < match->count; i++)
		match->events[i].order = (uint32_t)i;
	if (match->cap > KEPT_MOST && match->count < KEPT_MOST) {
		match->cap = KEPT_MOST;
		match->events = xrealloc(match->events, match->cap, sizeof(*match->events));
	}
}

bool flight_logged_judge(struct flight_logged_match *match, const struct flight_logged_rules *rules,
			 uint64_t until_ticks, struct flight_logged_fire *fires)
{
	bool is_all = true;
	size_t judged = 0;

	if (match->count > 1)
		qsort(match->events, match->count, sizeof(*match->events), compare_events);
	while (judged < match->count && match->events[judged].ticks < until_ticks)
		is_all &= judge_event(match, rules, &match->events[judged++], fires);
	judge_firsts(match, rules, until_ticks, fires);
	keep_rest(match, judged);
	return is_all;
}

void flight_logged_forget(struct flight_logged_match *match)
{
	map_fini(&match->opens);
	match->opens = (struct map){ 0 };
	match->first_count = 0;
}

void flight_logged_match_fini(struct flight_logged_match *match)
{
	map_fini(&match->opens);
	free(match->events);
	free(match->firsts);
	*match = (struct flight_logged_match){ 0 };
}

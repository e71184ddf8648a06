/*
 * check_phase.c - in which states a key may be where events were lost.
 *
 * The machine of a key is in one state; that it has no instance is the initial one. Where events
 * were lost it may be in any. Each event that comes then is taken by all states that it may be
 * in at once, and what they lead to is what it may be in then:
 *
 *	{ out, in }  --begin-->  { in }		 it is known again
 *	{ off, on }  --toggle->  { on, off }	 and here it never will be
 *
 * An event that only came where a state had a transition for it tells more: states that have
 * none are left out. One that came otherwise while the state was known is ignored there as it is
 * in the machine, and tells nothing of that kind.
 *
 * What is not remembered of a key may be anything: so memory is bounded, and an instance that was
 * given up is a loss of that key's events.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check_int.h"
#include "base/hash.h"
#include "base/mem.h"

#define SETS_MAX  4096u
#define KNOWN_MAX 65536u /* keys without an instance */

/* What is known of a key that has no instance. */
struct known {
	uint64_t time_ns;
	uint32_t set;
};

struct check_phases {
	uint32_t states, words; /* of a set */
	uint64_t *sets;		/* owned; PHASE_BELIEVED and PHASE_ANY are places only */
	uint32_t set_count;
	struct map by_hash;  /* of a set -> its number */
	struct map keys;     /* -> index into known[] */
	struct known *known; /* owned */
	size_t known_count, known_cap;
	uint64_t *from, *to; /* owned; sets that are being worked on */
	bool *strays;	     /* owned; by pattern: it came where its state had no transition */
	bool has_forgotten;
};

struct check_phases *check_phases_new(const struct model *model)
{
	struct check_phases *phases = xcalloc(1, sizeof(*phases));

	phases->states = model->state_count;
	phases->words = (model->state_count + 63) / 64;
	phases->strays = xcalloc(model->pattern_count + 1, sizeof(bool));
	return phases;
}

void check_phases_free(struct check_phases *phases)
{
	if (!phases)
		return;
	map_fini(&phases->by_hash);
	map_fini(&phases->keys);
	free(phases->sets);
	free(phases->known);
	free(phases->from);
	free(phases->to);
	free(phases->strays);
	free(phases);
}

void check_phase_stray(struct check *check, uint32_t pattern)
{
	check->phases->strays[pattern] = true;
}

/* ---------------------------------------------------------------------- sets */

static void phase_add_state(uint64_t *set, uint32_t state)
{
	set[state / 64] |= UINT64_C(1) << (state % 64);
}

static bool has(const uint64_t *set, uint32_t state)
{
	return set[state / 64] >> (state % 64) & 1;
}

/* An ended instance is none. */
static uint32_t plain(const struct check *check, uint32_t state)
{
	return check->model->states[state].is_final ? check->model->initial : state;
}

static void make_room(struct check_phases *phases)
{
	if (phases->sets)
		return;
	phases->sets = xcalloc((size_t)SETS_MAX * phases->words, sizeof(uint64_t));
	phases->from = xcalloc(phases->words, sizeof(uint64_t));
	phases->to = xcalloc(phases->words, sizeof(uint64_t));
	phases->set_count = PHASE_ANY + 1;
}

/* The number of a set. When there are too many: any state may be, which is true of all. */
static uint32_t phase_number(struct check_phases *phases, const uint64_t *set)
{
	size_t bytes = phases->words * sizeof(*set);
	uint64_t hash = hash_bytes(set, bytes, 1);
	const uint64_t *place = map_find(&phases->by_hash, hash);

	if (place)
		return memcmp(phases->sets + *place * phases->words, set, bytes) == 0
			       ? (uint32_t)*place
			       : PHASE_ANY;
	if (phases->set_count == SETS_MAX)
		return PHASE_ANY;
	memcpy(phases->sets + (size_t)phases->set_count * phases->words, set, bytes);
	map_put(&phases->by_hash, hash, phases->set_count);
	return phases->set_count++;
}

static void unpack(const struct check *check, uint32_t number, uint32_t believed, uint64_t *set)
{
	const struct check_phases *phases = check->phases;

	if (number > PHASE_ANY) {
		memcpy(set, phases->sets + (size_t)number * phases->words,
		       phases->words * sizeof(*set));
		return;
	}
	memset(set, 0, phases->words * sizeof(*set));
	if (number == PHASE_BELIEVED)
		phase_add_state(set, believed);
	for (uint32_t i = 0; number == PHASE_ANY && i < phases->states; i++)
		phase_add_state(set, plain(check, i));
}

/* ----------------------------------------------------------------------- keys */

bool check_phase_in_doubt(const struct check *check)
{
	return check->metrics.has_holes || check->phases->has_forgotten;
}

static bool lost_between(const struct check *check, uint64_t start_ns, uint64_t end_ns)
{
	struct check_eval eval = { .metrics = &check->metrics, .time_ns = end_ns };
	uint64_t until_ns;

	return check_eval_lost_way(&eval, start_ns, &until_ns);
}

void check_phase_forget(struct check *check, uint64_t key)
{
	(void)map_remove(&check->phases->keys, key);
	check->phases->has_forgotten = true;
}

uint32_t check_phase_at(const struct check *check, uint64_t key, const struct instance *instance,
			uint64_t time_ns)
{
	const struct check_phases *phases = check->phases;
	struct known known = { 0, phases->has_forgotten ? PHASE_ANY : PHASE_BELIEVED };
	const uint64_t *place = instance ? NULL : map_find(&phases->keys, key);

	if (instance)
		known = (struct known){ instance->known_ns, instance->phase };
	else if (place)
		known = phases->known[*place];
	return lost_between(check, known.time_ns, time_ns) ? PHASE_ANY : known.set;
}

/* Enough is enough: what is forgotten may be anything. */
static void forget_all(struct check_phases *phases)
{
	map_fini(&phases->keys);
	phases->keys = (struct map){ 0 };
	phases->known_count = 0;
	phases->has_forgotten = true;
}

void check_phase_keep(struct check *check, uint64_t key, struct instance *instance, uint32_t set,
		      uint64_t time_ns)
{
	struct check_phases *phases = check->phases;
	uint64_t *place;
	bool is_new;

	if (instance) {
		instance->known_ns = time_ns;
		instance->phase = set;
		return;
	}
	/* What it is when nothing is remembered of it. */
	if (set == PHASE_BELIEVED && !phases->has_forgotten && !lost_between(check, 0, time_ns) &&
	    !map_find(&phases->keys, key))
		return;
	if (phases->known_count >= KNOWN_MAX)
		forget_all(phases);
	place = map_add(&phases->keys, key, &is_new);
	if (is_new) {
		phases->known = vec_room(phases->known, phases->known_count, &phases->known_cap,
					 sizeof(*phases->known));
		*place = phases->known_count++;
	}
	phases->known[*place] = (struct known){ time_ns, set };
}

/* ---------------------------------------------------------------------- steps */

static bool takes(const struct check *check, uint32_t state, uint32_t pattern)
{
	return check_next(check, state, pattern) != NONE;
}

/* Of the states that may be, those that are left when this event comes. */
static void leave_out(const struct check *check, uint32_t pattern, uint64_t *set)
{
	bool any = false;

	for (uint32_t i = 0; i < check->phases->states; i++)
		any |= has(set, i) && takes(check, i, pattern);
	for (uint32_t i = 0; any && i < check->phases->states; i++) {
		if (has(set, i) && !takes(check, i, pattern))
			set[i / 64] &= ~(UINT64_C(1) << (i % 64));
	}
}

void check_phase_step(struct check *check, const struct check_coming *coming, uint32_t number,
		      struct check_ways *out_ways)
{
	struct check_phases *phases = check->phases;
	uint32_t initial = check->model->initial;

	make_room(phases);
	unpack(check, number, coming->believed, phases->from);
	if (coming->is_alone && !coming->is_overlap && !phases->strays[coming->pattern])
		leave_out(check, coming->pattern, phases->from);
	*out_ways = (struct check_ways){
		.has_believed = has(phases->from, coming->believed),
		.has_initial = has(phases->from, initial),
	};
	memset(phases->to, 0, phases->words * sizeof(*phases->to));
	for (uint32_t i = 0; i < phases->states; i++) {
		uint32_t index = check_next(check, i, coming->pattern);

		if (!has(phases->from, i))
			continue;
		if (i == initial && coming->is_known)
			index = NONE;
		out_ways->count++;
		out_ways->takers += index != NONE;
		/* Another pattern of this very event may have been taken by it before. */
		if (index == NONE || !coming->is_alone)
			phase_add_state(phases->to, i);
		if (index != NONE)
			phase_add_state(phases->to,
					plain(check, check->model->transitions[index].to));
	}
}

uint32_t check_phase_after(struct check *check, uint32_t believed)
{
	struct check_phases *phases = check->phases;
	uint32_t count = 0;

	if (check->model->is_overlap)
		phase_add_state(phases->to, check->model->initial);
	for (uint32_t i = 0; i < phases->words; i++)
		count += (uint32_t)__builtin_popcountll(phases->to[i]);
	if (count == 1 && has(phases->to, believed))
		return PHASE_BELIEVED;
	return phase_number(phases, phases->to);
}

bool check_phase_may_take(struct check *check, uint32_t number, uint32_t pattern)
{
	uint32_t initial = check->model->initial;

	make_room(check->phases);
	unpack(check, number, initial, check->phases->from);
	for (uint32_t i = 0; i < check->phases->states; i++) {
		if (i != initial && has(check->phases->from, i) && takes(check, i, pattern))
			return true;
	}
	return false;
}

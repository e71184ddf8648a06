/*
 * pollers.c - one wait in slices that several threads have by turns.
 *
 *	M1  epoll ──timer──|  futex ───────────────────────────────────
 *	M2  futex ──────── look | epoll ──timer──|  futex ─────────────
 *	M3  futex ──────────────────────────── look | epoll ──W writes──
 *	    |<---------------- one wait, ended by W ------------------>|
 *
 * Where programs have their tasks run by whatever thread is free (Go, tokio, thread pools), one thread
 * at a time sleeps in the process's epoll set, and a task that waits on for the same comes back in
 * another thread. Two such waits, of which the first was ended by its own time-out, are slices of one where
 *
 *	- both are on the same set of the same process, and the second is the next one there,
 *	- from the begin of the first to that of the second all the process's threads together did
 *	  nothing but look, as in why_slices.c, and worked for LOOK_NS and a LOOK_PART of it at most.
 *	  Threads may be made, and may sleep; one may have another leave the set, to look again.
 *
 * The last slice is the first that neither its time-out nor a thread of the process ended. Without one
 * before the end of the window or of the process, there was none.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_int.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"

#define LOOK_NS	    500000u
#define LOOK_PART   50u
#define THREADS_MAX 512u
#define TURNS_MAX   2000000u
#define LOOKS_MAX   2000000u /* at threads, between turns: a bound on time, not on meaning */

/* One wait on the set. */
struct turn {
	uint64_t begin_ns, woken_ns; /* 0 = it did not end */
	uint32_t slot, index;
	uint32_t waker; /* slot; SLOT_NONE = no thread */
	bool timed_out;
};

/* All turns from 'first' to 'last' are slices of one wait, or none of them is. */
struct turns_run {
	size_t first, last;
	bool is_joined;
};

/* An epoll set of a process. */
struct shared_set {
	uint32_t *slots; /* owned: the process's threads */
	size_t slot_count, slot_cap;
	struct turn *turns; /* owned; in order of their begin */
	size_t count, cap;
	struct turns_run run; /* found out last */
	uint32_t looks;
	bool is_shared; /* by threads that can be told apart */
};

struct shared_sets {
	struct map by_key; /* process and descriptor; index into sets */
	struct shared_set *sets;
	size_t count, cap;
};

void shared_sets_free(struct shared_sets *sets)
{
	if (!sets)
		return;
	for (size_t i = 0; i < sets->count; i++) {
		free(sets->sets[i].slots);
		free(sets->sets[i].turns);
	}
	map_fini(&sets->by_key);
	free(sets->sets);
	free(sets);
}

/* ------------------------------------------------------------------- the turns */

ORDER_FUNCTION(by_begin, struct turn, ORDER_UP(begin_ns), ORDER_UP(slot));

static void add_turns(struct query *query, struct shared_set *set, uint32_t slot, uint32_t number)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	struct wait wait;

	for (uint32_t i = 0; i < thread->wait_count && set->count <= TURNS_MAX; i++) {
		timeline_wait(query->tl, slot, i, &wait);
		if (wait_set(&wait) != number || wait.begin_ns >= query->end_ns)
			continue;
		set->turns = vec_room(set->turns, set->count, &set->cap, sizeof(*set->turns));
		set->turns[set->count++] = (struct turn){
			.begin_ns = wait.begin_ns,
			.woken_ns = wait.woken_ns < query->end_ns ? wait.woken_ns : 0,
			.slot = slot,
			.index = i,
			.waker = wait.waker.kind == ACTOR_THREAD ? wait.waker.slot : SLOT_NONE,
			.timed_out = wait.woken_ns && wait_timed_out(query, &wait),
		};
	}
}

static void find_turns(struct query *query, struct shared_set *set, int32_t tgid, uint32_t number)
{
	uint32_t sharing = 0;

	for (uint32_t i = 0; i < query->tl->thread_count && set->slot_count <= THREADS_MAX; i++) {
		if (thread_process(query->tl->threads[i]) != tgid)
			continue;
		set->slots =
			vec_room(set->slots, set->slot_count, &set->slot_cap, sizeof(*set->slots));
		set->slots[set->slot_count++] = i;
	}
	for (size_t i = 0; i < set->slot_count && set->slot_count <= THREADS_MAX; i++) {
		size_t before = set->count;

		add_turns(query, set, set->slots[i], number);
		sharing += set->count > before;
	}
	set->is_shared = sharing > 1 && set->count <= TURNS_MAX;
	if (set->count)
		qsort(set->turns, set->count, sizeof(*set->turns), by_begin);
}

static struct shared_set *set_of(struct query *query, int32_t tgid, uint32_t number)
{
	struct shared_sets *sets = query->sets;
	uint64_t key = (uint64_t)(uint32_t)tgid << 32 | number;
	uint64_t *known;

	if (!sets)
		sets = query->sets = xcalloc(1, sizeof(*sets));
	known = map_find(&sets->by_key, key);
	if (known)
		return &sets->sets[*known];
	sets->sets = vec_room(sets->sets, sets->count, &sets->cap, sizeof(*sets->sets));
	map_put(&sets->by_key, key, sets->count);
	sets->sets[sets->count] = (struct shared_set){ .run = { 1, 0, false } };
	find_turns(query, &sets->sets[sets->count], tgid, number);
	return &sets->sets[sets->count++];
}

/* ------------------------------------------------------------ what is done meanwhile */

struct meanwhile {
	struct query *query;
	const struct shared_set *set;
	uint64_t start_ns, end_ns;
	uint64_t worked_ns; /* of all threads, or not known what they did */
};

static bool is_bound(const struct meanwhile *meanwhile)
{
	return meanwhile->worked_ns <=
	       LOOK_NS + (meanwhile->end_ns - meanwhile->start_ns) / LOOK_PART;
}

/* Did thread 'slot' from 'start_ns' to 'end_ns' have another one leave the set? */
static bool is_nudge(const struct shared_set *set, uint32_t slot, uint64_t start_ns,
		     uint64_t end_ns)
{
	size_t low = SEARCH_FROM(set->turns, set->count, begin_ns, end_ns);

	/* Whoever left has slept up to then: it is the last one that came, or nearly. */
	for (size_t i = low, looked = 0; i > 0 && looked < 8; i--, looked++) {
		const struct turn *turn = &set->turns[i - 1];

		if (turn->waker == slot && turn->woken_ns >= start_ns && turn->woken_ns <= end_ns)
			return true;
	}
	return false;
}

static bool thread_only_looked(struct meanwhile *meanwhile, uint32_t slot)
{
	struct query *query = meanwhile->query;
	const struct tl_thread *thread = query->tl->threads[slot];
	uint64_t call_ns = 0;
	struct tl_interval in;
	struct tl_iter iter;
	uint32_t call = 0;

	if (thread->death_ns <= meanwhile->start_ns || thread->birth_ns >= meanwhile->end_ns)
		return true;
	tl_iter_begin(&iter, query->tl, &thread->track, meanwhile->start_ns, meanwhile->end_ns);
	while (tl_iter_entry(&iter, &in)) {
		enum word_kind kind = word_kind(in.word);

		if (kind == WORD_NONE || kind == WORD_BLOCKED || kind == WORD_PREEMPTED ||
		    kind == WORD_WAIT_CPU)
			continue;
		if ((kind == WORD_USER || kind == WORD_SYSCALL) && call &&
		    call != word_plain(in.word)) {
			bool failed = kind == WORD_USER && word_error(in.word);

			if (!failed && !call_is(query, call, CALL_LOOKS) &&
			    !call_is(query, call, CALL_OWN) &&
			    !is_nudge(meanwhile->set, slot, call_ns, in.start_ns))
				return false;
			call = 0;
		}
		if (kind == WORD_SYSCALL && !call) {
			call = word_plain(in.word);
			call_ns = in.start_ns;
		}
		if (kind == WORD_UNCERTAIN || word_wib(in.word) == WIB_WORKING)
			meanwhile->worked_ns += in.end_ns - in.start_ns;
		if (!is_bound(meanwhile))
			return false;
	}
	return true;
}

static bool only_looked(struct query *query, struct shared_set *set, const struct turn *from,
			const struct turn *to)
{
	struct meanwhile meanwhile = { query, set, from->begin_ns, to->begin_ns, 0 };

	if (!from->woken_ns || to->begin_ns < from->woken_ns)
		return false;
	for (size_t i = 0; i < set->slot_count; i++) {
		if (set->looks++ >= LOOKS_MAX || !thread_only_looked(&meanwhile, set->slots[i]))
			return false;
	}
	return true;
}

/* ----------------------------------------------------------------------- a run */

static bool is_own(const struct query *query, const struct turn *turn)
{
	return turn->waker != SLOT_NONE && query_is_one_process(query, turn->waker, turn->slot);
}

static struct turns_run find_run(struct query *query, struct shared_set *set, size_t first)
{
	struct turns_run run = { first, first, false };

	while (run.last + 1 < set->count &&
	       only_looked(query, set, &set->turns[run.last], &set->turns[run.last + 1])) {
		const struct turn *turn = &set->turns[++run.last];

		if (turn->timed_out || (turn->woken_ns && is_own(query, turn)))
			continue;
		run.is_joined = turn->woken_ns || !query->tl->threads[turn->slot]->died;
		break;
	}
	return run;
}

static bool find_turn(const struct shared_set *set, uint32_t slot, const struct wait *wait,
		      size_t *out_turn)
{
	const struct turn key = { .begin_ns = wait->begin_ns, .slot = slot };
	const struct turn *turn =
		set->count ? bsearch(&key, set->turns, set->count, sizeof(key), by_begin) : NULL;

	if (turn)
		*out_turn = (size_t)(turn - set->turns);
	return turn;
}

bool query_turn(struct query *query, uint32_t slot, const struct wait *wait, uint32_t *out_slot,
		uint32_t *out_index)
{
	int32_t tgid = thread_process(query->tl->threads[slot]);
	struct shared_set *set;
	size_t turn;

	if (!wait_set(wait) || tgid <= 0)
		return false;
	set = set_of(query, tgid, wait_set(wait));
	if (!set->is_shared || !find_turn(set, slot, wait, &turn))
		return false;
	if (turn < set->run.first || turn > set->run.last)
		set->run = find_run(query, set, turn);
	if (!set->run.is_joined || turn >= set->run.last)
		return false;
	*out_slot = set->turns[set->run.last].slot;
	*out_index = set->turns[set->run.last].index;
	return true;
}

/*
 * for_nothing.c - who was woken, and waited for the same again at once.
 *
 *	cond ──W wakes── look, cond ──W wakes── look, cond ──V wakes── it goes on
 *
 * A condition may be told of something that another waiter waits for: a broadcast, or one condition for two things. Who
 * looks then and waits on was woken for nothing. It may as well have had something to do that takes no longer than a
 * look and that nobody else sees, such as one item of a queue: no event tells these two apart. So it is known who woke
 * it, and inferred that it waited for that one.
 *
 * It looked alone where it worked for NOTHING_NS at most, called nothing but futex(), waited for locks at most, and woke
 * nobody but who waited for one. A lock is never waited for in vain: who had it let go of it.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/asks_int.h"
#include "base/map.h"
#include "base/mem.h"

#define NOTHING_NS 100000u
#define LOCKS_MOST 3u /* waits for them between two of the same */

/* Waits that follow each other like that, of one thread. */
struct nothing_run {
	uint32_t first,
		last; /* indices; 'last' is none of them, but the one that it went on behind */
	struct wait wait;
};

struct nothing_runs {
	struct map by_slot; /* index into runs */
	struct nothing_run *runs;
	size_t count, cap;
};

void nothing_runs_free(struct nothing_runs *runs)
{
	if (!runs)
		return;
	map_fini(&runs->by_slot);
	free(runs->runs);
	free(runs);
}

static bool is_at_futex(struct query *query, const struct wait *wait)
{
	uint64_t address;

	return query_futex(query, wait, &address) && word_kind(wait->in) == WORD_SYSCALL;
}

static bool is_told(struct query *query, uint32_t slot, const struct wait *wait)
{
	return wait->woken_ns && wait->waker.kind == ACTOR_THREAD && !wait->waker.signal &&
	       wait->waker.slot != slot && wait->waker.slot < query->tl->thread_count &&
	       !(wait->flags & (WAIT_LOCK | WAIT_EXITED | WAIT_ASKED | WAIT_LOST)) &&
	       is_at_futex(query, wait);
}

/* It woke somebody in that time, who did not wait for a lock. */
static bool has_told(const struct query *query, uint32_t slot, uint64_t start_ns, uint64_t end_ns)
{
	struct tl_edge_iter iter;
	struct tl_edge edge;
	struct wait wait;

	tl_edges_begin(&iter, query->tl, slot, start_ns, end_ns);
	while (tl_edges_next(&iter, &edge)) {
		timeline_wait(query->tl, edge.slot, edge.wait, &wait);
		if (!(wait.flags & WAIT_LOCK))
			return true;
	}
	return false;
}

/* From the end of a wait to the beginning of the next one it did no more than look. */
static bool has_only_looked(struct query *query, uint32_t slot, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t worked_ns = 0;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_thread(&iter, query->tl, slot, start_ns, end_ns);
	while (tl_iter_next(&iter, &in)) {
		if (word_kind(in.word) == WORD_NONE ||
		    (word_kind(in.word) == WORD_SYSCALL &&
		     strncmp(describe_word(query, in.word), "futex", strlen("futex")) != 0))
			return false;
		if (word_wib(in.word) == WIB_WORKING || word_kind(in.word) == WORD_UNCERTAIN)
			worked_ns += in.end_ns - in.start_ns;
		if (worked_ns > NOTHING_NS)
			return false;
	}
	return !has_told(query, slot, start_ns, end_ns);
}

/* Returns the index of the wait for the same behind wait 'index', or 0. */
static uint32_t waits_again(struct query *query, uint32_t slot, uint32_t index,
			    const struct wait *wait, struct wait *out_next)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	uint64_t since_ns = wait->woken_ns;

	for (uint32_t i = 1; i <= LOCKS_MOST + 1 && thread->wait_count - index > i; i++) {
		timeline_wait(query->tl, slot, index + i, out_next);
		if (out_next->begin_ns >= query->end_ns ||
		    !has_only_looked(query, slot, since_ns, out_next->begin_ns))
			return 0;
		if (query_is_same(query, slot, wait, out_next))
			return index + i;
		if (!(out_next->flags & WAIT_LOCK) || !out_next->woken_ns ||
		    !is_at_futex(query, out_next))
			return 0;
		since_ns = out_next->woken_ns;
	}
	return 0;
}

static struct nothing_run find_run(struct query *query, uint32_t slot, uint32_t index,
				   const struct wait *wait)
{
	struct nothing_run run = { index, index, *wait };
	struct wait next;
	uint32_t behind;

	while (is_told(query, slot, &run.wait) && run.wait.woken_ns <= query->end_ns) {
		behind = waits_again(query, slot, run.last, &run.wait, &next);
		if (!behind)
			break;
		run.last = behind;
		run.wait = next;
	}
	return run;
}

static const struct nothing_run *run_of(struct query *query, uint32_t slot, uint32_t index,
					const struct wait *wait)
{
	struct nothing_runs *runs = query->nothing;
	struct nothing_run *run;
	uint64_t *at;
	bool is_new;

	if (!runs)
		runs = query->nothing = xcalloc(1, sizeof(*runs));
	at = map_add(&runs->by_slot, slot, &is_new);
	if (is_new) {
		runs->runs = vec_room(runs->runs, runs->count, &runs->cap, sizeof(*runs->runs));
		*at = runs->count;
		runs->runs[runs->count++] = (struct nothing_run){ 0 };
	}
	run = &runs->runs[*at];
	if (is_new || index < run->first || index > run->last)
		*run = find_run(query, slot, index, wait);
	return run;
}

const struct why_reason *query_for_nothing(struct query *query, uint32_t slot, uint32_t word,
					   const struct wait *wait)
{
	const struct nothing_run *run;
	struct why_reason reason = { .kind = WHY_REASON_WAITED_AGAIN };

	if (!is_told(query, slot, wait))
		return NULL;
	run = run_of(query, slot, word_arg(word), wait);
	if (word_arg(word) >= run->last)
		return NULL;
	if (is_told(query, slot, &run->wait) && run->wait.waker.slot != wait->waker.slot)
		reason.who = why_thread(query, run->wait.waker.slot);
	return why_reason_keep(query->why, &reason);
}

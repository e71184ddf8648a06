/*
 * for_nothing.c - who was woken, and waited for the same again at once.
 *
 *	cond ──W wakes── look, cond ──W wakes── look, cond ──V wakes── it goes on
 *
 * A condition may be told of something that another waiter waits for: a broadcast, or one condition for two things. Who
 * looks then and waits on was woken for nothing. It may as well have had something to do that takes no longer than a
 * look and that nobody else sees, such as one item of a queue: no event tells these two apart. So it is known who woke
 * it, and inferred that it waited for that one. Whoever had it go on for one in WENT_ON_PART times at least has work for
 * it: what takes no longer than a look is such work as well.
 *
 * It looked alone where it worked for NOTHING_NS at most, called nothing but futex(), waited for locks at most, and woke
 * nobody but who waited for one. A lock is never waited for in vain: who had it let go of it.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/asks_int.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

#define NOTHING_NS   100000u
#define LOCKS_MOST   3u /* waits for them between two of the same */
#define WENT_ON_PART 4u
#define AT_ONCE	     65536u /* waits that are looked at for one question: a bound on time */

/* How often one thread woke another one that waited at one futex. */
struct nothing_sum {
	uint32_t again; /* and it waited again at once */
	uint32_t went_on;
	uint32_t at_last; /* slot: who else woke it, so that it went on; SLOT_NONE = nobody */
};

struct nothing_sums {
	struct map by_waker;	/* of sum_key(): index into sums */
	struct map seen_before; /* of a slot: its waits before that index are counted */
	struct nothing_sum *sums;
	size_t count, cap;
};

void nothing_sums_free(struct nothing_sums *sums)
{
	if (!sums)
		return;
	map_fini(&sums->by_waker);
	map_fini(&sums->seen_before);
	free(sums->sums);
	free(sums);
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

/* The two words of a condition of glibc are one. */
static uint64_t sum_key(const struct query *query, uint32_t slot, const struct wait *wait)
{
	uint64_t address = 0;

	(void)query_futex(query, wait, &address);
	return hash_mix(hash_mix(address / 8, wait->waker.slot), slot);
}

static struct nothing_sum *sum_of(struct query *query, uint32_t slot, const struct wait *wait)
{
	struct nothing_sums *sums = query->nothing;
	bool is_new;
	uint64_t *at = map_add(&sums->by_waker, sum_key(query, slot, wait), &is_new);

	if (is_new) {
		*at = sums->count;
		sums->sums = vec_room(sums->sums, sums->count, &sums->cap, sizeof(*sums->sums));
		sums->sums[sums->count++] = (struct nothing_sum){ .at_last = SLOT_NONE };
	}
	return &sums->sums[*at];
}

/* From wait 'index' on it was woken again and again, up to when it went on. Returns the last of these waits. */
static uint32_t add_run(struct query *query, uint32_t slot, uint32_t index, struct wait *wait)
{
	uint32_t first = index, behind;
	struct wait next, at;
	struct nothing_sum *sum;

	while (is_told(query, slot, wait) &&
	       (behind = waits_again(query, slot, index, wait, &next))) {
		sum_of(query, slot, wait)->again++;
		index = behind;
		*wait = next;
	}
	if (!is_told(query, slot, wait))
		return index;
	sum_of(query, slot, wait)->went_on++;
	for (; first < index; first++) {
		timeline_wait(query->tl, slot, first, &at);
		sum = is_told(query, slot, &at) && at.waker.slot != wait->waker.slot
			      ? sum_of(query, slot, &at)
			      : NULL;
		if (sum)
			sum->at_last = wait->waker.slot;
	}
	return index;
}

/* All waits of the window up to that one, and some behind it: of a wait in slices the last one is asked first. */
static void add_waits(struct query *query, uint32_t slot, uint32_t until)
{
	uint32_t count = query->tl->threads[slot]->wait_count;
	uint32_t end = count - until > AT_ONCE ? until + AT_ONCE : count, index;
	struct wait wait;
	bool is_new;
	uint64_t *seen = map_add(&query->nothing->seen_before, slot, &is_new);

	if (is_new) {
		*seen = waits_before(query->tl, slot, query->start_ns);
		*seen -= *seen > 0; /* that may last into the window */
	}
	for (index = (uint32_t)*seen; index < end; index++) {
		timeline_wait(query->tl, slot, index, &wait);
		if (wait.begin_ns >= query->end_ns)
			break;
		index = add_run(query, slot, index, &wait);
	}
	*seen = index > end ? index : end;
}

const struct why_reason *query_for_nothing(struct query *query, uint32_t slot, uint32_t word,
					   const struct wait *wait)
{
	struct why_reason reason = { .kind = WHY_REASON_WAITED_AGAIN };
	const struct nothing_sum *sum;
	const uint64_t *seen;

	if (!is_told(query, slot, wait))
		return NULL;
	if (!query->nothing)
		query->nothing = xcalloc(1, sizeof(*query->nothing));
	seen = map_find(&query->nothing->seen_before, slot);
	if (!seen || *seen <= word_arg(word))
		add_waits(query, slot, word_arg(word));
	sum = sum_of(query, slot, wait);
	if (!sum->again ||
	    (uint64_t)sum->went_on * WENT_ON_PART >= (uint64_t)sum->again + sum->went_on)
		return NULL;
	if (sum->at_last != SLOT_NONE)
		reason.who = why_thread(query, sum->at_last);
	return why_reason_keep(query->why, &reason);
}

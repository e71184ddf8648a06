/*
 * verify_threads.c - each thread by itself.
 *
 * One walk over its intervals adds up its states and holds each wait against the interval
 * that it left. Then a few windows are asked for, and compared with walks over them. The
 * windows of one thread are cut so that together they are about as long as its life: the
 * whole is linear in the number of intervals.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/verify/verify_int.h"
#include "base/mem.h"
#include "base/text.h"
#include "timeline/totals.h"

#define WINDOWS 3

/* The thread at hand. */
struct walk {
	const struct timeline *tl;
	const struct tl_thread *thread;
	struct verify *verify;
	uint32_t slot;
	uint64_t random;
	struct totals seen;   /* sums over intervals: rows of TOTAL_STATE and TOTAL_WAIT */
	struct totals stored; /* what timeline_totals() says */

	/* The wait whose interval was met last. */
	bool in_wait;
	uint32_t wait_index;
	struct wait wait;
};

/* A failed check of this thread. */
static void fail(struct walk *walk, enum verify_check check, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void fail(struct walk *walk, enum verify_check check, const char *format, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	verify_fail(walk->verify, check, "%s: %s", verify_name(walk->tl, walk->slot).s,
		    text ? text : "?");
}

static uint64_t origin_of(const struct walk *walk)
{
	return walk->tl->origin_ns;
}

static struct text when(const struct walk *walk, uint64_t time_ns)
{
	return verify_when(walk->tl, time_ns);
}

/* --------------------------------------------------------------------- waits */

/* What can be told of a wait alone. */
static void check_wait(struct walk *walk, uint32_t index, const struct wait *wait)
{
	uint64_t end_ns = walk->tl->end_ns;
	uint32_t waker = wait->waker.slot;

	verify_done(walk->verify, VERIFY_WAITS);
	if (wait->woken_ns && wait->woken_ns < wait->begin_ns)
		fail(walk, VERIFY_WAITS, "wait %u is woken before it begins, at %s", index,
		     when(walk, wait->begin_ns).s);
	if (wait->begin_ns > end_ns || wait->woken_ns > end_ns)
		fail(walk, VERIFY_WAITS, "wait %u lies outside of the recording", index);
	/* What ended before the recording began it knows from what was before it: it is a cut. */
	if (waker == SLOT_NONE || !wait->woken_ns || wait->woken_ns < origin_of(walk))
		return;
	if (waker >= walk->tl->thread_count)
		fail(walk, VERIFY_WAITS, "wait %u was ended by thread number %u, which is none",
		     index, waker);
	else if (wait->waker.kind == ACTOR_THREAD &&
		 (walk->tl->threads[waker]->birth_ns > wait->woken_ns ||
		  walk->tl->threads[waker]->death_ns < wait->woken_ns))
		fail(walk, VERIFY_WAITS, "wait %u was ended at %s by %s, which did not live then",
		     index, when(walk, wait->woken_ns).s, verify_name(walk->tl, waker).s);
}

static void check_waits(struct walk *walk)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < walk->thread->wait_count; i++) {
		struct wait wait;

		timeline_wait(walk->tl, walk->slot, i, &wait);
		check_wait(walk, i, &wait);
		if (wait.begin_ns < last_ns)
			fail(walk, VERIFY_WAITS, "wait %u begins before the wait before it ended",
			     i);
		last_ns = wait.woken_ns > wait.begin_ns ? wait.woken_ns : wait.begin_ns;
	}
	walk->verify->waits += walk->thread->wait_count;
}

/* Between its begin and its end there is only this wait, or nobody knows. */
static void follow_wait(struct walk *walk, const struct tl_interval *in)
{
	bool blocked = word_kind(in->word) == WORD_BLOCKED;

	if (walk->in_wait && in->start_ns < walk->wait.woken_ns &&
	    word_kind(in->word) != WORD_UNCERTAIN &&
	    (!blocked || word_arg(in->word) != walk->wait_index))
		fail(walk, VERIFY_WAITS, "wait %u should go on at %s, but it does not",
		     walk->wait_index, when(walk, in->start_ns).s);
	if (!blocked)
		return;
	if (word_arg(in->word) >= walk->thread->wait_count) {
		fail(walk, VERIFY_WAITS, "it is blocked at %s in wait %u of %u",
		     when(walk, in->start_ns).s, word_arg(in->word), walk->thread->wait_count);
		return;
	}
	walk->in_wait = true;
	walk->wait_index = word_arg(in->word);
	timeline_wait(walk->tl, walk->slot, walk->wait_index, &walk->wait);
	if (in->start_ns < walk->wait.begin_ns ||
	    (walk->wait.woken_ns && in->end_ns > walk->wait.woken_ns))
		fail(walk, VERIFY_WAITS, "at %s it is blocked before or after its wait %u",
		     when(walk, in->start_ns).s, walk->wait_index);
}

/* ---------------------------------------------------------------------- sums */

static void add_interval(struct walk *walk, const struct tl_interval *in)
{
	uint64_t ns = in->end_ns - in->start_ns;
	struct wait wait;

	totals_row(&walk->seen, total_key(TOTAL_STATE, word_state(in->word), 0))->ns += ns;
	if (word_kind(in->word) != WORD_BLOCKED)
		return;
	timeline_wait(walk->tl, walk->slot, word_arg(in->word), &wait);
	totals_row(&walk->seen, total_key(TOTAL_WAIT, wait.in, wait_kind(&wait)))->ns += ns;
}

/* The rows that were seen are those that are stored, and there are no others. */
static void compare_totals(struct walk *walk, uint64_t start_ns, uint64_t end_ns)
{
	struct verify *verify = walk->verify;
	uint64_t blocked_ns = 0;

	verify_done(verify, VERIFY_WINDOWS);
	verify_done(verify, VERIFY_TOTALS);
	timeline_totals(walk->tl, walk->slot, start_ns, end_ns, &walk->stored);
	if (totals_ns(&walk->stored, TOTAL_STATE) != end_ns - start_ns)
		fail(walk, VERIFY_WINDOWS, "its states in %s from %s on add up to %" PRIu64 " ns",
		     text_duration(end_ns - start_ns).s, when(walk, start_ns).s,
		     totals_ns(&walk->stored, TOTAL_STATE));
	for (uint32_t i = 0; i < walk->seen.count; i++) {
		const struct total *seen = &walk->seen.rows[i];
		const struct total *stored = totals_find(&walk->stored, seen->key);

		if (word_kind(total_a(seen->key)) == WORD_BLOCKED &&
		    total_kind(seen->key) == TOTAL_STATE)
			blocked_ns = seen->ns;
		if (seen->ns != (stored ? stored->ns : 0))
			fail(walk, VERIFY_TOTALS,
			     "the stored sum of row %" PRIx64 " in %s from %s on is %" PRIu64
			     " ns, not %" PRIu64,
			     seen->key, text_duration(end_ns - start_ns).s, when(walk, start_ns).s,
			     stored ? stored->ns : 0, seen->ns);
	}
	if (totals_ns(&walk->stored, TOTAL_WAIT) != blocked_ns)
		fail(walk, VERIFY_TOTALS, "its waits add up to %" PRIu64 " ns of %" PRIu64,
		     totals_ns(&walk->stored, TOTAL_WAIT), blocked_ns);
}

static void check_window(struct walk *walk, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t sum[WIB_COUNT] = { 0 };
	struct tl_iter iter;
	struct tl_interval in;

	totals_clear(&walk->seen);
	tl_iter_begin(&iter, walk->tl, &walk->thread->track, start_ns, end_ns);
	while (tl_iter_next(&iter, &in)) {
		add_interval(walk, &in);
		sum[word_wib(in.word)] += in.end_ns - in.start_ns;
	}
	if (sum[WIB_WORKING] + sum[WIB_INTERRUPTED] + sum[WIB_BLOCKED] + sum[WIB_UNCERTAIN] +
		    sum[WIB_NONE] !=
	    end_ns - start_ns)
		fail(walk, VERIFY_WINDOWS, "the window of %s from %s on is not covered",
		     text_duration(end_ns - start_ns).s, when(walk, start_ns).s);
	compare_totals(walk, start_ns, end_ns);
}

/* Windows anywhere, each about the WINDOWSth part of the recording. */
static void check_windows(struct walk *walk)
{
	uint64_t length = walk->tl->end_ns - origin_of(walk);

	for (int i = 0; i < WINDOWS && length > 1; i++) {
		uint64_t start = verify_random(&walk->random, length);
		uint64_t most =
			length - start < length / WINDOWS ? length - start : length / WINDOWS + 1;
		uint64_t ns = 1 + verify_random(&walk->random, most);

		if (ns > length - start)
			ns = length - start;
		check_window(walk, origin_of(walk) + start, origin_of(walk) + start + ns);
	}
}

/* ---------------------------------------------------------------------- life */

static bool is_possible(const struct walk *walk, const struct tl_interval *in)
{
	const struct tl_thread *thread = walk->thread;
	bool lives = in->start_ns >= thread->birth_ns && in->end_ns <= thread->death_ns;
	enum word_kind kind = word_kind(in->word);

	/* The mark of a CPU has no length. */
	if (kind >= WORD_KIND_COUNT || kind == WORD_CPU)
		return false;
	/* The idle task of a CPU is there when that CPU idles. */
	return thread->tid == 0 || (kind != WORD_NONE) == lives;
}

static void check_life(struct walk *walk)
{
	const struct tl_thread *thread = walk->thread;
	uint64_t at = origin_of(walk), life = 0;
	struct tl_iter iter;
	struct tl_interval in;

	verify_done(walk->verify, VERIFY_LIFE);
	totals_clear(&walk->seen);
	tl_iter_begin(&iter, walk->tl, &thread->track, at, walk->tl->end_ns);
	while (tl_iter_next(&iter, &in)) {
		if (in.start_ns != at || in.end_ns <= in.start_ns)
			fail(walk, VERIFY_LIFE, "its intervals do not touch at %s",
			     when(walk, at).s);
		if (!is_possible(walk, &in))
			fail(walk, VERIFY_LIFE, "state %x cannot be at %s", in.word,
			     when(walk, in.start_ns).s);
		if (word_wib(in.word) != WIB_NONE)
			life += in.end_ns - in.start_ns;
		if (word_wib(in.word) == WIB_UNCERTAIN)
			walk->verify->uncertain_ns += in.end_ns - in.start_ns;
		follow_wait(walk, &in);
		add_interval(walk, &in);
		at = in.end_ns;
		walk->verify->intervals++;
	}
	if (at != walk->tl->end_ns)
		fail(walk, VERIFY_LIFE, "its intervals end at %s", when(walk, at).s);
	if (thread->tid != 0 && life != thread->death_ns - thread->birth_ns)
		fail(walk, VERIFY_LIFE, "its states add up to %" PRIu64 " ns of a life of %" PRIu64,
		     life, thread->death_ns - thread->birth_ns);
	walk->verify->life_ns += life;
	compare_totals(walk, origin_of(walk), walk->tl->end_ns);
}

/* --------------------------------------------------------------------- edges */

static void check_edge(struct walk *walk, const struct tl_edge *edge)
{
	struct wait wait;

	verify_done(walk->verify, VERIFY_EDGES);
	if (edge->slot >= walk->tl->thread_count ||
	    edge->wait >= walk->tl->threads[edge->slot]->wait_count) {
		fail(walk, VERIFY_EDGES,
		     "at %s it ended wait %u of thread number %u, which is none",
		     when(walk, edge->time_ns).s, edge->wait, edge->slot);
		return;
	}
	timeline_wait(walk->tl, edge->slot, edge->wait, &wait);
	if (wait.woken_ns != edge->time_ns && wait.waker.time_ns != edge->time_ns)
		fail(walk, VERIFY_EDGES, "it ended wait %u of %s at %s, but that one says %s",
		     edge->wait, verify_name(walk->tl, edge->slot).s, when(walk, edge->time_ns).s,
		     when(walk, wait.woken_ns).s);
	else if (wait.waker.kind == ACTOR_THREAD && wait.waker.slot != walk->slot)
		fail(walk, VERIFY_EDGES, "it ended wait %u of %s, which names %s", edge->wait,
		     verify_name(walk->tl, edge->slot).s, verify_name(walk->tl, wait.waker.slot).s);
}

static void check_edges(struct walk *walk)
{
	struct tl_edge_iter iter;
	struct tl_edge edge;
	uint64_t last_ns = 0;

	tl_edges_begin(&iter, walk->tl, walk->slot, origin_of(walk), walk->tl->end_ns + 1);
	while (tl_edges_next(&iter, &edge)) {
		if (edge.time_ns < last_ns)
			fail(walk, VERIFY_EDGES, "its wake-ups are not in order at %s",
			     when(walk, edge.time_ns).s);
		last_ns = edge.time_ns;
		check_edge(walk, &edge);
	}
}

void verify_threads(const struct timeline *tl, const struct verify_progress *progress,
		    struct verify *verify)
{
	struct walk walk = { .tl = tl, .verify = verify, .random = 0x9e3779b97f4a7c15u };

	(void)progress;
	for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
		walk.slot = slot;
		walk.thread = tl->threads[slot];
		walk.in_wait = false;
		if (walk.thread->birth_ns > walk.thread->death_ns ||
		    walk.thread->birth_ns < tl->origin_ns || walk.thread->death_ns > tl->end_ns)
			fail(&walk, VERIFY_LIFE, "it lives from %" PRIu64 " to %" PRIu64,
			     walk.thread->birth_ns, walk.thread->death_ns);
		check_life(&walk);
		check_windows(&walk);
		check_waits(&walk);
		check_edges(&walk);
	}
	totals_fini(&walk.seen);
	totals_fini(&walk.stored);
}

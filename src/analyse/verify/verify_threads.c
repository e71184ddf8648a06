/*
 * verify_threads.c - each thread by itself.
 *
 * One walk over its intervals adds up its states and holds each wait against the interval
 * that it left. Then a few windows are asked for, and compared with walks over them. The
 * windows of one thread are cut so that together they are about as long as its life: the
 * whole is linear in the number of intervals.
 */
#include "analyse/verify/verify_int.h"
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
static void thread_fail(struct walk *walk, struct verify_broken broken)
{
	broken.who = verify_who(walk->tl, walk->slot);
	verify_fail(walk->verify, &broken);
}

#define FAIL(walk, ...) thread_fail(walk, (struct verify_broken){ __VA_ARGS__ })

static uint64_t origin_of(const struct walk *walk)
{
	return walk->tl->origin_ns;
}

/* --------------------------------------------------------------------- waits */

/* What can be told of a wait alone. */
static void check_wait(struct walk *walk, uint32_t index, const struct wait *wait)
{
	uint64_t end_ns = walk->tl->end_ns;
	uint32_t waker = wait->waker.slot;

	verify_done(walk->verify, VERIFY_WAITS);
	if (wait->woken_ns && wait->woken_ns < wait->begin_ns)
		FAIL(walk, VERIFY_WAITS, FAULT_WOKEN_EARLY, .number = { index },
		     .start_ns = wait->begin_ns);
	if (wait->begin_ns > end_ns || wait->woken_ns > end_ns)
		FAIL(walk, VERIFY_WAITS, FAULT_WAIT_OUTSIDE, .number = { index });
	/* What ended before the recording began it knows from what was before it: it is a cut. */
	if (waker == SLOT_NONE || !wait->woken_ns || wait->woken_ns < origin_of(walk))
		return;
	if (waker >= walk->tl->thread_count)
		FAIL(walk, VERIFY_WAITS, FAULT_WAKER_NONE, .number = { index, waker });
	else if (wait->waker.kind == ACTOR_THREAD &&
		 (walk->tl->threads[waker]->birth_ns > wait->woken_ns ||
		  walk->tl->threads[waker]->death_ns < wait->woken_ns))
		FAIL(walk, VERIFY_WAITS, FAULT_WAKER_DEAD, .number = { index },
		     .start_ns = wait->woken_ns, .other = verify_who(walk->tl, waker));
}

static void check_waits(struct walk *walk)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < walk->thread->wait_count; i++) {
		struct wait wait;

		timeline_wait(walk->tl, walk->slot, i, &wait);
		check_wait(walk, i, &wait);
		if (wait.begin_ns < last_ns)
			FAIL(walk, VERIFY_WAITS, FAULT_WAITS_OVERLAP, .number = { i });
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
		FAIL(walk, VERIFY_WAITS, FAULT_WAIT_STOPS, .number = { walk->wait_index },
		     .start_ns = in->start_ns);
	if (!blocked)
		return;
	if (word_arg(in->word) >= walk->thread->wait_count) {
		FAIL(walk, VERIFY_WAITS, FAULT_NO_WAIT, .start_ns = in->start_ns,
		     .number = { word_arg(in->word), walk->thread->wait_count });
		return;
	}
	walk->in_wait = true;
	walk->wait_index = word_arg(in->word);
	timeline_wait(walk->tl, walk->slot, walk->wait_index, &walk->wait);
	if (in->start_ns < walk->wait.begin_ns ||
	    (walk->wait.woken_ns && in->end_ns > walk->wait.woken_ns))
		FAIL(walk, VERIFY_WAITS, FAULT_WAIT_TIME, .start_ns = in->start_ns,
		     .number = { walk->wait_index });
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
		FAIL(walk, VERIFY_WINDOWS, FAULT_WINDOW_STATES, .start_ns = start_ns,
		     .end_ns = end_ns, .number = { totals_ns(&walk->stored, TOTAL_STATE) });
	for (uint32_t i = 0; i < walk->seen.count; i++) {
		const struct total *seen = &walk->seen.rows[i];
		const struct total *stored = totals_find(&walk->stored, seen->key);

		if (word_kind(total_a(seen->key)) == WORD_BLOCKED &&
		    total_kind(seen->key) == TOTAL_STATE)
			blocked_ns = seen->ns;
		if (seen->ns != (stored ? stored->ns : 0))
			FAIL(walk, VERIFY_TOTALS, FAULT_STORED_SUM, .start_ns = start_ns,
			     .end_ns = end_ns,
			     .number = { seen->key, stored ? stored->ns : 0, seen->ns });
	}
	if (totals_ns(&walk->stored, TOTAL_WAIT) != blocked_ns)
		FAIL(walk, VERIFY_TOTALS, FAULT_WAIT_SUM,
		     .number = { totals_ns(&walk->stored, TOTAL_WAIT), blocked_ns });
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
		FAIL(walk, VERIFY_WINDOWS, FAULT_WINDOW_HOLE, .start_ns = start_ns,
		     .end_ns = end_ns);
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
			FAIL(walk, VERIFY_LIFE, FAULT_INTERVALS_GAP, .start_ns = at);
		if (!is_possible(walk, &in))
			FAIL(walk, VERIFY_LIFE, FAULT_STATE, .number = { in.word },
			     .start_ns = in.start_ns);
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
		FAIL(walk, VERIFY_LIFE, FAULT_INTERVALS_END, .start_ns = at);
	if (thread->tid != 0 && life != thread->death_ns - thread->birth_ns)
		FAIL(walk, VERIFY_LIFE, FAULT_LIFE_SUM,
		     .number = { life, thread->death_ns - thread->birth_ns });
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
		FAIL(walk, VERIFY_EDGES, FAULT_ENDED_NONE, .start_ns = edge->time_ns,
		     .number = { edge->wait, edge->slot });
		return;
	}
	timeline_wait(walk->tl, edge->slot, edge->wait, &wait);
	if (wait.woken_ns != edge->time_ns && wait.waker.time_ns != edge->time_ns)
		FAIL(walk, VERIFY_EDGES, FAULT_ENDED_TIME, .number = { edge->wait },
		     .other = verify_who(walk->tl, edge->slot), .start_ns = edge->time_ns,
		     .end_ns = wait.woken_ns);
	else if (wait.waker.kind == ACTOR_THREAD && wait.waker.slot != walk->slot)
		FAIL(walk, VERIFY_EDGES, FAULT_ENDED_NAME, .number = { edge->wait },
		     .other = verify_who(walk->tl, edge->slot),
		     .named = verify_who(walk->tl, wait.waker.slot));
}

static void check_edges(struct walk *walk)
{
	struct tl_edge_iter iter;
	struct tl_edge edge;
	uint64_t last_ns = 0;

	tl_edges_begin(&iter, walk->tl, walk->slot, origin_of(walk), walk->tl->end_ns + 1);
	while (tl_edges_next(&iter, &edge)) {
		if (edge.time_ns < last_ns)
			FAIL(walk, VERIFY_EDGES, FAULT_WAKES_ORDER, .start_ns = edge.time_ns);
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
			FAIL(&walk, VERIFY_LIFE, FAULT_LIFE,
			     .number = { walk.thread->birth_ns, walk.thread->death_ns });
		check_life(&walk);
		check_windows(&walk);
		check_waits(&walk);
		check_edges(&walk);
	}
	totals_fini(&walk.seen);
	totals_fini(&walk.stored);
}

/*
 * test_query.c - every question to a timeline against brute force over plain lists.
 *
 * Traces go through the engine twice. Out of the timeline in memory come the lists: the
 * entries, waits and wake-ups as they lie there. The one that is asked is in a store with
 * chunks of a few entries. Random traces, whole and with holes, and real ones.
 *
 * HOLDUP_SEED=N runs one seed; HOLDUP_SEEDS=N all up to N.
 */
#include "query_twin.h"

#include "base/err.h"
#include "event/source.h"
#include "random_trace.h"
#include "read/read.h"
#include "state/state.h"
#include "timeline/index.h"

#define SEEDS 1000
#define STEPS 150
#define LONG  40 /* every so many seeds, a trace with more steps */

static uint64_t first_seed(void)
{
	const char *seed = getenv("HOLDUP_SEED");

	return seed ? strtoull(seed, NULL, 0) : 1;
}

static uint64_t last_seed(void)
{
	const char *seeds = getenv("HOLDUP_SEEDS");

	return getenv("HOLDUP_SEED") ? first_seed() : seeds ? strtoull(seeds, NULL, 0) : SEEDS;
}

/* A trace, what lies in memory, and what is asked. */
struct pair {
	struct timeline *told;	/* in memory */
	struct timeline *asked; /* in a store */
	struct plain *threads, *cpus;
	uint64_t seed, dice;
	uint32_t windows; /* asked for, of each thread */
};

/* ---------------------------------------------------------------------- lists */

/* The entries of a track in memory, from the start of the recording to its end. */
static void list_track(const struct timeline *tl, struct track *track, struct plain *plain)
{
	uint32_t none = plain->is_cpu ? SLOT_NONE : word_make(WORD_NONE, 0);
	uint64_t origin = tl->origin_ns;

	assert_int_equal(track->base, 0);
	plain->lead = track->count == 0 || track_at(track, 0)->time > 0;
	if (plain->lead)
		plain_add(plain, origin, tl->end_ns, none);
	for (uint32_t i = 0; i < track->count; i++) {
		uint64_t start = track_at(track, i)->time + origin;

		if (plain->count)
			plain->spans[plain->count - 1].end_ns = start;
		plain_add(plain, start, tl->end_ns, track_at(track, i)->word);
	}
}

static void list_thread(const struct timeline *tl, uint32_t slot, struct plain *plain)
{
	struct tl_thread *thread = tl->threads[slot];

	plain->idle = thread->tid == 0;
	plain->idle_cpu = thread->idle_cpu;
	plain->wait_count = thread->wait_count;
	plain->waits = xcalloc(thread->wait_count + 1, sizeof(*plain->waits));
	for (uint32_t i = 0; i < thread->wait_count; i++)
		plain->waits[i] = *tl_wait(thread, i);
	list_track(tl, &thread->track, plain);
}

static void list_all(struct pair *pair)
{
	struct timeline *tl = pair->told;

	pair->threads = xcalloc(tl->thread_count + 1, sizeof(*pair->threads));
	pair->cpus = xcalloc(tl->cpu_count + 1, sizeof(*pair->cpus));
	for (uint32_t slot = 0; slot < tl->thread_count; slot++)
		list_thread(tl, slot, &pair->threads[slot]);
	for (uint32_t cpu = 0; cpu < tl->cpu_count; cpu++) {
		pair->cpus[cpu].is_cpu = true;
		list_track(tl, timeline_cpu(tl, cpu), &pair->cpus[cpu]);
	}
}

static struct timeline *through_store(struct source *source, const struct facts *facts,
				      uint32_t chunk)
{
	static const struct index_key key;
	struct state *state = state_new(facts);
	struct index_writer *writer;
	struct timeline *tl = NULL;
	struct err err = { 0 };

	state_timeline(state)->chunk_entries = chunk;
	if (index_begin(NULL, &key, false, &writer, &err) < 0)
		fail_msg("%s", err.text);
	index_attach(writer, state_timeline(state));
	if (source_seek(source, 0, &err) < 0 ||
	    state_drain(state, source, NULL, NULL, &tl, &err) < 0 ||
	    index_commit(writer, tl, &err) < 0)
		fail_msg("%s", err.text);
	return tl;
}

static void pair_begin(struct pair *pair, struct source *source, const struct facts *facts,
		       uint32_t chunk)
{
	struct err err = { 0 };

	if (source_seek(source, 0, &err) < 0 ||
	    state_run(source, facts, NULL, NULL, &pair->told, &err) < 0)
		fail_msg("%s", err.text);
	pair->asked = through_store(source, facts, chunk);
	list_all(pair);
	pair->dice = pair->seed * 7919 + 3;
}

static void pair_end(struct pair *pair)
{
	assert_null(timeline_damage(pair->asked));
	for (uint32_t slot = 0; slot < pair->told->thread_count; slot++)
		plain_fini(&pair->threads[slot]);
	for (uint32_t cpu = 0; cpu < pair->told->cpu_count; cpu++)
		plain_fini(&pair->cpus[cpu]);
	free(pair->threads);
	free(pair->cpus);
	timeline_free(pair->told);
	timeline_free(pair->asked);
}

static struct asked asked_of(const struct pair *pair, const struct plain *plain, uint32_t slot)
{
	return (struct asked){ .tl = pair->asked,
			       .plain = plain,
			       .slot = slot,
			       .seed = pair->seed,
			       .dice = pair->dice + slot * 31 + 1 };
}

/* --------------------------------------------------------------------- threads */

static void compare_thread(struct pair *pair, uint32_t slot)
{
	struct asked asked = asked_of(pair, &pair->threads[slot], slot);
	const struct track *track = &pair->asked->threads[slot]->track;
	uint64_t start_ns, end_ns;

	asked_compare_totals(&asked, pair->asked->origin_ns, pair->asked->end_ns);
	for (uint32_t i = 0; i < pair->windows; i++) {
		asked_window(&asked, &start_ns, &end_ns);
		asked_compare_totals(&asked, start_ns, end_ns);
		asked_window(&asked, &start_ns, &end_ns);
		asked_compare_intervals(&asked, track, start_ns, end_ns);
		asked_compare_state(&asked, asked_moment(&asked));
	}
	asked_compare_parts(&asked);
	asked_window(&asked, &start_ns, &end_ns);
	asked_compare_columns(&asked, start_ns, end_ns);
	asked_compare_entries(&asked);
	asked_compare_waits(&asked);
}

/* Time that 'cpu' names the thread, while that says itself that it runs. */
static uint64_t ns_on_cpu(const struct pair *pair, uint32_t slot, uint32_t cpu)
{
	const struct plain *stays = &pair->cpus[cpu], *spans = &pair->threads[slot];
	uint64_t ns = 0;

	for (size_t i = 0; i < stays->count; i++) {
		struct plain_sum sum = { spans, stays->spans[i].start_ns, stays->spans[i].end_ns,
					 NULL };

		if (stays->spans[i].word != slot)
			continue;
		for (size_t k = 0; k < spans->count; k++)
			ns += plain_on_cpu(plain_kind(spans, k)) ? plain_ns(&sum, k) : 0;
	}
	return ns;
}

/* The sums for a CPU are what that CPU's own track says. */
static void compare_cpu_time(const struct pair *pair, uint32_t slot)
{
	const struct timeline *tl = pair->asked;
	struct totals totals = { 0 };

	timeline_totals(tl, slot, tl->origin_ns, tl->end_ns, &totals);
	for (uint32_t cpu = 0; cpu < tl->cpu_count; cpu++) {
		uint64_t sum = 0, want = ns_on_cpu(pair, slot, cpu);

		for (uint32_t mode = 0; mode < MODE_COUNT; mode++) {
			const struct total *row =
				totals_find(&totals, total_key(TOTAL_CPU, cpu, mode));

			sum += row ? row->ns : 0;
		}
		if (sum != want)
			fail_msg("seed %" PRIu64 ": tid %d has %" PRIu64
				 " ns on CPU %u, which names it for %" PRIu64,
				 pair->seed, tl->threads[slot]->tid, sum, cpu, want);
	}
	totals_fini(&totals);
}

/* ------------------------------------------------------------------------ CPUs */

static void compare_cpu(struct pair *pair, uint32_t cpu)
{
	struct asked asked = asked_of(pair, &pair->cpus[cpu], cpu);

	for (uint32_t i = 0; i < pair->windows; i++) {
		uint64_t start_ns, end_ns;

		asked_window(&asked, &start_ns, &end_ns);
		asked_compare_intervals(&asked, pair->asked->cpus[cpu], start_ns, end_ns);
		asked_compare_state(&asked, asked_moment(&asked));
	}
}

/* -------------------------------------------------------------------- wake-ups */

/* The wake-ups that waits tell of: this thread ended them, itself or by a packet. */
static bool is_given_by(const struct wait *wait, uint32_t slot)
{
	return wait->woken_ns && wait->waker.slot == slot &&
	       (wait->waker.kind == ACTOR_THREAD || wait->waker.kind == ACTOR_NETWORK);
}

static uint64_t count_given(const struct pair *pair, uint32_t slot, uint64_t start_ns,
			    uint64_t end_ns)
{
	uint64_t count = 0;

	for (uint32_t other = 0; other < pair->told->thread_count; other++) {
		const struct plain *plain = &pair->threads[other];

		for (uint32_t i = 0; i < plain->wait_count; i++)
			count += is_given_by(&plain->waits[i], slot) &&
				 plain->waits[i].woken_ns >= start_ns &&
				 plain->waits[i].woken_ns < end_ns;
	}
	return count;
}

static void compare_edges(const struct pair *pair, uint32_t slot, uint64_t start_ns,
			  uint64_t end_ns)
{
	struct tl_edge_iter iter;
	struct tl_edge edge;
	uint64_t count = 0, last_ns = start_ns, want = count_given(pair, slot, start_ns, end_ns);

	tl_edges_begin(&iter, pair->asked, slot, start_ns, end_ns);
	while (tl_edges_next(&iter, &edge)) {
		assert_true(edge.slot < pair->told->thread_count);
		assert_true(edge.wait < pair->threads[edge.slot].wait_count);
		assert_int_equal(edge.time_ns, pair->threads[edge.slot].waits[edge.wait].woken_ns);
		assert_true(is_given_by(&pair->threads[edge.slot].waits[edge.wait], slot));
		if (edge.time_ns < last_ns || edge.time_ns >= end_ns)
			fail_msg("seed %" PRIu64 ": a wake-up at %" PRIu64 " is not in order",
				 pair->seed, edge.time_ns);
		last_ns = edge.time_ns;
		count++;
	}
	if (count != want)
		fail_msg("seed %" PRIu64 ": thread %u gave %" PRIu64 " wake-ups in %" PRIu64
			 "-%" PRIu64 ", not %" PRIu64,
			 pair->seed, slot, count, start_ns, end_ns, want);
}

static void compare_all_edges(struct pair *pair, uint32_t slot)
{
	struct asked asked = asked_of(pair, &pair->threads[slot], slot);

	compare_edges(pair, slot, pair->asked->origin_ns, pair->asked->end_ns + 1);
	for (uint32_t i = 0; i < pair->windows; i++) {
		uint64_t start_ns, end_ns;

		asked_window(&asked, &start_ns, &end_ns);
		compare_edges(pair, slot, start_ns, end_ns);
	}
}

/* ------------------------------------------------------------------------ rest */

/* The one that was born last before that time. */
static uint32_t who_was(const struct timeline *tl, int32_t tid, uint64_t at_ns)
{
	uint32_t found = SLOT_NONE;

	for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
		if (tl->threads[slot]->tid == tid && tl->threads[slot]->birth_ns <= at_ns)
			found = slot;
	}
	return found;
}

static void compare_lookup(const struct pair *pair, uint32_t slot)
{
	const struct timeline *tl = pair->asked;
	int32_t tid = tl->threads[slot]->tid;
	const uint64_t times[] = { tl->origin_ns, tl->threads[slot]->birth_ns,
				   tl->threads[slot]->birth_ns + 1, tl->threads[slot]->death_ns,
				   UINT64_MAX };

	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		assert_int_equal(timeline_find_thread(tl, tid, times[i]),
				 who_was(pair->told, tid, times[i]));
}

static void compare_pair(struct pair *pair)
{
	assert_int_equal(pair->asked->thread_count, pair->told->thread_count);
	assert_int_equal(pair->asked->cpu_count, pair->told->cpu_count);
	for (uint32_t slot = 0; slot < pair->told->thread_count; slot++) {
		compare_thread(pair, slot);
		compare_cpu_time(pair, slot);
		compare_all_edges(pair, slot);
		compare_lookup(pair, slot);
	}
	for (uint32_t cpu = 0; cpu < pair->told->cpu_count; cpu++)
		compare_cpu(pair, cpu);
}

/* ------------------------------------------------------------------- the tests */

static uint32_t steps_of(uint64_t seed)
{
	return seed % LONG ? STEPS : STEPS * 10;
}

static struct text_trace *trace_of(uint64_t seed, uint32_t holes)
{
	uint32_t steps = steps_of(seed);
	struct text_trace *trace = random_trace(seed, steps, seed % 3 == 0, seed % 2);

	for (uint32_t i = 0; i < holes; i++)
		rt_lose(trace, (uint32_t)(seed + i) % RT_CPUS, (seed * 31 + i * 17) % (steps / 2),
			1 + (seed + i) % 11);
	return trace;
}

static void compare_random(uint64_t seed, uint32_t holes)
{
	struct text_trace *trace = trace_of(seed, holes);
	struct pair pair = { .seed = seed, .windows = 3 };

	pair_begin(&pair, &trace->source, &trace->facts, 4 + (uint32_t)(seed % 13));
	compare_pair(&pair);
	pair_end(&pair);
	text_trace_free(trace);
}

static void answers_on_random_traces_are_those_of_the_lists(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(); seed++)
		compare_random(seed, 0);
}

static void answers_on_traces_with_holes_are_those_of_the_lists(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(); seed++)
		compare_random(seed, 1 + (uint32_t)(seed % 3));
}

/* What the events of a whole trace say of a thread, one by one. */
struct tally {
	uint64_t in, preempted, slept, faults, calls;
};

static struct tally tally_of(const struct text_trace *trace, int32_t tid)
{
	struct tally tally = { 0 };

	for (size_t i = 0; i < trace->count; i++) {
		const struct event *ev = &trace->events[i];
		bool out = ev->type == EV_SCHED_SWITCH && ev->sched_switch.prev_tid == tid;
		uint8_t state = ev->sched_switch.prev_state;

		tally.in += ev->type == EV_SCHED_SWITCH && ev->sched_switch.next_tid == tid;
		tally.preempted += out && state == TASK_STATE_RUNNABLE;
		tally.slept += out && state != TASK_STATE_RUNNABLE && state != TASK_STATE_DEAD;
		/* A kernel thread takes none; those of the traces do not know that. */
		tally.faults +=
			ev->tid == tid && ev->type == EV_FAULT_USER && tid >= RT_FIRST + RT_KWORKER;
		tally.calls += ev->tid == tid && ev->type == EV_SYS_ENTER;
	}
	return tally;
}

static uint64_t counter_of(const struct totals *totals, enum total_counter counter)
{
	const struct total *row = totals_find(totals, total_key(TOTAL_COUNTER, counter, 0));

	return row ? row->count : 0;
}

static uint64_t calls_of(const struct totals *totals)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < totals->count; i++)
		calls += total_kind(totals->rows[i].key) == TOTAL_CALL ? totals->rows[i].count : 0;
	return calls;
}

static void compare_tally(const struct timeline *tl, uint32_t slot, const struct tally *tally,
			  uint64_t seed)
{
	struct totals totals = { 0 };
	uint64_t in, faults;

	timeline_totals(tl, slot, tl->origin_ns, tl->end_ns, &totals);
	in = counter_of(&totals, COUNT_SWITCH_IN);
	faults = tl->threads[slot]->tid < RT_FIRST + RT_KWORKER ? 0
								: counter_of(&totals, COUNT_FAULTS);
	/* Who ran when the recording began came onto its CPU before that. */
	if ((in != tally->in && in != tally->in + 1) ||
	    counter_of(&totals, COUNT_PREEMPTED) != tally->preempted ||
	    counter_of(&totals, COUNT_WAITS) != tally->slept || faults != tally->faults ||
	    calls_of(&totals) != tally->calls)
		fail_msg("seed %" PRIu64 ": tid %d: in %" PRIu64 ", preempted %" PRIu64
			 ", slept %" PRIu64 ", faults %" PRIu64 ", calls %" PRIu64
			 "; the events say %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
			 ", %" PRIu64,
			 seed, tl->threads[slot]->tid, in, counter_of(&totals, COUNT_PREEMPTED),
			 counter_of(&totals, COUNT_WAITS), faults, calls_of(&totals), tally->in,
			 tally->preempted, tally->slept, tally->faults, tally->calls);
	totals_fini(&totals);
}

/* A sleep that a waking forestalled has no state of its own: these traces have none. */
static void counts_are_those_of_the_events(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(); seed++) {
		struct text_trace *trace = random_trace(seed, steps_of(seed), seed % 3 == 0, false);
		struct timeline *tl = through_store(&trace->source, &trace->facts, 16);

		for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
			struct tally tally = tally_of(trace, tl->threads[slot]->tid);

			if (tl->threads[slot]->tid != 0)
				compare_tally(tl, slot, &tally, seed);
		}
		timeline_free(tl);
		text_trace_free(trace);
	}
}

/* ----------------------------------------------------------------- real traces */

/* Recordings of this project; the last ones are damaged before they are read. */
static const struct real {
	const char *name;   /* in tests/data */
	const char *damage; /* a command that is run in the trace directory; NULL = none */
} reals[] = {
	{ "fork-chain.tar.gz", NULL },
	{ "futex-convoy.tar.gz", NULL },
	{ "idle-server.tar.gz", NULL },
	{ "two-hogs.tar.gz", NULL },
	{ "wait-child.tar.gz", NULL },
	{ "read/mono-4k", NULL },
	{ "read/tsc-64k", NULL },
	{ "futex-convoy.tar.gz", "truncate -s 160000 kernel/cpu1.ring" },
	{ "idle-server.tar.gz",
	  "dd if=/dev/zero of=kernel/cpu1.ring bs=4096 seek=9 count=2 conv=notrunc status=none" },
	{ "two-hogs.tar.gz", "rm kernel/dump.jsonl && truncate -s -5000 kernel/cpu0.ring" },
};

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *format, ...)
{
	AUTO_FREE char *command = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&command, format, args) < 0)
		abort();
	va_end(args);
	if (system(command) != 0)
		fail_msg("%s", command);
}

/* Unpack or copy it to DIR/trace. */
static void place(const struct real *real, const char *dir)
{
	const char *tests = getenv("HOLDUP_TESTS");

	if (!tests)
		tests = "tests";
	if (strstr(real->name, ".tar."))
		run("tar --no-same-owner -C %s -xzf %s/data/%s && mv %s/*.holdup %s/trace", dir,
		    tests, real->name, dir, dir);
	else
		run("cp -r %s/data/%s %s/trace", tests, real->name, dir);
	if (real->damage)
		run("cd %s/trace && %s", dir, real->damage);
}

static void compare_real(const struct real *real, uint64_t seed)
{
	char dir[] = "/tmp/holdup-query-XXXXXX";
	AUTO_FREE char *path = xasprintf("%s/trace", mkdtemp(dir));
	struct pair pair = { .seed = seed, .windows = 2 };
	struct trace *trace;
	struct err err = { 0 };

	place(real, dir);
	if (read_open(path, &trace, &err) < 0)
		fail_msg("%s: %s", real->name, err.text);
	pair_begin(&pair, trace_source(trace), trace_facts(trace), 50);
	compare_pair(&pair);
	pair_end(&pair);
	trace_close(trace);
	run("rm -rf %s", dir);
}

static void answers_on_real_traces_are_those_of_the_lists(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(reals); i++)
		compare_real(&reals[i], i + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_on_random_traces_are_those_of_the_lists),
		cmocka_unit_test(answers_on_traces_with_holes_are_those_of_the_lists),
		cmocka_unit_test(counts_are_those_of_the_events),
		cmocka_unit_test(answers_on_real_traces_are_those_of_the_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

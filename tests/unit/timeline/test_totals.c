/*
 * test_totals.c - sums of any window against a slow recomputation from the list of spans.
 *
 * HOLDUP_SEED=N runs one seed and says all rows; HOLDUP_SEEDS=N all up to N.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_track.h"

#define SEEDS	300
#define STEPS	150
#define WINDOWS 25

#define STORED_SEEDS 12
#define STORED_STEPS 9000

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

/* A track, its timeline and a random number: what a test of one seed needs. */
struct bench {
	uint64_t seed;
	struct plain plain;
	struct timeline *tl;
	uint64_t end_ns;
	enum rk_kind kind;
	struct rk dice;
};

static void bench_begin(struct bench *bench, uint64_t seed, enum rk_kind kind)
{
	*bench = (struct bench){ .seed = seed, .kind = kind, .dice.random = seed * 77 + 5 };
	bench->end_ns = random_track(seed, STEPS, kind, &bench->plain);
	bench->tl = timeline_of_track(&bench->plain, bench->end_ns, NULL);
}

/* The same in a store, and long enough for several chunks. */
static void bench_begin_stored(struct bench *bench, uint64_t seed, enum rk_kind kind)
{
	static const struct index_key key;
	struct index_writer *writer;
	struct err err = { 0 };

	*bench = (struct bench){ .seed = seed, .kind = kind, .dice.random = seed * 77 + 5 };
	bench->end_ns = random_track(seed, STORED_STEPS, kind, &bench->plain);
	if (index_begin(NULL, &key, false, &writer, &err) < 0)
		fail_msg("%s", err.text);
	bench->tl = timeline_of_track(&bench->plain, bench->end_ns, writer);
}

/* Small ones in memory and, among them, large ones in a store. */
static void bench_begin_any(struct bench *bench, uint64_t seed)
{
	enum rk_kind kind = (enum rk_kind)(seed % RK_KINDS);

	if (seed / RK_KINDS % 8 == 0)
		bench_begin_stored(bench, seed, kind);
	else
		bench_begin(bench, seed, kind);
}

static void bench_end(struct bench *bench)
{
	timeline_free(bench->tl);
	plain_fini(&bench->plain);
}

/* A moment that matters: where a span begins, beside it, or anywhere. */
static uint64_t moment(struct bench *bench)
{
	uint32_t i = rk_random(&bench->dice, (uint32_t)bench->plain.count);
	uint64_t at = bench->plain.spans[i].start_ns;

	switch (rk_random(&bench->dice, 4)) {
	case 0:
		return at + 1;
	case 1:
		return at > RK_ORIGIN ? at - 1 : at;
	case 2:
		return at + (bench->plain.spans[i].end_ns - at) / 2;
	default:
		return at;
	}
}

static void window(struct bench *bench, uint64_t *out_start_ns, uint64_t *out_end_ns)
{
	uint64_t a = moment(bench), b = moment(bench);

	*out_start_ns = a < b ? a : b;
	*out_end_ns = a < b ? b : a;
	if (rk_random(&bench->dice, 8) == 0)
		*out_start_ns = RK_ORIGIN;
	if (rk_random(&bench->dice, 8) == 0)
		*out_end_ns = bench->end_ns;
}

/* ------------------------------------------------------------------------ totals */

static void say_rows(const char *who, const struct total *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fprintf(stderr,
			"%s kind %u a %" PRIx32 " b %" PRIu32 ": %" PRIu64 " ns, %" PRIu64
			" times, longest %" PRIu64 "\n",
			who, total_kind(rows[i].key), total_a(rows[i].key), total_b(rows[i].key),
			rows[i].ns, rows[i].count, rows[i].max_ns);
}

static const char *differ(const struct total *want, const struct total *got)
{
	if (want->key != got->key)
		return want->key < got->key ? "is missing" : "is too much";
	if (want->ns != got->ns)
		return "has another time";
	/* Of a CPU only the time is told. */
	if (want->count != got->count && total_kind(want->key) != TOTAL_CPU)
		return "has another count";
	return want->max_ns != got->max_ns ? "has another longest" : NULL;
}

static void compare_rows(const struct bench *bench, const struct plain_rows *want,
			 const struct totals *got, const char *where)
{
	static const struct total none = { .key = UINT64_MAX };

	for (size_t i = 0; i < want->count || i < got->count; i++) {
		const struct total *mine = i < want->count ? &want->rows[i] : &none;
		const struct total *theirs = i < got->count ? &got->rows[i] : &none;
		const struct total *row = mine->key <= theirs->key ? mine : theirs;
		const char *what = differ(mine, theirs);

		if (!what)
			continue;
		if (getenv("HOLDUP_SEED")) {
			say_rows("want", want->rows, want->count);
			say_rows("got ", got->rows, got->count);
		}
		fail_msg("seed %" PRIu64 ", %s: row of kind %u, a %" PRIx32 ", b %" PRIu32
			 " %s: %" PRIu64 " ns %" PRIu64 " x longest %" PRIu64 ", not %" PRIu64
			 " ns %" PRIu64 " x longest %" PRIu64,
			 bench->seed, where, total_kind(row->key), total_a(row->key),
			 total_b(row->key), what, theirs->ns, theirs->count, theirs->max_ns,
			 mine->ns, mine->count, mine->max_ns);
	}
}

/* What is a call is only told where a control-flow stack could have left the words. */
static void drop_calls(struct plain_rows *want, struct totals *got)
{
	size_t kept = 0;

	for (size_t i = 0; i < want->count; i++) {
		enum total_kind kind = total_kind(want->rows[i].key);

		if (kind != TOTAL_CALL && kind != TOTAL_ERROR)
			want->rows[kept++] = want->rows[i];
	}
	want->count = kept;
	kept = 0;
	for (uint32_t i = 0; i < got->count; i++) {
		enum total_kind kind = total_kind(got->rows[i].key);

		if (kind != TOTAL_CALL && kind != TOTAL_ERROR)
			got->rows[kept++] = got->rows[i];
	}
	got->count = (uint32_t)kept;
}

static void compare_window(struct bench *bench, uint64_t start_ns, uint64_t end_ns)
{
	struct plain_rows want;
	struct totals got = { 0 };
	char where[80];

	snprintf(where, sizeof(where), "%" PRIu64 " to %" PRIu64, start_ns, end_ns);
	plain_totals(&bench->plain, start_ns, end_ns, &want);
	timeline_totals(bench->tl, 0, start_ns, end_ns, &got);
	totals_sort(&got);
	if (bench->kind == RK_WILD)
		drop_calls(&want, &got);
	compare_rows(bench, &want, &got, where);
	if (totals_ns(&got, TOTAL_STATE) != end_ns - start_ns)
		fail_msg("seed %" PRIu64 ", %s: the states are %" PRIu64, bench->seed, where,
			 totals_ns(&got, TOTAL_STATE));
	free(want.rows);
	totals_fini(&got);
}

static void compare_windows(struct bench *bench)
{
	compare_window(bench, RK_ORIGIN, bench->end_ns);
	for (int i = 0; i < WINDOWS; i++) {
		uint64_t start_ns, end_ns;

		window(bench, &start_ns, &end_ns);
		compare_window(bench, start_ns, end_ns);
	}
}

static void totals_of(enum rk_kind kind)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(); seed++) {
		struct bench bench;

		bench_begin(&bench, seed, kind);
		compare_windows(&bench);
		bench_end(&bench);
	}
}

/* What is sealed gives the same answers, and the sums of its chunks are right. */
static void totals_out_of_a_store_are_those_of_the_twin(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed() && seed <= STORED_SEEDS; seed++) {
		struct bench bench;

		bench_begin_stored(&bench, seed, (enum rk_kind)(seed % RK_KINDS));
		assert_true(bench.tl->threads[0]->track.chunk_count > 2);
		compare_windows(&bench);
		assert_null(timeline_damage(bench.tl));
		bench_end(&bench);
	}
}

static void totals_of_a_user_thread_are_those_of_the_twin(void **unused)
{
	totals_of(RK_USER);
}

static void totals_of_a_kernel_thread_are_those_of_the_twin(void **unused)
{
	totals_of(RK_KERNEL);
}

static void totals_of_an_idle_task_are_those_of_the_twin(void **unused)
{
	totals_of(RK_IDLE);
}

static void totals_of_any_words_in_any_order_are_those_of_the_twin(void **unused)
{
	totals_of(RK_WILD);
}

/* Sums of touching windows are the sum of the window: all but the longest. */
static void windows_that_touch_add_up(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(); seed++) {
		struct totals whole = { 0 }, sum = { 0 }, part = { 0 };
		struct bench bench;
		uint64_t at, middle, end_ns;

		bench_begin_any(&bench, seed);
		window(&bench, &at, &end_ns);
		timeline_totals(bench.tl, 0, at, end_ns, &whole);
		while (at < end_ns) {
			middle = moment(&bench);
			middle = middle > at && middle < end_ns ? middle : end_ns;
			timeline_totals(bench.tl, 0, at, middle, &part);
			totals_add(&sum, &part);
			at = middle;
		}
		totals_sort(&whole);
		totals_sort(&sum);
		assert_int_equal(whole.count, sum.count);
		for (uint32_t i = 0; i < whole.count; i++) {
			assert_true(whole.rows[i].key == sum.rows[i].key);
			assert_int_equal(whole.rows[i].ns, sum.rows[i].ns);
			assert_int_equal(whole.rows[i].count, sum.rows[i].count);
		}
		totals_fini(&whole);
		totals_fini(&sum);
		totals_fini(&part);
		bench_end(&bench);
	}
}

/* ---------------------------------------------------------------- other questions */

static uint32_t word_at(const struct plain *plain, uint64_t at_ns)
{
	uint32_t word = word_make(WORD_NONE, 0);

	for (size_t i = 0; i < plain->count && plain->spans[i].start_ns <= at_ns; i++)
		word = plain->spans[i].word;
	return word;
}

static void the_state_at_a_time_is_that_of_the_last_entry(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(); seed++) {
		struct bench bench;

		bench_begin_any(&bench, seed);
		for (int i = 0; i < WINDOWS; i++) {
			uint64_t at = moment(&bench);
			uint32_t want = word_plain(word_at(&bench.plain, at));
			uint32_t got = timeline_state_at(bench.tl, 0, at);

			if (got != want && got != word_at(&bench.plain, at))
				fail_msg("seed %" PRIu64 ": at %" PRIu64 " it is %x, not %x", seed,
					 at, got, want);
		}
		assert_int_equal(timeline_state_at(bench.tl, 0, RK_ORIGIN - 1), 0);
		bench_end(&bench);
	}
}

/* The interval that begins with span 'i', cut to the window; false when none is left. */
static bool interval_at(const struct plain_sum *sum, size_t i, struct tl_interval *out_interval)
{
	const struct plain *plain = sum->plain;
	uint64_t start = plain->spans[i].start_ns;
	uint64_t end = plain->spans[plain_last_of(plain, i)].end_ns;

	out_interval->start_ns = start > sum->start_ns ? start : sum->start_ns;
	out_interval->end_ns = end < sum->end_ns ? end : sum->end_ns;
	out_interval->word = word_plain(plain->spans[i].word);
	return plain_begins(plain, i) && out_interval->start_ns < out_interval->end_ns;
}

static void compare_intervals(struct bench *bench, uint64_t start_ns, uint64_t end_ns)
{
	struct plain_sum sum = { &bench->plain, start_ns, end_ns, NULL };
	struct tl_interval want, got;
	struct tl_iter iter;

	tl_iter_begin(&iter, bench->tl, &bench->tl->threads[0]->track, start_ns, end_ns);
	for (size_t i = 0; i < bench->plain.count; i++) {
		if (!interval_at(&sum, i, &want))
			continue;
		assert_true(tl_iter_next(&iter, &got));
		if (got.start_ns != want.start_ns || got.end_ns != want.end_ns ||
		    got.word != want.word)
			fail_msg("seed %" PRIu64 ": %x from %" PRIu64 " to %" PRIu64
				 ", not %x from %" PRIu64 " to %" PRIu64,
				 bench->seed, got.word, got.start_ns, got.end_ns, want.word,
				 want.start_ns, want.end_ns);
	}
	assert_false(tl_iter_next(&iter, &got));
}

static void intervals_are_joined_and_cut_to_the_window(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(); seed++) {
		struct bench bench;

		bench_begin_any(&bench, seed);
		for (int i = 0; i < WINDOWS; i++) {
			uint64_t start_ns, end_ns;

			window(&bench, &start_ns, &end_ns);
			compare_intervals(&bench, start_ns, end_ns);
		}
		bench_end(&bench);
	}
}

/* As they were written. */
static void entries_come_with_those_of_no_length(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(); seed++) {
		struct bench bench;
		struct tl_iter iter;
		struct tl_interval in;
		size_t at;

		bench_begin_any(&bench, seed);
		tl_iter_begin(&iter, bench.tl, &bench.tl->threads[0]->track, RK_ORIGIN,
			      bench.end_ns);
		at = plain_first(&bench.plain);
		while (tl_iter_entry(&iter, &in)) {
			const struct plain_span *span = &bench.plain.spans[at];

			assert_true(at < bench.plain.count);
			assert_int_equal(in.word, span->word);
			assert_int_equal(in.start_ns, span->start_ns);
			if (at + 1 < bench.plain.count)
				assert_int_equal(in.end_ns, span->end_ns);
			at++;
		}
		assert_int_equal(at, bench.plain.count);
		bench_end(&bench);
	}
}

/* The state it was in longest in [start, end); the smaller of two. */
static uint32_t longest_state(const struct plain *plain, uint64_t start_ns, uint64_t end_ns)
{
	struct plain_rows rows = { 0 };
	uint64_t most = 0;
	uint32_t word = 0;

	for (size_t i = 0; i < plain->count; i++) {
		struct plain_sum sum = { plain, start_ns, end_ns, &rows };

		plain_row(&rows, plain_state(plain->spans[i].word))->ns += plain_ns(&sum, i);
	}
	for (size_t i = 0; i < rows.count; i++) {
		const struct total *row = &rows.rows[i];

		if (row->ns > most || (row->ns == most && most && row->key < word)) {
			most = row->ns;
			word = (uint32_t)row->key;
		}
	}
	free(rows.rows);
	return word;
}

/* Column i of n covers [start + i * length / n, start + (i + 1) * length / n). */
static void columns_show_the_longest_state(void **unused)
{
	uint32_t words[40];

	for (uint64_t seed = first_seed(); seed <= last_seed(); seed++) {
		struct bench bench;
		uint64_t start_ns, end_ns;
		uint32_t width;

		bench_begin_any(&bench, seed);
		window(&bench, &start_ns, &end_ns);
		width = 1 + rk_random(&bench.dice, (uint32_t)ARRAY_LEN(words));
		if (end_ns - start_ns < width)
			end_ns = start_ns + width;
		timeline_columns(bench.tl, 0, start_ns, end_ns, width, words);
		for (uint32_t i = 0; i < width; i++) {
			__extension__ typedef unsigned __int128 wide;
			wide length = end_ns - start_ns;
			uint64_t from = start_ns + (uint64_t)(length * i / width);
			uint64_t to = start_ns + (uint64_t)(length * (i + 1) / width);
			uint32_t want = longest_state(&bench.plain, from, to);

			if (words[i] != want)
				fail_msg("seed %" PRIu64 ": column %u of %u, %" PRIu64
					 " to %" PRIu64 ", is %x, not %x",
					 seed, i, width, from, to, words[i], want);
		}
		bench_end(&bench);
	}
}

static void a_wait_is_copied_as_it_was_written(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(); seed++) {
		struct bench bench;
		struct wait wait;

		bench_begin_any(&bench, seed);
		for (uint32_t i = 0; i < bench.plain.wait_count; i++) {
			timeline_wait(bench.tl, 0, i, &wait);
			assert_int_equal(wait.begin_ns, bench.plain.waits[i].begin_ns);
			assert_int_equal(wait.woken_ns, bench.plain.waits[i].woken_ns);
			assert_int_equal(wait.in, bench.plain.waits[i].in);
			assert_int_equal(wait.flags, bench.plain.waits[i].flags);
			assert_int_equal(wait.waker.kind, bench.plain.waits[i].waker.kind);
		}
		timeline_wait(bench.tl, 0, bench.plain.wait_count, &wait);
		assert_int_equal(wait.waker.slot, SLOT_NONE);
		assert_int_equal(wait.woken_ns, 0);
		bench_end(&bench);
	}
}

/* ------------------------------------------------------------------------- by hand */

static struct plain told(const struct plain_span *spans, size_t count)
{
	struct plain plain = { 0 };

	for (size_t i = 0; i < count; i++)
		plain_add(&plain, RK_ORIGIN + spans[i].start_ns, RK_ORIGIN + spans[i].end_ns,
			  spans[i].word);
	return plain;
}

static const struct total *row_of(const struct totals *totals, enum total_kind kind, uint32_t a,
				  uint32_t b)
{
	static const struct total none;
	const struct total *row = totals_find(totals, total_key(kind, a, b));

	return row ? row : &none;
}

static void two_reads_with_no_time_between_them_are_two(void **unused)
{
	const uint32_t user = word_make(WORD_USER, 0), read = word_make(WORD_SYSCALL, 0);
	const struct plain_span spans[] = {
		{ 0, 10, user },
		{ 10, 30, read },
		{ 30, 30, user | 11 },
		{ 30, 50, read },
		{ 50, 60, word_make(WORD_IRQ, 1) },
		{ 60, 90, read },
		{ 90, 100, user },
	};
	struct plain plain = told(spans, ARRAY_LEN(spans));
	struct timeline *tl = timeline_of_track(&plain, RK_ORIGIN + 100, NULL);
	struct totals totals = { 0 };

	timeline_totals(tl, 0, RK_ORIGIN, RK_ORIGIN + 100, &totals);
	assert_int_equal(row_of(&totals, TOTAL_CALL, 0, 0)->ns, 80);
	assert_int_equal(row_of(&totals, TOTAL_CALL, 0, 0)->count, 2);
	assert_int_equal(row_of(&totals, TOTAL_CALL, 0, 0)->max_ns, 60);
	assert_int_equal(row_of(&totals, TOTAL_ERROR, 0, 11)->count, 1);
	assert_int_equal(row_of(&totals, TOTAL_STATE, read, 0)->ns, 70);
	assert_int_equal(row_of(&totals, TOTAL_STATE, user, 0)->ns, 20);
	totals_fini(&totals);
	timeline_free(tl);
	plain_fini(&plain);
}

/* "The first that fits", in the order of enum wait_kind. */
static void a_wait_is_of_the_first_kind_that_fits(void **unused)
{
	static const struct {
		uint32_t flags;
		uint8_t waker;
		uint64_t woken_ns;
		enum wait_kind kind;
	} cases[] = {
		{ WAIT_STOPPED | WAIT_LOCK, ACTOR_THREAD, 5, WAIT_FOR_STOP },
		{ WAIT_LOCK | WAIT_DISK_SLEEP, ACTOR_DISK, 5, WAIT_FOR_LOCK },
		{ WAIT_DISK_SLEEP | WAIT_SERVER, ACTOR_DISK, 5, WAIT_FOR_DISK },
		{ WAIT_SERVER, ACTOR_NETWORK, 5, WAIT_FOR_IDLE },
		{ WAIT_TIMED_OUT, ACTOR_TIMER, 5, WAIT_FOR_TIME },
		{ 0, ACTOR_NETWORK, 5, WAIT_FOR_NETWORK },
		{ 0, ACTOR_THREAD, 5, WAIT_FOR_THREAD },
		{ WAIT_DISK_SLEEP, ACTOR_SOFTIRQ, 5, WAIT_FOR_IO },
		{ 0, ACTOR_IRQ, 5, WAIT_FOR_OTHER },
		{ 0, ACTOR_IPI, 5, WAIT_FOR_OTHER },
		{ 0, ACTOR_NONE, 0, WAIT_FOR_UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wait wait = { .flags = cases[i].flags,
				     .waker.kind = cases[i].waker,
				     .begin_ns = 1,
				     .woken_ns = cases[i].woken_ns };

		if (wait_kind(&wait) != cases[i].kind)
			fail_msg("case %zu is %s, not %s", i, wait_kind_name(wait_kind(&wait)),
				 wait_kind_name(cases[i].kind));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_reads_with_no_time_between_them_are_two),
		cmocka_unit_test(a_wait_is_of_the_first_kind_that_fits),
		cmocka_unit_test(totals_of_a_user_thread_are_those_of_the_twin),
		cmocka_unit_test(totals_of_a_kernel_thread_are_those_of_the_twin),
		cmocka_unit_test(totals_of_an_idle_task_are_those_of_the_twin),
		cmocka_unit_test(totals_of_any_words_in_any_order_are_those_of_the_twin),
		cmocka_unit_test(totals_out_of_a_store_are_those_of_the_twin),
		cmocka_unit_test(windows_that_touch_add_up),
		cmocka_unit_test(the_state_at_a_time_is_that_of_the_last_entry),
		cmocka_unit_test(intervals_are_joined_and_cut_to_the_window),
		cmocka_unit_test(entries_come_with_those_of_no_length),
		cmocka_unit_test(columns_show_the_longest_state),
		cmocka_unit_test(a_wait_is_copied_as_it_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

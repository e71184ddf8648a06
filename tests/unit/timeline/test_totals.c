/*
 * test_totals.c - sums of any window against a slow recomputation from the list of spans.
 *
 * HOLDUP_SEED=N runs one seed and says all rows; HOLDUP_SEEDS=N all up to N.
 */
#include "query_twin.h"

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

static uint64_t last_seed(uint64_t usual)
{
	const char *seeds = getenv("HOLDUP_SEEDS");

	return getenv("HOLDUP_SEED") ? first_seed() : seeds ? strtoull(seeds, NULL, 0) : usual;
}

/* A track, and its timeline: in memory, or long enough for several chunks of a store. */
struct bench {
	struct plain plain;
	struct asked asked;
};

static void bench_begin(struct bench *bench, uint64_t seed, enum rk_kind kind, bool stored)
{
	static const struct index_key key;
	struct index_writer *writer = NULL;
	struct err err = { 0 };
	uint64_t end_ns;

	*bench = (struct bench){ 0 };
	end_ns = random_track(seed, stored ? STORED_STEPS : STEPS, kind, &bench->plain);
	if (stored && index_begin(NULL, &key, false, &writer, &err) < 0)
		fail_msg("%s", err.text);
	bench->asked = (struct asked){
		.tl = timeline_of_track(&bench->plain, end_ns, writer),
		.plain = &bench->plain,
		.seed = seed,
		.any_words = kind == RK_WILD,
		.dice = seed * 77 + 5,
	};
}

/* Small ones in memory and, among them, large ones in a store. */
static void bench_begin_any(struct bench *bench, uint64_t seed)
{
	bench_begin(bench, seed, (enum rk_kind)(seed % RK_KINDS), seed / RK_KINDS % 8 == 0);
}

static void bench_end(struct bench *bench)
{
	assert_null(timeline_damage(bench->asked.tl));
	timeline_free((struct timeline *)bench->asked.tl);
	plain_fini(&bench->plain);
}

/* ------------------------------------------------------------------------ totals */

static void compare_windows(struct asked *asked)
{
	asked_compare_totals(asked, asked->tl->origin_ns, asked->tl->end_ns);
	for (int i = 0; i < WINDOWS; i++) {
		uint64_t start_ns, end_ns;

		asked_window(asked, &start_ns, &end_ns);
		asked_compare_totals(asked, start_ns, end_ns);
	}
}

static void totals_of(enum rk_kind kind)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(SEEDS); seed++) {
		struct bench bench;

		bench_begin(&bench, seed, kind, false);
		compare_windows(&bench.asked);
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

/* What is sealed gives the same answers, and the sums of its chunks are right. */
static void totals_out_of_a_store_are_those_of_the_twin(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(STORED_SEEDS); seed++) {
		struct bench bench;

		bench_begin(&bench, seed, (enum rk_kind)(seed % RK_KINDS), true);
		assert_true(bench.asked.tl->threads[0]->track.chunk_count > 2);
		compare_windows(&bench.asked);
		bench_end(&bench);
	}
}

static void windows_that_touch_add_up(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(SEEDS); seed++) {
		struct bench bench;

		bench_begin_any(&bench, seed);
		asked_compare_parts(&bench.asked);
		bench_end(&bench);
	}
}

/* ---------------------------------------------------------------- other questions */

static void the_state_at_a_time_is_that_of_the_last_entry(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(SEEDS); seed++) {
		struct bench bench;

		bench_begin_any(&bench, seed);
		for (int i = 0; i < WINDOWS; i++)
			asked_compare_state(&bench.asked, asked_moment(&bench.asked));
		assert_int_equal(timeline_state_at(bench.asked.tl, 0, RK_ORIGIN - 1), 0);
		bench_end(&bench);
	}
}

static void intervals_are_joined_and_cut_to_the_window(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(SEEDS); seed++) {
		struct bench bench;

		bench_begin_any(&bench, seed);
		for (int i = 0; i < WINDOWS; i++) {
			uint64_t start_ns, end_ns;

			asked_window(&bench.asked, &start_ns, &end_ns);
			asked_compare_intervals(&bench.asked, &bench.asked.tl->threads[0]->track,
						start_ns, end_ns);
		}
		bench_end(&bench);
	}
}

static void entries_come_with_those_of_no_length(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(SEEDS); seed++) {
		struct bench bench;

		bench_begin_any(&bench, seed);
		asked_compare_entries(&bench.asked);
		bench_end(&bench);
	}
}

static void columns_show_the_longest_state(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(SEEDS); seed++) {
		struct bench bench;
		uint64_t start_ns, end_ns;

		bench_begin_any(&bench, seed);
		asked_window(&bench.asked, &start_ns, &end_ns);
		asked_compare_columns(&bench.asked, start_ns, end_ns);
		bench_end(&bench);
	}
}

static void a_wait_is_copied_as_it_was_written(void **unused)
{
	for (uint64_t seed = first_seed(); seed <= last_seed(SEEDS); seed++) {
		struct bench bench;

		bench_begin_any(&bench, seed);
		asked_compare_waits(&bench.asked);
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
		{ WAIT_DISK_SLEEP | WAIT_NO_IO, ACTOR_SOFTIRQ, 5, WAIT_FOR_OTHER },
		{ WAIT_DISK_SLEEP | WAIT_NO_IO, ACTOR_DISK, 5, WAIT_FOR_OTHER },
		{ WAIT_DISK_SLEEP | WAIT_IO, ACTOR_THREAD, 5, WAIT_FOR_IO },
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

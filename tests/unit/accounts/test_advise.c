#include "accounts/advise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)

static struct delays_task task;
static struct delays_stats stats;
static struct delays_knobs knobs;
static struct delays_row row = { .task = &task, .stats = &stats, .base_ns = 100 * S };
static struct delays_advice advice[DELAYS_ADVICE_KINDS];

static int begin(void **unused)
{
	task = (struct delays_task){ .is_process = true, .threads = 1 };
	stats = (struct delays_stats){ .classes = 1u << DELAYS_CPU | 1u << DELAYS_DISK |
						  1u << DELAYS_RECLAIM | 1u << DELAYS_THRASHING |
						  1u << DELAYS_COW };
	knobs = (struct delays_knobs){ .has_nice = true, .cpus_allowed = 2, .cpus_online = 2 };
	return 0;
}

static void nothing_is_worth_it(void **unused)
{
	stats.delay[DELAYS_CPU].total_ns = S - 1;  /* below 1 % */
	stats.delay[DELAYS_COW].total_ns = 50 * S; /* no knob moves that */
	assert_int_equal(delays_advise(&row, &knobs, advice), 0);
	stats.delay[DELAYS_CPU].total_ns = S;
	assert_int_equal(delays_advise(&row, &knobs, advice), 1);
	knobs.is_kernel = true;
	assert_int_equal(delays_advise(&row, &knobs, advice), 0);
}

static void without_a_cause_only_favour_is_left(void **unused)
{
	stats.delay[DELAYS_CPU] = (struct delays_delay){ .count = 7, .total_ns = 30 * S };
	assert_int_equal(delays_advise(&row, &knobs, advice), 1);
	assert_int_equal(advice[0].kind, DELAYS_ADVICE_FAVOUR_CPU);
	assert_false(advice[0].held_back);
	assert_int_equal(advice[0].at_most_ns, 30 * S);
	assert_int_equal(advice[0].count, 7);
}

static void each_cause_is_told(void **unused)
{
	stats.delay[DELAYS_CPU].total_ns = 30 * S;
	knobs.nice = 5;
	knobs.cpus_allowed = 1;
	knobs.settings[DELAYS_KNOB_CPU_MAX].binds = true;
	assert_int_equal(delays_advise(&row, &knobs, advice), 3);
	assert_int_equal(advice[0].kind, DELAYS_ADVICE_CPU_MAX);
	assert_ptr_equal(advice[0].setting, &knobs.settings[DELAYS_KNOB_CPU_MAX]);
	assert_int_equal(advice[1].kind, DELAYS_ADVICE_AFFINITY);
	assert_int_equal(advice[2].kind, DELAYS_ADVICE_NICE);
	assert_true(advice[2].held_back);
}

static void threads_that_wait_for_one_another_need_no_priority(void **unused)
{
	task.threads = 4;
	row.base_ns = 400 * S;
	stats.run_ns = 199 * S;
	stats.delay[DELAYS_CPU].total_ns = 200 * S;
	assert_int_equal(delays_advise(&row, &knobs, advice), 1);
	assert_int_equal(advice[0].kind, DELAYS_ADVICE_FEWER_THREADS);
	stats.run_ns = 100 * S;
	assert_int_equal(delays_advise(&row, &knobs, advice), 1);
	assert_int_equal(advice[0].kind, DELAYS_ADVICE_FAVOUR_CPU);
	row.base_ns = 100 * S;
}

static void the_longest_delay_comes_first(void **unused)
{
	stats.delay[DELAYS_DISK].total_ns = 10 * S;
	stats.delay[DELAYS_RECLAIM].total_ns = 20 * S;
	stats.delay[DELAYS_THRASHING].total_ns = 25 * S;
	knobs.has_io_priority = true;
	knobs.io_class = 3;
	knobs.settings[DELAYS_KNOB_MEMORY_HIGH].binds = true;
	assert_int_equal(delays_advise(&row, &knobs, advice), 2);
	assert_int_equal(advice[0].kind, DELAYS_ADVICE_MEMORY_HIGH);
	assert_int_equal(advice[0].at_most_ns, 25 * S); /* they overlap: not the sum */
	assert_int_equal(advice[1].kind, DELAYS_ADVICE_IO_PRIORITY);
}

static void what_is_not_counted_gives_no_advice(void **unused)
{
	stats.classes = 1u << DELAYS_CPU;
	stats.delay[DELAYS_DISK].total_ns = 90 * S;
	assert_int_equal(delays_advise(&row, &knobs, advice), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_is_worth_it, begin),
		cmocka_unit_test_setup(without_a_cause_only_favour_is_left, begin),
		cmocka_unit_test_setup(each_cause_is_told, begin),
		cmocka_unit_test_setup(threads_that_wait_for_one_another_need_no_priority, begin),
		cmocka_unit_test_setup(the_longest_delay_comes_first, begin),
		cmocka_unit_test_setup(what_is_not_counted_gives_no_advice, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

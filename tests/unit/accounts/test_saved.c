#include "accounts/saved.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

static struct err reason;

static int parsed(const char *text, struct delays_run *out_run)
{
	reason = (struct err){ 0 };
	return delays_run_parse(text, strlen(text), "file", out_run, &reason);
}

static struct delays_run run_of(uint64_t run_ns, uint64_t disk_ns)
{
	struct delays_run run = { .known = 1u << DELAYS_PART_RUN |
					   1u << (DELAYS_PART_CLASS + DELAYS_DISK) };

	run.ns[DELAYS_PART_RUN] = run_ns;
	run.ns[DELAYS_PART_CLASS + DELAYS_DISK] = disk_ns;
	return run;
}

static void processes_are_added_and_threads_are_not(void **unused)
{
	struct delays_run run;

	assert_int_equal(parsed("{\"host\":\"a\",\"tasks\":["
				"{\"process\":true,\"run_ns\":5,\"rest_ns\":1,\"base_ns\":9,"
				"\"delays\":{\"cpu\":{\"total_ns\":3},\"disk\":null}},"
				"{\"process\":false,\"run_ns\":100,\"delays\":{}},"
				"{\"process\":true,\"run_ns\":7,\"rest_ns\":2,\"base_ns\":10,"
				"\"delays\":{\"cpu\":{\"total_ns\":4},"
				"\"disk\":{\"total_ns\":6}}}]}",
				&run),
			 0);
	assert_string_equal(run.label, "file (a)");
	assert_true(run.certain);
	assert_int_equal(run.ns[DELAYS_PART_RUN], 12);
	assert_int_equal(run.ns[DELAYS_PART_WHOLE], 19);
	assert_int_equal(run.ns[DELAYS_PART_CLASS + DELAYS_CPU], 7);
	assert_int_equal(run.ns[DELAYS_PART_CLASS + DELAYS_DISK], 6);
	assert_true(run.known & 1u << (DELAYS_PART_CLASS + DELAYS_DISK));
	assert_true(run.partial & 1u << (DELAYS_PART_CLASS + DELAYS_DISK));
	assert_false(run.partial & 1u << (DELAYS_PART_CLASS + DELAYS_CPU));
	assert_false(run.known & 1u << (DELAYS_PART_CLASS + DELAYS_IRQ));
	delays_run_fini(&run);
}

static void the_sum_of_exits_is_read(void **unused)
{
	struct delays_run run;

	assert_int_equal(parsed("{\"certain\":false,\"sum\":{\"run_ns\":5}}", &run), 0);
	assert_string_equal(run.label, "file");
	assert_false(run.certain);
	assert_int_equal(run.known, 1u << DELAYS_PART_RUN);
	delays_run_fini(&run);
}

static void what_is_no_time_is_refused(void **unused)
{
	static const char *const bad[][2] = {
		{ "", "incomplete JSON" },
		{ "{", "incomplete JSON" },
		{ "[]", "not a report" },
		{ "null", "incomplete JSON" },
		{ "{\"tasks\":{}}", "not a report" },
		{ "{\"tasks\":[1]}", "task 1 is not an object" },
		{ "{\"sum\":{\"run_ns\":-1}}", "\"run_ns\" is negative: -1" },
		{ "{\"sum\":{\"run_ns\":1.5}}", "not an integer" },
		{ "{\"sum\":{\"run_ns\":\"1\"}}", "not an integer" },
		{ "{\"sum\":{\"run_ns\":99999999999999999999}}", "too large" },
		{ "{\"sum\":{\"delays\":[]}}", "\"delays\" is not an object" },
		{ "{\"sum\":{\"delays\":{\"disk\":1}}}", "\"disk\"" },
		{ "{\"sum\":{\"delays\":{\"disk\":{\"total_ns\":-7}}}}", "negative: -7" },
		{ "{\"tasks\":[{\"process\":true,\"run_ns\":4000000000000000000},"
		  "{\"process\":true,\"run_ns\":4000000000000000000}]}",
		  "task 2" },
	};
	struct delays_run run;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parsed(bad[i][0], &run), -EBADMSG);
		if (!strstr(reason.text, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], reason.text);
	}
}

static void deep_json_has_an_end(void **unused)
{
	static char text[100000];
	struct delays_run run;

	memset(text, '[', sizeof(text) - 1);
	assert_int_equal(parsed(text, &run), -EBADMSG);
}

static void runs_that_share_nothing_are_not_compared(void **unused)
{
	struct delays_run runs[2] = { run_of(1, 2), run_of(3, 4) };

	runs[0].label = "one";
	runs[1].label = "two";
	assert_int_equal(delays_runs_check(runs, 2, &reason), 0);
	runs[0].known = 1u << DELAYS_PART_RUN;
	runs[1].known = 1u << (DELAYS_PART_CLASS + DELAYS_DISK);
	assert_int_equal(delays_runs_check(runs, 2, &reason), -ENODATA);
	runs[1].known = 1u << DELAYS_PART_WHOLE;
	assert_int_equal(delays_runs_check(runs, 2, &reason), -ENODATA);
	assert_non_null(strstr(reason.text, "two has no times"));
}

/* 10, 12, 14 ms and 20, 24, 28 ms: means 12 and 24, deviations 2 and 4, pooled sqrt(10). */
static void two_groups_differ_by_pooled_deviations(void **unused)
{
	const struct delays_run one[] = { run_of(10000000, 0), run_of(12000000, 0),
					  run_of(14000000, 0) };
	const struct delays_run other[] = { run_of(20000000, 0), run_of(24000000, 0),
					    run_of(28000000, 0) };
	struct delays_spread left, right;

	delays_spread_make(one, 3, DELAYS_PART_RUN, &left);
	delays_spread_make(other, 3, DELAYS_PART_RUN, &right);
	assert_float_equal(left.mean, 12e6, 1);
	assert_float_equal(left.deviation, 2e6, 1);
	assert_float_equal(right.deviation, 4e6, 1);
	assert_float_equal(delays_difference_score(&left, 3, &right, 3), 12 / 3.16227766, 1e-6);
	assert_true(delays_difference_score(&left, 1, &right, 1) < 0);
}

/* Of 100, 110, 120, 130 and 500 ms the median is 120, the median distance 10. */
static void one_bad_host_moves_neither_median_nor_scale(void **unused)
{
	const struct delays_run hosts[] = { run_of(100000000, 0), run_of(500000000, 0),
					    run_of(110000000, 0), run_of(120000000, 0),
					    run_of(130000000, 0) };
	struct delays_spread spread;

	delays_spread_make(hosts, 5, DELAYS_PART_RUN, &spread);
	assert_float_equal(spread.median, 120e6, 1);
	assert_float_equal(spread.scale, 14.826e6, 1);
	assert_int_equal(spread.farthest, 1);
	assert_float_equal(spread.distance, 380e6, 1);
	assert_true(spread.is_known);
}

static void equal_runs_are_apart_by_nothing(void **unused)
{
	struct delays_run runs[] = { run_of(7, 1), run_of(7, 1), run_of(7, 1) };
	struct delays_spread spread;

	delays_spread_make(runs, 3, DELAYS_PART_RUN, &spread);
	assert_float_equal(spread.scale, 1e6, 1); /* the floor: 1 ms */
	assert_float_equal(spread.distance, 0, 0);
	runs[2].known = 0;
	delays_spread_make(runs, 3, DELAYS_PART_RUN, &spread);
	assert_false(spread.is_known);
}

/* Nearly normal: 12 of them added up; 1 s on average, 50 ms of deviation. */
static uint64_t random_ns(void)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += (double)rand() / RAND_MAX;
	return (uint64_t)(1e9 + (sum - 6) * 50e6);
}

static void fill(struct delays_run *runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		runs[i] = run_of(random_ns(), 0);
}

/* Of runs that are alike one stands out by chance in 1 of 100 cases; a slow host always does. */
static void chance_stands_out_as_often_as_it_says(void **unused)
{
	static const size_t counts[] = { 3, 4, 5, 6, 8, 11, 16, 30, 100 };
	struct delays_run runs[100];
	struct delays_spread spread;

	srand(1);
	for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
		size_t count = counts[k], alarms = 0, found = 0;

		for (int i = 0; i < 3000; i++) {
			fill(runs, count);
			delays_spread_make(runs, count, DELAYS_PART_RUN, &spread);
			alarms += fabs(spread.distance) >
				  delays_chance_distance(count) * spread.scale;
			runs[1].ns[DELAYS_PART_RUN] += 2000000000;
			delays_spread_make(runs, count, DELAYS_PART_RUN, &spread);
			found += spread.farthest == 1 &&
				 fabs(spread.distance) >
					 delays_chance_distance(count) * spread.scale;
		}
		print_message("# %zu runs: %zu of 3000 by chance, %zu found\n", count, alarms,
			      found);
		assert_in_range(alarms, count < 6 ? 0 : 1, 60); /* there is a floor, too */
		assert_true(count < 8 || found > 2990);
	}
}

static void chance_differs_as_often_as_it_says(void **unused)
{
	static const size_t counts[][2] = { { 2, 2 }, { 1, 3 }, { 3, 3 }, { 5, 4 }, { 20, 3 } };
	struct delays_run one[20], other[20];

	srand(2);
	assert_true(delays_chance_difference(1, 1) < 0);
	for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
		size_t first = counts[k][0], second = counts[k][1], alarms = 0;
		struct delays_spread left, right;

		for (int i = 0; i < 5000; i++) {
			fill(one, first);
			fill(other, second);
			delays_spread_make(one, first, DELAYS_PART_RUN, &left);
			delays_spread_make(other, second, DELAYS_PART_RUN, &right);
			alarms += delays_difference_score(&left, first, &right, second) >
				  delays_chance_difference(first, second);
		}
		print_message("# %zu and %zu runs: %zu of 5000 by chance\n", first, second, alarms);
		assert_in_range(alarms, 25, 85);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_added_and_threads_are_not),
		cmocka_unit_test(the_sum_of_exits_is_read),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(deep_json_has_an_end),
		cmocka_unit_test(runs_that_share_nothing_are_not_compared),
		cmocka_unit_test(two_groups_differ_by_pooled_deviations),
		cmocka_unit_test(chance_stands_out_as_often_as_it_says),
		cmocka_unit_test(chance_differs_as_often_as_it_says),
		cmocka_unit_test(one_bad_host_moves_neither_median_nor_scale),
		cmocka_unit_test(equal_runs_are_apart_by_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_clock.c - the choice of the clock, and sync points. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "record/clock.h"

static void the_counter_is_chosen_only_when_it_is_reliable(void **state)
{
	const char *all = "[local] global counter uptime perf mono mono_raw boot tai x86-tsc\n";

	assert_string_equal(clock_choose(all, true), "x86-tsc");
	assert_string_equal(clock_choose(all, false), "mono");
	assert_string_equal(clock_choose("local global [mono]\n", true), "mono");
}

static void a_name_that_only_begins_like_a_clock_is_not_it(void **state)
{
	assert_null(clock_choose("[local] global mono_raw x86-tsc2\n", true));
	assert_null(clock_choose("", true));
}

static void sync_points_go_forward_on_all_clocks(void **state)
{
	for (int is_tsc = 0; is_tsc < 2; is_tsc++) {
		bool use = is_tsc && clock_tsc_is_reliable();
		struct sync_point first = clock_take(use), second = clock_take(use);

		assert_true(second.raw > first.raw);
		assert_true(second.mono_ns > first.mono_ns);
		assert_true(second.real_ns > first.real_ns - 1000000);
	}
}

static void a_point_between_lies_on_the_line(void **state)
{
	const struct sync_point first = { .raw = 1000, .mono_ns = 5000000000ull };
	const struct sync_point last = { .raw = 1000 + 2300000000ull * 3600,
					 .mono_ns = 5000000000ull + 3600000000000ull };

	assert_int_equal(clock_raw_to_mono(&first, &last, 1000), 5000000000ull);
	assert_int_equal(clock_raw_to_mono(&first, &last, last.raw), last.mono_ns);
	assert_int_equal(clock_raw_to_mono(&first, &last, 1000 + 2300000000ull * 1800),
			 5000000000ull + 1800000000000ull);
	assert_int_equal(clock_raw_to_mono(&first, &first, 7), first.mono_ns);
}

static void a_line_holds_the_three_numbers(void **state)
{
	const struct sync_point point = { 1, 22, UINT64_MAX };
	char text[64] = "";
	int fd = memfd_create("sync", 0);

	assert_int_equal(clock_append(fd, &point, NULL), 0);
	assert_int_equal(clock_append(fd, &point, NULL), 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "1 22 18446744073709551615\n1 22 18446744073709551615\n");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_counter_is_chosen_only_when_it_is_reliable),
		cmocka_unit_test(a_name_that_only_begins_like_a_clock_is_not_it),
		cmocka_unit_test(sync_points_go_forward_on_all_clocks),
		cmocka_unit_test(a_point_between_lies_on_the_line),
		cmocka_unit_test(a_line_holds_the_three_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

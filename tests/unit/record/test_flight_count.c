/* test_flight_count.c - how long a queue was too long, and when one looks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/flight_count.h"
#include "record/flight_on.h"

#define MS 1000000u

static void the_one_that_looks_is_not_counted(void **state)
{
	uint64_t running = 99;

	(void)state;
	assert_true(flight_count_parse_running("0.20 0.18 0.12 3/80 11206\n", &running));
	assert_int_equal(running, 2);
	assert_true(flight_count_parse_running("0.20 0.18 0.12 0/80 11206\n", &running));
	assert_int_equal(running, 0);
	assert_false(flight_count_parse_running("0.20 0.18", &running));
	assert_false(flight_count_parse_running("", &running));
}

static void it_fires_when_it_was_long_at_all_looks(void **state)
{
	struct flight_on on = { .kind = FLIGHT_ON_RUNQ, .most = 4, .min_ns = 100 * MS };

	(void)state;
	assert_false(flight_count_is_long(&on, 5, 1000 * MS));
	assert_false(flight_count_is_long(&on, 5, 1090 * MS));
	assert_false(flight_count_is_long(&on, 4, 1095 * MS)); /* as many are allowed */
	assert_false(flight_count_is_long(&on, 9, 1100 * MS));
	assert_false(flight_count_is_long(&on, 9, 1199 * MS));
	assert_true(flight_count_is_long(&on, 9, 1200 * MS));
	assert_false(flight_count_is_long(&on, 9, 1201 * MS)); /* it begins anew */
	assert_true(flight_count_is_long(&on, 9, 1301 * MS));
}

static void looks_are_a_tenth_of_the_time_apart(void **state)
{
	struct flight_on ons[] = {
		{ .kind = FLIGHT_ON_OOM, .fd = 9, .looked_ns = 1000 * MS },
		{ .kind = FLIGHT_ON_RUNQ, .fd = 9, .min_ns = 2000 * MS, .looked_ns = 1000 * MS },
		{ .kind = FLIGHT_ON_RUNQ, .fd = -1, .min_ns = 100 * MS }, /* off */
		{ .kind = FLIGHT_ON_PSI, .fd = 9 },
	};

	(void)state;
	assert_int_equal(flight_count_next_ns(ons, 4), 1200 * MS);
	ons[1].cost_ns = 8 * MS; /* a hundredth of a CPU at most */
	assert_int_equal(flight_count_next_ns(ons, 4), 1500 * MS);
	assert_true(flight_count_next_ns(ons + 2, 2) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_one_that_looks_is_not_counted),
		cmocka_unit_test(it_fires_when_it_was_long_at_all_looks),
		cmocka_unit_test(looks_are_a_tenth_of_the_time_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

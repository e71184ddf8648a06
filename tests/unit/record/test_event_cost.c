/* test_event_cost.c - what events cost by how close they come. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/event_cost.h"

static struct event_cost_curve curve_of(uint64_t near_ns, uint64_t mid_ns, uint64_t far_ns)
{
	struct event_cost_curve curve = { .count = 0 };

	event_cost_add(&curve, 500, near_ns);
	event_cost_add(&curve, 1000, mid_ns);
	event_cost_add(&curve, 4000, far_ns);
	return curve;
}

static void it_costs_more_the_longer_the_last_one_is_ago(void **state)
{
	const struct event_cost_curve curve = curve_of(200, 240, 400);

	(void)state;
	assert_int_equal(event_cost_at(&curve, 500), 200);
	assert_int_equal(event_cost_at(&curve, 1000), 240);
	assert_int_equal(event_cost_at(&curve, 2000), 320);
	assert_int_equal(event_cost_at(&curve, 4000), 400);
}

static void beyond_what_was_measured_nothing_is_made_up(void **state)
{
	const struct event_cost_curve curve = curve_of(200, 240, 400), none = { .count = 0 };

	(void)state;
	assert_int_equal(event_cost_at(&curve, 0), 200);
	assert_int_equal(event_cost_at(&curve, 1), 200);
	assert_int_equal(event_cost_at(&curve, UINT64_MAX), 400);
	assert_int_equal(event_cost_at(&none, 0), 0);
	assert_int_equal(event_cost_at(&none, 1000), 0);
}

static void points_that_contradict_each_other_get_their_mean(void **state)
{
	struct event_cost_curve curve = curve_of(200, 300, 240);

	(void)state;
	assert_int_equal(event_cost_at(&curve, 500), 200);
	assert_int_equal(event_cost_at(&curve, 1000), 270);
	assert_int_equal(event_cost_at(&curve, 4000), 270);
	curve = curve_of(300, 240, 210);
	assert_int_equal(event_cost_at(&curve, 500), 250);
	assert_int_equal(event_cost_at(&curve, 4000), 250);
}

static void points_are_apart_from_each_other(void **state)
{
	struct event_cost_curve curve = { .count = 0 };

	(void)state;
	event_cost_add(&curve, 0, 100);
	event_cost_add(&curve, 0, 200);
	event_cost_add(&curve, 0, 300);
	event_cost_add(&curve, 9, 400);
	assert_int_equal(curve.count, EVENT_COST_POINTS);
	assert_int_equal(event_cost_at(&curve, 2), 200);
	assert_int_equal(event_cost_at(&curve, 9), 300);
}

static void five_of_six_are_of_calls_where_these_are_recorded(void **state)
{
	const struct event_cost cost = { curve_of(300, 400, 500), curve_of(100, 200, 250) };
	struct event_cost_sum sum = { 0 };

	(void)state;
	event_cost_count(&cost, 0, 1000, true, &sum);
	assert_int_equal(sum.calls + sum.others + sum.calls_ns + sum.others_ns, 0);
	event_cost_count(&cost, 600, 600 * 1000, true, &sum);
	assert_int_equal(sum.others, 100);
	assert_int_equal(sum.others_ns, 100 * 400);
	assert_int_equal(sum.calls_ns, 500 * 200);
	event_cost_count(&cost, 100, 100 * 8000, false, &sum);
	assert_int_equal(sum.others, 200);
	assert_int_equal(sum.others_ns, 100 * 400 + 100 * 500);
	assert_int_equal(sum.calls_ns, 500 * 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_costs_more_the_longer_the_last_one_is_ago),
		cmocka_unit_test(beyond_what_was_measured_nothing_is_made_up),
		cmocka_unit_test(points_that_contradict_each_other_get_their_mean),
		cmocka_unit_test(points_are_apart_from_each_other),
		cmocka_unit_test(five_of_six_are_of_calls_where_these_are_recorded),
	};

	return cmocka_run_group_tests_name("record/event_cost", tests, NULL, NULL);
}

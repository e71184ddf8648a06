/* test_budget.c - how many kinds of events a budget allows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/budget.h"

#define SECOND UINT64_C(1000000000)
#define CPUS   4

/* What each step costs, in millionths of the time of all CPUs, and each change of the step in ns. */
struct load {
	uint64_t ppm[STEP_COUNT];
	uint64_t change_ns;
};

struct sum {
	uint64_t spent_ns, own_ns, changes, ups; /* 'own_ns': of the recorder itself */
	uint64_t at_ns[STEP_COUNT];		 /* how long each step was in force */
	enum record_step step;
};

/* Look four times a second for so long. */
static void run(struct budget *budget, const struct load *load, uint64_t *now_ns, uint64_t seconds,
		struct sum *sum)
{
	struct budget_spent spent = { .events_ns = sum->spent_ns - sum->own_ns };

	for (uint64_t i = 0; i < 4 * seconds; i++) {
		enum record_step before = budget->step;

		*now_ns += BUDGET_LOOK_NS;
		sum->at_ns[before] += BUDGET_LOOK_NS;
		sum->spent_ns += BUDGET_LOOK_NS * CPUS * load->ppm[before] / 1000000;
		spent.events_ns += BUDGET_LOOK_NS * CPUS * load->ppm[before] / 1000000;
		spent.all_ns = sum->spent_ns;
		if (!budget_look(budget, *now_ns, &spent))
			continue;
		assert_int_not_equal(budget->step, before);
		sum->changes++;
		sum->ups += budget->step < before;
		sum->spent_ns += load->change_ns;
		sum->own_ns += load->change_ns;
		*now_ns += load->change_ns;
		budget_changed(budget, *now_ns);
	}
	sum->step = budget->step;
}

static uint64_t share_ppm(const struct sum *sum, uint64_t ns)
{
	return sum->spent_ns * 1000000 / (ns * CPUS);
}

static struct sum run_new(uint64_t budget_ppm, bool has_calls, const struct load *load,
			  uint64_t seconds)
{
	struct budget budget;
	struct sum sum = { 0 };
	uint64_t now_ns = SECOND;

	budget_begin(&budget, budget_ppm, CPUS, has_calls);
	run(&budget, load, &now_ns, seconds, &sum);
	return sum;
}

static void what_costs_less_than_is_allowed_is_recorded_in_full(void **state)
{
	struct sum sum =
		run_new(20000, true, &(struct load){ .ppm = { 19000, 9000, 5000, 0 } }, 60);

	assert_int_equal(sum.changes, 0);
	assert_int_equal(sum.step, STEP_ALL);
}

static void one_step_down_is_enough_where_that_costs_little(void **state)
{
	struct sum sum = run_new(20000, true, &(struct load){ .ppm = { 90000, 9000, 5000, 0 } }, 1);

	assert_int_equal(sum.step, STEP_NO_CALLS);
	assert_int_equal(sum.changes, 1);
}

static void without_calls_that_step_does_not_exist(void **state)
{
	struct sum sum =
		run_new(20000, false, &(struct load){ .ppm = { 90000, 90000, 5000, 0 } }, 120);

	assert_int_equal(sum.at_ns[STEP_NO_CALLS], 0);
	assert_true(sum.at_ns[STEP_SWITCHES] > 100 * SECOND);
}

/* Every step of every load: the bound holds, and it is not left unused where it could be used. */
static void the_bound_is_kept_over_time(void **state)
{
	static const struct load loads[] = {
		{ { 90000, 9000, 5000, 0 }, 0 },
		{ { 90000, 60000, 5000, 10 }, 35000000 },
		{ { 400000, 300000, 200000, 100 }, 35000000 },
		{ { 25000, 24000, 23000, 0 }, 35000000 },
	};

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		struct sum sum = run_new(20000, true, &loads[i], 600);

		assert_in_range(share_ppm(&sum, 600 * SECOND), 3000, 20500);
	}
}

/* It is above the budget at the first look. No step between was tried. */
static void a_burst_goes_down_at_once(void **state)
{
	static const struct load burst = { { 400000, 300000, 15000, 100 }, 0 };
	struct budget budget;
	struct sum sum = { 0 };
	uint64_t now_ns = SECOND;

	budget_begin(&budget, 20000, CPUS, true);
	run(&budget, &(struct load){ .ppm = { 100, 50, 20, 0 } }, &now_ns, 10, &sum);
	assert_int_equal(sum.changes, 0);
	run(&budget, &burst, &now_ns, 1, &sum);
	assert_int_equal(sum.changes, 1);
	assert_int_equal(sum.step, STEP_SWITCHES);
	assert_int_equal(sum.at_ns[STEP_NO_CALLS], 0);
	assert_int_equal(sum.at_ns[STEP_SWITCHES], SECOND - BUDGET_LOOK_NS);
}

/* Without calls, or at 64 times the budget, even the least that is recorded costs too much. */
static void a_large_burst_leaves_nothing_recorded(void **state)
{
	static const struct load burst = { { 400000, 300000, 200000, 100 }, 0 };
	struct sum without_calls = run_new(20000, false, &burst, 1);
	struct sum large = run_new(1000, true, &burst, 1);

	assert_int_equal(without_calls.changes, 1);
	assert_int_equal(without_calls.step, STEP_NONE);
	assert_int_equal(large.changes, 1);
	assert_int_equal(large.step, STEP_NONE);
}

/* A snapshot costs the recorder much, and once. */
static void what_the_recorder_does_itself_is_no_burst(void **state)
{
	static const struct load load = { .ppm = { 10000, 500, 200, 0 } };
	struct budget budget;
	struct sum sum = { 0 };
	uint64_t now_ns = SECOND;

	budget_begin(&budget, 20000, CPUS, true);
	run(&budget, &load, &now_ns, 10, &sum);
	sum.spent_ns += SECOND;
	sum.own_ns += SECOND;
	run(&budget, &load, &now_ns, 1, &sum);
	assert_int_equal(sum.step, STEP_NO_CALLS);
	assert_int_equal(sum.changes, 1);
}

/* Less than that goes down a step at a time, so that no more is left out than must be. */
static void a_small_burst_goes_down_one_step(void **state)
{
	struct sum sum =
		run_new(20000, true, &(struct load){ .ppm = { 150000, 15000, 5000, 0 } }, 1);

	assert_int_equal(sum.changes, 1);
	assert_int_equal(sum.step, STEP_NO_CALLS);
}

static void attempts_to_go_up_become_rare(void **state)
{
	static const struct load load = { { 90000, 9000, 5000, 0 }, 0 };
	struct sum early = run_new(20000, true, &load, 60), late = run_new(20000, true, &load, 660);

	assert_true(early.ups > 0);
	/* At most one a minute, when it has found out. */
	assert_in_range(late.ups - early.ups, 1, 11);
}

static void it_recovers_when_the_load_is_over(void **state)
{
	struct budget budget;
	struct sum sum = { 0 };
	uint64_t now_ns = SECOND;

	budget_begin(&budget, 20000, CPUS, true);
	run(&budget, &(struct load){ .ppm = { 400000, 300000, 200000, 100 } }, &now_ns, 30, &sum);
	assert_true(sum.step > STEP_ALL);
	run(&budget, &(struct load){ .ppm = { 1000, 500, 200, 0 } }, &now_ns, 240, &sum);
	assert_int_equal(sum.step, STEP_ALL);
}

static void a_change_that_costs_much_is_no_reason_for_the_next_one(void **state)
{
	struct sum sum = run_new(
		20000, true, &(struct load){ { 90000, 9000, 5000, 0 }, .change_ns = 200000000 }, 3);

	assert_int_equal(sum.step, STEP_NO_CALLS);
	assert_int_equal(sum.changes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_costs_less_than_is_allowed_is_recorded_in_full),
		cmocka_unit_test(one_step_down_is_enough_where_that_costs_little),
		cmocka_unit_test(without_calls_that_step_does_not_exist),
		cmocka_unit_test(the_bound_is_kept_over_time),
		cmocka_unit_test(a_burst_goes_down_at_once),
		cmocka_unit_test(a_large_burst_leaves_nothing_recorded),
		cmocka_unit_test(what_the_recorder_does_itself_is_no_burst),
		cmocka_unit_test(a_small_burst_goes_down_one_step),
		cmocka_unit_test(attempts_to_go_up_become_rare),
		cmocka_unit_test(it_recovers_when_the_load_is_over),
		cmocka_unit_test(a_change_that_costs_much_is_no_reason_for_the_next_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

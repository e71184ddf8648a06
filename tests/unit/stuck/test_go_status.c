/* test_go_status.c - what a status and a reason of Go's runtime stand for, of all its versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stuck/go_int.h"

static void what_waits_is_told_by_its_reason(void **unused)
{
	assert_int_equal(go_state_of(4, "chan receive"), GO_WAITS);
	assert_int_equal(go_state_of(4, "IO wait"), GO_IO);
	assert_int_equal(go_state_of(4, "sleep"), GO_SLEEPS);
	assert_int_equal(go_state_of(4, "something new"), GO_OTHER);
	assert_int_equal(go_state_of(4, ""), GO_OTHER);
}

static void an_old_reason_is_none_of_what_runs_or_calls(void **unused)
{
	assert_int_equal(go_state_of(1, "chan receive"), GO_RUNS);
	assert_int_equal(go_state_of(2, "chan receive"), GO_RUNS);
	assert_int_equal(go_state_of(3, "chan receive"), GO_CALLS);
	assert_int_equal(go_state_of(77, "chan receive"), GO_OTHER);
}

/* Go 1.26: the collector found nobody who could end the wait. */
static void one_that_leaked_waits(void **unused)
{
	assert_int_equal(go_state_of(10, "chan send"), GO_WAITS);
	assert_true(go_is_parked(10));
	assert_false(go_is_none(10));
}

/* With cgo there is always one; Go 1.26 gave it a status of its own. */
static void one_that_is_kept_for_a_thread_of_c_is_none(void **unused)
{
	assert_true(go_is_none(11));
	assert_true(go_is_none(6));
	assert_true(go_is_none(0));
	assert_false(go_is_none(4));
}

/* The goroutine of an iter.Pull() may wait for I/O, as any other of the program. */
static void what_runs_functions_of_the_program_is_the_programs(void **unused)
{
	assert_true(go_is_for_program("runtime.main", GO_WAITS));
	assert_true(go_is_for_program("runtime.corostart", GO_IO));
	assert_true(go_is_for_program("runtime.runfinq", GO_IO));
	assert_true(go_is_for_program("runtime.runFinalizers", GO_SLEEPS));
	assert_true(go_is_for_program("runtime.runCleanups", GO_WAITS));
	assert_false(go_is_for_program("runtime.runfinq", GO_OTHER));
	assert_false(go_is_for_program("runtime.bgsweep", GO_OTHER));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waits_is_told_by_its_reason),
		cmocka_unit_test(an_old_reason_is_none_of_what_runs_or_calls),
		cmocka_unit_test(one_that_leaked_waits),
		cmocka_unit_test(one_that_is_kept_for_a_thread_of_c_is_none),
		cmocka_unit_test(what_runs_functions_of_the_program_is_the_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

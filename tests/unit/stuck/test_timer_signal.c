/* test_timer_signal.c - which timers send a thread a signal that it handles, as the kernel lists them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stuck/timer_signal.h"

#define BIT(number) (1ull << ((number)-1))

static const char timers[] = "ID: 0\n"
			     "signal: 12/000055d0c0ffee00\n"
			     "notify: signal/pid.77\n"
			     "ClockID: 1\n"
			     "ID: 1\n"
			     "signal: 34/0000000000000000\n"
			     "notify: signal/tid.78\n"
			     "ClockID: 0\n"
			     "ID: 2\n"
			     "signal: 10/0000000000000000\n"
			     "notify: none/pid.77\n"
			     "ClockID: 0\n";

static void one_of_the_process_may_reach_each_thread(void **unused)
{
	assert_true(timer_signal_in(timers, false, BIT(12), 77));
	assert_true(timer_signal_in(timers, false, BIT(12) | BIT(2), 80));
	assert_false(timer_signal_in(timers, false, BIT(14) | BIT(2), 77));
}

static void one_of_a_thread_reaches_that_thread(void **unused)
{
	assert_true(timer_signal_in(timers, false, BIT(34), 78));
	assert_false(timer_signal_in(timers, false, BIT(34), 77));
}

static void one_that_sends_nothing_reaches_nobody(void **unused)
{
	assert_false(timer_signal_in(timers, false, BIT(10), 77));
	assert_false(timer_signal_in("", false, BIT(10), 77));
}

static void those_that_were_not_read_could_send_any(void **unused)
{
	assert_true(timer_signal_in(timers, true, BIT(10), 77));
	assert_false(timer_signal_in(timers, true, 0, 77));
}

static void other_timers_of_the_kernel_are_no_alarms(void **unused)
{
	assert_true(timer_signal_is_alarm(" #0: <0000000025ce6de4>, hrtimer_wakeup, S:01\n"
					  " #1: <00000000b0bcea45>, it_real_fn, S:01\n"));
	assert_false(timer_signal_is_alarm(" #1: <00000000b0bcea45>, posix_timer_fn, S:01\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_the_process_may_reach_each_thread),
		cmocka_unit_test(one_of_a_thread_reaches_that_thread),
		cmocka_unit_test(one_that_sends_nothing_reaches_nobody),
		cmocka_unit_test(those_that_were_not_read_could_send_any),
		cmocka_unit_test(other_timers_of_the_kernel_are_no_alarms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

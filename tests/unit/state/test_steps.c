/* test_steps.c - a recording that keeps to a budget, and what it may still say. */
#include "told.h"

static void own_code_is_not_told_while_calls_are_not_recorded(void **unused)
{
	struct told *told = replayed("facts steps\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter write\n"
				     " 10 cpu0 leave write 1\n"
				     " 20 cpu0 lost 20 0 step1\n"
				     " 30 cpu0 switch 7(blocked) 8\n"
				     " 40 cpu0 waking 7\n"
				     " 50 cpu0 switch 8(blocked) 7\n"
				     " 60 cpu0 lost 60 0 step0\n"
				     " 65 cpu0 enter read\n"
				     " 70 cpu0 leave read 1\n"
				     " 80 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 5 write, 10 user, 20 running, 30 blocked, 40 queued/0, "
			    "50 running, 65 read, 70 user - 80");
	assert_string_equal(wait_text(told, 7, 0), "30-40 in running by thread 8");
	told_free(told);
}

/* Its call began before, and how many it made since is not known. */
static void a_call_that_was_open_is_over_when_calls_end(void **unused)
{
	struct told *told = replayed("facts steps\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter read\n"
				     " 10 cpu0 switch 7(blocked) 8\n"
				     " 20 cpu0 lost 20 0 step1\n"
				     " 30 cpu0 waking 7\n"
				     " 40 cpu0 switch 8(runnable) 7\n"
				     " 50 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(track_of(told, 7), "0 running, 5 read, 10 blocked, 30 queued/0, "
					       "40 running - 50");
	assert_string_equal(wait_text(told, 7, 0), "10-30 in read by thread 8");
	told_free(told);
}

/* The end of a call says what the thread slept in last, and nothing of what it slept in before. */
static void the_end_of_a_call_names_only_waits_that_lie_in_it(void **unused)
{
	struct told *told = replayed("facts steps\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 lost 5 0 step1\n"
				     " 10 cpu0 switch 7(blocked) 8\n"
				     " 20 cpu0 waking 7\n"
				     " 25 cpu0 switch 8(runnable) 7\n"
				     " 30 cpu0 switch 7(blocked) 8\n"
				     " 40 cpu0 lost 40 0 step0\n"
				     " 50 cpu0 waking 7\n"
				     " 55 cpu0 switch 8(runnable) 7\n"
				     " 60 cpu0 leave read 1\n"
				     " 70 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(wait_text(told, 7, 0), "10-20 in running by thread 8");
	assert_string_equal(wait_text(told, 7, 1), "30-50 in read by thread 8");
	told_free(told);
}

/* What comes while events are switched off or on is of no use. */
static void stray_calls_are_ignored(void **unused)
{
	struct told *told = replayed("facts steps\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 lost 5 0 step1\n"
				     "  6 cpu0 enter read\n"
				     " 10 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(track_of(told, 7), "0 running - 10");
	told_free(told);
}

static void a_time_without_any_events_is_uncertain(void **unused)
{
	struct told *told = replayed("facts steps\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 lost 10 0 step3\n"
				     " 40 cpu0 lost 10 0 step0\n"
				     " 50 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(track_of(told, 7), "0 running, 10 ?lost, 40 running - 50");
	assert_int_equal(told->tl->lost_events, 0);
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_code_is_not_told_while_calls_are_not_recorded),
		cmocka_unit_test(a_call_that_was_open_is_over_when_calls_end),
		cmocka_unit_test(the_end_of_a_call_names_only_waits_that_lie_in_it),
		cmocka_unit_test(stray_calls_are_ignored),
		cmocka_unit_test(a_time_without_any_events_is_uncertain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

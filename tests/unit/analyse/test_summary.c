/* test_summary.c - the WIB summary tree and its instances. */
#include "told.h"

static const char server[] = "thread 7 7 1 R prog\n"
			     "fd 7 3 file /a\n"
			     "fd 7 4 pipe pipe:[1]\n"
			     "  0 cpu0 switch 0(runnable) 7\n"
			     "  5 cpu0 enter read 3\n"
			     " 10 cpu0 switch 7(blocked) 8\n"
			     " 20 cpu0 waking 7\n"
			     " 25 cpu0 switch 8(runnable) 7\n"
			     " 26 cpu0 leave read 1\n"
			     " 30 cpu0 enter read 4\n"
			     " 40 cpu0 switch 7(blocked) 8\n"
			     " 70 cpu0 waking 7\n"
			     " 71 cpu0 switch 8(runnable) 7\n"
			     " 75 cpu0 switch 7(disk) 8\n"
			     " 76 cpu0 waking 7\n"
			     " 77 cpu0 switch 8(runnable) 7\n"
			     " 80 cpu0 leave read 1\n"
			     " 85 cpu0 irq 24 eth0\n"
			     " 88 cpu0 irqexit 24\n"
			     " 90 cpu0 switch 7(runnable) 8\n"
			     " 94 cpu0 switch 8(runnable) 7\n"
			     "100 cpu0 switch 7(blocked) 8\n";

static void the_tree_says_where_the_time_went(void **unused)
{
	struct told *told = replayed(server);

	(void)explained(told, 7, 0, 0);
	assert_string_equal(lines_text(told),
			    "Working 45 x10; "
			    "-read 23 x5; -own code 17 x4; -running 5 x1; "
			    "Interrupted 14 x5; "
			    "-waiting for a CPU 7 x3; -preempted 4 x1; -irq 24 eth0 3 x1; "
			    "Blocked 41 x3; "
			    "-read 41 x3; --fd 4 = pipe:[1] 31 x2; --fd 3 = /a 10 x1; "
			    "Uncertain 0 x0");
	told_free(told);
}

static void instances_are_longest_first_and_numbered_by_time(void **unused)
{
	struct told *told = replayed(server);
	const struct why *why = explained(told, 7, 0, 0);
	const struct why_line *line = NULL;

	for (size_t i = 0; i < why->line_count; i++) {
		if (strcmp(why->lines[i].name, "fd 4 = pipe:[1]") == 0)
			line = &why->lines[i];
	}
	assert_non_null(line);
	assert_int_equal(line->instance_count, 2);
	assert_int_equal(why->instances[line->first_instance].start_ns, 40);
	assert_int_equal(why->instances[line->first_instance].end_ns, 70);
	assert_int_equal(why->instances[line->first_instance + 1].start_ns, 75);
	assert_true(why->instances[line->first_instance].id <
		    why->instances[line->first_instance + 1].id);
	/* Each leads to its wait. */
	assert_int_equal(why->waits[why->instances[line->first_instance].wait].start_ns, 40);
	assert_int_equal(why->waits[why->instances[line->first_instance + 1].wait].start_ns, 75);
	told_free(told);
}

static void ids_are_all_different_and_from_one_on(void **unused)
{
	struct told *told = replayed(server);
	const struct why *why = explained(told, 7, 0, 0);
	uint64_t seen = 0;

	assert_in_range(why->instance_count, 1, 63);
	for (size_t i = 0; i < why->instance_count; i++)
		seen |= UINT64_C(1) << why->instances[i].id;
	assert_true(seen == (UINT64_C(1) << (why->instance_count + 1)) - 2);
	told_free(told);
}

static void a_call_that_waits_is_counted_once(void **unused)
{
	struct told *told = replayed(server);
	const struct why *why = explained(told, 7, 0, 0);

	assert_int_equal(why->syscall_count, 1);
	assert_string_equal(why->syscalls[0].name, "read");
	assert_int_equal(why->syscalls[0].count, 2);
	assert_int_equal(why->syscalls[0].ns, 23);
	told_free(told);
}

static void a_window_cuts_the_first_and_the_last_interval(void **unused)
{
	struct told *told = replayed(server);

	(void)explained(told, 7, 45, 73);
	assert_string_equal(lines_text(told),
			    "Working 2 x1; -read 2 x1; "
			    "Interrupted 1 x1; -waiting for a CPU 1 x1; "
			    "Blocked 25 x1; -read 25 x1; --fd 4 = pipe:[1] 25 x1; "
			    "Uncertain 0 x0");
	told_free(told);
}

static void the_uncertain_is_told_by_its_reason(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 30 cpu0 lost 10 9\n"
				     " 40 cpu0 by 7 enter write\n"
				     " 60 cpu1 by 7 enter write\n"
				     " 70 cpu1 switch 7(blocked) 0\n");

	(void)explained(told, 7, 0, 0);
	assert_int_equal(told->why.uncertain_ns, 40);
	assert_non_null(strstr(lines_text(told), "-events were lost 20 x1"));
	told_free(told);
}

/* A poll from before the recording watches nobody knows what; the next one, of the same call, is no sleep. */
static void a_poll_that_another_thread_ends_is_no_sleep(void **unused)
{
	struct told *told = replayed("thread 7 7 1 S prog\n"
				     "thread 8 8 1 R other\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     " 10 cpu1 waking 7\n"
				     " 10 cpu0 switch 0(runnable) 7\n"
				     " 11 cpu0 leave poll 1\n"
				     " 20 cpu0 enter poll 0x100 1 5000\n"
				     " 20 cpu0 switch 7(blocked) 0\n"
				     " 90 cpu1 waking 7\n"
				     " 90 cpu0 switch 0(runnable) 7\n"
				     " 91 cpu0 leave poll 1\n"
				     "100 cpu0 switch 7(runnable) 0\n");

	(void)explained(told, 7, 0, 0);
	assert_int_equal(told->why.held_up_ns, told->why.blocked_ns - told->why.asked_ns);
	assert_in_range(told->why.held_up_ns, 70, 80);
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_poll_that_another_thread_ends_is_no_sleep),
		cmocka_unit_test(the_tree_says_where_the_time_went),
		cmocka_unit_test(instances_are_longest_first_and_numbered_by_time),
		cmocka_unit_test(ids_are_all_different_and_from_one_on),
		cmocka_unit_test(a_call_that_waits_is_counted_once),
		cmocka_unit_test(a_window_cuts_the_first_and_the_last_interval),
		cmocka_unit_test(the_uncertain_is_told_by_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

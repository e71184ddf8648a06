/*
 * test_why_slices_cut.c - a wait in slices that the end of the recording, or of its thread, cuts off between two of
 * them: it is one wait for what the last one was for.
 */
#include "slices_script.h"

#define POLL "poll 0x100 1 20"

/* Descriptor 3 of 7 is a pipe that 9, another process, writes to. */
static struct script polls(void)
{
	struct script script = begun();
	char *text = xasprintf("thread 7 7 1 R main\nthread 9 9 1 R writer\n%s", script.text);

	free(script.text);
	script.text = text;
	says(&script, "cpu0 fdname 7 3 pipe:[5] pipe", 0);
	says(&script, "cpu1 fdname 9 4 pipe:[5] pipe", 0);
	return script;
}

/* As above, but poll() finds nothing rather than to fail. */
static void poll_slice(struct script *script, int ms)
{
	says(script, "cpu0 enter " POLL, 1);
	says(script, "cpu0 switch 7(blocked) 0", 1);
	says(script, "cpu1 fdname 7 3 pipe:[5] pipe watched", ms * 1000 - 1);
	says(script, "cpu0 vector local_timer", 0);
	says(script, "cpu0 hrtimer hrtimer_wakeup", 0);
	says(script, "cpu0 waking 7 cpu 0", 0);
	says(script, "cpu0 hrtimerdone", 0);
	says(script, "cpu0 vectorexit local_timer", 0);
	says(script, "cpu0 switch 0(runnable) 7", 1);
	says(script, "cpu0 leave poll 0", 1);
}

/* What ends the script is 'end'; explained up to that. */
static struct told *cut(struct script *script, const char *end)
{
	struct told *told;

	script->at_us += 20;
	says(script, end, 10);
	told = replayed(script->text);
	free(script->text);
	(void)explained(told, 7, 1 * MS, told->tl->end_ns);
	return told;
}

static uint64_t stuck_ns(const struct told *told)
{
	return charged_ns(told, WHY_STUCK, 7);
}

static void where_the_recording_ends_it_would_have_gone_on(void **unused)
{
	struct script script = begun();
	struct told *told;

	for (int i = 0; i < 3; i++)
		slice(&script, LOCK, 50);
	told = cut(&script, "cpu1 enter getpid");
	assert_int_equal(stuck_ns(told), 3 * 50 * MS);
	assert_string_equal(told_reason(told->why.roots[0].why), "the recording ended");
	assert_int_equal(told->why.slice_count, 3);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 0);
	assert_int_equal(told->why.held_up_ns, 3 * 50 * MS);
	told_free(told);
}

static void who_was_awaited_in_the_last_slice_is_charged(void **unused)
{
	struct script script = polls();
	struct told *told;

	for (int i = 0; i < 3; i++)
		poll_slice(&script, 50);
	told = cut(&script, "cpu1 enter getpid");
	assert_int_equal(charged_ns(told, WHY_OTHER_THREAD, 9), 3 * 50 * MS);
	told_free(told);
}

static void who_is_killed_between_two_slices_would_have_gone_on(void **unused)
{
	struct script script = polls();
	struct told *told;

	for (int i = 0; i < 3; i++)
		poll_slice(&script, 50);
	told = cut(&script, "cpu0 switch 7(dead) 0");
	assert_int_equal(charged_ns(told, WHY_OTHER_THREAD, 9), 3 * 50 * MS);
	told_free(told);

	script = begun();
	for (int i = 0; i < 3; i++)
		slice(&script, LOCK, 50);
	told = cut(&script, "cpu0 switch 7(dead) 0");
	assert_int_equal(stuck_ns(told), 3 * 50 * MS);
	assert_string_equal(told_reason(told->why.roots[0].why), "its process ended");
	told_free(told);
}

/* Who ends itself has given up; of one time-out it is not known that it would look again. */
static void who_gives_up_or_waits_once_has_timed_out(void **unused)
{
	struct script script = begun();
	struct told *told;

	for (int i = 0; i < 3; i++)
		slice(&script, LOCK, 50);
	says(&script, "cpu0 enter exit_group 1", 5);
	told = cut(&script, "cpu0 switch 7(dead) 0");
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 3 * 50 * MS);
	told_free(told);

	script = begun();
	slice(&script, LOCK, 50);
	told = cut(&script, "cpu1 enter getpid");
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 50 * MS);
	told_free(told);
}

/* By abort(), or by a fault: that is no end that came from elsewhere. */
static void who_crashes_behind_the_last_has_timed_out(void **unused)
{
	static const char *const lasts[] = { "cpu0 enter tgkill 7 7 6",
					     "cpu0 fdname 7 -8 SIGSEGV:address unknown throttled" };

	for (size_t i = 0; i < ARRAY_LEN(lasts); i++) {
		struct script script = begun();
		struct told *told;

		for (int n = 0; n < 3; n++)
			slice(&script, LOCK, 50);
		says(&script, lasts[i], 5);
		told = cut(&script, "cpu0 switch 7(dead) 0");
		assert_int_equal(charged_ns(told, WHY_TIMER, 7), 3 * 50 * MS);
		told_free(told);
	}
}

/* A loop that works each time has its time-outs for that. */
static void who_works_each_time_has_timed_out(void **unused)
{
	struct script script = begun();
	struct told *told;

	for (int i = 0; i < 3; i++) {
		slice(&script, LOCK, 50);
		if (i < 2)
			script.at_us += 9000;
	}
	told = cut(&script, "cpu1 enter getpid");
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 3 * 50 * MS);
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_the_recording_ends_it_would_have_gone_on),
		cmocka_unit_test(who_was_awaited_in_the_last_slice_is_charged),
		cmocka_unit_test(who_is_killed_between_two_slices_would_have_gone_on),
		cmocka_unit_test(who_gives_up_or_waits_once_has_timed_out),
		cmocka_unit_test(who_crashes_behind_the_last_has_timed_out),
		cmocka_unit_test(who_works_each_time_has_timed_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

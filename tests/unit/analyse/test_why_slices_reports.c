/*
 * test_why_slices_reports.c - what else lies between slices, or behind the last: output now and then, a look that takes
 * long, a signal: slices.c.
 */
#include "slices_script.h"

/* Behind 'every' slice of a lock it says so. */
static struct told *locked_with_reports(int every)
{
	struct script script = begun();

	for (int i = 1; i <= 6; i++) {
		slice(&script, LOCK, 100);
		if (i % every == 0)
			call(&script, "write 2", "9");
	}
	woken_slice(&script, LOCK, 50);
	return asked(&script);
}

static void who_says_seldom_that_it_waits_for_a_lock_waits_on_as_inferred(void **unused)
{
	struct told *told = locked_with_reports(3);

	assert_int_equal(charged_ns(told, WHY_LOCK, 9), 650 * MS);
	assert_string_equal(
		told_reason(told->why.roots[0].inferred),
		"futex() was called again each time, with only output written in between");
	told_free(told);
	told = locked_with_reports(1);
	assert_int_equal(charged_ns(told, WHY_LOCK, 9), 50 * MS);
	assert_null(told->why.roots[1].inferred);
	told_free(told);
}

static struct told *with_looks(const int *us, size_t count)
{
	struct script script = begun();

	slice(&script, "select 4", 20);
	for (size_t i = 0; i < count; i++) {
		says(&script, "cpu0 enter sched_yield", us[i]);
		says(&script, "cpu0 leave sched_yield 0", 0);
		slice(&script, "select 4", 20);
	}
	woken_slice(&script, "select 4", 20);
	return asked(&script);
}

/* One after the other takes long, by chance; or each of them does. */
static void looks_are_short_as_a_rule(void **unused)
{
	const int by_chance[] = { 10, 20, 300, 700, 750, 20 };
	const int each[] = { 700, 700, 700, 700, 700, 700 };
	const int too_long[] = { 10, 10, 10, 10, 10, 10, 5000 };
	struct told *told = with_looks(by_chance, ARRAY_LEN(by_chance));

	assert_int_equal(charged_ns(told, WHY_OTHER_THREAD, 9), 8 * 20 * MS);
	told_free(told);
	told = with_looks(each, ARRAY_LEN(each));
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 5 * 20 * MS);
	told_free(told);
	told = with_looks(too_long, ARRAY_LEN(too_long));
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 7 * 20 * MS);
	told_free(told);
}

/* The kernel spins for the lock before it sleeps, each time. */
static void to_spin_in_the_call_is_to_wait(void **unused)
{
	struct script script = begun();
	struct told *told;

	for (int i = 0; i < 4; i++) {
		says(&script, "cpu0 enter " LOCK, 2000);
		says(&script, "cpu0 switch 7(blocked) 0", 20 * 1000);
		says(&script, "cpu0 vector local_timer", 0);
		says(&script, "cpu0 hrtimer hrtimer_wakeup", 0);
		says(&script, "cpu0 waking 7 cpu 0", 0);
		says(&script, "cpu0 hrtimerdone", 0);
		says(&script, "cpu0 vectorexit local_timer", 0);
		says(&script, "cpu0 switch 0(runnable) 7", 1);
		says(&script, "cpu0 leave futex -110", 1);
	}
	woken_slice(&script, LOCK, 20);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_LOCK, 9), 5 * 20 * MS);
	told_free(told);
}

/* A signal ends it in the last slice, or its handler does then: what was awaited never came. */
static struct script last_is_broken_off(const char *signal)
{
	struct script script = begun();

	slice(&script, LOCK, 50);
	slice(&script, LOCK, 50);
	says(&script, "cpu0 enter " LOCK, 1);
	says(&script, "cpu0 switch 7(blocked) 0", 20 * 1000);
	says(&script, "cpu1 waking 7 cpu 0", 0);
	if (signal)
		says(&script, signal, 0);
	says(&script, "cpu0 switch 0(runnable) 7", 1);
	says(&script, "cpu0 leave futex -512", 1);
	return script;
}

static void a_signal_ends_all_slices_with_their_thread(const char *signal)
{
	struct script script = last_is_broken_off(signal);
	struct told *told;

	says(&script, "cpu0 exit 7", 1);
	says(&script, "cpu0 switch 7(dead) 0", 0);
	told = replayed(script.text);
	free(script.text);
	(void)explained(told, 7, 1 * MS, (uint64_t)script.at_us * US);
	assert_int_equal(charged_ns(told, WHY_STUCK, 7), 120 * MS);
	assert_int_equal(told->why.slice_count, 2);
	told_free(told);
}

static void a_signal_ends_all_slices(void **unused)
{
	struct script script;
	struct told *told;

	a_signal_ends_all_slices_with_their_thread("cpu1 signal 10 7");
	a_signal_ends_all_slices_with_their_thread(NULL); /* it was told of another thread */
	script = last_is_broken_off("cpu1 signal 15 7");
	says(&script, "cpu0 enter unlink /x", 1);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_STUCK, 7), 120 * MS);
	told_free(told);
	script = last_is_broken_off("cpu1 signal 10 7");
	says(&script, "cpu0 enter unlink /x", 1);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 100 * MS);
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_says_seldom_that_it_waits_for_a_lock_waits_on_as_inferred),
		cmocka_unit_test(looks_are_short_as_a_rule),
		cmocka_unit_test(to_spin_in_the_call_is_to_wait),
		cmocka_unit_test(a_signal_ends_all_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

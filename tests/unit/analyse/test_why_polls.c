/* test_why_polls.c - the call that fails before sleeps is told, if there is one. */
#include "told.h"

/* Thread 7 sleeps for 10 four times; what it did before each of them comes at 'before'. */
static struct told *slept(const char *before[4], int result)
{
	AUTO_FREE char *text = xstrdup("   0 cpu0 switch 0(runnable) 7\n");
	struct told *told;

	for (int i = 0; i < 4; i++) {
		int at = 100 * (i + 2);
		char *more = xasprintf("%s%s"
				       " %d cpu0 enter clock_nanosleep\n"
				       " %d cpu0 switch 7(blocked) 0\n"
				       " %d cpu0 vector local_timer\n"
				       " %d cpu0 hrtimer hrtimer_wakeup\n"
				       " %d cpu0 waking 7 cpu 0\n"
				       " %d cpu0 hrtimerdone\n"
				       " %d cpu0 vectorexit local_timer\n"
				       " %d cpu0 switch 0(runnable) 7\n"
				       " %d cpu0 leave clock_nanosleep %d\n",
				       text, before[i], at, at + 1, at + 88, at + 88, at + 88,
				       at + 88, at + 89, at + 91, at + 92, result);

		free(text);
		text = more;
	}
	told = replayed(text);
	(void)verdict_of(told, 7);
	return told;
}

static const struct why_polls *polls_of(const struct told *told)
{
	for (size_t i = 0; i < told->why.root_count; i++) {
		if (told->why.roots[i].kind == WHY_TIMER)
			return &told->why.roots[i].polls;
	}
	fail_msg("it did not sleep");
	return NULL;
}

static void says_of(const char *before[4], int result, const char *words)
{
	struct told *told = slept(before, result);
	const struct why_polls *polls = polls_of(told);
	AUTO_FREE char *said = polls->call ? xasprintf("%s %s %d of %d", polls->call, polls->error,
						       (int)polls->count, (int)polls->sleeps)
					   : xstrdup("nothing");

	assert_string_equal(said, words);
	told_free(told);
}

static void says(const char *before[4], const char *words)
{
	says_of(before, 0, words);
}

/* Times do not matter but for their order: sleep n begins at (n + 1) hundred. */
#define AT(n, i)	       #n "9" #i " cpu0 "
#define CALL(n, name, result)  AT(n, 3) "enter " name "\n" AT(n, 4) "leave " name " " result "\n"
#define LATER(n, name, result) AT(n, 5) "enter " name "\n" AT(n, 6) "leave " name " " result "\n"

static void a_call_that_fails_before_each_sleep(void **unused)
{
	const char *before[] = { CALL(1, "fcntl", "-11"), CALL(2, "fcntl", "-11"),
				 CALL(3, "fcntl", "-11"), CALL(4, "fcntl", "-11") };

	says(before, "fcntl EAGAIN 4 of 4");
}

static void what_works_in_between_does_not_matter(void **unused)
{
	const char *before[] = { CALL(1, "fcntl", "-11") LATER(1, "close", "0"),
				 CALL(2, "fcntl", "-11") LATER(2, "close", "0"),
				 CALL(3, "fcntl", "-11"), CALL(4, "fcntl", "0") };

	says(before, "fcntl EAGAIN 3 of 4");
}

static void the_last_one_to_fail_counts(void **unused)
{
	const char *before[] = { CALL(1, "openat", "-2") LATER(1, "connect", "-111"),
				 CALL(2, "openat", "-2") LATER(2, "connect", "-111"),
				 CALL(3, "openat", "-2") LATER(3, "connect", "-111"),
				 CALL(4, "openat", "-2") };

	says(before, "connect ECONNREFUSED 3 of 4");
}

static void twice_is_chance(void **unused)
{
	const char *before[] = { CALL(1, "fcntl", "-11"), "", CALL(3, "fcntl", "-11"), "" };

	says(before, "nothing");
}

static void calls_that_work_are_no_questions(void **unused)
{
	const char *before[] = { CALL(1, "fcntl", "0"), CALL(2, "fcntl", "1"),
				 CALL(3, "fcntl", "0"), "" };

	says(before, "nothing");
}

/* What was lost before the third may have been a call that worked. */
static void what_was_lost_is_not_guessed(void **unused)
{
	const char *before[] = { CALL(1, "fcntl", "-11"), CALL(2, "fcntl", "-11"),
				 CALL(3, "fcntl", "-11") "398 cpu0 lost 397 5\n",
				 CALL(4, "fcntl", "-11") };

	says(before, "fcntl EAGAIN 3 of 4");
}

static void different_errors_are_different_questions(void **unused)
{
	const char *before[] = { CALL(1, "fcntl", "-11"), CALL(2, "fcntl", "-13"),
				 CALL(3, "fcntl", "-11"), CALL(4, "fcntl", "-13") };

	says(before, "nothing");
}

static void a_sleep_that_is_interrupted_is_no_question(void **unused)
{
	const char *none[] = { "", "", "", "" };
	const char *before[] = { CALL(1, "fcntl", "-11"), CALL(2, "fcntl", "-11"),
				 CALL(3, "fcntl", "-11"), CALL(4, "fcntl", "-11") };

	says_of(none, -4, "nothing");
	says_of(before, -4, "fcntl EAGAIN 4 of 4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_fails_before_each_sleep),
		cmocka_unit_test(what_works_in_between_does_not_matter),
		cmocka_unit_test(the_last_one_to_fail_counts),
		cmocka_unit_test(twice_is_chance),
		cmocka_unit_test(calls_that_work_are_no_questions),
		cmocka_unit_test(a_sleep_that_is_interrupted_is_no_question),
		cmocka_unit_test(what_was_lost_is_not_guessed),
		cmocka_unit_test(different_errors_are_different_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

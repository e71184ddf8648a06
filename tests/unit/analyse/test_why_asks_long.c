/*
 * test_why_asks_long.c - a look that takes long is none where all of them together are short: a guest whose CPU is taken
 * away seems to work.
 */
#include "asks_script.h"

/* Some sleeps with flock() failing before, and working after; 'long_us' of work behind each 'every'-th from 'first' on. */
static struct told *asked_for_long(int naps, int first, int every, int long_us)
{
	struct script script = begun();

	for (int i = 0; i < naps; i++) {
		call(&script, "flock 3 6", -11);
		if (i == naps - 1)
			meanwhile(&script, "flock 3 8", 0);
		nap(&script);
		script.at_us += i >= first && (i - first) % every == 0 ? long_us : 0;
	}
	call(&script, "flock 3 6", 0);
	return asked(&script);
}

static void is_all_asked(struct told *told, int naps)
{
	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	assert_int_equal(told->why.answer_count, naps);
	told_free(told);
}

static void a_rare_look_may_take_long(void **unused)
{
	for (int first = 0; first < 20; first++)
		is_all_asked(asked_for_long(20, first, 100, 6000), 20);
	is_all_asked(asked_for_long(60, 5, 20, 9000), 60);
}

static void work_each_time_or_much_of_it_is_no_look(void **unused)
{
	struct told *told = asked_for_long(20, 0, 2, 6000);

	assert_int_equal(told->why.answer_count, 0);
	told_free(told);
	/* What it waits for may begin behind the work. */
	told = asked_for_long(60, 5, 100, 30000);
	assert_int_equal(told->why.answer_count, 54);
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rare_look_may_take_long),
		cmocka_unit_test(work_each_time_or_much_of_it_is_no_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

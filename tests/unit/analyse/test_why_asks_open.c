/* test_why_asks_open.c - who asks for a process up to the end of the recording waits for it, as inferred: asks_open.c. */
#include "asks_script.h"

/* It asks, sleeps, asks and sleeps; 'then' is what it does at last. */
static struct told *asking_still(const char *question, int result, const char *then)
{
	struct script script = begun();
	struct told *told;
	char *text;

	for (int i = 0; i < 4; i++) {
		call(&script, question, result);
		nap(&script);
	}
	call(&script, question, result);
	says(&script, then, 1);
	says(&script, "switch 7(blocked) 0", 4000);
	told_add(&script.other, "%dus cpu1 enter getpid\n", script.at_us);
	text = merged(&script);
	told = replayed(text);
	free(text);
	free(script.text);
	free(script.other);
	(void)explained(told, 7, 1 * MS, (uint64_t)script.at_us * 1000);
	return told;
}

static void says_still(struct told *told, const char *reason)
{
	const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);

	assert_non_null(root);
	assert_true(root->ns >= 40 * MS);
	assert_string_equal(told_reason(root->inferred), reason);
	told_free(told);
}

static void says_nothing(struct told *told)
{
	assert_null(root_of(told, WHY_OTHER_THREAD, 9));
	told_free(told);
}

static void a_process_that_has_not_ended_is_waited_for(void **unused)
{
	says_still(asking_still("wait4 9 0 1", 0, "enter clock_nanosleep"),
		   "wait4() of doer[9] found nothing up to the end");
	says_still(asking_still("kill 9 0", 0, "enter clock_nanosleep"),
		   "kill() of doer[9] found it there up to the end");
}

static void one_of_several_is_not_guessed(void **unused)
{
	/* 8 is a child, too. */
	says_nothing(asking_still("wait4 -1 0 1", 0, "enter clock_nanosleep"));
	/* It has gone on to something else. */
	says_nothing(asking_still("wait4 9 0 1", 0, "enter read 3"));
	/* No relative. */
	says_nothing(asking_still("kill 6 0", 0, "enter clock_nanosleep"));
	/* What ends something else is not known before it comes. */
	says_nothing(asking_still("flock 3 6", -11, "enter clock_nanosleep"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_has_not_ended_is_waited_for),
		cmocka_unit_test(one_of_several_is_not_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_why_doers.c - who may have changed an answer, and who did by chance what looks like it. */
#include "asks_script.h"

/* Few bits are left of two names: among many renames one fits by chance. */
static void a_stranger_that_renames_much_has_not(void **unused)
{
	for (int count = 1; count <= 5; count += 4) {
		struct script script = begun();
		struct told *told;

		for (int nr = 0; nr < 3; nr++) {
			call(&script, "newfstatat", -2);
			says(&script, "fdname 7 -1 /r/token unknown asked 2", 1);
			for (int i = 0; i < count && nr == 2; i++) {
				int at_us = script.at_us + 5500 + 100 * i;

				told_add(&script.other,
					 "%dus cpu1 switch 9(runnable) 6\n%dus cpu1 enter rename\n",
					 at_us, at_us + 1);
				told_add(&script.other, "%dus cpu1 leave rename 0\n", at_us + 9);
				told_add(&script.other,
					 "%dus cpu1 fdname 6 -1 %s unknown asked 0\n", at_us + 10,
					 i ? "/r/some" : "/r/token");
				told_add(&script.other,
					 "%dus cpu1 fdname 6 -1 /r/else unknown asked 0\n",
					 at_us + 10);
				told_add(&script.other, "%dus cpu1 switch 6(runnable) 9\n",
					 at_us + 20);
			}
			nap(&script);
		}
		call(&script, "newfstatat", 0);
		told = asked(&script);
		if (count == 1)
			assert_non_null(root_of(told, WHY_OTHER_THREAD, 6));
		else
			assert_null(root_of(told, WHY_OTHER_THREAD, 6));
		told_free(told);
	}
}

/* 7 looks at descriptors until there is something; 9 ends before that. 'then' is what 7 does behind it; "" = nothing. */
static struct told *polled_until_end(const char *then)
{
	struct script script = begun();
	char *text = xasprintf("fd 7 4 pipe pipe:[4]\n%s", script.text);

	free(script.text);
	script.text = text;
	for (int i = 0; i < 3; i++) {
		call(&script, "poll 4096 1 0", 0);
		if (i == 2) {
			told_add(&script.other, "%dus cpu1 exit 9\n", script.at_us + 5000);
			told_add(&script.other, "%dus cpu1 switch 9(dead) 0\n",
				 script.at_us + 5010);
		}
		nap(&script);
	}
	call(&script, "poll 4096 1 0", 1);
	if (*then)
		call(&script, then, 1);
	return asked(&script);
}

static void a_pidfd_tells_that_a_child_has_ended(void **unused)
{
	struct told *told = polled_until_end("");
	const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);

	assert_non_null(root);
	assert_string_equal(told_reason(root->inferred), "poll() found nothing until it ended");
	told_free(told);
	/* What came at a pipe is not that. */
	told = polled_until_end("read 4");
	assert_null(root_of(told, WHY_OTHER_THREAD, 9));
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stranger_that_renames_much_has_not),
		cmocka_unit_test(a_pidfd_tells_that_a_child_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

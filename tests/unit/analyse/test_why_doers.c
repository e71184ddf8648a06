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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stranger_that_renames_much_has_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_sampled.c - what is said of waits that were found by looking again and again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/sampled.h"
#include "stuck/sampled.h"

/* Of one thread that was always found in that wait. The caller's to free. */
static char *told(struct sampled_wait *wait)
{
	struct sampled sampled = {
		.took_ns = 1000000000, .looks = 20, .waits = wait, .wait_count = 1
	};
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	wait->looks = 20;
	report_sampled_text(out, &sampled, 0, false);
	fclose(out);
	return text;
}

static void a_time_limit_is_told(void **unused)
{
	struct sampled_wait wait = { .tid = 7,
				     .tgid = 7,
				     .comm = "waits",
				     .kind = STUCK_UNOWNED,
				     .in = "futex",
				     .object = "condition variable" };
	char *text = told(&wait);

	(void)unused;
	assert_non_null(strstr(text, "condition variable"));
	assert_null(strstr(text, "time limit"));
	free(text);
	wait.is_timed = true;
	text = told(&wait);
	assert_non_null(strstr(text, "(with a time limit)"));
	free(text);
}

static void a_sleep_until_a_time_has_no_other_limit(void **unused)
{
	struct sampled_wait wait = { .tid = 7,
				     .tgid = 7,
				     .comm = "sleeps",
				     .kind = STUCK_TIMER,
				     .in = "poll",
				     .is_timed = true };
	char *text = told(&wait);

	(void)unused;
	assert_non_null(strstr(text, "slept until a time in poll"));
	assert_null(strstr(text, "time limit"));
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_limit_is_told),
		cmocka_unit_test(a_sleep_until_a_time_has_no_other_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

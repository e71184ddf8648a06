/* test_stuck.c - how far a look at processes goes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "stuck/stuck.h"

#define SLEEPERS 3

static int32_t sleepers[SLEEPERS];

static int sleep_all(void **state)
{
	int ready[2];
	char byte;

	(void)state;
	if (pipe(ready) < 0)
		return -1;
	for (size_t i = 0; i < SLEEPERS; i++) {
		sleepers[i] = fork();
		if (sleepers[i] == 0) {
			if (write(ready[1], "", 1) == 1)
				pause();
			_exit(0);
		}
		if (sleepers[i] < 0 || read(ready[0], &byte, 1) != 1)
			return -1;
	}
	close(ready[0]);
	close(ready[1]);
	return 0;
}

static int end_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < SLEEPERS; i++) {
		kill(sleepers[i], SIGKILL);
		waitpid(sleepers[i], NULL, 0);
	}
	return 0;
}

static void all_are_looked_at(void **state)
{
	const struct stuck_select select = { .tgids = sleepers, .count = SLEEPERS };
	struct err err = { 0 };
	struct stuck *stuck;

	(void)state;
	assert_int_equal(stuck_look(&select, &stuck, &err), 0);
	assert_int_equal(stuck->looked, SLEEPERS);
	assert_int_equal(stuck->skipped, 0);
	stuck_free(stuck);
}

static void who_is_left_out_is_counted(void **state)
{
	const struct stuck_select select = { .tgids = sleepers,
					     .count = SLEEPERS,
					     .most_threads = 1 };
	struct err err = { 0 };
	struct stuck *stuck;

	(void)state;
	assert_int_equal(stuck_look(&select, &stuck, &err), 0);
	assert_int_equal(stuck->looked, 1);
	assert_int_equal(stuck->skipped, SLEEPERS - 1);
	assert_int_equal(stuck->missing_count, 1);
	stuck_free(stuck);
}

static void behind_its_time_nobody_is_looked_at(void **state)
{
	const struct stuck_select select = { .tgids = sleepers, .count = SLEEPERS, .until_ns = 1 };
	struct err err = { 0 };
	struct stuck *stuck;

	(void)state;
	assert_int_equal(stuck_look(&select, &stuck, &err), -ETIME);
	assert_non_null(strstr(err.text, "takes too long"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_looked_at),
		cmocka_unit_test(who_is_left_out_is_counted),
		cmocka_unit_test(behind_its_time_nobody_is_looked_at),
	};

	return cmocka_run_group_tests_name("stuck/stuck", tests, sleep_all, end_all);
}

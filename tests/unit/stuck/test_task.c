/* test_task.c - lines of stat and syscall, whatever a program calls itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "stuck/task.h"

#define BEHIND " 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 "

static void the_name_may_hold_anything(void **unused)
{
	struct task task = { 0 };

	assert_true(task_parse_stat("7 (a) R (b) S 42" BEHIND
				    "20 0 3 0 4711 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 17 1 0\n",
				    &task));
	assert_string_equal(task.comm, "a) R (b");
	assert_int_equal(task.state, 'S');
	assert_int_equal(task.ppid, 42);
	assert_int_equal(task.prio, 20);
	assert_int_equal(task.birth, 4711);
	assert_int_equal(task.cpu, 1);
	assert_false(task.is_kernel);
}

static void nonsense_is_no_line(void **unused)
{
	static const char *const lines[] = { "",
					     "7",
					     "7 (x",
					     "7 (x)",
					     "7 (x) ",
					     "7 (x) S",
					     "7 (x) S 1 2 3",
					     ")(",
					     "7 (x) S a b c" };
	struct task task;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(task_parse_stat(lines[i], &task));
}

static void a_system_call_has_its_arguments(void **unused)
{
	struct task task = { 0 };

	assert_true(task_parse_call("202 0x7f01 0x80 0x2 0x0 0x5 0x6 0x7ffe 0x7f99\n", &task));
	assert_int_equal(task.nr, 202);
	assert_int_equal(task.args[0], 0x7f01);
	assert_int_equal(task.args[5], 6);
	assert_int_equal(task.sp, 0x7ffe);
	assert_int_equal(task.pc, 0x7f99);
	assert_true(task_parse_call("-1 0x7ffe 0x7f99\n", &task));
	assert_int_equal(task.nr, -1);
	assert_int_equal(task.sp, 0x7ffe);
	assert_false(task_parse_call("running\n", &task));
}

static void who_ran_between_two_looks_is_not_the_same(void **unused)
{
	struct task before = { .birth = 1, .state = 'S', .runs = 5 }, after = before;

	assert_true(task_is_same(&before, &after));
	after.runs = 6;
	assert_false(task_is_same(&before, &after));
	after = before;
	after.birth = 2; /* the number is another thread's by now */
	assert_false(task_is_same(&before, &after));
	before.runs = after.runs = 0; /* not known */
	after.birth = 1;
	assert_false(task_is_same(&before, &after));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_may_hold_anything),
		cmocka_unit_test(nonsense_is_no_line),
		cmocka_unit_test(a_system_call_has_its_arguments),
		cmocka_unit_test(who_ran_between_two_looks_is_not_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_proc.c - texts of /proc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/proc.h"

static void numbers_of_a_status_file(void **unused)
{
	static const char status[] = "Name:\tUid: 9\nUid:\t1\t2\t3\t4\nNSpid:\t7000\t41\t5\n";
	uint64_t number = 0;

	assert_true(user_status_number(status, "Uid:", 1, &number));
	assert_int_equal(number, 2);
	assert_true(user_status_number(status, "NSpid:", -1, &number));
	assert_int_equal(number, 5);
	assert_false(user_status_number(status, "Uid:", 4, &number));
	assert_false(user_status_number(status, "Gid:", 0, &number));
	assert_false(user_status_number("Uid:\n", "Uid:", -1, &number));
}

static void ids_of_a_user_namespace(void **unused)
{
	static const char map[] =
		"         0       1000          1\n         1     100000      65536\n";

	assert_int_equal(user_map_id(map, 1000), 0);
	assert_int_equal(user_map_id(map, 100999), 1000);
	assert_int_equal(user_map_id(map, 5), 5);
	assert_int_equal(user_map_id("", 7), 7);
	assert_int_equal(user_map_id("rubbish\n1 2\n", 7), 7);
}

/* The name of a process may hold anything. */
static void the_start_of_a_process(void **unused)
{
	assert_int_equal(user_stat_start("1 (a) b) (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 "
					 "18 4711 20 21\n"),
			 4711);
	assert_int_equal(user_stat_start("1 (a) S 1 2\n"), 0);
	assert_int_equal(user_stat_start(""), 0);
}

static void a_process_is_read(void **unused)
{
	struct user_proc proc;

	assert_true(user_proc_read(getpid(), &proc));
	assert_int_equal(proc.uid, geteuid());
	assert_true(proc.start > 0);
	assert_true(proc.same_mounts);
	user_proc_fini(&proc);
	assert_false(user_proc_read(INT32_MAX, &proc));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_a_status_file),
		cmocka_unit_test(ids_of_a_user_namespace),
		cmocka_unit_test(the_start_of_a_process),
		cmocka_unit_test(a_process_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

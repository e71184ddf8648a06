/* test_instance.c - the names of instances tell whose they are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/ftrace.h"
#include "record/instance.h"

static void a_name_gives_pid_and_start_time(void **state)
{
	uint64_t start;
	pid_t pid;

	assert_true(instance_parse_name("holdup-123-456789", &pid, &start));
	assert_int_equal(pid, 123);
	assert_int_equal(start, 456789);
	assert_true(instance_parse_name("holdup-4194304-18446744073709", &pid, &start));
	assert_true(instance_parse_name("holdup-77-5-2", &pid, &start));
	assert_int_equal(pid, 77);
	assert_int_equal(start, 5);
}

static void other_names_are_not_ours(void **state)
{
	static const char *const names[] = {
		"",
		"holdup",
		"holdup-",
		"holdup-1",
		"holdup-1-",
		"holdup--1-2",
		"holdup-1--2",
		"holdup-1-2-",
		"holdup-1-2-3-4",
		"holdup-1-2x",
		"holdup-x-2",
		"holdup-0-2",
		"Holdup-1-2",
		"holdup-1-2 ",
		"holdup- 1-2",
		"holdup-+1-2",
		"trace-cmd",
		"..",
		"holdup-1-2-99999",
		"holdup-11111111111111111111111111111111111111111111111111111-2",
	};
	uint64_t start;
	pid_t pid;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (instance_parse_name(names[i], &pid, &start))
			fail_msg("'%s' was taken for one of ours", names[i]);
	}
}

static void a_process_has_one_start_time(void **state)
{
	uint64_t first, second;

	assert_true(instance_process_start(getpid(), &first));
	assert_true(instance_process_start(getpid(), &second));
	assert_int_equal(first, second);
	assert_true(first > 0);
	assert_false(instance_process_start(0x7fffffff, &first));
}

static void only_instances_of_dead_recorders_are_removed(void **state)
{
	char dir[] = "/tmp/holdup-test-XXXXXX";
	AUTO_FREE char *instances = NULL, *dead = NULL, *reused = NULL, *alive = NULL,
		       *other = NULL;
	uint64_t start;

	assert_non_null(mkdtemp(dir));
	assert_true(instance_process_start(getpid(), &start));
	instances = xasprintf("%s/instances", dir);
	dead = xasprintf("%s/holdup-999999999-5", instances);
	reused = xasprintf("%s/holdup-%d-%d", instances, getpid(), 1);
	alive = xasprintf("%s/holdup-%d-%llu", instances, getpid(), (unsigned long long)start);
	other = xasprintf("%s/mine", instances);
	mkdir(instances, 0700);
	mkdir(dead, 0700);
	mkdir(reused, 0700);
	mkdir(alive, 0700);
	mkdir(other, 0700);

	assert_int_equal(instance_remove_stale(dir), 2);
	assert_false(ftrace_has(AT_FDCWD, dead));
	assert_false(ftrace_has(AT_FDCWD, reused));
	assert_int_equal(rmdir(alive), 0);
	assert_int_equal(rmdir(other), 0);
	rmdir(instances);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_gives_pid_and_start_time),
		cmocka_unit_test(other_names_are_not_ours),
		cmocka_unit_test(a_process_has_one_start_time),
		cmocka_unit_test(only_instances_of_dead_recorders_are_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

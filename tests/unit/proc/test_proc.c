/* test_proc.c - lines of /proc/TID/stat, whatever a program calls itself. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "proc/stat.h"

#define ZEROS " 0 0 0 0"
#define REST  " 0 -1 1077936192" ZEROS ZEROS " 39 19 1 0 100" ZEROS ZEROS ZEROS " 0 0 0 17 1 0 3 0"

static void the_name_may_hold_anything(void **unused)
{
	struct proc_thread thread = { 0 };

	assert_true(proc_parse_stat("7 (a) R 1 (b) S 42 1 1" REST "\n", &thread));
	assert_string_equal(thread.comm, "a) R 1 (b");
	assert_int_equal(thread.state, 'S');
	assert_int_equal(thread.ppid, 42);
	assert_int_equal(thread.prio, 39);
	assert_int_equal(thread.policy, 3);
	assert_int_equal(thread.born_ticks, 100);
	assert_false(thread.kernel);
}

static void put_text(const char *folder, const char *name, const char *text)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Such a sleep looks like any other one: the file of its cgroup tells. */
static void who_sleeps_is_frozen_with_its_cgroup(void **unused)
{
	static const struct {
		const char *cgroups;
		const char *state;
		bool frozen;
	} cases[] = {
		{ "6:freezer:/jobs\n0::/\n", "FROZEN\n", true },
		{ "6:freezer:/jobs\n0::/\n", "THAWED\n", false },
		{ "6:freezer:/other\n0::/jobs\n", "FROZEN\n", false },
		{ "6:freezer:/../jobs\n", "FROZEN\n", false },
		{ "0::/jobs\n", "FROZEN\n", false },
	};
	char root[] = "/tmp/test-proc-XXXXXX";
	AUTO_FREE char *process = NULL, *jobs = NULL, *clean = NULL;
	AUTO_CLOSE int fd = -1;

	assert_non_null(mkdtemp(root));
	process = xasprintf("%s/7", root);
	jobs = xasprintf("%s/jobs", root);
	clean = xasprintf("rm -r %s", root);
	assert_int_equal(mkdir(process, 0700), 0);
	assert_int_equal(mkdir(jobs, 0700), 0);
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put_text(process, "cgroup", cases[i].cgroups);
		put_text(jobs, "freezer.state", cases[i].state);
		assert_int_equal(proc_is_frozen_asleep(fd, 7, root), cases[i].frozen);
	}
	assert_false(proc_is_frozen_asleep(fd, 8, root));
	assert_int_equal(system(clean), 0);
}

static void workers_have_the_name_that_events_show(void **unused)
{
	static const struct {
		const char *shown;
		const char *name;
	} cases[] = {
		{ "kworker/0:1-events", "kworker/0:1" },
		{ "kworker/u4:2+flush-254:0", "kworker/u4:2" },
		{ "kworker/R-slub_flushwq", "kworker/R-slub_" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct proc_thread thread = { 0 };
		char *line = xasprintf("7 (%s) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 10 0",
				       cases[i].shown);

		assert_true(proc_parse_stat(line, &thread));
		assert_true(thread.kernel);
		assert_string_equal(thread.comm, cases[i].name);
		assert_int_equal(thread.policy, -1); /* the line is too short to tell */
		free(line);
	}
}

static void nonsense_is_no_line(void **unused)
{
	struct proc_thread thread;

	assert_false(proc_parse_stat("", &thread));
	assert_false(proc_parse_stat("7 a R 1", &thread));
	assert_false(proc_parse_stat("7 )a( R 1", &thread));
	assert_false(proc_parse_stat("7 (a) R", &thread));
}

static void fields_have_the_numbers_of_the_manual_page(void **unused)
{
	char line[STAT_BYTES_MAX] = "7 (a) S";
	struct proc_stat stat;

	for (int number = STAT_PPID; number <= 52; number++)
		sprintf(line + strlen(line), " %d", number);
	assert_true(stat_parse(line, &stat));
	assert_int_equal(stat.last, STAT_FIELDS - 1);
	for (int number = STAT_PPID; number < STAT_FIELDS; number++)
		assert_int_equal(stat.field[number], number);
	assert_true(stat_parse("7 (a) Z 4 -5", &stat));
	assert_int_equal(stat.last, 5);
	assert_int_equal((int32_t)stat.field[5], -5);
	assert_int_equal(stat.field[STAT_BIRTH], 0);
	assert_true(stat_is_over(&stat));
}

static void a_number_of_a_container_is_the_innermost(void **unused)
{
	assert_int_equal(proc_parse_vtid("Name:\ta\nNSpid:\t4711\t56\t7\nNSpgid:\t4711\t56\t8\n"),
			 7);
	assert_int_equal(proc_parse_vtid("Name:\ta\nNSpid:\t4711\nNSpgid:\t4711\t5\n"), 0);
	assert_int_equal(proc_parse_vtid("Name:\ta\nNSpid:\t4711\t99999999999\n"), 0);
	assert_int_equal(proc_parse_vtid("Name:\ta\n"), 0);
}

static void this_thread_is_found(void **unused)
{
	AUTO_CLOSE int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct proc_thread thread;
	int32_t tid = (int32_t)syscall(SYS_gettid);

	assert_true(proc_read_thread(proc_fd, getpid(), tid, &thread));
	assert_int_equal(thread.tid, tid);
	assert_int_equal(thread.tgid, getpid());
	assert_int_equal(thread.ppid, getppid());
	assert_int_equal(thread.uid, getuid());
	assert_int_equal(thread.state, 'R');
	assert_int_equal(thread.policy, sched_getscheduler(0));
	assert_false(proc_read_thread(proc_fd, 0x7ffffff0, 0x7ffffff0, &thread));
}

/* Who may make cgroups may call them anything. */
static void a_cgroup_is_that_of_its_line(void **unused)
{
	const char *text = "9:freezer:/a0::/b\n7:cpu,cpuacct:/c:cpu:/d\n0::/e\n";

	assert_ptr_equal(proc_cgroup_path(text, ""), strstr(text, "/e"));
	assert_ptr_equal(proc_cgroup_path(text, "cpu"), strstr(text, "/c:cpu"));
	assert_ptr_equal(proc_cgroup_path(text, "cpuacct"), strstr(text, "/c:cpu"));
	assert_ptr_equal(proc_cgroup_path(text, "freezer"), strstr(text, "/a0"));
	assert_null(proc_cgroup_path(text, "cp"));
	assert_null(proc_cgroup_path(text, "c:cpu"));
	assert_null(proc_cgroup_path("9:freezer:/a0::/b\n0::/e", "")); /* cut */
	assert_null(proc_cgroup_path("", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_may_hold_anything),
		cmocka_unit_test(who_sleeps_is_frozen_with_its_cgroup),
		cmocka_unit_test(workers_have_the_name_that_events_show),
		cmocka_unit_test(nonsense_is_no_line),
		cmocka_unit_test(fields_have_the_numbers_of_the_manual_page),
		cmocka_unit_test(a_number_of_a_container_is_the_innermost),
		cmocka_unit_test(this_thread_is_found),
		cmocka_unit_test(a_cgroup_is_that_of_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_probe_group.c - whose the points in the kernel's list are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/ftrace.h"
#include "record/instance.h"
#include "record/probe_group.h"

static void a_group_is_named_after_its_instance(void **state)
{
	AUTO_FREE char *group = probe_group_name("/sys/kernel/tracing/instances/holdup-12-345-2");

	assert_string_equal(group, "holdup_12_345_2");
}

static void lines_are_taken_apart(void **state)
{
	char group[PROBE_GROUP_NAME_MAX], event[PROBE_GROUP_NAME_MAX];
	static const char *const others[] = {
		"",	   "p",
		"p:",	   "p:a",
		"p:a/",	   "p:/b",
		"x:a/b",   "p a:b/c",
		"p:a b/c", "p:0123456789012345678901234567890123456789012345678901234567890123/b",
	};

	assert_true(probe_group_parse("p:holdup_1_2/p0 /bin/x:0x10 a=%di:u64\n", group, event));
	assert_string_equal(group, "holdup_1_2");
	assert_string_equal(event, "p0");
	assert_true(probe_group_parse("r16:g/e /bin/x:0x10", group, event));
	assert_string_equal(group, "g");
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(probe_group_parse(others[i], group, event));
}

/* A folder that looks like tracefs; what is removed is appended to the list. */
struct fake {
	char dir[64];
	int fd;
};

static void fake_make(struct fake *fake, const char *list)
{
	AUTO_FREE char *path = NULL;
	FILE *file;

	strcpy(fake->dir, "/tmp/holdup-group-XXXXXX");
	assert_non_null(mkdtemp(fake->dir));
	fake->fd = open(fake->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	path = xasprintf("%s/uprobe_events", fake->dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(list, file);
	fclose(file);
}

static void fake_remove(struct fake *fake)
{
	unlinkat(fake->fd, "uprobe_events", 0);
	close(fake->fd);
	rmdir(fake->dir);
}

static void only_points_of_dead_recorders_are_removed(void **state)
{
	uint64_t start;
	struct fake fake;
	AUTO_FREE char *list = NULL, *after = NULL, *expected = NULL;

	assert_true(instance_process_start(getpid(), &start));
	list = xasprintf("p:holdup_%d_%" PRIu64 "/p0 /bin/a:0x10\n"
			 "p:holdup_%d_%" PRIu64 "/p0 /bin/a:0x10\n"
			 "p:probe_a/f /bin/a:0x10\n"
			 "p:holdup_x/p0 /bin/a:0x10\n",
			 (int)getpid(), start, (int)getpid(), start + 1);
	fake_make(&fake, list);
	assert_int_equal(probe_group_remove_stale(fake.dir), 1);
	after = ftrace_read(fake.fd, "uprobe_events", NULL);
	expected = xasprintf("%s-:holdup_%d_%" PRIu64 "/p0", list, (int)getpid(), start + 1);
	assert_string_equal(after, expected);
	fake_remove(&fake);
}

static void the_own_group_is_removed_and_nothing_else(void **state)
{
	struct fake fake;
	AUTO_FREE char *path = NULL, *after = NULL;
	static const char list[] = "p:holdup_5_6/p0 /bin/a:0x10\nr:holdup_5_6_2/p0 /bin/a:0x10\n";

	fake_make(&fake, list);
	path = xasprintf("%s/instances/holdup-5-6", fake.dir);
	assert_int_equal(probe_group_remove(path), 1);
	after = ftrace_read(fake.fd, "uprobe_events", NULL);
	assert_string_equal(after + strlen(list), "-:holdup_5_6/p0");
	fake_remove(&fake);
}

/* O_TRUNC on the list would remove everybody's points. */
static void adding_leaves_what_is_there(void **state)
{
	struct fake fake;
	AUTO_FREE char *after = NULL;

	fake_make(&fake, "p:other/e /bin/a:0x10\n");
	assert_int_equal(probe_group_add(fake.fd, "p:g/e /bin/b:0x1", NULL), 0);
	after = ftrace_read(fake.fd, "uprobe_events", NULL);
	assert_string_equal(after, "p:other/e /bin/a:0x10\np:g/e /bin/b:0x1");
	fake_remove(&fake);
}

/* The errors of everybody are in one log: ours is told. A directory cannot be written to. */
static void the_kernels_complaint_is_told(void **state)
{
	char dir[] = "/tmp/holdup-group-XXXXXX";
	AUTO_FREE char *list = NULL, *log = NULL;
	struct err err = { 0 };
	FILE *file;
	int fd;

	assert_non_null(mkdtemp(dir));
	list = xasprintf("%s/uprobe_events", dir);
	log = xasprintf("%s/error_log", dir);
	assert_int_equal(mkdir(list, 0700), 0);
	file = fopen(log, "w");
	assert_non_null(file);
	fputs("[   1.0] trace_uprobe: error: Ours was bad\n  Command: p:g/p0 /bin/x:0x10\n     ^\n"
	      "[   2.0] trace_uprobe: error: Another's\n  Command: p:other/p0 /bin/x:0x10\n     ^\n",
	      file);
	fclose(file);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(probe_group_add(fd, "p:g/p0 /bin/x:0x10 a=%qq", &err), -EISDIR);
	assert_non_null(strstr(err.text, "Ours was bad"));
	assert_null(strstr(err.text, "Another"));
	assert_int_equal(probe_group_add(fd, "p:h/p0 /bin/x:0x10", &err), -EISDIR);
	assert_null(strstr(err.text, "bad"));
	close(fd);
	rmdir(list);
	unlink(log);
	rmdir(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_is_named_after_its_instance),
		cmocka_unit_test(lines_are_taken_apart),
		cmocka_unit_test(only_points_of_dead_recorders_are_removed),
		cmocka_unit_test(the_own_group_is_removed_and_nothing_else),
		cmocka_unit_test(adding_leaves_what_is_there),
		cmocka_unit_test(the_kernels_complaint_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_unit_group.c - which processes a unit has by its cgroup, and what is kept of it until it has failed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/tree.h"
#include "record/unit_group.h"

static char root[] = "/tmp/holdup-unit-group-XXXXXX";
static const char *const roots[] = { "/nonexistent", root, NULL };

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	AUTO_CLOSE int tmp_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	return tree_remove(tmp_fd, root + strlen("/tmp/"));
}

static void write_file(const char *folder, const char *name, const char *text)
{
	AUTO_FREE char *dir = xasprintf("%s%s", root, folder);
	AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
	FILE *file;

	(void)mkdir(dir, 0755);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void processes_of_all_folders_below_are_read(void **state)
{
	struct unit_group group;

	(void)state;
	write_file("/web.service", "cgroup.procs", "11\n12\n0\n");
	write_file("/web.service", "memory.events", "low 0\noom 4\noom_kill 3\noom_group_kill 0\n");
	write_file("/web.service/worker", "cgroup.procs", "13\n");
	assert_true(unit_group_read(roots, "/web.service", &group));
	assert_int_equal(group.count, 3);
	assert_int_equal(group.pids[0], 11);
	assert_int_equal(group.pids[1], 12);
	assert_int_equal(group.pids[2], 13);
	assert_int_equal(group.oom_kills, 3);
	unit_group_leave_out(&group, 12);
	assert_int_equal(group.count, 2);
	assert_int_equal(group.pids[1], 13);
}

static void what_there_is_no_room_for_is_counted(void **state)
{
	char text[40 * 8] = "";
	struct unit_group group;

	(void)state;
	for (int i = 0; i < 40; i++)
		(void)sprintf(text + strlen(text), "%d\n", 100 + i);
	write_file("/many.service", "cgroup.procs", text);
	assert_true(unit_group_read(roots, "/many.service", &group));
	assert_int_equal(group.count, UNIT_GROUP_PIDS);
	assert_int_equal(group.more, 40 - UNIT_GROUP_PIDS);
	assert_int_equal(group.oom_kills, 0);
}

static void other_paths_are_refused(void **state)
{
	static const char *const paths[] = { "",
					     "/",
					     "web.service",
					     "//web.service",
					     "/../etc",
					     "/a/../../etc",
					     "/a/..",
					     "/./web.service",
					     "/none.service" };
	struct unit_group group;

	(void)state;
	write_file("", "cgroup.procs", "1\n");
	write_file("/web.service", "cgroup.procs", "11\n");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_false(unit_group_read(roots, paths[i], &group));
}

/* Those that went first did not hold it up. */
static void the_last_ones_are_kept(void **state)
{
	const struct unit_group two = { { 1, 2 }, 2, 0, 0 }, one = { { 2 }, 1, 0, 0 };
	const struct unit_group none = { { 0 }, 0, 0, 1 };
	struct unit_groups groups = { 0 };
	struct unit_group taken;

	(void)state;
	unit_groups_note(&groups, "a.service", &two);
	unit_groups_note(&groups, "b.service", &two);
	unit_groups_note(&groups, "a.service", &one);
	unit_groups_note(&groups, "a.service", &none);
	taken = unit_groups_take(&groups, "a.service");
	assert_int_equal(taken.count, 1);
	assert_int_equal(taken.pids[0], 2);
	assert_int_equal(taken.oom_kills, 1);
	assert_int_equal(unit_groups_take(&groups, "a.service").count, 0);
	assert_int_equal(unit_groups_take(&groups, "b.service").count, 2);
	assert_int_equal(unit_groups_take(&groups, "").count, 0);
}

static void units_without_end_are_bounded(void **state)
{
	const struct unit_group one = { { 2 }, 1, 0, 0 };
	struct unit_groups groups = { 0 };
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < 3 * UNIT_GROUPS; i++) {
		(void)snprintf(name, sizeof(name), "web@%u.service", i);
		unit_groups_note(&groups, name, &one);
	}
	assert_int_equal(unit_groups_take(&groups, name).count, 1);
	assert_int_equal(unit_groups_take(&groups, "web@0.service").count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_of_all_folders_below_are_read),
		cmocka_unit_test(what_there_is_no_room_for_is_counted),
		cmocka_unit_test(other_paths_are_refused),
		cmocka_unit_test(the_last_ones_are_kept),
		cmocka_unit_test(units_without_end_are_bounded),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}

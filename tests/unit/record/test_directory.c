/* test_directory.c - what may become a trace directory, and what is never touched. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "record/directory.h"

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* Every test runs inside an empty directory of its own. */
static int set_up(void **state)
{
	char *path = strdup("/tmp/holdup-test-XXXXXX");

	*state = path;
	return mkdtemp(path) && chdir(path) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	int rc = chdir("/");

	nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(*state);
	return rc;
}

static void make_file(const char *path)
{
	close(open(path, O_WRONLY | O_CREAT, 0600));
}

static void make_old_trace(void)
{
	mkdir("trace", 0755);
	mkdir("trace/kernel", 0755);
	mkdir("trace/timeline", 0755);
	make_file("trace/trace.json");
	make_file("trace/kernel/cpu0.ring");
	make_file("trace/kernel/sync");
}

static int try_open(bool replace)
{
	struct directory directory = DIRECTORY_NONE;
	struct err err = { 0 };
	int rc = directory_open("trace", replace, &directory, &err);

	assert_int_equal(rc, err.code);
	directory_close(&directory);
	return rc;
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void a_new_directory_is_private(void **state)
{
	struct stat st;

	assert_int_equal(try_open(false), 0);
	assert_int_equal(stat("trace", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat("trace/kernel", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void an_empty_directory_is_used_and_made_private(void **state)
{
	struct stat st;

	mkdir("trace", 0755);
	assert_int_equal(try_open(false), 0);
	assert_int_equal(stat("trace", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void an_old_trace_stays_unless_it_may_be_replaced(void **state)
{
	make_old_trace();
	assert_int_equal(directory_check("trace", false, NULL), -EEXIST);
	assert_int_equal(try_open(false), -EEXIST);
	assert_true(is_there("trace/kernel/cpu0.ring"));
	assert_int_equal(directory_check("trace", true, NULL), 0);
	assert_true(is_there("trace/trace.json"));
	assert_int_equal(try_open(true), 0);
	assert_false(is_there("trace/trace.json"));
	assert_false(is_there("trace/kernel/cpu0.ring"));
	assert_false(is_there("trace/timeline"));
}

static void foreign_files_are_never_removed(void **state)
{
	make_old_trace();
	make_file("trace/thesis.txt");
	assert_int_equal(try_open(true), -EEXIST);
	assert_true(is_there("trace/thesis.txt"));
	assert_true(is_there("trace/kernel/cpu0.ring"));
}

static void a_directory_that_only_looks_like_a_trace_is_refused(void **state)
{
	mkdir("trace", 0755);
	mkdir("trace/kernel", 0755);
	make_file("trace/kernel/sched.c");
	assert_int_equal(try_open(true), -EEXIST);
	assert_true(is_there("trace/kernel/sched.c"));
}

static void links_and_files_are_not_directories(void **state)
{
	make_file("trace");
	assert_int_equal(try_open(true), -EEXIST);
	unlink("trace");
	mkdir("elsewhere", 0755);
	assert_int_equal(symlink("elsewhere", "trace"), 0);
	assert_int_equal(try_open(true), -EEXIST);
	assert_false(is_there("elsewhere/kernel"));
}

static void links_inside_an_old_trace_are_removed_not_followed(void **state)
{
	make_old_trace();
	mkdir("elsewhere", 0755);
	make_file("elsewhere/file");
	assert_int_equal(symlink("../elsewhere", "trace/user"), 0);
	assert_int_equal(try_open(true), 0);
	assert_true(is_there("elsewhere/file"));
	assert_false(is_there("trace/user"));
}

static void what_was_made_can_be_discarded(void **state)
{
	struct directory directory = DIRECTORY_NONE;

	assert_int_equal(directory_open("trace", false, &directory, NULL), 0);
	directory_reserve(&directory);
	assert_true(is_there("trace/kernel/.reserve"));
	directory_release(&directory);
	assert_false(is_there("trace/kernel/.reserve"));
	make_file("trace/kernel/sync");
	directory_discard(&directory);
	assert_false(is_there("trace"));
}

static uid_t owner(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_uid : (uid_t)-1;
}

static void a_trace_is_given_to_the_user_but_nothing_else_is(void **state)
{
	struct directory directory = DIRECTORY_NONE;

	if (geteuid() != 0)
		skip();
	make_file("secret");
	assert_int_equal(directory_open("trace", false, &directory, NULL), 0);
	make_file("trace/trace.json");
	make_file("trace/kernel/sync");
	assert_int_equal(link("secret", "trace/kernel/hard"), 0);
	assert_int_equal(symlink("../../secret", "trace/kernel/soft"), 0);
	directory_give(&directory, 12345, 12345);
	directory_close(&directory);
	assert_int_equal(owner("trace"), 12345);
	assert_int_equal(owner("trace/kernel"), 12345);
	assert_int_equal(owner("trace/trace.json"), 12345);
	assert_int_equal(owner("trace/kernel/sync"), 12345);
	assert_int_equal(owner("trace/kernel/soft"), 0);
	assert_int_equal(owner("trace/kernel/hard"), 0);
	assert_int_equal(owner("secret"), 0);
}

static void two_recorders_do_not_share_a_directory(void **state)
{
	struct directory first = DIRECTORY_NONE, second = DIRECTORY_NONE;
	struct err err = { 0 };

	assert_int_equal(directory_open("trace", true, &first, NULL), 0);
	make_file("trace/trace.json");
	assert_int_equal(directory_open("trace", true, &second, &err), -EBUSY);
	assert_non_null(strstr(err.text, "another recording"));
	assert_int_equal(access("trace/trace.json", F_OK), 0);
	directory_close(&first);
	assert_int_equal(directory_open("trace", true, &second, NULL), 0);
	directory_close(&second);
}

static void a_missing_parent_is_an_error(void **state)
{
	struct directory directory = DIRECTORY_NONE;
	struct err err = { 0 };

	assert_int_equal(directory_open("no/trace", false, &directory, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no/trace"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_directory_is_private),
		TEST(an_empty_directory_is_used_and_made_private),
		TEST(an_old_trace_stays_unless_it_may_be_replaced),
		TEST(foreign_files_are_never_removed),
		TEST(a_directory_that_only_looks_like_a_trace_is_refused),
		TEST(links_and_files_are_not_directories),
		TEST(links_inside_an_old_trace_are_removed_not_followed),
		TEST(what_was_made_can_be_discarded),
		TEST(a_trace_is_given_to_the_user_but_nothing_else_is),
		TEST(two_recorders_do_not_share_a_directory),
		TEST(a_missing_parent_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

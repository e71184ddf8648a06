/* Folders removed with what is in them, for as long as there is time. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/tree.h"

static void make(const char *path)
{
	AUTO_FREE char *below = xasprintf("%s/below", path);
	AUTO_FREE char *file = xasprintf("%s/below/file", path);
	AUTO_FREE char *link = xasprintf("%s/link", path);
	AUTO_CLOSE int fd = -1;

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mkdir(below, 0700), 0);
	assert_int_equal(symlink("/etc", link), 0);
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
}

static void test_all_below_goes_and_no_link_is_followed(void **state)
{
	char dir[] = "/tmp/holdup-tree-XXXXXX";
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *path = NULL;

	assert_non_null(mkdtemp(dir));
	path = xasprintf("%s/top", dir);
	make(path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(tree_remove(fd, "top"), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access("/etc/passwd", F_OK), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void test_when_time_is_over_the_rest_stays(void **state)
{
	char dir[] = "/tmp/holdup-tree-XXXXXX";
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *path = NULL;

	assert_non_null(mkdtemp(dir));
	path = xasprintf("%s/top", dir);
	make(path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(tree_remove_until(fd, "top", 1), -ENOTEMPTY);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(tree_remove_until(fd, "top", UINT64_MAX), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_below_goes_and_no_link_is_followed),
		cmocka_unit_test(test_when_time_is_over_the_rest_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

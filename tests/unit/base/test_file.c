/* test_file.c - reading at a place, and listing a folder twice. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

static void what_is_behind_the_end_is_not_read(void **unused)
{
	char path[] = "/tmp/holdup-test-XXXXXX", bytes[8] = "";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789", 10), 10);
	assert_int_equal(file_read_at(fd, 3, bytes, 4), 4);
	assert_memory_equal(bytes, "3456", 4);
	assert_int_equal(file_read_at(fd, 8, bytes, 8), 2);
	assert_memory_equal(bytes, "89", 2);
	assert_int_equal(file_read_at(fd, 10, bytes, 8), 0);
	assert_int_equal(file_read_at(fd, UINT64_MAX, bytes, 8), 0);
	assert_int_equal(file_read_at(-1, 0, bytes, 8), 0);
	close(fd);
	unlink(path);
}

static size_t entries(int fd)
{
	DIR *list = file_list(fd);
	size_t count = 0;

	assert_non_null(list);
	while (readdir(list))
		count++;
	closedir(list);
	return count;
}

static void a_folder_is_listed_from_its_beginning_each_time(void **unused)
{
	char path[] = "/tmp/holdup-test-XXXXXX";
	int fd;

	assert_non_null(mkdtemp(path));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(mkdirat(fd, "one", 0700), 0);
	assert_int_equal(entries(fd), 3); /* with . and .. */
	assert_int_equal(entries(fd), 3);
	assert_int_equal(unlinkat(fd, "one", AT_REMOVEDIR), 0);
	close(fd);
	rmdir(path);
	assert_null(file_list(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_behind_the_end_is_not_read),
		cmocka_unit_test(a_folder_is_listed_from_its_beginning_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

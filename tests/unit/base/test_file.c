/* test_file.c - reading and writing whole, at a place, and listing a folder twice. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/child.h"
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

/* A pipe takes and gives pieces; with a handler that only interrupts, each call may end early. */
static void nothing(int number)
{
	(void)number;
}

static void all_is_written_and_read_whatever_interrupts(void **unused)
{
	static char sent[300000], got[sizeof(sent) + 1];
	struct sigaction action = { .sa_handler = nothing }; /* no SA_RESTART */
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	int ends[2];
	pid_t child;

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (char)(i * 7 + i / 251);
	assert_int_equal(pipe(ends), 0);
	sigaction(SIGALRM, &action, NULL);
	child = fork();
	if (child == 0) {
		setitimer(ITIMER_REAL, &often, NULL);
		for (size_t at = 0; at < sizeof(sent); at += 100000)
			if (file_write(ends[1], sent + at, 100000) < 0)
				_exit(1);
		_exit(7);
	}
	close(ends[1]);
	setitimer(ITIMER_REAL, &often, NULL);
	assert_int_equal(file_read_next(ends[0], got, sizeof(got)), sizeof(sent));
	assert_int_equal(WEXITSTATUS(child_await(child)), 7);
	setitimer(ITIMER_REAL, &never, NULL);
	assert_memory_equal(got, sent, sizeof(sent));
	assert_int_equal(file_read_next(ends[0], got, 1), 0);
	close(ends[0]);
	assert_int_equal(file_read_next(-1, got, 1), -EBADF);
	assert_int_equal(child_await(child), -ECHILD);
}

static void what_cannot_be_written_says_why(void **unused)
{
	int full = open("/dev/full", O_WRONLY);

	assert_int_equal(file_write(full, "x", 1), -ENOSPC);
	assert_int_equal(file_write_at(full, 0, "x", 1), -ENOSPC);
	assert_int_equal(file_write(-1, "x", 1), -EBADF);
	assert_int_equal(file_write(-1, "x", 0), 0);
	close(full);
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
		cmocka_unit_test(all_is_written_and_read_whatever_interrupts),
		cmocka_unit_test(what_cannot_be_written_says_why),
		cmocka_unit_test(a_folder_is_listed_from_its_beginning_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

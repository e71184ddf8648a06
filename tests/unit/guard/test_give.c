/* A folder taken from a user who changes it meanwhile. Needs root. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "guard/give.h"

#define UID   64321
#define GID   64322
#define TURNS 3000

/* The owner opens it to everybody, as often as it can, until it is not the owner any more. */
static void __attribute__((noreturn)) open_up(int fd)
{
	if (setgid(GID) < 0 || setuid(UID) < 0)
		_exit(1);
	for (;;)
		(void)fchmod(fd, 0777);
}

static void test_its_owner_cannot_keep_it_open(void **state)
{
	char dir[] = "/tmp/holdup-give-XXXXXX";
	unsigned int open_ones = 0;
	AUTO_CLOSE int fd = -1;
	struct stat st;
	pid_t owner;

	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owner = fork();
	if (owner == 0)
		open_up(fd);
	for (int i = 0; i < TURNS; i++) {
		assert_int_equal(fchown(fd, UID, GID), 0);
		assert_int_equal(guard_take_new(fd, UID), 0);
		assert_int_equal(fstat(fd, &st), 0);
		open_ones += st.st_uid != 0 || (st.st_mode & 07777) != 0700;
	}
	assert_int_equal(kill(owner, SIGKILL), 0);
	assert_int_equal(waitpid(owner, NULL, 0), owner);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(open_ones, 0);
}

static void test_what_is_another_ones_is_not_taken(void **state)
{
	char dir[] = "/tmp/holdup-give-XXXXXX";
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fchown(fd, UID + 1, GID), 0);
	assert_int_equal(fchmod(fd, 0755), 0);
	assert_int_equal(guard_take(fd, UID), -EPERM);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_uid, UID + 1);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_its_owner_cannot_keep_it_open),
		cmocka_unit_test(test_what_is_another_ones_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

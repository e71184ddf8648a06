/* test_jit_files.c - which file is taken for what a runtime wrote of its code: ours, here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/jit_files.h"

static char path[64], other[80];

static int found_of(pid_t pid)
{
	struct jit_files *files = jit_files_new();
	int fd;

	jit_files_want(files, pid, 1);
	fd = jit_files_map(files, pid);
	jit_files_free(files);
	return fd >= 0;
}

static int found(void)
{
	return found_of(getpid());
}

static void make(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void a_plain_file_of_the_user_is_taken(void **unused)
{
	assert_false(found());
	make(path);
	assert_true(found());
	unlink(path);
}

static void what_is_no_plain_file_is_not(void **unused)
{
	make(other);
	assert_int_equal(symlink(other, path), 0);
	assert_false(found());
	unlink(path);
	unlink(other);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(found());
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_false(found());
	rmdir(path);
}

static void a_file_of_another_user_is_not(void **unused)
{
	if (geteuid() != 0)
		skip();
	make(path);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_false(found());
	unlink(path);
}

/*
 * Become nobody, in a namespace where root's file stands in the place of ours, as who has a user
 * namespace can make it; say so, and stay until the end of 'go'.
 */
static void show_roots_file(int ready, int go)
{
	char name[64], byte = 0;

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0 || (close(creat(name, 0644)), 0) ||
	    mount("/etc/passwd", name, NULL, MS_BIND, NULL) < 0 || setgid(65534) < 0 ||
	    setuid(65534) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		byte = 1;
	if (write(ready, &byte, 1) == 1 && read(go, &byte, 1) >= 0)
		_exit(0);
	_exit(1);
}

static void a_file_of_root_in_the_place_of_a_users_is_not(void **unused)
{
	int ready[2], go[2];
	char byte;
	pid_t child;

	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe2(ready, O_CLOEXEC) | pipe2(go, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		close(go[1]);
		show_roots_file(ready[1], go[0]);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	if (byte == 0)
		assert_false(found_of(child));
	close(go[1]);
	close(go[0]);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	if (byte != 0)
		skip(); /* nothing can be mounted here */
}

static void it_is_looked_for_again_later_and_held(void **unused)
{
	struct jit_files *files = jit_files_new();

	jit_files_want(files, getpid(), 1);
	make(path);
	jit_files_want(files, getpid(), 2);
	assert_int_equal(jit_files_map(files, getpid()), -1);
	jit_files_want(files, getpid(), 1000000000);
	unlink(path);
	assert_true(jit_files_map(files, getpid()) >= 0);
	assert_int_equal(jit_files_map(files, 1), -1);
	jit_files_free(files);
}

/* As HotSpot does with -XX:+DumpPerfMapAtExit. */
static void what_is_written_at_the_end_is_taken(void **unused)
{
	struct jit_files *files = jit_files_new();
	int go[2];
	char byte, name[64];
	pid_t child;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	child = fork();
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", child ? child : getpid());
	if (child == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) < 0)
			_exit(1);
		make(name);
		_exit(0);
	}
	jit_files_want(files, child, 1);
	close(go[1]);
	close(go[0]);
	waitpid(child, NULL, 0);
	jit_files_want(files, child, 1000000000);
	assert_int_equal(jit_files_map(files, child), -1);
	jit_files_last(files);
	unlink(name);
	assert_true(jit_files_map(files, child) >= 0);
	jit_files_free(files);
}

/* Of an earlier process with that number. */
static void what_was_there_before_is_not_taken_at_the_end(void **unused)
{
	struct jit_files *files = jit_files_new();
	const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

	jit_files_want(files, getpid(), 1);
	make(path);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	jit_files_last(files);
	assert_int_equal(jit_files_map(files, getpid()), -1);
	unlink(path);
	jit_files_free(files);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_file_of_the_user_is_taken),
		cmocka_unit_test(what_is_no_plain_file_is_not),
		cmocka_unit_test(a_file_of_another_user_is_not),
		cmocka_unit_test(a_file_of_root_in_the_place_of_a_users_is_not),
		cmocka_unit_test(it_is_looked_for_again_later_and_held),
		cmocka_unit_test(what_is_written_at_the_end_is_taken),
		cmocka_unit_test(what_was_there_before_is_not_taken_at_the_end),
	};

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	snprintf(other, sizeof(other), "%s.other", path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

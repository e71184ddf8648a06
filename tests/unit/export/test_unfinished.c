/* Output that is not whole yet: signals remove it, what is whole stays. */
#include "export/unfinished.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

static int enter_folder(void **state)
{
	char *folder = xstrdup("/tmp/holdup-unfinished-XXXXXX");

	*state = folder;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	AUTO_FREE char *folder = *state;

	return chdir("/") == 0 ? rmdir(folder) : -1; /* it must be empty */
}

static void fill(const char *folder)
{
	AUTO_FREE char *inner = xasprintf("%s/inner", folder);
	AUTO_FREE char *file = xasprintf("%s/file", inner);

	if (mkdir(inner, 0700) < 0 || mknod(file, S_IFREG | 0600, 0) < 0)
		_exit(9);
}

/* In a process of its own: make 'path', which is placed or not, and get the signal. */
static int die_with(const char *path, bool is_folder, bool is_placed, int number)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		AUTO_FREE char *name = unfinished_name(path);
		int fd;

		(void)signal(number, SIG_DFL); /* a shell may have us ignore them */
		unfinished_guard();
		fd = is_folder ? unfinished_folder(path, name, NULL)
			       : unfinished_file(path, name, NULL);

		if (fd < 0)
			_exit(8);
		if (is_folder)
			fill(name);
		if (is_placed && unfinished_place(name, path) < 0)
			_exit(7);
		(void)kill(getpid(), number);
		(void)sleep(60);
		_exit(6);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void signals_remove_what_is_unfinished(void **state)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	AUTO_FREE char *absolute = xasprintf("%s/out", (const char *)*state);

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		assert_int_equal(die_with("out", false, false, numbers[i]), numbers[i]);
		assert_int_equal(die_with("out", true, false, numbers[i]), numbers[i]);
		assert_int_equal(die_with(absolute, true, false, numbers[i]), numbers[i]);
	}
}

static void what_is_whole_stays(void **unused)
{
	assert_int_equal(die_with("out", false, true, SIGTERM), SIGTERM);
	assert_int_equal(unlink("out"), 0);
}

static void who_ignores_a_signal_goes_on(void **unused)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		AUTO_FREE char *name = unfinished_name("out");

		(void)signal(SIGHUP, SIG_IGN);
		unfinished_guard();
		if (unfinished_file("out", name, NULL) < 0)
			_exit(1);
		(void)kill(getpid(), SIGHUP);
		_exit(unfinished_place(name, "out") < 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(unlink("out"), 0);
}

static void what_is_dropped_is_gone(void **unused)
{
	AUTO_FREE char *name = unfinished_name("out");
	int fd = unfinished_folder("out", name, NULL);

	assert_true(fd >= 0);
	fill(name);
	unfinished_drop(name);
	assert_int_equal(access(name, F_OK), -1);
	mem_close_fd(&fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_remove_what_is_unfinished),
		cmocka_unit_test(what_is_whole_stays),
		cmocka_unit_test(who_ignores_a_signal_goes_on),
		cmocka_unit_test(what_is_dropped_is_gone),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}

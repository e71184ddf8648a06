/* name_debuginfod.c - see name_debuginfod.h. */
#include "record/name_debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#define PROGRAM	   "debuginfod-find"
#define URLS	   "DEBUGINFOD_URLS"
#define FETCH_MS   300000
#define DIGITS_MIN 16 /* 8 bytes: what a linker makes at least (--build-id=fast) */
#define DIGITS_MAX 128
#define GIVEN_MAX  64 /* variables */

bool debuginfod_takes(const char *build_id)
{
	size_t digits = build_id ? strlen(build_id) : 0;

	return digits >= DIGITS_MIN && digits <= DIGITS_MAX && digits % 2 == 0 &&
	       strspn(build_id, "0123456789abcdef") == digits;
}

int debuginfod_find_program(char **out_program, struct err *err)
{
	const char *urls = getenv(URLS), *path = getenv("PATH");

	if (!urls || !urls[strspn(urls, " \t\n")])
		return err_set(err, -EINVAL,
			       URLS " is not set: it names the servers that --debuginfod asks");
	for (const char *at = path ? path : ""; *at; at += strspn(at, ":")) {
		size_t bytes = strcspn(at, ":");
		AUTO_FREE char *program = xasprintf("%.*s/" PROGRAM, (int)bytes, at);
		struct stat st;

		if (*at == '/' && access(program, X_OK) == 0 && stat(program, &st) == 0 &&
		    S_ISREG(st.st_mode)) {
			*out_program = xstrdup(program);
			return 0;
		}
		at += bytes;
	}
	return err_set(err, -ENOENT,
		       PROGRAM " is not installed; Debian and Ubuntu have it in the package "
			       "debuginfod, Fedora in elfutils-debuginfod-client");
}

/* What it may know of our environment. */
static bool is_given(const char *variable)
{
	static const char *const names[] = { "DEBUGINFOD_", "HOME=", "XDG_CACHE_HOME=" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

static _Noreturn void debuginfod_exec(const char *program, const char *kind, const char *build_id,
				      const int out[2])
{
	const char *const argv[] = { PROGRAM, kind, build_id, NULL };
	char *given[GIVEN_MAX + 1] = { 0 };
	size_t count = 0;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	for (char **variable = environ; *variable && count < GIVEN_MAX; variable++) {
		if (is_given(*variable))
			given[count++] = *variable;
	}
	child_reset_signals();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out[0], STDOUT_FILENO) < 0 ||
	    dup2(out[1], STDERR_FILENO) < 0)
		_exit(126);
	execve(program, (char *const *)argv, given);
	_exit(127);
}

/* The first line of what it printed. */
static void first_line(int fd, char out_line[PATH_MAX])
{
	size_t got = file_read_at(fd, 0, out_line, PATH_MAX - 1);

	out_line[got] = '\0';
	out_line[strcspn(out_line, "\n")] = '\0';
}

/* Returns its status as of waitpid(), or a negative errno: -ETIMEDOUT = it was ended. */
static int debuginfod_await(pid_t pid)
{
	AUTO_CLOSE int pidfd = pidfd_open(pid, 0);
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	bool is_late = pidfd < 0 || poll(&end, 1, FETCH_MS) == 0;
	int status;

	if (is_late)
		(void)kill(pid, SIGKILL); /* our child, not reaped yet */
	status = child_await(pid);
	return is_late ? -ETIMEDOUT : status;
}

int debuginfod_fetch(const char *program, enum debuginfod_kind kind, const char *build_id,
		     struct err *err)
{
	AUTO_CLOSE int told = memfd_create("found", MFD_CLOEXEC);
	AUTO_CLOSE int failed = memfd_create("failed", MFD_CLOEXEC);
	char line[PATH_MAX];
	int status, fd;
	pid_t pid;

	if (!debuginfod_takes(build_id))
		return err_set(err, -EINVAL, "its build-id is none that servers know");
	if (told < 0 || failed < 0)
		return err_set(err, -errno, "no room for what " PROGRAM " prints");
	pid = fork();
	if (pid == 0)
		debuginfod_exec(program, kind == DEBUGINFOD_DEBUG ? "debuginfo" : "executable",
				build_id, (int[]){ told, failed });
	if (pid < 0)
		return err_set(err, -errno, "cannot start " PROGRAM ": %s", strerror(errno));
	status = debuginfod_await(pid);
	if (status == -ETIMEDOUT)
		return err_set(err, status, PROGRAM " did not end within %d s", FETCH_MS / 1000);
	if (status < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
		first_line(failed, line);
		return err_set(err, -ENOENT, "%s", line[0] ? line : PROGRAM " found nothing");
	}
	first_line(told, line);
	fd = file_open_plain(line);
	return fd < 0 ? err_set(err, fd, PROGRAM " named no file that can be read") : fd;
}

/* top_record.c - holdup record and holdup why as children, with a pager behind. */
#include "cli/top_record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/tempdir.h"
#include "guard/drop.h"
#include "tui/top_model.h"

#define SECONDS "5"
#define SELF	"/proc/self/exe"

/* Signals as a program expects them; one that stops it would leave us waiting for it. */
static void reset_signals(void)
{
	sigset_t none;

	signal(SIGTSTP, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Returns what it exited with, 128 + signal, or a negative errno. */
static int wait_for_child(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* As wait_for_child(). */
static int run_child(const char *const argv[])
{
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0) {
		reset_signals();
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	return wait_for_child(child);
}

static int record(const struct top_task *task, const char *trace)
{
	AUTO_FREE char *pid = xasprintf("%d", task->tgid);
	const char *const argv[] = { SELF, "record", "-p", pid, "-d", SECONDS, "-o", trace, NULL };

	return run_child(argv);
}

static pid_t start_why(const struct top_task *task, const char *trace, int out_fd)
{
	AUTO_FREE char *tid = xasprintf("%d", task->tid);
	const char *const argv[] = { SELF, "why", "--colour", "never", "--tid", tid, trace, NULL };
	pid_t child = fork();

	if (child == 0) {
		reset_signals();
		(void)dup2(out_fd, STDOUT_FILENO);
		(void)dup2(out_fd, STDERR_FILENO);
		execv(SELF, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	return child;
}

/* A pager runs commands for whoever sits before it: so it is the user's, not root's. */
static pid_t start_pager(int in_fd)
{
	pid_t child = fork();

	if (child == 0) {
		reset_signals();
		(void)dup2(in_fd, STDIN_FILENO);
		(void)close_range(STDERR_FILENO + 1, ~0u, 0);
		if (guard_drop_to_sudo_user(NULL) < 0)
			_exit(126);
		execl("/bin/sh", "sh", "-c", "eval \"${PAGER:-less -R -K}\"", (char *)NULL);
		_exit(127);
	}
	return child;
}

/* Returns what the pager ended with. */
static int show_why(const struct top_task *task, const char *trace)
{
	pid_t why = -1, pager = -1;
	int fds[2], rc = -EAGAIN;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	why = start_why(task, trace, fds[1]);
	if (why > 0)
		pager = start_pager(fds[0]);
	mem_close_fd(&fds[0]);
	mem_close_fd(&fds[1]);
	if (pager > 0)
		rc = wait_for_child(pager);
	if (why > 0)
		(void)wait_for_child(why);
	return rc;
}

/* Others, such as cat, end at once, and the list would hide what they printed. */
static bool pager_waits(void)
{
	const char *pager = getenv("PAGER");

	return !pager || !pager[0] || strncmp(pager, "less", 4) == 0;
}

static void wait_for_user(void)
{
	char byte;

	fputs("Enter: back to holdup top ", stdout);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n' && byte != '\r')
		;
	puts("");
}

void top_record(const struct top_task *task)
{
	AUTO_FREE char *name = text_escaped(task->name);
	struct err err = { 0 };
	const char *trace;
	int rc = tempdir_make(&trace, &err);

	if (rc < 0) {
		printf("holdup top: %s\n", err.text);
		wait_for_user();
		return;
	}
	printf("Recording for " SECONDS " s, then why %s (%d) waited. Ctrl-C: shorter.\n", name,
	       task->tid);
	fflush(stdout);
	rc = record(task, trace);
	if (rc == 0)
		rc = show_why(task, trace);
	if (rc != 0)
		printf("holdup top: it ended with %d; nothing more to show\n", rc);
	if (rc != 0 || !pager_waits())
		wait_for_user();
	tempdir_remove();
}

/* top_record.c - holdup record as a child, then what ask/ says of the task, with a pager behind. */
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

#include "ask/explain.h"
#include "base/child.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/exit.h"
#include "cli/load.h"
#include "cli/rights.h"
#include "cli/tempdir.h"
#include "guard/drop.h"
#include "report/why.h"
#include "tui/top_model.h"

#define SECONDS "5"
#define SELF	"/proc/self/exe"

/* Signals as a program expects them; one that stops it would leave us waiting for it. */
static void top_record_reset_signals(void)
{
	sigset_t none;

	signal(SIGTSTP, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Returns what it exited with, 128 + signal, or a negative errno. */
static int wait_for_child(pid_t child)
{
	int status = child_await(child);

	if (status < 0)
		return status;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* As wait_for_child(). */
static int run_child(const char *const argv[])
{
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0) {
		top_record_reset_signals();
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	return wait_for_child(child);
}

static int top_record_all(const struct top_task *task, const char *trace)
{
	AUTO_FREE char *pid = xasprintf("%d", task->tgid);
	const char *const argv[] = { SELF, "record", "-p", pid, "-d", SECONDS, "-o", trace, NULL };

	return run_child(argv);
}

struct recorded {
	const struct top_task *task;
	const char *trace;
};

/*
 * What "holdup why" prints of the task, or why it cannot, for the pager. Who reads a trace gives up for
 * good what top needs for the next interval: in a child.
 */
static void top_record_print_why(void *context, FILE *out)
{
	const struct recorded *recorded = context;
	const char *trace = recorded->trace;
	const struct explain_opts opts = { .target.tid = recorded->task->tid };
	const struct report_why_opts report = { 0 };
	struct explained explained;
	struct err err = { 0 };
	int rc = rights_drop_for_trace(trace, &err);

	if (rc == 0)
		rc = load_begin(trace, &err);
	if (rc == 0)
		rc = explain_trace(trace, &opts, &explained, &err);
	if (rc < 0) {
		fprintf(out, "holdup why: %s\n", err.text);
		return;
	}
	report_why(out, explained.answer.results, explained.answer.count, explained.facts, &report);
	if (explained.beside.note)
		fprintf(out, "holdup why: %s\n", explained.beside.note);
	explained_fini(&explained);
}

/* A child of ours prints: it is the same program, which nobody has to find and start. */
static pid_t start_printing(void (*print)(void *context, FILE *out), void *context, int out_fd)
{
	pid_t child = fork();
	FILE *out;

	if (child != 0)
		return child;
	top_record_reset_signals();
	(void)dup2(out_fd, STDOUT_FILENO);
	(void)dup2(out_fd, STDERR_FILENO);
	(void)close_range(STDERR_FILENO + 1, ~0u, 0); /* top's sockets are root's */
	out = terminal_open(STDOUT_FILENO);
	if (!out)
		_exit(EXIT_FAIL);
	print(context, out);
	_exit(fclose(out) == 0 ? EXIT_OK : EXIT_FAIL);
}

/* A pager runs commands for whoever sits before it: so it is the user's, not root's. */
static pid_t top_record_start_pager(int in_fd)
{
	pid_t child = fork();

	if (child == 0) {
		top_record_reset_signals();
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
static int top_record_show(void (*print)(void *context, FILE *out), void *context)
{
	pid_t child = -1, pager = -1;
	int fds[2], rc = -EAGAIN;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	child = start_printing(print, context, fds[1]);
	if (child > 0)
		pager = top_record_start_pager(fds[0]);
	mem_close_fd(&fds[0]);
	mem_close_fd(&fds[1]);
	if (pager > 0)
		rc = wait_for_child(pager);
	if (child > 0)
		(void)wait_for_child(child);
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
	printf("Recording for " SECONDS " s, then explaining %s (%d). Ctrl-C stops early.\n", name,
	       task->tid);
	fflush(stdout);
	rc = top_record_all(task, trace);
	if (rc == 0)
		rc = top_record_show(top_record_print_why, &(struct recorded){ task, trace });
	if (rc != 0)
		printf("holdup top: holdup why exited with status %d\n", rc);
	if (rc != 0 || !pager_waits())
		wait_for_user();
	tempdir_remove();
}

void top_show(void (*print)(void *context, FILE *out), void *context)
{
	int rc = top_record_show(print, context);

	if (rc != 0)
		printf("holdup top: the pager exited with status %d\n", rc);
	if (rc != 0 || !pager_waits())
		wait_for_user();
}

/* top_record.c - holdup record and holdup why as children, with a pager behind. */
#include "cli/top_record.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/tempdir.h"
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
static int run_child(const char *const argv[])
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (child == 0) {
		reset_signals();
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int record(const struct top_task *task, const char *trace)
{
	AUTO_FREE char *pid = xasprintf("%d", task->tgid);
	const char *const argv[] = { SELF, "record", "-p", pid, "-d", SECONDS, "-o", trace, NULL };

	return run_child(argv);
}

/* The path of this program: /proc/self would be the shell. */
static int show_why(const struct top_task *task, const char *trace)
{
	static const char script[] = "\"$1\" why --colour never --tid \"$2\" \"$3\" 2>&1 | "
				     "eval \"${PAGER:-less -R -K}\"";
	AUTO_FREE char *program = xasprintf("/proc/%d/exe", getpid());
	AUTO_FREE char *tid = xasprintf("%d", task->tid);
	const char *const argv[] = { "/bin/sh", "-c", script, "sh", program, tid, trace, NULL };

	return run_child(argv);
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
	AUTO_FREE char *name = text_escaped(task->name), *trace = NULL;
	struct err err = { 0 };
	const char *folder;
	int rc = tempdir_make(&folder, &err);

	if (rc < 0) {
		printf("holdup top: %s\n", err.text);
		wait_for_user();
		return;
	}
	trace = xasprintf("%s/top.holdup", folder);
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

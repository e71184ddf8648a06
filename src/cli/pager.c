/* pager.c - a child that waits for the report, then becomes the pager. */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/terminal.h"
#include "base/text.h"
#include "guard/drop.h"

/* R: our colours pass. F: what fits on the screen is printed, and that is all. X: and stays there. */
#define LESS_FLAGS "FRX"
#define DEFAULT	   "if command -v less >/dev/null; then exec less -" LESS_FLAGS "; else exec cat; fi"

#define CANNOT_RUN 126 /* what a shell returns from here on */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static struct {
	const char *command;  /* NULL = no pager is wanted */
	volatile pid_t child; /* 0 = there is none */
} pager;

/* An empty one, and cat, are none; neither is less where the terminal can do nothing. */
static const char *chosen_command(void)
{
	const char *const names[] = { "HOLDUP_PAGER", "PAGER" };
	const char *term = getenv("TERM");

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *command = secure_getenv(names[i]);

		if (command)
			return *command && strcmp(command, "cat") != 0 ? command : NULL;
	}
	return term && *term && strcmp(term, "dumb") != 0 ? DEFAULT : NULL;
}

void pager_want(void)
{
	pager.command = isatty(STDOUT_FILENO) == 1 ? chosen_command() : NULL;
}

bool pager_is_begun(void)
{
	return pager.child > 0;
}

/* ------------------------------------------------------------------ the child */

static void pager_reset_signals(void)
{
	sigset_t none;

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		(void)signal(ends[i], SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Returns whether there is a report at all. */
static bool wait_for_report(void)
{
	struct pollfd report = { .fd = STDIN_FILENO, .events = POLLIN };

	while (poll(&report, 1, -1) < 0) {
		if (errno != EINTR)
			return false;
	}
	return report.revents & POLLIN;
}

/* Says by 'ready_fd' that it has become whom it shall be. */
static void run_pager(int in_fd, int ready_fd)
{
	pager_reset_signals();
	if (dup2(in_fd, STDIN_FILENO) < 0 || dup2(ready_fd, STDERR_FILENO + 1) < 0)
		_exit(CANNOT_RUN);
	(void)close_range(STDERR_FILENO + 2, ~0u, 0);
	if (guard_drop_to_sudo_user(NULL) < 0 || write(STDERR_FILENO + 1, "", 1) != 1)
		_exit(CANNOT_RUN);
	(void)close(STDERR_FILENO + 1);
	if (!wait_for_report())
		_exit(0);
	(void)setenv("LESS", LESS_FLAGS, 0); /* out of memory: colours are shown as codes */
	(void)setenv("LV", "-c", 0);	     /* as above */
	execl("/bin/sh", "sh", "-c", pager.command, (char *)NULL);
	_exit(CANNOT_RUN);
}

/* ------------------------------------------------------------------ the parent */

/* Calls nothing but what a handler may. Returns what it ended with, as waitpid(); 0 when there is none. */
static int wait_for_pager(void)
{
	int status;

	(void)close(STDOUT_FILENO); /* the end of the report, for the pager */
	status = pager.child > 0 ? child_await(pager.child) : 0;
	pager.child = 0;
	return status < 0 ? 0 : status;
}

static void pager_on_end(int signal_number)
{
	(void)wait_for_pager();
	(void)signal(signal_number, SIG_DFL);
	(void)raise(signal_number);
}

void pager_catch_signals(void)
{
	struct sigaction action = { .sa_handler = pager_on_end, .sa_flags = SA_RESTART }, now;

	if (pager.child <= 0)
		return;
	(void)sigfillset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			(void)sigaction(ends[i], &action, NULL);
	}
	(void)signal(SIGPIPE, SIG_IGN); /* who leaves the pager has seen enough */
}

/* Returns the child, or 0 when it could not become whom it shall be. */
static pid_t pager_start(int in_fd)
{
	AUTO_CLOSE int told = -1;
	int ready[2];
	pid_t child;
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return 0;
	told = ready[0];
	child = fork();
	if (child == 0)
		run_pager(in_fd, ready[1]);
	mem_close_fd(&ready[1]);
	if (child < 0)
		return 0;
	if (file_read_next(told, &byte, 1) == 1)
		return child;
	(void)child_await(child);
	return 0;
}

void pager_begin(void)
{
	AUTO_CLOSE int in_fd = -1;
	AUTO_CLOSE int out_fd = -1;
	int fds[2];

	if (!pager.command || pager.child || pipe2(fds, O_CLOEXEC) < 0)
		return;
	in_fd = fds[0];
	out_fd = fds[1];
	(void)fflush(stdout);
	pager.child = pager_start(in_fd);
	if (!pager.child)
		return;
	terminal_begin_paged();
	(void)dup2(out_fd, STDOUT_FILENO);
	pager_catch_signals();
}

void pager_end(void)
{
	AUTO_FREE char *safe = NULL;
	int status;

	if (pager.child <= 0)
		return;
	terminal_end_paged();
	/* All was printed: what the keys send is the pager's now. */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	status = wait_for_pager();
	if (!WIFEXITED(status) || WEXITSTATUS(status) < CANNOT_RUN)
		return;
	safe = text_escaped(pager.command);
	fprintf(stderr,
		"holdup: the pager \"%s\" cannot run; holdup --no-pager prints without one\n",
		safe);
}

/*
 * command.c - fork, become the right user, wait, execute.
 *
 * Everything that allocates or reads files is done before the fork: the child of a
 * program with threads may only use what is safe in a signal handler.
 */
#include "record/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/user.h"
#include "record/pidns.h"
#include "proc/proc.h"

#define EXIT_NOT_FOUND	  127
#define EXIT_NOT_RUNNABLE 126
#define OWNED_MAX	  16
#define AWAIT_STEP_NS	  200000
#define AWAIT_STEPS	  10000 /* 2 s at least: a machine may be busy */

extern char **environ;

/* Who the command runs as. */
struct identity {
	bool change;
	struct guard_user user;	    /* owned */
	char **environment;	    /* owned, and what is in it beyond environ; NULL = unchanged */
	char *owned[OWNED_MAX + 1]; /* strings made for the environment, then NULL */
	char *path; /* owned; the program's file: the search is not the command's doing */
};

static void identity_fini(struct identity *who)
{
	for (size_t i = 0; i < ARRAY_LEN(who->owned); i++)
		free(who->owned[i]);
	free(who->environment);
	guard_user_fini(&who->user);
	free(who->path);
}

/* Does NAME=VALUE say something of a name in 'texts', of which each is NAME=VALUE? */
static bool is_among(const char *variable, char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!strncmp(variable, texts[i], strcspn(texts[i], "=") + 1))
			return true;
	}
	return false;
}

/* A copy of our environment in which some variables are those in 'owned'. */
static void make_environment(struct identity *who)
{
	size_t count = 0, used = 0, owned = 0;

	while (who->owned[owned])
		owned++;
	while (environ[count])
		count++;
	who->environment = xcalloc(count + owned + 1, sizeof(char *));
	for (size_t i = 0; i < count; i++) {
		if (!is_among(environ[i], who->owned, owned))
			who->environment[used++] = environ[i];
	}
	for (size_t i = 0; i < owned; i++)
		who->environment[used++] = who->owned[i];
}

static void own_user(struct identity *who)
{
	who->owned[0] = xasprintf("HOME=%s", who->user.home);
	who->owned[1] = xasprintf("USER=%s", who->user.name);
	who->owned[2] = xasprintf("LOGNAME=%s", who->user.name);
	who->owned[3] = xasprintf("SHELL=%s", who->user.shell);
}

static void own_more(struct identity *who, const char *const *more)
{
	size_t owned = 0;

	while (who->owned[owned])
		owned++;
	for (; more && *more && owned < OWNED_MAX; more++)
		who->owned[owned++] = xstrdup(*more);
	if (owned)
		make_environment(who);
}

static void find_identity(struct identity *who)
{
	who->change = guard_user_find(&who->user);
	if (who->change && who->user.name)
		own_user(who);
}

static void __attribute__((noreturn)) report_and_exit(int error_fd)
{
	int code = errno;

	(void)!write(error_fd, &code, sizeof(code)); /* else the parent sees the end only */
	_exit(code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE);
}

/*
 * From the byte on that lets it go the command is traced as its own: nothing but
 * the execve() of the command follows.
 */
static void __attribute__((noreturn))
be_child(const struct command_setup *setup, const struct identity *who, int go_fd, int error_fd)
{
	char go;
	ssize_t got;

	if (who->change && (setgroups(who->user.group_count, who->user.groups) < 0 ||
			    setresgid(who->user.gid, who->user.gid, who->user.gid) < 0 ||
			    setresuid(who->user.uid, who->user.uid, who->user.uid) < 0))
		report_and_exit(error_fd);
	sigprocmask(SIG_SETMASK, setup->signal_mask, NULL);
	pidns_mark(setup->pidns);
	got = file_read_next(go_fd, &go, 1);
	if (got != 1) /* the recorder is gone */
		_exit(EXIT_NOT_RUNNABLE);
	execvpe(who->path ? who->path : setup->argv[0], setup->argv,
		who->environment ? who->environment : environ);
	report_and_exit(error_fd);
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISDIR(st.st_mode);
}

char *command_search(const char *name, bool any)
{
	AUTO_FREE char *path = xstrdup(getenv("PATH") ? getenv("PATH") : "/bin:/usr/bin");
	char *part, *rest = path;

	while (*name && (part = strsep(&rest, ":"))) {
		char *whole = xasprintf("%s/%s", *part ? part : ".", name);

		if (is_file(whole) && (any || access(whole, X_OK) == 0))
			return whole;
		free(whole);
	}
	return NULL;
}

int command_find(const char *name, struct err *err)
{
	AUTO_FREE char *found = NULL;

	if (strchr(name, '/')) {
		if (is_file(name))
			return 0;
		if (access(name, F_OK) < 0)
			return err_set(err, -errno, "cannot run %s: %s", name, strerror(errno));
		return err_set(err, -EACCES, "cannot run %s: it is a directory", name);
	}
	found = command_search(name, true);
	if (found)
		return 0;
	return err_set(err, -ENOENT, "cannot run '%s': no such command", name);
}

static int fork_child(const struct command_setup *setup, struct command *command, struct err *err)
{
	struct identity who = { 0 };
	int go[2] = { -1, -1 }, error[2] = { -1, -1 };
	int rc = 0;

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
		rc = err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	if (rc == 0 && !setup->as_root)
		find_identity(&who);
	own_more(&who, setup->environment);
	if (!strchr(setup->argv[0], '/'))
		who.path = command_search(setup->argv[0], false);
	if (rc == 0)
		command->pid = fork();
	if (rc == 0 && command->pid == 0) {
		close(go[1]);
		be_child(setup, &who, go[0], error[1]);
	}
	if (rc == 0 && command->pid < 0) {
		command->pid = 0;
		rc = err_set(err, -errno, "cannot fork: %s", strerror(errno));
	}
	identity_fini(&who);
	mem_close_fd(&go[0]);
	mem_close_fd(&error[1]);
	command->go_fd = go[1];
	command->error_fd = error[0];
	return rc;
}

/* Is our process group in the foreground of a terminal? */
static bool has_terminal(void)
{
	AUTO_CLOSE int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	return fd >= 0 && tcgetpgrp(fd) == getpgrp();
}

/* A shell that died under us may have left the terminal to a group that is gone. */
static void take_terminal_back(void)
{
	AUTO_CLOSE int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && tcgetpgrp(fd) != getpgrp())
		(void)tcsetpgrp(fd, getpgrp()); /* SIGTTOU is blocked */
}

static void close_all(struct command *command)
{
	mem_close_fd(&command->pid_fd);
	mem_close_fd(&command->go_fd);
	mem_close_fd(&command->error_fd);
	*command = COMMAND_NONE;
}

void command_drop(struct command *command)
{
	bool waits = command->go_fd >= 0 && command->pid > 0;

	/* A child that still waits for its start sees the end of the pipe and exits. */
	mem_close_fd(&command->go_fd);
	command->go_fd = -1;
	if (waits)
		(void)waitpid(command->pid, NULL, 0); /* it has no status to tell */
	close_all(command);
}

/*
 * Wait until the child is asleep where it waits for its start. What it does before that is
 * none of the command's doing, and must be over when the command begins.
 */
static void await_asleep(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = AWAIT_STEP_NS };
	AUTO_CLOSE int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct proc_thread child;

	for (int i = 0; i < AWAIT_STEPS; i++) {
		if (!proc_read_thread(proc_fd, pid, pid, &child) || child.state == 'S')
			return;
		(void)nanosleep(&pause, NULL); /* a signal makes it shorter: no harm */
	}
}

int command_fork(const struct command_setup *setup, struct command *out_command, struct err *err)
{
	struct command command = COMMAND_NONE;
	int rc;

	command.had_terminal = has_terminal();
	rc = fork_child(setup, &command, err);
	if (rc == 0) {
		command.pid_fd = pidfd_open(command.pid, 0);
		if (command.pid_fd < 0)
			rc = err_set(err, -errno, "cannot watch the command: %s", strerror(errno));
		await_asleep(command.pid);
	}
	if (rc < 0) {
		command_drop(&command);
		return rc;
	}
	*out_command = command;
	return 0;
}

int command_go(struct command *command, const char *name, struct err *err)
{
	int code = 0;
	ssize_t got;

	(void)!write(command->go_fd, "g", 1); /* fails only if the child died: seen below */
	mem_close_fd(&command->go_fd); /* nobody waits for its start any more: command_drop() */
	command->go_fd = -1;
	got = file_read_next(command->error_fd, &code, sizeof(code));
	if (got != sizeof(code))
		return 0;
	(void)command_reap(command);
	return err_set(err, -code, "cannot run %s: %s", name, strerror(code));
}

void command_signal(const struct command *command, int sig)
{
	if (command->pid > 0)
		(void)pidfd_send_signal(command->pid_fd, sig, NULL, 0); /* it may have ended */
}

int command_reap(struct command *command)
{
	int status = child_await(command->pid);

	status = status < 0 ? -1 : status;
	if (command->had_terminal)
		take_terminal_back();
	close_all(command);
	return status;
}

int command_exec_status(int code)
{
	return (code == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE) << 8;
}

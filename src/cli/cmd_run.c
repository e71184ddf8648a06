/* cmd_run.c - holdup run: run a command that logs its own events, without the kernel's. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/opts.h"
#include "cli/preload.h"
#include "cli/recording.h"
#include "guard/drop.h"
#include "record/interrupt.h"

#define NOT_FOUND      127
#define NOT_EXECUTABLE 126
#define CLOCK_FILE     ".clock" /* what libholdup has measured, for all processes */

struct run_cmd {
	const char *dir;
	bool locks;
	bool contended;
};

static const struct opt_spec run_options[] = {
	{ "dir", "DIR", "Write the traces to DIR (default run.holdup)", opt_string,
	  offsetof(struct run_cmd, dir), 'o' },
	{ "locks", NULL, "Record the command's lock events, for holdup locks", opt_flag,
	  offsetof(struct run_cmd, locks) },
	{ "contended", NULL, "Record only contended lock operations", opt_flag,
	  offsetof(struct run_cmd, contended) },
	{ 0 },
};

/* ---------------------------------------------------------------- the folder */

/* What libholdup writes into the folder of a trace. */
static bool is_trace_file(const char *name)
{
	return strcmp(name, "metadata") == 0 || strncmp(name, "cpu", 3) == 0;
}

static bool run_is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Call 'visit' for each name in the folder until one returns less than 0. */
static int each_name(int dir_fd, int (*visit)(int dir_fd, const char *name))
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int rc = 0;

	if (!dir) {
		rc = -errno;
		mem_close_fd(&fd);
		return rc;
	}
	while (rc == 0 && (entry = readdir(dir))) {
		if (!run_is_dot(entry->d_name))
			rc = visit(dir_fd, entry->d_name);
	}
	(void)closedir(dir);
	return rc;
}

static int check_file(int dir_fd, const char *name)
{
	(void)dir_fd;
	return is_trace_file(name) ? 0 : -EEXIST;
}

static int check_folder(int dir_fd, const char *name)
{
	AUTO_CLOSE int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (strcmp(name, CLOCK_FILE) == 0)
		return 0;
	return fd < 0 ? -EEXIST : each_name(fd, check_file);
}

static int remove_file(int dir_fd, const char *name)
{
	return is_trace_file(name) && unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
}

static int remove_folder(int dir_fd, const char *name)
{
	AUTO_CLOSE int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd < 0 ? -errno : each_name(fd, remove_file);

	if (strcmp(name, CLOCK_FILE) == 0)
		return unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
	return rc == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 ? -errno : rc;
}

/* A new folder, or one with nothing but traces of an earlier run, which are removed. */
static int run_make_folder(const char *path, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	int rc = 0;

	if (mkdir(path, 0700) == 0)
		return 0;
	if (errno == EEXIST)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot make %s: %s", path, strerror(errno));
	rc = each_name(fd, check_folder);
	if (rc == -EEXIST)
		return err_set(err, rc, "%s contains other files; choose another directory with -o",
			       path);
	if (rc == 0)
		rc = each_name(fd, remove_folder);
	return rc < 0 ? err_set(err, rc, "cannot empty %s: %s", path, strerror(-rc)) : 0;
}

/* --------------------------------------------------------------- the command */

/* In the child, which waits until it may. Returns only when it cannot be executed. */
static void execute(char **argv, const sigset_t *mask, int go_fd)
{
	AUTO_FREE char *safe = text_escaped(argv[0]);
	int error;
	char go;

	(void)sigprocmask(SIG_SETMASK, mask, NULL); /* keys since the fork end it here */
	if (read(go_fd, &go, 1) != 1)
		_exit(NOT_EXECUTABLE);
	(void)execvp(argv[0], argv);
	error = errno;
	fprintf(stderr, "holdup run: cannot run %s: %s\n", safe, strerror(error));
	_exit(error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

/* Keys of a terminal reach the command as well; what comes from elsewhere is passed on. */
static void pass_on(const siginfo_t *info, pid_t pid)
{
	if (info->si_signo != SIGCHLD && !interrupt_is_shared(info->si_signo, info->si_code))
		(void)kill(pid, info->si_signo); /* it decides what that does; not reaped yet */
}

static int run_wait_for(pid_t pid, const sigset_t *signals, struct err *err)
{
	siginfo_t info;
	int status;
	pid_t ended;

	while ((ended = waitpid(pid, &status, WNOHANG)) <= 0) {
		if (ended < 0 && errno != EINTR)
			return err_set(err, -errno, "cannot wait for the command: %s",
				       strerror(errno));
		if (sigwaitinfo(signals, &info) > 0)
			pass_on(&info, pid);
	}
	return recording_status(status);
}

/* The child goes unless a signal came before it was there. Returns 0 or that signal. */
static int run_let_go(int go_fd, pid_t pid)
{
	int signal_number = interrupt_pending();

	if (!signal_number && write(go_fd, "g", 1) == 1)
		return 0;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0); /* it did nothing */
	return signal_number;
}

/* Signals are blocked. Returns the exit status of the command, or negative with err filled. */
static int run_blocked(char **argv, const sigset_t *signals, const sigset_t *before,
		       struct err *err)
{
	int go[2], signal_number;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		(void)close(go[1]);
		execute(argv, before, go[0]);
	}
	mem_close_fd(&go[0]);
	signal_number = pid < 0 ? 0 : run_let_go(go[1], pid);
	mem_close_fd(&go[1]);
	if (pid < 0)
		return err_set(err, -errno, "cannot start the command: %s", strerror(errno));
	return signal_number ? command_end_by(signal_number) : run_wait_for(pid, signals, err);
}

static int run_command(char **argv, struct err *err)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	sigset_t signals, before;
	int rc;

	(void)sigaction(SIGCHLD, &usual, NULL); /* ignored, it would take the status away */
	interrupt_signals(&signals);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &signals, &before);
	rc = run_blocked(argv, &signals, &before, err);
	/* What waits by now has done its work: it ended the command. */
	while (sigtimedwait(&signals, NULL, &(const struct timespec){ 0 }) > 0)
		;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static int count_folder(int dir_fd, const char *name)
{
	(void)dir_fd;
	(void)name;
	return 1;
}

/* Has anything been written? */
static bool has_traces(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && each_name(fd, count_folder) > 0;
}

/* Returns the exit status of the command, or negative with err filled. */
static int run_with(const struct run_cmd *cmd, const char *dir, char **argv, struct err *err)
{
	const struct preload_locks opts = { .contended = cmd->contended };
	AUTO_FREE char *safe = text_escaped(dir);
	int rc = run_make_folder(dir, err);

	if (rc == 0)
		rc = cmd->locks ? preload_locks(dir, &opts, err) : preload_none(dir, err);
	if (rc < 0)
		return rc;
	if (cmd->locks)
		preload_note(argv[0]);
	rc = run_command(argv, err);
	if (rc < 0)
		return rc;
	if (rc == NOT_FOUND || rc == NOT_EXECUTABLE)
		return rc;
	if (!has_traces(dir))
		fputs("holdup: the command logged no events: it does not use libholdup (or is "
		      "linked statically)\n",
		      stderr);
	else
		fprintf(stderr, "holdup: see: holdup %s %s\n", cmd->locks ? "locks" : "list", safe);
	return rc;
}

static int run_run(int argc, char **argv)
{
	struct run_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(run_options, &cmd, argc, argv, &err);
	char **command;
	int rc;

	if (first < 0)
		return command_usage(&cmd_run, first, &err);
	command = opts_command(argv, first, &argc);
	if (argc > first)
		(void)err_set(&err, -EINVAL, "write -- before the command: -- %s ...", argv[first]);
	else if (!command || !command[0])
		(void)err_set(&err, -EINVAL, "no command; write it after --");
	else if (cmd.contended && !cmd.locks)
		(void)err_set(&err, -EINVAL, "--contended needs --locks");
	if (err.code)
		return command_usage(&cmd_run, err.code, &err);
	if (guard_become_sudo_user(&err) < 0)
		return command_fail(&cmd_run, &err);
	rc = run_with(&cmd, cmd.dir ? cmd.dir : DEFAULT_TRACE, command, &err);
	return rc < 0 ? command_fail(&cmd_run, &err) : rc;
}

static const struct opt_moved run_moved[] = { { "--output", "--dir" }, { 0 } };

const struct command cmd_run = {
	.name = "run",
	.args = "[OPTIONS] -- COMMAND ARGS...",
	.summary = "Run a command and record its user-space events, without root",
	.options = run_options,
	.moved = run_moved,
	.details =
		"Runs the command such that it and its descendants record their own events: those\n"
		"of libholdup and, with --locks, operations on pthread mutexes, read-write locks,\n"
		"condition variables, spin locks and barriers (also those of C++ and C11). The\n"
		"kernel is not recorded. Traces are written to run.holdup or to the directory of\n"
		"-o; older traces there are removed.\n"
		"\n"
		"Taking and releasing a lock costs 50 to 90 ns more with --locks, 10 ns with\n"
		"--contended. Statically linked programs and locks inside the C library are not\n"
		"recorded.\n"
		"\n"
		"Exit status: that of the command (128 + signal if it was killed, 126 or 127 if\n"
		"it could not be started); 2 wrong usage; 3 preparing the command failed.\n"
		"\n"
		"  holdup run --locks -- ./server --port 8000\n"
		"  holdup run --locks --contended -o server.holdup -- ./server\n"
		"  holdup locks run.holdup\n",
	.run = run_run,
};

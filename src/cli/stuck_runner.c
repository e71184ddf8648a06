/* stuck_runner.c - see stuck_runner.h. */
#include "cli/stuck_runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"
#include "base/mem.h"
#include "guard/drop.h"

#define MESSAGE_MAX   16384
#define COMMANDS_MOST 4 /* at a time */
#define PATIENCE_MS   5000

struct stuck_runner {
	pid_t pid;
	int fd; /* owned: a message for each run */
};

/* 'texts': each ends in NUL. */
static void exec_command(const char *command, char *texts, size_t bytes)
{
	child_reset_signals();
	(void)setpgid(0, 0); /* keys of the terminal are for the one who watches */
	for (char *at = texts; at < texts + bytes; at += strlen(at) + 1)
		(void)putenv(at);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static int reap(int running)
{
	while (running && waitpid(-1, NULL, WNOHANG) > 0)
		running--;
	return running;
}

/* In the child; it ends when nobody holds the other end. */
static void serve(int fd, const char *command)
{
	static char message[MESSAGE_MAX + 1];
	int running = 0;
	ssize_t got;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, i == SIGCHLD ? SIG_DFL : SIG_IGN);
	while ((got = recv(fd, message, MESSAGE_MAX, 0)) > 0) {
		pid_t child;

		message[got] = '\0';
		running = reap(running);
		child = running < COMMANDS_MOST ? fork() : -1;
		if (child == 0)
			exec_command(command, message, (size_t)got);
		running += child > 0;
	}
	while (running-- > 0 && wait(NULL) > 0)
		;
	_exit(0);
}

static void begin_child(int fd, int other_fd, const char *command)
{
	struct err err = { 0 };

	close(other_fd);
	if (guard_become_sudo_user(&err) < 0)
		_exit(1);
	serve(fd, command);
}

struct stuck_runner *stuck_runner_start(const char *command, struct err *err)
{
	struct stuck_runner *runner;
	int fds[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) {
		err_set(err, -errno, "cannot make a socket: %s", strerror(errno));
		return NULL;
	}
	pid = fork();
	if (pid == 0)
		begin_child(fds[1], fds[0], command);
	close(fds[1]);
	if (pid < 0) {
		err_set(err, -errno, "cannot make a process: %s", strerror(errno));
		close(fds[0]);
		return NULL;
	}
	runner = xcalloc(1, sizeof(*runner));
	*runner = (struct stuck_runner){ pid, fds[0] };
	return runner;
}

int stuck_runner_run(struct stuck_runner *runner, const char *const *texts)
{
	char message[MESSAGE_MAX];
	size_t bytes = 0;

	for (size_t i = 0; texts[i]; i++) {
		size_t length = strlen(texts[i]) + 1;

		if (length > sizeof(message) - bytes)
			return -E2BIG;
		memcpy(message + bytes, texts[i], length);
		bytes += length;
	}
	return send(runner->fd, message, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void stuck_runner_end(struct stuck_runner *runner)
{
	struct pollfd ended;

	if (!runner)
		return;
	close(runner->fd);
	ended = (struct pollfd){ .fd = pidfd_open(runner->pid, 0), .events = POLLIN };
	if (ended.fd >= 0 && poll(&ended, 1, PATIENCE_MS) > 0)
		(void)child_await(runner->pid);
	mem_close_fd(&ended.fd);
	free(runner);
}

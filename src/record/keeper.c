/* keeper.c - see keeper.h. */
#include "record/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "guard/caps.h"
#include "proc/proc.h"
#include "record/flight.h"

#define BACK_OFF_S   1u
#define BACK_OFF_MAX 60u
#define LASTED_NS    UINT64_C(60000000000) /* that long it worked: the next pause is short again */
#define DEEP	     4			   /* children of children */
#define NOTED_MOST   12

/* Of the keeper, for its handler. */
static volatile sig_atomic_t child_pid, is_over;
static int child_signal;

/* ------------------------------------------------------------------ the keeper */

static void on_end(int signal_number)
{
	(void)signal_number;
	is_over = 1;
	if (child_pid > 0)
		(void)kill((pid_t)child_pid, child_signal); /* not reaped: we wait for it */
}

static void hold_end(bool is_held)
{
	sigset_t end;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(is_held ? SIG_BLOCK : SIG_UNBLOCK, &end, NULL);
}

/* Returns its status, as of waitpid(). */
static int run_child(const struct keeper *keeper, uint32_t before)
{
	pid_t pid;
	int status = 0;

	hold_end(true);
	pid = is_over ? -1 : fork();
	if (pid == 0) {
		child_reset_signals();
		keeper->run(keeper->context, before);
		_exit(1);
	}
	child_pid = pid;
	if (pid > 0 && keeper->begun)
		keeper->begun(keeper->context, pid);
	hold_end(false);
	if (pid > 0)
		status = child_await(pid);
	child_pid = 0;
	return status < 0 ? 0 : status;
}

static void __attribute__((noreturn)) keep(const struct keeper *keeper)
{
	unsigned int pause_s = BACK_OFF_S;
	bool is_told = false;

	for (uint32_t before = 0; !is_over; before += before < UINT32_MAX) {
		uint64_t begun_ns = clock_now_ns();
		int status = run_child(keeper, before);

		if (is_over)
			break;
		if (clock_now_ns() - begun_ns >= LASTED_NS) {
			pause_s = BACK_OFF_S;
			is_told = false;
		}
		keeper->ended(keeper->context, status, pause_s, is_told);
		is_told = pause_s == BACK_OFF_MAX;
		(void)sleep(pause_s);
		pause_s = pause_s * 2 < BACK_OFF_MAX ? pause_s * 2 : BACK_OFF_MAX;
	}
	_exit(0);
}

/* Nothing of the recorder's stays open: neither its lock nor its folders. */
static void __attribute__((noreturn)) keeper_main(const struct keeper *keeper, pid_t recorder)
{
	struct sigaction action = { .sa_handler = on_end };
	struct err err = { 0 };
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i <= STDERR_FILENO; i++)
		(void)dup2(null_fd, i);
	if (!child_keep_fds(keeper->fds, keeper->fd_count))
		_exit(1);
	hold_end(true);
	child_signal = keeper->end_signal;
	(void)sigaction(SIGTERM, &action, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_NAME, keeper->name);
	if (keeper->rights && guard_caps_keep(keeper->rights, &err) < 0)
		_exit(1);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != recorder)
		_exit(1);
	keep(keeper);
}

/* ---------------------------------------------------------------- the recorder */

pid_t keeper_start(const struct keeper *keeper, struct err *err)
{
	pid_t recorder = getpid(), pid = fork();

	if (pid == 0)
		keeper_main(keeper, recorder);
	return pid < 0 ? err_set(err, -EAGAIN, "cannot fork: %s", strerror(errno)) : pid;
}

void keeper_end(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGTERM); /* our child, not reaped yet */
	(void)child_await(pid);
}

char *keeper_how(int status)
{
	return WIFSIGNALED(status) ? xasprintf("was ended by signal %d", WTERMSIG(status))
				   : xasprintf("ended with status %d", WEXITSTATUS(status));
}

/* 'pid' and what it has begun; at most 'most' of them. Returns how many. */
static size_t find_processes(int32_t pid, int deep, int32_t *pids, size_t most)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/task/%d/children", pid, pid);
	AUTO_FILE FILE *file = deep > 0 ? fopen(path, "re") : NULL;
	size_t count = 0;
	int32_t child;

	if (most)
		pids[count++] = pid;
	while (file && count < most && fscanf(file, "%d", &child) == 1)
		count += find_processes(child, deep - 1, pids + count, most - count);
	return count;
}

/* Its own, and of those that it has waited for. */
static uint64_t cpu_ns_of(int32_t pid)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/stat", pid);
	unsigned long user, system, user_of, system_of;
	char text[1024], *behind;

	if (proc_read(AT_FDCWD, path, text, sizeof(text)) <= 0 || !(behind = strrchr(text, ')')) ||
	    sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
		   &user, &system, &user_of, &system_of) != 4)
		return 0;
	return (uint64_t)(user + system + user_of + system_of) *
	       (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

uint64_t keeper_cpu_ns(pid_t pid)
{
	int32_t pids[NOTED_MOST];
	size_t count = pid > 0 ? find_processes(pid, DEEP, pids, ARRAY_LEN(pids)) : 0;
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < count; i++)
		sum_ns += cpu_ns_of(pids[i]);
	return sum_ns;
}

void keeper_note(pid_t pid, struct flight *flight)
{
	int32_t pids[NOTED_MOST];
	size_t count = pid > 0 ? find_processes(pid, DEEP, pids, ARRAY_LEN(pids)) : 0;

	for (size_t i = 0; i < count; i++)
		flight_note_helper(flight, pids[i]);
}

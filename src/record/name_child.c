/* name_child.c - see name_child.h. */
#include "record/name_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"
#include "base/mem.h"
#include "guard/caps.h"
#include "guard/filter.h"
#include "proc/stat.h"

#define CPU_SECONDS  30u
#define BUSY_MS	     8000	       /* that a child may wait for a CPU */
#define MEMORY_BYTES ((rlim_t)4 << 30) /* of addresses: files are mapped */

/* Nothing that it could still do would harm anybody. */
void name_child_give_up(void)
{
	const struct rlimit time = { CPU_SECONDS, CPU_SECONDS + 1 }, /* SIGXCPU, then SIGKILL */
		memory = { MEMORY_BYTES, MEMORY_BYTES };
	struct err ignored = { 0 };

	(void)setrlimit(RLIMIT_CPU, &time);
	if (!guard_filter_is_wide()) /* sanitizers take terabytes of addresses */
		(void)setrlimit(RLIMIT_AS, &memory);
	guard_caps_helper(0);
	if (guard_filter_reader(NULL, 0, &ignored) < 0)
		_exit(1);
}

/* How much longer it may take, by the CPU time that it had; 0 = no longer, or it waits for something else. */
static int child_more_ms(pid_t pid, int wait_ms)
{
	char path[32], line[STAT_BYTES_MAX];
	struct proc_stat stat;
	struct timespec had;
	clockid_t clock;
	int64_t had_ms;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!stat_read(AT_FDCWD, path, line, &stat) || stat.state != 'R' ||
	    clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &had) < 0)
		return 0;
	had_ms = (int64_t)had.tv_sec * 1000 + had.tv_nsec / 1000000;
	return had_ms < wait_ms ? wait_ms - (int)had_ms : 0;
}

/* A child that waits for a CPU is not late: others have the CPUs. */
static bool child_is_late(pid_t pid, int pidfd, int wait_ms)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	int more_ms = wait_ms, busy_ms = BUSY_MS;

	while (pidfd >= 0 && more_ms > 0) {
		if (poll(&end, 1, more_ms) != 0)
			return false;
		more_ms = child_more_ms(pid, wait_ms);
		if (more_ms > busy_ms)
			more_ms = busy_ms;
		busy_ms -= more_ms;
	}
	return true;
}

int name_child_await(pid_t pid, int wait_ms, struct err *err)
{
	int pidfd = pidfd_open(pid, 0);
	const bool is_late = child_is_late(pid, pidfd, wait_ms);
	int status;

	if (is_late)
		(void)kill(pid, SIGKILL); /* our child, not reaped yet */
	mem_close_fd(&pidfd);
	status = child_await(pid);
	if (status < 0)
		return err_set(err, status, "the unwinder process exited: %s", strerror(-status));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return err_set(err, -EIO, "the unwinder process used %u s of CPU time",
			       CPU_SECONDS);
	if (WIFSIGNALED(status) && is_late)
		return err_set(err, -EIO, "the unwinder process did not end within %d ms", wait_ms);
	if (WIFSIGNALED(status))
		return err_set(err, -EIO, "the unwinder process was killed by signal %d (%s)",
			       WTERMSIG(status), strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status) ? err_set(err, -EIO, "stacks could not be written") : 0;
}

/* child.c - waitpid() over signals, and signals of a child. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

int child_await(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return status;
}

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

uint64_t child_spent_ns(void)
{
	struct rusage used;

	if (getrusage(RUSAGE_CHILDREN, &used) < 0)
		return 0;
	return timeval_ns(used.ru_utime) + timeval_ns(used.ru_stime);
}

void child_reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* First out of each other's way. */
bool child_keep_fds(int *fds, size_t count)
{
	int first = STDERR_FILENO + 1, behind = first + (int)count;

	for (size_t i = 0; i < count; i++) {
		fds[i] = fcntl(fds[i], F_DUPFD, behind);
		if (fds[i] < 0)
			return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (dup2(fds[i], first + (int)i) < 0)
			return false;
		fds[i] = first + (int)i;
	}
	return close_range((unsigned int)behind, ~0u, 0) == 0;
}

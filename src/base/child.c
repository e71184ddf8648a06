/* child.c - waitpid() over signals, and signals of a child. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

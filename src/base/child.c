/* child.c - waitpid() over signals, and signals of a child. */
#include "base/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

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

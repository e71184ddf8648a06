/* thread.c - a new thread has the mask of signals of who starts it. */
#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

int thread_start_quiet(pthread_t *out_thread, const pthread_attr_t *attr, void *(*run)(void *),
		       void *argument)
{
	sigset_t all, before;
	int rc;

	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGSYS);
	(void)sigdelset(&all, SIGBUS);
	(void)sigdelset(&all, SIGSEGV);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(out_thread, attr, run, argument);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

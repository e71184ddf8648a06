/*
 * tempdir.c - a temporary directory and the thread that removes it on a signal.
 *
 * A signal handler may not walk directories. So the handler writes the number of
 * the signal into a pipe, and a thread that waits there removes the directory and
 * lets the signal have its usual effect.
 */
#include "cli/tempdir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

static struct {
	char *path; /* owned; NULL = no directory */
	int pipe[2];
	pthread_t watcher;
	struct sigaction old[ARRAY_LEN(signals)];
} temp;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	(void)(type == FTW_DP ? rmdir(path) : unlink(path)); /* best effort: it is ours */
	return 0;
}

static void remove_tree(const char *path)
{
	(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void on_signal(int signal_number)
{
	unsigned char byte = (unsigned char)signal_number;
	int saved = errno;

	if (write(temp.pipe[1], &byte, 1) < 0)
		_exit(128 + signal_number);
	errno = saved;
}

/* Ends when the other end of the pipe is closed, or with the process. */
static void *watch(void *unused)
{
	unsigned char byte = 0;

	if (read(temp.pipe[0], &byte, 1) != 1)
		return unused;
	remove_tree(temp.path);
	(void)signal(byte, SIG_DFL);
	(void)kill(getpid(), byte);
	return unused;
}

static int start_watcher(struct err *err)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	sigset_t all, before;
	int rc;

	if (pipe2(temp.pipe, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	/* All signals go to the other threads. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&temp.watcher, NULL, watch, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0) {
		mem_close_fd(&temp.pipe[0]);
		mem_close_fd(&temp.pipe[1]);
		return err_set(err, -rc, "cannot start a thread: %s", strerror(rc));
	}
	(void)sigfillset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		(void)sigaction(signals[i], NULL, &temp.old[i]);
		if (temp.old[i].sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &action, NULL);
	}
	return 0;
}

int tempdir_make(const char **out_path, struct err *err)
{
	const char *parent = getenv("TMPDIR");
	int rc;

	if (!parent || parent[0] != '/')
		parent = "/tmp";
	temp.path = xasprintf("%s/holdup-XXXXXX", parent);
	rc = start_watcher(err);
	if (rc == 0 && mkdtemp(temp.path)) {
		*out_path = temp.path;
		return 0;
	}
	if (rc == 0) {
		rc = err_set(err, -errno, "cannot make a directory in %s: %s", parent,
			     strerror(errno));
		tempdir_remove();
	}
	free(temp.path);
	temp.path = NULL;
	return rc;
}

void tempdir_remove(void)
{
	if (!temp.path)
		return;
	remove_tree(temp.path);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		(void)sigaction(signals[i], &temp.old[i], NULL);
	mem_close_fd(&temp.pipe[1]);
	(void)pthread_join(temp.watcher, NULL);
	mem_close_fd(&temp.pipe[0]);
	free(temp.path);
	temp.path = NULL;
}

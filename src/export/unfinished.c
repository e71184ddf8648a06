/* unfinished.c - output that is not whole yet, and what killed ones left of it. */
#include "export/unfinished.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/tree.h"

#define MARK	    ".part-"
#define REMOVALS    8
#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* Bytes of a path without the slashes at its end. */
static size_t unfinished_path_bytes(const char *path)
{
	size_t bytes = strlen(path);

	while (bytes > 1 && path[bytes - 1] == '/')
		bytes--;
	return bytes;
}

char *unfinished_name(const char *path)
{
	return xasprintf("%.*s" MARK "%d", (int)unfinished_path_bytes(path), path, (int)getpid());
}

/* "BASE.part-PID": the process; 0 = another name. */
static pid_t maker_of(const char *name, const char *base)
{
	size_t bytes = strlen(base);
	char *end;
	long pid;

	if (strncmp(name, base, bytes) != 0 || strncmp(name + bytes, MARK, strlen(MARK)) != 0)
		return 0;
	name += bytes + strlen(MARK);
	if (*name < '1' || *name > '9')
		return 0;
	errno = 0;
	pid = strtol(name, &end, 10);
	return errno || *end || pid > INT32_MAX ? 0 : (pid_t)pid;
}

/* A container's processes are not in our /proc: their lock tells. */
static bool is_gone(int fd, pid_t pid)
{
	AUTO_FREE char *proc = xasprintf("/proc/%d", (int)pid);
	struct stat st;

	return (pid == getpid() || (stat(proc, &st) < 0 && errno == ENOENT)) &&
	       flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Only what is ours; a link is nobody's output. */
static void remove_left(int dir_fd, const char *name, pid_t pid)
{
	AUTO_CLOSE int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || !is_gone(fd, pid))
		return;
	if (S_ISDIR(st.st_mode))
		(void)tree_remove(dir_fd, name); /* best effort: its name says what it is */
	else if (S_ISREG(st.st_mode))
		(void)unlinkat(dir_fd, name, 0); /* as above */
}

static void unfinished_sweep(const char *path)
{
	AUTO_FREE char *folder = xstrndup(path, unfinished_path_bytes(path));
	char *slash = strrchr(folder, '/');
	AUTO_FREE char *base = xstrdup(slash ? slash + 1 : folder);
	const struct dirent *entry;
	DIR *dir;

	if (slash)
		slash[slash == folder] = '\0';
	dir = *base ? opendir(slash ? folder : ".") : NULL;
	while (dir && (entry = readdir(dir))) {
		pid_t pid = maker_of(entry->d_name, base);

		if (pid)
			remove_left(dirfd(dir), entry->d_name, pid);
	}
	if (dir)
		(void)closedir(dir); /* it was only read */
}

/* ---------------------------------------------------------------- signals */

/*
 * A thread waits for the signals, which all others block. Who has the lock decides what becomes of
 * what is unfinished: when it is the thread, no other one gets it any more.
 */
static struct {
	pthread_mutex_t lock;
	char *name;	/* owned; under the lock; NULL = nothing is unfinished */
	bool is_waited; /* the thread runs; main thread only */
} unfinished = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Who ignores them, as below nohup, wants to go on. */
static void find_signals(sigset_t *out_signals)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction now;

	(void)sigemptyset(out_signals);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			(void)sigaddset(out_signals, ends[i]);
	}
}

/* Returns 0 when it is gone. */
static int remove_named(const char *path)
{
	AUTO_FREE char *folder = xstrdup(path);
	char *slash = strrchr(folder, '/');
	AUTO_CLOSE int dir_fd = -1;

	if (slash)
		slash[slash == folder] = '\0';
	dir_fd = open(slash ? folder : ".", OPEN_FOLDER | O_PATH);
	return dir_fd < 0 ? -errno
			  : tree_remove(dir_fd, slash ? path + (slash - folder) + 1 : path);
}

void unfinished_forsake(void)
{
	(void)pthread_mutex_lock(&unfinished.lock); /* for good */
	/* The others still write into a folder: what they make meanwhile goes the next time. */
	for (int i = 0; unfinished.name && i < REMOVALS; i++) {
		if (remove_named(unfinished.name) == 0)
			break;
	}
}

static void *await_signal(void *unused)
{
	sigset_t ending;
	int number;

	find_signals(&ending);
	if (sigwait(&ending, &number) != 0)
		return unused;
	unfinished_forsake();
	(void)pthread_sigmask(SIG_UNBLOCK, &ending, NULL);
	(void)raise(number);
	return unused;
}

static void remember(const char *name)
{
	(void)pthread_mutex_lock(&unfinished.lock);
	free(unfinished.name);
	unfinished.name = xstrdup(name);
	(void)pthread_mutex_unlock(&unfinished.lock);
}

/* Without a thread they end the process as always. */
void unfinished_guard(void)
{
	sigset_t ending, before;
	pthread_t thread;

	if (unfinished.is_waited)
		return;
	find_signals(&ending);
	(void)pthread_sigmask(SIG_BLOCK, &ending, &before);
	unfinished.is_waited = pthread_create(&thread, NULL, await_signal, NULL) == 0;
	if (unfinished.is_waited)
		(void)pthread_detach(thread);
	else
		(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void unfinished_forget(void)
{
	free(unfinished.name);
	unfinished.name = NULL;
}

int unfinished_place(const char *name, const char *path)
{
	int rc;

	(void)pthread_mutex_lock(&unfinished.lock);
	rc = rename(name, path) < 0 ? -errno : 0;
	if (rc == 0)
		unfinished_forget();
	(void)pthread_mutex_unlock(&unfinished.lock);
	return rc;
}

void unfinished_drop(const char *name)
{
	(void)pthread_mutex_lock(&unfinished.lock);
	(void)remove_named(name); /* best effort: its name says that it is no whole one */
	unfinished_forget();
	(void)pthread_mutex_unlock(&unfinished.lock);
}

/* ---------------------------------------------------------------- making */

static int unfinished_lock(int fd, const char *name, struct err *err)
{
	int rc = fd < 0 ? -errno : 0;

	if (rc == 0) {
		(void)flock(fd, LOCK_EX | LOCK_NB); /* a file system without: its number tells */
		remember(name);
	}
	return rc < 0 ? err_set(err, rc, "cannot make %s: %s", name, strerror(-rc)) : fd;
}

int unfinished_file(const char *path, const char *name, struct err *err)
{
	unfinished_sweep(path);
	return unfinished_lock(open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
			       name, err);
}

int unfinished_folder(const char *path, const char *name, struct err *err)
{
	unfinished_sweep(path);
	if (mkdir(name, 0700) < 0)
		return err_set(err, -errno, "cannot make %s: %s", name, strerror(errno));
	return unfinished_lock(open(name, OPEN_FOLDER | O_NOFOLLOW), name, err);
}

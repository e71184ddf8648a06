/*
 * tempdir.c - a temporary folder and the thread that removes it on a signal.
 *
 *	/tmp/holdup-tmp-XXXXXX/            locked by the descriptor of its process
 *	                      .temporary   made after the lock was taken
 *	                      trace/       what the caller makes
 *
 * A signal handler may not walk folders. So the handler writes the number of
 * the signal into a pipe, and a thread that waits there removes the directory and
 * lets the signal have its usual effect.
 */
#include "cli/tempdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/tree.h"
#include "cli/pager.h"
#include "cli/reading.h"
#include "export/unfinished.h"
#include "guard/drop.h"
#include "guard/place.h"
#include "guard/user.h"

#define PREFIX	     "holdup-tmp-"
#define RANDOM_CHARS 12
#define MARKER	     ".temporary"
#define TRIES	     100
#define SWEEP_MAX_NS UINT64_C(1000000000) /* others can make any number of lookalikes */
#define OLD_S	     60			  /* an empty one, killed before it had its marker */
#define OPEN_DIR     (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

static struct {
	char *path;    /* owned; of the trace; NULL = no folder */
	char *name;    /* owned; of the folder */
	int parent_fd; /* the folder it lies in */
	int fd;	       /* holds the lock */
	int pipe[2];
	pthread_t watcher;
	struct sigaction old[ARRAY_LEN(signals)];
} temp;

static void tempdir_on_signal(int signal_number)
{
	unsigned char byte = (unsigned char)signal_number;
	int saved = errno;

	if (write(temp.pipe[1], &byte, 1) < 0)
		_exit(128 + signal_number);
	errno = saved;
}

/* Ends when the other end of the pipe is closed, or with the process. */
static void *tempdir_watch(void *unused)
{
	unsigned char byte = 0;

	if (read(temp.pipe[0], &byte, 1) != 1)
		return unused;
	(void)tree_remove(temp.parent_fd, temp.name); /* nobody is left to be told */
	unfinished_forsake();
	(void)signal(byte, SIG_DFL);
	(void)kill(getpid(), byte);
	return unused;
}

static int start_watcher(struct err *err)
{
	struct sigaction action = { .sa_handler = tempdir_on_signal, .sa_flags = SA_RESTART };
	int rc;

	if (pipe2(temp.pipe, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	rc = thread_start_quiet(&temp.watcher, NULL, tempdir_watch, NULL);
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

/* As root only where nobody else can change anything; a user knows what $TMPDIR is. */
static int tempdir_open_parent(const char *path, struct err *err)
{
	int fd;

	if (geteuid() == 0)
		return guard_open_folder(path, err);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_set(err, -errno, "%s: %s", path, strerror(errno)) : fd;
}

/* $TMPDIR, /tmp, /var/tmp; returns how many. */
static size_t find_places(const char *out_places[3])
{
	const char *chosen = getenv("TMPDIR");
	size_t count = 0;

	if (chosen && chosen[0] == '/')
		out_places[count++] = chosen;
	out_places[count++] = "/tmp";
	out_places[count++] = "/var/tmp";
	return count;
}

static char *random_name(void)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	unsigned char bytes[RANDOM_CHARS];
	char text[RANDOM_CHARS + 1] = { 0 };

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return NULL;
	for (size_t i = 0; i < RANDOM_CHARS; i++)
		text[i] = letters[bytes[i] % (sizeof(letters) - 1)];
	return xasprintf(PREFIX "%s", text);
}

/* The marker says that the lock was there before: who finds it without a lock finds a dead one. */
static int tempdir_mark(void)
{
	AUTO_CLOSE int marker = -1;

	temp.fd = openat(temp.parent_fd, temp.name, OPEN_DIR);
	if (temp.fd < 0 || flock(temp.fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	marker = openat(temp.fd, MARKER, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	/* The command's own events go into a folder in it. */
	return marker < 0 || fchmod(temp.fd, 0711) < 0 ? -errno : 0;
}

static int tempdir_make_in(const char *place, struct err *err)
{
	int rc = -EEXIST;

	temp.parent_fd = tempdir_open_parent(place, err);
	if (temp.parent_fd < 0)
		return temp.parent_fd;
	for (int i = 0; rc == -EEXIST && i < TRIES; i++) {
		free(temp.name);
		temp.name = random_name();
		rc = temp.name && mkdirat(temp.parent_fd, temp.name, 0700) == 0 ? 0 : -errno;
	}
	if (rc == 0)
		rc = tempdir_mark();
	if (rc < 0)
		return err_set(err, rc, "cannot create a directory in %s: %s", place,
			       strerror(-rc));
	temp.path = xasprintf("%s/%s/trace", place, temp.name);
	return 0;
}

static void tempdir_forget(void)
{
	mem_close_fd(&temp.fd);
	mem_close_fd(&temp.parent_fd);
	temp.fd = temp.parent_fd = -1;
	free(temp.name);
	free(temp.path);
	temp.name = temp.path = NULL;
}

/* It is written into, and removed from where it is. */
static void tell_reader(void)
{
	AUTO_FREE char *folder = xstrndup(temp.path, strlen(temp.path) - strlen("/trace"));

	reading_writes(folder);
}

int tempdir_make(const char **out_path, struct err *err)
{
	const char *places[3];
	size_t count = find_places(places);
	int rc = -ENOENT;

	temp.fd = temp.parent_fd = -1;
	for (size_t i = 0; rc < 0 && i < count; i++) {
		tempdir_forget();
		rc = tempdir_make_in(places[i], err);
	}
	if (rc == 0)
		rc = start_watcher(err);
	if (rc < 0) {
		if (temp.fd >= 0)
			(void)tree_remove(temp.parent_fd, temp.name); /* it is nearly empty */
		tempdir_forget();
		return rc;
	}
	tell_reader();
	*out_path = temp.path;
	return 0;
}

void tempdir_give(void)
{
	uid_t uid;
	gid_t gid;

	if (!temp.path || !guard_user_ids(&uid, &gid))
		return;
	/* Where these fail it is removed by the next start as root. */
	(void)!fchownat(temp.fd, MARKER, uid, gid, AT_SYMLINK_NOFOLLOW);
	(void)!fchown(temp.fd, uid, gid);
}

void tempdir_remove(void)
{
	if (!temp.path)
		return;
	(void)tree_remove(temp.parent_fd, temp.name); /* what is left is tried at the next start */
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		(void)sigaction(signals[i], &temp.old[i], NULL);
	mem_close_fd(&temp.pipe[1]);
	(void)pthread_join(temp.watcher, NULL);
	mem_close_fd(&temp.pipe[0]);
	tempdir_forget();
	pager_catch_signals(); /* what was ours is the pager's */
}

/* ----------------------------------------------------------------- left behind */

static bool tempdir_is_name(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX)) &&
	       strlen(name) == strlen(PREFIX) + RANDOM_CHARS;
}

static bool has_marker(int fd, uid_t uid)
{
	struct stat st;

	return fstatat(fd, MARKER, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == uid;
}

/* Only what belongs to 'uid', and whose process is gone. */
static void sweep_one(int parent_fd, const char *name, uid_t uid, uint64_t end_ns)
{
	AUTO_CLOSE int fd = openat(parent_fd, name, OPEN_DIR);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != uid || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	/* Best effort, both: it is tried again at the next start. */
	if (has_marker(fd, uid))
		(void)tree_remove_until(parent_fd, name, end_ns);
	else if (time(NULL) - st.st_ctime > OLD_S)
		(void)unlinkat(parent_fd, name, AT_REMOVEDIR);
}

static void sweep(uid_t uid)
{
	const char *places[3];
	size_t count = find_places(places);
	uint64_t end_ns = clock_now_ns() + SWEEP_MAX_NS;

	for (size_t i = 0; i < count; i++) {
		AUTO_CLOSE int parent = tempdir_open_parent(places[i], NULL);
		DIR *dir = parent < 0 ? NULL : file_list(parent);
		const struct dirent *entry;

		while (dir && clock_now_ns() < end_ns && (entry = readdir(dir))) {
			if (tempdir_is_name(entry->d_name))
				sweep_one(parent, entry->d_name, uid, end_ns);
		}
		if (dir)
			closedir(dir);
	}
}

void tempdir_sweep(void)
{
	struct guard_user user;
	struct guard_lent lent;

	sweep(geteuid());
	if (!guard_user_find(&user))
		return;
	if (guard_lend(&user, &lent, NULL) == 0) {
		sweep(user.uid);
		guard_take_back(&lent);
	}
	guard_user_fini(&user);
}

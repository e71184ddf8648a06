/* unfinished.c - output that is not whole yet, and what killed ones left of it. */
#include "export/unfinished.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* Bytes of a path without the slashes at its end. */
static size_t path_bytes(const char *path)
{
	size_t bytes = strlen(path);

	while (bytes > 1 && path[bytes - 1] == '/')
		bytes--;
	return bytes;
}

char *unfinished_name(const char *path)
{
	return xasprintf("%.*s" MARK "%d", (int)path_bytes(path), path, (int)getpid());
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

static void sweep(const char *path)
{
	AUTO_FREE char *folder = xstrndup(path, path_bytes(path));
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

static int lock(int fd, const char *name, struct err *err)
{
	int rc = fd < 0 ? -errno : 0;

	if (rc == 0)
		(void)flock(fd, LOCK_EX | LOCK_NB); /* a file system without: its number tells */
	return rc < 0 ? err_set(err, rc, "cannot make %s: %s", name, strerror(-rc)) : fd;
}

int unfinished_file(const char *path, const char *name, struct err *err)
{
	sweep(path);
	return lock(open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), name,
		    err);
}

int unfinished_folder(const char *path, const char *name, struct err *err)
{
	sweep(path);
	if (mkdir(name, 0700) < 0)
		return err_set(err, -errno, "cannot make %s: %s", name, strerror(errno));
	return lock(open(name, OPEN_FOLDER | O_NOFOLLOW), name, err);
}

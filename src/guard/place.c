/* place.c - who owns what on the way to a folder. */
#include "guard/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define LINKS_MAX 40
#define OPEN_DIR  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---------------------------------------------------------------------- root */

/* Nobody but root can put another thing under a name in it that root has made. */
static bool is_roots(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_uid != 0)
		return false;
	return (st.st_mode & S_ISVTX) ||
	       (!(st.st_mode & S_IWOTH) && (!(st.st_mode & S_IWGRP) || st.st_gid == 0));
}

/* The way that is left, one name after the other; links are put in front of it. */
struct way {
	char *left; /* owned */
	int at;	    /* where we are: root's alone */
	int links;
};

static void way_enter(struct way *way, int fd)
{
	mem_close_fd(&way->at);
	way->at = fd;
}

/* A link that root made in a folder of root's. */
static int way_follow(struct way *way, int link_fd)
{
	char target[PATH_MAX];
	ssize_t bytes = readlinkat(link_fd, "", target, sizeof(target) - 1);
	char *left;

	if (bytes <= 0 || ++way->links > LINKS_MAX)
		return -ELOOP;
	target[bytes] = '\0';
	left = xasprintf("%s/%s", target, way->left);
	free(way->left);
	way->left = left;
	if (target[0] == '/')
		way_enter(way, open("/", OPEN_DIR));
	return way->at < 0 ? -errno : 0;
}

static int way_step(struct way *way, const char *name)
{
	AUTO_CLOSE int fd = openat(way->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int next;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != 0)
		return -EPERM;
	if (S_ISLNK(st.st_mode))
		return way_follow(way, fd);
	next = openat(way->at, name, OPEN_DIR);
	if (next < 0)
		return -errno;
	way_enter(way, next);
	return is_roots(next) ? 0 : -EPERM;
}

/* Returns a descriptor or a negative errno. */
static int way_walk(struct way *way)
{
	int rc = is_roots(way->at) ? 0 : -EPERM;

	while (rc == 0 && way->left[strspn(way->left, "/")]) {
		char *begin = way->left + strspn(way->left, "/");
		size_t bytes = strcspn(begin, "/");
		AUTO_FREE char *name = xstrndup(begin, bytes);

		memmove(way->left, begin + bytes, strlen(begin + bytes) + 1);
		rc = way_step(way, name);
	}
	return rc;
}

static int place_walk(const char *path, struct err *err)
{
	AUTO_FREE char *here = *path == '/' ? xstrdup("") : getcwd(NULL, 0);
	struct way way = { .left = xasprintf("%s/%s", here ? here : "", path),
			   .at = open("/", OPEN_DIR) };
	int rc = !here || way.at < 0 ? -errno : way_walk(&way);

	free(way.left);
	if (rc == 0)
		return way.at;
	mem_close_fd(&way.at);
	if (rc == -EPERM)
		return err_set(err, rc, "%s: other users than root could change it", path);
	return err_set(err, rc, "%s: %s", path, strerror(-rc));
}

/* ----------------------------------------------------------------------- ours */

static int open_own(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & S_IWOTH))
		return fd;
	mem_close_fd(&fd);
	return err_set(err, -EPERM, "%s: other users can access it", path);
}

int guard_open_folder(const char *path, struct err *err)
{
	return geteuid() == 0 ? place_walk(path, err) : open_own(path, err);
}

/* 'name' of the folder 'parent', which is ours: made, or there and made ours alone. */
static int make_in(int parent, const char *name, unsigned int mode)
{
	struct stat st;
	int fd;

	if (mkdirat(parent, name, mode & ~022u) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(parent, name, OPEN_DIR);
	if (fd < 0)
		return errno == ELOOP ? -ENOTDIR : -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    (!(st.st_mode & 022) || fchmod(fd, st.st_mode & 07755) == 0))
		return fd;
	mem_close_fd(&fd);
	return -EPERM;
}

int guard_make_folder(const char *path, unsigned int mode, struct err *err)
{
	AUTO_FREE char *above = xstrdup(path);
	char *slash = strrchr(above, '/');
	AUTO_CLOSE int parent = -1;
	int fd;

	if (!slash || slash == above || !slash[1])
		return err_set(err, -EINVAL, "%s: not a directory name", path);
	*slash = '\0';
	parent = guard_open_folder(above, err);
	if (parent == -ENOENT)
		parent = guard_make_folder(above, mode, err);
	if (parent < 0)
		return parent;
	fd = make_in(parent, slash + 1, mode);
	if (fd == -EPERM)
		return err_set(err, fd, "%s: other users can access it", path);
	return fd < 0 ? err_set(err, fd, "cannot create %s: %s", path, strerror(-fd)) : fd;
}

bool guard_is_own_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       st.st_nlink == 1;
}

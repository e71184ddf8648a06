/* give.c - fchown(2) by descriptors, of what is known to be ours. */
#include "guard/give.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

int guard_take(int fd, uid_t owner)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (owner != GUARD_ANYBODY && st.st_uid != owner)
		return -EPERM;
	/* First: as long as it is another one's, that one says what its mode is. */
	if (geteuid() == 0)
		(void)!fchown(fd, 0, 0); /* not every file system has owners */
	return fchmod(fd, 0700) < 0 ? -errno : 0;
}

int guard_take_new(int fd, uid_t owner)
{
	int rc = guard_take(fd, owner);
	DIR *dir = rc == 0 ? file_list(fd) : NULL;
	struct dirent *entry;

	if (rc == 0 && !dir)
		rc = -EIO;
	while (dir && (entry = readdir(dir))) {
		if (!is_dot(entry->d_name))
			rc = -EEXIST;
	}
	if (dir)
		closedir(dir);
	return rc;
}

/* 'owner' is who could put it there; of anybody else's it is not known how it came. */
static void give_file(int dir_fd, const char *name, uid_t owner, const struct guard_give *give)
{
	AUTO_CLOSE int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    st.st_uid != owner)
		return;
	/* Not every file system has owners. */
	(void)!fchownat(fd, "", give->uid, give->gid, AT_EMPTY_PATH);
}

/*
 * What is the user's already is left alone. A folder is made root's first: from then on nobody puts
 * anything there, so all that is its owner's came by its owner; in root's own, all came by root.
 */
void guard_give(int dir_fd, const struct guard_give *give, int depth)
{
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (fstat(dir_fd, &st) < 0 || st.st_uid == give->uid)
		return;
	if (st.st_uid != 0 && fchown(dir_fd, 0, 0) < 0)
		return;
	dir = file_list(dir_fd);
	while (dir && (entry = readdir(dir))) {
		AUTO_CLOSE int fd =
			is_dot(entry->d_name) ? -1 : openat(dir_fd, entry->d_name, OPEN_DIR);
		struct stat below;

		if (fd < 0 && !is_dot(entry->d_name))
			give_file(dir_fd, entry->d_name, st.st_uid, give);
		else if (fd >= 0 && depth > 0 && fstat(fd, &below) == 0 &&
			 (st.st_uid == 0 || below.st_uid == st.st_uid))
			guard_give(fd, give, depth - 1);
	}
	if (dir)
		closedir(dir);
	(void)!fchown(dir_fd, give->uid,
		      give->gid); /* last: until then the user cannot change it */
}

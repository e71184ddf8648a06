/* tree.c - openat(2) and unlinkat(2), depth first. */
#include "base/clock.h"
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define DEPTH_MAX 64 /* ours are 5 deep; a descriptor or two for each */

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static bool same_device(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev;
}

static int remove_entry(int dir_fd, const char *name, int depth, uint64_t end_ns)
{
	AUTO_CLOSE int fd = -1;
	struct dirent *entry;
	DIR *dir;

	if (unlinkat(dir_fd, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	/* A folder, or what may not be removed. */
	fd = file_open_beneath(dir_fd, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	dir = depth > 0 && same_device(dir_fd, fd) ? file_list(fd) : NULL;
	while (dir && clock_now_ns() < end_ns && (entry = readdir(dir))) {
		if (!is_dot(entry->d_name))
			(void)remove_entry(fd, entry->d_name, depth - 1, end_ns); /* rmdir tells */
	}
	if (dir)
		closedir(dir);
	return unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int tree_remove(int dir_fd, const char *name)
{
	return remove_entry(dir_fd, name, DEPTH_MAX, UINT64_MAX);
}

int tree_remove_until(int dir_fd, const char *name, uint64_t end_ns)
{
	return remove_entry(dir_fd, name, DEPTH_MAX, end_ns);
}

void tree_empty(int fd, bool (*keep)(const char *name))
{
	DIR *dir = file_list(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (!is_dot(entry->d_name) && !(keep && keep(entry->d_name)))
			(void)tree_remove(fd, entry->d_name); /* what stays is seen by the caller */
	}
	if (dir)
		closedir(dir);
}

/* file.c - files and folders by descriptors. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

size_t file_read_at(int fd, uint64_t offset, void *buffer, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got =
			pread(fd, (char *)buffer + done, bytes - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

ssize_t file_read_next(int fd, void *buffer, size_t bytes)
{
	size_t done = 0;
	ssize_t got = 1;

	while (done < bytes && got != 0) {
		got = read(fd, (char *)buffer + done, bytes - done);
		if (got < 0 && errno != EINTR)
			return done ? (ssize_t)done : -errno;
		done += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)done;
}

int file_write(int fd, const void *bytes, size_t count)
{
	for (size_t done = 0; done < count;) {
		ssize_t put = write(fd, (const char *)bytes + done, count - done);

		if (put == 0 || (put < 0 && errno != EINTR))
			return put < 0 ? -errno : -EIO;
		done += put > 0 ? (size_t)put : 0;
	}
	return 0;
}

int file_write_at(int fd, uint64_t offset, const void *bytes, size_t count)
{
	for (size_t done = 0; done < count;) {
		ssize_t put = pwrite(fd, (const char *)bytes + done, count - done,
				     (off_t)(offset + done));

		if (put == 0 || (put < 0 && errno != EINTR))
			return put < 0 ? -errno : -EIO;
		done += put > 0 ? (size_t)put : 0;
	}
	return 0;
}

uint64_t file_behind_hole(int fd, uint64_t offset)
{
	off_t to = fd < 0 ? -1 : lseek(fd, (off_t)offset, SEEK_DATA);

	if (to < 0)
		return fd >= 0 && errno == ENXIO ? UINT64_MAX : offset;
	return (uint64_t)to;
}

/* Where openat2(2) is missing or forbidden: one name after the other. */
static int open_step_by_step(int dir_fd, const char *path, int flags)
{
	AUTO_FREE char *copy = xstrdup(path);
	char *name, *rest = copy;
	AUTO_CLOSE int at = -1;

	if (*path == '/')
		return -EXDEV;
	while ((name = strsep(&rest, "/"))) {
		int above = at >= 0 ? at : dir_fd;
		int fd;

		if (!strcmp(name, ".."))
			return -EXDEV;
		if (!*name && rest)
			continue;
		fd = openat(above, *name ? name : ".",
			    (rest ? O_PATH | O_DIRECTORY : flags) | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		mem_close_fd(&at);
		at = fd;
	}
	dir_fd = at;
	at = -1; /* the caller's now */
	return dir_fd;
}

int file_open_plain(const char *path)
{
	AUTO_CLOSE int at = *path == '/' ? open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
	char again[64];
	struct stat st;
	int fd;

	if (*path != '/')
		return -EINVAL;
	if (at < 0 || fstat(at, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	(void)snprintf(again, sizeof(again), "/proc/self/fd/%d", at);
	fd = open(again, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int file_open_beneath(int dir_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	int fd;

	if (!(flags & O_PATH))
		how.flags |= O_NONBLOCK | O_NOCTTY;
	fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == E2BIG))
		return open_step_by_step(dir_fd, path, (int)how.flags);
	return fd < 0 ? -errno : fd;
}

DIR *file_list(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir)
		mem_close_fd(&copy);
	return dir;
}

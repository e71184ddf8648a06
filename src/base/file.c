/* file.c - files and folders by descriptors. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
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

uint64_t file_behind_hole(int fd, uint64_t offset)
{
	off_t to = fd < 0 ? -1 : lseek(fd, (off_t)offset, SEEK_DATA);

	if (to < 0)
		return fd >= 0 && errno == ENXIO ? UINT64_MAX : offset;
	return (uint64_t)to;
}

DIR *file_list(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir)
		mem_close_fd(&copy);
	return dir;
}

/* file.c - open and read files with care. */
#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

int file_open(const char *path, uint64_t *out_bytes, struct err *err)
{
	/* O_NONBLOCK: opening a pipe nobody writes to would wait for ever. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0)
		rc = err_set(err, -errno, "cannot stat %s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rc = err_set(err, S_ISDIR(st.st_mode) ? -EISDIR : -EBADMSG,
			     "%s is not a regular file", path);
	if (rc < 0) {
		mem_close_fd(&fd);
		return rc;
	}
	*out_bytes = (uint64_t)st.st_size;
	return fd;
}

int file_read(const char *path, size_t max, char **out_text, size_t *out_bytes, struct err *err)
{
	uint64_t bytes;
	AUTO_CLOSE int fd = file_open(path, &bytes, err);
	size_t done = 0;
	char *text;

	if (fd < 0)
		return fd;
	if (bytes > max)
		return err_set(err, -EFBIG, "%s has %llu bytes, more than %zu", path,
			       (unsigned long long)bytes, max);
	text = xmalloc((size_t)bytes + 1);
	while (done < bytes) {
		ssize_t got = read(fd, text + done, (size_t)bytes - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(text);
			return err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
		}
		if (got == 0)
			break;
		done += (size_t)got;
	}
	text[done] = '\0';
	*out_text = text;
	*out_bytes = done;
	return 0;
}

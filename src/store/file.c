/* file.c - open and read files with care. */
#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/place.h"

#define FLAGS (O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

/* Where there is a link on the way: only when nobody but root could have put it there. */
static int open_by_link(const char *path)
{
	AUTO_FREE char *folder = xstrdup(path);
	char *slash = strrchr(folder, '/');
	AUTO_CLOSE int fd = -1;

	if (!slash)
		return -1; /* the file itself is a link */
	slash[slash == folder] = '\0';
	fd = guard_open_folder(folder, NULL);
	errno = fd < 0 ? -fd : 0;
	return fd < 0 ? -1 : openat(fd, path + (strrchr(path, '/') - path) + 1, FLAGS);
}

static int open_without_links(const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(unsigned int)flags,
				.resolve = RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

char *file_plain_path(const char *path)
{
	AUTO_CLOSE int fd = -1;
	char *real = NULL;

	if (geteuid() == 0) {
		fd = open_without_links(path, O_PATH | O_CLOEXEC);
		real = fd < 0 && errno == ELOOP ? realpath(path, NULL) : NULL;
	}
	return real ? real : xstrdup(path);
}

/* "/proc/self/fd/7/kernel/formats" is below a folder that we have open, whatever its name is now. */
static int open_below_own(const char *path)
{
	int fd = -1, used = 0, rc;

	if (sscanf(path, "/proc/self/fd/%d/%n", &fd, &used) != 1 || !used)
		return -1;
	rc = file_open_beneath(fd, path + used, O_RDONLY);
	errno = rc < 0 ? -rc : 0;
	return rc;
}

/* Who owns a part of the trace must not lead root elsewhere. */
static int open_as_root(const char *path)
{
	int fd = strncmp(path, "/proc/self/fd/", 14) == 0 ? open_below_own(path)
							  : open_without_links(path, FLAGS);

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open(path, FLAGS);
	return fd < 0 && errno == ELOOP ? open_by_link(path) : fd;
}

int file_open(const char *path, uint64_t *out_bytes, struct err *err)
{
	/* O_NONBLOCK: opening a pipe nobody writes to would wait for ever. */
	int fd = geteuid() == 0 ? open_as_root(path) : open(path, FLAGS);
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
	ssize_t got;
	char *text;

	if (fd < 0)
		return fd;
	if (bytes > max)
		return err_set(err, -EFBIG, "%s has %llu bytes, more than %zu", path,
			       (unsigned long long)bytes, max);
	text = xmalloc((size_t)bytes + 1);
	got = file_read_next(fd, text, (size_t)bytes);
	if (got < 0) {
		free(text);
		return err_set(err, (int)got, "cannot read %s: %s", path, strerror((int)-got));
	}
	text[got] = '\0';
	*out_text = text;
	*out_bytes = (size_t)got;
	return 0;
}

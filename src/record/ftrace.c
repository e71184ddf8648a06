/*
 * ftrace.c - the kernel's tracing directory and the small files in it.
 */
#include "record/ftrace.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define FILE_LIMIT_BYTES (64u << 20) /* no file we read is nearly as large */

/* Where a mount of this type holds the tracing directory. */
static const struct {
	const char *type;
	const char *below;
} places[] = {
	{ "tracefs", "" },
	{ "debugfs", "/tracing" },
};

static char *find_mounted(size_t place)
{
	struct mntent entry;
	char buffer[4096];
	char *path = NULL;
	FILE *mounts = setmntent("/proc/self/mounts", "re");

	if (!mounts)
		return NULL;
	while (!path && getmntent_r(mounts, &entry, buffer, sizeof(buffer))) {
		if (!strcmp(entry.mnt_type, places[place].type))
			path = xasprintf("%s%s", entry.mnt_dir, places[place].below);
	}
	endmntent(mounts);
	return path;
}

/* 1: it has; 0: it has not; else a negative errno with err filled. */
static int kernel_has_tracefs(struct err *err)
{
	AUTO_FREE char *types = ftrace_read(AT_FDCWD, "/proc/filesystems", NULL);

	if (!types && errno != ENOENT)
		return err_set(err, -errno, "cannot read /proc/filesystems: %s", strerror(errno));
	return types && strstr(types, "\ttracefs\n");
}

/* Can instances be made here? */
static int check_use(const char *path, struct err *err)
{
	AUTO_FREE char *instances = xasprintf("%s/instances", path);

	if (!access(instances, R_OK | W_OK | X_OK))
		return 0;
	if (errno == ENOENT)
		return err_set(err, -ENOENT,
			       "%s has no instances: this kernel is too old or was built without "
			       "CONFIG_TRACING",
			       path);
	if (errno == EROFS)
		return err_set(err, -EACCES,
			       "%s is mounted read-only; as root: "
			       "mount -o remount,rw %s",
			       path, path);
	return err_set(err, -errno,
		       "no permission to use %s: recording the kernel needs root; use sudo", path);
}

int ftrace_find(char **out_path, struct err *err)
{
	AUTO_FREE char *path = NULL;
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		path = find_mounted(i);
		if (path && (i == 0 || !access(path, F_OK)))
			break;
		free(path);
		path = NULL;
	}
	rc = path ? 0 : kernel_has_tracefs(err);
	if (rc < 0)
		return rc;
	if (!path && rc)
		return err_set(err, -ENOENT,
			       "tracefs is not mounted; as root: "
			       "mount -t tracefs nodev /sys/kernel/tracing");
	if (!path)
		return err_set(err, -ENOENT,
			       "this kernel has no tracefs: it was built without CONFIG_TRACING, "
			       "or the container hides tracefs");
	rc = check_use(path, err);
	if (rc < 0)
		return rc;
	*out_path = path;
	path = NULL;
	return 0;
}

int ftrace_write(int dir_fd, const char *path, const char *text, struct err *err)
{
	AUTO_CLOSE int fd = openat(dir_fd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	size_t bytes = strlen(text);
	ssize_t done;

	if (fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	do {
		done = write(fd, text, bytes);
	} while (done < 0 && errno == EINTR);
	if (done < 0)
		return err_set(err, -errno, "cannot write \"%s\" to %s: %s", text, path,
			       strerror(errno));
	return 0;
}

char *ftrace_read(int dir_fd, const char *path, size_t *out_bytes)
{
	AUTO_CLOSE int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	size_t bytes = 0, cap = 4096;
	char *text;

	if (fd < 0)
		return NULL;
	text = xmalloc(cap);
	while (bytes < FILE_LIMIT_BYTES) {
		ssize_t got = read(fd, text + bytes, cap - bytes - 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(text);
			return NULL;
		}
		if (got == 0)
			break;
		bytes += (size_t)got;
		if (cap - bytes < 4096) {
			cap *= 2;
			text = xrealloc(text, cap, 1);
		}
	}
	text[bytes] = '\0';
	if (out_bytes)
		*out_bytes = bytes;
	return text;
}

bool ftrace_has(int dir_fd, const char *path)
{
	return !faccessat(dir_fd, path, F_OK, 0);
}

uint64_t ftrace_read_u64(int dir_fd, const char *path, uint64_t missing)
{
	AUTO_FREE char *text = ftrace_read(dir_fd, path, NULL);
	char *end;
	uint64_t value;

	if (!text)
		return missing;
	errno = 0;
	value = strtoull(text, &end, 10);
	return errno || end == text ? missing : value;
}

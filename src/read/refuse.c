/* refuse.c - why something cannot be read as a trace, and what to do about it. */
#include "read/read_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define ASK_OWNER "ask its owner, or read it with sudo"

int read_check_place(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG,
			       "%s is a device, a pipe or a socket: a trace is a file or a folder",
			       path);
	if (faccessat(AT_FDCWD, path, S_ISDIR(st.st_mode) ? R_OK | X_OK : R_OK, AT_EACCESS) < 0)
		return err_set(err, -errno, "cannot read %s: %s: " ASK_OWNER, path,
			       strerror(errno));
	return 0;
}

/* A name in the folder that may not be read, or NULL; *out_any: is anything there? */
static char *unreadable_in(int fd, bool *out_any)
{
	DIR *dir = fdopendir(dup(fd));
	const struct dirent *entry;
	char *found = NULL;

	*out_any = false;
	while (dir && !found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		*out_any = true;
		if (faccessat(fd, entry->d_name, R_OK, AT_EACCESS) < 0 && errno == EACCES)
			found = xstrdup(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static int refuse_folder(const char *path, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool any = false;
	AUTO_FREE char *name = fd < 0 ? NULL : unreadable_in(fd, &any);

	if (name)
		return err_set(err, -EACCES, "cannot read %s/%s: %s: " ASK_OWNER, path, name,
			       strerror(EACCES));
	if (fd >= 0 && !any)
		return err_set(err, -EBADMSG, "%s is an empty folder, not a trace", path);
	return err_set(
		err, -EBADMSG,
		"%s is not a trace of a known format (in a folder: holdup, CTF of LTTng, perf, pages of ftrace)",
		path);
}

int read_refuse(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return refuse_folder(path, err);
	if (st.st_size == 0)
		return err_set(err, -EBADMSG, "%s is empty, not a trace", path);
	return err_set(err, -EBADMSG,
		       "%s is not a trace of a known format (holdup, CTF of LTTng, trace.dat, "
		       "perf.data, text of trace-cmd report or perf script)",
		       path);
}

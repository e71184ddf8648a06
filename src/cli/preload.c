/* preload.c - LD_PRELOAD and HOLDUP for a command. */
#include "cli/preload.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define LIBRARY "libholdup-locks.so"

/* Where it may be, from the folder of this program: built, installed. */
static const char *const places[] = {
	"src/locks/" LIBRARY,
	"../" HOLDUP_LIBDIR "/holdup/" LIBRARY,
	"../lib/holdup/" LIBRARY,
};

/* NULL = it is nowhere. */
static char *find_library(void)
{
	char folder[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	char *slash;

	if (bytes < 0)
		return NULL;
	folder[bytes] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", folder, places[i]);

		if (access(path, R_OK) == 0)
			return realpath(path, NULL);
	}
	return NULL;
}

/* The command may change its folder, and its children begin traces as well: an absolute path. */
int preload_none(const char *dir, struct err *err)
{
	AUTO_FREE char *here = getcwd(NULL, 0);
	AUTO_FREE char *value = NULL;

	if (dir[0] != '/' && !here)
		return err_set(err, -errno, "cannot tell the current folder: %s", strerror(errno));
	value = dir[0] == '/' ? xasprintf("stream:%s", dir) : xasprintf("stream:%s/%s", here, dir);
	if (setenv("HOLDUP", value, 1) < 0)
		return err_set(err, -errno, "cannot set HOLDUP: %s", strerror(errno));
	return 0;
}

int preload_locks(const char *dir, const struct preload_locks *opts, struct err *err)
{
	AUTO_FREE char *library = find_library();
	const char *before = getenv("LD_PRELOAD");
	AUTO_FREE char *value = NULL;
	int rc;

	if (!library)
		return err_set(err, -ENOENT, "%s is neither beside this program nor installed",
			       LIBRARY);
	if (strpbrk(library, " :"))
		return err_set(err, -EINVAL,
			       "the loader cannot preload %s: there is a blank or a colon in it",
			       library);
	rc = dir ? preload_none(dir, err) : 0;
	if (rc < 0)
		return rc;
	value = before && *before ? xasprintf("%s:%s", library, before) : xstrdup(library);
	if (setenv("LD_PRELOAD", value, 1) < 0 ||
	    (opts->contended &&
	     setenv("HOLDUP_EVENTS", "all,-lock:acquired,-lock:released", 1) < 0))
		return err_set(err, -errno, "cannot set the environment: %s", strerror(errno));
	return 0;
}

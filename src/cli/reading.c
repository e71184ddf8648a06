/* reading.c - the places that a reader writes to: output, index, cache, files without a name. */
#include "cli/reading.h"

#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/pager.h"
#include "guard/filter.h"
#include "guard/place.h"
#include "guard/user.h"

/* For the life of the process: few, and needed until it begins to read. */
static struct {
	struct guard_place *places; /* owned, and their paths */
	bool *is_output;	    /* owned; of each: the folder of what was named for output */
	size_t count;
	bool is_begun;
	bool serves, shows;
} reading;

static void reading_add_path(char *path, bool only_write)
{
	reading.places = xrealloc(reading.places, reading.count + 1, sizeof(*reading.places));
	reading.is_output =
		xrealloc(reading.is_output, reading.count + 1, sizeof(*reading.is_output));
	reading.is_output[reading.count] = false;
	reading.places[reading.count++] =
		(struct guard_place){ .path = path, .only_write = only_write };
}

static bool reading_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Output is made under another name beside its own, and renamed. */
void reading_writes(const char *path)
{
	AUTO_FREE char *copy = path ? xstrdup(path) : NULL;

	if (!path || reading.is_begun || strcmp(path, "-") == 0)
		return;
	reading_add_path(xstrdup(path), false);
	if (path[strspn(path, "/")]) {
		reading_add_path(xstrdup(dirname(copy)), false);
		reading.is_output[reading.count - 1] = true;
	}
}

/* ~/.cache/holdup, as query/loaded.c has it; NULL = none. */
static char *cache_place(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && *cache == '/')
		return xasprintf("%s/holdup", cache);
	return home && *home == '/' ? xasprintf("%s/.cache/holdup", home) : NULL;
}

/*
 * The index of a trace that is a file, or in a folder of somebody else, is kept in the cache. Its
 * folder is made now: later only what is there can be written to. Not by root for a user.
 */
static void add_cache(const char *trace)
{
	char *path = cache_place();
	uid_t uid;
	gid_t gid;

	if (!path)
		return;
	if (!(reading_is_folder(trace) && access(trace, W_OK) == 0) &&
	    !guard_user_ids(&uid, &gid)) {
		AUTO_FREE char *above = xstrdup(path);

		(void)mkdir(dirname(above), 0700); /* without it the index is not kept */
		(void)mkdir(path, 0700);
	}
	reading_add_path(path, false);
}

void reading_serves(void)
{
	reading.serves = true;
}

void reading_shows(void)
{
	reading.shows = true;
}

void reading_indexes(const char *trace)
{
	if (!trace || reading.is_begun)
		return;
	if (reading_is_folder(trace))
		reading_add_path(xstrdup(trace), false);
	add_cache(trace);
}

static void add_temporary(void)
{
	const char *const folders[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		if (folders[i] && folders[i][0] == '/')
			reading_add_path(xstrdup(folders[i]), true);
	}
}

/*
 * Root that reads what its user may not read writes where nobody but root can change anything: in a
 * folder of the user's a name may be a link by now.
 */
static int check_outputs(struct err *err)
{
	uid_t uid;
	gid_t gid;

	for (size_t i = 0; guard_user_ids(&uid, &gid) && i < reading.count; i++) {
		const char *path = reading.places[i].path;
		AUTO_CLOSE int fd = -1;

		if (!reading.is_output[i])
			continue;
		fd = guard_open_folder(path, NULL);
		if (fd < 0)
			return err_set(
				err, -EACCES,
				"cannot write in %s as root: user %u may not read the trace, and "
				"others than root could change that folder",
				path, uid);
	}
	return 0;
}

int reading_begin(const char *trace, struct err *err)
{
	int rc;

	if (reading.is_begun)
		return 0;
	reading_indexes(trace);
	add_temporary();
	reading.is_begun = true;
	pager_begin(); /* a reader can start no program */
	rc = check_outputs(err);
	if (rc == 0)
		rc = (reading.serves  ? guard_filter_server
		      : reading.shows ? guard_filter_screen
				      : guard_filter_reader)(reading.places, reading.count, err);
	for (size_t i = 0; i < reading.count; i++)
		free((char *)reading.places[i].path);
	free(reading.places);
	free(reading.is_output);
	reading.places = NULL;
	reading.is_output = NULL;
	reading.count = 0;
	return rc < 0 ? err_wrap(err, "dropping privileges before reading") : 0;
}

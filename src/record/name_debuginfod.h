/*
 * name_debuginfod.h - fetch a file by its build-id from debuginfod servers: only where the user asks for that.
 *
 * The work is done by elfutils' debuginfod-find, which keeps what it fetched in its cache. It is given the variables
 * DEBUGINFOD_..., HOME and XDG_CACHE_HOME of the environment, and nothing else.
 */
#ifndef RECORD_NAME_DEBUGINFOD_H
#define RECORD_NAME_DEBUGINFOD_H

#include <stdbool.h>

struct err;

enum debuginfod_kind {
	DEBUGINFOD_DEBUG,
	DEBUGINFOD_PROGRAM,
};

/* Is this one that servers may be asked about: hexadecimal, of a length that linkers make? */
bool debuginfod_takes(const char *build_id);

/*
 * Where the program is; *out_program is to be freed. Returns 0, -ENOENT when it is not installed, or -EINVAL when
 * DEBUGINFOD_URLS is not set, with err filled.
 */
int debuginfod_find_program(char **out_program, struct err *err);

/* Returns a descriptor of the file; or a negative errno with err filled: also when it takes too long. */
int debuginfod_fetch(const char *program, enum debuginfod_kind kind, const char *build_id,
		     struct err *err);

#endif

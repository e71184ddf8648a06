/*
 * preload.h - let a command be run with instruments that need no change to it.
 */
#ifndef CLI_PRELOAD_H
#define CLI_PRELOAD_H

#include <stdbool.h>

struct err;

/* Which events of locks. */
struct preload_locks {
	bool contended; /* of waiting only, not each acquisition and release */
};

/*
 * Set the environment of this process, which the command inherits, so that it logs the events
 * of its locks to new traces in the folder 'dir'; NULL: the recorder says where. The library is
 * looked for beside this program as it was built, and where it is installed. Returns 0, or a
 * negative errno with err filled.
 */
int preload_locks(const char *dir, const struct preload_locks *opts, struct err *err);

/* Say it when nothing can be preloaded into this program, which is looked for as execvp() does. */
void preload_note(const char *program);

/* The same without the library: programs log what events they have themselves. */
int preload_none(const char *dir, struct err *err);

#endif

/*
 * recover.h - what processes left of their own events, or keep, as a trace.
 */
#ifndef ATTACH_RECOVER_H
#define ATTACH_RECOVER_H

#include <stddef.h>
#include <stdint.h>

#include "attach/trace.h"

struct err;

/* One process's trace. */
struct user_recovered {
	char *name;    /* owned; its folder in the result */
	char *problem; /* owned; why it could not be copied, or NULL */
	struct user_sum sum;
};

struct user_recovery {
	struct user_recovered *items; /* owned */
	size_t count, cap;
	bool is_cut; /* there was no time for all folders */
};

/*
 * Copy all traces of processes in the folder 'path', or below it, into 'out', which must not
 * exist or be empty. Returns 0, or a negative errno with err filled; -ENOENT when there are none.
 */
int user_recover_dir(const char *path, const char *out, struct user_recovery *out_recovery,
		     struct err *err);

/* The same of the trace that a process logs to, or did when it died. */
int user_recover_pid(int32_t pid, const char *out, struct user_recovery *out_recovery,
		     struct err *err);

void user_recovery_fini(struct user_recovery *recovery);

#endif

/*
 * why_live.h - holdup why without a trace that answers: what was meant, and what to do.
 */
#ifndef CLI_WHY_LIVE_H
#define CLI_WHY_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ask/target.h"

struct err;
struct record_opts;
struct stuck;

#define WHY_LIVE_SECONDS 5   /* what runs is recorded for so long by default */
#define WHY_LIVE_AWAITED 256 /* of several processes the end of so many is waited for */

/* What runs now and is to be recorded. Zeroed is nothing. */
struct why_live {
	const char *cgroup;	   /* as given: --cgroup */
	double seconds;		   /* as given: --duration; 0 = not */
	struct target_opts target; /* as given */
	int32_t *pids; /* owned; the processes that are meant, none for a thread or all */
	size_t count;
	uint64_t *births; /* owned; of each, when recording was about to begin; 0 = gone */
	struct stuck
		*stuck; /* owned; who waited for whom when the recording ended; NULL = not known */
};

/* Does the command line name a target? */
bool why_is_named(const struct target_opts *target, const struct why_live *live);

/*
 * Find the processes that are meant, which must run now, and make 'target' say them by number: its
 * pids are a view of live. Returns 0, or negative with err filled: there are none, no such cgroup.
 */
int why_live_find(struct why_live *live, struct target_opts *target, struct err *err);

/* How the recorder is told of them. 'live' is used while it records. */
void why_live_fill(struct why_live *live, struct record_opts *opts);

/* Look at the processes once more, now that they have been recorded: a deadlock has no end to be seen. */
void why_live_look(struct why_live *live);

void why_live_fini(struct why_live *live);

/* Fill err with what to do when there is no trace and nothing was named. Returns -ENOENT. */
int why_no_trace(const struct target_opts *target, struct err *err);

/*
 * The answer of a trace that has no events of the kernel (holdup run --locks): print what the
 * program's own events tell of its locks. Returns whether it was such a trace.
 */
bool why_locks_alone(const char *trace, bool json);

#endif

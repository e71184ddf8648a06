/*
 * why_live.h - holdup why without a trace that answers: what was meant, and what to do.
 */
#ifndef CLI_WHY_LIVE_H
#define CLI_WHY_LIVE_H

#include <stdbool.h>

struct err;
struct target_opts;

#define WHY_LIVE_SECONDS 5 /* a running process is recorded for so long */

/* Does the process or thread that was chosen by its number run now? */
bool why_is_live(const struct target_opts *target);

/* Fill err with what to do when there is no trace and nothing was named. Returns -ENOENT. */
int why_no_trace(const struct target_opts *target, struct err *err);

/*
 * The answer of a trace that has no events of the kernel (holdup run --locks): print what the
 * program's own events tell of its locks. Returns whether it was such a trace.
 */
bool why_locks_alone(const char *trace, bool json);

/*
 * A trace of LTTng-UST that declares no switch does not tell when a thread ran, nor when it
 * waited: that is said, and no answer made up. Returns 0, or -ENODATA with err filled.
 */
int why_needs_switches(const char *trace, struct err *err);

#endif

/*
 * why_sampled.h - holdup why of what runs where tracing is not allowed: looks at /proc at intervals.
 */
#ifndef CLI_WHY_SAMPLED_H
#define CLI_WHY_SAMPLED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct why_live;

/* Is 'rc', of a recording that did not begin, that of a user who may not trace? */
bool why_sampled_helps(int rc, const struct why_live *live);

/*
 * Look at the processes of 'live' for as long as it says, or until SIGINT or SIGTERM, and print. Returns 0,
 * or negative with err filled.
 */
int why_sampled(const struct why_live *live, FILE *out, bool json, uint32_t top, struct err *err);

/*
 * May this user not trace at all, so that a command has to be looked at? It is told before it is begun: a command is not
 * begun twice.
 */
bool why_sampled_must(void);

/*
 * Run the command, look at it and its children until it ends or until SIGINT or SIGTERM, which are passed on, and print.
 * Returns 0 and *out_status, as of waitpid(), or negative with err filled: -1 in *out_status, it was not begun.
 */
int why_sampled_command(char **command, FILE *out, bool json, uint32_t top, int *out_status,
			struct err *err);

#endif

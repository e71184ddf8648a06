/*
 * watch_act.h - what is done at a violation: keep a trace, send a signal, run a command.
 *
 * Each is bounded in number and rate; what was left out for that is counted. Nothing waits: a
 * snapshot and a command are children that run beside.
 */
#ifndef CLI_WATCH_ACT_H
#define CLI_WATCH_ACT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct check_finding;
struct check_result;
struct err;
struct json;
struct watch_act;

struct watch_actions {
	const char *exec;     /* for /bin/sh; NULL = none */
	const char *signal;   /* "USR1", "SIGUSR1", "10"; NULL = none */
	const char *snapshot; /* folder for traces; NULL = none */
	uint64_t keep_ns;
	uint32_t most_snapshots;
	double snapshot_gap_s;
};

/* What can be told wrong. Returns 0, or -EINVAL with err filled. */
int watch_actions_check(const struct watch_actions *actions, struct err *err);

/* 'trace': the recording that snapshots are cut from. 'json': how to tell of what is done. */
struct watch_act *watch_act_new(const struct watch_actions *actions, const char *trace, bool json);
void watch_act_free(struct watch_act *act); /* NULL is fine */

/* An invalid finding: the first one of its span. 'first_ns': recording began. */
void watch_act_on(struct watch_act *act, uint64_t first_ns, const struct check_result *result,
		  const struct check_finding *finding);

/* Now and then: children that have ended are seen. */
void watch_act_step(struct watch_act *act);

/* Wait for snapshots, and a little for commands. */
void watch_act_end(struct watch_act *act);

/* How much was done. */
void watch_act_print(const struct watch_act *act, FILE *out);
void watch_act_put(const struct watch_act *act, struct json *json);

#endif

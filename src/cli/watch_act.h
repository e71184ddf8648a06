/*
 * watch_act.h - what is done at a violation: keep a trace, ask for one, send a signal, run a command.
 *
 * Each is bounded in number and rate; what was left out for that is counted. Nothing waits: a
 * snapshot and a command are children that run beside.
 *
 * The thread of a violation may be a program's own word. A signal is sent only to a process that
 * the kernel's events prove to be of the recorded tree (watch_tree.h), by a descriptor of it, and
 * with no more rights than the user who called has.
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
struct watch_tree;

struct watch_actions {
	const char *exec;     /* for /bin/sh; NULL = none */
	const char *signal;   /* "USR1", "SIGUSR1", "10"; NULL = none */
	const char *snapshot; /* folder for traces; NULL = none */
	uint64_t keep_ns;
	uint32_t most_snapshots;
	double snapshot_gap_s;
	bool flight; /* ask the flight recorder for a snapshot: watch_flight.h */
	const char *model_path;
	bool as_root; /* the command runs as root under sudo, and so a signal is sent */
};

/* What can be told wrong. Returns 0, or -EINVAL with err filled. */
int watch_actions_check(const struct watch_actions *actions, struct err *err);

/*
 * 'trace': the recording that snapshots are cut from. 'tree': whom a signal may be sent to; must
 * outlive it. 'json': how to tell of what is done.
 */
struct watch_act *watch_act_new(const struct watch_actions *actions, const char *trace,
				const struct watch_tree *tree, bool json);
void watch_act_free(struct watch_act *act); /* NULL is fine */

/* An invalid finding: the first one of its span. 'first_ns': recording began. */
void watch_act_on(struct watch_act *act, uint64_t first_ns, const struct check_result *result,
		  const struct check_finding *finding);

/* Now and then: children that have ended are seen. */
void watch_act_step(struct watch_act *act);

/*
 * Let no snapshot read the trace any more: it is about to become the user's. Those that take too
 * long are ended, and counted as failed.
 */
void watch_act_settle(struct watch_act *act);

/* Wait for snapshots, and a little for commands. */
void watch_act_end(struct watch_act *act);

/* How much was done. */
void watch_act_print(const struct watch_act *act, FILE *out);
void watch_act_put(const struct watch_act *act, struct json *json);

#endif

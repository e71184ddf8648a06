/*
 * stuck_runner.h - a child that runs a command of the user, with the user's rights, each time it is told.
 *
 * It is made before the rights are given up: under sudo it becomes the user who called, for good.
 */
#ifndef CLI_STUCK_RUNNER_H
#define CLI_STUCK_RUNNER_H

struct err;
struct stuck_runner;

/* 'command' is for a shell. Signals must not be blocked yet. NULL with err filled: no child. */
struct stuck_runner *stuck_runner_start(const char *command, struct err *err);

/*
 * Run it with these texts, "NAME=VALUE", in its environment; NULL ends them. Never waits. Returns 0, or
 * a negative errno: it cannot be told, or too many commands run already.
 */
int stuck_runner_run(struct stuck_runner *runner, const char *const *texts);

/* Waits some seconds for commands that run. NULL is fine. */
void stuck_runner_end(struct stuck_runner *runner);

#endif

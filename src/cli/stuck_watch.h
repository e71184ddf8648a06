/*
 * stuck_watch.h - look again and again, and act when a condition is met.
 *
 * A cheap look says which threads have not run for long; only their processes are looked at as a whole.
 * Both together take 1 % of one CPU at most: where they would take more, they come later.
 */
#ifndef CLI_STUCK_WATCH_H
#define CLI_STUCK_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stuck/condition.h"

struct err;
struct stuck;
struct stacks;
struct stuck_runner;

struct stuck_watch {
	uint64_t every_ns;
	const struct condition *conditions;
	size_t condition_count;
	uint32_t most;		     /* reports; 0 = no limit */
	struct stuck_runner *runner; /* not owned; NULL = no command */
	bool flight;		     /* ask the flight recorder for a snapshot */
	bool json;
	bool whole; /* whole stacks */
	/* In which code they wait. */
	void (*take_stacks)(const void *context, struct stuck *stuck, struct stacks *stacks);
	const void *context;
};

struct stuck_select;

/*
 * Until SIGINT or SIGTERM, or there were 'most' reports, or nobody is left of the processes of 'select'.
 * Returns an exit status, EXIT_FOUND when a deadlock was reported, or a negative errno with err filled.
 */
int stuck_watch_run(const struct stuck_watch *watch, const struct stuck_select *select,
		    struct err *err);

#endif

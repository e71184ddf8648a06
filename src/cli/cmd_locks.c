/* cmd_locks.c - holdup locks: the locks of programs that were run with --locks, and of the kernel. */
#include <errno.h>
#include <stdio.h>

#include "ask/locks.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "report/locks.h"

struct locks_cmd {
	uint32_t sort; /* enum locks_sort */
	uint32_t top;
	bool json;
};

static const struct opt_spec locks_options[] = {
	{ "sort",
	  "wait|longest|waits|taken|held|average|longest-held|spins|spun|owner|chain|lock|process",
	  "Sort the rows, the largest first (default wait)", opt_choice,
	  offsetof(struct locks_cmd, sort) },
	{ "top", "N", "Print N rows (default 20)", opt_u32, offsetof(struct locks_cmd, top) },
	{ "json", NULL, "Print JSON with all rows, times in ns", opt_flag,
	  offsetof(struct locks_cmd, json) },
	{ 0 },
};

static int print_locks(const struct locks_cmd *cmd, const char *path, struct err *err)
{
	const struct report_locks_opts report = { .json = cmd->json, .top = cmd->top };
	struct locks_asked locks;
	int rc = load_begin(path, err);

	if (rc == 0)
		rc = locks_ask(path, (enum locks_sort)cmd->sort, &locks, err);
	if (rc < 0)
		return rc;
	report_locks(stdout, &locks.programs, &locks.kernel, locks.facts, &report);
	locks_asked_fini(&locks);
	return 0;
}

static int run_locks(int argc, char **argv)
{
	struct locks_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(locks_options, &cmd, argc, argv, &err);
	int rc;

	if (first < 0)
		return command_usage(&cmd_locks, first, &err);
	if (argc - first > 1) {
		rc = err_set(&err, -EINVAL, "expected one trace");
		return command_usage(&cmd_locks, rc, &err);
	}
	rc = print_locks(&cmd, argc > first ? argv[first] : DEFAULT_TRACE, &err);
	return rc < 0 ? command_fail(&cmd_locks, &err) : EXIT_OK;
}

const struct command cmd_locks = {
	.name = "locks",
	.args = "[OPTIONS] [TRACE]",
	.summary = "Show contended locks and the threads that held them",
	.options = locks_options,
	.details =
		"Prints one row for each user-space lock in a trace of holdup run --locks or\n"
		"holdup record --locks: how long and how often threads waited for the lock and\n"
		"held it. For the first rows, prints the holders during the waits and the code\n"
		"that takes the lock. Condition variables and barriers come last: threads are\n"
		"expected to wait for them.\n"
		"\n"
		"Kernel locks have their own table, if the trace has the events\n"
		"lock:contention_begin and lock:contention_end: the lock, how often threads only\n"
		"spun for it, its holders and its callers. Names of kernel locks need a recording\n"
		"of holdup with BPF.\n"
		"\n"
		"A lock is named by its symbol if it is a static variable, otherwise by its\n"
		"address and by the code that waits for it most.\n"
		"\n"
		"Exit status: 0 printed, 2 wrong usage, 3 the trace could not be read.\n"
		"\n"
		"  holdup run --locks -- ./server && holdup locks\n"
		"  holdup locks --sort held --top 5 run.holdup\n"
		"  sudo holdup record -- make && holdup locks --sort longest\n"
		"  holdup locks --json run.holdup | jq '.locks[0].owners'\n",
	.only_reads = true,
	.prints_report = true,
	.run = run_locks,
};

/* cmd_stats.c - holdup stats: where time went, by process or function, and what each CPU did. */
#include <errno.h>
#include <stdio.h>

#include "analyse/stats/stats.h"
#include "ask/hot.h"
#include "ask/window.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "read/read.h"
#include "report/functions.h"
#include "report/stats.h"

#define BY_FUNCTION STATS_BY_COUNT /* of --by, behind those of enum stats_by */
#define SORT_NONE   UINT32_MAX

struct stats_cmd {
	uint32_t by;   /* enum stats_by, or BY_FUNCTION */
	uint32_t sort; /* enum stats_sort, or SORT_NONE */
	const char *from, *to;
	struct target_opts target;
	bool ps, events, json, all;
	uint32_t top;
};

static const struct opt_spec stats_options[] = {
	{ "by", "process|thread|cgroup|user|comm|function", "Group rows by this (default process)",
	  opt_choice, offsetof(struct stats_cmd, by) },
	{ "from", "WHEN", "Start the window at a time or event (default: start of the trace)",
	  opt_string, offsetof(struct stats_cmd, from) },
	{ "to", "WHEN", "End the window at a time or event (default: end of the trace)", opt_string,
	  offsetof(struct stats_cmd, to) },
	{ "pid", "PID", "Count only threads of this process (with --by function)", opt_pid,
	  offsetof(struct stats_cmd, target.pid) },
	{ "tid", "TID", "Count only this thread (with --by function)", opt_pid,
	  offsetof(struct stats_cmd, target.tid) },
	{ "comm", "NAME", "Count only threads with this name (with --by function)", opt_string,
	  offsetof(struct stats_cmd, target.comm) },
	{ "ps", NULL, "Compare with accounting by clock ticks, as shown by ps", opt_flag,
	  offsetof(struct stats_cmd, ps) },
	{ "events", NULL, "Count events by type; reads the events of the window", opt_flag,
	  offsetof(struct stats_cmd, events) },
	{ "top", "N", "Print N rows with details (default: 8 rows, no details; 20 functions)",
	  opt_u32, offsetof(struct stats_cmd, top) },
	{ "all", NULL, "Print all rows, with details of active ones", opt_flag,
	  offsetof(struct stats_cmd, all), 'a' },
	{ "sort", "cpu|own|kernel|calls|irq|waiting|blocked|io|uncertain|switches|faults|name",
	  "Sort the rows, the largest first (default cpu; functions: cpu + blocked)", opt_choice,
	  offsetof(struct stats_cmd, sort) },
	{ "json", NULL, "Print JSON with all rows, times in ns", opt_flag,
	  offsetof(struct stats_cmd, json) },
	{ 0 },
};

/* The sums, and what needs the events. */
static int stats_ask(const struct stats_cmd *cmd, struct loaded *loaded,
		     const struct stats_opts *opts, struct stats *out_stats, struct err *err)
{
	struct stats_opts asked = *opts;
	struct source *source = trace_source(loaded->trace);
	struct ps_ticks ticks = { 0 };
	int rc = 0;

	if (cmd->ps) {
		rc = ps_find_ticks(source, loaded->facts, opts->start_ns, opts->end_ns, &ticks,
				   err);
		asked.ticks = &ticks;
	}
	if (rc >= 0)
		rc = stats_run(loaded->timeline, loaded->facts, &asked, out_stats, err);
	ps_ticks_fini(&ticks);
	if (rc >= 0 && cmd->events) {
		rc = stats_count_events(out_stats, source, err);
		if (rc < 0)
			stats_fini(out_stats);
	}
	return rc;
}

static int print_stats(const struct stats_cmd *cmd, const struct when *from, const struct when *to,
		       const char *path, struct err *err)
{
	struct report_stats_opts report = { .json = cmd->json, .top = cmd->top, .all = cmd->all };
	struct stats_opts opts = { .by = (enum stats_by)cmd->by,
				   .sort = cmd->sort == SORT_NONE ? STATS_BY_ON_CPU
								  : (enum stats_sort)cmd->sort };
	struct loaded loaded;
	struct stats stats;
	int rc = load_trace(path, 0, &loaded, err);

	if (rc < 0)
		return rc;
	rc = when_window(&loaded, from, to, &opts.start_ns, &opts.end_ns, err);
	if (rc >= 0)
		rc = stats_ask(cmd, &loaded, &opts, &stats, err);
	if (rc >= 0) {
		report_stats(stdout, &stats, loaded.facts, &report);
		stats_fini(&stats);
	}
	loaded_fini(&loaded);
	return rc;
}

/* ------------------------------------------------------------------ by function */

/* How --sort is understood there. */
static bool functions_sort(uint32_t sort, enum functions_sort *out_sort)
{
	switch (sort) {
	case SORT_NONE:
		*out_sort = FUNCTIONS_BY_TOTAL;
		return true;
	case STATS_BY_ON_CPU:
		*out_sort = FUNCTIONS_BY_WORKING;
		return true;
	case STATS_BY_BLOCKED:
		*out_sort = FUNCTIONS_BY_BLOCKED;
		return true;
	case STATS_BY_IO:
		*out_sort = FUNCTIONS_BY_IO;
		return true;
	case STATS_BY_NAME:
		*out_sort = FUNCTIONS_BY_NAME;
		return true;
	default:
		return false;
	}
}

static int print_functions(const struct stats_cmd *cmd, const struct when *from,
			   const struct when *to, const char *path, struct err *err)
{
	struct functions_ask_opts opts = {
		.from = *from, .to = *to, .target = cmd->target, .load = load_opts_shown(0)
	};
	struct functions_asked asked;
	int rc = load_begin(path, err);

	(void)functions_sort(cmd->sort, &opts.sort);
	if (rc == 0)
		rc = functions_ask(path, &opts, &asked, err);
	if (rc < 0)
		return rc;
	report_functions(stdout, &asked.functions, asked.loaded.facts,
			 &(struct report_functions_opts){ .json = cmd->json,
							  .top = cmd->top,
							  .all = cmd->all,
							  .scope = asked.scope });
	functions_asked_fini(&asked);
	return 0;
}

/* ------------------------------------------------------------------ all of it */

static int stats_check(const struct stats_cmd *cmd, struct err *err)
{
	const struct target_opts *target = &cmd->target;
	int targets = (target->pid != 0) + (target->tid != 0) + (target->comm != NULL);
	enum functions_sort sort;

	if (targets > 1)
		return err_set(err, -EINVAL, "only one of --pid, --tid and --comm");
	if (cmd->by != BY_FUNCTION)
		return targets ? err_set(err, -EINVAL, "--pid, --tid and --comm need --by function")
			       : 0;
	if (cmd->ps || cmd->events)
		return err_set(err, -EINVAL, "--by function excludes --ps and --events");
	if (!functions_sort(cmd->sort, &sort))
		return err_set(err, -EINVAL,
			       "--by function sorts by cpu, blocked, io or name only");
	return 0;
}

static int run_stats(int argc, char **argv)
{
	struct stats_cmd cmd = { .sort = SORT_NONE };
	struct when from, to;
	struct err err = { 0 };
	int first = opts_parse(stats_options, &cmd, argc, argv, &err);
	const char *path;
	int rc;

	if (first < 0)
		return command_usage(&cmd_stats, first, &err);
	rc = argc - first > 1 ? err_set(&err, -EINVAL, "expected one trace") : 0;
	if (rc == 0)
		rc = when_parse(cmd.from, false, &from, &err);
	if (rc == 0)
		rc = when_parse(cmd.to, true, &to, &err);
	if (rc == 0)
		rc = stats_check(&cmd, &err);
	if (rc < 0)
		return command_usage(&cmd_stats, rc, &err);
	path = argc > first ? argv[first] : DEFAULT_TRACE;
	rc = cmd.by == BY_FUNCTION ? print_functions(&cmd, &from, &to, path, &err)
				   : print_stats(&cmd, &from, &to, path, &err);
	return rc < 0 ? command_fail(&cmd_stats, &err) : EXIT_OK;
}

const struct command cmd_stats = {
	.name = "stats",
	.args = "[OPTIONS] [TRACE]",
	.summary = "Summarize time by process and by CPU",
	.options = stats_options,
	.details =
		"Prints on one screen a row for the processes with most CPU time, the time of\n"
		"each CPU, and the system calls of all processes. --top and --all print more\n"
		"rows, with states and system calls of each. The times of a row add up exactly to\n"
		"the row's life in the window.\n"
		"\n"
		"Exit status: 0 printed, 2 wrong usage, 3 the trace could not be read.\n"
		"\n"
		"  holdup stats run.holdup\n"
		"  holdup stats --by cgroup --from +1s --to +2s run.holdup\n"
		"  holdup stats --sort io --top 5 run.holdup\n"
		"  holdup stats --by function --tid 1234 run.holdup\n"
		"  holdup stats --ps run.holdup\n",
	.only_reads = true,
	.prints_report = true,
	.run = run_stats,
};

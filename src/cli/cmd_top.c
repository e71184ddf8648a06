/* cmd_top.c - holdup top: what tasks wait for, live. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/opts.h"
#include "cli/top_chain.h"
#include "cli/top_record.h"
#include "accounts/list.h"
#include "tui/top_draw.h"
#include "tui/top_screen.h"
#include "tui/top_source.h"

#define SHORTEST_NS 50000000u

struct top_cmd {
	uint64_t interval_ns;
	uint64_t count;
	bool batch;
	struct opt_pids pids;
	const char *cgroup;
	const char *filter;
	uint32_t sort; /* enum top_sort */
	bool threads;
	bool tree;
	bool cgroups;
	bool chain;
};

static const struct opt_spec top_options[] = {
	{ "interval", "TIME", "Set the interval, at least 50ms (default 1s)", opt_duration,
	  offsetof(struct top_cmd, interval_ns), 'i' },
	{ "count", "N", "End after N intervals (default 0: never)", opt_u64,
	  offsetof(struct top_cmd, count), 'n' },
	{ "batch", NULL, "Print each interval as text, with all rows", opt_flag,
	  offsetof(struct top_cmd, batch) },
	{ "pid", "PID", "Show only these processes; repeat for more", opt_pids,
	  offsetof(struct top_cmd, pids), 'p' },
	{ "cgroup", "PATH", "Show only processes in this cgroup and below", opt_string,
	  offsetof(struct top_cmd, cgroup) },
	{ "filter", "TEXT", "Show only tasks with TEXT in name, ID or cgroup", opt_string,
	  offsetof(struct top_cmd, filter), 'f' },
	{ "sort", "waited|run|cpu|disk|memory|else|read|write|switches|threads|pid|command",
	  "Sort the rows (default waited)", opt_choice, offsetof(struct top_cmd, sort), 's' },
	{ "threads", NULL, "Show threads instead of processes", opt_flag,
	  offsetof(struct top_cmd, threads), 'H' },
	{ "tree", NULL, "Show children below their parents", opt_flag,
	  offsetof(struct top_cmd, tree), 't' },
	{ "cgroups", NULL, "Group by cgroup, with sums", opt_flag,
	  offsetof(struct top_cmd, cgroups), 'c' },
	{ "chain", NULL, "Show what each task waits for, down to the task at the end of the chain",
	  opt_flag, offsetof(struct top_cmd, chain) },
	{ 0 },
};

static int top_check_options(const struct top_cmd *cmd, int operands, struct err *err)
{
	if (operands)
		return err_set(err, -EINVAL, "no operands are expected");
	if (cmd->interval_ns && cmd->interval_ns < SHORTEST_NS)
		return err_set(err, -EINVAL, "the interval must be at least 50 ms");
	if (cmd->tree && cmd->cgroups)
		return err_set(err, -EINVAL, "--tree and --cgroups exclude each other");
	return 0;
}

static void init_view(const struct top_cmd *cmd, uint64_t interval_ns, struct top_view *out_view)
{
	*out_view = (struct top_view){ .interval_s = (double)interval_ns / 1e9 };
	top_model_init(&out_view->model);
	out_view->model.sort = (enum top_sort)cmd->sort;
	out_view->model.threads = cmd->threads;
	out_view->model.tree = cmd->tree;
	out_view->model.cgroups = cmd->cgroups;
	out_view->waits.is_shown = cmd->chain;
	if (cmd->filter)
		snprintf(out_view->model.filter, sizeof(out_view->model.filter), "%s", cmd->filter);
}

static int columns_of_text(void)
{
	const char *text = getenv("COLUMNS");
	uint64_t columns;

	return text && text_parse_u64(text, &columns) && columns >= 40 && columns <= 1000
		       ? (int)columns
		       : 80;
}

static int top_run_parsed(const struct top_cmd *cmd, struct err *err)
{
	struct top_chain chain = { 0 };
	const struct top_screen_opts opts = {
		.interval_ns = cmd->interval_ns ? cmd->interval_ns : 1000000000,
		.count = cmd->count,
		.columns = columns_of_text(),
		.on_record = top_record,
		.on_stuck = top_chain_show,
		.on_waits = top_chain_look,
		.context = &chain,
	};
	const struct delays_select select = {
		.pids = cmd->pids.pids,
		.pid_count = cmd->pids.count,
		.cgroup = cmd->cgroup,
		.threads = cmd->threads,
		.all = !cmd->pids.count && !cmd->cgroup,
	};
	struct top_source *source;
	struct top_view view;
	int rc = top_source_open(&select, &source, err);

	if (rc < 0)
		return rc;
	init_view(cmd, opts.interval_ns, &view);
	rc = (cmd->batch ? top_batch_run : top_screen_run)(&view, source, &opts, err);
	top_waits_clear(&view.waits);
	top_model_fini(&view.model);
	top_source_close(source);
	return rc;
}

static int run_top(int argc, char **argv)
{
	struct top_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(top_options, &cmd, argc, argv, &err);
	int rc = first < 0 ? first : top_check_options(&cmd, argc - first, &err);

	if (rc < 0)
		rc = command_usage(&cmd_top, rc, &err);
	else if (top_run_parsed(&cmd, &err) < 0)
		rc = command_fail(&cmd_top, &err);
	free(cmd.pids.pids);
	return rc;
}

static const struct opt_moved top_moved[] = { { "--delay", "--interval" }, { "-d", "-i" },
					      { "-b", "--batch" },	   { "-F", "-f" },
					      { "--in", "--cgroup" },	   { 0 } };

const struct command cmd_top = {
	.name = "top",
	.args = "[OPTIONS]",
	.summary = "Show live what tasks wait for",
	.options = top_options,
	.moved = top_moved,
	.details =
		"Shows for each process or thread which share of the last interval it ran, waited\n"
		"for a CPU, for disk and for memory, and did something else. F1 or h explains the\n"
		"keys. No trace is recorded: the kernel counts delays anyway. w shows whom each\n"
		"task waits for, s what holdup stuck says of one; r records one task and explains\n"
		"its waits. The share of a process is that of the time of all its\n"
		"threads.\n"
		"\n"
		"Needs CAP_NET_ADMIN, and kernel.task_delayacct=1 before the task started. Values\n"
		"that the kernel does not count are shown as \"-\". Without CAP_NET_ADMIN, only the\n"
		"CPU time and the waits for a CPU are known, from /proc.\n"
		"\n"
		"Exit status: 0 ended by the user, 2 wrong usage, 3 failed: no terminal.\n"
		"\n"
		"  holdup top\n"
		"  holdup top --threads --sort disk\n"
		"  holdup top --batch -n 3 -i 1s --filter postgres\n",
	.run = run_top,
};

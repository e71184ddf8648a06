/* cmd_hot.c - holdup hot: which code had the CPU, or was waited in. */
#include <errno.h>
#include <stdio.h>

#include "ask/hot.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "report/hot.h"

struct hot_cmd {
	uint32_t by;	/* enum hot_by */
	uint32_t state; /* index into hot_states, plus 1; 0 = not given */
	const char *from, *to;
	struct target_opts target;
	bool of_verdict, waits, native, json, tree, callers;
	uint32_t top;
};

/* As the choices of --state. */
static const uint32_t hot_states[] = { HOT_WORKING, HOT_USER, HOT_SYSCALL, HOT_IRQ };

static const struct opt_spec hot_options[] = {
	{ "by", "function|line|module|process|thread", "Group rows by this (default function)",
	  opt_choice, offsetof(struct hot_cmd, by) },
	{ "state", "working|user|syscall|irq",
	  "Count only this state: user code, kernel code or interrupts (default working)",
	  opt_choice, offsetof(struct hot_cmd, state) },
	{ "from", "WHEN", "Start the window at a time or event (default: start of the trace)",
	  opt_string, offsetof(struct hot_cmd, from) },
	{ "to", "WHEN", "End the window at a time or event (default: end of the trace)", opt_string,
	  offsetof(struct hot_cmd, to) },
	{ "pid", "PID", "Count only threads of this process", opt_pid,
	  offsetof(struct hot_cmd, target.pid) },
	{ "tid", "TID", "Count only this thread", opt_pid, offsetof(struct hot_cmd, target.tid) },
	{ "comm", "NAME", "Count only threads with this name", opt_string,
	  offsetof(struct hot_cmd, target.comm) },
	{ "of-verdict", NULL, "Count only work that holdup why reports as a cause", opt_flag,
	  offsetof(struct hot_cmd, of_verdict) },
	{ "waits", NULL, "Show waiting code instead of running code", opt_flag,
	  offsetof(struct hot_cmd, waits) },
	{ "tree", NULL, "Print a call tree, outermost functions first", opt_flag,
	  offsetof(struct hot_cmd, tree) },
	{ "callers", NULL, "Print a tree of callers for each function", opt_flag,
	  offsetof(struct hot_cmd, callers) },
	{ "native", NULL, "Charge native libraries themselves, not the script that called them",
	  opt_flag, offsetof(struct hot_cmd, native) },
	{ "top", "N", "Print N rows (default 20)", opt_u32, offsetof(struct hot_cmd, top) },
	{ "json", NULL, "Print JSON with all rows, times in ns", opt_flag,
	  offsetof(struct hot_cmd, json) },
	{ 0 },
};

static int print_hot(const struct hot_cmd *cmd, const struct hot_ask_opts *opts, const char *path,
		     struct err *err)
{
	struct hot_asked asked;
	int rc = load_begin(path, err);

	if (rc == 0)
		rc = hot_ask(path, opts, &asked, err);
	if (rc < 0)
		return rc;
	report_hot(stdout, &asked.hot, asked.loaded.facts,
		   &(struct report_hot_opts){ .json = cmd->json,
					      .waits = cmd->waits,
					      .by = opts->by,
					      .states = opts->states,
					      .top = cmd->top,
					      .scope = asked.scope,
					      .note = asked.note });
	hot_asked_fini(&asked);
	return 0;
}

static int check_hot(const struct hot_cmd *cmd, struct hot_ask_opts *opts, int count,
		     struct err *err)
{
	const struct target_opts *target = &cmd->target;
	int rc = when_parse(cmd->from, false, &opts->from, err);

	if (rc == 0)
		rc = when_parse(cmd->to, true, &opts->to, err);
	if (rc < 0)
		return rc;
	if (count > 1)
		return err_set(err, -EINVAL, "expected one trace");
	if ((target->pid != 0) + (target->tid != 0) + (target->comm != NULL) > 1)
		return err_set(err, -EINVAL, "only one of --pid, --tid and --comm");
	if (cmd->waits && (cmd->of_verdict || cmd->state))
		return err_set(err, -EINVAL, "--waits excludes --of-verdict and --state");
	if (cmd->tree && cmd->callers)
		return err_set(err, -EINVAL, "only one of --tree and --callers");
	if ((cmd->tree || cmd->callers) && cmd->by >= HOT_PROCESS)
		return err_set(err, -EINVAL, "a tree needs --by function, line or module");
	if (cmd->native && cmd->waits)
		return err_set(err, -EINVAL, "--native excludes --waits");
	if (cmd->of_verdict && hot_states[cmd->state] == HOT_IRQ)
		return err_set(err, -EINVAL, "--of-verdict excludes --state interrupts");
	return 0;
}

static int run_hot(int argc, char **argv)
{
	struct hot_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(hot_options, &cmd, argc, argv, &err);
	struct hot_ask_opts opts = { 0 };
	int rc;

	if (first < 0)
		return command_usage(&cmd_hot, first, &err);
	rc = check_hot(&cmd, &opts, argc - first, &err);
	if (rc < 0)
		return command_usage(&cmd_hot, rc, &err);
	opts.target = cmd.target;
	opts.by = (enum hot_by)cmd.by;
	opts.states = hot_states[cmd.state];
	opts.waits = cmd.waits;
	opts.native = cmd.native;
	opts.tree = cmd.tree ? HOT_TREE_CALLEES : cmd.callers ? HOT_TREE_CALLERS : HOT_TREE_NONE;
	opts.of_verdict = cmd.of_verdict;
	opts.load = load_opts_shown(0);
	rc = print_hot(&cmd, &opts, argc > first ? argv[first] : DEFAULT_TRACE, &err);
	return rc < 0 ? command_fail(&cmd_hot, &err) : EXIT_OK;
}

const struct command cmd_hot = {
	.name = "hot",
	.args = "[OPTIONS] [TRACE]",
	.summary = "Show which code used the CPU or waited",
	.options = hot_options,
	.details =
		"Times are those of the thread states, exact to the ns; the samples of each\n"
		"thread divide its time among functions. Self is the function alone; \"with\n"
		"callees\" includes all functions that it called. --of-verdict counts only code\n"
		"that held up the target of holdup why, in any process.\n"
		"\n"
		"A trace has samples unless it was recorded with --sample off.\n"
		"\n"
		"Exit status: 0 printed, 2 wrong usage, 3 the trace could not be read or has no\n"
		"samples.\n"
		"\n"
		"  sudo holdup record -- make && holdup hot\n"
		"  holdup hot --of-verdict run.holdup\n"
		"  holdup hot --by line --from +1s --to +2s run.holdup\n"
		"  holdup hot --waits --json run.holdup\n",
	.only_reads = true,
	.prints_report = true,
	.run = run_hot,
};

/* cmd_delays.c - holdup delays: the kernel's own account of what each task waited for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/delays_cmd.h"
#include "cli/opts.h"
#include "accounts/account.h"
#include "record/interrupt.h"

static const struct opt_spec delays_options[] = {
	{ "comm", "NAME", "Print processes with this name", opt_string,
	  offsetof(struct delays_cmd, comm) },
	{ "cgroup", "PATH", "Print processes in this cgroup and below", opt_string,
	  offsetof(struct delays_cmd, cgroup) },
	{ "user", "USER", "Print processes of this user, a name or ID", opt_string,
	  offsetof(struct delays_cmd, user) },
	{ "all", NULL, "Print all processes", opt_flag, offsetof(struct delays_cmd, all), 'a' },
	{ "threads", NULL, "Print threads as well as processes", opt_flag,
	  offsetof(struct delays_cmd, threads), 'H' },
	{ "interval", "TIME", "Print the delays of each interval, such as 1s, until Ctrl-C",
	  opt_duration, offsetof(struct delays_cmd, interval_ns), 'i' },
	{ "count", "N", "Stop after N intervals (default: never)", opt_u64,
	  offsetof(struct delays_cmd, count), 'n' },
	{ "duration", "TIME", "Stop listening after this time, such as 10s (default: at Ctrl-C)",
	  opt_duration, offsetof(struct delays_cmd, duration_ns), 'd' },
	{ "cpus", "LIST", "Listen for exits on these CPUs, such as 0-3,8 (default: all)",
	  opt_string, offsetof(struct delays_cmd, cpus) },
	{ "output", "FILE", "Write each exit heard by listen to FILE, one JSON object per line",
	  opt_string, offsetof(struct delays_cmd, output), 'o' },
	{ "buffer", "SIZE",
	  "Set the size of each receive buffer of listen (default 16M; 4M with more than 8 "
	  "sockets)",
	  opt_size, offsetof(struct delays_cmd, buffer_bytes), 'b' },
	{ "save", "FILE", "Write the report also to FILE, for compare", opt_string,
	  offsetof(struct delays_cmd, save) },
	{ "labels", "N",
	  "Serve N commands and cgroups, merging the rest (default 100, at most 1000)", opt_u32,
	  offsetof(struct delays_cmd, labels) },
	{ "sort", "waited|cpu|disk|memory|run|io",
	  "Sort the rows, the largest first (default waited)", opt_choice,
	  offsetof(struct delays_cmd, sort) },
	{ "top", "N", "Print N rows (default 20)", opt_u32, offsetof(struct delays_cmd, top) },
	{ "enable", NULL, "Turn on kernel.task_delayacct, for tasks that start from now on",
	  opt_flag, offsetof(struct delays_cmd, enable) },
	{ "json", NULL, "Print JSON with all rows, times in ns", opt_flag,
	  offsetof(struct delays_cmd, json), 'j' },
	{ 0 },
};

static int delays_parse_pids(struct delays_cmd *cmd, char **argv, int count, struct err *err)
{
	cmd->pids = xcalloc((size_t)count + 1, sizeof(*cmd->pids));
	for (int i = 0; i < count; i++) {
		uint64_t pid;

		if (text_parse_u64(argv[i], &pid)) {
			if (pid == 0 || pid > INT32_MAX)
				return err_set(err, -EINVAL, "%s is not a process ID", argv[i]);
			cmd->pids[cmd->pid_count++] = (int32_t)pid;
			continue;
		}
		if (cmd->trace || access(argv[i], F_OK) < 0)
			return err_set(err, -EINVAL,
				       "\"%s\" is neither a process ID nor a recording", argv[i]);
		cmd->trace = argv[i];
	}
	return 0;
}

static int check_ways(const struct delays_cmd *cmd, struct err *err)
{
	bool shows =
		!cmd->compare && !cmd->listen && !cmd->advise && !cmd->serve && !cmd->reconcile;

	if (cmd->interval_ns && !shows)
		return err_set(err, -EINVAL, "--interval needs holdup delays show");
	if (cmd->save && (cmd->interval_ns || (!shows && !cmd->listen)))
		return err_set(err, -EINVAL, "--save saves a single report");
	if (cmd->labels && !cmd->serve)
		return err_set(err, -EINVAL, "--labels needs holdup delays serve");
	return 0;
}

static bool delays_is_chosen(const struct delays_cmd *cmd)
{
	return cmd->trace || cmd->pid_count || cmd->comm || cmd->cgroup || cmd->user || cmd->all;
}

/* Returns 0, or -EINVAL with err filled when the options do not go together. */
static int delays_check_options(const struct delays_cmd *cmd, struct err *err)
{
	if (check_ways(cmd, err) < 0)
		return -EINVAL;
	if (cmd->compare)
		return 0;
	if (cmd->trace && (cmd->listen || cmd->interval_ns || cmd->advise || cmd->serve ||
			   cmd->cgroup || cmd->user || cmd->enable))
		return err_set(
			err, -EINVAL,
			"a recording allows only process IDs, --comm, --threads, --sort, --top, "
			"--save and --json, or holdup delays reconcile");
	if (cmd->reconcile && !cmd->trace)
		return err_set(err, -EINVAL, "reconcile needs a recording");
	if (cmd->reconcile && (cmd->save || cmd->sort))
		return err_set(err, -EINVAL, "reconcile allows only --threads, --top and --json");
	if (cmd->listen && delays_is_chosen(cmd))
		return err_set(err, -EINVAL, "listen takes no operands, or a command: -- COMMAND");
	if (!cmd->listen &&
	    (cmd->command || cmd->cpus || cmd->output || cmd->duration_ns || cmd->buffer_bytes))
		return err_set(err, -EINVAL,
			       "a command, --cpus, --output, --duration and --buffer need holdup "
			       "delays listen");
	if (cmd->command && cmd->duration_ns)
		return err_set(err, -EINVAL, "--duration excludes a command");
	if (cmd->listen)
		return 0;
	if (!delays_is_chosen(cmd) && !cmd->enable && !cmd->serve)
		return err_set(err, -EINVAL,
			       "name a process: PID, --comm, --cgroup, --user or --all");
	if (cmd->count && !cmd->interval_ns)
		return err_set(err, -EINVAL, "--count needs --interval");
	return 0;
}

/* Returns 1 when that was all that was asked for. */
static int enable(const struct delays_cmd *cmd, struct err *err)
{
	bool chosen = delays_is_chosen(cmd) || cmd->listen || cmd->serve;
	struct delays_account account;
	int rc;

	delays_account_read(&account);
	if (account.state == DELAYS_ACCOUNT_ON) {
		fputs("kernel.task_delayacct is on already\n", stderr);
		return !chosen;
	}
	rc = delays_account_turn(true, err);
	if (rc < 0)
		return rc;
	fputs("kernel.task_delayacct is on until the next boot. The kernel counts delays of tasks "
	      "that\nstart from now on; of running tasks it counts only waits for a CPU.\nTo turn "
	      "it off: sysctl kernel.task_delayacct=0\n",
	      stderr);
	return !chosen;
}

static int delays_run_parsed(const struct delays_cmd *cmd, struct err *err)
{
	int rc = cmd->enable ? enable(cmd, err) : 0;

	if (rc != 0)
		return rc < 0 ? rc : EXIT_OK;
	if (cmd->compare)
		return delays_compare(cmd, err);
	if (cmd->listen)
		return delays_listen(cmd, err);
	if (cmd->trace)
		return delays_of_trace(cmd, err);
	if (cmd->advise)
		return delays_advise_cmd(cmd, err);
	if (cmd->serve)
		return delays_serve(cmd, err);
	return cmd->interval_ns ? delays_watch(cmd, err) : delays_once(cmd, err);
}

/* The first word says what is to be done; without one of these: show. Returns how many words that were. */
static int take_way(struct delays_cmd *cmd, char **words, int count, struct err *err)
{
	const char *word = count ? words[0] : "";

	cmd->listen = strcmp(word, "listen") == 0;
	cmd->compare = strcmp(word, "compare") == 0;
	cmd->reconcile = strcmp(word, "reconcile") == 0;
	cmd->advise = strcmp(word, "advise") == 0;
	if (strcmp(word, "serve") == 0) {
		cmd->serve = count > 1 ? words[1] : NULL;
		return cmd->serve ? 2 : err_set(err, -EINVAL, "serve needs [ADDRESS:]PORT");
	}
	return cmd->listen || cmd->compare || cmd->reconcile || cmd->advise ||
	       strcmp(word, "show") == 0;
}

static int run_delays(int argc, char **argv)
{
	struct delays_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(delays_options, &cmd, argc, argv, &err);
	int rc;

	if (first < 0)
		return command_usage(&cmd_delays, first, &err);
	cmd.command = opts_command(argv, first, &argc);
	rc = take_way(&cmd, argv + first, argc - first, &err);
	if (rc < 0)
		return command_usage(&cmd_delays, rc, &err);
	first += rc;
	cmd.files = argv + first;
	cmd.file_count = (size_t)(argc - first);
	rc = cmd.compare ? 0 : delays_parse_pids(&cmd, argv + first, argc - first, &err);
	if (rc == 0)
		rc = delays_check_options(&cmd, &err);
	if (rc < 0) {
		free(cmd.pids);
		return command_usage(&cmd_delays, rc, &err);
	}
	rc = delays_run_parsed(&cmd, &err);
	free(cmd.pids);
	if (rc >= 0)
		return rc;
	if (rc == -EINVAL && cmd.serve)
		return command_usage(&cmd_delays, rc, &err);
	(void)command_fail(&cmd_delays, &err);
	return rc == -EINTR && interrupt_pending() ? command_end_by(interrupt_pending())
						   : EXIT_FAIL;
}

static const struct opt_moved delays_moved[] = {
	{ "--listen", "holdup delays listen" },
	{ "-l", "holdup delays listen" },
	{ "--compare", "holdup delays compare" },
	{ "--reconcile", "holdup delays reconcile" },
	{ "--advise", "holdup delays advise" },
	{ "--serve", "holdup delays serve [ADDRESS:]PORT" },
	{ "-t", "-H" },
	{ "-s", "--save" },
	{ 0 },
};

const struct command cmd_delays = {
	.name = "delays",
	.args = "[OPTIONS] [show] [PID...] [TRACE] | compare FILE... | reconcile TRACE | "
		"advise [PID...] | serve [ADDRESS:]PORT | listen [-- COMMAND]",
	.summary = "Show task delays from the kernel's delay accounting",
	.options = delays_options,
	.moved = delays_moved,
	.details =
		"  show       print how long each process (--threads: each thread) waited for a\n"
		"             CPU, disk and memory since its start; --interval: in each interval.\n"
		"             This is the default. No trace is recorded: the kernel counts delays\n"
		"             anyway. With TRACE: the same, computed from events\n"
		"  listen     sum up tasks as they exit: COMMAND and its descendants, as time(1)\n"
		"             does for CPU time, with the exit status of COMMAND; or all tasks\n"
		"  compare    compare saved runs: FILE FILE..., or FILE... -- FILE...\n"
		"  reconcile  compare a recording with the kernel's accounts and explain\n"
		"             differences\n"
		"  advise     suggest changes of nice, ionice, affinity and cgroup settings that\n"
		"             may shorten waits, with the largest possible gain; change nothing\n"
		"  serve      serve OpenMetrics text over HTTP; only to this machine, unless\n"
		"             ADDRESS is given\n"
		"\n"
		"Needs CAP_NET_ADMIN, and kernel.task_delayacct=1 before the task started. Values\n"
		"that the kernel does not count are shown as \"-\". Without CAP_NET_ADMIN, only the\n"
		"CPU time and waits for a CPU are known, from /proc.\n"
		"\n"
		"Exit status: with a command, that of the command (128 + signal if it was killed,\n"
		"126 or 127 if it could not be started), else 0: printed; 2 wrong usage; 3\n"
		"failed: no such task.\n"
		"\n"
		"  holdup delays --enable\n"
		"  holdup delays --threads 1234\n"
		"  holdup delays --all --interval 1s --sort disk\n"
		"  holdup delays listen -- make -j8\n"
		"  holdup delays advise --all\n"
		"  holdup delays serve 9123\n"
		"  holdup delays --comm postgres --json | jq '.tasks[].delays.disk'\n",
	.prints_report = true,
	.run = run_delays,
};

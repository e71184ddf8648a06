/* cmd_delays.c - holdup delays: the kernel's own account of what each task waited for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/delays_cmd.h"
#include "cli/opts.h"
#include "delays/account.h"
#include "record/interrupt.h"

static const struct opt_spec delays_options[] = {
	{ "comm", "NAME", "Print processes of this name", opt_string,
	  offsetof(struct delays_cmd, comm) },
	{ "cgroup", "PATH", "Print processes in this cgroup and below", opt_string,
	  offsetof(struct delays_cmd, cgroup) },
	{ "user", "USER", "Print processes of this user, a name or a number", opt_string,
	  offsetof(struct delays_cmd, user) },
	{ "all", NULL, "Print all processes", opt_flag, offsetof(struct delays_cmd, all), 'a' },
	{ "threads", NULL, "Print their threads, too", opt_flag,
	  offsetof(struct delays_cmd, threads), 't' },
	{ "interval", "TIME", "Print what each interval added, such as 1s, until Ctrl-C",
	  opt_duration, offsetof(struct delays_cmd, interval_ns), 'i' },
	{ "count", "N", "End after N intervals (default: never)", opt_u64,
	  offsetof(struct delays_cmd, count), 'n' },
	{ "listen", NULL, "Add up tasks as they exit: those of COMMAND, or all", opt_flag,
	  offsetof(struct delays_cmd, listen), 'l' },
	{ "duration", "TIME", "Listen this long, such as 10s (default: until Ctrl-C)", opt_duration,
	  offsetof(struct delays_cmd, duration_ns), 'd' },
	{ "cpus", "LIST", "Listen to exits on these CPUs only, such as 0-3,8 (default: all)",
	  opt_string, offsetof(struct delays_cmd, cpus) },
	{ "output", "FILE", "Write each exit that --listen hears to FILE, a line of JSON each",
	  opt_string, offsetof(struct delays_cmd, output), 'o' },
	{ "buffer", "SIZE",
	  "Set the receive buffer of each socket of --listen (default 16M, with more than eight sockets 4M)",
	  opt_size, offsetof(struct delays_cmd, buffer_bytes), 'b' },
	{ "save", "FILE", "Write the report to FILE, too, for --compare", opt_string,
	  offsetof(struct delays_cmd, save), 's' },
	{ "compare", NULL, "Compare saved runs: FILE FILE..., or FILE... -- FILE...", opt_flag,
	  offsetof(struct delays_cmd, compare) },
	{ "reconcile", NULL,
	  "Compare a recording with the kernel's accounts, and say why they differ", opt_flag,
	  offsetof(struct delays_cmd, reconcile) },
	{ "advise", NULL, "Say which knob may shorten the delays; change nothing", opt_flag,
	  offsetof(struct delays_cmd, advise) },
	{ "serve", "[ADDRESS:]PORT",
	  "Serve OpenMetrics text over HTTP, to this machine only unless ADDRESS says otherwise",
	  opt_string, offsetof(struct delays_cmd, serve) },
	{ "labels", "N",
	  "Serve N commands and cgroups, and the rest as one (default 100, at most 1000)", opt_u32,
	  offsetof(struct delays_cmd, labels) },
	{ "sort", "waited|cpu|disk|memory|run|io",
	  "Sort the rows, the largest first (default waited)", opt_choice,
	  offsetof(struct delays_cmd, sort) },
	{ "top", "N", "Print N rows (default 20)", opt_u32, offsetof(struct delays_cmd, top) },
	{ "enable", NULL, "Turn kernel.task_delayacct on, for tasks that start from now on",
	  opt_flag, offsetof(struct delays_cmd, enable) },
	{ "json", NULL, "Print JSON with all rows, times in ns", opt_flag,
	  offsetof(struct delays_cmd, json), 'j' },
	{ 0 },
};

static int parse_pids(struct delays_cmd *cmd, char **argv, int count, struct err *err)
{
	cmd->pids = xcalloc((size_t)count + 1, sizeof(*cmd->pids));
	for (int i = 0; i < count; i++) {
		uint64_t pid;

		if (text_parse_u64(argv[i], &pid)) {
			if (pid == 0 || pid > INT32_MAX)
				return err_set(err, -EINVAL, "%s is not the number of a process",
					       argv[i]);
			cmd->pids[cmd->pid_count++] = (int32_t)pid;
			continue;
		}
		if (cmd->trace || access(argv[i], F_OK) < 0)
			return err_set(err, -EINVAL,
				       "\"%s\" is neither the number of a process nor a recording",
				       argv[i]);
		cmd->trace = argv[i];
	}
	return 0;
}

/* Only one way to run at a time. */
static int check_ways(const struct delays_cmd *cmd, struct err *err)
{
	int ways = cmd->compare + cmd->listen + cmd->advise + (cmd->serve != NULL) +
		   (cmd->interval_ns != 0);

	if (ways > 1)
		return err_set(err, -EINVAL,
			       "only one of --interval, --listen, --compare, --advise and --serve");
	if (cmd->save && (cmd->interval_ns || cmd->advise || cmd->serve || cmd->compare))
		return err_set(err, -EINVAL, "--save keeps one report of delays");
	if (cmd->labels && !cmd->serve)
		return err_set(err, -EINVAL, "--labels goes with --serve");
	return 0;
}

static bool is_chosen(const struct delays_cmd *cmd)
{
	return cmd->trace || cmd->pid_count || cmd->comm || cmd->cgroup || cmd->user || cmd->all;
}

/* Returns 0, or -EINVAL with err filled when the options do not go together. */
static int check_options(const struct delays_cmd *cmd, struct err *err)
{
	if (check_ways(cmd, err) < 0)
		return -EINVAL;
	if (cmd->compare)
		return 0;
	if (cmd->trace && (cmd->listen || cmd->interval_ns || cmd->advise || cmd->serve ||
			   cmd->cgroup || cmd->user || cmd->enable))
		return err_set(
			err, -EINVAL,
			"of a recording there are processes, --comm, --threads, --sort, --top, "
			"--save, --reconcile and --json");
	if (cmd->reconcile && !cmd->trace)
		return err_set(err, -EINVAL, "--reconcile needs a recording");
	if (cmd->reconcile && (cmd->save || cmd->sort))
		return err_set(err, -EINVAL, "--reconcile goes with --threads, --top and --json");
	if (cmd->listen && is_chosen(cmd))
		return err_set(err, -EINVAL, "--listen hears all, or a command: -- COMMAND");
	if (!cmd->listen &&
	    (cmd->command || cmd->cpus || cmd->output || cmd->duration_ns || cmd->buffer_bytes))
		return err_set(err, -EINVAL,
			       "a command, --cpus, --output, --duration and --buffer "
			       "go with --listen");
	if (cmd->command && cmd->duration_ns)
		return err_set(err, -EINVAL,
			       "a command says itself how long it takes: no "
			       "--duration");
	if (cmd->listen)
		return 0;
	if (!is_chosen(cmd) && !cmd->enable && !cmd->serve)
		return err_set(err, -EINVAL,
			       "whose delays? give a PID, --comm, --cgroup, --user or --all");
	if (cmd->count && !cmd->interval_ns)
		return err_set(err, -EINVAL, "--count needs --interval");
	return 0;
}

/* Returns 1 when that was all that was asked for. */
static int enable(const struct delays_cmd *cmd, struct err *err)
{
	bool chosen = is_chosen(cmd) || cmd->listen || cmd->serve;
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
	fputs("kernel.task_delayacct is on now, until the next boot. It counts for tasks that "
	      "start from now on: those that run\nalready keep counting the time without a CPU "
	      "only. Off again: sysctl kernel.task_delayacct=0\n",
	      stderr);
	return !chosen;
}

static int run_parsed(const struct delays_cmd *cmd, struct err *err)
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

static int run_delays(int argc, char **argv)
{
	struct delays_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(delays_options, &cmd, argc, argv, &err);
	int rc;

	if (first < 0)
		return command_usage(&cmd_delays, first, &err);
	cmd.command = opts_command(argv, first, &argc);
	cmd.files = argv + first;
	cmd.file_count = (size_t)(argc - first);
	rc = cmd.compare ? 0 : parse_pids(&cmd, argv + first, argc - first, &err);
	if (rc == 0)
		rc = check_options(&cmd, &err);
	if (rc < 0) {
		free(cmd.pids);
		return command_usage(&cmd_delays, rc, &err);
	}
	rc = run_parsed(&cmd, &err);
	free(cmd.pids);
	if (rc >= 0)
		return rc;
	if (rc == -EINVAL && cmd.serve)
		return command_usage(&cmd_delays, rc, &err);
	(void)command_fail(&cmd_delays, &err);
	return rc == -EINTR && interrupt_pending() ? command_end_by(interrupt_pending())
						   : EXIT_FAIL;
}

const struct command cmd_delays = {
	.name = "delays",
	.args = "[OPTIONS] [PID...] [TRACE | -- COMMAND | FILE...]",
	.summary = "Say what tasks wait for, by the kernel's own accounting",
	.options = delays_options,
	.details =
		"Prints for each process, and with --threads for each thread, how long it ran, how\n"
		"long it waited for a CPU, for disk and for memory, since it started; with --interval\n"
		"what came in each interval. No trace is recorded: the kernel counts this anyway.\n"
		"\n"
		"--listen -- COMMAND adds up the accounts of a command and all its descendants when\n"
		"they exit, as time does for CPU time, and ends with the status of the command.\n"
		"\n"
		"Needs CAP_NET_ADMIN, and kernel.task_delayacct=1 before the task started. What is\n"
		"not counted is shown as \"-\". Without the right, /proc tells the time without a CPU.\n"
		"\n"
		"--advise says which of nice, ionice, affinity and the settings of cgroups may shorten\n"
		"the waits, and by how much at most. --serve answers a Prometheus server or the like.\n"
		"\n"
		"With a TRACE the same is computed from its events: CPU, disk, interrupts.\n"
		"\n"
		"Exit status: with a command that of the command (128 + signal when it was killed,\n"
		"126 or 127 when it could not be started), else 0: printed; 2 wrong usage; 3 could\n"
		"not: no such task.\n"
		"\n"
		"  holdup delays --enable\n"
		"  holdup delays --threads 1234\n"
		"  holdup delays --all --interval 1s --sort disk\n"
		"  holdup delays --listen -- make -j8\n"
		"  holdup delays --all --advise\n"
		"  holdup delays --serve 9123\n"
		"  holdup delays --comm postgres --json | jq '.tasks[].delays.disk'\n",
	.run = run_delays,
};

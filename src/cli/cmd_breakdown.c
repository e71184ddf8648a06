/* cmd_breakdown.c - holdup breakdown: one process, each call, fault, interrupt and wait. */
#include <stdio.h>

#include "analyse/stats/breakdown.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/opts.h"
#include "cli/pid_window.h"
#include "read/read.h"
#include "report/breakdown.h"

struct breakdown_cmd {
	const char *from, *to;
	bool json;
	uint32_t top;
};

static const struct opt_spec breakdown_options[] = {
	{ "from", "WHEN", "Start the window at a time or event (default: start of the trace)",
	  opt_string, offsetof(struct breakdown_cmd, from) },
	{ "to", "WHEN", "End the window at a time or event (default: end of the trace)", opt_string,
	  offsetof(struct breakdown_cmd, to) },
	{ "top", "N", "Print N rows of each table (default 20)", opt_u32,
	  offsetof(struct breakdown_cmd, top) },
	{ "json", NULL, "Print JSON with all rows, times in ns", opt_flag,
	  offsetof(struct breakdown_cmd, json) },
	{ 0 },
};

static int print_breakdown(const struct breakdown_cmd *cmd, const struct pid_window *window,
			   struct err *err)
{
	struct report_breakdown_opts report = { .json = cmd->json, .top = cmd->top };
	struct breakdown_opts opts = { .pid = window->pid };
	struct breakdown breakdown;
	struct loaded loaded;
	int rc = pid_window_load(window, &loaded, &opts.start_ns, &opts.end_ns, err);

	if (rc < 0)
		return rc;
	rc = breakdown_run(loaded.timeline, loaded.facts, trace_source(loaded.trace), &opts,
			   &breakdown, err);
	if (rc == 0) {
		report_breakdown(stdout, &breakdown, loaded.facts, &report);
		breakdown_fini(&breakdown);
	}
	loaded_fini(&loaded);
	return rc;
}

static int run_breakdown(int argc, char **argv)
{
	struct breakdown_cmd cmd = { 0 };
	struct pid_window window = { 0 };
	struct err err = { 0 };
	int first = opts_parse(breakdown_options, &cmd, argc, argv, &err);
	const char *times[2] = { cmd.from, cmd.to };
	int rc;

	if (first < 0)
		return command_usage(&cmd_breakdown, first, &err);
	rc = pid_window_parse(&window, "process", times, argc - first, argv + first, &err);
	if (rc < 0)
		return command_usage(&cmd_breakdown, rc, &err);
	return print_breakdown(&cmd, &window, &err) < 0 ? command_fail(&cmd_breakdown, &err)
							: EXIT_OK;
}

const struct command cmd_breakdown = {
	.name = "breakdown",
	.args = "[OPTIONS] PID [TRACE]",
	.summary = "Break down a process's time by system call, fault and wait",
	.options = breakdown_options,
	.details =
		"Prints time, count and inner events of each system call, page fault and\n"
		"interrupt; the object and the waker of each wait; what other threads did during\n"
		"these waits; and one line per thread. The parts add up exactly to the life of\n"
		"the threads.\n"
		"\n"
		"Exit status: 0 printed, 2 wrong usage, 3 the process does not exist or the trace\n"
		"could not be read.\n"
		"\n"
		"  holdup breakdown 1234 run.holdup\n"
		"  holdup breakdown --from +1s --to +2s --json 1234 run.holdup\n",
	.only_reads = true,
	.prints_report = true,
	.run = run_breakdown,
};

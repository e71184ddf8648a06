/* cmd_states.c - holdup states: what one thread was in, one interval after the other. */
#include <errno.h>
#include <stdio.h>

#include "analyse/stats/states.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/opts.h"
#include "cli/pid_window.h"
#include "report/states.h"
#include "timeline/timeline.h"

struct states_cmd {
	const char *from, *to;
	bool json;
	uint64_t max;
};

static const struct opt_spec states_options[] = {
	{ "from", "WHEN", "Start the window at a time or event (default: start of the thread)",
	  opt_string, offsetof(struct states_cmd, from) },
	{ "to", "WHEN", "End the window at a time or event (default: end of the thread)",
	  opt_string, offsetof(struct states_cmd, to) },
	{ "count", "N", "Print N intervals (default 0: all)", opt_u64,
	  offsetof(struct states_cmd, max), 'n' },
	{ "json", NULL, "Print JSON, one object per line, times in ns", opt_flag,
	  offsetof(struct states_cmd, json) },
	{ 0 },
};

/* The thread that had the number in the window, else the last one that had it. */
static int states_find_thread(const struct timeline *timeline, int32_t tid,
			      struct states_opts *opts, struct err *err)
{
	opts->slot = timeline_find_thread(timeline, tid, opts->end_ns - 1);
	if (opts->slot == SLOT_NONE)
		opts->slot = timeline_find_thread(timeline, tid, UINT64_MAX);
	if (opts->slot == SLOT_NONE)
		return err_set(err, -ESRCH, "no thread %d in this recording", tid);
	return states_window(timeline, opts, err);
}

static int states_print_states(const struct states_cmd *cmd, const struct pid_window *window,
			       struct err *err)
{
	struct report_states report = { .out = stdout, .json = cmd->json };
	struct states_opts opts = { .max = cmd->max };
	struct states_sum sum;
	struct loaded loaded;
	int rc = pid_window_load(window, &loaded, &opts.start_ns, &opts.end_ns, err);

	if (rc < 0)
		return rc;
	rc = states_find_thread(loaded.timeline, window->pid, &opts, err);
	if (rc == 0) {
		report.facts = loaded.facts;
		report.tid = window->pid;
		report_states_begin(&report, timeline_comm(loaded.timeline, opts.slot), window->pid,
				    opts.start_ns, opts.end_ns);
		states_run(loaded.timeline, loaded.facts, &opts, report_states_span, &report, &sum);
		report_states_end(&report, &sum);
	}
	loaded_fini(&loaded);
	return rc;
}

static int run_states(int argc, char **argv)
{
	struct states_cmd cmd = { 0 };
	struct pid_window window = { 0 };
	struct err err = { 0 };
	int first = opts_parse(states_options, &cmd, argc, argv, &err);
	const char *times[2] = { cmd.from, cmd.to };
	int rc;

	if (first < 0)
		return command_usage(&cmd_states, first, &err);
	rc = pid_window_parse(&window, "thread", times, argc - first, argv + first, &err);
	if (rc < 0)
		return command_usage(&cmd_states, rc, &err);
	return states_print_states(&cmd, &window, &err) < 0 ? command_fail(&cmd_states, &err)
							    : EXIT_OK;
}

const struct command cmd_states = {
	.name = "states",
	.args = "[OPTIONS] TID [TRACE]",
	.summary = "Print a thread's states, interval by interval",
	.options = states_options,
	.details =
		"Prints one line for each interval: its start, length and state; for a wait, its\n"
		"object and its end. Intervals follow each other without gaps.\n"
		"\n"
		"Exit status: 0 printed, 2 wrong usage, 3 the thread does not exist or the trace\n"
		"could not be read.\n"
		"\n"
		"  holdup states 1234 run.holdup\n"
		"  holdup states --from +1s -n 20 1234 run.holdup\n"
		"  holdup states --json 1234 run.holdup\n",
	.only_reads = true,
	.prints_report = true,
	.run = run_states,
};

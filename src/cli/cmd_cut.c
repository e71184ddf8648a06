/* cmd_cut.c - holdup cut: a window of a trace, or some of its threads, as a trace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/window.h"
#include "base/digits.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/window.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "cli/progress.h"
#include "cli/reading.h"
#include "event/facts.h"
#include "export/cut.h"
#include "read/read.h"
#include "report/vocabulary.h"

#define DEFAULT_DIR "cut.holdup"
#define CPUS	    65536u

struct cut_cmd {
	const char *from, *to;
	struct opt_pids tids, pids;
	const char *cpus;
	const char *dir;
	bool json;
};

static const struct opt_spec cut_options[] = {
	{ "from", "WHEN", "Start at a time, event or place (default: start of the trace)",
	  opt_string, offsetof(struct cut_cmd, from) },
	{ "to", "WHEN", "End at a time, event or place (default: end of the trace)", opt_string,
	  offsetof(struct cut_cmd, to) },
	{ "tid", "TID", "Keep details of these threads only; repeat for more", opt_pids,
	  offsetof(struct cut_cmd, tids) },
	{ "pid", "PID", "Keep details of these processes only; repeat for more", opt_pids,
	  offsetof(struct cut_cmd, pids) },
	{ "cpu", "LIST", "Keep these CPUs only, such as 0 or 0,2-5 (default: all)", opt_string,
	  offsetof(struct cut_cmd, cpus) },
	{ "dir", "DIR", "Write the cut to DIR (default cut.holdup)", opt_string,
	  offsetof(struct cut_cmd, dir), 'o' },
	{ "json", NULL, "Print JSON about the result, times in ns", opt_flag,
	  offsetof(struct cut_cmd, json) },
	{ 0 },
};

/* One part of a list of CPUs, "2" or "2-5"; *at moves behind it. */
static bool take_cpus(const char **at, uint8_t *wanted)
{
	char *end;
	unsigned long first, last;

	if (**at < '0' || **at > '9')
		return false;
	first = last = strtoul(*at, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		last = strtoul(end + 1, &end, 10);
	if (first > last || last >= CPUS)
		return false;
	for (unsigned long cpu = first; cpu <= last; cpu++)
		wanted[cpu] = 1;
	*at = end;
	return true;
}

static int cut_parse_cpus(const char *list, uint8_t **out_wanted, struct err *err)
{
	const char *at = list;
	uint8_t *wanted;

	*out_wanted = NULL;
	if (!list)
		return 0;
	wanted = xcalloc(CPUS, 1);
	while (take_cpus(&at, wanted) && *at == ',')
		at++;
	*out_wanted = wanted;
	return *at || at == list ? err_set(err, -EINVAL,
					   "option --cpu needs a list such as 0 or 0,2-5, got "
					   "\"%s\"",
					   list)
				 : 0;
}

static void cut_say(void *context, uint64_t time_ns)
{
	const struct facts *facts = context;
	char line[128];

	if (time_ns < facts->first_ns)
		return;
	(void)snprintf(line, sizeof(line), "reading up to the window: %s",
		       text_duration(time_ns - facts->first_ns).s);
	progress_say(line);
}

static void cut_print_json(const struct cut_opts *opts, const struct cut_result *result)
{
	struct json json = { .out = stdout };

	report_json_begin(&json, NULL, "cut");
	report_json_window(&json, opts->from_ns, opts->to_ns);
	json_print_u64(&json, "events", result->events);
	json_print_u64(&json, "threads", result->threads);
	json_end_object(&json);
	json_fini(&json);
}

static void cut_print_result(const struct cut_cmd *cmd, const struct cut_opts *opts,
			     const struct cut_result *result)
{
	AUTO_FREE char *safe = text_escaped(cmd->dir);

	if (cmd->json)
		cut_print_json(opts, result);
	else
		printf("%s: %s event%s in %s, %s thread%s at its start, as %s\n", safe,
		       text_count(result->events).s, result->events == 1 ? "" : "s",
		       text_duration(opts->to_ns - opts->from_ns).s, text_count(result->threads).s,
		       result->threads == 1 ? "" : "s", result->format);
}

/* The window; what was not given is the begin and the end. The end is behind the last event. */
static int cut_find_window(struct trace *trace, const struct when *from, const struct when *to,
			   struct cut_opts *opts, struct err *err)
{
	const struct facts *facts = trace_facts(trace);
	int rc = when_find(trace, from, 0, facts->first_ns, &opts->from_ns, err);

	if (rc < 0)
		return err_wrap(err, "searching for the start of the window (--from)");
	rc = when_find(trace, to, opts->from_ns, facts->last_ns, &opts->to_ns, err);
	if (rc < 0)
		return err_wrap(err, "searching for the end of the window (--to)");
	if (to->kind == WHEN_NONE || opts->to_ns > facts->last_ns)
		opts->to_ns = facts->last_ns + 1;
	if (opts->to_ns <= opts->from_ns || opts->to_ns <= facts->first_ns)
		return window_refuse(err, -ERANGE, opts->from_ns, opts->to_ns, facts->first_ns,
				     facts->last_ns);
	if (opts->from_ns < facts->first_ns)
		opts->from_ns = facts->first_ns;
	return 0;
}

static int cut(const struct cut_cmd *cmd, const char *path, const struct when *from,
	       const struct when *to, struct cut_opts *opts, struct err *err)
{
	struct cut_result result;
	struct trace *trace;
	int rc;

	reading_writes(cmd->dir);
	rc = load_plain(path, &trace, err);

	if (rc < 0)
		return rc;
	opts->progress = cut_say;
	opts->context = (void *)trace_facts(trace);
	rc = cut_find_window(trace, from, to, opts, err);
	if (rc == 0)
		rc = cut_trace(trace, path, cmd->dir, opts, &result, err);
	progress_clear();
	if (rc == 0)
		cut_print_result(cmd, opts, &result);
	trace_close(trace);
	return rc;
}

static int cut_run_parsed(struct cut_cmd *cmd, const char *path, const struct when *from,
			  const struct when *to)
{
	struct cut_opts opts = { .tids = cmd->tids.pids,
				 .tid_count = cmd->tids.count,
				 .pids = cmd->pids.pids,
				 .pid_count = cmd->pids.count,
				 .cpu_count = CPUS };
	AUTO_FREE uint8_t *wanted = NULL;
	struct err err = { 0 };
	int rc = cut_parse_cpus(cmd->cpus, &wanted, &err);

	if (rc < 0)
		return command_usage(&cmd_cut, rc, &err);
	opts.cpus = wanted;
	rc = cut(cmd, path, from, to, &opts, &err);
	return rc < 0 ? command_fail(&cmd_cut, &err) : EXIT_OK;
}

static int run_cut(int argc, char **argv)
{
	struct cut_cmd cmd = { .dir = DEFAULT_DIR };
	struct when from, to;
	struct err err = { 0 };
	int first = opts_parse(cut_options, &cmd, argc, argv, &err), rc, status;

	rc = first >= 0 && argc - first > 1 ? err_set(&err, -EINVAL, "expected one trace") : first;
	if (rc >= 0)
		rc = when_parse(cmd.from, false, &from, &err);
	if (rc >= 0)
		rc = when_parse(cmd.to, true, &to, &err);
	if (rc < 0)
		status = command_usage(&cmd_cut, rc, &err);
	else
		status = cut_run_parsed(&cmd, argc > first ? argv[first] : DEFAULT_TRACE, &from,
					&to);
	free(cmd.tids.pids);
	free(cmd.pids.pids);
	return status;
}

const struct command cmd_cut = {
	.name = "cut",
	.args = "[OPTIONS] [TRACE]",
	.summary = "Copy a time window or some threads into a smaller trace",
	.options = cut_options,
	.details =
		"The cut contains the events from --from up to --to, and the state of all threads\n"
		"at its start. To learn how pending waits ended, the whole trace is read. A\n"
		"recording of holdup stays one; traces of other formats become CTF 1.8.\n"
		"\n"
		"With --tid or --pid, other threads keep only context switches, wake-ups and\n"
		"interrupts. --cpu drops other CPUs completely.\n"
		"\n"
		"Exit status: 0 written, 2 wrong usage, 3 failed.\n"
		"\n"
		"  holdup cut --from +1s --to +2s -o slow.holdup run.holdup\n"
		"  holdup cut --from sched_process_exec --pid 1234 lttng-trace\n",
	.only_reads = true,
	.run = run_cut,
};

/* cmd_check_trace.c - holdup check-trace: is a trace whole, and does its timeline hold? */
#include <stdio.h>

#include "analyse/locks/lock_owner.h"
#include "analyse/verify/verify.h"
#include "ask/lock_source.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "cli/progress.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/read.h"
#include "report/verify.h"

struct check_cmd {
	bool json;
};

static const struct opt_spec check_options[] = {
	{ "json", NULL, "Print JSON, times in ns", opt_flag, offsetof(struct check_cmd, json) },
	{ 0 },
};

static void check_trace_say(void *context, uint64_t time_ns)
{
	const struct facts *facts = context;
	char line[128];

	if (time_ns < facts->first_ns)
		return;
	(void)snprintf(line, sizeof(line), "checking the trace: %s of %s",
		       text_duration(time_ns - facts->first_ns).s,
		       text_duration(facts->last_ns - facts->first_ns).s);
	progress_say(line);
}

static int verify_loaded(struct loaded *loaded, struct verify *verify, struct err *err)
{
	const struct verify_progress progress = { check_trace_say, (void *)loaded->facts };
	int rc = verify_events(trace_source(loaded->trace), loaded->facts, &progress, verify, err);

	if (rc == 0)
		verify_timeline(loaded->timeline, loaded->facts, &progress, verify);
	progress_clear();
	return rc;
}

static int check_trace(const struct check_cmd *cmd, const char *path)
{
	const struct report_verify_opts opts = { .path = path, .json = cmd->json };
	struct verify verify = { 0 };
	struct loaded loaded = { 0 };
	struct err err = { 0 };
	int status = EXIT_FAIL;
	struct lock_owners *locks = NULL;
	int rc = load_trace(path, 0, &loaded, &err);

	/* It was damaged, and is whole again: told once. */
	if (rc == 0 && loaded.note && loaded.built && loaded.kept) {
		verify.index_damage = xstrdup(loaded.note);
		verify.index_rebuilt = true;
	}
	/* As why follows it; a problem of it is told there. */
	if (rc == 0)
		(void)lock_owners_read(path, &locks, NULL);
	verify.locks = locks;
	if (rc == 0)
		rc = verify_loaded(&loaded, &verify, &err);
	if (rc == 0) {
		report_verify(stdout, &verify, loaded.facts, &opts);
		status = verify_is_whole(&verify, loaded.facts) ? EXIT_OK : EXIT_FOUND;
	}
	verify_fini(&verify);
	lock_owners_free(locks);
	loaded_fini(&loaded);
	return rc < 0 ? command_fail(&cmd_check_trace, &err) : status;
}

static int run_check_trace(int argc, char **argv)
{
	struct check_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(check_options, &cmd, argc, argv, &err);

	if (first >= 0 && argc - first > 1)
		first = err_set(&err, -1, "expected one trace");
	if (first < 0)
		return command_usage(&cmd_check_trace, first, &err);
	return check_trace(&cmd, argc > first ? argv[first] : DEFAULT_TRACE);
}

const struct command cmd_check_trace = {
	.name = "check-trace",
	.args = "[OPTIONS] [TRACE]",
	.summary = "Verify a trace and report damage and lost events",
	.options = check_options,
	.details =
		"Reads all events of TRACE or run.holdup. Prints which events are lost, on which\n"
		"CPU and when, and what is damaged. Then verifies the index: the states of each\n"
		"thread add up to its life, to the nanosecond; CPUs and their threads agree;\n"
		"waits, wake-ups and stored sums agree.\n"
		"\n"
		"Exit status: 0 the trace is complete, 1 something is damaged, lost or\n"
		"contradictory, 2 wrong usage, 3 the trace could not be read.\n"
		"\n"
		"  holdup check-trace run.holdup\n"
		"  holdup check-trace --json | jq '.holes[] | {cpu, ns: (.end_ns - .start_ns)}'\n",
	.only_reads = true,
	.prints_report = true,
	.run = run_check_trace,
};

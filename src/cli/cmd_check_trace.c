/* cmd_check_trace.c - holdup check-trace: is a trace whole, and does its timeline hold? */
#include <stdio.h>

#include "analyse/lock_owner.h"
#include "analyse/verify.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/lock_source.h"
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

static void say(void *context, uint64_t time_ns)
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

/* What programs told of their locks, as why follows it; a problem of it is told there. */
static struct lock_owners *learn_locks(const char *path)
{
	struct lock_owners *owners = NULL;
	struct source *source = NULL;

	if (lock_source_open_beside(path, &source, NULL) == 0 && source)
		(void)lock_owners_new(source, lock_source_facts(source)->last_ns, &owners, NULL);
	source_close(source);
	return owners;
}

static int verify_loaded(struct loaded *loaded, struct verify *verify, struct err *err)
{
	const struct verify_progress progress = { say, (void *)loaded->facts };
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
	if (rc == 0)
		verify.locks = locks = learn_locks(path);
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
		first = err_set(&err, -1, "it takes one trace");
	if (first < 0)
		return command_usage(&cmd_check_trace, first, &err);
	return check_trace(&cmd, argc > first ? argv[first] : DEFAULT_TRACE);
}

const struct command cmd_check_trace = {
	.name = "check-trace",
	.args = "[OPTIONS] [TRACE]",
	.summary = "Verify a trace and its timeline, and say what is damaged or lost",
	.options = check_options,
	.details =
		"Reads all events of TRACE, or of run.holdup: what is lost on which CPU and when, and\n"
		"what is damaged. Then goes through the timeline and checks that what must always\n"
		"hold does: the states of each thread add up to its life, to the nanosecond; a CPU\n"
		"and its threads tell the same; waits, wake-ups and stored sums fit together.\n"
		"\n"
		"Exit status: 0 the trace is whole, 1 something is damaged, lost or does not hold,\n"
		"2 wrong usage, 3 it cannot be read.\n"
		"\n"
		"  holdup check-trace run.holdup\n"
		"  holdup check-trace --json | jq '.holes[] | {cpu, ns: (.end_ns - .start_ns)}'\n",
	.only_reads = true,
	.run = run_check_trace,
};

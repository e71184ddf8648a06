/*
 * cmd_check.c - holdup check: a model over a trace, or over a fresh recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/check.h"
#include "analyse/lock_owner.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/check_feed.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/lock_source.h"
#include "cli/reading.h"
#include "cli/rights.h"
#include "cli/recording.h"
#include "cli/output.h"
#include "cli/tempdir.h"
#include "event/source.h"
#include "model/model.h"
#include "read/read.h"
#include "record/record.h"
#include "report/check.h"
#include "timeline/timeline.h"

struct check_cmd {
	bool json, no_why;
	const char *junit, *kernel;
	uint32_t top;
	struct recording_opts recording;
	int final_signal; /* that ended the recording and us; 0 = none */
};

static const struct opt_spec check_options[] = {
	{ "junit", "FILE", "Write the results to FILE, too, as JUnit's XML", opt_string,
	  offsetof(struct check_cmd, junit) },
	{ "kernel", "TRACE", "Take what threads did from this trace, recorded on the same clock",
	  opt_string, offsetof(struct check_cmd, kernel) },
	{ "top", "N", "Explain and print N findings (default 10)", opt_u32,
	  offsetof(struct check_cmd, top) },
	{ "no-why", NULL, "Leave out why a constraint was broken", opt_flag,
	  offsetof(struct check_cmd, no_why) },
	{ "json", NULL, "Print JSON, times in ns", opt_flag, offsetof(struct check_cmd, json) },
	RECORDING_OPTIONS(struct check_cmd, recording),
	{ 0 },
};

/* All that a check needs; zeroed is empty. */
struct checking {
	struct check_cmd *cmd;
	const char *model_path;
	struct model *model;	 /* owned */
	struct loaded loaded;	 /* owned; without events of the kernel only the trace */
	struct trace *plain;	 /* owned; the trace, when there is no timeline */
	struct check_feed *feed; /* owned */
	struct check *check;	 /* owned */
};

static void checking_fini(struct checking *checking)
{
	check_free(checking->check);
	check_feed_free(checking->feed);
	loaded_fini(&checking->loaded);
	trace_close(checking->plain);
	model_free(checking->model);
}

static bool has_invalid(const struct checking *checking)
{
	return check_result(checking->check)->count[CHECK_INVALID] > 0;
}

/* What programs told of their locks; without it the kernel's events answer alone. */
static struct lock_owners *learn_locks(const char *path)
{
	struct lock_owners *owners = NULL;
	struct source *source = NULL;

	if (lock_source_open_beside(path, &source, NULL) == 0 && source &&
	    lock_owners_new(source, lock_source_facts(source)->last_ns, &owners, NULL) < 0)
		owners = NULL;
	source_close(source);
	return owners;
}

static int explain(struct checking *checking, const char *path, struct err *err)
{
	const struct check_cmd *cmd = checking->cmd;
	struct lock_owners *owners;
	struct loaded loaded = { 0 };
	const struct loaded *use = &checking->loaded;
	int rc = 0;

	if (cmd->no_why || !has_invalid(checking) || !check_feed_has_kernel(checking->feed))
		return 0;
	if (!checking->loaded.timeline) {
		rc = load_trace(path, 0, &loaded, err);
		use = &loaded;
	}
	if (rc < 0)
		return rc;
	owners = learn_locks(path);
	check_explain(checking->check, use->timeline, use->facts, owners,
		      cmd->top ? cmd->top : REPORT_CHECK_TOP);
	lock_owners_free(owners);
	loaded_fini(&loaded);
	return 0;
}

/* Events of programs in one trace, those of the kernel in another one. */
static int open_kernel(struct checking *checking, struct err *err)
{
	int rc = load_trace(checking->cmd->kernel, 0, &checking->loaded, err);

	if (rc == 0)
		rc = check_feed_use_kernel(checking->feed, checking->loaded.trace, err);
	return rc < 0 ? err_wrap(err, "opening %s (--kernel)", checking->cmd->kernel) : 0;
}

/* The trace with its timeline when something asks for it, else alone. */
static int open_trace(struct checking *checking, const char *path, struct model_errors *errors,
		      struct err *err)
{
	int rc = load_plain(path, &checking->plain, err);

	if (rc == 0)
		rc = check_feed_new(checking->plain, checking->model, &checking->feed, errors, err);
	if (rc == 0 && checking->cmd->kernel)
		return open_kernel(checking, err);
	if (rc < 0 || !model_asks_kernel(checking->model) || !check_feed_has_kernel(checking->feed))
		return rc;
	check_feed_free(checking->feed);
	checking->feed = NULL;
	trace_close(checking->plain);
	checking->plain = NULL;
	rc = load_trace(path, 0, &checking->loaded, err);
	if (rc == 0)
		rc = check_feed_new(checking->loaded.trace, checking->model, &checking->feed,
				    errors, err);
	return rc;
}

/* Those of the trace and, when that is another one, of what tells of the kernel. */
static size_t find_holes(const struct checking *checking, struct check_hole **out_holes)
{
	const struct timeline *kernel = checking->cmd->kernel ? checking->loaded.timeline : NULL;
	const struct check_hole *seen;
	size_t count = check_feed_holes(checking->feed, &seen),
	       more = kernel ? kernel->gap_count : 0;

	*out_holes = xcalloc(count + more + 1, sizeof(**out_holes));
	if (count)
		memcpy(*out_holes, seen, count * sizeof(*seen));
	for (size_t i = 0; i < more; i++)
		(*out_holes)[count + i] =
			(struct check_hole){ .since_ns = kernel->gaps[i].since_ns,
					     .until_ns = kernel->gaps[i].until_ns };
	return count + more;
}

/* Where events were lost is known only in the end: then all is looked at once more. */
static int run_once_or_twice(struct checking *checking, struct check_opts *opts, struct err *err)
{
	const struct check_result *result;
	AUTO_FREE struct check_hole *holes = NULL;
	int rc;

	checking->check = check_new(checking->model, opts);
	rc = check_feed_run(checking->feed, checking->check, err);
	result = check_result(checking->check);
	opts->hole_count = find_holes(checking, &holes);
	opts->holes = holes;
	if (rc < 0 || !opts->hole_count)
		return rc;
	opts->took_kernel = result->took_kernel;
	opts->took_user = result->took_user;
	check_free(checking->check);
	checking->check = check_new(checking->model, opts);
	return check_feed_run(checking->feed, checking->check, err);
}

static int run_engine(struct checking *checking, const char *path, struct err *err)
{
	struct check_opts opts = {
		.reader = check_feed_reader(checking->feed),
		.timeline = checking->loaded.timeline,
		.facts = checking->plain ? trace_facts(checking->plain) : checking->loaded.facts,
		.missing = check_feed_missing(checking->feed),
	};
	int rc = run_once_or_twice(checking, &opts, err);

	if (rc == 0)
		rc = explain(checking, path, err);
	if (rc == 0 && checking->loaded.timeline && timeline_damage(checking->loaded.timeline))
		rc = err_set(err, -EIO, "%s; holdup index --force builds it again",
			     timeline_damage(checking->loaded.timeline));
	return rc;
}

static int write_junit(const char *path, const struct report_check *report, struct err *err)
{
	struct output output = { .fd = -1 };
	int rc = output_begin(path, &output, err);
	FILE *out;

	if (rc < 0)
		return rc;
	out = output_stream(&output);
	if (out)
		report_check_junit(out, report);
	if (!out || (ferror(out) | fclose(out)))
		rc = err_set(err, -EIO, "cannot write to %s: %s", path, strerror(errno));
	return output_end(&output, rc, err);
}

static int print_result(const struct checking *checking, struct err *err)
{
	const struct check_cmd *cmd = checking->cmd;
	struct report_check report = {
		.result = check_result(checking->check),
		.facts = checking->plain ? trace_facts(checking->plain) : checking->loaded.facts,
		.top = cmd->top,
	};

	report.note_count = check_feed_notes(checking->feed, &report.notes);
	if (cmd->json)
		report_check_json(stdout, &report);
	else
		report_check(stdout, &report);
	return cmd->junit ? write_junit(cmd->junit, &report, err) : 0;
}

static int status_of(const struct check_result *result)
{
	static const int statuses[] = { EXIT_OK, EXIT_UNCERTAIN, EXIT_FOUND };

	return statuses[result->status];
}

/* Record the command into a directory of the user's or into a temporary one. */
static int record_command(struct check_cmd *cmd, char **command, const char **out_trace,
			  struct err *err)
{
	struct record_opts opts = { .argv = command };
	struct record_result result = { .status = -1 };
	bool is_given;
	int rc = 0;

	recording_fill(&cmd->recording, &opts);
	if (!opts.dir)
		rc = tempdir_make(&opts.dir, err);
	if (rc == 0)
		rc = recording_preload(&cmd->recording, &opts, err);
	if (rc == 0)
		rc = record_run(&opts, &result, err);
	cmd->final_signal = result.final_signal;
	if (rc < 0)
		return rc;
	if (recording_status(result.status))
		fprintf(stderr, "holdup: the command itself ended with status %d\n",
			recording_status(result.status));
	if (cmd->recording.dir)
		recording_summary(&result, &opts);
	is_given = result.is_given;
	record_result_fini(&result);
	*out_trace = opts.dir;
	if (cmd->final_signal)
		return err_set(err, -EINTR, "interrupted: the recording is not checked");
	return recording_leave_root(&cmd->recording, opts.dir, is_given, err);
}

/* Returns an exit status. */
static int check_trace(struct checking *checking, const char *path, char **command)
{
	struct model_errors errors = { 0 };
	struct err err = { 0 };
	int status,
		rc = command ? rights_load_model(checking->model_path, &checking->model, &errors,
						 &err)
			     : model_load(checking->model_path, &checking->model, &errors, &err);

	if (rc == 0 && command)
		rc = record_command(checking->cmd, command, &path, &err);
	if (rc == 0)
		rc = open_trace(checking, path, &errors, &err);
	if (rc == 0)
		rc = run_engine(checking, path, &err);
	if (rc == 0)
		rc = print_result(checking, &err);
	tempdir_remove();
	if (errors.count)
		report_mistakes(stderr, checking->model_path, &errors);
	status = errors.count ? EXIT_USAGE : EXIT_FAIL;
	if (rc == 0)
		status = status_of(check_result(checking->check));
	else if (!errors.count)
		command_fail(&cmd_check, &err);
	model_errors_fini(&errors);
	if (err.code == -EINTR && checking->cmd->final_signal)
		return command_end_by(checking->cmd->final_signal);
	return status;
}

/* What can be told wrong before any work is done. */
static int check_usage(const struct check_cmd *cmd, int operands, char **command, struct err *err)
{
	if (operands < 1)
		return err_set(err, -EINVAL, "which model? Its file is missing");
	if (command && !command[0])
		return err_set(err, -EINVAL, "there is no command after --");
	if (operands > (command ? 1 : 2))
		return err_set(err, -EINVAL, "it takes a model, and one trace or a command");
	if (command && cmd->kernel)
		return err_set(err, -EINVAL, "--kernel goes with a trace, not with a command");
	if (!command && recording_any(&cmd->recording))
		return err_set(err, -EINVAL, "options of recording need a command: -- COMMAND ...");
	return recording_check(&cmd->recording, err);
}

static int parse_and_check(struct check_cmd *cmd, int argc, char **argv)
{
	struct checking checking = { .cmd = cmd };
	struct err err = { 0 };
	int first = opts_parse(check_options, cmd, argc, argv, &err);
	char **command;
	int rc;

	if (first < 0)
		return command_usage(&cmd_check, first, &err);
	command = opts_command(argv, first, &argc);
	rc = check_usage(cmd, argc - first, command, &err);
	if (rc < 0)
		return command_usage(&cmd_check, rc, &err);
	checking.model_path = argv[first];
	reading_indexes(cmd->kernel);
	reading_writes(cmd->junit);
	rc = check_trace(&checking, argc - first > 1 ? argv[first + 1] : DEFAULT_TRACE, command);
	checking_fini(&checking);
	return rc;
}

static int run_check(int argc, char **argv)
{
	struct check_cmd cmd = { 0 };
	int status = parse_and_check(&cmd, argc, argv);

	recording_fini(&cmd.recording);
	return status;
}

const struct command cmd_check = {
	.name = "check",
	.args = "[OPTIONS] MODEL [TRACE | -- COMMAND ARGS...]",
	.summary = "Check a trace against a model, and explain each violation",
	.options = check_options,
	.details =
		"MODEL is a state machine over events, in YAML, with constraints on what happened on\n"
		"the way: times, counts of what threads did, values of events. TRACE is run.holdup\n"
		"unless named; a command is recorded and checked in one go, and the recording removed\n"
		"unless -o names a directory for it.\n"
		"\n"
		"A constraint that lost or missing events could decide is uncertain.\n"
		"\n"
		"Exit status: 0 all instances are valid, 1 one is invalid, 4 none is invalid and one is\n"
		"uncertain (or there was none), 2 wrong usage or a mistake in the model, 3 could not\n"
		"record or read.\n"
		"\n"
		"  holdup check requests.yaml run.holdup\n"
		"  sudo holdup check --junit result.xml requests.yaml -- ./server --once\n",
	.only_reads = true,
	.run = run_check,
};

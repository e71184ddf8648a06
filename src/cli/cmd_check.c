/*
 * cmd_check.c - holdup check: a model over a trace, or over a fresh recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/check/check.h"
#include "ask/check_feed.h"
#include "ask/model_run.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/reading.h"
#include "cli/recording.h"
#include "cli/rights.h"
#include "cli/tempdir.h"
#include "model/model.h"
#include "record/record.h"
#include "report/check.h"

struct check_cmd {
	bool json, no_why;
	const char *junit, *kernel;
	uint32_t top;
	struct recording_opts recording;
	int final_signal; /* that ended the recording and us; 0 = none */
};

static const struct opt_spec check_options[] = {
	{ "junit", "FILE", "Write the results also to FILE, as JUnit XML", opt_string,
	  offsetof(struct check_cmd, junit) },
	{ "kernel", "TRACE", "Read kernel events from this trace, recorded on the same clock",
	  opt_string, offsetof(struct check_cmd, kernel) },
	{ "top", "N", "Explain and print N findings (default 10)", opt_u32,
	  offsetof(struct check_cmd, top) },
	{ "no-why", NULL, "Omit the reasons why a constraint was broken", opt_flag,
	  offsetof(struct check_cmd, no_why) },
	{ "json", NULL, "Print JSON, times in ns", opt_flag, offsetof(struct check_cmd, json) },
	RECORDING_OPTIONS(struct check_cmd, recording),
	{ 0 },
};

/* All that a check needs; zeroed is empty. */
struct checking {
	struct check_cmd *cmd;
	const char *model_path;
	struct model *model;  /* owned */
	struct model_run run; /* owned */
};

static void checking_fini(struct checking *checking)
{
	model_run_fini(&checking->run);
	model_free(checking->model);
}

static int check_run_model(struct checking *checking, const char *path, struct model_errors *errors,
			   struct err *err)
{
	const struct check_cmd *cmd = checking->cmd;
	const struct model_run_opts opts = {
		.load = load_opts_shown(0),
		.kernel = cmd->kernel,
		.minds_holes = true,
		.explain = cmd->no_why ? 0
			   : cmd->top  ? cmd->top
				       : REPORT_CHECK_TOP,
	};
	int rc = load_begin(path, err);

	return rc < 0 ? rc
		      : model_run_trace(path, &opts, checking->model, &checking->run, errors, err);
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

static int check_print_result(const struct checking *checking, struct err *err)
{
	const struct check_cmd *cmd = checking->cmd;
	struct report_check report = {
		.result = check_result(checking->run.check),
		.facts = model_run_facts(&checking->run),
		.why_facts = model_run_why_facts(&checking->run),
		.top = cmd->top,
	};

	report.note_count = check_feed_notes(checking->run.feed, &report.notes);
	if (cmd->json)
		report_check_json(stdout, &report);
	else
		report_check(stdout, &report);
	return cmd->junit ? write_junit(cmd->junit, &report, err) : 0;
}

static int check_status_of(const struct check_result *result)
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
		fprintf(stderr, "holdup: the command exited with status %d\n",
			recording_status(result.status));
	if (cmd->recording.dir)
		recording_summary(&result, &opts);
	is_given = result.is_given;
	record_result_fini(&result);
	*out_trace = opts.dir;
	if (cmd->final_signal)
		return err_set(err, -EINTR, "interrupted: the recording was not checked");
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
		rc = check_run_model(checking, path, &errors, &err);
	if (rc == 0)
		rc = check_print_result(checking, &err);
	tempdir_remove();
	if (errors.count)
		report_mistakes(stderr, checking->model_path, &errors);
	status = errors.count ? EXIT_USAGE : EXIT_FAIL;
	if (rc == 0)
		status = check_status_of(check_result(checking->run.check));
	else if (!errors.count)
		command_fail(&cmd_check, &err);
	model_errors_fini(&errors);
	if (err.code == -EINTR && checking->cmd->final_signal)
		return command_end_by(checking->cmd->final_signal);
	return status;
}

/* What can be told wrong before any work is done. */
static int check_check_usage(const struct check_cmd *cmd, int operands, char **command,
			     struct err *err)
{
	if (operands < 1)
		return err_set(err, -EINVAL, "no MODEL given");
	if (command && !command[0])
		return err_set(err, -EINVAL, "no command after --");
	if (operands > (command ? 1 : 2))
		return err_set(err, -EINVAL, "expected one model, and one trace or a command");
	if (command && cmd->kernel)
		return err_set(err, -EINVAL, "--kernel needs a trace, not a command");
	if (!command && recording_any(&cmd->recording))
		return err_set(err, -EINVAL, "recording options need a command: -- COMMAND ...");
	if (cmd->recording.budget_ppm)
		return err_set(err, -EINVAL,
			       "--budget is for record, why and flight: a model needs all of its "
			       "events");
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
	rc = check_check_usage(cmd, argc - first, command, &err);
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

static const struct opt_moved check_moved[] = { RECORDING_MOVED, { 0 } };

const struct command cmd_check = {
	.name = "check",
	.args = "[OPTIONS] MODEL [TRACE | -- COMMAND ARGS...]",
	.summary = "Check a trace against a model and explain violations",
	.options = check_options,
	.moved = check_moved,
	.details = "MODEL is a state machine over events, in YAML, with constraints on times,\n"
		   "counts, thread states and values of events. TRACE defaults to run.holdup. A\n"
		   "command is recorded and checked in one go; -o keeps the recording.\n"
		   "\n"
		   "A constraint is uncertain if lost or missing events could decide it.\n"
		   "\n"
		   "Exit status: 0 all instances are valid, 1 an instance is invalid, 4 none is\n"
		   "invalid but one is uncertain (or there are no instances), 2 wrong usage or a\n"
		   "mistake in the model, 3 recording or reading failed.\n"
		   "\n"
		   "  holdup check requests.yaml run.holdup\n"
		   "  sudo holdup check --junit result.xml requests.yaml -- ./server --once\n",
	.only_reads = true,
	.prints_report = true,
	.run = run_check,
};

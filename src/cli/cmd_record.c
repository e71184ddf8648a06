/* cmd_record.c - holdup record: record the system while a command runs, or for a while. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/recording.h"
#include "record/record.h"

#define DEFAULT_DIR "run.holdup"

struct record_cmd {
	struct recording_opts recording;
	struct opt_pids pids;
	double seconds;
};

static const struct opt_spec record_options[] = {
	RECORDING_OPTIONS(struct record_cmd, recording),
	{ "pid", "PID", "End when this process has ended; repeat for more", opt_pids,
	  offsetof(struct record_cmd, pids), 'p' },
	{ "duration", "SECONDS", "End after this time", opt_seconds,
	  offsetof(struct record_cmd, seconds), 'd' },
	{ 0 },
};

/* The recorder's own failure, or that of starting the command as shells report it. */
static int failed_status(const struct record_result *result, const struct err *err)
{
	int status = recording_status(result->status);

	(void)command_fail(&cmd_record, err);
	return status == 126 || status == 127 ? status : EXIT_FAIL;
}

static int record(const struct record_cmd *cmd, char **argv)
{
	struct record_opts opts = {
		.pids = cmd->pids.pids,
		.pid_count = cmd->pids.count,
		.seconds = cmd->seconds,
		.argv = argv,
		/* A command that runs has the terminal for itself. */
		.progress = argv ? NULL : progress_recording,
	};
	struct record_result result = { .status = -1 };
	struct err err = { 0 };
	int rc;

	recording_fill(&cmd->recording, &opts);
	if (!opts.dir)
		opts.dir = DEFAULT_DIR;
	if (!argv && !opts.seconds && !opts.pid_count)
		fprintf(stderr, "holdup: recording into %s until Ctrl-C or SIGTERM\n", opts.dir);
	rc = record_run(&opts, &result, &err);
	if (!argv)
		progress_clear();
	if (rc < 0)
		return failed_status(&result, &err);
	recording_summary(&result, opts.dir);
	rc = recording_status(result.status);
	record_result_fini(&result);
	return rc;
}

static int run_record(int argc, char **argv)
{
	struct record_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(record_options, &cmd, argc, argv, &err);
	int status;

	if (first < 0) {
		status = command_usage(&cmd_record, first, &err);
	} else {
		char **command = opts_command(argv, first, &argc);

		if (argc > first)
			(void)err_set(&err, -EINVAL, "write -- before the command: -- %s ...",
				      argv[first]);
		else if (command && !command[0])
			(void)err_set(&err, -EINVAL, "there is no command after --");
		status = err.code ? command_usage(&cmd_record, err.code, &err)
				  : record(&cmd, command);
	}
	free(cmd.pids.pids);
	return status;
}

const struct command cmd_record = {
	.name = "record",
	.args = "[OPTIONS] [-- COMMAND ARGS...]",
	.summary = "Record the system while a command runs, or for a while",
	.options = record_options,
	.details =
		"Records the whole system until the command, the time or the processes of --pid end,\n"
		"or until Ctrl-C. The trace goes to run.holdup unless -o names another directory; an\n"
		"older trace there is replaced. Under sudo the command runs as the user who called.\n"
		"\n"
		"Exit status: that of the command (128 + signal when it was killed, 126 or 127 when it\n"
		"could not be started); 0 without a command; 2 wrong usage; 3 could not record.\n"
		"\n"
		"  sudo holdup record -- make -j4\n"
		"  sudo holdup record -d 10 -o slow.holdup\n",
	.run = run_record,
};

/* cmd_record.c - holdup record: record the system while a command runs, or for a while. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/recording.h"
#include "record/record.h"

struct record_cmd {
	struct recording_opts recording;
	struct opt_pids pids;
	double seconds;
};

static const struct opt_spec record_options[] = {
	RECORDING_OPTIONS(struct record_cmd, recording),
	{ "pid", "PID", "Stop when this process has exited; repeat for more", opt_pids,
	  offsetof(struct record_cmd, pids), 'p' },
	{ "duration", "SECONDS", "Stop after SECONDS, such as 10 or 0.5 (default: at Ctrl-C)",
	  opt_seconds, offsetof(struct record_cmd, seconds), 'd' },
	{ 0 },
};

/* The recorder's own failure, or that of starting the command as shells report it. */
static int record_failed_status(const struct record_result *result, const struct err *err)
{
	int status = recording_status(result->status);

	(void)command_fail(&cmd_record, err);
	if (err->code == -EINTR && result->final_signal)
		return command_end_by(result->final_signal);
	return status == 126 || status == 127 ? status : EXIT_FAIL;
}

static void record_say_begun(void *dir)
{
	AUTO_FREE char *safe = text_escaped(dir);

	fprintf(stderr, "holdup: recording into %s until Ctrl-C or SIGTERM\n", safe);
}

static int record(struct record_cmd *cmd, char **argv)
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
	opts.is_temporary = false;
	if (!opts.dir)
		opts.dir = DEFAULT_TRACE;
	if (recording_preload(&cmd->recording, &opts, &err) < 0)
		return record_failed_status(&result, &err);
	if (!argv && !opts.seconds && !opts.pid_count)
		opts.begun = record_say_begun;
	opts.begun_context = (void *)(uintptr_t)opts.dir;
	rc = record_run(&opts, &result, &err);
	if (!argv)
		progress_clear();
	if (rc < 0)
		return record_failed_status(&result, &err);
	recording_summary(&result, &opts);
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
			(void)err_set(&err, -EINVAL, "no command after --");
		else if (cmd.recording.locks && !command)
			(void)err_set(&err, -EINVAL, "--locks needs a command: -- COMMAND");
		else
			(void)recording_check(&cmd.recording, &err);
		status = err.code ? command_usage(&cmd_record, err.code, &err)
				  : record(&cmd, command);
	}
	free(cmd.pids.pids);
	recording_fini(&cmd.recording);
	return status;
}

static const struct opt_moved record_moved[] = { RECORDING_MOVED, { 0 } };

const struct command cmd_record = {
	.name = "record",
	.args = "[OPTIONS] [-- COMMAND ARGS...]",
	.summary = "Record the system while a command runs, or for a given time",
	.options = record_options,
	.moved = record_moved,
	.details =
		"Records the whole system until the command or the processes of --pid exit, the\n"
		"time is over, or Ctrl-C. The trace is written to run.holdup or to the directory\n"
		"of -o; an older trace there is replaced. Under sudo, the command runs as the\n"
		"user who called sudo.\n"
		"\n"
		"--probe and --usdt record points in programs, in all processes that run them, as\n"
		"events probe:FUNC and PROVIDER:NAME. ARGS are such as a:u64, b:s32, path:string;\n"
		"FUNC%return(s32) is the return of a function. See holdup-record(1).\n"
		"\n"
		"The trace includes events that the command and the processes of --pid log with\n"
		"libholdup, in order with the kernel's events; --user-events selects some of\n"
		"them.\n"
		"\n"
		"Exit status: that of the command (128 + signal if it was killed, 126 or 127 if\n"
		"it could not be started); 0 without a command; 2 wrong usage; 3 recording\n"
		"failed.\n"
		"\n"
		"  sudo holdup record -- make -j4\n"
		"  sudo holdup record -d 10 -o slow.holdup\n"
		"  sudo holdup record --locks -- ./server\n"
		"  sudo holdup record -d 10 -p 1234 --user-events 'shop,net:rx*'\n"
		"  sudo holdup record --probe 'libc:malloc(size:u64)' -- ./job\n"
		"  sudo holdup record --probe './job:step%return(s32)' --usdt job:done -- ./job\n",
	.run = run_record,
};

/*
 * cmd_why.c - holdup why: what held a program up, in a trace or in a fresh recording.
 *
 * The report is printed when all is done, to stdout or to --output; the recorded
 * command's own output comes before it and is not touched.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/why.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/reading.h"
#include "cli/recording.h"
#include "cli/rights.h"
#include "cli/tempdir.h"
#include "cli/why_live.h"
#include "export/unfinished.h"
#include "guard/user.h"
#include "record/record.h"
#include "report/why.h"

enum colour {
	COLOUR_AUTO,
	COLOUR_ALWAYS,
	COLOUR_NEVER
}; /* in the order of the option's words */

/* In the order of the words of --class. */
static const struct {
	uint32_t classes; /* bits of enum delays_class */
	bool untold;	  /* by any event */
} classes[] = {
	{ 0, false },
	{ 1u << DELAYS_CPU, false },
	{ 1u << DELAYS_DISK, false },
	{ WHY_CLASS_MEMORY, false },
	{ 1u << DELAYS_RECLAIM, false },
	{ 1u << DELAYS_COMPACTION, false },
	{ 1u << DELAYS_IRQ, false },
	{ 1u << DELAYS_SWAPIN, true },
	{ 1u << DELAYS_THRASHING, true },
	{ 1u << DELAYS_COW, true },
};

struct why_cmd {
	struct target_opts target;
	const char *from, *to;
	bool summary, causality, all, unfold;
	struct opt_maybe instances;
	uint32_t depth, top;
	uint64_t min_ns;
	const char *output;
	bool json;
	uint32_t colour; /* enum colour */
	uint32_t class;	 /* index into classes[] */
	struct recording_opts recording;
	int status;	  /* that of the command, as shells tell it; 0 without one */
	bool is_live;	  /* the process is recorded, as no trace was named that could tell of it */
	int final_signal; /* that ended the recording and us; 0 = none */
};

static const struct opt_spec why_options[] = {
	{ "pid", "PID", "Explain this process: its threads added up", opt_pid,
	  offsetof(struct why_cmd, target.pid), 'p' },
	{ "tid", "TID", "Explain this thread", opt_pid, offsetof(struct why_cmd, target.tid) },
	{ "comm", "NAME", "Explain the threads of this name, in a line each when they are several",
	  opt_string, offsetof(struct why_cmd, target.comm) },
	{ "threads", NULL, "Print a line for each thread of the process", opt_flag,
	  offsetof(struct why_cmd, target.threads) },
	{ "from", "WHEN",
	  "Start the window here: a time or an event (default: birth of the target)", opt_string,
	  offsetof(struct why_cmd, from) },
	{ "to", "WHEN", "End the window here (default: end of the target)", opt_string,
	  offsetof(struct why_cmd, to) },
	{ "class", "all|cpu|disk|memory|reclaim|compaction|irq|swapin|thrashing|cow",
	  "Explain the waits of one class of delay, as holdup delays counts them (default all)",
	  opt_choice, offsetof(struct why_cmd, class) },
	{ "summary", NULL, "Print the summary of states, and the system calls", opt_flag,
	  offsetof(struct why_cmd, summary) },
	{ "instances", "ID", "Print each span of each state, or the one with this number",
	  opt_maybe, offsetof(struct why_cmd, instances) },
	{ "causality", NULL, "Print each wait with what ended it, recursively", opt_flag,
	  offsetof(struct why_cmd, causality) },
	{ "all", NULL, "Print summary, instances and causality", opt_flag,
	  offsetof(struct why_cmd, all) },
	{ "depth", "N", "Follow the causality N waits deep (default 8)", opt_u32,
	  offsetof(struct why_cmd, depth) },
	{ "min", "DURATION",
	  "Leave waits shorter than this, such as 1ms, out of the causality (default 0)",
	  opt_duration, offsetof(struct why_cmd, min_ns) },
	{ "top", "N", "Print N rows of each table (default 10)", opt_u32,
	  offsetof(struct why_cmd, top) },
	{ "unfold", NULL, "Print a row for each cause: threads of one name apart", opt_flag,
	  offsetof(struct why_cmd, unfold) },
	{ "output", "FILE", "Write the report to FILE (default: stdout)", opt_string,
	  offsetof(struct why_cmd, output) },
	{ "json", NULL, "Print JSON with all parts, times in ns", opt_flag,
	  offsetof(struct why_cmd, json) },
	{ "colour", "auto|always|never", "Colour the report (default auto: on a terminal)",
	  opt_choice, offsetof(struct why_cmd, colour) },
	RECORDING_OPTIONS(struct why_cmd, recording),
	{ 0 },
};

/*
 * Opened before the recording, so that a wrong path costs nobody a recording; what stands there is
 * kept until there is a report. It gets its name as the user, unless root reads for a user.
 */
static int open_output(const struct why_cmd *cmd, bool is_recording, struct output *out_output,
		       struct err *err)
{
	uid_t uid;
	gid_t gid;

	if (!is_recording && guard_user_ids(&uid, &gid))
		return output_begin_here(cmd->output, out_output, err);
	reading_writes(cmd->output);
	if (!is_recording)
		unfinished_guard();
	return output_begin(cmd->output, out_output, err);
}

/* NO_COLOR (no-color.org) and a terminal without colours count in auto only. */
static bool wants_colour(uint32_t colour, int fd)
{
	const char *no_colour = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (colour != COLOUR_AUTO)
		return colour == COLOUR_ALWAYS;
	return isatty(fd) == 1 && !(no_colour && no_colour[0]) &&
	       !(term && strcmp(term, "dumb") == 0);
}

static void print_report(const struct why_cmd *cmd, const struct explained *explained, int fd,
			 FILE *out)
{
	struct report_why_opts opts = {
		.json = cmd->json,
		.colour = wants_colour(cmd->colour, fd),
		.summary = cmd->summary || cmd->all,
		.instances = cmd->instances.given || cmd->all,
		.instance_id = cmd->instances.value,
		.causality = cmd->causality || cmd->all,
		.top = cmd->top,
		.unfold = cmd->unfold,
		.window_chosen = cmd->from || cmd->to,
	};

	opts.lines = (cmd->target.threads || explained->count > 1) && !opts.summary &&
		     !opts.instances && !opts.causality;
	report_why(out, explained->results, explained->count, explained->facts, &opts);
}

static int write_report(const struct why_cmd *cmd, const struct explained *explained,
			const struct output *output, struct err *err)
{
	int fd = output->fd, rc = 0;
	FILE *out;

	if (fd < 0) {
		print_report(cmd, explained, STDOUT_FILENO, stdout);
		return 0;
	}
	(void)!ftruncate(fd, 0); /* fails on a terminal or a pipe, where it means nothing */
	out = terminal_open(dup(fd));
	if (!out)
		return err_set(err, -errno, "cannot write to %s: %s", cmd->output, strerror(errno));
	print_report(cmd, explained, fd, out);
	if (ferror(out))
		rc = -EIO;
	if (fclose(out) != 0)
		rc = -errno;
	return rc ? err_set(err, rc, "cannot write to %s: %s", cmd->output, strerror(-rc)) : 0;
}

static void say_live(void *context)
{
	const struct why_cmd *cmd = context;

	fprintf(stderr, "holdup: recording %s %d for %d s; Ctrl-C ends it and explains\n",
		cmd->target.pid ? "process" : "thread",
		cmd->target.pid ? cmd->target.pid : cmd->target.tid, WHY_LIVE_SECONDS);
}

/* A process that runs: for a while, or until it ends. */
static void fill_live(struct why_cmd *cmd, struct record_opts *opts)
{
	opts->seconds = WHY_LIVE_SECONDS;
	opts->pids = &cmd->target.pid;
	opts->pid_count = cmd->target.pid != 0;
	opts->progress = progress_recording;
	opts->begun = say_live;
	opts->begun_context = cmd;
}

/*
 * Record the command, or without one the process that was chosen, into a directory of the user's
 * or into a temporary one.
 */
static int record_now(struct why_cmd *cmd, char **command, const char **out_trace, struct err *err)
{
	struct record_opts opts = { .argv = command };
	struct record_result result = { .status = -1 };
	bool is_given;
	int rc = 0;

	recording_fill(&cmd->recording, &opts);
	if (!command)
		fill_live(cmd, &opts);
	rc = recording_preload(&cmd->recording, &opts, err);
	if (rc == 0 && !opts.dir)
		rc = tempdir_make(&opts.dir, err);
	if (rc == 0)
		rc = record_run(&opts, &result, err);
	if (!command)
		progress_clear();
	cmd->final_signal = result.final_signal;
	cmd->status = recording_status(result.status);
	if (rc < 0)
		return rc;
	if (cmd->recording.dir)
		recording_summary(&result, &opts);
	is_given = result.is_given;
	record_result_fini(&result);
	*out_trace = opts.dir;
	if (result.final_signal)
		return err_set(err, -EINTR, "interrupted: the recording is not explained");
	return recording_leave_root(&cmd->recording, opts.dir, is_given, err);
}

/* Ours, or that of a command that could not be started, as shells tell it. */
static int failed_status(const struct why_cmd *cmd, const struct err *err)
{
	(void)command_fail(&cmd_why, err);
	if (err->code == -EINTR && cmd->final_signal)
		return command_end_by(cmd->final_signal);
	return cmd->status == 126 || cmd->status == 127 ? cmd->status : EXIT_FAIL;
}

/* Without a trace and a command: a process that runs, or what is in run.holdup. */
static int explain_default(struct why_cmd *cmd, const struct explain_opts *opts,
			   struct explained *explained, struct err *err)
{
	const char *trace;
	int rc;

	if (!cmd->is_live)
		return access(DEFAULT_TRACE, F_OK) == 0
			       ? explain_trace(DEFAULT_TRACE, opts, explained, err)
			       : why_no_trace(&cmd->target, err);
	rc = record_now(cmd, NULL, &trace, err);
	cmd->status = 0;
	return rc < 0 ? rc : explain_trace(trace, opts, explained, err);
}

static int explain(struct why_cmd *cmd, const struct explain_opts *opts, const char *trace,
		   char **command)
{
	struct output output = { .fd = -1 };
	struct explained explained = { 0 };
	struct err err = { 0 };
	int rc = 0;

	if (!command && !cmd->is_live && !cmd->output &&
	    why_locks_alone(trace ? trace : DEFAULT_TRACE, cmd->json))
		return EXIT_OK;
	if (cmd->output)
		rc = open_output(cmd, command || cmd->is_live, &output, &err);
	if (rc == 0 && command)
		rc = record_now(cmd, command, &trace, &err);
	if (rc == 0 && command && cmd->recording.dir)
		unfinished_guard(); /* a temporary folder has its own */
	if (rc == 0 && trace && !command)
		rc = why_needs_switches(trace, &err);
	if (rc == 0)
		rc = trace ? explain_trace(trace, opts, &explained, &err)
			   : explain_default(cmd, opts, &explained, &err);
	tempdir_remove(); /* the results need it no longer */
	if (rc == 0)
		rc = write_report(cmd, &explained, &output, &err);
	if (rc == 0 && explained.note)
		fprintf(stderr, "holdup why: %s\n", explained.note);
	rc = output_end(&output, rc, &err);
	explained_fini(&explained);
	return rc < 0 ? failed_status(cmd, &err) : cmd->status;
}

/* What can be told wrong before any work is done. */
static int check_usage(const struct why_cmd *cmd, int operands, char **command, struct err *err)
{
	const struct target_opts *target = &cmd->target;

	if (command && !command[0])
		return err_set(err, -EINVAL, "there is no command after --");
	if (command && operands > 0)
		return err_set(err, -EINVAL, "it takes a trace or a command, not both");
	if (operands > 1)
		return err_set(err, -EINVAL,
			       "it takes one trace; a command is written after --: -- COMMAND ...");
	if (!command && recording_any(&cmd->recording) &&
	    (operands || !why_is_live(&cmd->target) || cmd->recording.locks))
		return err_set(err, -EINVAL,
			       "options of recording need a command (-- COMMAND ...) or a process "
			       "that runs (--pid)");
	if ((target->pid != 0) + (target->tid != 0) + (target->comm != NULL) > 1)
		return err_set(err, -EINVAL, "choose by one of --pid, --tid and --comm");
	if (target->threads && (target->comm || target->tid))
		return err_set(err, -EINVAL, "--threads goes with --pid or with the command");
	if (classes[cmd->class].untold)
		return err_set(
			err, -EINVAL,
			"no event of the kernel tells %s; what it counts itself is in holdup "
			"delays --reconcile",
			why_class_words(classes[cmd->class].classes));
	return recording_check(&cmd->recording, err);
}

/*
 * Does run.holdup know the target? A child looks: who has read a trace may do little else
 * afterwards, and the target may have to be recorded.
 */
static bool is_in_default(const struct explain_opts *opts, int argc, char **argv)
{
	struct explained explained = { 0 };
	int status = 0;
	pid_t child;

	if (access(DEFAULT_TRACE, F_OK) < 0)
		return false;
	child = fork();
	if (child < 0)
		return true; /* the trace is read, and says what is wrong */
	if (child == 0) {
		int rc = rights_drop_for_words(argc, argv, NULL);

		if (rc == 0)
			rc = explain_trace(DEFAULT_TRACE, opts, &explained, NULL);
		_exit(rc == -ESRCH);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return !(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static int parse_and_explain(struct why_cmd *cmd, int argc, char **argv)
{
	struct explain_opts opts = { 0 };
	struct err err = { 0 };
	int first = opts_parse(why_options, cmd, argc, argv, &err);
	char **command;
	int rc;

	if (first < 0)
		return command_usage(&cmd_why, first, &err);
	command = opts_command(argv, first, &argc);
	rc = check_usage(cmd, argc - first, command, &err);
	if (rc == 0)
		rc = when_parse(cmd->from, false, &opts.from, &err);
	if (rc == 0)
		rc = when_parse(cmd->to, true, &opts.to, &err);
	if (rc < 0)
		return command_usage(&cmd_why, rc, &err);
	opts.target = cmd->target;
	opts.depth = cmd->depth;
	opts.min_ns = cmd->min_ns;
	opts.classes = classes[cmd->class].classes;
	opts.want_waits = cmd->json || cmd->all || cmd->causality || cmd->instances.given;
	cmd->is_live = !command && argc == first && why_is_live(&cmd->target) &&
		       (recording_any(&cmd->recording) || !is_in_default(&opts, argc, argv));
	if (!command && !cmd->is_live && rights_drop_for_words(argc, argv, &err) < 0)
		return command_fail(&cmd_why, &err);
	return explain(cmd, &opts,
		       argc > first ? argv[first]
		       : command    ? DEFAULT_TRACE
				    : NULL,
		       command);
}

static int run_why(int argc, char **argv)
{
	struct why_cmd cmd = { 0 };
	int status = parse_and_explain(&cmd, argc, argv);

	recording_fini(&cmd.recording);
	return status;
}

const struct command cmd_why = {
	.name = "why",
	.args = "[OPTIONS] [TRACE | -- COMMAND ARGS...]",
	.summary = "Say what held a program up",
	.options = why_options,
	.details =
		"With a command: records it and explains it, in one go; the recording is removed\n"
		"afterwards unless -o names a directory for it. Without one: explains TRACE, or\n"
		"run.holdup. With --pid of a process that runs, and no trace that knows it: records it\n"
		"for 5 s, or until Ctrl-C, and explains that. The report goes to stdout, after all that\n"
		"the command printed, or to --output. The target is the recorded command unless chosen\n"
		"otherwise.\n"
		"\n"
		"WHEN is one of\n"
		"  12.345                  seconds on the trace clock\n"
		"  +1.2s, +300ms           since the start of the recording\n"
		"  14:03:12.5, 2026-01-02T14:03:12   wall clock, local time\n"
		"  EVENT[:FIELD OP VALUE]  an event of the target: the first match for --from,\n"
		"                          the first behind it for --to; first:EVENT and\n"
		"                          last:EVENT choose. Without a target, that of --from\n"
		"                          names the thread\n"
		"\n"
		"Exit status: with a command that of the command (128 + signal when it was killed,\n"
		"126 or 127 when it could not be started), else 0: the report was printed; 2 wrong\n"
		"usage; 3 could not record, read or explain.\n"
		"\n"
		"  sudo holdup why -- make -j4\n"
		"  sudo holdup why --summary --causality --output report.txt -- ./job\n"
		"  sudo holdup why --locks -- ./server\n"
		"  sudo holdup why --pid 1234\n"
		"  holdup why --comm worker --from +1s --to +2s run.holdup\n"
		"  holdup why --from 'sys_enter:id == 257' --tid 1234 run.holdup\n",
	.run = run_why,
};

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

#include "analyse/why/why.h"
#include "ask/explain.h"
#include "base/child.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/reading.h"
#include "cli/recording.h"
#include "cli/rights.h"
#include "cli/tempdir.h"
#include "cli/view_file.h"
#include "cli/why_live.h"
#include "cli/why_sampled.h"
#include "export/unfinished.h"
#include "record/record.h"
#include "report/why.h"
#include "view/answer.h"
#include "view/others.h"
#include "view/save.h"
#include "view/verdict.h"

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
	bool summary, causality, all, unfold, code;
	struct opt_maybe instances;
	uint32_t depth, top;
	uint64_t min_ns;
	const char *output, *html;
	bool json;
	uint32_t colour; /* enum colour */
	uint32_t class;	 /* index into classes[] */
	struct recording_opts recording;
	struct why_live live;
	int status;	  /* that of the command, as shells tell it; 0 without one */
	bool is_live;	  /* the process is recorded, as no trace was named that could tell of it */
	int final_signal; /* that ended the recording and us; 0 = none */
};

static const struct opt_spec why_options[] = {
	{ "pid", "PID", "Explain all threads of this process together", opt_pid,
	  offsetof(struct why_cmd, target.pid), 'p' },
	{ "tid", "TID", "Explain this thread", opt_pid, offsetof(struct why_cmd, target.tid) },
	{ "comm", "NAME", "Explain threads with this name; several get one line each", opt_string,
	  offsetof(struct why_cmd, target.comm) },
	{ "cgroup", "PATH", "Record and explain the processes in this cgroup and below", opt_string,
	  offsetof(struct why_cmd, live.cgroup) },
	{ "system", NULL, "Explain all processes, one line each", opt_flag,
	  offsetof(struct why_cmd, target.every), 'a' },
	{ "duration", "SECONDS",
	  "Record running processes for SECONDS, such as 10 or 0.5 "
	  "(default 5)",
	  opt_seconds, offsetof(struct why_cmd, live.seconds), 'd' },
	{ "threads", NULL, "Print one line for each thread of the process", opt_flag,
	  offsetof(struct why_cmd, target.threads) },
	{ "from", "WHEN", "Start the window at a time or event (default: start of the target)",
	  opt_string, offsetof(struct why_cmd, from) },
	{ "to", "WHEN", "End the window at a time or event (default: end of the target)",
	  opt_string, offsetof(struct why_cmd, to) },
	{ "class", "all|cpu|disk|memory|reclaim|compaction|irq|swapin|thrashing|cow",
	  "Explain the waits of one delay class of holdup delays (default all)", opt_choice,
	  offsetof(struct why_cmd, class) },
	{ "summary", NULL, "Print time by state and by system call", opt_flag,
	  offsetof(struct why_cmd, summary) },
	{ "instances", "ID", "Print each interval of each state, or the one with this ID",
	  opt_maybe, offsetof(struct why_cmd, instances) },
	{ "causality", NULL, "Print each wait and the chain of waits behind it", opt_flag,
	  offsetof(struct why_cmd, causality) },
	{ "all", NULL, "Print the reports of --summary, --instances and --causality", opt_flag,
	  offsetof(struct why_cmd, all) },
	{ "depth", "N", "Follow chains of waits at most N levels (default 8)", opt_u32,
	  offsetof(struct why_cmd, depth) },
	{ "min", "DURATION",
	  "Omit waits shorter than this from --causality, such as 1ms (default 0)", opt_duration,
	  offsetof(struct why_cmd, min_ns) },
	{ "top", "N", "Print N rows of each table (default 10)", opt_u32,
	  offsetof(struct why_cmd, top) },
	{ "code", NULL, "Print full stacks of running and waiting code", opt_flag,
	  offsetof(struct why_cmd, code) },
	{ "unfold", NULL, "Print one row per cause; do not merge threads of one name", opt_flag,
	  offsetof(struct why_cmd, unfold) },
	{ "output", "FILE", "Write the report to FILE (default: stdout)", opt_string,
	  offsetof(struct why_cmd, output) },
	{ "html", "FILE", "Write the report with its timeline also to FILE, as HTML", opt_string,
	  offsetof(struct why_cmd, html) },
	{ "json", NULL, "Print JSON with all parts, times in ns", opt_flag,
	  offsetof(struct why_cmd, json) },
	{ "colour", "auto|always|never", "Colour the report (default auto: on a terminal)",
	  opt_choice, offsetof(struct why_cmd, colour) },
	RECORDING_OPTIONS(struct why_cmd, recording),
	{ 0 },
};

/*
 * Opened before the recording, so that a wrong path costs nobody a recording; what stands there is
 * kept until there is a report.
 */
static int why_open_output(const char *path, bool is_recording, struct output *out_output,
			   struct err *err)
{
	if (!path)
		return 0;
	if (!is_recording)
		return output_begin_reader(path, out_output, err);
	reading_writes(path);
	return output_begin(path, out_output, err);
}

/* NO_COLOR (no-color.org) and a terminal without colours count in auto only. */
static bool wants_colour(uint32_t colour, int fd)
{
	const char *no_colour = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (colour != COLOUR_AUTO)
		return colour == COLOUR_ALWAYS;
	return terminal_shows(fd) && !(no_colour && no_colour[0]) &&
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
		.code = cmd->code || cmd->all,
		.unfold = cmd->unfold,
		.window_chosen = cmd->from || cmd->to,
		.stuck = cmd->live.stuck,
	};

	opts.processes = cmd->target.every || cmd->target.pid_count;
	opts.lines = (cmd->target.threads || explained->answer.count > 1) && !opts.summary &&
		     !opts.instances && !opts.causality;
	report_why(out, explained->answer.results, explained->answer.count, explained->facts,
		   &opts);
}

/* Where the report goes to: stdout, or --output. NULL with err filled. */
static FILE *open_report(const struct why_cmd *cmd, const struct output *output, struct err *err)
{
	FILE *out;

	if (output->fd < 0)
		return stdout;
	(void)!ftruncate(output->fd, 0); /* fails on a terminal or a pipe, where it means nothing */
	out = terminal_open(dup(output->fd));
	if (!out)
		err_set(err, -errno, "cannot write to %s: %s", cmd->output, strerror(errno));
	return out;
}

/* Returns 'rc', or what went wrong with the file. */
static int close_report(const struct why_cmd *cmd, FILE *out, int rc, struct err *err)
{
	int failed;

	if (out == stdout)
		return rc;
	failed = ferror(out) ? -EIO : 0;
	if (fclose(out) != 0)
		failed = -errno;
	if (rc < 0 || !failed)
		return rc;
	return err_set(err, failed, "cannot write to %s: %s", cmd->output, strerror(-failed));
}

static int write_report(const struct why_cmd *cmd, const struct explained *explained,
			const struct output *output, struct err *err)
{
	FILE *out = open_report(cmd, output, err);

	if (!out)
		return err->code;
	print_report(cmd, explained, output->fd < 0 ? STDOUT_FILENO : output->fd, out);
	return close_report(cmd, out, 0, err);
}

/* The picture needs one target: the answers of several are no one picture. */
static int write_html(const struct why_cmd *cmd, struct explained *explained, const char *trace,
		      const struct output *output, struct err *err)
{
	const struct why *why = &explained->answer.results[0];
	struct view view = { .path = "the recording",
			     .loaded = &explained->loaded,
			     .beside = &explained->beside };
	struct err unread = { 0 };
	int rc;

	if (!cmd->html)
		return 0;
	if (explained->answer.count > 1)
		return err_set(err, -ENOTSUP,
			       "--html shows one process or thread, and these are %zu: choose by "
			       "--pid or --tid",
			       explained->answer.count);
	if (cmd->from || cmd->to) {
		view.from_ns = why->start_ns;
		view.to_ns = why->end_ns;
	}
	if (view_others_read(trace, NULL, &view.others, &unread) < 0)
		fprintf(stderr, "holdup why: locks, disks and other lanes are left out: %s\n",
			unread.text);
	rc = view_file_write(&view, &explained->answer, view_save_html, cmd->html, output, err);
	view_others_end(view.others);
	return rc;
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
		why_live_fill(&cmd->live, &opts);
	rc = recording_preload(&cmd->recording, &opts, err);
	if (rc == 0 && !opts.dir)
		rc = tempdir_make(&opts.dir, err);
	if (rc == 0)
		rc = record_run(&opts, &result, err);
	if (!command) {
		progress_clear();
		why_live_look(&cmd->live);
	}
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
		return err_set(err, -EINTR, "interrupted: the recording was not explained");
	return recording_leave_root(&cmd->recording, opts.dir, is_given, err);
}

/* Ours, or that of a command that could not be started, as shells tell it. */
static int why_failed_status(const struct why_cmd *cmd, const struct err *err)
{
	(void)command_fail(&cmd_why, err);
	if (err->code == -EINTR && cmd->final_signal)
		return command_end_by(cmd->final_signal);
	return cmd->status == 126 || cmd->status == 127 ? cmd->status : EXIT_FAIL;
}

static int explain_read(const char *trace, const struct explain_opts *opts,
			struct explained *explained, struct err *err)
{
	int rc = load_begin(trace, err);

	return rc < 0 ? rc : explain_trace(trace, opts, explained, err);
}

/* Without a trace and a command: a process that runs, or what is in run.holdup. */
static int explain_default(struct why_cmd *cmd, const struct explain_opts *opts,
			   const char **out_trace, struct explained *explained, struct err *err)
{
	int rc;

	*out_trace = DEFAULT_TRACE;
	if (!cmd->is_live)
		return access(DEFAULT_TRACE, F_OK) == 0
			       ? explain_read(DEFAULT_TRACE, opts, explained, err)
			       : why_no_trace(&cmd->target, err);
	rc = record_now(cmd, NULL, out_trace, err);
	cmd->status = 0;
	if (rc < 0)
		return rc;
	rc = explain_read(*out_trace, opts, explained, err);
	if (rc == -ESRCH && cmd->live.count)
		return err_set(err, rc, "process %d exited before the recording began",
			       cmd->live.pids[0]);
	return rc;
}

static void why_say_notes(const struct explained *explained)
{
	const char *notes[] = { explained->beside.note, explained->answer.note };

	for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
		if (notes[i])
			fprintf(stderr, "holdup why: %s\n", notes[i]);
	}
}

/* Nobody may trace here: what looking tells. Ends as why_explain() does. */
static int explain_sampled(struct why_cmd *cmd, char **command, struct output *output)
{
	struct err err = { 0 };
	FILE *out = open_report(cmd, output, &err);
	int rc = out ? 0 : err.code, status = 0;

	if (out && command)
		rc = why_sampled_command(command, out, cmd->json, cmd->top, &status, &err);
	else if (out)
		rc = why_sampled(&cmd->live, out, cmd->json, cmd->top, &err);
	if (out)
		rc = close_report(cmd, out, rc, &err);
	rc = output_end(output, rc, &err);
	if (command && status < 0) /* as shells tell it */
		status = W_EXITCODE(rc == -ENOENT ? 127 : 126, 0);
	cmd->status = command ? recording_status(status) : EXIT_OK;
	return rc < 0 ? why_failed_status(cmd, &err) : cmd->status;
}

static int why_explain(struct why_cmd *cmd, const struct explain_opts *opts, const char *trace,
		       char **command)
{
	struct output output = { .fd = -1 }, html = { .fd = -1 };
	struct explained explained = { 0 };
	struct err err = { 0 };
	int rc = 0;

	if (!command && !cmd->is_live && !cmd->output && !cmd->html &&
	    why_locks_alone(trace ? trace : DEFAULT_TRACE, cmd->json))
		return EXIT_OK;
	rc = why_open_output(cmd->output, command || cmd->is_live, &output, &err);
	if (rc == 0)
		rc = why_open_output(cmd->html, command || cmd->is_live, &html, &err);
	if (rc == 0 && command && !cmd->html && !recording_any(&cmd->recording) &&
	    why_sampled_must())
		return explain_sampled(cmd, command, &output);
	if (rc == 0 && command)
		rc = record_now(cmd, command, &trace, &err);
	if (rc == 0 && command && cmd->recording.dir)
		unfinished_guard(); /* a temporary folder has its own */
	if (rc == 0)
		rc = trace ? explain_read(trace, opts, &explained, &err)
			   : explain_default(cmd, opts, &trace, &explained, &err);
	if (rc == 0)
		rc = write_html(cmd, &explained, trace, &html, &err);
	tempdir_remove(); /* the results need it no longer */
	if (cmd->is_live && !cmd->html && why_sampled_helps(rc, &cmd->live))
		return explain_sampled(cmd, NULL, &output);
	if (rc == 0)
		rc = write_report(cmd, &explained, &output, &err);
	if (rc == 0)
		why_say_notes(&explained);
	rc = output_end(&output, rc, &err);
	rc = output_end(&html, rc, &err);
	explained_fini(&explained);
	return rc < 0 ? why_failed_status(cmd, &err) : cmd->status;
}

/* What can be told wrong before any work is done. */
static int why_check_usage(const struct why_cmd *cmd, int operands, char **command, struct err *err)
{
	const struct target_opts *target = &cmd->target;

	if (command && !command[0])
		return err_set(err, -EINVAL, "no command after --");
	if (command && operands > 0)
		return err_set(err, -EINVAL, "expected a trace or a command, not both");
	if (operands > 1)
		return err_set(err, -EINVAL,
			       "expected one trace; a command goes after --: -- COMMAND ...");
	if (!command && cmd->recording.locks)
		return err_set(err, -EINVAL, "--locks needs a command: -- COMMAND");
	if ((target->pid != 0) + (target->tid != 0) + (target->comm != NULL) +
		    (cmd->live.cgroup != NULL) + target->every >
	    1)
		return err_set(err, -EINVAL,
			       "only one of --pid, --tid, --comm, --cgroup and --system");
	if (operands && (recording_any(&cmd->recording) || cmd->live.seconds > 0))
		return err_set(err, -EINVAL,
			       "recording options need a command (-- COMMAND ...) or a running "
			       "process (--pid), not a trace");
	if (cmd->live.cgroup && (operands || command))
		return err_set(err, -EINVAL,
			       "--cgroup needs running processes, not a trace or a command");
	if (command && cmd->live.seconds > 0)
		return err_set(err, -EINVAL, "--duration needs running processes, not a command");
	if (!command && !operands && !why_is_named(target, &cmd->live) &&
	    (recording_any(&cmd->recording) || cmd->live.seconds > 0))
		return err_set(err, -EINVAL,
			       "recording options need a command (-- COMMAND ...) or running "
			       "processes (--pid, --comm, --cgroup, -a)");
	if (target->threads && (target->comm || target->tid || cmd->live.cgroup || target->every))
		return err_set(err, -EINVAL, "--threads needs --pid or a recorded command");
	if (classes[cmd->class].untold)
		return err_set(
			err, -EINVAL,
			"no kernel event covers %s; holdup delays reconcile has the kernel's own "
			"counts",
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
	int status;
	pid_t child;

	if (access(DEFAULT_TRACE, F_OK) < 0)
		return false;
	child = fork();
	if (child < 0)
		return true; /* the trace is read, and says what is wrong */
	if (child == 0) {
		int rc = rights_drop_for_words(argc, argv, NULL);

		if (rc == 0)
			rc = explain_read(DEFAULT_TRACE, opts, &explained, NULL);
		_exit(rc == -ESRCH);
	}
	status = child_await(child);
	return status < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 1;
}

/* No trace is named: is something meant that runs now, which run.holdup does not know? */
static int find_live(struct why_cmd *cmd, const struct explain_opts *opts, int argc, char **argv,
		     struct err *err)
{
	bool must = recording_any(&cmd->recording) || cmd->live.seconds > 0 || cmd->live.cgroup ||
		    cmd->target.every;
	int rc;

	if (!why_is_named(&cmd->target, &cmd->live) || (!must && is_in_default(opts, argc, argv)))
		return 0;
	rc = why_live_find(&cmd->live, &cmd->target, err);
	cmd->is_live = rc == 0;
	return rc;
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
	rc = why_check_usage(cmd, argc - first, command, &err);
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
	opts.load = load_opts_shown(0);
	opts.span_parts = cmd->html ? VERDICT_PARTS : 0;
	opts.want_waits =
		cmd->html || cmd->json || cmd->all || cmd->causality || cmd->instances.given;
	if (!command && argc == first)
		rc = find_live(cmd, &opts, argc, argv, &err);
	if (rc < 0)
		return command_fail(&cmd_why, &err);
	opts.target = cmd->target;
	if (!command && !cmd->is_live && rights_drop_for_words(argc, argv, &err) < 0)
		return command_fail(&cmd_why, &err);
	return why_explain(cmd, &opts,
			   argc > first ? argv[first]
			   : command	? DEFAULT_TRACE
					: NULL,
			   command);
}

static int run_why(int argc, char **argv)
{
	struct why_cmd cmd = { 0 };
	int status = parse_and_explain(&cmd, argc, argv);

	recording_fini(&cmd.recording);
	why_live_fini(&cmd.live);
	return status;
}

static const struct opt_moved why_moved[] = { RECORDING_MOVED, { 0 } };

const struct command cmd_why = {
	.name = "why",
	.args = "[OPTIONS] [TRACE | -- COMMAND ARGS...]",
	.summary = "Explain what held up a program",
	.options = why_options,
	.moved = why_moved,
	.details =
		"With a command: records and explains it in one go; -o keeps the recording.\n"
		"Without a command: explains TRACE or run.holdup. With --pid, --comm, --cgroup or\n"
		"-a and no trace: records running processes for 5 s (-d) or until Ctrl-C, and\n"
		"explains them. If run.holdup exists and knows the process, it is explained\n"
		"instead, unless -d is given. The target defaults to the recorded command. The\n"
		"report is printed to stdout after all output of the command, or written to\n"
		"--output.\n"
		"\n"
		"WHEN is one of\n"
		"  12.345                  seconds on the trace clock\n"
		"  +1.2s, +300ms           since the start of the recording\n"
		"  14:03:12.5, 2026-01-02T14:03:12   wall clock, local time\n"
		"  EVENT[:FIELD OP VALUE]  an event of the target: the first match for --from,\n"
		"                          the first match after it for --to; first:EVENT and\n"
		"                          last:EVENT choose. Without a target, the thread of\n"
		"                          the --from event is the target\n"
		"\n"
		"Exit status: with a command, that of the command (128 + signal if it was killed,\n"
		"126 or 127 if it could not be started), else 0: the report was printed; 2 wrong\n"
		"usage; 3 recording, reading or explaining failed.\n"
		"\n"
		"  sudo holdup why -- make -j4\n"
		"  sudo holdup why --summary --causality --output report.txt -- ./job\n"
		"  sudo holdup why --locks -- ./server\n"
		"  sudo holdup why -p 1234 -d 10\n"
		"  sudo holdup why --comm postgres\n"
		"  sudo holdup why -a\n"
		"  holdup why --comm worker --from +1s --to +2s run.holdup\n"
		"  holdup why --from 'sys_enter:id == 257' --tid 1234 run.holdup\n",
	.prints_report = true,
	.run = run_why,
};

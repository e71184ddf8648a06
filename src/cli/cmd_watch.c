/*
 * cmd_watch.c - holdup watch: a model over a recording while it is made.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/check/check.h"
#include "analyse/check/check_live.h"
#include "ask/follow.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/opts.h"
#include "cli/recording.h"
#include "cli/rights.h"
#include "cli/tempdir.h"
#include "cli/watch_act.h"
#include "cli/watch_keep.h"
#include "cli/watch_tree.h"
#include "event/facts.h"
#include "model/model.h"
#include "record/record.h"
#include "report/check.h"

#define STEP_MS	       250
#define KEEP_NS	       10000000000u
#define SNAPSHOTS      10u
#define SNAPSHOT_GAP_S 10.0

struct watch_cmd {
	struct opt_pids pids;
	double seconds;
	bool json, no_why;
	uint32_t top;
	uint64_t most_behind_ns, memory;
	struct watch_actions actions;
	struct recording_opts recording;
};

static const struct opt_spec watch_options[] = {
	{ "pid", "PID", "Stop when this process has exited; repeat for more", opt_pids,
	  offsetof(struct watch_cmd, pids), 'p' },
	{ "duration", "SECONDS", "Stop after SECONDS (default: at Ctrl-C)", opt_seconds,
	  offsetof(struct watch_cmd, seconds), 'd' },
	{ "exec", "COMMAND", "Run COMMAND in a shell on each violation", opt_string,
	  offsetof(struct watch_cmd, actions.exec) },
	{ "signal", "SIGNAL", "Send SIGNAL to the process on each violation", opt_string,
	  offsetof(struct watch_cmd, actions.signal) },
	{ "snapshot", "DIR", "Save the time before a violation as a trace in DIR", opt_string,
	  offsetof(struct watch_cmd, actions.snapshot) },
	{ "flight", NULL, "Take a snapshot of the flight recorder on a violation", opt_flag,
	  offsetof(struct watch_cmd, actions.flight) },
	{ "keep", "DURATION", "Set the length of a snapshot (default 10s)", opt_duration,
	  offsetof(struct watch_cmd, actions.keep_ns) },
	{ "max-snapshots", "N", "Save at most N snapshots (default 10)", opt_u32,
	  offsetof(struct watch_cmd, actions.most_snapshots) },
	{ "snapshot-gap", "SECONDS", "Save at most one snapshot per SECONDS (default 10)",
	  opt_seconds, offsetof(struct watch_cmd, actions.snapshot_gap_s) },
	{ "max-behind", "DURATION", "Skip events older than this when falling behind (default 5s)",
	  opt_duration, offsetof(struct watch_cmd, most_behind_ns) },
	{ "memory", "SIZE", "Limit the memory for thread states to SIZE (default 64M)", opt_size,
	  offsetof(struct watch_cmd, memory) },
	{ "top", "N", "Explain and print N findings at the end (default 10)", opt_u32,
	  offsetof(struct watch_cmd, top) },
	{ "no-why", NULL, "Omit the reasons why a constraint was broken", opt_flag,
	  offsetof(struct watch_cmd, no_why) },
	{ "json", NULL, "Print JSON, one object per line, times in ns", opt_flag,
	  offsetof(struct watch_cmd, json) },
	RECORDING_OPTIONS(struct watch_cmd, recording),
	{ 0 },
};

/* A watch that is under way. */
struct watch {
	const struct watch_cmd *cmd;
	const char *model_path;
	struct model *model; /* owned */
	struct follow_opts follow_opts;
	struct follow *follow;	 /* owned */
	struct watch_act *act;	 /* owned */
	struct watch_tree *tree; /* owned */
	struct watch_keep *keep; /* owned; NULL = the whole recording is kept */
	struct model_errors errors;
	struct err err;
	int rc;	       /* why nothing is checked any more */
	bool may_stop; /* the recorder takes our signals, and no command would get them */
	bool is_whole;
};

static void watch_fini(struct watch *watch)
{
	watch_act_free(watch->act);
	watch_keep_free(watch->keep);
	follow_free(watch->follow);
	watch_tree_free(watch->tree);
	model_free(watch->model);
	model_errors_fini(&watch->errors);
}

/* ---------------------------------------------------------------- violations */

static struct report_check report_of(const struct watch *watch)
{
	struct report_check report = {
		.result = check_result(follow_check(watch->follow)),
		.facts = follow_facts(watch->follow),
		.top = watch->cmd->top,
	};

	report.note_count = follow_notes(watch->follow, &report.notes);
	return report;
}

/* No reason to go on; a command is nobody's to end for that. */
static void stop_recording(const struct watch *watch)
{
	if (watch->may_stop)
		(void)kill(getpid(), SIGTERM);
}

/* Does anybody read it? */
static void flush_output(const struct watch *watch)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		stop_recording(watch);
}

static size_t watch_print_text(const struct report_check *report, size_t first)
{
	return report_check_group(stdout, report, first);
}

static size_t watch_print_json(const struct report_check *report, size_t first)
{
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	report_check_put_finding(&json, "violation", report, &report->result->findings[first]);
	json_end_object(&json);
	json_fini(&json);
	return 1;
}

/* What was found since; uncertain ones are in the summary. */
static void on_found(void *context, struct check *check, size_t first)
{
	struct watch *watch = context;
	struct report_check report = report_of(watch);
	const struct check_result *result = check_result(check);

	for (size_t i = first; i < result->finding_count;) {
		if (result->findings[i].status != CHECK_INVALID) {
			i++;
			continue;
		}
		if ((i == first ||
		     !check_same_span(&result->findings[i - 1], &result->findings[i])) &&
		    !follow_was_late(watch->follow, result->findings[i].instance))
			watch_act_on(watch->act, report.facts->first_ns, result,
				     &result->findings[i]);
		i += watch->cmd->json ? watch_print_json(&report, i) : watch_print_text(&report, i);
	}
	flush_output(watch);
}

/* It hangs: what there is to do is done now, and not when it goes on. */
static void watch_on_late(void *context, struct check *check, const struct check_finding *finding)
{
	struct watch *watch = context;
	struct report_check report = report_of(watch);
	struct json json = { .out = stdout };

	watch_act_on(watch->act, report.facts->first_ns, check_result(check), finding);
	if (watch->cmd->json) {
		json_begin_object(&json, NULL);
		report_check_put_finding(&json, "late", &report, finding);
		json_end_object(&json);
		json_fini(&json);
	} else {
		report_check_one(stdout, &report, finding);
	}
	flush_output(watch);
}

/* A mistake of the model shows when the first such event comes. */
static void watch_give_up(struct watch *watch, int rc)
{
	watch->rc = rc;
	if (watch->errors.count)
		report_mistakes(stderr, watch->model_path, &watch->errors);
	stop_recording(watch);
}

static void watch_on_step(void *context, uint64_t whole_ns)
{
	struct watch *watch = context;
	int rc;

	if (watch->rc < 0 || watch->is_whole)
		return;
	rc = follow_step(watch->follow, whole_ns, &watch->errors, &watch->err);
	watch->is_whole = whole_ns == UINT64_MAX;
	watch_act_step(watch->act);
	if (watch->keep && rc == 0 && !watch->is_whole)
		watch_keep_step(watch->keep, follow_needs_ns(watch->follow));
	if (rc < 0)
		watch_give_up(watch, rc);
}

/* ----------------------------------------------------------------- the end */

static void put_pace(struct json *json, const struct watch *watch)
{
	const struct follow_sum *sum = follow_sum(watch->follow);

	json_begin_object(json, "watch");
	json_print_u64(json, "behind_most_ns", sum->behind_most_ns);
	json_print_u64(json, "left_out_ns", sum->skipped_ns);
	json_print_u64(json, "left_out", sum->skips);
	json_print_u64(json, "renewals", sum->renewals);
	json_print_u64(json, "uncertain_by_renewals", sum->doubtful);
	watch_act_put(watch->act, json);
	json_end_object(json);
}

static void print_summary_json(const struct watch *watch, const struct report_check *report)
{
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	report_check_put(&json, "summary", report);
	put_pace(&json, watch);
	json_end_object(&json);
	json_fini(&json);
}

static void print_pace(const struct watch *watch)
{
	const struct follow_sum *sum = follow_sum(watch->follow);

	if (sum->skips)
		printf("  %s were skipped, in %s: watching was too slow; results for that time "
		       "are uncertain\n",
		       text_duration(sum->skipped_ns).s, text_count(sum->skips).s);
	if (sum->renewals)
		printf("  Thread states were dropped to save memory %s times; %s instances are "
		       "therefore uncertain\n",
		       text_count(sum->renewals).s, text_count(sum->doubtful).s);
	if (sum->behind_most_ns)
		printf("  Violations were reported at most %s after they happened\n",
		       text_duration(sum->behind_most_ns).s);
	watch_act_print(watch->act, stdout);
}

static void print_summary(struct watch *watch)
{
	struct report_check report;

	follow_explain(watch->follow, watch->cmd->top ? watch->cmd->top : REPORT_CHECK_TOP);
	report = report_of(watch);
	if (watch->cmd->json) {
		print_summary_json(watch, &report);
		return;
	}
	puts("");
	report_check(stdout, &report);
	puts("\nWatch");
	print_pace(watch);
}

static int watch_status_of(const struct check_result *result)
{
	static const int statuses[] = { EXIT_OK, EXIT_UNCERTAIN, EXIT_FOUND };

	return statuses[result->status];
}

/* ---------------------------------------------------------------- recording */

static void ignore_signal(int number)
{
	(void)number;
}

static void watch_learn_root(void *context, const struct facts *facts)
{
	const struct watch *watch = context;

	watch_tree_root(watch->tree, facts->target_tid);
}

static void feed_tree(void *context, const struct event *event)
{
	const struct watch *watch = context;

	watch_tree_feed(watch->tree, event);
}

static void begin_follow(struct watch *watch, const struct record_opts *opts)
{
	const struct watch_cmd *cmd = watch->cmd;
	enum watch_tree_kind kind = opts->argv	      ? WATCH_COMMAND
				    : opts->pid_count ? WATCH_PIDS
						      : WATCH_ALL;

	watch->tree = watch_tree_new(kind, opts->pids, opts->pid_count);
	watch->follow_opts.dir = opts->dir;
	watch->follow = follow_new(&watch->follow_opts);
	watch->act = watch_act_new(&cmd->actions, opts->dir, watch->tree, cmd->json);
}

static void watch_say_begun(void *context)
{
	(void)context;
	fprintf(stderr, "holdup: watching until Ctrl-C or SIGTERM\n");
}

/* What root reads of the trace it reads while nobody else can change it. */
static void watch_settle(void *context)
{
	const struct watch *watch = context;

	watch_act_settle(watch->act);
}

static int watch_record(struct watch *watch, struct watch_cmd *cmd, char **command,
			struct record_result *result)
{
	struct record_opts opts = {
		.argv = command,
		.pids = cmd->pids.pids,
		.pid_count = cmd->pids.count,
		.seconds = cmd->seconds,
		.step = watch_on_step,
		.step_context = watch,
		.step_ms = STEP_MS,
		.before_giving = watch_settle,
	};
	int rc = 0;

	recording_fill(&cmd->recording, &opts);
	cmd->actions.as_root = cmd->recording.as_root;
	if (!opts.dir)
		rc = tempdir_make(&opts.dir, &watch->err);
	/* A closed pipe is an error of writing. A handler, since the command would inherit SIG_IGN. */
	(void)signal(SIGPIPE, ignore_signal);
	if (rc == 0 && !cmd->recording.dir)
		watch->keep = watch_keep_new(opts.dir, cmd->actions.keep_ns);
	if (rc == 0)
		rc = recording_preload(&cmd->recording, &opts, &watch->err);
	if (rc < 0)
		return rc;
	begin_follow(watch, &opts);
	if (!command && !cmd->seconds && !cmd->pids.count)
		opts.begun = watch_say_begun;
	watch->may_stop = !command;
	rc = record_run(&opts, result, &watch->err);
	watch->may_stop = false;
	if (rc == 0)
		rc = recording_leave_root(&cmd->recording, opts.dir, result->is_given, &watch->err);
	if (rc < 0)
		return rc;
	watch_on_step(watch, UINT64_MAX);
	watch_act_end(watch->act);
	if (cmd->recording.dir)
		recording_summary(result, &opts);
	return 0;
}

/* Returns an exit status. */
static int watch_run(struct watch *watch, struct watch_cmd *cmd, char **command)
{
	struct record_result result = { .status = -1 };
	int status, rc = rights_load_model(watch->model_path, &watch->model, &watch->errors,
					   &watch->err);

	if (rc < 0 && watch->errors.count)
		report_mistakes(stderr, watch->model_path, &watch->errors);
	if (rc == 0) {
		watch->follow_opts.model = watch->model;
		rc = watch_record(watch, cmd, command, &result);
	}
	if (rc == 0)
		rc = watch->rc;
	if (rc == 0)
		print_summary(watch);
	record_result_fini(&result);
	tempdir_remove();
	status = watch->errors.count ? EXIT_USAGE : EXIT_FAIL;
	if (rc == 0)
		status = watch_status_of(check_result(follow_check(watch->follow)));
	else if (!watch->errors.count)
		command_fail(&cmd_watch, &watch->err);
	return rc == -EINTR && result.final_signal ? command_end_by(result.final_signal) : status;
}

/* What can be told wrong before any work is done. */
static int watch_usage(const struct watch_cmd *cmd, int operands, char **command, struct err *err)
{
	if (operands < 1)
		return err_set(err, -EINVAL, "no MODEL given");
	if (operands > 1)
		return err_set(err, -EINVAL,
			       "expected one model; write -- before a command; holdup check reads "
			       "a trace");
	if (command && !command[0])
		return err_set(err, -EINVAL, "no command after --");
	if (command && cmd->pids.count)
		return err_set(err, -EINVAL, "--pid needs running processes, not a command");
	if (cmd->recording.locks && !command)
		return err_set(err, -EINVAL, "--locks needs a command: -- COMMAND");
	if (watch_actions_check(&cmd->actions, err) < 0)
		return err->code;
	if (cmd->recording.budget_ppm)
		return err_set(err, -EINVAL,
			       "--budget is for record, why and flight: a model needs all of its "
			       "events");
	return recording_check(&cmd->recording, err);
}

static int parse_and_watch(struct watch_cmd *cmd, int argc, char **argv)
{
	struct watch watch = { .cmd = cmd };
	struct err err = { 0 };
	int first = opts_parse(watch_options, cmd, argc, argv, &err);
	char **command;
	int rc;

	if (first < 0)
		return command_usage(&cmd_watch, first, &err);
	command = opts_command(argv, first, &argc);
	rc = watch_usage(cmd, argc - first, command, &err);
	if (rc < 0)
		return command_usage(&cmd_watch, rc, &err);
	watch.model_path = cmd->actions.model_path = argv[first];
	watch.follow_opts = (struct follow_opts){
		.most_behind_ns = cmd->most_behind_ns,
		.most_bytes = cmd->memory,
		.no_why = cmd->no_why,
		.found = on_found,
		.late = watch_on_late,
		.opened = watch_learn_root,
		.ahead = feed_tree,
		.context = &watch,
	};
	rc = watch_run(&watch, cmd, command);
	watch_fini(&watch);
	return rc;
}

static int watch_run_all(int argc, char **argv)
{
	struct watch_cmd cmd = {
		.recording = { .no_stacks = true },
		.actions = { .keep_ns = KEEP_NS,
			     .most_snapshots = SNAPSHOTS,
			     .snapshot_gap_s = SNAPSHOT_GAP_S },
	};
	int status = parse_and_watch(&cmd, argc, argv);

	free(cmd.pids.pids);
	recording_fini(&cmd.recording);
	return status;
}

static const struct opt_moved watch_moved[] = { RECORDING_MOVED,
						{ "--seconds", "--duration" },
						{ 0 } };

const struct command cmd_watch = {
	.name = "watch",
	.args = "[OPTIONS] MODEL [-- COMMAND ARGS...]",
	.summary = "Check a model live and act on violations",
	.options = watch_options,
	.moved = watch_moved,
	.details =
		"MODEL is a model of holdup check. The system is recorded and checked one to two\n"
		"seconds later. Violations are printed at once, and the summary of holdup check\n"
		"at the end: when the command or the processes of --pid exit, the time is over,\n"
		"or at Ctrl-C. Without -o only the last seconds of the recording are on disk, and\n"
		"are removed at the end.\n"
		"\n"
		"COMMAND of --exec gets the violation in HOLDUP_INSTANCE, HOLDUP_KEY, HOLDUP_TID,\n"
		"HOLDUP_PID, HOLDUP_CONSTRAINT, HOLDUP_VALUE ...: holdup-watch(1) lists them.\n"
		"\n"
		"Exit status: 0 all instances are valid, 1 an instance is invalid, 4 none is\n"
		"invalid but one is uncertain (or there are no instances), 2 wrong usage or a\n"
		"mistake in the model, 3 recording failed.\n"
		"\n"
		"  sudo holdup watch requests.yaml -- ./server\n"
		"  sudo holdup watch --snapshot slow -d 3600 requests.yaml --pid 1234\n"
		"  sudo holdup watch --json requests.yaml --pid 1234 | jq .violation.key\n",
	.run = watch_run_all,
};

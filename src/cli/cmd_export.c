/* cmd_export.c - holdup export: a trace in the formats of other tools. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/locks/lock_owner.h"
#include "ask/hot.h"
#include "ask/line_reader.h"
#include "ask/lock_source.h"
#include "ask/window.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/list_pipe.h"
#include "cli/list_print.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "cli/reading.h"
#include "event/facts.h"
#include "export/export.h"
#include "timeline/timeline.h"

#define NOT_GIVEN UINT32_MAX /* of a choice */

#define FORMATS "perfetto, chrome, folded, pprof, csv, jsonl or ctf"

struct export_cmd {
	const char *format;
	const char *output;
	const char *from, *to;
	struct opt_pids tids, pids;
	const char *comm;
	uint32_t what;	  /* enum export_what */
	uint32_t measure; /* enum export_measure */
	bool code;
	struct when begin, end;
};

static const struct opt_spec export_options[] = {
	{ "format", "FORMAT", "Write this format: " FORMATS, opt_string,
	  offsetof(struct export_cmd, format) },
	{ "output", "FILE",
	  "Write to this file (default: stdout); csv and ctf: to this new directory", opt_string,
	  offsetof(struct export_cmd, output), 'o' },
	{ "from", "WHEN", "Start the window at a time or event (default: start of the trace)",
	  opt_string, offsetof(struct export_cmd, from) },
	{ "to", "WHEN", "End the window at a time or event (default: end of the trace)", opt_string,
	  offsetof(struct export_cmd, to) },
	{ "tid", "TID", "Export only these threads; repeat for more", opt_pids,
	  offsetof(struct export_cmd, tids) },
	{ "pid", "PID", "Export only threads of these processes; repeat for more", opt_pids,
	  offsetof(struct export_cmd, pids) },
	{ "comm", "NAME", "Export only threads with this name", opt_string,
	  offsetof(struct export_cmd, comm) },
	{ "what", "events|intervals|edges|waits", "Choose the records of jsonl (default events)",
	  opt_choice, offsetof(struct export_cmd, what) },
	{ "code", NULL, "Fold stacks of the program's code instead of causes", opt_flag,
	  offsetof(struct export_cmd, code) },
	{ "measure", "blocked|waiting|wall|working",
	  "Choose the time that folded stacks count (default blocked)", opt_choice,
	  offsetof(struct export_cmd, measure) },
	{ 0 },
};

/* What is read for one export. */
struct source_of {
	struct export_job job; /* first: a format gets this */
	struct loaded loaded;
	bool *chosen;		    /* owned; by slot */
	struct line_reader *events; /* of jsonl */
};

static bool has_choice(const struct export_cmd *cmd)
{
	return cmd->tids.count || cmd->pids.count || cmd->comm;
}

static bool export_is_one_of(const struct opt_pids *pids, int32_t pid)
{
	for (size_t i = 0; i < pids->count; i++) {
		if (pids->pids[i] == pid)
			return true;
	}
	return false;
}

static int export_choose(const struct export_cmd *cmd, const struct timeline *tl, bool **out_chosen,
			 struct err *err)
{
	bool *chosen = xcalloc(tl->thread_count + 1, sizeof(bool));
	size_t count = 0;

	for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
		const struct tl_thread *thread = tl->threads[slot];

		chosen[slot] = thread->tid > 0 &&
			       (export_is_one_of(&cmd->tids, thread->tid) ||
				export_is_one_of(&cmd->pids, thread->tgid) ||
				(cmd->comm && strcmp(timeline_comm(tl, slot), cmd->comm) == 0));
		count += chosen[slot];
	}
	*out_chosen = chosen;
	return count ? 0
		     : err_set(err, -ESRCH,
			       "no thread of this recording matches --tid, --pid and --comm");
}

/* As holdup hot does. */
static int choose_hot(const struct export_cmd *cmd, struct source_of *from, struct err *err)
{
	struct hot_opts opts = { 0 };
	struct targets targets = { 0 };
	int rc = hot_default(&from->loaded, &cmd->begin, &cmd->end, &opts, &targets, err);

	from->chosen = xcalloc(from->loaded.timeline->thread_count + 1, sizeof(bool));
	for (size_t i = 0; i < targets.count; i++)
		from->chosen[targets.slots[i]] = true;
	targets_fini(&targets);
	from->job.start_ns = opts.start_ns;
	from->job.end_ns = opts.end_ns;
	return rc;
}

/* ------------------------------------------------------------- events, as list does */

/* The lines go past the stream, whose descriptor is empty and stays so. */
static int export_print_events(struct export_job *job, FILE *unused_out, struct err *err)
{
	struct line_reader *reader = ((struct source_of *)job)->events;
	const struct list_print_opts opts = { .json = true };
	struct list_print *print;
	struct list_pipe *pipe;
	struct value_line line;
	int rc = list_print_new(line_reader_context(reader), &opts, &print, err);
	int failed = 0, written;

	(void)unused_out;
	if (rc < 0)
		return rc;
	pipe = list_pipe_new(print, line_reader_context(reader), job->fd);
	while (!failed && (rc = line_reader_next(reader, &line, err)) > 0)
		failed = list_pipe_put(pipe, &line);
	written = list_pipe_finish(pipe, rc < 0 ? NULL : err);
	list_print_free(print);
	return rc < 0 ? rc : written;
}

static const struct export_format events_format = { .name = "jsonl",
						    .to_stream = export_print_events };

/* The numbers of the threads that were chosen. */
static int32_t *chosen_tids(const struct source_of *from, size_t *out_count)
{
	const struct timeline *tl = from->loaded.timeline;
	int32_t *tids = xcalloc(tl->thread_count + 1, sizeof(*tids));

	*out_count = 0;
	for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
		if (from->chosen[slot])
			tids[(*out_count)++] = tl->threads[slot]->tid;
	}
	return tids;
}

static int export_events(const struct export_cmd *cmd, const char *path, struct source_of *from,
			 struct err *err)
{
	struct line_choice choice = { .from = cmd->begin, .to = cmd->end };
	AUTO_FREE int32_t *tids = NULL;
	int rc = load_begin(path, err);

	if (rc == 0 && has_choice(cmd)) {
		rc = load_trace(path, 0, &from->loaded, err);
		if (rc == 0)
			rc = export_choose(cmd, from->loaded.timeline, &from->chosen, err);
		if (rc == 0)
			tids = chosen_tids(from, &choice.follow_count);
		choice.follow = tids;
	}
	if (rc == 0)
		rc = line_reader_open(path, &choice, &from->events, err);
	if (rc < 0)
		return rc;
	from->job.facts = line_reader_facts(from->events);
	return export_run(&events_format, &from->job, cmd->output, err);
}

/* ------------------------------------------------------------------ other formats */

/* What programs told of their locks; without it the kernel's events answer alone. */
static void export_read_locks(const char *path, struct source_of *from)
{
	struct err err = { 0 };

	if (lock_owners_read(path, &from->job.locks, &err) < 0)
		fprintf(stderr, "holdup export: only the kernel's lock events are used: %s\n",
			err.text);
}

static int export_load(const struct export_cmd *cmd, const struct export_format *format,
		       const char *path, struct source_of *from, struct err *err)
{
	struct export_job *job = &from->job;
	int rc = load_trace(path, 0, &from->loaded, err);

	if (rc == 0)
		rc = when_window(&from->loaded, &cmd->begin, &cmd->end, &job->start_ns,
				 &job->end_ns, err);
	if (rc == 0 && has_choice(cmd))
		rc = export_choose(cmd, from->loaded.timeline, &from->chosen, err);
	else if (rc == 0 && format->is_code)
		rc = choose_hot(cmd, from, err);
	if (rc < 0)
		return rc;
	if (format->wants_locks)
		export_read_locks(path, from);
	job->trace = from->loaded.trace;
	job->facts = from->loaded.facts;
	job->timeline = from->loaded.timeline;
	job->chosen = from->chosen;
	return 0;
}

/* What the export rests on. */
static void export_say_notes(const struct source_of *from)
{
	const struct facts *facts = from->job.facts;

	if (from->loaded.note)
		fprintf(stderr, "holdup export: %s\n", from->loaded.note);
	if (from->job.note)
		fprintf(stderr, "holdup export: %s\n", from->job.note);
	for (size_t i = 0; facts && i < facts->damage_count; i++)
		fprintf(stderr, "holdup export: damaged: %s\n", facts->damage[i]);
}

static void source_fini(struct source_of *from)
{
	lock_owners_free(from->job.locks);
	free(from->job.note);
	free(from->chosen);
	line_reader_close(from->events);
	loaded_fini(&from->loaded);
}

static int export_trace(const struct export_cmd *cmd, const struct export_format *format,
			const char *path, struct err *err)
{
	struct source_of from = { 0 };
	int rc;

	reading_writes(cmd->output);
	if (cmd->what != NOT_GIVEN)
		from.job.what = (enum export_what)cmd->what;
	if (cmd->measure != NOT_GIVEN)
		from.job.measure = (enum export_measure)cmd->measure;
	if (format->to_stream == export_jsonl && from.job.what == EXPORT_EVENTS) {
		rc = export_events(cmd, path, &from, err);
	} else {
		rc = export_load(cmd, format, path, &from, err);
		if (rc == 0)
			rc = export_run(format, &from.job, cmd->output, err);
	}
	if (rc == 0)
		export_say_notes(&from);
	source_fini(&from);
	return rc;
}

static int unknown_format(const char *name, struct err *err)
{
	static const char *const names[] = { "perfetto", "chrome", "folded", "pprof",
					     "csv",	 "jsonl",  "ctf" };
	AUTO_FREE char *safe = text_escaped(name);
	AUTO_FREE char *hint = opts_hint(name, "", names, ARRAY_LEN(names));

	return err_set(err, -EINVAL, "option --format needs " FORMATS ", got \"%s\"%s", safe, hint);
}

static int export_check_usage(const struct export_cmd *cmd, const struct export_format **out_format,
			      struct err *err)
{
	const struct export_format *format;

	if (!cmd->format && cmd->to && export_find_format(cmd->to))
		return err_set(err, -EINVAL,
			       "--to %s is --format %s now; --to is the end of the window", cmd->to,
			       cmd->to);
	if (!cmd->format)
		return err_set(err, -EINVAL, "option --format FORMAT is missing: " FORMATS);
	format = export_find_format(cmd->format);
	if (!format)
		return unknown_format(cmd->format, err);
	if (cmd->what != NOT_GIVEN && format->to_stream != export_jsonl)
		return err_set(err, -EINVAL, "--what needs --format jsonl");
	if (cmd->measure != NOT_GIVEN && format->to_stream != export_folded)
		return err_set(err, -EINVAL, "--measure needs --format folded");
	if (cmd->code && format->to_stream != export_folded)
		return err_set(err, -EINVAL, "--code needs --format folded");
	if (cmd->code && cmd->measure == EXPORT_WAITING)
		return err_set(err, -EINVAL,
			       "--code excludes --measure waiting: a thread without a CPU runs no "
			       "code");
	if (format->to_folder && (!cmd->output || strcmp(cmd->output, "-") == 0))
		return err_set(err, -EINVAL, "%s is a directory; name it with -o", format->name);
	if (format->is_binary && (!cmd->output || strcmp(cmd->output, "-") == 0) &&
	    isatty(STDOUT_FILENO))
		return err_set(err, -EINVAL, "%s cannot go to a terminal; name a file with -o FILE",
			       format->name);
	*out_format = cmd->code ? &export_format_code : format;
	return 0;
}

static int run_export(int argc, char **argv)
{
	struct export_cmd cmd = { .what = NOT_GIVEN, .measure = NOT_GIVEN };
	const struct export_format *format = NULL;
	struct err err = { 0 };
	int first = opts_parse(export_options, &cmd, argc, argv, &err);
	int rc = first < 0 ? first : 0, status;

	if (rc == 0 && argc - first > 1)
		rc = err_set(&err, -EINVAL, "expected one trace");
	if (rc == 0)
		rc = export_check_usage(&cmd, &format, &err);
	if (rc == 0)
		rc = when_parse(cmd.from, false, &cmd.begin, &err);
	if (rc == 0)
		rc = when_parse(cmd.to, true, &cmd.end, &err);
	if (rc < 0) {
		status = command_usage(&cmd_export, rc, &err);
	} else {
		(void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of writing */
		rc = export_trace(&cmd, format, argc > first ? argv[first] : DEFAULT_TRACE, &err);
		status = rc < 0 ? command_fail(&cmd_export, &err) : EXIT_OK;
	}
	free(cmd.tids.pids);
	free(cmd.pids.pids);
	return status;
}

static const struct opt_moved export_moved[] = { { "--until", "--to" }, { 0 } };

const struct command cmd_export = {
	.name = "export",
	.args = "--format FORMAT [OPTIONS] [TRACE]",
	.summary = "Convert a trace to another tool's format",
	.options = export_options,
	.moved = export_moved,
	.details =
		"FORMAT is one of\n"
		"  perfetto  a trace for ui.perfetto.dev and trace_processor\n"
		"  chrome    Trace Event JSON, for chrome://tracing and Perfetto\n"
		"  folded    stacks of causes of waits, for flame graphs, in ns\n"
		"  pprof     stacks of running and waiting code, for pprof and speedscope\n"
		"  csv       a directory with intervals.csv, edges.csv, waits.csv\n"
		"  jsonl     one JSON object per event, interval, wake-up or wait\n"
		"  ctf       a directory in CTF 1.8, for babeltrace2 and Trace Compass\n"
		"\n"
		"A file is written completely or not at all. WHEN is as in holdup why.\n"
		"\n"
		"Exit status: 0 written, 2 wrong usage, 3 failed.\n"
		"\n"
		"  holdup export --format perfetto -o run.pftrace run.holdup\n"
		"  holdup export --format folded --pid 1234 run.holdup | flamegraph.pl >waits.svg\n"
		"  holdup export --format folded --code --measure wall run.holdup >wall.folded\n"
		"  holdup export --format pprof -o run.pb.gz && pprof -http : run.pb.gz\n"
		"  holdup export --format csv -o tables --from +1s --to +2s run.holdup\n"
		"  holdup export --format ctf -o run.ctf run.holdup && babeltrace2 run.ctf\n"
		"  holdup export --format jsonl --what waits --comm make run.holdup\n",
	.only_reads = true,
	.run = run_export,
};

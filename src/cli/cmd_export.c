/* cmd_export.c - holdup export: a trace in the formats of other tools. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/lock_owner.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/list_pipe.h"
#include "cli/list_print.h"
#include "cli/list_reader.h"
#include "cli/load.h"
#include "cli/lock_source.h"
#include "cli/opts.h"
#include "cli/reading.h"
#include "cli/when.h"
#include "event/facts.h"
#include "event/source.h"
#include "export/export.h"
#include "timeline/timeline.h"

#define NOT_GIVEN UINT32_MAX /* of a choice */

#define FORMATS "perfetto, chrome, folded, csv, jsonl or ctf"

struct export_cmd {
	const char *to;
	const char *output;
	const char *from, *until;
	struct opt_pids tids, pids;
	const char *comm;
	uint32_t what;	  /* enum export_what */
	uint32_t measure; /* enum export_measure */
	struct when begin, end;
};

static const struct opt_spec export_options[] = {
	{ "to", "FORMAT", "Write this format: perfetto, chrome, folded, csv, jsonl or ctf",
	  opt_string, offsetof(struct export_cmd, to) },
	{ "output", "FILE",
	  "Write to this file (default: stdout), or for csv and ctf into this new folder",
	  opt_string, offsetof(struct export_cmd, output), 'o' },
	{ "from", "WHEN", "Start the window here: a time or an event (default: begin of the trace)",
	  opt_string, offsetof(struct export_cmd, from) },
	{ "until", "WHEN", "End the window here (default: end of the trace)", opt_string,
	  offsetof(struct export_cmd, until) },
	{ "tid", "TID", "Export only these threads; repeat for more", opt_pids,
	  offsetof(struct export_cmd, tids) },
	{ "pid", "PID", "Export only the threads of these processes; repeat for more", opt_pids,
	  offsetof(struct export_cmd, pids) },
	{ "comm", "NAME", "Export only the threads of this name", opt_string,
	  offsetof(struct export_cmd, comm) },
	{ "what", "events|intervals|edges|waits", "Choose the lines of jsonl (default events)",
	  opt_choice, offsetof(struct export_cmd, what) },
	{ "measure", "blocked|waiting|wall",
	  "Choose the time that folded stacks add up to (default blocked)", opt_choice,
	  offsetof(struct export_cmd, measure) },
	{ 0 },
};

/* What is read for one export. */
struct source_of {
	struct export_job job; /* first: a format gets this */
	struct loaded loaded;
	bool *chosen;		    /* owned; by slot */
	struct list_reader *events; /* of jsonl */
};

static bool has_choice(const struct export_cmd *cmd)
{
	return cmd->tids.count || cmd->pids.count || cmd->comm;
}

static bool is_one_of(const struct opt_pids *pids, int32_t pid)
{
	for (size_t i = 0; i < pids->count; i++) {
		if (pids->pids[i] == pid)
			return true;
	}
	return false;
}

static int choose(const struct export_cmd *cmd, const struct timeline *tl, bool **out_chosen,
		  struct err *err)
{
	bool *chosen = xcalloc(tl->thread_count + 1, sizeof(bool));
	size_t count = 0;

	for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
		const struct tl_thread *thread = tl->threads[slot];

		chosen[slot] = thread->tid > 0 &&
			       (is_one_of(&cmd->tids, thread->tid) ||
				is_one_of(&cmd->pids, thread->tgid) ||
				(cmd->comm && strcmp(timeline_comm(tl, slot), cmd->comm) == 0));
		count += chosen[slot];
	}
	*out_chosen = chosen;
	return count ? 0
		     : err_set(err, -ESRCH,
			       "nothing in this recording is about the threads chosen by --tid, "
			       "--pid, --comm");
}

/* ------------------------------------------------------------- events, as list does */

/* The lines go past the stream, whose descriptor is empty and stays so. */
static int print_events(struct export_job *job, FILE *unused_out, struct err *err)
{
	struct list_reader *reader = ((struct source_of *)job)->events;
	const struct list_print_opts opts = { .json = true };
	struct list_print *print;
	struct list_pipe *pipe;
	struct value_line line;
	int rc = list_print_new(list_reader_context(reader), &opts, &print, err);
	int failed = 0, written;

	(void)unused_out;
	if (rc < 0)
		return rc;
	pipe = list_pipe_new(print, list_reader_context(reader), job->fd);
	while (!failed && (rc = list_reader_next(reader, &line, err)) > 0)
		failed = list_pipe_put(pipe, &line);
	written = list_pipe_finish(pipe, rc < 0 ? NULL : err);
	list_print_free(print);
	return rc < 0 ? rc : written;
}

static const struct export_format events_format = { .name = "jsonl", .to_stream = print_events };

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
	struct list_choice choice = { .from = cmd->begin, .to = cmd->end };
	AUTO_FREE int32_t *tids = NULL;
	int rc = 0;

	if (has_choice(cmd)) {
		rc = load_trace(path, 0, &from->loaded, err);
		if (rc == 0)
			rc = choose(cmd, from->loaded.timeline, &from->chosen, err);
		if (rc == 0)
			tids = chosen_tids(from, &choice.follow_count);
		choice.follow = tids;
	}
	if (rc == 0)
		rc = list_reader_open(path, &choice, &from->events, err);
	if (rc < 0)
		return rc;
	from->job.facts = list_reader_facts(from->events);
	return export_run(&events_format, &from->job, cmd->output, err);
}

/* ------------------------------------------------------------------ other formats */

/* What programs told of their locks; without it the kernel's events answer alone. */
static void learn_locks(const char *path, struct source_of *from)
{
	struct source *source = NULL;
	struct err err = { 0 };
	int rc = lock_source_open_beside(path, &source, &err);

	if (rc == 0 && source)
		rc = lock_owners_new(source, lock_source_facts(source)->last_ns, &from->job.locks,
				     &err);
	if (rc < 0)
		fprintf(stderr, "holdup export: locks are told as the kernel saw them: %s\n",
			err.text);
	source_close(source);
}

static int load(const struct export_cmd *cmd, const struct export_format *format, const char *path,
		struct source_of *from, struct err *err)
{
	struct export_job *job = &from->job;
	int rc = load_trace(path, 0, &from->loaded, err);

	if (rc == 0)
		rc = load_window(&from->loaded, &cmd->begin, &cmd->end, &job->start_ns,
				 &job->end_ns, err);
	if (rc == 0 && has_choice(cmd))
		rc = choose(cmd, from->loaded.timeline, &from->chosen, err);
	if (rc < 0)
		return rc;
	if (format->wants_locks)
		learn_locks(path, from);
	job->trace = from->loaded.trace;
	job->facts = from->loaded.facts;
	job->timeline = from->loaded.timeline;
	job->chosen = from->chosen;
	return 0;
}

/* What the export rests on. */
static void say_notes(const struct source_of *from)
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
	list_reader_close(from->events);
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
		rc = load(cmd, format, path, &from, err);
		if (rc == 0)
			rc = export_run(format, &from.job, cmd->output, err);
	}
	if (rc == 0)
		say_notes(&from);
	source_fini(&from);
	return rc;
}

static int unknown_format(const char *name, struct err *err)
{
	static const char *const names[] = {
		"perfetto", "chrome", "folded", "csv", "jsonl", "ctf"
	};
	AUTO_FREE char *safe = text_escaped(name);
	AUTO_FREE char *hint = opts_hint(name, "", names, ARRAY_LEN(names));

	return err_set(err, -EINVAL, "option --to needs " FORMATS ", got \"%s\"%s", safe, hint);
}

static int check_usage(const struct export_cmd *cmd, const struct export_format **out_format,
		       struct err *err)
{
	const struct export_format *format;

	if (!cmd->to)
		return err_set(err, -EINVAL, "it needs --to FORMAT: " FORMATS);
	format = export_find_format(cmd->to);
	if (!format)
		return unknown_format(cmd->to, err);
	if (cmd->what != NOT_GIVEN && format->to_stream != export_jsonl)
		return err_set(err, -EINVAL, "--what goes with --to jsonl");
	if (cmd->measure != NOT_GIVEN && format->to_stream != export_folded)
		return err_set(err, -EINVAL, "--measure goes with --to folded");
	if (format->to_folder && (!cmd->output || strcmp(cmd->output, "-") == 0))
		return err_set(err, -EINVAL, "%s is a folder: name it with -o", format->name);
	if (format->is_binary && (!cmd->output || strcmp(cmd->output, "-") == 0) &&
	    isatty(STDOUT_FILENO))
		return err_set(err, -EINVAL, "%s is not for a terminal: name a file with -o FILE",
			       format->name);
	*out_format = format;
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
		rc = err_set(&err, -EINVAL, "it takes one trace");
	if (rc == 0)
		rc = check_usage(&cmd, &format, &err);
	if (rc == 0)
		rc = when_parse(cmd.from, false, &cmd.begin, &err);
	if (rc == 0)
		rc = when_parse(cmd.until, true, &cmd.end, &err);
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

const struct command cmd_export = {
	.name = "export",
	.args = "--to FORMAT [OPTIONS] [TRACE]",
	.summary = "Write a trace in the format of another tool",
	.options = export_options,
	.details = "FORMAT is one of\n"
		   "  perfetto  a trace for ui.perfetto.dev and trace_processor\n"
		   "  chrome    Trace Event JSON, for chrome://tracing and Perfetto\n"
		   "  folded    stacks of what threads waited for, for flame graphs: ns\n"
		   "  csv       a folder with intervals.csv, edges.csv, waits.csv\n"
		   "  jsonl     a JSON object for each event, interval, wake-up or wait\n"
		   "  ctf       a folder in CTF 1.8, for babeltrace2 and Trace Compass\n"
		   "\n"
		   "A file is there whole or not at all. WHEN is as in holdup why.\n"
		   "\n"
		   "Exit status: 0 written, 2 wrong usage, 3 could not.\n"
		   "\n"
		   "  holdup export --to perfetto -o run.pftrace run.holdup\n"
		   "  holdup export --to folded --pid 1234 run.holdup | flamegraph.pl >waits.svg\n"
		   "  holdup export --to csv -o tables --from +1s --until +2s run.holdup\n"
		   "  holdup export --to ctf -o run.ctf run.holdup && babeltrace2 run.ctf\n"
		   "  holdup export --to jsonl --what waits --comm make run.holdup\n",
	.only_reads = true,
	.run = run_export,
};

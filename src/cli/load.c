/* load.c - a trace with its timeline for a command: progress on the terminal, windows in words. */
#include "cli/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/window.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/reading.h"
#include "cli/when.h"
#include "event/facts.h"
#include "read/read.h"
#include "timeline/timeline.h"

static void say_read(void *context, uint64_t done_ns, uint64_t whole_ns)
{
	struct text done = text_duration(done_ns);
	char line[128];

	*(bool *)context = true;
	(void)snprintf(line, sizeof(line), "reading the trace: %s of %s", done.s,
		       text_duration(whole_ns).s);
	progress_say(line);
}

static void say_waiting(void *context, const char *dir)
{
	AUTO_FREE char *safe = text_escaped(dir);

	(void)context;
	fprintf(stderr,
		"holdup: another one is building the index in %s: waiting for it, 5 s at most\n",
		safe);
}

static int begin_reading(const char *path, struct err *err)
{
	if (strcmp(path, DEFAULT_TRACE) == 0 && access(path, F_OK) < 0 && errno == ENOENT)
		return err_set(
			err, -ENOENT,
			"there is no " DEFAULT_TRACE
			" here: name a trace, or record one (sudo holdup record -- COMMAND)");
	return reading_begin(path, err);
}

int load_trace(const char *path, uint32_t flags, struct loaded *out_loaded, struct err *err)
{
	bool said = false;
	const struct load_opts opts = {
		.flags = flags, .progress = say_read, .waiting = say_waiting, .context = &said
	};
	int rc = begin_reading(path, err);

	if (rc == 0)
		rc = loaded_open(path, &opts, out_loaded, err);
	if (said)
		progress_clear();
	return rc;
}

int load_plain(const char *path, struct trace **out_trace, struct err *err)
{
	int rc = begin_reading(path, err);

	return rc < 0 ? rc : read_open(path, out_trace, err);
}

/* ------------------------------------------------------------------- window */

int load_find(struct trace *trace, const struct when *when, uint64_t from_ns, uint64_t otherwise,
	      uint64_t *out_ns, struct err *err)
{
	int rc;

	*out_ns = otherwise;
	if (when->kind == WHEN_NONE)
		return 0;
	if (when->kind == WHEN_PLACE)
		return trace_find_place(trace, when->cpu, when->ns, out_ns, err);
	if (when->kind != WHEN_EVENT)
		return when_resolve(when, trace_facts(trace), out_ns, err);
	rc = trace_find_event(trace, when->event, when->last, from_ns, out_ns, err);
	if (rc == 0)
		return err_set(err, -ENOENT, "no event matches \"%s\"", when->event);
	return rc < 0 ? rc : 0;
}

int load_moment(struct loaded *loaded, const struct when *when, uint64_t from_ns,
		uint64_t otherwise, uint64_t *out_ns, struct err *err)
{
	return load_find(loaded->trace, when, from_ns, otherwise, out_ns, err);
}

int load_window(struct loaded *loaded, const struct when *from, const struct when *to,
		uint64_t *out_start_ns, uint64_t *out_end_ns, struct err *err)
{
	const struct timeline *tl = loaded->timeline;
	uint64_t start, end;
	int rc = load_moment(loaded, from, 0, tl->origin_ns, &start, err);

	if (rc < 0)
		return err_wrap(err, "looking for the start of the window (--from)");
	rc = load_moment(loaded, to, start, tl->end_ns, &end, err);
	if (rc < 0)
		return err_wrap(err, "looking for the end of the window (--to)");
	if (end <= start || end <= tl->origin_ns || start >= tl->end_ns)
		return window_refuse(err, -EINVAL, start, end, tl->origin_ns, tl->end_ns);
	if (start < tl->origin_ns)
		start = tl->origin_ns;
	if (end > tl->end_ns)
		end = tl->end_ns;
	*out_start_ns = start;
	*out_end_ns = end;
	return 0;
}

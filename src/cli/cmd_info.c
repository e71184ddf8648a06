/* cmd_info.c - holdup info: what is in a trace, and what it can tell. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/stats/info.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "event/facts.h"
#include "event/source.h"
#include "fields/print.h"
#include "read/read.h"
#include "report/info.h"
#include "store/formats.h"

#define DEFAULT_TOP 20u
#define MAX_DEPTH   4u

struct info_cmd {
	bool all;
	bool json;
};

static const struct opt_spec info_options[] = {
	{ "all", NULL, "Print all event types (default: the 20 most frequent)", opt_flag,
	  offsetof(struct info_cmd, all), 'a' },
	{ "json", NULL, "Print JSON, times in ns", opt_flag, offsetof(struct info_cmd, json) },
	{ 0 },
};

/* Titles of kinds, by the formats of the trace. */
struct titles {
	struct printer *printer; /* NULL = the trace has no records */
	bool swap;
};

static const char *title_of(void *context, uint32_t kind)
{
	const struct titles *titles = context;

	return titles->printer ? printer_event(titles->printer, (uint16_t)kind)->title : NULL;
}

static void open_titles(struct titles *titles, struct trace *trace, struct info *info)
{
	struct trace_meaning meaning;

	if (!trace_meaning(trace, &meaning))
		return;
	titles->printer = printer_new(&(struct print_setup){
		meaning.formats, trace_facts(trace), meaning.big_endian, meaning.long_bytes });
	titles->swap = order_swaps(meaning.big_endian);
	for (size_t i = 0; meaning.formats_are_recorded && i < meaning.formats->count; i++)
		info_recorded(info, meaning.formats->sections[i].name);
	trace_keep_records(trace, true);
}

/* The number of the kind is the first field of every record. */
static uint32_t trace_kind(const struct trace *trace, const struct titles *titles)
{
	struct trace_record record;
	uint16_t kind;

	if (!titles->printer || !trace_record(trace, &record) || record.bytes < sizeof(kind))
		return INFO_NO_KIND;
	memcpy(&kind, record.data, sizeof(kind));
	return order_u16(kind, titles->swap);
}

static int info_count_events(struct trace *trace, const struct titles *titles, struct info *info,
			     struct err *err)
{
	struct source *source = trace_source(trace);
	const struct event *event;
	int rc = source_seek(source, 0, err); /* records are kept from here on */

	while (rc >= 0 && (rc = source_next(source, &event, err)) > 0)
		info_count(info, event, trace_kind(trace, titles));
	return rc < 0 ? err_wrap(err, "reading the events") : 0;
}

/* ------------------------------------------------------------------ processes */

/* What one process logged; its times become those of the recording. */
static int count_process(const char *path, const char *name, int64_t offset_ns,
			 struct info_stream *out_stream)
{
	struct trace *trace;
	const struct event *event;
	int rc = load_plain(path, &trace, NULL);
	int64_t shift;

	*out_stream = (struct info_stream){ .name = name, .cpu = -1, .is_user = true };
	if (rc < 0)
		return rc;
	shift = trace_facts(trace)->realtime_offset_ns - offset_ns;
	while (source_next(trace_source(trace), &event, NULL) > 0) {
		if (event->type == EV_LOST) {
			out_stream->holes++;
			out_stream->lost += event->lost.count ? event->lost.count : 1;
			continue;
		}
		if (out_stream->events++ == 0)
			out_stream->first_ns = event->time_ns + (uint64_t)shift;
		out_stream->last_ns = event->time_ns + (uint64_t)shift;
	}
	for (size_t i = 0; i < trace_facts(trace)->cpu_count; i++)
		out_stream->bytes += trace_facts(trace)->cpus[i].bytes;
	trace_close(trace);
	return 0;
}

/* Count the folders below 'folder' that are traces. */
static void info_count_processes(struct info *info, const char *folder, const char *name,
				 uint32_t depth)
{
	AUTO_FREE char *metadata = xasprintf("%s/metadata", folder);
	struct dirent **entries = NULL;
	struct info_stream stream;
	struct stat st;
	int count;

	if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode) || depth > MAX_DEPTH)
		return;
	if (lstat(metadata, &st) == 0) {
		if (count_process(folder, name, info->facts->realtime_offset_ns, &stream) == 0)
			info_add_stream(info, &stream);
		return;
	}
	count = scandir(folder, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", folder, entries[i]->d_name);

		if (entries[i]->d_name[0] != '.')
			info_count_processes(info, path, entries[i]->d_name, depth + 1);
		free(entries[i]);
	}
	free(entries);
}

/* ------------------------------------------------------------------ the command */

static int print_info(const struct info_cmd *cmd, const char *path, bool *out_whole,
		      struct err *err)
{
	const struct report_info_opts opts = { path, cmd->all ? 0 : DEFAULT_TOP, cmd->json };
	AUTO_FREE char *user = xasprintf("%s/user", path);
	struct titles titles = { 0 };
	struct trace *trace;
	struct info *info;
	int rc = load_plain(path, &trace, err);

	if (rc < 0)
		return rc;
	info = info_new(trace_facts(trace));
	open_titles(&titles, trace, info);
	rc = info_count_events(trace, &titles, info, err);
	if (rc == 0) {
		info_count_processes(info, user, "user", 0);
		info_end(info, title_of, &titles);
		report_info(stdout, info, &opts);
		*out_whole = info_is_whole(info);
	}
	printer_free(titles.printer);
	info_free(info);
	trace_close(trace);
	return rc;
}

static int run_info(int argc, char **argv)
{
	struct info_cmd cmd = { 0 };
	struct err err = { 0 };
	bool whole = false;
	int first = opts_parse(info_options, &cmd, argc, argv, &err), rc;

	if (first >= 0 && argc - first > 1)
		first = err_set(&err, -EINVAL, "expected one trace");
	if (first < 0)
		return command_usage(&cmd_info, first, &err);
	rc = print_info(&cmd, argc > first ? argv[first] : DEFAULT_TRACE, &whole, &err);
	if (rc < 0)
		return command_fail(&cmd_info, &err);
	return whole ? EXIT_OK : EXIT_FOUND;
}

const struct command cmd_info = {
	.name = "info",
	.args = "[OPTIONS] [TRACE]",
	.summary = "Show what a trace contains and what is missing",
	.options = info_options,
	.details =
		"Reads all events of TRACE or run.holdup. Prints who recorded the trace, when and\n"
		"where, its streams and event types, losses and damage, and which questions its\n"
		"events can answer. For the others, prints the missing events and the command\n"
		"that records them.\n"
		"\n"
		"Exit status: 0 the trace is complete, 1 something is damaged or lost, 2 wrong\n"
		"usage, 3 the trace could not be read.\n"
		"\n"
		"  holdup info run.holdup\n"
		"  holdup info --json lttng-trace | jq .events_by_type\n",
	.only_reads = true,
	.prints_report = true,
	.run = run_info,
};

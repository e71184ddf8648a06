/* cmd_index.c - build the timeline of a trace before it is asked for, and say what it took. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "event/facts.h"
#include "report/vocabulary.h"
#include "timeline/index.h"
#include "timeline/timeline.h"

struct index_cmd {
	bool force;
	bool json;
};

static const struct opt_spec index_options[] = {
	{ "force", NULL, "Build the index even if a valid one exists", opt_flag,
	  offsetof(struct index_cmd, force) },
	{ "json", NULL, "Print JSON", opt_flag, offsetof(struct index_cmd, json) },
	{ 0 },
};

struct cost {
	uint64_t ns;
	uint64_t events_per_second; /* 0 = nothing was built */
	uint64_t trace_bytes;
	uint64_t peak_rss_bytes;
};

static struct cost cost_of(const struct loaded *loaded, uint64_t ns)
{
	struct cost cost = { .ns = ns };
	struct rusage usage;

	if (loaded->built && ns)
		cost.events_per_second =
			(uint64_t)((__uint128_t)loaded->timeline->events * 1000000000u / ns);
	for (size_t cpu = 0; cpu < loaded->facts->cpu_count; cpu++)
		cost.trace_bytes += loaded->facts->cpus[cpu].bytes;
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		cost.peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
	return cost;
}

static void index_print_json(const struct loaded *loaded, const struct cost *cost)
{
	struct json json = { .out = stdout };

	report_json_begin(&json, NULL, "index");
	json_print_bool(&json, "built", loaded->built);
	json_print_bool(&json, "kept", loaded->kept);
	json_print_u64(&json, "events", loaded->timeline->events);
	json_print_u64(&json, "took_ns", cost->ns);
	json_print_u64(&json, "events_per_second", cost->events_per_second);
	json_print_u64(&json, "index_bytes", index_bytes(loaded->timeline));
	json_print_u64(&json, "trace_bytes", cost->trace_bytes);
	json_print_u64(&json, "peak_rss_bytes", cost->peak_rss_bytes);
	json_print_u64(&json, "lost_events", loaded->timeline->lost_events);
	json_end_object(&json);
	json_fini(&json);
}

static void index_print_text(const struct loaded *loaded, const struct cost *cost)
{
	const struct timeline *tl = loaded->timeline;

	if (loaded->built)
		printf("Built the index: %s events in %s, %s events per second.\n",
		       text_count(tl->events).s, text_duration(cost->ns).s,
		       text_count(cost->events_per_second).s);
	else
		printf("The index already existed: %s events.\n", text_count(tl->events).s);
	printf("  %s of index for %s of trace (%s), %s of memory at most\n",
	       text_size(index_bytes(tl)).s, text_size(cost->trace_bytes).s,
	       text_percent(index_bytes(tl), cost->trace_bytes).s,
	       text_size(cost->peak_rss_bytes).s);
	if (tl->lost_events)
		printf("  %s events were lost in the recording: see holdup check-trace\n",
		       text_count(tl->lost_events).s);
	if (loaded->note)
		printf("  %s\n", loaded->note);
}

static int run_index(int argc, char **argv)
{
	struct index_cmd cmd = { 0 };
	struct loaded loaded;
	struct err err = { 0 };
	int first = opts_parse(index_options, &cmd, argc, argv, &err);
	struct cost cost;
	uint64_t start = clock_now_ns();
	int rc;

	if (first < 0)
		return command_usage(&cmd_index, first, &err);
	if (argc - first > 1)
		return command_usage(&cmd_index, err_set(&err, -EINVAL, "expected one trace"),
				     &err);
	rc = load_trace(argc > first ? argv[first] : DEFAULT_TRACE,
			LOAD_MUST_KEEP | (cmd.force ? LOAD_REBUILD : 0u), &loaded, &err);
	if (rc < 0)
		return command_fail(&cmd_index, &err);
	cost = cost_of(&loaded, clock_now_ns() - start);
	if (cmd.json)
		index_print_json(&loaded, &cost);
	else
		index_print_text(&loaded, &cost);
	loaded_fini(&loaded);
	return EXIT_OK;
}

const struct command cmd_index = {
	.name = "index",
	.args = "[OPTIONS] [TRACE]",
	.summary = "Build a trace's index ahead of time",
	.options = index_options,
	.details =
		"Every command that needs the index builds it; this command only builds it ahead\n"
		"of time. The index is kept in TRACE/timeline. If the trace is not writable, the\n"
		"index is kept in $XDG_CACHE_HOME/holdup or ~/.cache/holdup. It is rebuilt when\n"
		"the trace has changed and can be removed at any time.\n"
		"\n"
		"Exit status: 0 the index exists, 2 wrong usage, 3 the index could not be built\n"
		"or kept.\n"
		"\n"
		"  holdup index run.holdup\n"
		"  holdup index --json --force run.holdup\n",
	.only_reads = true,
	.run = run_index,
};

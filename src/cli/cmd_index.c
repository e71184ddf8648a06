/* cmd_index.c - build the timeline of a trace before it is asked for, and say what it took. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/err.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "event/facts.h"
#include "timeline/index.h"
#include "timeline/timeline.h"

struct index_cmd {
	bool force;
	bool json;
};

static const struct opt_spec index_options[] = {
	{ "force", NULL, "Build the timeline even if it is there and fits", opt_flag,
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

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

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

static void print_json(const struct loaded *loaded, const struct cost *cost)
{
	struct json json = { .out = stdout };
	char seconds[32];

	(void)snprintf(seconds, sizeof(seconds), "%llu.%09llu",
		       (unsigned long long)(cost->ns / 1000000000u),
		       (unsigned long long)(cost->ns % 1000000000u));
	json_begin_object(&json, NULL);
	json_print_u64(&json, "holdup", 1);
	json_print_bool(&json, "built", loaded->built);
	json_print_bool(&json, "kept", loaded->kept);
	json_print_u64(&json, "events", loaded->timeline->events);
	json_print_number(&json, "seconds", seconds);
	json_print_u64(&json, "events_per_second", cost->events_per_second);
	json_print_u64(&json, "index_bytes", index_bytes(loaded->timeline));
	json_print_u64(&json, "trace_bytes", cost->trace_bytes);
	json_print_u64(&json, "peak_rss_bytes", cost->peak_rss_bytes);
	json_print_u64(&json, "lost_events", loaded->timeline->lost_events);
	json_end_object(&json);
	json_fini(&json);
}

static void print_text(const struct loaded *loaded, const struct cost *cost)
{
	const struct timeline *tl = loaded->timeline;

	if (loaded->built)
		printf("The index is built: %s events in %s, %s events a second.\n",
		       text_count(tl->events).s, text_duration(cost->ns).s,
		       text_count(cost->events_per_second).s);
	else
		printf("The index was there: %s events.\n", text_count(tl->events).s);
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
	uint64_t start = now_ns();
	int rc;

	if (first < 0)
		return command_usage(&cmd_index, first, &err);
	if (argc - first > 1)
		return command_usage(&cmd_index, err_set(&err, -EINVAL, "it takes one trace"),
				     &err);
	rc = load_trace(argc > first ? argv[first] : DEFAULT_TRACE,
			LOAD_MUST_KEEP | (cmd.force ? LOAD_REBUILD : 0u), &loaded, &err);
	if (rc < 0)
		return command_fail(&cmd_index, &err);
	cost = cost_of(&loaded, now_ns() - start);
	if (cmd.json)
		print_json(&loaded, &cost);
	else
		print_text(&loaded, &cost);
	loaded_fini(&loaded);
	return EXIT_OK;
}

const struct command cmd_index = {
	.name = "index",
	.args = "[OPTIONS] [TRACE]",
	.summary = "Build the timeline of a trace, which every question rests on",
	.options = index_options,
	.details =
		"Every command that needs the timeline builds it when it is not there, so this is\n"
		"only to have it ready. It is kept in TRACE/timeline, or, when the trace must not be\n"
		"written to, in $XDG_CACHE_HOME/holdup or ~/.cache/holdup. It is built again when\n"
		"the trace has changed, and may be removed at any time.\n"
		"\n"
		"Exit status: 0 it is there, 2 wrong usage, 3 it could not be built or kept.\n"
		"\n"
		"  holdup index run.holdup\n"
		"  holdup index --json --force run.holdup\n",
	.only_reads = true,
	.run = run_index,
};

/*
 * data.c - a recording of perf: a file, what came out of its pipe, or a folder.
 *
 * Opening reads all records once (perf_scan.h); reading and seeking then go by what was found.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/source.h"
#include "read/kernel/events.h"
#include "read/lane.h"
#include "read/merge.h"
#include "read/perf/event.h"
#include "read/perf/file.h"
#include "read/perf/lane.h"
#include "read/perf/scan.h"
#include "read/perf/stacks.h"
#include "read/read.h"
#include "read/read_int.h"
#include "store/formats.h"

#define MANY_LANES 64u
#define ALL_CALLS  200u /* every kernel has more */

struct perf_data {
	struct trace trace;
	struct perf_file file;
	struct perf_scan scan;
	struct kernel_events *events; /* owned */
	struct perf_decoder decoder;
	struct lane **lanes; /* array owned; the lanes are the merge's */
	size_t lane_count;
};

/* ------------------------------------------------------------------ facts */

static void perf_data_add_missing(struct facts *facts, const char *what, const char *why)
{
	facts->missing =
		xrealloc(facts->missing, facts->missing_count + 1, sizeof(*facts->missing));
	facts->missing[facts->missing_count++] =
		(struct fact_missing){ what, facts_keep(facts, why) };
}

/* Events of which only some were recorded, because perf was asked to. */
static void find_sampled(struct perf_data *data)
{
	for (size_t i = 0; i < data->file.attrs.count; i++) {
		const struct perf_attr *attr = data->file.attrs.items[i];
		AUTO_FREE char *why = NULL;

		if (!attr->is_tracepoint || attr->period <= 1)
			continue;
		why = attr->flags & PERF_FLAG_FREQ
			      ? xasprintf(
					"%s was sampled, at most %llu times a second (perf record -F)",
					attr->title, (unsigned long long)attr->period)
			      : xasprintf("of %s every %lluth was recorded (perf record -c)",
					  attr->title, (unsigned long long)attr->period);
		perf_data_add_missing(&data->trace.facts, "some events", why);
		return;
	}
}

/*
 * Without -a perf records a command, or the processes of -p: an event is of the thread that was on
 * the CPU, so who came onto it, and who woke it from elsewhere, is in none. Older ones do not tell
 * the threads of their events' ids; an event that begins with a command's exec is of that.
 */
static bool is_of_tasks(const struct perf_data *data)
{
	bool of_command = false;

	for (size_t i = 0; i < data->file.attrs.count; i++)
		of_command |= data->file.attrs.items[i]->is_tracepoint &&
			      data->file.attrs.items[i]->flags & PERF_FLAG_ON_EXEC;
	return data->file.of_tasks || of_command;
}

static void perf_data_find_missing(struct perf_data *data)
{
	struct facts *facts = &data->trace.facts;
	const struct perf_decoder *decoder = &data->decoder;

	find_sampled(data);
	if (data->scan.untimed) {
		AUTO_FREE char *why =
			xasprintf("%llu samples have no time (perf record --no-timestamp)",
				  (unsigned long long)data->scan.untimed);

		perf_data_add_missing(facts, "some samples", why);
	}
	if (data->scan.unplaced) {
		AUTO_FREE char *why = xasprintf(
			"%llu samples have neither their CPU nor an id of an event on one CPU (perf "
			"record --sample-cpu): they are listed with CPU 0, and ignored for threads",
			(unsigned long long)data->scan.unplaced);

		perf_data_add_missing(facts, "CPUs", why);
	}
	if (is_of_tasks(data) && (decoder->tells_switches || !data->scan.counts[PERF_SWITCH]))
		perf_data_add_missing(
			facts, "what other threads did",
			"perf recorded only events of some threads: none shows when one of them "
			"came onto a CPU, or which other thread woke it (perf record -a)");
	if (decoder->tells_switches)
		return;
	if (data->scan.counts[PERF_SWITCH])
		perf_data_add_missing(
			facts, "other threads",
			"perf recorded only switches of the chosen threads: where none of them "
			"runs, a CPU is taken for idle");
	else if (!data->scan.counts[PERF_SWITCH_CPU_WIDE])
		perf_data_add_missing(
			facts, "switches of threads",
			"sched:sched_switch was not recorded, nor perf's own switch records "
			"(perf record -e sched:sched_switch -a)");
}

/* Some calls alone may have been recorded, each by its name. */
static void find_calls(struct perf_data *data)
{
	static const char enter[] = "syscalls:sys_enter_";
	struct facts *facts = &data->trace.facts;
	const char *first = NULL;
	bool all = false;
	size_t named = 0;

	for (size_t i = 0; i < data->file.attrs.count; i++) {
		const struct perf_attr *attr = data->file.attrs.items[i];

		if (!attr->is_tracepoint)
			continue;
		all |= strcmp(attr->title, "raw_syscalls:sys_enter") == 0;
		if (strncmp(attr->title, enter, strlen(enter)) == 0 && named++ == 0)
			first = attr->title + strlen(enter);
	}
	facts->has_syscalls = all || named;
	if (!all && named && named < ALL_CALLS) {
		AUTO_FREE char *why = xasprintf(
			"only %zu of them %s recorded, %s%s (perf record -e raw_syscalls:'*')",
			named, named == 1 ? "was" : "were", first, named > 1 ? " and others" : "");

		perf_data_add_missing(facts, "other system calls", why);
	}
}

/* ------------------------------------------------------------------ the trace */

static void perf_data_close(struct trace *trace)
{
	struct perf_data *data = (struct perf_data *)trace;

	if (data->trace.merge)
		source_close(merge_source(data->trace.merge));
	free(data->lanes);
	kernel_events_free(data->events);
	perf_scan_fini(&data->scan);
	perf_file_fini(&data->file);
	facts_fini(&trace->facts);
	free(data);
}

static void perf_data_open_lanes(struct perf_data *data)
{
	size_t chains = data->scan.chain_count;

	data->lane_count = chains + 1;
	data->lanes = xcalloc(data->lane_count, sizeof(struct lane *));
	for (size_t i = 0; i < chains; i++)
		data->lanes[i] = perf_lane_new(&data->scan.chains[i], &data->decoder,
					       data->lane_count > MANY_LANES);
	data->lanes[chains] = perf_tail_new(data->scan.tail, data->scan.tail_count);
	data->trace.merge = merge_new(data->lanes, data->lane_count, &data->trace.facts);
	data->trace.source = merge_source(data->trace.merge);
}

static void perf_data_meaning(const struct trace *trace, struct trace_meaning *out_meaning)
{
	const struct perf_file *file = &((const struct perf_data *)trace)->file;

	*out_meaning = (struct trace_meaning){
		.formats = &file->formats,
		.formats_are_recorded = true,
		.big_endian = file->tracing.big_endian,
		.long_bytes = file->tracing.long_bytes,
	};
}

static int perf_data_find_place(struct trace *trace, uint32_t cpu, uint64_t place, uint64_t *out_ns,
				struct err *err)
{
	const struct perf_data *data = (const struct perf_data *)trace;

	if (perf_place_time(&data->decoder, place, out_ns))
		return 0;
	return err_set(err, -ENOENT, "there is no event at the place %u@%llx", cpu,
		       (unsigned long long)place);
}

static void perf_data_walk_stacks(struct trace *trace, const struct stack_walker *walker)
{
	struct perf_data *data = (struct perf_data *)trace;
	struct perf_walked walked;
	AUTO_FREE char *why = NULL;

	perf_stacks_walk(&data->scan, walker, &walked);
	if (!walked.left)
		return;
	why = xasprintf("%llu of %llu copies of stacks were not unwound: there are too many, and "
			"those of most time come first",
			(unsigned long long)walked.left, (unsigned long long)walked.count);
	perf_data_add_missing(&trace->facts, "some callers", why);
}

static const struct trace_ops perf_data_ops = {
	.meaning = perf_data_meaning,
	.find_place = perf_data_find_place,
	.walk_stacks = perf_data_walk_stacks,
	.close = perf_data_close,
};

static const char *format_name(const struct perf_data *data)
{
	if (data->scan.counts[PERF_COMPRESSED] || data->scan.counts[PERF_COMPRESSED2])
		return data->file.is_pipe ? "perf.data (pipe, compressed)"
					  : "perf.data (compressed)";
	return data->file.is_pipe ? "perf.data (pipe)" : "perf.data";
}

/* The formats are out of TRACING_DATA: of an ordinary sampling there are none. */
static void perf_data_open_formats(struct perf_data *data)
{
	static const char prefix[] = "kernel/formats: ";
	struct facts notes = { 0 };

	data->events =
		kernel_events_new(&data->file.formats, data->file.tracing.big_endian, &notes);
	for (size_t i = 0; data->file.formats.count && i < notes.damage_count; i++) {
		const char *note = notes.damage[i];

		if (strncmp(note, prefix, strlen(prefix)) == 0)
			note += strlen(prefix);
		facts_note_damage(&data->trace.facts, "its section TRACING_DATA: %s", note);
	}
	facts_fini(&notes);
	perf_decoder_init(&data->decoder, &data->scan, data->events);
}

static int perf_data_open(const char *path, struct trace **out_trace, struct err *err)
{
	struct perf_data *data = xcalloc(1, sizeof(*data));
	struct facts *facts = &data->trace.facts;
	int rc;

	data->trace.ops = &perf_data_ops;
	facts->target_status = -1;
	rc = perf_file_open(path, &data->file, facts, err);
	if (rc == 0)
		rc = perf_scan_run(&data->scan, &data->file, err);
	if (rc < 0) {
		perf_data_close(&data->trace);
		return rc;
	}
	facts->format = format_name(data);
	facts->complete = !data->file.is_cut && !data->file.lacks_features;
	perf_data_open_formats(data);
	find_calls(data);
	perf_data_find_missing(data);
	perf_data_open_lanes(data);
	*out_trace = &data->trace;
	return 0;
}

const struct trace_format perf_data_format = {
	.name = "perf.data",
	.matches = perf_file_matches,
	.open = perf_data_open,
};

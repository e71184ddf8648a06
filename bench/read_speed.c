/*
 * read_speed.c - how fast a trace is read, and what each step of it costs.
 *
 *	read_speed [-n TIMES] [-s STEP] [-t THREADS] [-k] TRACE
 *
 * Every step does what the one before it does and something more. All of them run in turn, TIMES
 * times, and the best and the median run are printed, in millions of events a second: on one core
 * without threads, then with threads (-t) on all of them. -s runs one step only, such as "merge";
 * -k counts the kinds of events instead.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/clock.h"
#include "read/kernel/events.h"
#include "read/lane.h"
#include "read/kernel/pages.h"
#include "read/read.h"
#include "read/kernel/ring.h"
#include "state/state.h"
#include "store/file.h"
#include "store/formats.h"
#include "store/manifest.h"
#include "timeline/index.h"
#include "timeline/timeline.h"

#define MAX_RUNS 64

/* The streams of a trace without a merge over them. */
struct streams {
	struct manifest manifest;
	struct formats formats;
	struct page_layout layout;
	struct clock clock;
	struct facts facts;
	struct ring_common common;
	struct ring **rings; /* one for each of manifest.cpus */
};

/* One run of a step. */
struct run {
	const char *path;
	struct streams *streams;
	int threads; /* -1 = as the reader likes */
	uint64_t events;
	uint64_t sink; /* what keeps the compiler from leaving out the work */
	double seconds;
	double cpu_seconds;    /* of all threads */
	double reader_seconds; /* of the thread that reads */
};

typedef int step_fn(struct run *run, struct err *err);

struct stopwatch {
	double wall, cpu, reader;
};

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static struct stopwatch watch_begin(void)
{
	return (struct stopwatch){ now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID),
				   now(CLOCK_THREAD_CPUTIME_ID) };
}

static void watch_end(const struct stopwatch *watch, struct run *run)
{
	run->seconds = now(CLOCK_MONOTONIC) - watch->wall;
	run->cpu_seconds = now(CLOCK_PROCESS_CPUTIME_ID) - watch->cpu;
	run->reader_seconds = now(CLOCK_THREAD_CPUTIME_ID) - watch->reader;
}

/* ----------------------------------------------------------------- streams */

static char *kernel_path(const char *dir, const char *name)
{
	return xasprintf("%s/kernel/%s", dir, name);
}

static int streams_open(const char *path, struct streams *streams, struct err *err)
{
	AUTO_FREE char *formats = kernel_path(path, "formats");
	AUTO_FREE char *sync = kernel_path(path, "sync");
	AUTO_FREE char *text = NULL;
	struct manifest *manifest = &streams->manifest;
	size_t bytes;
	int rc = manifest_read(path, manifest, err);

	if (rc == 0)
		rc = formats_read(formats, &streams->formats, err);
	if (rc == 0)
		rc = file_read(sync, 1 << 20, &text, &bytes, err);
	if (rc == 0)
		rc = page_layout_init(&streams->layout,
				      formats_find(&streams->formats, "header_page"),
				      manifest->page_bytes, manifest->long_bytes, false, err);
	if (rc < 0)
		return rc;
	clock_init(&streams->clock, manifest->clock, text, &streams->facts);
	streams->facts.cpu_count = MANIFEST_MAX_CPUS;
	streams->facts.cpus = xcalloc(MANIFEST_MAX_CPUS, sizeof(*streams->facts.cpus));
	streams->common = (struct ring_common){
		.layout = &streams->layout,
		.events = kernel_events_new(&streams->formats, false, &streams->facts),
		.clock = &streams->clock,
		.first_ns = manifest->begin_ns,
		.limit_ns = UINT64_MAX >> 2,
		.keep_open = true,
	};
	streams->rings = xcalloc(manifest->cpu_count + 1, sizeof(struct ring *));
	for (size_t i = 0; i < manifest->cpu_count; i++) {
		AUTO_FREE char *name = xasprintf("cpu%u.ring", manifest->cpus[i].cpu);
		AUTO_FREE char *file = kernel_path(path, name);

		streams->rings[i] = ring_open(file, &streams->common,
					      &(struct ring_claim){ .cpu = manifest->cpus[i].cpu },
					      &streams->facts);
	}
	return 0;
}

/* ------------------------------------------------------------------- steps */

/* The least that any reader must do: step from record to record. */
static void walk_page(const struct page_layout *layout, const uint8_t *bytes, struct run *run)
{
	struct page_cursor cursor;
	struct record record;
	struct page page;

	if (!page_open(layout, bytes, &page))
		return;
	page_begin(&page, false, &cursor);
	while (page_next_in(&cursor, &record, false) > 0) {
		run->events++;
		run->sink += record.time + record.data[0];
	}
}

/* The file as it lies in memory, and nothing checked between pages. */
static int step_floor(struct run *run, struct err *err)
{
	const struct manifest *manifest = &run->streams->manifest;
	size_t page_bytes = run->streams->layout.page_bytes;
	struct stopwatch watch = watch_begin();

	for (size_t i = 0; i < manifest->cpu_count; i++) {
		AUTO_FREE char *name = xasprintf("cpu%u.ring", manifest->cpus[i].cpu);
		AUTO_FREE char *path = kernel_path(run->path, name);
		uint64_t bytes;
		AUTO_CLOSE int fd = file_open(path, &bytes, err);
		const uint8_t *map;

		if (fd < 0)
			return fd;
		map = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
		if (map == MAP_FAILED)
			return err_set(err, -1, "cannot map %s", path);
		for (size_t at = 0; bytes - at >= page_bytes; at += page_bytes)
			walk_page(&run->streams->layout, map + at, run);
		munmap((void *)(uintptr_t)map, bytes);
	}
	watch_end(&watch, run);
	return 0;
}

static bool see_record(void *context, const struct record *record, uint64_t time_ns)
{
	struct run *run = context;

	run->events++;
	run->sink += time_ns + record->data[0];
	return true;
}

/* The same as the reader does it: read in pieces, times in ns, pages held against each other. */
static int step_walk(struct run *run, struct err *err)
{
	struct stopwatch watch = watch_begin();

	(void)err;
	for (size_t i = 0; i < run->streams->manifest.cpu_count; i++)
		ring_walk(run->streams->rings[i], 0, see_record, run);
	watch_end(&watch, run);
	return 0;
}

/* Events of one CPU after the other. */
static int step_decode(struct run *run, struct err *err)
{
	struct stopwatch watch = watch_begin();

	(void)err;
	for (size_t i = 0; i < run->streams->manifest.cpu_count; i++) {
		struct lane *lane = ring_lane(run->streams->rings[i]);
		struct batch batch;

		batch_init(&batch);
		batch.max = 64;
		lane->ops->seek(lane, 0);
		while (lane->ops->fill(lane, &batch)) {
			for (size_t j = 0; j < batch.count; j++)
				run->sink +=
					batch.cells[j].event.time_ns + batch.cells[j].event.type;
			run->events += batch.count;
		}
		batch_fini(&batch, lane);
	}
	watch_end(&watch, run);
	return 0;
}

static int open_trace(const struct run *run, struct trace **out_trace, struct err *err)
{
	int rc = read_open(run->path, out_trace, err);

	if (rc == 0 && run->threads >= 0)
		trace_set_threads(*out_trace, (uint32_t)run->threads);
	return rc;
}

/* The events of all CPUs in order. */
static int step_merge(struct run *run, struct err *err)
{
	struct stopwatch watch;
	struct event_run events;
	struct trace *trace;
	int rc = open_trace(run, &trace, err);

	if (rc < 0)
		return rc;
	watch = watch_begin();
	while ((rc = source_next_run(trace_source(trace), &events, err)) > 0) {
		for (size_t i = 0; i < events.count; i++)
			run->sink += events.events[i]->time_ns + events.events[i]->type;
		run->events += events.count;
	}
	watch_end(&watch, run);
	trace_close(trace);
	return rc;
}

/* And what every thread was in, kept in memory. */
static int step_state(struct run *run, struct err *err)
{
	struct timeline *timeline;
	struct stopwatch watch;
	struct trace *trace;
	int rc = open_trace(run, &trace, err);

	if (rc < 0)
		return rc;
	watch = watch_begin();
	rc = state_run(trace_source(trace), trace_facts(trace), NULL, NULL, &timeline, err);
	watch_end(&watch, run);
	if (rc == 0) {
		run->events = timeline->events;
		timeline_free(timeline);
	}
	trace_close(trace);
	return rc;
}

/* And packed into a store, in a file without a name. */
static int step_index(struct run *run, struct err *err)
{
	static const struct index_key key;
	struct index_writer *writer = NULL;
	struct timeline *timeline;
	struct stopwatch watch;
	struct trace *trace;
	struct state *state;
	int rc = open_trace(run, &trace, err);

	if (rc < 0)
		return rc;
	watch = watch_begin();
	rc = index_begin(NULL, &key, true, &writer, err);
	if (rc == 0) {
		state = state_new(trace_facts(trace));
		index_attach(writer, state_timeline(state));
		rc = state_drain(state, trace_source(trace), NULL, NULL, &timeline, err);
	}
	if (rc == 0)
		rc = index_commit(writer, timeline, err);
	watch_end(&watch, run);
	if (rc == 0) {
		run->events = timeline->events;
		timeline_free(timeline);
	}
	trace_close(trace);
	return rc;
}

static const struct step {
	const char *name;
	step_fn *run;
	bool threads; /* has a way with threads */
	const char *what;
} steps[] = {
	{ "floor", step_floor, false, "page walk in a bare loop" },
	{ "walk", step_walk, false, "page walk of the reader, times in ns" },
	{ "decode", step_decode, false, "decoded, each CPU alone" },
	{ "merge", step_merge, true, "decoded and merged" },
	{ "state", step_state, true, "state engine, all in memory" },
	{ "index", step_index, true, "state engine, packed into a store" },
};

#define STEP_COUNT (sizeof(steps) / sizeof(steps[0]))

/* ----------------------------------------------------------------- results */

struct runs {
	struct run runs[MAX_RUNS];
	int count;
};

static int by_seconds(const void *a, const void *b)
{
	double x = ((const struct run *)a)->seconds, y = ((const struct run *)b)->seconds;

	return (x > y) - (x < y);
}

static double rate(const struct run *run)
{
	return (double)run->events / run->seconds / 1e6;
}

static void print_runs(struct runs *runs, const struct step *step, bool threads)
{
	const struct run *best = runs->runs;
	double events;

	if (!runs->count)
		return;
	qsort(runs->runs, (size_t)runs->count, sizeof(runs->runs[0]), by_seconds);
	events = (double)best->events;
	printf("%-37s %-8s %8.1f %8.1f %9.1f %9.1f\n", step->what, threads ? "threads" : "one core",
	       rate(best), rate(&runs->runs[runs->count / 2]), best->cpu_seconds * 1e9 / events,
	       best->reader_seconds * 1e9 / events);
}

/* One run on one core or on all. */
static int run_once(const struct step *step, struct run *run, bool threads, struct err *err)
{
	cpu_set_t all, one;
	int rc;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (!threads) {
		run->threads = 0;
		sched_setaffinity(0, sizeof(one), &one);
	}
	rc = step->run(run, err);
	sched_setaffinity(0, sizeof(all), &all);
	return rc;
}

static int count_kinds(const char *path, struct err *err)
{
	uint64_t counts[EV_TYPE_COUNT] = { 0 };
	const struct event *event;
	struct trace *trace;
	int rc = read_open(path, &trace, err);

	if (rc < 0)
		return rc;
	while ((rc = source_next(trace_source(trace), &event, err)) > 0)
		counts[event->type]++;
	trace_close(trace);
	for (int type = 0; type < EV_TYPE_COUNT; type++) {
		if (counts[type])
			printf("%12" PRIu64 " %s\n", counts[type],
			       event_type_name((enum event_type)type));
	}
	return rc;
}

struct opts {
	const char *path;
	const char *only; /* name of a step, or NULL */
	int threads;
	int times;
};

static int run_all(const struct opts *opts, struct err *err)
{
	static struct runs results[STEP_COUNT][2];
	struct streams streams = { 0 };
	int rc = streams_open(opts->path, &streams, err);

	for (int i = 0; rc >= 0 && i < opts->times * (int)STEP_COUNT * 2; i++) {
		const struct step *step = &steps[i / 2 % (int)STEP_COUNT];
		struct runs *runs = &results[i / 2 % (int)STEP_COUNT][i % 2];
		struct run run = { .path = opts->path,
				   .streams = &streams,
				   .threads = opts->threads };

		if ((i % 2 && !step->threads) || (opts->only && strcmp(opts->only, step->name)))
			continue;
		rc = run_once(step, &run, i % 2, err);
		if (rc >= 0)
			runs->runs[runs->count++] = run;
	}
	if (rc < 0)
		return rc;
	printf("%-37s %-8s %17s %19s\n", "", "", "million events/s", "ns of CPU per event");
	printf("%-37s %-8s %8s %8s %9s %9s\n", "", "", "best", "median", "all", "reader");
	for (size_t i = 0; i < STEP_COUNT * 2; i++)
		print_runs(&results[i / 2][i % 2], &steps[i / 2], i % 2);
	return 0;
}

int main(int argc, char **argv)
{
	struct opts opts = { .threads = -1, .times = 5 };
	struct err err = { 0 };
	bool kinds = false;
	int option, rc;

	while ((option = getopt(argc, argv, "n:s:t:k")) != -1) {
		if (option == 'n')
			opts.times = atoi(optarg);
		else if (option == 's')
			opts.only = optarg;
		else if (option == 't')
			opts.threads = atoi(optarg);
		else if (option == 'k')
			kinds = true;
		else
			return 2;
	}
	if (optind + 1 != argc || opts.times < 1 || opts.times > MAX_RUNS) {
		fprintf(stderr, "usage: read_speed [-n TIMES] [-s STEP] [-t THREADS] [-k] TRACE\n");
		return 2;
	}
	opts.path = argv[optind];
	rc = kinds ? count_kinds(opts.path, &err) : run_all(&opts, &err);
	if (rc < 0)
		fprintf(stderr, "read_speed: %s\n", err.text);
	return rc < 0 ? 3 : 0;
}

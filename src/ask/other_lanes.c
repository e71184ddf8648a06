/* other_lanes.c - the events of a trace, those about locks of its programs, and a model over it. */
#include "ask/other_lanes.h"

#include <stdlib.h>

#include "accounts/recorded.h"
#include "analyse/check/check.h"
#include "analyse/others/others.h"
#include "ask/lock_source.h"
#include "ask/model_run.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "model/model.h"
#include "read/read.h"
#include "timeline/timeline.h"

#define PROGRESS_RUNS 256u

struct reading {
	const char *path;
	const struct other_lanes_opts *opts;
	struct other_lanes *lanes;
	const struct facts *facts;
	uint64_t end_ns;
};

void other_lanes_fini(struct other_lanes *lanes)
{
	others_free(lanes->others);
	loaded_fini(&lanes->loaded);
	trace_close(lanes->trace);
	free(lanes->note);
	*lanes = (struct other_lanes){ 0 };
}

/* ---------------------------------------------------------------- whose events */

static int32_t lanes_process(void *context, int32_t tid, uint64_t time_ns)
{
	const struct reading *reading = context;
	const struct timeline *timeline = reading->lanes->loaded.timeline;
	uint32_t slot = timeline ? timeline_near_thread(timeline, tid, time_ns) : SLOT_NONE;

	/* Where the kernel told nothing, a thread is not taken for its process. */
	return slot == SLOT_NONE || reading->facts->only_programs
		       ? 0
		       : thread_process(timeline->threads[slot]);
}

static char *process_name(void *context, int32_t tgid)
{
	const struct reading *reading = context;
	const struct timeline *timeline = reading->lanes->loaded.timeline;
	uint32_t slot = timeline ? timeline_find_thread(timeline, tgid, UINT64_MAX) : SLOT_NONE;

	if (slot == SLOT_NONE || !timeline_comm(timeline, slot)[0])
		return NULL;
	return xasprintf("%s[%d]", timeline_comm(timeline, slot), tgid);
}

/* --------------------------------------------------------------------- reading */

static void tell_progress(const struct reading *reading, uint64_t time_ns)
{
	uint64_t first_ns = reading->facts->first_ns, whole_ns = reading->end_ns - first_ns;
	uint64_t done_ns = time_ns > first_ns ? time_ns - first_ns : 0;

	if (reading->opts->progress && reading->end_ns > first_ns)
		reading->opts->progress(reading->opts->context,
					done_ns < whole_ns ? done_ns : whole_ns, whole_ns);
}

static int read_events(struct reading *reading, struct source *source, struct err *err)
{
	struct event_run run;
	uint32_t runs = 0;
	int rc = source_seek(source, 0, err);

	while (rc == 0 && (rc = source_next_run(source, &run, err)) > 0) {
		for (size_t i = 0; i < run.count; i++)
			others_feed(reading->lanes->others, run.events[i]);
		if (run.events[run.count - 1]->time_ns > reading->end_ns)
			reading->end_ns = run.events[run.count - 1]->time_ns;
		if (runs++ % PROGRESS_RUNS == 0)
			tell_progress(reading, run.events[run.count - 1]->time_ns);
		rc = 0;
	}
	return rc;
}

static void lanes_note(struct other_lanes *lanes, const char *what, const struct err *err)
{
	AUTO_FREE char *before = lanes->note;

	lanes->note =
		xasprintf("%s%s%s: %s.", before ? before : "", before ? " " : "", what, err->text);
}

/* What programs told. The kernel's events answer alone when that cannot be read. */
static void read_locks(struct reading *reading)
{
	bool is_alone = lock_source_is_of_programs(reading->path);
	struct source *source = NULL;
	const struct event *event;
	struct err err = { 0 };
	int rc = is_alone ? lock_source_open(reading->path, &source, &err)
			  : lock_source_open_beside(reading->path, &source, &err);

	while (rc == 0 && source && (rc = source_next(source, &event, &err)) > 0) {
		others_feed_lock(reading->lanes->others, event);
		rc = 0;
	}
	if (rc < 0)
		lanes_note(reading->lanes, "The locks of programs cannot be read", &err);
	source_close(source);
}

/* Traces of others have none. */
static void read_pressure(struct reading *reading)
{
	struct recorded recorded = { 0 };

	if (recorded_read(reading->path, &recorded, NULL) < 0)
		return;
	others_add_pressure(reading->lanes->others, &recorded);
	recorded_fini(&recorded);
}

static void run_model(struct reading *reading)
{
	const struct model_run_opts opts = { .minds_holes = true };
	struct model_run run = { 0 };
	struct model_errors errors = { 0 };
	struct err err = { 0 };
	int rc = model_run_trace(reading->path, &opts, reading->opts->model, &run, &errors, &err);

	if (errors.count)
		(void)err_set(&err, rc, "%s", errors.items[0].text);
	if (rc < 0)
		lanes_note(reading->lanes, "The model cannot be run", &err);
	else
		others_add_model(reading->lanes->others, check_result(run.check),
				 reading->opts->reason_of);
	model_errors_fini(&errors);
	model_run_fini(&run);
}

static int lanes_open_trace(struct reading *reading, struct err *err)
{
	const struct load_opts load = { .flags = LOAD_NO_BUILD };
	struct other_lanes *lanes = reading->lanes;
	int rc = 0;

	if (loaded_open(reading->path, &load, &lanes->loaded, NULL) < 0)
		rc = read_open(reading->path, &lanes->trace, err);
	if (rc < 0)
		return rc;
	reading->facts = lanes->trace ? trace_facts(lanes->trace) : lanes->loaded.facts;
	reading->end_ns = lanes->trace ? reading->facts->last_ns : lanes->loaded.timeline->end_ns;
	return 0;
}

int other_lanes_read(const char *path, const struct other_lanes_opts *opts,
		     struct other_lanes *out_lanes, struct err *err)
{
	struct reading reading = { .path = path, .opts = opts, .lanes = out_lanes };
	struct others_opts others = { .process = lanes_process,
				      .process_name = process_name,
				      .context = &reading };
	int rc;

	*out_lanes = (struct other_lanes){ 0 };
	rc = lanes_open_trace(&reading, err);
	if (rc == 0) {
		others.facts = reading.facts;
		out_lanes->others = others_new(&others);
		rc = read_events(&reading,
				 trace_source(out_lanes->trace ? out_lanes->trace
							       : out_lanes->loaded.trace),
				 err);
	}
	if (rc < 0) {
		other_lanes_fini(out_lanes);
		return rc;
	}
	read_locks(&reading);
	read_pressure(&reading);
	others_add_samples(out_lanes->others);
	if (opts->model)
		run_model(&reading);
	others_end(out_lanes->others, reading.end_ns);
	return 0;
}

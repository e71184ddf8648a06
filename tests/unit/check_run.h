/*
 * check_run.h - a model over a trace in text or a random one, in memory.
 *
 * "other begin/5": an event of a program, "begin", whose field "n" is 5.
 */
#ifndef CHECK_RUN_H
#define CHECK_RUN_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check.h"
#include "model/model.h"
#include "told.h"

struct run {
	struct told *told;
	struct model *model;
	struct check *check;
	const struct event *event; /* at hand */
	bool is_deaf;		   /* there is no timeline */
	const char *missing[METRIC_KIND_COUNT];
};

static inline struct model *model_of(const char *text)
{
	struct model_errors errors = { 0 };
	struct model *model = NULL;

	if (model_parse(text, strlen(text), &model, &errors) < 0)
		fail_msg("%u:%u: %s", errors.items[0].place.line, errors.items[0].place.column,
			 errors.items[0].text);
	model_errors_fini(&errors);
	return model;
}

static inline bool run_field(void *context, uint32_t index, struct check_field *out_field)
{
	const struct run *run = context;
	const char *slash =
		run->event->type == EV_OTHER ? strchr(run->event->other.name, '/') : NULL;

	if (!slash || strcmp(run->model->fields[index].name, "n") != 0)
		return false;
	*out_field = (struct check_field){ .number = strtod(slash + 1, NULL) };
	return true;
}

/* Names up to the slash; "any" matches every event that is a thread's; "mark*" is two of them. */
static inline bool is_named(const struct event *event, const char *name)
{
	if (strcmp(name, "mark*") == 0)
		return is_named(event, "markb") || is_named(event, "marke");
	if (strcmp(name, "any") == 0)
		return event->type != EV_LOST && event->tid > 0;
	return event->type == EV_OTHER && strncmp(event->other.name, name, strlen(name)) == 0 &&
	       (event->other.name[strlen(name)] == '/' || !event->other.name[strlen(name)]);
}

/* "other page/3": the thread is given 8 pages. "other rss/5:1:0:4096": see struct check_resident. */
static inline void run_tell(struct run *run, const struct event *event)
{
	struct check_resident resident;
	int is_own;

	if (event->type == EV_USER_LOCK)
		check_tell_lock(run->check, event);
	if (event->type == EV_OTHER && strncmp(event->other.name, "page/", 5) == 0)
		check_tell_memory(run->check, event, 4096ull << atoi(event->other.name + 5));
	if (event->type == EV_OTHER &&
	    sscanf(event->other.name, "rss/%" SCNu32 ":%d:%" SCNu32 ":%" SCNu64, &resident.space,
		   &is_own, &resident.counter, &resident.bytes) == 4) {
		resident.is_own = is_own;
		check_tell_resident(run->check, event, &resident);
	}
}

static inline void run_once(struct run *run, size_t open_bytes, const struct check_hole *holes,
			    size_t hole_count)
{
	struct text_trace *trace = run->told->trace;
	struct check_opts opts = {
		.reader = { .context = run, .field = run_field },
		.timeline = run->is_deaf ? NULL : run->told->tl,
		.facts = &trace->facts,
		.missing = run->missing,
		.open_bytes = open_bytes,
		.holes = holes,
		.hole_count = hole_count,
		.took_user = hole_count > 0,
	};

	run->check = check_new(run->model, &opts);
	for (size_t i = 0; i < trace->count; i++) {
		uint32_t patterns[16], count = 0;
		struct event event = trace->events[i];

		/* What the models take are events of programs: other streams, and other holes. */
		if (event.type != EV_LOST)
			event.context |= EV_CTX_USER;
		run->event = &event;
		for (uint32_t p = 0; p < run->model->pattern_count; p++) {
			if (is_named(run->event, run->model->patterns[p].name))
				patterns[count++] = p;
		}
		run_tell(run, &event);
		check_feed(run->check, run->event, patterns, count);
	}
	check_end(run->check, run->told->tl->end_ns);
}

/* As the command does: once more when there are holes. */
static inline void run_on(struct run *run, size_t open_bytes)
{
	const struct text_trace *trace = run->told->trace;
	AUTO_FREE struct check_hole *holes = xcalloc(trace->count + 1, sizeof(*holes));
	size_t count = 0;

	for (size_t i = 0; i < trace->count; i++) {
		const struct event *event = &trace->events[i];

		if (event->type == EV_LOST) {
			holes[count].since_ns = event->lost.since_ns;
			holes[count].until_ns = event->time_ns;
			holes[count++].is_user = event->context & EV_CTX_USER;
		}
	}
	run_once(run, open_bytes, NULL, 0);
	if (!count)
		return;
	check_free(run->check);
	run_once(run, open_bytes, holes, count);
}

static inline const struct check_result *checked(struct run *run, const char *trace,
						 const char *model)
{
	run->told = replayed(trace);
	run->model = model_of(model);
	run_on(run, 0);
	return check_result(run->check);
}

static inline void run_fini(struct run *run)
{
	check_free(run->check);
	model_free(run->model);
	told_free(run->told);
}

#endif

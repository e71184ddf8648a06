/* explain.c - read, build the timeline, find the target and the window, ask why. */
#include "cli/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/why.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/progress.h"
#include "event/facts.h"
#include "read/read.h"
#include "state/state.h"
#include "timeline/timeline.h"

struct window {
	uint64_t start_ns; /* 0 = the target's birth */
	uint64_t end_ns;   /* 0 = its end */
};

static void say_read(void *context, uint64_t time_ns)
{
	const struct facts *facts = context;
	struct text done = text_duration(time_ns - facts->first_ns);
	char line[128];

	if (time_ns < facts->first_ns)
		return;
	(void)snprintf(line, sizeof(line), "reading the trace: %s of %s", done.s,
		       text_duration(facts->last_ns - facts->first_ns).s);
	progress_say(line);
}

static int build_timeline(struct trace *trace, struct timeline **out_timeline, struct err *err)
{
	const struct facts *facts = trace_facts(trace);
	int rc = state_run(trace_source(trace), facts, say_read, (void *)facts, out_timeline, err);

	progress_clear();
	return rc < 0 ? err_wrap(err, "reading the events of the trace") : 0;
}

/* The moment of 'when', looked for at or after 'from_ns' if it is an event. */
static int resolve(struct trace *trace, const struct when *when, uint64_t from_ns, uint64_t *out_ns,
		   struct err *err)
{
	int rc;

	if (when->kind == WHEN_NONE)
		return 0;
	if (when->kind != WHEN_EVENT)
		return when_resolve(when, trace_facts(trace), out_ns, err);
	rc = trace_find_event(trace, when->event, when->last, from_ns, out_ns, err);
	if (rc == 0)
		return err_set(err, -ENOENT, "no event matches \"%s\"", when->event);
	return rc < 0 ? rc : 0;
}

static int find_window(struct trace *trace, const struct explain_opts *opts,
		       struct window *out_window, struct err *err)
{
	struct window window = { 0 };
	int rc = resolve(trace, &opts->from, 0, &window.start_ns, err);

	if (rc < 0)
		return err_wrap(err, "looking for the start of the window (--from)");
	rc = resolve(trace, &opts->to, window.start_ns, &window.end_ns, err);
	if (rc < 0)
		return err_wrap(err, "looking for the end of the window (--to)");
	if (window.end_ns && window.end_ns <= window.start_ns)
		return err_set(err, -EINVAL, "the window ends (--to) before it starts (--from)");
	*out_window = window;
	return 0;
}

/* The command's own window is what the recorder saw: from its first instruction to its end. */
static struct window window_of(const struct window *chosen, const struct facts *facts,
			       const struct tl_thread *thread)
{
	struct window window = *chosen;

	if (thread->tid != facts->target_tid)
		return window;
	if (!window.start_ns)
		window.start_ns = facts->target_start_ns;
	if (!window.end_ns && facts->target_end_ns > window.start_ns)
		window.end_ns = facts->target_end_ns;
	return window;
}

static void explain_one(struct explained *explained, const struct timeline *timeline, uint32_t slot,
			const struct why_opts *opts, struct err *err)
{
	struct err one = { 0 };
	struct why why = { 0 };
	const struct tl_thread *thread = timeline->threads[slot];

	if (why_run(timeline, explained->facts, opts, &why, &one) < 0) {
		(void)err_wrap(&one, "explaining %s[%d]", timeline_comm(timeline, slot),
			       thread->tid);
		*err = one;
		return;
	}
	explained->results = vec_room(explained->results, explained->count, &explained->cap,
				      sizeof(*explained->results));
	explained->results[explained->count++] = why;
}

static int explain_targets(struct explained *explained, const struct timeline *timeline,
			   const struct explain_opts *opts, struct err *err)
{
	struct targets targets = { 0 };
	struct window chosen = { 0 };
	int rc = find_window(explained->trace, opts, &chosen, err);

	if (rc == 0)
		rc = targets_find(timeline, explained->facts, &opts->target, &targets, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < targets.count; i++) {
		uint32_t slot = targets.slots[i];
		struct window window =
			window_of(&chosen, explained->facts, timeline->threads[slot]);
		struct why_opts why_opts = {
			.slot = slot,
			.start_ns = window.start_ns,
			.end_ns = window.end_ns,
			.depth = opts->depth,
			.min_ns = opts->min_ns,
			.want_waits = true,
		};

		explain_one(explained, timeline, slot, &why_opts, err);
	}
	targets_fini(&targets);
	return explained->count > 0 ? 0 : err->code;
}

int explain_trace(const char *path, const struct explain_opts *opts,
		  struct explained *out_explained, struct err *err)
{
	struct explained explained = { 0 };
	struct timeline *timeline = NULL;
	struct err local = { 0 }; /* the caller's may be NULL; a skipped target writes here too */
	int rc = read_open(path, &explained.trace, &local);

	if (rc == 0) {
		explained.facts = trace_facts(explained.trace);
		rc = build_timeline(explained.trace, &timeline, &local);
	}
	if (rc == 0)
		rc = explain_targets(&explained, timeline, opts, &local);
	timeline_free(timeline);
	if (rc == 0) {
		*out_explained = explained;
		return 0;
	}
	explained_fini(&explained);
	return err_set(err, rc, "%s", local.text);
}

void explained_fini(struct explained *explained)
{
	for (size_t i = 0; i < explained->count; i++)
		why_fini(&explained->results[i]);
	free(explained->results);
	trace_close(explained->trace);
	*explained = (struct explained){ 0 };
}

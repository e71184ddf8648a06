/*
 * details.c - what a lane was in at one moment, and the spans of a lane that are wide enough to be
 * named.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyse/stats/states.h"
#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/crew.h"
#include "view/details.h"
#include "view/lanes.h"

#define SPANS_SEEN 4000u /* of a lane in a window: with more, none is named */
#define SPANS_TOLD 200u

static const struct track *track_of(const struct timeline *timeline, struct view_lane lane)
{
	return lane.kind == 't' ? &timeline->threads[lane.index]->track
				: timeline->cpus[lane.index];
}

/* Back in steps that grow. */
void view_span_around(const struct timeline *timeline, struct view_lane lane, uint64_t time_ns,
		      struct tl_interval *out_span)
{
	const struct track *track = track_of(timeline, lane);
	uint64_t start_ns = time_ns, back_ns = 1000;
	struct tl_interval in = { 0 };
	struct tl_iter iter;

	tl_iter_begin(&iter, timeline, track, time_ns, timeline->end_ns);
	*out_span = (struct tl_interval){ time_ns, time_ns + 1, 0 };
	(void)tl_iter_next(&iter, out_span);
	while (start_ns == out_span->start_ns && start_ns > timeline->origin_ns) {
		start_ns = start_ns - timeline->origin_ns > back_ns ? start_ns - back_ns
								    : timeline->origin_ns;
		tl_iter_begin(&iter, timeline, track, start_ns, time_ns + 1);
		while (tl_iter_next(&iter, &in))
			;
		out_span->start_ns = in.start_ns;
		back_ns *= 16;
	}
}

const char *view_wib_name(enum wib wib)
{
	switch (wib) {
	case WIB_WORKING:
		return "working";
	case WIB_INTERRUPTED:
		return "interrupted";
	case WIB_BLOCKED:
		return "blocked";
	case WIB_NONE:
		return "absent";
	default:
		return "uncertain";
	}
}

struct telling {
	struct json *json;
	const struct view *view;
};

static void put_waker(struct telling *telling, const struct why_wait *wait)
{
	struct json *json = telling->json;

	view_json_text(json, "object", wait->object);
	view_json_text(json, "stack", wait->stack);
	json_begin_object(json, "woken_by");
	json_print_string(json, "kind", why_waker_name(wait->waker));
	view_json_thread(json, "who", telling->view, &wait->woken_by, wait->end_ns);
	view_json_text(json, "name", wait->waker_name);
	view_json_text(json, "state", wait->waker_state);
	json_end_object(json);
}

static void put_span(void *context, const struct states_span *span)
{
	struct telling *telling = context;
	struct json *json = telling->json;

	view_json_time(json, "start_ns", telling->view, span->start_ns);
	view_json_time(json, "end_ns", telling->view, span->end_ns);
	json_print_string(json, "wib", view_wib_name(span->wib));
	view_json_text(json, "state", span->state);
	if (span->cpu >= 0)
		json_print_i64(json, "queue_of_cpu", span->cpu);
	if (span->is_wait)
		put_waker(telling, &span->wait);
}

/* 'cpu': where it ran last as the span began. */
static void put_thread_span(struct json *json, const struct view *view, uint32_t slot,
			    const struct tl_interval *span, uint32_t cpu)
{
	const struct timeline *timeline = view->loaded->timeline;
	struct telling telling = { json, view };
	struct states_opts opts = { slot, span->start_ns, span->end_ns, 1 };
	struct states_sum sum;

	states_run(timeline, view->loaded->facts, &opts, put_span, &telling, &sum);
	if (cpu != SLOT_NONE)
		json_print_u64(json, "ran_on_cpu", cpu);
}

static void put_cpu_span(struct json *json, const struct view *view, const struct tl_interval *span)
{
	view_json_time(json, "start_ns", view, span->start_ns);
	view_json_time(json, "end_ns", view, span->end_ns);
	view_json_slot(json, "ran", view, span->word);
}

void view_answer_details(const struct view *view, const struct view_query *query,
			 struct view_answer *out_answer)
{
	const struct timeline *timeline = view->loaded->timeline;
	const char *name = view_query_text(query, "lane");
	struct view_lane lanes[VIEW_LANES_MAX];
	uint32_t count = 0;
	struct tl_interval span;
	struct err err = { 0 };
	struct view_json json;
	uint64_t at;
	int rc = view_query_number(query, "at", timeline->origin_ns, timeline->end_ns - 1,
				   timeline->origin_ns, &at, &err);

	if (rc == 0)
		rc = view_lanes_parse(view, name ? name : "", lanes, &count, &err);
	if (rc == 0 && count != 1)
		rc = err_set(&err, -EINVAL, "expected one lane");
	if (rc < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	view_span_around(timeline, lanes[0], at, &span);
	view_json_begin(&json);
	json_print_string(&json.json, "lane", name);
	if (lanes[0].kind == 't')
		view_json_slot(&json.json, "thread", view, lanes[0].index);
	if (lanes[0].kind == 't')
		put_thread_span(&json.json, view, lanes[0].index, &span,
				timeline_ran_on(timeline, lanes[0].index, span.start_ns + 1));
	else
		put_cpu_span(&json.json, view, &span);
	view_json_end(&json, out_answer);
}

/* --------------------------------------------------------- spans with names */

/* 'places' of a thread go forward, from span to span. */
static void put_span_of(struct json *json, const struct view *view, struct view_lane lane,
			const struct tl_interval *span, struct tl_places *places)
{
	json_begin_object(json, NULL);
	if (places) {
		put_thread_span(json, view, lane.index, span,
				tl_places_at(places, span->start_ns + 1));
	} else {
		put_cpu_span(json, view, span);
	}
	json_end_object(json);
}

/* Spans of one lane on their way out. */
struct naming {
	struct json *json;
	const struct view *view;
	struct view_lane lane;
	const struct tl_interval *window;
	uint64_t least_ns;
	struct tl_places *places;
	uint32_t seen, told;
};

/*
 * Those of a stretch; it is looked at from a ns before to a ns behind it, so that a span that is cut there is not taken for
 * a whole one. False: it is enough.
 */
static bool put_stretch(struct naming *naming, uint64_t from_ns, uint64_t to_ns)
{
	const struct timeline *timeline = naming->view->loaded->timeline;
	uint64_t begin_ns = from_ns > naming->window->start_ns ? from_ns - 1 : from_ns;
	uint64_t end_ns = to_ns < naming->window->end_ns ? to_ns + 1 : to_ns;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_begin(&iter, timeline, track_of(timeline, naming->lane), begin_ns, end_ns);
	while (tl_iter_next(&iter, &in)) {
		if (naming->seen++ >= SPANS_SEEN || naming->told >= SPANS_TOLD)
			return false;
		if (in.end_ns - in.start_ns < naming->least_ns || in.start_ns < from_ns ||
		    in.end_ns > to_ns ||
		    (naming->lane.kind == 't' && word_kind(in.word) == WORD_NONE))
			continue;
		naming->told++;
		put_span_of(naming->json, naming->view, naming->lane, &in, naming->places);
	}
	return true;
}

static void put_spans(struct json *json, const struct view *view, struct view_lane lane,
		      const struct tl_interval *window, uint64_t least_ns)
{
	const struct timeline *timeline = view->loaded->timeline;
	struct naming naming = { json, view, lane, window, least_ns, NULL, 0, 0 };
	uint64_t origin = timeline->origin_ns, end = window->end_ns - origin;
	uint64_t from, to = window->start_ns - origin;

	if (lane.kind == 't')
		naming.places = tl_places_new(timeline, lane.index);
	while (track_stretch(track_of(timeline, lane), least_ns, to, end, &from, &to) &&
	       put_stretch(&naming, from + origin, to + origin))
		;
	tl_places_free(naming.places);
}

/* Lanes whose spans are asked for, and the array of each. */
struct spans_asked {
	const struct view_lane *lanes;
	struct tl_interval window;
	uint64_t least_ns;
	char **made;
};

static void make_spans(const struct view *view, uint32_t index, void *context)
{
	const struct spans_asked *asked = context;
	struct view_json json;

	view_json_open(&json);
	json_begin_array(&json.json, NULL);
	put_spans(&json.json, view, asked->lanes[index], &asked->window, asked->least_ns);
	json_end_array(&json.json);
	asked->made[index] = view_json_close(&json);
}

void view_answer_spans(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer)
{
	const char *rows = view_query_text(query, "rows");
	struct view_lane lanes[VIEW_LANES_MAX];
	char *made[VIEW_LANES_MAX];
	struct spans_asked asked = { .lanes = lanes, .made = made };
	uint32_t count = 0;
	struct err err = { 0 };
	struct view_json json;
	int rc = view_window(view, query, &asked.window.start_ns, &asked.window.end_ns, &err);

	if (rc == 0)
		rc = view_lanes_parse(view, rows ? rows : "", lanes, &count, &err);
	if (rc == 0)
		rc = view_query_number(query, "least", 0, UINT64_MAX, 0, &asked.least_ns, &err);
	if (rc < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	view_crew_each(view, count, make_spans, &asked);
	view_json_begin(&json);
	json_begin_array(&json.json, "lanes");
	for (uint32_t i = 0; i < count; i++) {
		json_print_made(&json.json, NULL, made[i]);
		free(made[i]);
	}
	json_end_array(&json.json);
	view_json_end(&json, out_answer);
}

/*
 * details.c - what a lane was in at one moment, and the spans of a lane that are wide enough to be
 * named.
 */
#include <errno.h>

#include "analyse/stats/states.h"
#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
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

static void put_thread_span(struct json *json, const struct view *view, uint32_t slot,
			    const struct tl_interval *span)
{
	const struct timeline *timeline = view->loaded->timeline;
	struct telling telling = { json, view };
	struct states_opts opts = { slot, span->start_ns, span->end_ns, 1 };
	struct states_sum sum;
	uint32_t cpu = timeline_ran_on(timeline, slot, span->start_ns + 1);

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

static void put_lane_span(struct json *json, const struct view *view, struct view_lane lane,
			  const struct tl_interval *span)
{
	if (lane.kind == 't')
		put_thread_span(json, view, lane.index, span);
	else
		put_cpu_span(json, view, span);
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
	put_lane_span(&json.json, view, lanes[0], &span);
	view_json_end(&json, out_answer);
}

/* --------------------------------------------------------- spans with names */

static void put_spans(struct json *json, const struct view *view, struct view_lane lane,
		      const struct tl_interval *window, uint64_t least_ns)
{
	const struct timeline *timeline = view->loaded->timeline;
	const struct track *track = track_of(timeline, lane);
	uint32_t seen = 0, told = 0;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_begin(&iter, timeline, track, window->start_ns, window->end_ns);
	while (tl_iter_next(&iter, &in) && seen++ < SPANS_SEEN && told < SPANS_TOLD) {
		if (in.end_ns - in.start_ns < least_ns ||
		    (lane.kind == 't' && word_kind(in.word) == WORD_NONE))
			continue;
		told++;
		json_begin_object(json, NULL);
		put_lane_span(json, view, lane, &in);
		json_end_object(json);
	}
}

void view_answer_spans(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer)
{
	const char *rows = view_query_text(query, "rows");
	struct view_lane lanes[VIEW_LANES_MAX];
	struct tl_interval window = { 0 };
	uint64_t least_ns = 0;
	uint32_t count = 0;
	struct err err = { 0 };
	struct view_json json;
	int rc = view_window(view, query, &window.start_ns, &window.end_ns, &err);

	if (rc == 0)
		rc = view_lanes_parse(view, rows ? rows : "", lanes, &count, &err);
	if (rc == 0)
		rc = view_query_number(query, "least", 0, UINT64_MAX, 0, &least_ns, &err);
	if (rc < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	view_json_begin(&json);
	json_begin_array(&json.json, "lanes");
	for (uint32_t i = 0; i < count; i++) {
		json_begin_array(&json.json, NULL);
		put_spans(&json.json, view, lanes[i], &window, least_ns);
		json_end_array(&json.json);
	}
	json_end_array(&json.json);
	view_json_end(&json, out_answer);
}

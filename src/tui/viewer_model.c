/* viewer_model.c - the answer, the window and the cursor; lanes are in viewer_rows.c, chains in viewer_chain.c. */
#include "tui/viewer_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "report/why.h"
#include "tui/viewer_others.h"
#include "view/answer.h"
#include "view/details.h"
#include "view/shares.h"

#define BUSIEST 24u

/* --------------------------------------------------------------------- window */

static uint64_t whole_ns(const struct viewer *viewer)
{
	return viewer->timeline->end_ns - viewer->timeline->origin_ns;
}

/* 'from' is since the origin, and may lie outside; the window is cut to the recording. */
static void set_window(struct viewer *viewer, int64_t from, uint64_t length_ns)
{
	uint64_t whole = whole_ns(viewer), origin = viewer->timeline->origin_ns;

	length_ns = length_ns < 1 ? 1 : length_ns > whole ? whole : length_ns;
	from = from < 0 ? 0 : from;
	if ((uint64_t)from > whole - length_ns)
		from = (int64_t)(whole - length_ns);
	viewer->from_ns = origin + (uint64_t)from;
	viewer->to_ns = viewer->from_ns + length_ns;
	if (viewer->cursor_ns < viewer->from_ns)
		viewer->cursor_ns = viewer->from_ns;
	if (viewer->cursor_ns >= viewer->to_ns)
		viewer->cursor_ns = viewer->to_ns - 1;
}

static int64_t since_origin(const struct viewer *viewer, uint64_t time_ns)
{
	return (int64_t)(time_ns - viewer->timeline->origin_ns);
}

void viewer_zoom(struct viewer *viewer, bool in)
{
	uint64_t before = viewer->to_ns - viewer->from_ns, after;
	uint64_t left = viewer->cursor_ns - viewer->from_ns;

	if (in)
		after = before > 1 ? before / 2 : 1;
	else
		after = before < whole_ns(viewer) / 2 ? before * 2 : whole_ns(viewer);
	left = (uint64_t)((unsigned __int128)left * after / before);
	set_window(viewer, since_origin(viewer, viewer->cursor_ns) - (int64_t)left, after);
}

void viewer_pan(struct viewer *viewer, int fifths)
{
	uint64_t length_ns = viewer->to_ns - viewer->from_ns, before = viewer->from_ns;
	int64_t by = (int64_t)(length_ns / 5 ? length_ns / 5 : 1) * fifths;
	uint64_t left = viewer->cursor_ns - viewer->from_ns;

	set_window(viewer, since_origin(viewer, before) + by, length_ns);
	viewer->cursor_ns = viewer->from_ns + left;
}

void viewer_look_at(struct viewer *viewer, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t length_ns = to_ns > from_ns ? to_ns - from_ns : 1;
	uint64_t room = length_ns / 12 > 10 ? length_ns / 12 : 10;

	set_window(viewer, since_origin(viewer, from_ns) - (int64_t)room, length_ns + 2 * room);
}

void viewer_look_at_all(struct viewer *viewer)
{
	set_window(viewer, 0, whole_ns(viewer));
}

void viewer_fit(struct viewer *viewer)
{
	const struct why_root *cause = viewer_cause(viewer);
	const struct why *why = viewer_why(viewer);
	uint64_t from_ns = UINT64_MAX, to_ns = 0;

	for (size_t i = 0; cause && i < cause->span_count; i++) {
		const struct why_span *span = &cause->spans[i];

		from_ns = span->start_ns < from_ns ? span->start_ns : from_ns;
		to_ns = span->end_ns > to_ns ? span->end_ns : to_ns;
	}
	if (to_ns)
		viewer_look_at(viewer, from_ns, to_ns);
	else if (why)
		viewer_look_at(viewer, why->start_ns, why->end_ns);
}

struct lane_window viewer_window(const struct viewer *viewer)
{
	return (struct lane_window){ .start_ns = viewer->from_ns,
				     .end_ns = viewer->to_ns,
				     .width = viewer->width ? viewer->width : 1 };
}

uint32_t viewer_column(const struct viewer *viewer, uint64_t time_ns)
{
	const struct lane_window window = viewer_window(viewer);
	uint64_t length_ns = window.end_ns - window.start_ns;
	uint32_t column;

	if (time_ns < window.start_ns)
		return 0;
	if (time_ns >= window.end_ns)
		return window.width - 1;
	column = (uint32_t)((unsigned __int128)(time_ns - window.start_ns) * window.width /
			    length_ns);
	while (column + 1 < window.width && lane_column_ns(&window, column + 1) <= time_ns)
		column++;
	return column;
}

void viewer_move_cursor(struct viewer *viewer, int columns)
{
	int64_t column = (int64_t)viewer_column(viewer, viewer->cursor_ns) + columns;
	struct lane_window window;
	uint64_t start_ns, end_ns;

	if (column < 0 || column >= (int64_t)viewer->width) {
		viewer_pan(viewer, column < 0 ? -1 : 1);
		column = column < 0 ? viewer->width / 5 - 1 : viewer->width - viewer->width / 5;
	}
	window = viewer_window(viewer);
	start_ns = lane_column_ns(&window, (uint32_t)column);
	end_ns = lane_column_ns(&window, (uint32_t)column + 1);
	viewer->cursor_ns = start_ns + (end_ns - start_ns) / 2;
	if (viewer->cursor_ns >= viewer->to_ns)
		viewer->cursor_ns = viewer->to_ns - 1;
}

/* A moment that is looked at: the window goes with it where it must. */
static void put_cursor(struct viewer *viewer, uint64_t time_ns)
{
	uint64_t length_ns = viewer->to_ns - viewer->from_ns;

	if (time_ns < viewer->from_ns || time_ns >= viewer->to_ns)
		set_window(viewer, since_origin(viewer, time_ns) - (int64_t)(length_ns / 2),
			   length_ns);
	viewer->cursor_ns = time_ns;
}

void viewer_step_span(struct viewer *viewer, int by)
{
	const struct viewer_spot spot = viewer_spot(viewer);
	struct tl_interval before;
	uint64_t at_ns = 0;

	if (!spot.lane.kind)
		return;
	if (spot.lane.kind == 'o') {
		if (viewer_other_step(viewer, others_lane(viewer_others(viewer), spot.lane.index),
				      by, &at_ns))
			put_cursor(viewer, at_ns);
		return;
	}
	if (by > 0) {
		if (spot.end_ns < viewer->timeline->end_ns)
			put_cursor(viewer, spot.end_ns);
	} else if (viewer->cursor_ns > spot.start_ns) {
		put_cursor(viewer, spot.start_ns);
	} else if (spot.start_ns > viewer->timeline->origin_ns) {
		view_span_around(viewer->timeline, spot.lane, spot.start_ns - 1, &before);
		put_cursor(viewer, before.start_ns);
	}
}

/* ---------------------------------------------------------------------- causes */

const struct why *viewer_why(const struct viewer *viewer)
{
	return viewer->answer.count ? &viewer->answer.results[0] : NULL;
}

const struct why_root *viewer_cause(const struct viewer *viewer)
{
	const struct why *why = viewer_why(viewer);

	return why && viewer->cause < why->root_count ? &why->roots[viewer->cause] : NULL;
}

static uint32_t slot_at(const struct viewer *viewer, int32_t tid, uint64_t time_ns)
{
	return tid ? timeline_near_thread(viewer->timeline, tid, time_ns) : SLOT_NONE;
}

static bool is_in_sight(const struct viewer *viewer, const struct why_span *span)
{
	return span->end_ns > viewer->from_ns && span->start_ns < viewer->to_ns;
}

/* Where most of it was, of what is in sight. */
static const struct why_span *largest_span(const struct viewer *viewer,
					   const struct why_root *cause)
{
	const struct why_span *best = NULL;

	for (size_t i = 0; i < cause->span_count; i++) {
		if (is_in_sight(viewer, &cause->spans[i]) &&
		    (!best || cause->spans[i].ns > best->ns))
			best = &cause->spans[i];
	}
	return best;
}

static void show_cause(struct viewer *viewer, const struct why_root *cause)
{
	const struct why_span *span = largest_span(viewer, cause);
	uint64_t start_ns, end_ns;

	if (!span && cause->span_count) {
		viewer_look_at(viewer, cause->spans[0].start_ns, cause->spans[0].end_ns);
		span = largest_span(viewer, cause);
	}
	if (!span)
		return;
	start_ns = span->start_ns > viewer->from_ns ? span->start_ns : viewer->from_ns;
	end_ns = span->end_ns < viewer->to_ns ? span->end_ns : viewer->to_ns;
	viewer->cursor_ns = start_ns + (end_ns - start_ns) / 2;
	viewer_select_thread(viewer, slot_at(viewer, span->tid, span->start_ns));
}

static void scroll(size_t selected, size_t page, size_t *first)
{
	if (selected < *first)
		*first = selected;
	else if (page && selected >= *first + page)
		*first = selected - page + 1;
}

void viewer_select_cause(struct viewer *viewer, size_t cause)
{
	const struct why *why = viewer_why(viewer);

	if (!why || !why->root_count)
		return;
	viewer->cause = cause < why->root_count ? cause : why->root_count - 1;
	scroll(viewer->cause, viewer->causes_page, &viewer->cause_first);
	show_cause(viewer, &why->roots[viewer->cause]);
	if (viewer->chain.shown) {
		viewer->focus = VIEWER_CAUSES;
		viewer_chain_show(viewer);
	}
}

void viewer_select_row(struct viewer *viewer, size_t row)
{
	viewer->row = row < viewer->row_count ? row : viewer->row_count ? viewer->row_count - 1 : 0;
	scroll(viewer->row, viewer->rows_page, &viewer->row_first);
}

void viewer_set_page(struct viewer *viewer, size_t causes, size_t rows, uint32_t width)
{
	viewer->causes_page = causes;
	viewer->rows_page = rows;
	viewer->width = width;
	scroll(viewer->cause, causes, &viewer->cause_first);
	if (viewer->row_first + rows > viewer->row_count)
		viewer->row_first = viewer->row_count > rows ? viewer->row_count - rows : 0;
	scroll(viewer->row, rows, &viewer->row_first);
}

/* Its spans, and whom they are of. */
static bool is_of(const struct viewer *viewer, const struct why_span *span, uint32_t slot)
{
	return slot == SLOT_NONE || (viewer->timeline->threads[slot]->tid == span->tid &&
				     slot_at(viewer, span->tid, span->start_ns) == slot);
}

static bool mark(const struct viewer *viewer, uint64_t start_ns, uint64_t end_ns, bool *columns)
{
	uint32_t last;

	if (end_ns <= viewer->from_ns || start_ns >= viewer->to_ns || end_ns <= start_ns)
		return false;
	last = viewer_column(viewer, end_ns - 1);
	for (uint32_t i = viewer_column(viewer, start_ns); i <= last; i++)
		columns[i] = true;
	return true;
}

bool viewer_mark_columns(const struct viewer *viewer, uint32_t slot, bool *out_columns)
{
	const struct why_root *cause = viewer_cause(viewer);
	const struct viewer_chain *chain = &viewer->chain;
	bool any = false;

	memset(out_columns, 0, viewer->width * sizeof(*out_columns));
	for (uint32_t i = 0; chain->shown && i < chain->hop_count; i++) {
		if (slot == SLOT_NONE || chain->hops[i].slot == slot)
			any |= mark(viewer, chain->hops[i].start_ns, chain->hops[i].end_ns,
				    out_columns);
	}
	for (size_t i = 0; !chain->shown && cause && i < cause->span_count; i++) {
		if (is_of(viewer, &cause->spans[i], slot))
			any |= mark(viewer, cause->spans[i].start_ns, cause->spans[i].end_ns,
				    out_columns);
	}
	return any;
}

bool viewer_is_concerned(const struct viewer *viewer, uint32_t slot)
{
	const struct why_root *cause = viewer_cause(viewer);
	const struct viewer_chain *chain = &viewer->chain;
	int32_t tid = viewer->timeline->threads[slot]->tid;

	if (chain->shown) {
		for (uint32_t i = 0; i < chain->hop_count; i++) {
			if (chain->hops[i].slot == slot)
				return true;
		}
		return false;
	}
	if (!cause)
		return false;
	if (cause->who.tid == tid)
		return true;
	for (size_t i = 0; i < cause->span_count; i++) {
		if (is_of(viewer, &cause->spans[i], slot))
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------------- answer */

static void forget_answer(struct viewer *viewer)
{
	viewer_chain_hide(viewer);
	explanation_fini(&viewer->answer);
	viewer->answer = (struct explanation){ 0 };
	free(viewer->headline);
	free(viewer->why_not);
	viewer->headline = viewer->why_not = NULL;
	viewer->cause = viewer->cause_first = 0;
}

/* Those that the answer is about come first; who was shown for another reason stays. */
static void choose_threads(struct viewer *viewer)
{
	uint32_t slots[32], count;

	if (viewer_why(viewer)) {
		count = verdict_slots(viewer->view, &viewer->answer, slots, ARRAY_LEN(slots));
	} else {
		count = viewer->busy.count < BUSIEST ? viewer->busy.count : BUSIEST;
		memcpy(slots, viewer->busy.slots, count * sizeof(*slots));
	}
	viewer->shown_count = 0;
	for (uint32_t i = 0; i < count; i++)
		viewer_show_thread(viewer, slots[i]);
	viewer_rows_build(viewer);
}

int viewer_take_answer(struct viewer *viewer, const struct verdict_ask *ask, int rc,
		       const struct explanation *answer, const struct err *err)
{
	if (rc < 0 && rc != -ESRCH)
		return rc;
	forget_answer(viewer);
	viewer->ask = *ask;
	viewer->answer = *answer;
	if (rc < 0)
		viewer->why_not = xstrdup(err->text);
	else
		viewer->headline = report_why_headline(
			viewer_why(viewer), viewer->view->loaded->facts, ask->slot || ask->to_ns);
	choose_threads(viewer);
	return 0;
}

static void choose_window(struct viewer *viewer)
{
	const struct why *why = viewer_why(viewer);

	if (viewer->view->to_ns)
		set_window(viewer, since_origin(viewer, viewer->view->from_ns),
			   viewer->view->to_ns - viewer->view->from_ns);
	else if (why)
		viewer_look_at(viewer, why->start_ns, why->end_ns);
	else
		viewer_look_at_all(viewer);
}

int viewer_begin_early(struct viewer *out_viewer, const struct view *view, struct err *err)
{
	const struct timeline *timeline = view->loaded->timeline;

	*out_viewer = (struct viewer){ .view = view, .timeline = timeline, .width = 1 };
	if (timeline->end_ns <= timeline->origin_ns)
		return err_set(err, -ENODATA, "%s has no events", view->path);
	out_viewer->ask = (struct verdict_ask){ view->from_ns, view->to_ns, 0 };
	out_viewer->cursor_ns = timeline->origin_ns;
	rows_busy_make(timeline, timeline->origin_ns, timeline->end_ns, &out_viewer->busy);
	view_processes_make(timeline, timeline->origin_ns, timeline->end_ns,
			    &out_viewer->processes);
	out_viewer->folds = xcalloc(out_viewer->processes.count + 1, sizeof(*out_viewer->folds));
	out_viewer->cpus_open = !out_viewer->busy.count;
	out_viewer->focus = VIEWER_LANES;
	choose_threads(out_viewer);
	choose_window(out_viewer);
	if (view->loaded->facts->only_programs) /* they are all that there is */
		viewer_others_toggle(out_viewer);
	return 0;
}

int viewer_take_first(struct viewer *viewer, const struct verdict_ask *ask, int rc,
		      const struct explanation *answer, struct err *err)
{
	rc = viewer_take_answer(viewer, ask, rc, answer, err);
	if (rc < 0 || viewer->is_touched)
		return rc;
	viewer->focus = viewer_why(viewer) ? VIEWER_CAUSES : VIEWER_LANES;
	choose_window(viewer);
	viewer_select_cause(viewer, 0);
	return 0;
}

int viewer_begin(struct viewer *out_viewer, const struct view *view, struct err *err)
{
	struct explanation answer = { 0 };
	int rc = viewer_begin_early(out_viewer, view, err);

	if (rc < 0)
		return rc;
	rc = verdict_of(view, &out_viewer->ask, &answer, err);
	rc = viewer_take_first(out_viewer, &(struct verdict_ask){ view->from_ns, view->to_ns, 0 },
			       rc, &answer, err);
	if (rc < 0)
		viewer_fini(out_viewer);
	return rc;
}

void viewer_fini(struct viewer *viewer)
{
	forget_answer(viewer);
	explanation_fini(&viewer->charge.answer);
	view_processes_fini(&viewer->processes);
	rows_busy_fini(&viewer->busy);
	free(viewer->folds);
	free(viewer->rows);
	*viewer = (struct viewer){ 0 };
}

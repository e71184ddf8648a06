/* viewer_others.c - see viewer_others.h. */
#include "tui/viewer_others.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "timeline/timeline.h"
#include "tui/viewer_model.h"
#include "view/answer.h"
#include "view/others.h"
#include "view/shares.h"

static const struct {
	const char *glyph, *ascii, *words;
	enum lane_state style;
} marks[VIEWER_MARK_COUNT] = {
	[VIEWER_NO_MARK] = { " ", " ", NULL, LANE_ABSENT },
	[VIEWER_EIGHTH] = { "▁", "1", NULL, LANE_DISK },
	[VIEWER_EIGHTH + 1] = { "▂", "2", NULL, LANE_DISK },
	[VIEWER_EIGHTH + 2] = { "▃", "3", NULL, LANE_DISK },
	[VIEWER_EIGHTH + 3] = { "▄", "4", NULL, LANE_DISK },
	[VIEWER_EIGHTH + 4] = { "▅", "5", NULL, LANE_DISK },
	[VIEWER_EIGHTH + 5] = { "▆", "6", NULL, LANE_DISK },
	[VIEWER_EIGHTH + 6] = { "▇", "7", NULL, LANE_DISK },
	[VIEWER_EIGHT] = { "█", "8", "the most in sight", LANE_DISK },
	[VIEWER_HELD] = { "h", "h", "held", LANE_NETWORK },
	[VIEWER_CONTENDED] = { "H", "H", "held, and waited for", LANE_QUEUE },
	[VIEWER_WAITED] = { "w", "w", "waited for; no holder is known", LANE_LOCK },
	[VIEWER_SOME_STALLED] = { "s", "s", "some tasks stalled", LANE_LOCK },
	[VIEWER_ALL_STALLED] = { "S", "S", "all tasks stalled", LANE_QUEUE },
	[VIEWER_LOST] = { "░", "?", "events were lost", LANE_UNCERTAIN },
};

const char *viewer_mark_glyph(enum viewer_mark mark, bool ascii)
{
	return ascii ? marks[mark].ascii : marks[mark].glyph;
}

enum grid_style viewer_mark_style(enum viewer_mark mark)
{
	return (enum grid_style)(GRID_LANES + marks[mark].style);
}

const char *viewer_mark_words(enum viewer_mark mark)
{
	return marks[mark].words;
}

/* ----------------------------------------------------------------------- cells */

struct gathering {
	struct series_column *columns;
	uint32_t at, width;
};

static void gather(void *context, uint32_t count, const struct series_column *column)
{
	struct gathering *gathering = context;

	for (uint32_t i = 0; i < count && gathering->at < gathering->width; i++)
		gathering->columns[gathering->at++] = *column;
}

static enum viewer_mark state_mark(enum other_group group, const struct series_column *column)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < SERIES_SUMS; i++)
		most = column->sums[i] > column->sums[most] ? i : most;
	if (!column->sums[most])
		return VIEWER_NO_MARK;
	return (enum viewer_mark)((group == OTHER_PRESSURE ? VIEWER_SOME_STALLED : VIEWER_HELD) +
				  most);
}

static enum viewer_mark amount_mark(double value, double most)
{
	int eighths = most > 0 ? (int)(value / most * 8 + 0.5) : 0;

	if (value <= 0)
		return VIEWER_NO_MARK;
	eighths = eighths < 1 ? 1 : eighths > 8 ? 8 : eighths;
	return (enum viewer_mark)(VIEWER_EIGHTH + eighths - 1);
}

/* Of levels the mean; of amounts bytes, where there are any. */
static double value_of(enum series_kind kind, const struct series_column *column, bool has_bytes,
		       uint64_t length_ns)
{
	if (kind == SERIES_LEVEL)
		return length_ns ? (double)column->sums[0] / (double)length_ns : 0;
	return (double)column->sums[has_bytes ? 1 : 0];
}

static void mark_amounts(const struct other_lane *lane, const struct lane_window *window,
			 const struct gathering *gathering, const struct series_column *sum,
			 uint8_t *out_cells)
{
	bool has_bytes = lane->series.kind == SERIES_AMOUNT && sum->sums[1];
	AUTO_FREE double *values = xcalloc(window->width + 1, sizeof(*values));
	double most = lane->series.kind == SERIES_LEVEL ? (double)sum->most : 0;

	for (uint32_t i = 0; i < gathering->at; i++) {
		values[i] = value_of(lane->series.kind, &gathering->columns[i], has_bytes,
				     lane_column_ns(window, i + 1) - lane_column_ns(window, i));
		most = values[i] > most ? values[i] : most;
	}
	for (uint32_t i = 0; i < gathering->at; i++)
		out_cells[i] = (uint8_t)amount_mark(values[i], most);
}

/* What is not known is no nothing. */
static void mark_holes(const struct timeline *timeline, const struct lane_window *window,
		       uint8_t *cells)
{
	uint64_t length_ns = window->end_ns - window->start_ns;

	for (size_t i = timeline->gap_count;
	     i-- > 0 && timeline->gaps[i].until_ns > window->start_ns;) {
		uint64_t since_ns = timeline->gaps[i].since_ns,
			 until_ns = timeline->gaps[i].until_ns;
		uint32_t column;

		since_ns = since_ns > window->start_ns ? since_ns : window->start_ns;
		until_ns = until_ns < window->end_ns ? until_ns : window->end_ns;
		if (since_ns >= until_ns)
			continue;
		column = (uint32_t)((unsigned __int128)(since_ns - window->start_ns) *
				    window->width / length_ns);
		for (; column < window->width && lane_column_ns(window, column) < until_ns;
		     column++) {
			if (!cells[column])
				cells[column] = VIEWER_LOST;
		}
	}
}

void viewer_other_cells(const struct other_lane *lane, const struct timeline *timeline,
			const struct lane_window *window, uint8_t *out_cells)
{
	AUTO_FREE struct series_column *columns = xcalloc(window->width + 1, sizeof(*columns));
	struct gathering gathering = { .columns = columns, .width = window->width };
	struct series_column sum;

	memset(out_cells, 0, window->width);
	series_columns(&lane->series, window->start_ns, window->end_ns, window->width, gather,
		       &gathering, &sum);
	if (lane->series.kind == SERIES_STATES) {
		for (uint32_t i = 0; i < gathering.at; i++)
			out_cells[i] = (uint8_t)state_mark(lane->group, &columns[i]);
	} else {
		mark_amounts(lane, window, &gathering, &sum, out_cells);
	}
	if (timeline)
		mark_holes(timeline, window, out_cells);
}

/* ------------------------------------------------------------------------ rows */

const struct others *viewer_others(const struct viewer *viewer)
{
	return viewer->others_shown ? view_others_lanes(viewer->view->others) : NULL;
}

void viewer_others_add_rows(struct viewer *viewer,
			    void (*add)(struct viewer *viewer, uint32_t index, bool is_heading,
					uint32_t hidden, bool is_open))
{
	const struct others *others = viewer_others(viewer);

	for (uint32_t group = 0; others && group < OTHER_GROUP_COUNT; group++) {
		bool is_open = !(viewer->others_closed & 1u << group);
		uint32_t count = 0, told = 0;

		for (size_t i = 0; i < others_count(others); i++)
			count += others_lane(others, i)->group == group;
		if (!count)
			continue;
		add(viewer, group, true, count, is_open);
		for (size_t i = 0; is_open && i < others_count(others); i++) {
			if (others_lane(others, i)->group == group && told++ < VIEWER_OF_A_GROUP)
				add(viewer, (uint32_t)i, false, 0, false);
		}
	}
}

char *viewer_others_heading(const struct viewer *viewer, enum other_group group, bool is_open)
{
	const struct others *others = viewer_others(viewer);
	uint64_t count = others ? others_left_out(others, group) : 0;

	for (size_t i = 0; others && i < others_count(others); i++)
		count += others_lane(others, i)->group == group;
	if (is_open && count > VIEWER_OF_A_GROUP)
		return xasprintf("%s: the %u largest of %llu", view_others_words(group),
				 VIEWER_OF_A_GROUP, (unsigned long long)count);
	return xasprintf("%s: %llu", view_others_words(group), (unsigned long long)count);
}

/* The first of these rows is on top, as far as that goes. */
static void show_first(struct viewer *viewer)
{
	for (size_t i = 0; i < viewer->row_count; i++) {
		if (viewer->rows[i].kind != VIEWER_OTHERS)
			continue;
		viewer->row_first = i;
		viewer_select_row(viewer, i);
		viewer->focus = VIEWER_LANES;
		return;
	}
	snprintf(viewer->message, sizeof(viewer->message),
		 "No locks, disks, network devices or events of programs were recorded.");
}

bool viewer_others_await(struct viewer *viewer)
{
	uint64_t done_ns, whole_ns;
	struct err err = { 0 };
	enum view_others_is is;

	if (!viewer->others_awaited)
		return false;
	is = view_others_want(viewer->view->others, &done_ns, &whole_ns, &err);
	if (is == VIEW_OTHERS_READING) {
		snprintf(viewer->message, sizeof(viewer->message),
			 "Reading the events of locks, disks and other lanes ... %s",
			 whole_ns ? text_percent(done_ns, whole_ns).s : "");
		return true;
	}
	viewer->others_awaited = false;
	viewer->message[0] = '\0';
	if (is == VIEW_OTHERS_FAILED) {
		AUTO_FREE char *safe = text_escaped(err.text);

		viewer->others_shown = false;
		snprintf(viewer->message, sizeof(viewer->message), "%.180s", safe);
		return false;
	}
	viewer_rows_build(viewer);
	show_first(viewer);
	return false;
}

void viewer_others_toggle(struct viewer *viewer)
{
	if (!viewer->view->others) {
		snprintf(viewer->message, sizeof(viewer->message),
			 "The locks and disks of this trace cannot be read.");
		return;
	}
	viewer->others_shown = !viewer->others_shown;
	viewer->others_awaited = viewer->others_shown;
	if (viewer->others_shown)
		(void)viewer_others_await(viewer);
	else
		viewer_rows_build(viewer);
}

bool viewer_other_step(const struct viewer *viewer, const struct other_lane *lane, int by,
		       uint64_t *out_ns)
{
	bool found = false;

	for (size_t i = 0; i < lane->span_count; i++) {
		uint64_t at = lane->spans[i].start_ns;

		if (by > 0 ? at > viewer->cursor_ns && (!found || at < *out_ns)
			   : at < viewer->cursor_ns && (!found || at > *out_ns)) {
			*out_ns = at;
			found = true;
		}
	}
	return found && *out_ns < viewer->timeline->end_ns &&
	       *out_ns >= viewer->timeline->origin_ns;
}

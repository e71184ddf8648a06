/* viewer_pane.c - details, chain, legend, help. Text of the trace is escaped here, and checked by the grid again. */
#include "tui/viewer_pane.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/stats/states.h"
#include "analyse/why/why.h"
#include "ask/loaded.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/why.h"
#include "tui/grid.h"
#include "tui/viewer_draw.h"
#include "tui/viewer_model.h"
#include "view/answer.h"
#include "view/details.h"
#include "view/others.h"

/* Lines on their way into the pane: those that do not fit are left out. */
struct pane {
	const struct viewer *viewer;
	struct grid *grid;
	int row, end;
};

static void put_line(struct pane *pane, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put_line(struct pane *pane, const char *label, const char *format, ...)
{
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *safe = NULL;
	va_list args;
	int at;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	safe = text_escaped(text);
	if (pane->row >= pane->end)
		return;
	at = grid_put(pane->grid, pane->row, 0, GRID_BOLD, label);
	grid_put_cut(pane->grid, pane->row++, at, GRID_PLAIN, safe);
}

/* -------------------------------------------------------------------- details */

static uint64_t fineness(const struct viewer *viewer)
{
	return (viewer->to_ns - viewer->from_ns) / viewer->width;
}

static void put_end(struct pane *pane, const struct why_wait *wait)
{
	AUTO_FREE char *words = report_why_waker(wait);

	put_line(pane, "", "%s", words);
}

/* By the answer for this wait alone, once the cursor rests on it. */
static void put_charge(struct pane *pane)
{
	const struct viewer_spot spot = viewer_spot(pane->viewer);
	const struct viewer_spot *of = &pane->viewer->charge.of;
	const struct why *why = viewer_charged(pane->viewer);
	AUTO_FREE char *text = NULL;

	if (of->lane.kind != spot.lane.kind || of->lane.index != spot.lane.index ||
	    of->start_ns != spot.start_ns || !why || !why->root_count)
		return;
	text = report_why_root(why, &why->roots[0]);
	put_line(pane, "charged to: ", "%s %s", text_percent(why->roots[0].ns, verdict_ns(why)).s,
		 text);
}

static void put_span(void *context, const struct states_span *span)
{
	struct pane *pane = context;
	const struct viewer *viewer = pane->viewer;
	const struct view_lane lane = viewer_lane(viewer_row(viewer));

	put_line(pane, "", "%s[%d] at %s: %s: %s, from %s for %s",
		 timeline_comm(viewer->timeline, lane.index),
		 viewer->timeline->threads[lane.index]->tid,
		 viewer_moment(viewer, viewer->cursor_ns, fineness(viewer)).s,
		 view_wib_name(span->wib), span->state,
		 viewer_moment(viewer, span->start_ns, fineness(viewer)).s,
		 text_duration(span->end_ns - span->start_ns).s);
	if (!span->is_wait)
		return;
	put_charge(pane);
	put_end(pane, &span->wait);
	if (span->wait.object[0])
		put_line(pane, "object: ", "%s", span->wait.object);
	if (span->wait.stack && span->wait.stack[0])
		put_line(pane, "kernel stack: ", "%s", span->wait.stack);
}

static void put_cpu(struct pane *pane, uint32_t cpu, const struct viewer_spot *spot)
{
	const struct viewer *viewer = pane->viewer;
	const struct timeline *timeline = viewer->timeline;
	uint32_t slot = spot->word;
	bool ran = slot < timeline->thread_count && timeline->threads[slot]->tid != 0;
	AUTO_FREE char *who = ran ? xasprintf("ran %s[%d]", timeline_comm(timeline, slot),
					      timeline->threads[slot]->tid)
				  : xstrdup("idle, or not known");

	put_line(pane, "", "CPU %u at %s: %s, from %s for %s", cpu,
		 viewer_moment(viewer, viewer->cursor_ns, fineness(viewer)).s, who,
		 viewer_moment(viewer, spot->start_ns, fineness(viewer)).s,
		 text_duration(spot->end_ns - spot->start_ns).s);
}

/* The states of the column, where there are several: a cell shows one of them. */
static void put_column(struct pane *pane, struct view_lane lane)
{
	const struct viewer *viewer = pane->viewer;
	struct lane_window window = viewer_window(viewer);
	uint32_t column = viewer_column(viewer, viewer->cursor_ns);
	struct viewer at = *viewer; /* of one column */
	struct viewer_cell cell;
	struct lane_shares sum;
	char text[400];
	size_t length = 0, parts = 0;

	at.from_ns = lane_column_ns(&window, column);
	at.to_ns = lane_column_ns(&window, column + 1);
	at.width = 1;
	if (at.to_ns <= at.from_ns)
		return;
	viewer_cells(&at, lane, &cell, &sum);
	for (enum lane_state i = 0; i < LANE_STATE_COUNT; i++) {
		if (!sum.ns[i] || i == LANE_ABSENT || length >= sizeof(text))
			continue;
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s %s",
					   parts++ ? ", " : "", lane_look(i)->words,
					   text_percent(sum.ns[i], at.to_ns - at.from_ns).s);
	}
	if (parts > 1)
		put_line(pane, "this column: ", "%s", text);
}

static void put_other_span(struct pane *pane, const struct others *others,
			   const struct other_span *span)
{
	const struct viewer *viewer = pane->viewer;
	const char *text = others_text(others, span->text);
	uint32_t slot = span->tid
				? timeline_near_thread(viewer->timeline, span->tid, span->start_ns)
				: SLOT_NONE;
	AUTO_FREE char *who =
		slot == SLOT_NONE
			? xstrdup(span->tid ? ""
				  : *text   ? ""
					    : "an unknown thread")
			: xasprintf("%s[%d]", timeline_comm(viewer->timeline, slot), span->tid);

	put_line(pane, "", "%s %s%s%s, from %s for %s", view_others_what(span->what), text,
		 *text && *who ? ", by " : "", who,
		 viewer_moment(viewer, span->start_ns, fineness(viewer)).s,
		 text_duration(span->end_ns - span->start_ns).s);
}

static void ignore_columns(void *context, uint32_t columns, const struct series_column *column)
{
	(void)context;
	(void)columns;
	(void)column;
}

static char *sum_between(const struct other_lane *lane, uint64_t from_ns, uint64_t to_ns)
{
	struct series_column sum;
	char *words;

	if (to_ns <= from_ns)
		return xstrdup("");
	series_columns(&lane->series, from_ns, to_ns, 1, ignore_columns, NULL, &sum);
	words = view_others_sum_words(lane, &sum, to_ns - from_ns);
	if (*words)
		return words;
	free(words);
	return xstrdup("nothing, or not known");
}

/* The column at the cursor, the window, and which spans lie in that column, the longest first. */
static void put_other(struct pane *pane, uint32_t index)
{
	const struct viewer *viewer = pane->viewer;
	const struct others *others = viewer_others(viewer);
	const struct other_lane *lane = others_lane(others, index);
	const struct lane_window window = viewer_window(viewer);
	uint32_t column = viewer_column(viewer, viewer->cursor_ns);
	uint64_t from_ns = lane_column_ns(&window, column),
		 to_ns = lane_column_ns(&window, column + 1);
	AUTO_FREE char *here = sum_between(lane, from_ns, to_ns);
	AUTO_FREE char *all = sum_between(lane, viewer->from_ns, viewer->to_ns);
	uint64_t below_ns = UINT64_MAX;

	put_line(pane, "", "%s at %s: %s", lane->label,
		 viewer_moment(viewer, viewer->cursor_ns, fineness(viewer)).s, here);
	put_line(pane, "in this window: ", "%s", all);
	while (pane->row <
	       pane->end) { /* few lines: the longest below the last one, again and again */
		const struct other_span *longest = NULL;

		for (size_t i = 0; i < lane->span_count; i++) {
			const struct other_span *span = &lane->spans[i];
			uint64_t ns = span->end_ns - span->start_ns;

			if (span->start_ns < to_ns && span->end_ns > from_ns && ns < below_ns &&
			    (!longest || ns > longest->end_ns - longest->start_ns))
				longest = span;
		}
		if (!longest)
			break;
		put_other_span(pane, others, longest);
		below_ns = longest->end_ns - longest->start_ns;
	}
}

static void put_details(struct pane *pane)
{
	const struct viewer *viewer = pane->viewer;
	const struct viewer_spot spot = viewer_spot(viewer);
	struct states_opts opts = { spot.lane.index, spot.start_ns, spot.end_ns, 1 };
	struct states_sum sum;

	if (!spot.lane.kind) {
		put_line(pane, "", "Enter folds and unfolds it");
		return;
	}
	if (spot.lane.kind == 'o') {
		put_other(pane, spot.lane.index);
		return;
	}
	if (spot.lane.kind == 'c')
		put_cpu(pane, spot.lane.index, &spot);
	else
		states_run(viewer->timeline, viewer->view->loaded->facts, &opts, put_span, pane,
			   &sum);
	put_column(pane, spot.lane);
}

/* ---------------------------------------------------------------------- chain */

static void put_no_chain(struct pane *pane)
{
	const struct why_root *cause = viewer_cause(pane->viewer);

	if (pane->viewer->chain.is_awaited)
		put_line(pane, "",
			 viewer_spot(pane->viewer).is_wait ? "Explaining this wait ..."
							   : "No wait is at the cursor.");
	else if (pane->viewer->chain.of_lane)
		put_line(pane, "", "Nothing is known of what led to this wait.");
	else if (cause && cause->kind == WHY_WORKING)
		put_line(pane, "", "Its own work: no chain leads elsewhere.");
	else
		put_line(pane, "", "No wait that ended by this is long enough to be drawn.");
}

/* The hop that is selected is in sight. */
static void put_chain(struct pane *pane)
{
	const struct viewer_chain *chain = &pane->viewer->chain;
	uint32_t room = pane->end > pane->row + 1 ? (uint32_t)(pane->end - pane->row - 1) : 1;
	uint32_t first = chain->hop_at >= room ? chain->hop_at - room + 1 : 0;

	if (!chain->hop_count) {
		put_no_chain(pane);
		return;
	}
	put_line(pane, "Chain",
		 ": wait %u of %u%s, hop %u of %u; [ ] step, { } other waits, c back",
		 chain->wait_at + 1, chain->wait_count,
		 chain->of_lane ? " at the cursor" : " of the cause, longest first",
		 chain->hop_at + 1, chain->hop_count);
	for (uint32_t i = first; i < chain->hop_count && pane->row < pane->end; i++) {
		int depth = i < 8 ? (int)i : 8;

		put_line(pane, i == chain->hop_at ? "> " : "  ", "%*s%s", depth, "",
			 chain->hops[i].words);
		if (i == chain->hop_at)
			grid_paint(pane->grid, pane->row - 1, GRID_SELECTED);
	}
}

void viewer_draw_pane(const struct viewer *viewer, const struct viewer_layout *layout,
		      struct grid *grid)
{
	struct pane pane = { viewer, grid, layout->pane_at, layout->pane_at + layout->pane };

	if (viewer->chain.shown)
		put_chain(&pane);
	else
		put_details(&pane);
}

/* --------------------------------------------------------------------- legend */

/* A sign and its words, on the next line where this one is full. Those behind the last line are left out. */
struct legend {
	struct grid *grid;
	int row, end, at;
};

static void put_sign(struct legend *legend, enum grid_style style, const char *sign,
		     const char *words)
{
	int length = (int)strlen(words) + 4;

	if (legend->at + length > legend->grid->columns) {
		legend->row++;
		legend->at = 0;
	}
	if (legend->row >= legend->end)
		return;
	(void)grid_put(legend->grid, legend->row, legend->at, style, sign);
	(void)grid_put(legend->grid, legend->row, legend->at + 2, GRID_PLAIN, words);
	legend->at += length;
}

void viewer_put_legend(struct grid *grid, int row, int rows, const struct viewer_sight *sight,
		       bool ascii, bool others_first)
{
	struct legend legend = { grid, row, row + rows, 0 };

	for (int turn = 0; turn < 2; turn++) {
		for (enum lane_state i = 0; turn == others_first && i < LANE_ABSENT; i++) {
			if (sight->states[i])
				put_sign(&legend, (enum grid_style)(GRID_LANES + i),
					 viewer_glyph(i, ascii), lane_look(i)->words);
		}
		for (enum viewer_mark i = 0; turn != others_first && i < VIEWER_MARK_COUNT; i++) {
			if (sight->marks[i] && viewer_mark_words(i))
				put_sign(&legend, viewer_mark_style(i), viewer_mark_glyph(i, ascii),
					 viewer_mark_words(i));
		}
	}
}

void viewer_draw_legend(const struct viewer *viewer, const struct viewer_layout *layout,
			const struct viewer_sight *sight, struct grid *grid)
{
	const struct viewer_row *row = viewer_row(viewer);
	bool is_other = row && (row->kind == VIEWER_OTHER || row->kind == VIEWER_OTHERS);

	viewer_put_legend(grid, layout->legend_at, layout->legend, sight, viewer->ascii, is_other);
}

/* ----------------------------------------------------------------------- help */

static const char *const help_lines[] = {
	"Tab      between causes and lanes      Up Down PgUp PgDn Home End   select",
	"Enter    of a cause: to its lanes; of a heading: fold; of a lane: to the causes",
	"w + s -  zoom in, out at the cursor    a d Left Right   move in time",
	"f        show the selected cause       0   show the whole recording",
	"h l      move the cursor               , .   to the span before, the next one",
	"c        chain of the cause, or in the lanes of the wait at the cursor; again: back",
	"[ ]      to the hop before, the next   { }   of the cause's wait before, the next",
	"e        explain this thread in this window       E   explain the command again",
	"u        all processes, or those that matter      /   search threads; n N: step",
	"o        locks, disks, network, programs, pressure as rows, or no more; Enter folds",
	"?        this help                     q   quit",
	"",
	"A cell is what took most of its time. The line above the lanes: v is where the",
	"cause was, ^ the cursor, X both. > is the lane selected, * one of cause or chain.",
	"Arrows of a chain lead from the lane of who woke to that of who was woken.",
};

void viewer_draw_help(const struct viewer *viewer, struct grid *grid)
{
	static const int columns[] = { 0, 28, 54 };
	int row = 1;

	grid_put(grid, 0, 0, GRID_BAR, " holdup view --tui");
	grid_paint(grid, 0, GRID_BAR);
	for (size_t i = 0; i < ARRAY_LEN(help_lines); i++)
		grid_put(grid, row++, 0, GRID_PLAIN, help_lines[i]);
	for (enum lane_state i = 0; i < LANE_ABSENT; i++) {
		int at = columns[i % ARRAY_LEN(columns)];

		grid_put(grid, row, at, (enum grid_style)(GRID_LANES + i),
			 viewer_glyph(i, viewer->ascii));
		grid_put(grid, row, at + 2, GRID_PLAIN, lane_look(i)->words);
		row += i % ARRAY_LEN(columns) == ARRAY_LEN(columns) - 1;
	}
	grid_put(grid, grid->rows - 1, 0, GRID_BOLD, "any key: back");
}

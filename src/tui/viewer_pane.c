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
	AUTO_FREE char *who =
		wait->woken_by.tid ? xasprintf(" %s[%d]", wait->woken_by.comm, wait->woken_by.tid)
				   : xstrdup("");

	if (wait->waker == WHY_WAKER_NONE)
		put_line(pane, "ended by: ", "nothing, up to here");
	else if (wait->waker == WHY_WAKER_UNKNOWN)
		put_line(pane, "ended by: ", "not known");
	else
		put_line(pane, "ended by: ", "%s%s%s%s%s%s", why_waker_name(wait->waker), who,
			 wait->waker_name[0] ? " " : "", wait->waker_name,
			 wait->waker_state && wait->waker_state[0] ? ", which was in " : "",
			 wait->waker_state ? wait->waker_state : "");
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

void viewer_draw_legend(const struct viewer *viewer, const struct viewer_layout *layout,
			const bool *in_sight, struct grid *grid)
{
	int row = layout->legend_at, at = 0, end = layout->legend_at + layout->legend;

	for (enum lane_state i = 0; i < LANE_STATE_COUNT && row < end; i++) {
		const char *words = lane_look(i)->words;
		int length = (int)strlen(words) + 4;

		if (!in_sight[i] || i == LANE_ABSENT)
			continue;
		if (at + length > grid->columns) {
			row++;
			at = 0;
		}
		if (row == end)
			break;
		(void)grid_put(grid, row, at, (enum grid_style)(GRID_LANES + i),
			       viewer_glyph(i, viewer->ascii));
		(void)grid_put(grid, row, at + 2, GRID_PLAIN, words);
		at += length;
	}
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
	"?        this help                     q   quit",
	"",
	"A cell is what took most of its time. The line above the lanes: v is where the",
	"cause was, ^ the cursor, X both. > is the lane selected, * one of cause or chain.",
	"Arrows of a chain lead from the lane of who woke to that of who was woken.",
	"",
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

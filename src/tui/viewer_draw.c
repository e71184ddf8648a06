/* viewer_draw.c - the answer, the axis and the lanes; what stands below them is in viewer_pane.c. */
#include "tui/viewer_draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "ask/loaded.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/why.h"
#include "tui/grid.h"
#include "tui/viewer_model.h"
#include "tui/viewer_pane.h"
#include "view/answer.h"

_Static_assert(GRID_STYLES == GRID_LANES + LANE_STATE_COUNT, "a style for each state");

#define CAUSE_AT  19 /* column of a cause's words */
#define TICK_ROOM 16u
#define AXIS_ROWS 3 /* window, ticks, where the cause was */

/* --------------------------------------------------------------------- layout */

int viewer_gutter(int columns)
{
	return columns < 100 ? 20 : columns < 160 ? 26 : 34;
}

bool viewer_layout(struct viewer *viewer, int rows, int columns, struct viewer_layout *out_layout)
{
	const struct why *why = viewer_why(viewer);
	struct viewer_layout layout = { .headline = 2, .legend = 2 };
	int more = rows - VIEWER_ROWS, room,
	    causes = why ? (int)(why->root_count < 100 ? why->root_count : 100) : 1;

	if (rows < VIEWER_ROWS || columns < VIEWER_COLUMNS || columns > GRID_COLUMNS_MAX)
		return false;
	layout.foot_at = rows - 1;
	layout.legend_at = layout.foot_at - layout.legend;
	layout.pane = (viewer->chain.shown ? 6 : 4) + more / 8;
	layout.pane_at = layout.legend_at - layout.pane;
	layout.causes_at = layout.headline + 1;
	layout.causes = 4 + more / 4;
	room = layout.pane_at - layout.causes_at - AXIS_ROWS;
	if (room - layout.causes > (int)viewer->row_count) /* lanes leave rows free */
		layout.causes = room - (int)viewer->row_count;
	layout.causes = layout.causes < causes ? layout.causes : causes;
	layout.window_at = layout.causes_at + layout.causes;
	layout.axis_at = layout.window_at + 1;
	layout.where_at = layout.axis_at + 1;
	layout.lanes_at = layout.where_at + 1;
	layout.lanes = layout.pane_at - layout.lanes_at;
	layout.gutter = viewer_gutter(columns);
	layout.width = columns - layout.gutter;
	viewer_set_page(viewer, (size_t)layout.causes, (size_t)layout.lanes,
			(uint32_t)layout.width);
	*out_layout = layout;
	return true;
}

/* --------------------------------------------------------------------- answer */

/* Up to where a text goes on one line: at a blank, if there is one. */
static size_t line_bytes(const char *text, size_t room)
{
	size_t length = strlen(text), at;

	if (length <= room)
		return length;
	for (at = room; at > room / 2 && text[at] != ' '; at--)
		;
	if (at > room / 2)
		return at;
	for (at = room; at > 1 && ((unsigned char)text[at] & 0xc0) == 0x80;
	     at--) /* whole characters */
		;
	return at;
}

static void draw_headline(const struct viewer *viewer, const struct viewer_layout *layout,
			  struct grid *grid)
{
	const char *plain = viewer->headline  ? viewer->headline
			    : viewer->why_not ? viewer->why_not
			    : viewer->is_asking
				    ? "Explaining ...; until then, the busiest threads are shown."
				    : "";
	AUTO_FREE char *safe = text_escaped(plain);
	const char *text = safe;

	for (int row = 0; row < layout->headline && *text; row++) {
		size_t bytes = line_bytes(text, (size_t)grid->columns);
		AUTO_FREE char *line = xstrndup(text, bytes);

		grid_put(grid, row, 0, GRID_BOLD, line);
		text += bytes;
		text += strspn(text, " ");
	}
}

static void draw_cause(const struct viewer *viewer, size_t index, int row, struct grid *grid)
{
	const struct why *why = viewer_why(viewer);
	const struct why_root *root = &why->roots[index];
	AUTO_FREE char *plain = report_why_root(why, root);
	AUTO_FREE char *words = text_escaped(plain);
	bool is_selected = index == viewer->cause;

	grid_printf(grid, row, 0, GRID_PLAIN, "%s%7s %9s ", is_selected ? ">" : " ",
		    text_percent(root->ns, verdict_ns(why)).s, text_duration(root->ns).s);
	grid_put_cut(grid, row, CAUSE_AT, GRID_PLAIN, words);
	if (is_selected)
		grid_paint(grid, row, viewer->focus == VIEWER_CAUSES ? GRID_SELECTED : GRID_BOLD);
}

static void draw_causes(const struct viewer *viewer, const struct viewer_layout *layout,
			struct grid *grid)
{
	const struct why *why = viewer_why(viewer);
	size_t count = why ? why->root_count : 0;
	int row = layout->causes_at;

	grid_printf(grid, row - 1, 0, GRID_BAR, "%s  SHARE      TIME CAUSE, %zu of %zu%s",
		    viewer->focus == VIEWER_CAUSES ? ">" : " ", count ? viewer->cause + 1 : 0,
		    count, viewer->is_asking ? "; explaining ..." : "");
	grid_paint(grid, row - 1, GRID_BAR);
	for (size_t i = viewer->cause_first; i < count && row < layout->window_at; i++)
		draw_cause(viewer, i, row++, grid);
	if (!count && !viewer->is_asking)
		grid_put(grid, row, 1, GRID_DIM,
			 "The busiest threads are shown; e explains the one that is selected.");
}

/* ----------------------------------------------------------------------- axis */

/* 1, 2 or 5 times a power of ten, at least so many ns. */
static uint64_t tick_step(uint64_t least_ns)
{
	uint64_t power = 1;

	while (power < UINT64_MAX / 100 && power * 10 <= least_ns)
		power *= 10;
	return power >= least_ns       ? power
	       : power * 2 >= least_ns ? power * 2
	       : power * 5 >= least_ns ? power * 5
				       : power * 10;
}

static void draw_ticks(const struct viewer *viewer, const struct viewer_layout *layout,
		       struct grid *grid)
{
	uint64_t length_ns = viewer->to_ns - viewer->from_ns;
	uint64_t origin_ns = viewer->timeline->origin_ns, from = viewer->from_ns - origin_ns;
	uint64_t step =
		tick_step((uint64_t)((unsigned __int128)length_ns * TICK_ROOM / viewer->width) + 1);

	for (uint64_t at = (from + step - 1) / step * step; at < from + length_ns; at += step) {
		int column = layout->gutter + (int)viewer_column(viewer, origin_ns + at);
		struct text words = viewer_moment(viewer, origin_ns + at, step);

		if (column + 1 + (int)strlen(words.s) > grid->columns)
			break;
		grid_put(grid, layout->axis_at, column, GRID_DIM, viewer->ascii ? "|" : "│");
		grid_put(grid, layout->axis_at, column + 1, GRID_PLAIN, words.s);
	}
}

static void draw_axis(const struct viewer *viewer, const struct viewer_layout *layout,
		      struct grid *grid)
{
	uint64_t fine_ns = (viewer->to_ns - viewer->from_ns) / viewer->width;
	AUTO_FREE bool *marked = xcalloc(viewer->width, sizeof(*marked));
	uint32_t cursor = viewer_column(viewer, viewer->cursor_ns);

	grid_printf(grid, layout->window_at, 0, GRID_BAR, "%sLANES  %s to %s: %s",
		    viewer->focus == VIEWER_LANES ? ">" : " ",
		    viewer_moment(viewer, viewer->from_ns, fine_ns).s,
		    viewer_moment(viewer, viewer->to_ns, fine_ns).s,
		    text_duration(viewer->to_ns - viewer->from_ns).s);
	grid_paint(grid, layout->window_at, GRID_BAR);
	draw_ticks(viewer, layout, grid);
	(void)viewer_mark_columns(viewer, SLOT_NONE, marked);
	grid_put(grid, layout->where_at, 2, GRID_DIM,
		 viewer->chain.shown ? "the chain" : "the cause");
	for (uint32_t i = 0; i < viewer->width; i++) {
		const char *sign = i == cursor ? (marked[i] ? "X" : "^") : marked[i] ? "v" : " ";

		grid_put(grid, layout->where_at, layout->gutter + (int)i,
			 i == cursor ? GRID_BOLD : GRID_WARNING, sign);
	}
}

/* ---------------------------------------------------------------------- lanes */

static const char *fold_sign(const struct viewer *viewer, const struct viewer_row *row)
{
	if (viewer->ascii)
		return row->open ? "-" : "+";
	return row->open ? "▾" : "▸";
}

static char *heading_words(const struct viewer *viewer, const struct viewer_row *row)
{
	const struct view_process *process =
		row->kind == VIEWER_PROCESS ? &viewer->processes.at[row->index] : NULL;
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *others = NULL;
	AUTO_FREE char *id = NULL;

	if (row->kind == VIEWER_OTHERS)
		return viewer_others_heading(viewer, (enum other_group)row->index, row->open);
	if (row->kind == VIEWER_CPUS)
		return xasprintf("%u CPUs", row->hidden);
	name = text_escaped(view_process_name(viewer->timeline, process));
	id = process->tgid ? xasprintf("[%d]", process->tgid) : xstrdup("");
	if (row->hidden && row->idle == row->hidden)
		others = xasprintf(", %u other%s idle", row->hidden, row->hidden > 1 ? "s" : "");
	else if (row->hidden)
		others = xasprintf(", %u other%s, %u of them idle", row->hidden,
				   row->hidden > 1 ? "s" : "", row->idle);
	return xasprintf("%s%s: %u thread%s%s", name, id, process->threads,
			 process->threads > 1 ? "s" : "", others ? others : "");
}

/* The number of a thread stays, should its name be cut. */
static void put_name(const struct viewer *viewer, const struct viewer_row *row, int at, int room,
		     struct grid *grid, int line)
{
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *id = NULL;
	struct grid cut = { 0 };
	int width;

	if (row->kind == VIEWER_CPU) {
		grid_printf(grid, line, at, GRID_PLAIN, "CPU %u", row->index);
		return;
	}
	name = text_escaped(timeline_comm(viewer->timeline, row->index));
	id = xasprintf("[%d]", viewer->timeline->threads[row->index]->tid);
	width = room - (int)strlen(id);
	grid_reset(&cut, 1, width < 1 ? 1 : width);
	width = grid_put(&cut, 0, 0, GRID_PLAIN, name);
	width = width < cut.columns ? width : cut.columns;
	for (int i = 0; i < width; i++)
		grid->cells[line * grid->columns + at + i] = cut.cells[i];
	grid_put(grid, line, at + width, GRID_PLAIN, id);
	grid_fini(&cut);
}

static void draw_cells(const struct viewer *viewer, const struct viewer_layout *layout, int line,
		       struct view_lane lane, bool *in_sight, struct grid *grid)
{
	AUTO_FREE struct viewer_cell *cells = xcalloc(viewer->width, sizeof(*cells));
	AUTO_FREE bool *marked = xcalloc(viewer->width, sizeof(*marked));
	uint32_t cursor = viewer_column(viewer, viewer->cursor_ns);
	struct lane_shares sum;

	viewer_cells(viewer, lane, cells, &sum);
	if (lane.kind == 't')
		(void)viewer_mark_columns(viewer, lane.index, marked);
	for (uint32_t i = 0; i < viewer->width; i++) {
		int column = layout->gutter + (int)i;
		uint8_t marks = marked[i] ? GRID_STRONG : viewer->chain.shown ? GRID_FAINT : 0;

		in_sight[cells[i].state] = true;
		grid_put(grid, line, column, (enum grid_style)(GRID_LANES + cells[i].state),
			 viewer_glyph(cells[i].state, viewer->ascii));
		grid_mark(grid, line, column, (uint8_t)(marks | (i == cursor ? GRID_CURSOR : 0)));
	}
}

/* Its whole name is told below, where it is selected. */
static void draw_other(const struct viewer *viewer, const struct viewer_layout *layout, int line,
		       uint32_t index, bool *marks_in_sight, struct grid *grid)
{
	const struct other_lane *lane = others_lane(viewer_others(viewer), index);
	const struct lane_window window = viewer_window(viewer);
	AUTO_FREE uint8_t *cells = xcalloc(viewer->width + 1, sizeof(*cells));
	AUTO_FREE char *name = text_escaped(lane->label);
	uint32_t cursor = viewer_column(viewer, viewer->cursor_ns);

	grid_put_within(grid, line, 3, layout->gutter - 4, GRID_PLAIN, name);
	viewer_other_cells(lane, viewer->timeline, &window, cells);
	for (uint32_t i = 0; i < viewer->width; i++) {
		int column = layout->gutter + (int)i;

		marks_in_sight[cells[i]] = true;
		grid_put(grid, line, column, viewer_mark_style((enum viewer_mark)cells[i]),
			 viewer_mark_glyph((enum viewer_mark)cells[i], viewer->ascii));
		grid_mark(grid, line, column, i == cursor ? GRID_CURSOR : 0);
	}
}

static void draw_row(const struct viewer *viewer, const struct viewer_layout *layout, size_t index,
		     int line, struct viewer_sight *sight, struct grid *grid)
{
	const struct viewer_row *row = &viewer->rows[index];
	const struct view_lane lane = viewer_lane(row);
	int at = 2 + (int)row->depth;
	bool is_concerned = lane.kind == 't' && viewer_is_concerned(viewer, lane.index);
	const char *sign = index == viewer->row ? ">" : is_concerned ? "*" : " ";

	if (!lane.kind) {
		AUTO_FREE char *words = heading_words(viewer, row);

		at = grid_put(grid, line, at, GRID_BOLD, fold_sign(viewer, row));
		grid_put_cut(grid, line, at + 1, GRID_BOLD, words);
	} else if (lane.kind == 'o') {
		draw_other(viewer, layout, line, lane.index, sight->marks, grid);
	} else {
		put_name(viewer, row, at, layout->gutter - at - 1, grid, line);
		draw_cells(viewer, layout, line, lane, sight->states, grid);
	}
	grid_put(grid, line, 0, GRID_BOLD, sign);
	if (index == viewer->row && is_concerned)
		grid_put(grid, line, 1, GRID_BOLD, "*");
	for (int i = 0; index == viewer->row && i < layout->gutter - 1; i++)
		grid->cells[line * grid->columns + i].style =
			viewer->focus == VIEWER_LANES ? GRID_SELECTED : GRID_BOLD;
}

static void draw_lanes(const struct viewer *viewer, const struct viewer_layout *layout,
		       struct grid *grid)
{
	struct viewer_sight sight = { 0 };
	size_t end = viewer->row_first + (size_t)layout->lanes;

	for (size_t i = viewer->row_first; i < viewer->row_count && i < end; i++)
		draw_row(viewer, layout, i, layout->lanes_at + (int)(i - viewer->row_first), &sight,
			 grid);
	viewer_draw_arrows(viewer, layout, grid);
	viewer_draw_legend(viewer, layout, &sight, grid);
}

void viewer_draw_click(struct viewer *viewer, const struct viewer_layout *layout, int row,
		       int column)
{
	size_t line = (size_t)(row > layout->lanes_at ? row - layout->lanes_at : 0);

	if (row >= layout->causes_at && row < layout->window_at) {
		viewer->focus = viewer_why(viewer) ? VIEWER_CAUSES : VIEWER_LANES;
		viewer_select_cause(viewer,
				    viewer->cause_first + (size_t)(row - layout->causes_at));
	}
	if (row < layout->lanes_at || row >= layout->pane_at)
		return;
	viewer->focus = VIEWER_LANES;
	viewer_select_row(viewer, viewer->row_first + line);
	if (column >= layout->gutter)
		viewer_move_cursor(viewer, column - layout->gutter -
						   (int)viewer_column(viewer, viewer->cursor_ns));
}

/* ------------------------------------------------------------------------ all */

static void draw_foot(const struct viewer *viewer, const struct viewer_layout *layout,
		      struct grid *grid)
{
	AUTO_FREE char *typed = text_escaped(viewer->input);
	int row = layout->foot_at;

	if (viewer->mode == VIEWER_SEARCHING) {
		grid_printf(grid, row, 0, GRID_BOLD, "Search threads: %s_   Enter: find  Esc: none",
			    typed);
		return;
	}
	if (viewer->message[0]) {
		grid_put(grid, row, 0, GRID_WARNING, viewer->message);
		return;
	}
	grid_put(grid, row, 0, GRID_BAR,
		 "?:help Tab:lanes w/s:zoom a/d:move h/l:cursor f:fit c:chain o:locks q:quit");
	grid_paint(grid, row, GRID_BAR);
}

static void draw_refusal(struct grid *grid)
{
	grid_printf(grid, 0, 0, GRID_BOLD, "This screen has %d x %d cells.", grid->columns,
		    grid->rows);
	grid_printf(grid, 1, 0, GRID_PLAIN, "At least %d x %d are needed:", VIEWER_COLUMNS,
		    VIEWER_ROWS);
	grid_put(grid, 2, 0, GRID_PLAIN, "make it larger, or q quits.");
}

void viewer_draw(struct viewer *viewer, struct grid *grid)
{
	struct viewer_layout layout;

	if (!viewer_layout(viewer, grid->rows, grid->columns, &layout)) {
		draw_refusal(grid);
		return;
	}
	if (viewer->mode == VIEWER_HELPING) {
		viewer_draw_help(viewer, grid);
		return;
	}
	draw_headline(viewer, &layout, grid);
	draw_causes(viewer, &layout, grid);
	draw_axis(viewer, &layout, grid);
	draw_lanes(viewer, &layout, grid);
	viewer_draw_pane(viewer, &layout, grid);
	draw_foot(viewer, &layout, grid);
}

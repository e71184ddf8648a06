/*
 * viewer_arrows.c - arrows of the chain that is shown: in the column of each waking, from the lane of who woke to that
 * of who was woken. Hardware wakes from no lane, and has none.
 */
#include <string.h>

#include "tui/grid.h"
#include "tui/viewer_draw.h"
#include "tui/viewer_model.h"
#include "tui/viewer_pane.h"

/* Without UTF-8 the second one. */
enum sign {
	HEAD_UP,
	HEAD_DOWN,
	LINE,
	FROM_BELOW,
	FROM_ABOVE,
};

static const char *const signs[][2] = {
	[HEAD_UP] = { "▲", "^" },    [HEAD_DOWN] = { "▼", "v" },  [LINE] = { "│", "|" },
	[FROM_BELOW] = { "┴", "+" }, [FROM_ABOVE] = { "┬", "+" },
};

/* The screen line of a thread's lane, which may lie outside of what is in sight. Returns whether it has one. */
static bool find_line(const struct viewer *viewer, const struct viewer_layout *layout,
		      uint32_t slot, int *out_line)
{
	for (size_t i = 0; i < viewer->row_count; i++) {
		if (viewer->rows[i].kind != VIEWER_THREAD || viewer->rows[i].index != slot)
			continue;
		*out_line = layout->lanes_at + (int)i - (int)viewer->row_first;
		return true;
	}
	return false;
}

/* Words of a heading stay. */
static void put_sign(const struct viewer *viewer, const struct viewer_layout *layout, int line,
		     int column, enum sign sign, struct grid *grid)
{
	struct grid_cell *cell = &grid->cells[line * grid->columns + column];
	size_t row = viewer->row_first + (size_t)(line - layout->lanes_at);
	bool is_lane = row < viewer->row_count && viewer_lane(&viewer->rows[row]).kind;
	uint8_t cursor = cell->marks & GRID_CURSOR;

	if (!is_lane && cell->code != ' ')
		return;
	grid_put(grid, line, column, GRID_BOLD, signs[sign][viewer->ascii]);
	cell->marks = cursor;
}

static void draw_arrow(const struct viewer *viewer, const struct viewer_layout *layout,
		       const struct viewer_hop *hop, struct grid *grid)
{
	int column = layout->gutter + (int)viewer_column(viewer, hop->end_ns), to, from;
	bool is_up;

	if (hop->waker == SLOT_NONE || hop->end_ns < viewer->from_ns ||
	    hop->end_ns >= viewer->to_ns || !find_line(viewer, layout, hop->slot, &to) ||
	    !find_line(viewer, layout, hop->waker, &from) || from == to)
		return;
	is_up = to < from;
	for (int line = is_up ? to : from; line <= (is_up ? from : to); line++) {
		enum sign sign = line == to	? (is_up ? HEAD_UP : HEAD_DOWN)
				 : line == from ? (is_up ? FROM_BELOW : FROM_ABOVE)
						: LINE;

		if (line >= layout->lanes_at && line < layout->lanes_at + layout->lanes)
			put_sign(viewer, layout, line, column, sign, grid);
	}
}

void viewer_draw_arrows(const struct viewer *viewer, const struct viewer_layout *layout,
			struct grid *grid)
{
	const struct viewer_chain *chain = &viewer->chain;

	for (uint32_t i = 0; chain->shown && i < chain->hop_count; i++)
		draw_arrow(viewer, layout, &chain->hops[i], grid);
}

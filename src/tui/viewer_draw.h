/*
 * viewer_draw.h - holdup view --tui as a grid of cells.
 *
 *	the sentence
 *	causes ...			largest first
 *	window, axis, where the cause was
 *	lanes ...			a cell: the state that took most of that time
 *	details, or the chain
 *	legend, keys
 */
#ifndef TUI_VIEWER_DRAW_H
#define TUI_VIEWER_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "view/lanes.h"
#include "view/shares.h"

struct grid;
struct viewer;

#define VIEWER_ROWS    24 /* smaller ones are refused */
#define VIEWER_COLUMNS 80

/* Where what is: first row and how many. */
struct viewer_layout {
	int headline, causes_at, causes;
	int window_at, axis_at, where_at;
	int lanes_at, lanes;
	int pane_at, pane;
	int legend_at, legend;
	int foot_at;
	int gutter, width; /* of the lanes: names, columns */
};

/* Columns for the names of lanes, on a screen of so many. */
int viewer_gutter(int columns);

/* Sets the model's page by it. Returns false on a screen that is too small. */
bool viewer_layout(struct viewer *viewer, int rows, int columns, struct viewer_layout *out_layout);

/* Into a grid that is blank. Too small a one says so. */
void viewer_draw(struct viewer *viewer, struct grid *grid);

/* Select what is there: a cause, a lane, a moment. */
void viewer_draw_click(struct viewer *viewer, const struct viewer_layout *layout, int row,
		       int column);

/* The one character of a state; no two states share one. */
const char *viewer_glyph(enum lane_state state, bool ascii);

/*
 * A lane's columns: what took most of each while it was there, and how many percent of that; LANE_ABSENT where it was not
 * there at all.
 */
struct viewer_cell {
	uint8_t state; /* enum lane_state */
	uint8_t percent;
};

void viewer_cells(const struct viewer *viewer, struct view_lane lane, struct viewer_cell *out_cells,
		  struct lane_shares *out_sum);

/* "+1.234 s" since the recording began, with as many digits as matter where 'fine_ns' can be told apart. */
struct text viewer_moment(const struct viewer *viewer, uint64_t time_ns, uint64_t fine_ns);

#endif

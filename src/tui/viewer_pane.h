/* viewer_pane.h - what stands below the lanes of holdup view --tui, and its help. */
#ifndef TUI_VIEWER_PANE_H
#define TUI_VIEWER_PANE_H

#include <stdbool.h>

#include "tui/viewer_others.h"
#include "view/shares.h"

struct grid;
struct viewer;
struct viewer_layout;

/* What the lanes show: by enum lane_state, by enum viewer_mark. */
struct viewer_sight {
	bool states[LANE_STATE_COUNT];
	bool marks[VIEWER_MARK_COUNT];
};

/* What is at the cursor, or the chain. */
void viewer_draw_pane(const struct viewer *viewer, const struct viewer_layout *layout,
		      struct grid *grid);

/* Over the lanes, of the chain that is shown: from who woke to who was woken. In viewer_arrows.c. */
void viewer_draw_arrows(const struct viewer *viewer, const struct viewer_layout *layout,
			struct grid *grid);

/* Of the states that are in sight. */
void viewer_draw_legend(const struct viewer *viewer, const struct viewer_layout *layout,
			const struct viewer_sight *sight, struct grid *grid);

/* The same into so many rows; 'others_first': there may be no room for all. */
void viewer_put_legend(struct grid *grid, int row, int rows, const struct viewer_sight *sight,
		       bool ascii, bool others_first);

void viewer_draw_help(const struct viewer *viewer, struct grid *grid);

#endif

/*
 * viewer_others.h - locks, disks and other lanes that are no threads, as rows of holdup view --tui.
 *
 * They are read once somebody wants them, by a thread of view/others.h. A cell is one character: of states the one that took
 * most of its time, should there be any; of levels and amounts eighths of the largest in sight.
 */
#ifndef TUI_VIEWER_OTHERS_H
#define TUI_VIEWER_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/others/others.h"
#include "tui/grid.h"

struct lane_window;
struct timeline;
struct viewer;

#define VIEWER_OF_A_GROUP 10u /* lanes, the largest */

enum viewer_mark {
	VIEWER_NO_MARK,
	VIEWER_EIGHTH, /* 1 to 8 */
	VIEWER_EIGHT = VIEWER_EIGHTH + 7,
	VIEWER_HELD,
	VIEWER_CONTENDED,
	VIEWER_WAITED,
	VIEWER_SOME_STALLED,
	VIEWER_ALL_STALLED,
	VIEWER_LOST,
	VIEWER_MARK_COUNT
};

const char *viewer_mark_glyph(enum viewer_mark mark, bool ascii);
enum grid_style viewer_mark_style(enum viewer_mark mark);
/* For the legend; NULL = it needs none. */
const char *viewer_mark_words(enum viewer_mark mark);

/* enum viewer_mark of each column of the window. Of 'timeline' where events were lost; NULL = nowhere. */
void viewer_other_cells(const struct other_lane *lane, const struct timeline *timeline,
			const struct lane_window *window, uint8_t *out_cells);

/* Show these rows, or no more. */
void viewer_others_toggle(struct viewer *viewer);
/* They are shown, and still being read: ask again soon. Sets the message; makes the rows once they are there. */
bool viewer_others_await(struct viewer *viewer);

/* The rows, behind those that there are. */
void viewer_others_add_rows(struct viewer *viewer,
			    void (*add)(struct viewer *viewer, uint32_t index, bool is_heading,
					uint32_t hidden, bool is_open));
const struct others *viewer_others(const struct viewer *viewer); /* NULL = none are shown */

/* "Locks: 25, the 10 largest"; free it. */
char *viewer_others_heading(const struct viewer *viewer, enum other_group group, bool is_open);

/* The lane's next span behind the cursor, or the last one before it. False: there is none. */
bool viewer_other_step(const struct viewer *viewer, const struct other_lane *lane, int by,
		       uint64_t *out_ns);

#endif

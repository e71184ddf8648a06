/*
 * viewer_live.h - lanes in a terminal while recording goes on, a second or two behind.
 *
 * Who records makes a picture: names and cells. Who looks draws it into its grid, and believes nothing of it.
 */
#ifndef TUI_VIEWER_LIVE_H
#define TUI_VIEWER_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grid;
struct view;

#define VIEWER_LIVE_ROWS    64u
#define VIEWER_LIVE_COLUMNS 400u /* of a lane, at most */

struct viewer_live_row {
	char name[64];			    /* escaped */
	uint8_t kind;			    /* 't', 'c', 'o' */
	uint8_t cells[VIEWER_LIVE_COLUMNS]; /* enum lane_state; of 'o' enum viewer_mark */
};

struct viewer_live_picture {
	uint64_t from_ns, to_ns; /* since the recording began */
	uint32_t width, row_count;
	struct viewer_live_row rows[VIEWER_LIVE_ROWS];
};

/* Of the view's window: the busiest threads, other lanes that are read, CPUs. Returns its bytes: no more rows than there are. */
size_t viewer_live_make(const struct view *view, uint32_t width,
			struct viewer_live_picture *out_picture);

/* Columns of lanes on a screen of so many. */
uint32_t viewer_live_width(int columns);

/* What of it is drawn. */
struct viewer_live_look {
	uint32_t first; /* row */
	bool ascii, is_ending;
	double seconds; /* since recording began */
};

/*
 * 'bytes' of the picture are there; 0 = none is yet. Into a grid that is blank. Returns how many rows the picture has.
 */
uint32_t viewer_live_draw(const struct viewer_live_picture *picture, size_t bytes,
			  const struct viewer_live_look *look, struct grid *grid);

#endif

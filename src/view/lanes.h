/*
 * lanes.h - lanes as bytes: "lanes?from=..&to=..&width=..&rows=t5,c0". docs/view.md has the layout.
 */
#ifndef VIEW_LANES_H
#define VIEW_LANES_H

#include <stdint.h>

struct err;
struct lane_shares;
struct lane_window;
struct view;

#define VIEW_LANES_MAX 256
#define VIEW_WIDTH_MAX 4096

/* A lane by its name: 't' and a slot, 'c' and a CPU. */
struct view_lane {
	char kind; /* 't' or 'c' */
	uint32_t index;
};

/* "t5,c0" into at most VIEW_LANES_MAX lanes that there are. -EINVAL with err filled. */
int view_lanes_parse(const struct view *view, const char *text, struct view_lane *out_lanes,
		     uint32_t *out_count, struct err *err);

/* The lane's columns and sum. */
void view_lane_columns(const struct view *view, struct view_lane lane,
		       const struct lane_window *window, struct lane_shares *out_sum);

#endif

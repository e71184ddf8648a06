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
	char kind; /* 't' or 'c'; others.c: 'o' */
	uint32_t index;
};

/* One name of a list into *out_lane. A negative errno: there is no such lane. */
typedef int view_name_parse(const void *context, const char *text, struct view_lane *out_lane);

/* A list of at most VIEW_LANES_MAX names, with commas between them. -EINVAL with err filled. */
int view_names_parse(const char *text, view_name_parse *parse, const void *context,
		     struct view_lane *out_lanes, uint32_t *out_count, struct err *err);

/* "t5,c0" into at most VIEW_LANES_MAX lanes that there are. -EINVAL with err filled. */
int view_lanes_parse(const struct view *view, const char *text, struct view_lane *out_lanes,
		     uint32_t *out_count, struct err *err);

/* The lane's columns and sum. */
void view_lane_columns(const struct view *view, struct view_lane lane,
		       const struct lane_window *window, struct lane_shares *out_sum);

#endif

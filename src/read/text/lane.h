/*
 * lane.h - the lines of a trace that is text as events in order of time.
 *
 * A tool that merges the CPUs writes some lines a little late: they are held back until so many
 * others have been read, and handed out by their times.
 */
#ifndef READ_TEXT_LANE_H
#define READ_TEXT_LANE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct lane;
struct text_kinds;
struct text_lane;

/* What all of it has in common; must live as long as the lane. */
struct text_common {
	const char *path;
	struct text_kinds *kinds;
	uint64_t first_ns; /* of the recording */
};

/* Returns 0 and *out_lane; it is closed by its own operation. */
int text_lane_new(const struct text_common *common, struct text_lane **out_lane, struct err *err);

struct lane *text_lane_lane(struct text_lane *lane);

/* The time of the line that begins at this byte of the file. False when it is no event. */
bool text_lane_time_at(const struct text_lane *lane, uint64_t place, uint64_t *out_ns);

#endif

/* details.h - what a lane was in at one moment. */
#ifndef VIEW_DETAILS_H
#define VIEW_DETAILS_H

#include <stdint.h>

#include "timeline/timeline.h"
#include "view/lanes.h"

/* The span around 'time_ns', which lies within the timeline, as long as the timeline has it. */
void view_span_around(const struct timeline *timeline, struct view_lane lane, uint64_t time_ns,
		      struct tl_interval *out_span);

/* "working", "blocked" ... */
const char *view_wib_name(enum wib wib);

#endif

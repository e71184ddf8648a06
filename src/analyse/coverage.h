/*
 * coverage.h - what the numbers of a window rest on: holes, and switches not recorded.
 */
#ifndef ANALYSE_COVERAGE_H
#define ANALYSE_COVERAGE_H

#include <stdint.h>

struct err;
struct timeline;

struct coverage {
	uint64_t lost_events;	 /* on any CPU, within the window */
	uint64_t lost_span_ns;	 /* time of the window touched by a hole on some CPU */
	uint64_t repairs;	 /* switches of the whole recording that were not recorded */
	uint64_t repairs_exact;	 /* of these, placed exactly by other events */
	uint64_t contradictions; /* of the whole recording: events that cannot be true together */
	const char *damage;	 /* of the timeline's store; NULL = none; owned by the timeline */
};

/* Ask it when everything else was asked: damage shows where it is read. */
struct coverage coverage_of(const struct timeline *timeline, uint64_t start_ns, uint64_t end_ns);

/* -EINVAL with err filled when nothing of [start, end) lies in the recording; else cut to it. */
int coverage_window(const struct timeline *timeline, uint64_t *start_ns, uint64_t *end_ns,
		    struct err *err);

#endif

/* lane.h - a chain of runs of a perf.data file as a lane of events. */
#ifndef READ_PERF_LANE_H
#define READ_PERF_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event;
struct lane;
struct perf_chain;
struct perf_decoder;

/* All must live as long as the lane. 'many': there are many lanes, each takes less memory. */
struct lane *perf_lane_new(const struct perf_chain *chain, const struct perf_decoder *decoder,
			   bool many);

/* A lane of these events, all at one time, behind all others. */
struct lane *perf_tail_new(const struct event *events, size_t count);

/* The time of the record at this place. False when there is none. */
bool perf_place_time(const struct perf_decoder *decoder, uint64_t place, uint64_t *out_ns);

#endif

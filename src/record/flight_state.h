/*
 * flight_state.h - the file that says what a killed flight recorder leaves in the kernel.
 *
 *	instance NAME
 *	events SET
 *	buffer BYTES            of a CPU
 *	on NS                   since when it records
 *	omits 0|1
 *	step NS STEP COST       each change of what is recorded
 *	sync RAW MONO REAL      how the clocks go
 */
#ifndef RECORD_FLIGHT_STATE_H
#define RECORD_FLIGHT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct manifest;
struct sync_point;

#define FLIGHT_STEPS_MOST 1024 /* kept */

struct flight_state {
	char instance[64];
	char events[256];
	uint64_t cpu_bytes;
	uint64_t on_ns;
	bool omits_idle_switches;
};

/* Returns whether the text has all of that; the lines "step" and "sync" are not among it. */
bool flight_parse_state(const char *text, struct flight_state *out_state);

/* Its lines "sync"; returns how many, 'most' at most. */
size_t flight_parse_syncs(const char *text, struct sync_point *out_points, size_t most);

/* Its lines "step" are added. */
void flight_parse_steps(const char *text, struct manifest *manifest);

#endif

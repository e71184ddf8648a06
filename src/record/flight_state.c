/* flight_state.c - see flight_state.h. */
#include "record/flight_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/keyed.h"
#include "record/budget.h"
#include "record/clock.h"
#include "store/manifest.h"

bool flight_parse_state(const char *text, struct flight_state *out_state)
{
	struct flight_state state = { 0 };
	uint64_t omits;

	if (!keyed_find(text, "instance", state.instance, sizeof(state.instance)) ||
	    !keyed_find(text, "events", state.events, sizeof(state.events)) ||
	    !keyed_find_u64(text, "buffer", &state.cpu_bytes) ||
	    !keyed_find_u64(text, "on", &state.on_ns) || !keyed_find_u64(text, "omits", &omits))
		return false;
	state.omits_idle_switches = omits != 0;
	*out_state = state;
	return true;
}

static const char *next_line(const char *text)
{
	text = strchrnul(text, '\n');
	return text + (*text == '\n');
}

size_t flight_parse_syncs(const char *text, struct sync_point *out_points, size_t most)
{
	size_t count = 0;

	for (; *text && count < most; text = next_line(text)) {
		struct sync_point *point = &out_points[count];

		if (sscanf(text, "sync %" SCNu64 " %" SCNu64 " %" SCNu64, &point->raw,
			   &point->mono_ns, &point->real_ns) == 3)
			count++;
	}
	return count;
}

void flight_parse_steps(const char *text, struct manifest *manifest)
{
	struct manifest_step step;

	for (; *text && manifest->step_count < FLIGHT_STEPS_MOST; text = next_line(text)) {
		if (sscanf(text, "step %" SCNu64 " %" SCNu32 " %" SCNu32, &step.since_ns,
			   &step.step, &step.cost_ppm) == 3 &&
		    step.step < STEP_COUNT && step.since_ns <= INT64_MAX)
			manifest_add_step(manifest, &step);
	}
}

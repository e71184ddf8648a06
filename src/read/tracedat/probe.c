/* probe.c - samples from four places of each CPU's data, or all of a small file. */
#include "read/tracedat/probe.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/facts.h"
#include "read/kernel/events.h"
#include "read/kernel/pages.h"
#include "read/kernel/ring.h"

#define PLACES	      4u
#define PER_PLACE     1024u
#define MAX_PLACES    512u	 /* of all CPUs */
#define WHOLE_BYTES   (8u << 20) /* of all CPUs: all of it is looked at */
#define MANY_SWITCHES 8u	 /* into the idle task, before anything follows from them */

struct dat_probe {
	uint64_t first_ns, last_ns;
	type_set *seen; /* owned; one for each instance */
	size_t instances;
	uint64_t to_idle, from_idle; /* switches */
	uint32_t places;
	bool whole; /* all of the data is looked at */
	bool has_stacks;
};

struct look {
	struct dat_probe *probe;
	const struct kernel_events *events;
	size_t instance;
	uint32_t left;
};

struct dat_probe *dat_probe_new(size_t instances, uint64_t bytes, const struct facts *facts)
{
	struct dat_probe *probe = xcalloc(1, sizeof(*probe));

	probe->first_ns = facts->first_ns;
	probe->last_ns = facts->last_ns;
	probe->whole = bytes <= WHOLE_BYTES;
	probe->instances = instances;
	probe->seen = xcalloc(instances + 1, sizeof(*probe->seen));
	return probe;
}

void dat_probe_free(struct dat_probe *probe)
{
	if (!probe)
		return;
	free(probe->seen);
	free(probe);
}

static bool is_stack(const struct event *event)
{
	return event->type == EV_STACK ||
	       (event->type == EV_OTHER && strcmp(event->other.name, "user_stack") == 0 &&
		strcmp(event->other.system, "ftrace") == 0);
}

static bool dat_probe_see(void *context, const struct record *record, uint64_t time_ns)
{
	struct look *look = context;
	struct dat_probe *probe = look->probe;
	struct event event;

	(void)time_ns;
	if (record->bytes >= KERNEL_EVENT_MIN_BYTES &&
	    kernel_events_decode(look->events, record, &event)) {
		probe->seen[look->instance] |= (type_set)1 << event.type;
		probe->has_stacks |= is_stack(&event);
		if (event.type == EV_SCHED_SWITCH) {
			probe->to_idle += event.sched_switch.next_tid == 0;
			probe->from_idle += event.sched_switch.prev_tid == 0;
		}
	}
	return --look->left > 0;
}

void dat_probe_ring(struct dat_probe *probe, size_t instance, struct ring *ring,
		    const struct kernel_events *events)
{
	uint64_t span = probe->last_ns - probe->first_ns;

	if (probe->whole) {
		struct look all = { probe, events, instance, UINT32_MAX };

		ring_walk(ring, 0, dat_probe_see, &all);
		return;
	}
	for (uint32_t i = 0; i < PLACES && probe->places < MAX_PLACES; i++, probe->places++) {
		struct look look = { probe, events, instance, PER_PLACE };

		ring_walk(ring, i ? probe->first_ns + span / PLACES * i : 0, dat_probe_see, &look);
	}
}

void dat_probe_finish(const struct dat_probe *probe, struct facts *facts)
{
	for (size_t i = 0; i < probe->instances; i++)
		facts->has_syscalls |= probe->seen[i] >> EV_SYS_ENTER & 1;
	facts->omits_idle_switches =
		probe->to_idle >= MANY_SWITCHES && probe->from_idle < probe->to_idle / 2;
}

type_set dat_probe_seen(const struct dat_probe *probe, size_t instance)
{
	return probe->seen[instance] & ~((type_set)1 << EV_OTHER);
}

bool dat_probe_has_stacks(const struct dat_probe *probe)
{
	return probe->has_stacks;
}

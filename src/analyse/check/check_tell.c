/* check_tell.c - what an event tells beside itself: locks of programs, memory of processes. */
#include "analyse/check/check_int.h"
#include "event/event.h"

/* The process of the event's thread; -1 = not known. */
static int32_t event_process(const struct check *check, const struct event *event)
{
	const struct timeline *timeline = check->opts.timeline;
	uint32_t slot = SLOT_NONE;

	if (timeline && event->tid >= 0)
		slot = timeline_find_thread(timeline, event->tid, event->time_ns);
	return slot == SLOT_NONE ? -1 : timeline->threads[slot]->tgid;
}

void check_tell_lock(struct check *check, const struct event *event)
{
	if (check->metrics.locks)
		check_locks_feed(check->metrics.locks, event, event_process(check, event));
}

void check_tell_memory(struct check *check, const struct event *event, uint64_t bytes)
{
	check_metrics_add(&check->metrics, event->tid, METRIC_ALLOCATED, bytes);
}

void check_tell_resident(struct check *check, const struct event *event,
			 const struct check_resident *resident)
{
	if (!check->metrics.rss)
		return;
	/* What it was before is not that any more, also when nothing else happened now. */
	check->now.known = check->other.known = false;
	check_rss_feed(check->metrics.rss, resident, event_process(check, event), event->time_ns,
		       &check->metrics.holes[0]);
}

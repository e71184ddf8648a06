/*
 * sched-events.c - the switches and wake-ups of a trace, one line each, for tests in Python.
 *
 * usage: sched-events TRACE
 *
 *	switch TIME CPU PREV_TID RUNNABLE NEXT_TID	RUNNABLE: 1 = preempted or yielded
 *	waking TIME CPU TID				recorded by the waker
 *	wakeup TIME CPU TID AFTER			CPU: in whose queue it is from now on
 *	runtime TIME TID NS				the kernel adds NS to its time on a CPU
 *	hole TIME CPU					events are missing before this
 *
 * AFTER is the last event before on the CPU that recorded the wake-up, other wake-ups left
 * out: after that it has read the clock of the queue, once for all that it put there.
 *
 * Times are ns, in order. Nothing here knows what holdup makes of them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"
#include "read/read.h"

#define MAX_CPUS 8192

/* 'after_ns' is of each CPU. */
static void print_event(const struct event *ev, uint64_t *after_ns)
{
	unsigned long long time_ns = ev->time_ns;

	switch (ev->type) {
	case EV_SCHED_SWITCH:
		printf("switch %llu %u %d %d %d\n", time_ns, ev->cpu, ev->sched_switch.prev_tid,
		       ev->sched_switch.prev_state == TASK_STATE_RUNNABLE,
		       ev->sched_switch.next_tid);
		break;
	case EV_SCHED_WAKING:
		printf("waking %llu %u %d\n", time_ns, ev->cpu, ev->wake.tid);
		break;
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		printf("wakeup %llu %d %d %llu\n", time_ns, ev->wake.target_cpu, ev->wake.tid,
		       (unsigned long long)after_ns[ev->cpu]);
		return;
	case EV_SCHED_STAT_RUNTIME:
		printf("runtime %llu %d %llu\n", time_ns, ev->runtime.tid,
		       (unsigned long long)ev->runtime.runtime_ns);
		break;
	case EV_LOST:
		printf("hole %llu %u\n", time_ns, ev->cpu);
		break;
	default:
		break;
	}
	after_ns[ev->cpu] = ev->time_ns;
}

int main(int argc, char **argv)
{
	static uint64_t after_ns[MAX_CPUS];
	const struct event *ev;
	struct trace *trace;
	struct err err = { 0 };
	int rc;

	if (argc != 2)
		return 2;
	rc = read_open(argv[1], &trace, &err);
	if (rc == 0) {
		while ((rc = source_next(trace_source(trace), &ev, &err)) > 0 && ev->cpu < MAX_CPUS)
			print_event(ev, after_ns);
		trace_close(trace);
	}
	if (rc < 0)
		fprintf(stderr, "sched-events: %s\n", err.text);
	return rc == 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

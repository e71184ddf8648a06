/*
 * sched-events.c - the switches and wake-ups of a trace, one line each, for tests in Python.
 *
 * usage: sched-events TRACE
 *
 *	switch TIME CPU PREV_TID RUNNABLE NEXT_TID	RUNNABLE: 1 = preempted or yielded
 *	waking TIME CPU TID				recorded by the waker
 *	wakeup TIME CPU TID				CPU: in whose queue it is from now on
 *	runtime TIME TID NS				the kernel adds NS to its time on a CPU
 *	hole TIME CPU					events are missing before this
 *
 * Times are ns, in order. Nothing here knows what holdup makes of them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"
#include "read/read.h"

static void print_wake(const char *what, const struct event *ev, int cpu)
{
	printf("%s %llu %d %d\n", what, (unsigned long long)ev->time_ns, cpu, ev->wake.tid);
}

static void print_event(const struct event *ev)
{
	unsigned long long time_ns = ev->time_ns;

	switch (ev->type) {
	case EV_SCHED_SWITCH:
		printf("switch %llu %u %d %d %d\n", time_ns, ev->cpu, ev->sched_switch.prev_tid,
		       ev->sched_switch.prev_state == TASK_STATE_RUNNABLE,
		       ev->sched_switch.next_tid);
		break;
	case EV_SCHED_WAKING:
		print_wake("waking", ev, ev->cpu);
		break;
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		print_wake("wakeup", ev, ev->wake.target_cpu);
		break;
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
}

int main(int argc, char **argv)
{
	const struct event *ev;
	struct trace *trace;
	struct err err = { 0 };
	int rc;

	if (argc != 2)
		return 2;
	rc = read_open(argv[1], &trace, &err);
	if (rc == 0) {
		while ((rc = source_next(trace_source(trace), &ev, &err)) > 0)
			print_event(ev);
		trace_close(trace);
	}
	if (rc < 0)
		fprintf(stderr, "sched-events: %s\n", err.text);
	return rc == 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* metric.c - the table of metrics. */
#include "model/metric.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "model/model.h"

static const struct metric_row rows[METRIC_KIND_COUNT] = {
	[METRIC_ELAPSED] = { "elapsed", UNIT_TIME, FROM_CLOCK, ARG_NONE, "elapsed time" },
	[METRIC_ON_CPU] = { "on_cpu", UNIT_TIME, FROM_TIMELINE, ARG_NONE,
			    "time on a CPU, including interrupts" },
	[METRIC_USER] = { "user", UNIT_TIME, FROM_TIMELINE, ARG_NONE, "time in user code" },
	[METRIC_SYSTEM] = { "system", UNIT_TIME, FROM_TIMELINE, ARG_NONE,
			    "time in the kernel: system calls, page faults, kernel threads" },
	[METRIC_WAIT_CPU] = { "wait_cpu", UNIT_TIME, FROM_TIMELINE, ARG_NONE,
			      "time runnable without a CPU" },
	[METRIC_PREEMPTED] = { "preempted", UNIT_TIME, FROM_TIMELINE, ARG_NONE,
			       "the part of wait_cpu after preemption" },
	[METRIC_BLOCKED] = { "blocked", UNIT_TIME, FROM_TIMELINE, ARG_WAIT,
			     "time asleep, of all kinds or one" },
	[METRIC_IN_SYSCALLS] = { "in_syscalls", UNIT_TIME, FROM_TIMELINE, ARG_CALL,
				 "time from enter to exit, of all calls or one" },
	[METRIC_IN_IRQ] = { "in_irq", UNIT_TIME, FROM_TIMELINE, ARG_NONE,
			    "time of interrupts on its CPU while running" },
	[METRIC_IN_SOFTIRQ] = { "in_softirq", UNIT_TIME, FROM_TIMELINE, ARG_NONE,
				"time of softirqs on its CPU while running" },
	[METRIC_UNCERTAIN] = { "uncertain", UNIT_TIME, FROM_TIMELINE, ARG_NONE,
			       "time in unknown state" },
	[METRIC_LOCK_WAIT] = { "lock_wait", UNIT_TIME, FROM_LOCKS, ARG_NONE,
			       "time waiting for locks, from lock events; record with --locks" },
	[METRIC_LOCK_HELD] = { "lock_held", UNIT_TIME, FROM_LOCKS, ARG_NONE,
			       "time holding a lock, from lock events; record with --locks" },
	[METRIC_PREEMPTIONS] = { "preemptions", UNIT_PLAIN, FROM_TIMELINE, ARG_NONE,
				 "involuntary context switches" },
	[METRIC_SWITCHES] = { "switches", UNIT_PLAIN, FROM_TIMELINE, ARG_NONE,
			      "voluntary context switches" },
	[METRIC_MIGRATIONS] = { "migrations", UNIT_PLAIN, FROM_TIMELINE, ARG_NONE,
				"migrations to another CPU" },
	[METRIC_SYSCALLS] = { "syscalls", UNIT_PLAIN, FROM_TIMELINE, ARG_CALL,
			      "system calls begun, in total or one" },
	[METRIC_FAULTS] = { "faults", UNIT_PLAIN, FROM_EVENTS, ARG_NONE, "page faults" },
	[METRIC_INTERRUPTS] = { "interrupts", UNIT_PLAIN, FROM_EVENTS, ARG_NONE,
				"interrupts taken on its CPU" },
	[METRIC_SOFTIRQS] = { "softirqs", UNIT_PLAIN, FROM_EVENTS, ARG_NONE,
			      "softirqs run on its CPU" },
	[METRIC_WAKEUPS] = { "wakeups", UNIT_PLAIN, FROM_EVENTS, ARG_NONE, "wake-ups" },
	[METRIC_SIGNALS] = { "signals", UNIT_PLAIN, FROM_EVENTS, ARG_NONE, "signals delivered" },
	[METRIC_BYTES_READ] = { "bytes_read", UNIT_BYTES, FROM_EVENTS, ARG_NONE,
				"bytes that calls such as read and recvfrom returned" },
	[METRIC_BYTES_WRITTEN] = { "bytes_written", UNIT_BYTES, FROM_EVENTS, ARG_NONE,
				   "bytes that calls such as write and sendto took" },
	[METRIC_ALLOCATED] = { "allocated", UNIT_BYTES, FROM_EVENTS, ARG_NONE,
			       "memory: pages allocated by the kernel for the thread" },
	[METRIC_RSS_GROWN] = { "rss_grown", UNIT_BYTES, FROM_RSS, ARG_NONE,
			       "growth of its process's resident memory; negative if it shrank" },
	[METRIC_BLOCK_REQUESTS] = { "block_requests", UNIT_PLAIN, FROM_EVENTS, ARG_NONE,
				    "requests sent to block devices by the thread" },
};

const char *const metric_waits[] = { "stopped", "lock", "disk",	     "idle",	"time", "network",
				     "thread",	"io",	"interrupt", "unknown", NULL };

const struct metric_row *metric_row(enum metric_kind kind)
{
	return &rows[kind];
}

bool metric_find(const char *name, enum metric_kind *out_kind)
{
	for (uint32_t i = 0; i < METRIC_KIND_COUNT; i++) {
		if (strcmp(rows[i].name, name) == 0) {
			*out_kind = (enum metric_kind)i;
			return true;
		}
	}
	return false;
}

const char *metric_near(const char *name)
{
	size_t best = strlen(name) / 3 + 1;
	const char *near = NULL;

	for (uint32_t i = 0; i < METRIC_KIND_COUNT; i++) {
		size_t edits = text_edits(name, rows[i].name);

		if (edits <= best) {
			best = edits - (edits > 0);
			near = rows[i].name;
		}
	}
	return near;
}

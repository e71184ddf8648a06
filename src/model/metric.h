/*
 * metric.h - what can be measured over a span of a thread: counters and timers, by name.
 *
 *	elapsed  on_cpu  user  system  wait_cpu  preempted  blocked  blocked(KIND)
 *	in_syscalls  in_syscalls(CALL)  in_irq  in_softirq  uncertain
 *	lock_wait  lock_held
 *	preemptions  switches  migrations  syscalls  syscalls(CALL)  faults  interrupts
 *	softirqs  wakeups  signals  bytes_read  bytes_written  allocated  rss_grown  block_requests
 */
#ifndef MODEL_METRIC_H
#define MODEL_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metric_kind {
	METRIC_ELAPSED,
	METRIC_ON_CPU,
	METRIC_USER,
	METRIC_SYSTEM,
	METRIC_WAIT_CPU, /* runnable without a CPU, preempted or woken */
	METRIC_PREEMPTED,
	METRIC_BLOCKED,
	METRIC_IN_SYSCALLS,
	METRIC_IN_IRQ,
	METRIC_IN_SOFTIRQ,
	METRIC_UNCERTAIN,
	METRIC_LOCK_WAIT,
	METRIC_LOCK_HELD,
	METRIC_PREEMPTIONS,
	METRIC_SWITCHES,
	METRIC_MIGRATIONS,
	METRIC_SYSCALLS,
	METRIC_FAULTS,
	METRIC_INTERRUPTS,
	METRIC_SOFTIRQS,
	METRIC_WAKEUPS,
	METRIC_SIGNALS,
	METRIC_BYTES_READ,
	METRIC_BYTES_WRITTEN,
	METRIC_ALLOCATED,
	METRIC_RSS_GROWN, /* of its process; may be negative */
	METRIC_BLOCK_REQUESTS,
	METRIC_KIND_COUNT
};

/* Where its value comes from. */
enum metric_origin {
	FROM_CLOCK,
	FROM_TIMELINE,
	FROM_EVENTS, /* counted as they come */
	FROM_LOCKS,  /* what programs told of their locks */
	FROM_RSS,    /* what the kernel told of the memory of processes */
};

enum metric_argument {
	ARG_NONE,
	ARG_WAIT, /* a kind of wait: "disk" */
	ARG_CALL, /* name of a system call */
};

struct metric_row {
	const char *name;
	uint8_t unit; /* enum model_unit */
	uint8_t origin;
	uint8_t argument; /* which one it may have */
	const char *help;
};

/* One line a metric. */
const struct metric_row *metric_row(enum metric_kind kind);

/* False when there is none of that name. */
bool metric_find(const char *name, enum metric_kind *out_kind);

/* The name nearest to 'name', or NULL. */
const char *metric_near(const char *name);

struct model_metric {
	enum metric_kind kind;
	char *argument; /* owned; NULL = none */
};

/* The kinds of waits, in the words of blocked(KIND): "lock", "disk" ... Ends with NULL. */
extern const char *const metric_waits[];

#endif

/*
 * clock.h - when a sleeping thread last had a CPU.
 *
 * The scheduler tells it on a clock of each CPU that leaves out what interrupts and the hypervisor took, so
 * it is compared with that clock now: a worker goes to the CPU for it. The time is never told as longer
 * ago than it is.
 */
#ifndef STUCK_CLOCK_H
#define STUCK_CLOCK_H

#include <stdint.h>

#include "base/map.h"

struct task;
struct worker;

struct clocks {
	int proc_fd;
	struct worker *worker;
	struct map
		offsets; /* by CPU: CLOCK_MONOTONIC less its clock, signed; INT64_MIN = not known */
};

/* On CLOCK_MONOTONIC; 0 = not known. */
uint64_t clock_last_ran(struct clocks *clocks, const struct task *task);

void clocks_fini(struct clocks *clocks);

#endif

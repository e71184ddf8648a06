/*
 * clock.h - the kernel's clocks as nanoseconds.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t clock_read_ns(clockid_t clock);

/* CPU time by getrusage(2): of RUSAGE_SELF, or of all RUSAGE_CHILDREN that were waited for. */
uint64_t clock_usage_ns(int who);

/* CLOCK_MONOTONIC: for what lasts, and for time-outs. */
uint64_t clock_now_ns(void);

#endif

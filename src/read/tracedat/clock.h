/*
 * clock.h - from the time stamps of a trace.dat to nanoseconds.
 *
 * In the order in which trace-cmd applies them: what host and guest found out about each
 * other's clocks (for each CPU), counter to nanoseconds, a fixed offset.
 */
#ifndef READ_TRACEDAT_CLOCK_H
#define READ_TRACEDAT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "read/clock.h"

struct dat_meta;

/* Make the clock of a CPU. Free it with clock_fini(). */
void dat_clock_init(struct clock *clock, const struct dat_meta *meta, uint32_t cpu);

/* The name of the clock in "[local] global ...", or "local" alone. 'out_name' has room. */
void dat_clock_name(const char *text, char out_name[32]);

/* Does this clock count nanoseconds? */
bool dat_clock_counts_ns(const char *name);

#endif

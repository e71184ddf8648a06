/*
 * clock.h - the clock of user events: the counter that the kernel's trace uses, too.
 */
#ifndef RUNTIME_CLOCK_H
#define RUNTIME_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe_clock {
	bool is_counter;    /* time stamp counter; else CLOCK_MONOTONIC in ns */
	uint64_t frequency; /* Hz */
	uint64_t offset_s;  /* UNIX time when the clock was 0 ... */
	uint64_t offset;    /* ... and the rest, in ticks */
};

/* Is the machine's counter invariant and the same on all CPUs? Decided once. */
bool probe_clock_is_counter(void);

/* Ticks now. Signal safe. */
uint64_t probe_clock_now(bool is_counter);

/*
 * How ticks relate to UNIX time. All processes should say the same, or events that are ns
 * apart come in the wrong order: what the first one found out is kept in a file called
 * ".clock" in 'dir', for the time until the next boot.
 */
void probe_clock_read(const char *dir, struct probe_clock *out_clock);

#endif

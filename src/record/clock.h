/*
 * clock.h - the clock of the ring buffers, and how it relates to the system's clocks.
 *
 * Where the kernel keeps time with an invariant time stamp counter, the buffers
 * are stamped with that counter: it is the cheapest clock and user space reads the
 * same one. Else both sides use CLOCK_MONOTONIC. Sync points tie the raw clock to
 * CLOCK_MONOTONIC and CLOCK_REALTIME.
 */
#ifndef RECORD_CLOCK_H
#define RECORD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct err;

struct sync_point {
	uint64_t raw; /* of the trace clock: counter ticks, or ns */
	uint64_t mono_ns;
	uint64_t real_ns;
};

/* Is the time stamp counter what the kernel itself trusts, and invariant? */
bool clock_tsc_is_reliable(void);

/* The same, or the kernel's own clock is made of it by its host (kvm-clock): so libholdup decides in programs. */
bool clock_tsc_is_steady(void);

/*
 * Choose from the text of trace_clock ("[local] global ... x86-tsc"). Returns
 * "x86-tsc", "mono", or NULL when the kernel has neither.
 */
const char *clock_choose(const char *available, bool tsc_is_reliable);

uint64_t clock_mono_ns(void);

/* Read the three clocks at one moment; accurate to some tens of nanoseconds. */
struct sync_point clock_take(bool is_tsc);

/* The CLOCK_MONOTONIC time of a raw time, on the line through two different points. */
uint64_t clock_raw_to_mono(const struct sync_point *first, const struct sync_point *last,
			   uint64_t raw);

/* Append a line to kernel/sync. Returns 0 or a negative errno with err filled. */
int clock_append(int fd, const struct sync_point *point, struct err *err);

#endif

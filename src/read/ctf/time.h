/*
 * time.h - from ticks of a trace's clock to ns on the time line of what is open.
 *
 * Clocks of CTF say how far they are from 1970. The earliest of those distances is taken off,
 * so that the time of LTTng and of our own library is CLOCK_MONOTONIC again.
 */
#ifndef READ_CTF_TIME_H
#define READ_CTF_TIME_H

#include <stdint.h>

#include "read/clock.h"
#include "read/ctf/meta.h"

struct ctf_time {
	uint64_t freq; /* 0 = by 'line' */
	int64_t add_ns;
	const struct clock *line;
	size_t hint;
};

/* How far the clock's 0 is from 1970, ns. NULL = 0. */
int64_t ctf_clock_origin(const struct ctf_clock *clock);

struct ctf_time ctf_time_of(const struct ctf_clock *clock, int64_t origin_ns);

static inline uint64_t ctf_ns(struct ctf_time *time, uint64_t ticks)
{
	unsigned __int128 ns;

	if (__builtin_expect(time->freq == 1000000000u, 1))
		return ticks + (uint64_t)time->add_ns;
	if (time->freq == 0)
		return clock_ns(time->line, &time->hint, ticks);
	ns = (unsigned __int128)ticks * 1000000000u / time->freq;
	return (uint64_t)ns + (uint64_t)time->add_ns;
}

#endif

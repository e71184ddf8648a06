/*
 * clock.h - from the units of the kernel's trace clock to nanoseconds.
 *
 * The recorder wrote down triples: trace clock, CLOCK_MONOTONIC, CLOCK_REALTIME.
 * Between two of them time is a straight line; before the first and behind the last
 * the nearest line goes on. The result is continuous and never goes back where the
 * trace clock does not. Integers only; a span of up to 2^32 units between triples
 * (over a second of a 4 GHz counter) is rounded down exactly, a longer one is at
 * most 1 ns above that.
 *
 * Read-only once made: any number of threads may use it, each with its own hint.
 */
#ifndef READ_CLOCK_H
#define READ_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct facts;

/* Times further away than this are nonsense and come out as this: 146 years. */
#define CLOCK_MAX_NS (UINT64_C(1) << 62)

/* A straight line that begins at a triple and is used up to the next one. */
struct clock_line {
	uint64_t raw;
	uint64_t ns;
	uint64_t whole;	    /* ns per unit: the integer part */
	uint64_t fraction;  /* and what is left, times 2^64, rounded up */
	uint64_t max_units; /* from 'raw' on; more would pass CLOCK_MAX_NS */
};

struct clock {
	struct clock_line *lines; /* owned; sorted by raw; none = units are ns */
	size_t count;
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC at the first triple */
	uint64_t last_ns;	    /* CLOCK_MONOTONIC of the last triple; 0 = there is none */
};

/*
 * Make the clock called 'name' ("x86-tsc", "mono" ...) from the text of kernel/sync,
 * which may be NULL. Triples that contradict their neighbours are left out; what is
 * doubtful about the result is noted as damage. Free with clock_fini().
 */
void clock_init(struct clock *clock, const char *name, const char *sync, struct facts *facts);
void clock_fini(struct clock *clock);

/* For a unit outside of the line that 'hint' is at; moves it. */
uint64_t clock_ns_far(const struct clock *clock, size_t *hint, uint64_t raw);

static inline uint64_t clock_line_ns(const struct clock_line *line, uint64_t units)
{
	return units * line->whole + (uint64_t)(((unsigned __int128)units * line->fraction) >> 64);
}

/* The time 'raw' in ns. '*hint' is any number at first, then where the last call was. */
static inline uint64_t clock_ns(const struct clock *clock, size_t *hint, uint64_t raw)
{
	const struct clock_line *line;

	if (clock->count == 0)
		return raw < CLOCK_MAX_NS ? raw : CLOCK_MAX_NS;
	if (__builtin_expect(*hint + 1 < clock->count, 1)) {
		line = &clock->lines[*hint];
		if (raw >= line[0].raw && raw < line[1].raw)
			return line->ns + clock_line_ns(line, raw - line->raw);
	}
	return clock_ns_far(clock, hint, raw);
}

/*
 * The line that a run of times is on: for those a conversion is a few instructions
 * without a look at the clock. Zero-initialised memory is a span of no time.
 */
struct clock_span {
	uint64_t raw;
	uint64_t units; /* times from 'raw' on that are on it */
	struct clock_line line;
};

/* The span that 'raw' is in. */
struct clock_span clock_span_at(const struct clock *clock, uint64_t raw);

/* False when 'raw' is not on the span. */
static inline bool clock_span_ns(const struct clock_span *span, uint64_t raw, uint64_t *out_ns)
{
	uint64_t units = raw - span->raw;

	if (__builtin_expect(units >= span->units, 0))
		return false;
	*out_ns = span->line.ns + clock_line_ns(&span->line, units);
	return true;
}

#endif

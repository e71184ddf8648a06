/*
 * clock.c - straight lines through what the options tell about time.
 *
 * Numbers have 128 bits on the way, since products of 64 bits have so many.
 */
#include "read/tracedat/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "read/tracedat/meta.h"

typedef __int128 wide;

#define FAR	    ((wide)1 << 90) /* nothing real comes near it; times 2^32 it has room */
#define MAX_SCALING (UINT64_C(1) << 60)

static wide dat_clock_bounded(wide value)
{
	return value > FAR ? FAR : value < -FAR ? -FAR : value;
}

/* Counter units, or ns, to ns of the trace. */
static wide to_ns(const struct dat_meta *meta, wide time)
{
	if (meta->has_tsc)
		time = (dat_clock_bounded(time) * (wide)meta->tsc_mult) >> meta->tsc_shift;
	return dat_clock_bounded(time + (wide)meta->offset_ns);
}

/* The time of the host at 'raw' of the guest, by the sample. */
static wide synced(const struct dat_sample *sample, wide raw)
{
	uint64_t fraction = sample->fraction < 64 ? sample->fraction : 63;
	uint64_t scaling = sample->scaling < MAX_SCALING ? sample->scaling : MAX_SCALING;
	wide scaled = raw;

	/* Without a scale, as the first version of the protocol wrote it, time is only shifted. */
	if (scaling > 1 || fraction)
		scaled = (raw * (wide)scaling) >> fraction;
	return dat_clock_bounded(scaled + (wide)sample->offset);
}

/* A line from (raw, ns) that gains 'rise' ns in 'units'. */
static void set_line(struct clock_line *line, uint64_t raw, wide ns, wide rise, uint64_t units)
{
	unsigned __int128 rest;

	*line = (struct clock_line){ .raw = raw };
	if (rise < 0 || units == 0)
		rise = 0;
	if (units && rise / (wide)units > UINT32_MAX)
		rise = (wide)units * UINT32_MAX;
	if (units) {
		line->whole = (uint64_t)(rise / (wide)units);
		rest = (unsigned __int128)(rise % (wide)units) << 64;
		rest = (rest + units - 1) / units;
		line->fraction = rest >> 64 ? UINT64_MAX : (uint64_t)rest;
	}
	/* It begins where time is not negative. */
	if (ns < 0) {
		wide per = (wide)line->whole + (line->fraction ? 1 : 0);
		wide skip = per ? -ns / per + 1 : 0;
		uint64_t most = UINT64_MAX - raw;

		line->raw += skip > (wide)most ? most : (uint64_t)skip;
		ns += (wide)clock_line_ns(line, line->raw - raw);
		if (ns < 0)
			ns = 0;
	}
	line->ns = ns > (wide)CLOCK_MAX_NS ? CLOCK_MAX_NS : (uint64_t)ns;
	line->max_units = (CLOCK_MAX_NS - line->ns) / ((uint32_t)line->whole + UINT64_C(1));
}

/* One line that holds for all times. */
static void one_line(struct clock *clock, const struct dat_meta *meta)
{
	const uint64_t units = UINT64_C(1) << 32;
	wide at0 = to_ns(meta, 0), rise = (wide)units;

	/* 2^32 units are a whole number of ns: a shift is at most 32. */
	if (meta->has_tsc)
		rise = ((wide)meta->tsc_mult << 32) >> meta->tsc_shift;
	clock->lines = xcalloc(1, sizeof(*clock->lines));
	clock->count = 1;
	set_line(clock->lines, 0, at0, rise, units);
}

/* Where the line of sample i begins, and what it gains up to the next one. */
static void sync_line(struct clock_line *line, const struct dat_meta *meta,
		      const struct dat_sync *sync, size_t i)
{
	/* Behind the last sample, the line between the last two goes on. */
	size_t from = i + 1 < sync->count ? i : i ? i - 1 : 0;
	const struct dat_sample *a = &sync->samples[from];
	const struct dat_sample *b = &sync->samples[from + 1 < sync->count ? from + 1 : from];
	wide units = (wide)b->time - (wide)a->time, ns, end;
	wide at = (wide)sync->samples[i].time;

	if (units <= 0)
		units = (wide)1 << 32;
	ns = to_ns(meta, synced(a, (wide)a->time));
	if (meta->sync_flags & DAT_SYNC_INTERPOLATE)
		end = to_ns(meta, dat_clock_bounded(synced(a, (wide)a->time + units) +
						    (wide)b->offset - (wide)a->offset));
	else
		end = to_ns(meta, synced(a, (wide)a->time + units));
	if (at != (wide)a->time)
		ns = end;
	set_line(line, (uint64_t)at, ns, end - to_ns(meta, synced(a, (wide)a->time)),
		 (uint64_t)units);
}

/* Lines may not begin before the end of the one before: times would go back. */
static void forwards(struct clock *clock)
{
	for (size_t i = 1; i < clock->count; i++) {
		const struct clock_line *before = &clock->lines[i - 1];
		struct clock_line *line = &clock->lines[i];
		uint64_t units, least;

		if (line->raw <= before->raw)
			line->raw = before->raw + 1;
		units = line->raw - before->raw;
		least = units > before->max_units ? CLOCK_MAX_NS
						  : before->ns + clock_line_ns(before, units);
		if (line->ns < least)
			line->ns = least;
		line->max_units = (CLOCK_MAX_NS - line->ns) / ((uint32_t)line->whole + UINT64_C(1));
	}
}

void dat_clock_init(struct clock *clock, const struct dat_meta *meta, uint32_t cpu)
{
	const struct dat_sync *sync = cpu < meta->sync_count ? &meta->sync[cpu] : NULL;

	*clock = (struct clock){ 0 };
	if (sync && sync->count) {
		clock->lines = xcalloc(sync->count, sizeof(*clock->lines));
		clock->count = sync->count;
		for (size_t i = 0; i < sync->count; i++)
			sync_line(&clock->lines[i], meta, sync, i);
		forwards(clock);
	} else if (meta->has_tsc || meta->offset_ns) {
		one_line(clock, meta);
	}
}

void dat_clock_name(const char *text, char out_name[32])
{
	const char *open = text ? strchr(text, '[') : NULL;

	*out_name = '\0';
	if (open)
		(void)sscanf(open + 1, "%31[^] \n]", out_name);
	else if (text)
		(void)sscanf(text, "%31s", out_name);
}

bool dat_clock_counts_ns(const char *name)
{
	static const char *const names[] = { "local",	 "global", "uptime", "perf",	"mono",
					     "mono_raw", "boot",   "tai",    "tsc2nsec" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

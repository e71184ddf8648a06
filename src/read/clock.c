/* clock.c - lines through the recorder's clock triples. */
#include "read/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "event/facts.h"

struct triple {
	uint64_t raw;
	uint64_t mono_ns;
	uint64_t real_ns;
};

struct triples {
	struct triple *items; /* owned */
	size_t count;
	size_t cap;
	size_t bad; /* lines left out */
};

/* Decimal digits with one 'end' behind them. */
static bool triple_take_number(const char **at, char end, uint64_t *out_number)
{
	const char *c = *at;
	uint64_t number = 0;

	for (; *c >= '0' && *c <= '9'; c++) {
		if (number > (UINT64_MAX - 9) / 10)
			return false;
		number = number * 10 + (uint64_t)(*c - '0');
	}
	if (c == *at || *c != end)
		return false;
	*at = c + 1;
	*out_number = number;
	return true;
}

static bool take_triple(const char *line, struct triple *out)
{
	return triple_take_number(&line, ' ', &out->raw) &&
	       triple_take_number(&line, ' ', &out->mono_ns) &&
	       triple_take_number(&line, '\n', &out->real_ns) && out->mono_ns < CLOCK_MAX_NS;
}

static bool clock_in_order(const struct triple *a, const struct triple *b)
{
	return a->raw < b->raw && a->mono_ns < b->mono_ns;
}

/*
 * Add a triple. When it does not follow the last one, one of the two is wrong: the
 * last, if the new one does follow that one's predecessor and so do the ones to
 * come; the new one otherwise, which then is seen by what comes next.
 */
static void triples_add(struct triples *triples, const struct triple *triple)
{
	size_t count = triples->count;

	if (count && !clock_in_order(&triples->items[count - 1], triple)) {
		triples->bad++;
		if (count < 2 || !clock_in_order(&triples->items[count - 2], triple))
			return;
		triples->count--;
	}
	triples->items =
		vec_room(triples->items, triples->count, &triples->cap, sizeof(*triples->items));
	triples->items[triples->count++] = *triple;
}

static void read_triples(struct triples *triples, const char *sync)
{
	while (sync && *sync) {
		const char *end = strchr(sync, '\n');
		struct triple triple;

		/* The last line of a killed recorder may be cut. */
		if (!end || !take_triple(sync, &triple))
			triples->bad++;
		else
			triples_add(triples, &triple);
		sync = end ? end + 1 : NULL;
	}
}

static struct clock_line line_at(const struct triple *from, uint64_t units, uint64_t ns)
{
	unsigned __int128 rest = (unsigned __int128)(ns % units) << 64;
	unsigned __int128 fraction = (rest + units - 1) / units;
	struct clock_line line = { .raw = from->raw, .ns = from->mono_ns, .whole = ns / units };

	line.fraction = fraction >> 64 ? UINT64_MAX : (uint64_t)fraction;
	line.max_units = (CLOCK_MAX_NS - from->mono_ns) / (line.whole + 1);
	return line;
}

/* n triples make n - 1 lines; the last line goes on from the last triple. */
static void make_lines(struct clock *clock, const struct triples *triples)
{
	const struct triple *items = triples->items;
	size_t count = triples->count;
	uint64_t units = 1, ns = 1; /* one triple alone: units are ns, at an offset */

	clock->lines = xcalloc(count, sizeof(*clock->lines));
	clock->count = count;
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count) {
			units = items[i + 1].raw - items[i].raw;
			ns = items[i + 1].mono_ns - items[i].mono_ns;
		}
		clock->lines[i] = line_at(&items[i], units, ns);
	}
}

/* Clocks that count ns, though from another moment on. */
static bool counts_ns(const char *name)
{
	static const char *const names[] = { "local", "global", "perf", "boot", "mono_raw", "tai" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

void clock_init(struct clock *clock, const char *name, const char *sync, struct facts *facts)
{
	struct triples triples = { 0 };
	bool is_mono = strcmp(name, "mono") == 0;

	*clock = (struct clock){ 0 };
	read_triples(&triples, sync);
	if (triples.bad)
		facts_note_damage(facts, "kernel/sync: %zu of its lines are wrong and left out",
				  triples.bad);
	if (triples.count) {
		clock->realtime_offset_ns =
			(int64_t)(triples.items[0].real_ns - triples.items[0].mono_ns);
		clock->last_ns = triples.items[triples.count - 1].mono_ns;
	}
	if (!is_mono && triples.count)
		make_lines(clock, &triples);
	if (!is_mono && triples.count < 2 && !(triples.count == 1 && counts_ns(name)))
		facts_note_damage(facts,
				  "kernel/sync: %zu clock points are too few for the clock %s: "
				  "one unit is taken as 1 ns",
				  triples.count, name);
	free(triples.items);
}

void clock_fini(struct clock *clock)
{
	free(clock->lines);
	*clock = (struct clock){ 0 };
}

uint64_t clock_ns_far(const struct clock *clock, size_t *hint, uint64_t raw)
{
	const struct clock_line *line;
	size_t low = SEARCH_BEHIND(clock->lines, clock->count, raw, raw);
	uint64_t units, back;

	line = &clock->lines[low ? low - 1 : 0];
	*hint = (size_t)(line - clock->lines);
	if (low) {
		units = raw - line->raw;
		return units > line->max_units ? CLOCK_MAX_NS
					       : line->ns + clock_line_ns(line, units);
	}
	/* Before the first triple: its line, backwards. */
	units = line->raw - raw;
	back = units > line->max_units ? CLOCK_MAX_NS : clock_line_ns(line, units);
	return back < line->ns ? line->ns - back : 0;
}

struct clock_span clock_span_at(const struct clock *clock, uint64_t raw)
{
	static const struct clock_line same = { .whole = 1, .max_units = CLOCK_MAX_NS - 1 };
	const struct clock_line *line = &same;
	struct clock_span span;
	size_t hint = 0;

	if (clock->count) {
		(void)clock_ns_far(clock, &hint, raw);
		line = &clock->lines[hint];
	}
	/* Before the first triple time is counted backwards: no span. */
	span = (struct clock_span){ .raw = line->raw, .line = *line };
	if (raw >= line->raw)
		span.units = line->max_units + 1;
	if (raw >= line->raw && hint + 1 < clock->count)
		span.units = line[1].raw - line->raw;
	return span;
}

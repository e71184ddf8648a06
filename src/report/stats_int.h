/*
 * stats_int.h - what the files that print stats, breakdown and states share.
 */
#ifndef REPORT_STATS_INT_H
#define REPORT_STATS_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/text.h"

struct facts;
struct coverage;

/* How the unit of a table is called in its heading: "s". */
const char *unit_name(enum text_unit unit);

/* A time in the last printed places of the unit, rounded. */
static inline uint64_t unit_places(uint64_t ns, enum text_unit unit)
{
	uint64_t place_ns = text_unit_place_ns(unit);

	return ns / place_ns + (ns % place_ns >= place_ns - place_ns / 2);
}

/* A number of a column whose unit stands in the heading: "0.011", "0", "<0.001". */
struct text bare_time(uint64_t places, uint64_t ns);

/* The same, rounded on its own. */
struct text bare_ns(uint64_t ns, enum text_unit unit);

/* A heading, and an empty line before it. */
void stats_heading(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A sentence, wrapped and made safe for a terminal, indented by two. */
void stats_say(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "make[512]"; "make" without a number. */
char *stats_name(const char *comm, int32_t tid);

/*
 * What the numbers rest on, as notes; nothing when there is nothing to know. 'missing':
 * much is uncertain, so what was not recorded at all matters.
 */
void coverage_text(FILE *out, const struct coverage *coverage, const struct facts *facts,
		   bool missing);

/* The same as keys of the object that is open. */
void coverage_json(struct json *json, const struct coverage *coverage, const struct facts *facts);

#endif

/*
 * breakdown.h - print the result of analyse/stats/breakdown.h, as text for people or as JSON.
 */
#ifndef REPORT_BREAKDOWN_H
#define REPORT_BREAKDOWN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct breakdown;
struct facts;

struct report_breakdown_opts {
	bool json;
	uint32_t top; /* rows of each table; 0 = default */
};

/* JSON holds all rows, whatever the options ask for. */
void report_breakdown(FILE *out, const struct breakdown *breakdown, const struct facts *facts,
		      const struct report_breakdown_opts *opts);

#endif

/*
 * stats.h - print the result of analyse/stats/stats.h, as text for people or as JSON.
 */
#ifndef REPORT_STATS_H
#define REPORT_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct facts;
struct stats;

struct report_stats_opts {
	bool json;
	uint32_t top; /* rows of the table, and rows told in detail; 0 = as many as fit a screen */
	bool all;     /* all rows, and all that did anything in detail */
};

/* JSON holds all rows, whatever the options ask for. */
void report_stats(FILE *out, const struct stats *stats, const struct facts *facts,
		  const struct report_stats_opts *opts);

#endif

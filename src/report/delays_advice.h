/* delays_advice.h - print which knobs the delays point to. */
#ifndef REPORT_DELAYS_ADVICE_H
#define REPORT_DELAYS_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct delays_advice;
struct delays_knobs;
struct delays_row;

struct delays_advised {
	const struct delays_row *row;	    /* a view */
	const struct delays_knobs *knobs;   /* a view */
	const struct delays_advice *advice; /* a view; 'count' of them, at least one */
	size_t count;
};

struct delays_advised_all {
	const struct delays_advised *tasks; /* those with advice, most to gain first */
	size_t count;
	size_t looked_at; /* processes */
	size_t uncounted; /* of those: their waits for disk and memory are not counted */
	uint32_t top;	  /* of text; 0 = as many as fit a page */
};

void report_delays_advice(FILE *out, const struct delays_advised_all *all, bool json);

#endif

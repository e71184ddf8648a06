/* delays_compare.h - print how saved runs differ. */
#ifndef REPORT_DELAYS_COMPARE_H
#define REPORT_DELAYS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct delays_run;

struct delays_comparison {
	const struct delays_run *runs; /* 'count' of them, at least two */
	size_t count;
	size_t first_count; /* so many against the others; 0 = each against all */
};

void report_delays_compare(FILE *out, const struct delays_comparison *comparison, bool json);

#endif

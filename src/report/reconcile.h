/* reconcile.h - print the kernel's accounts beside the events, as text or as JSON. */
#ifndef REPORT_RECONCILE_H
#define REPORT_RECONCILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct reconcile;

struct report_reconcile_opts {
	bool json;
	uint32_t top;	   /* tasks of text; 0 = as many as fit a page */
	const char *trace; /* what was recorded */
};

void report_reconcile(FILE *out, const struct reconcile *result,
		      const struct report_reconcile_opts *opts);

#endif

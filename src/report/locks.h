/* locks.h - print the result of analyse/locks/locks.h, as text for people or as JSON. */
#ifndef REPORT_LOCKS_H
#define REPORT_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct facts;
struct klocks_sum;
struct locks;

struct report_locks_opts {
	bool json;    /* with all rows */
	uint32_t top; /* rows; 0 = as many as fit a page */
};

/* 'kernel' may be NULL: the trace could not be read for it. */
void report_locks(FILE *out, const struct locks *locks, const struct klocks_sum *kernel,
		  const struct facts *facts, const struct report_locks_opts *opts);

#endif

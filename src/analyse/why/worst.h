/*
 * worst.h - the worst moment of a window: when most of the time of its threads was held up at once.
 *
 * The window is cut into a hundred pieces. The one in which threads were held up longest, added up, is
 * the worst, with those beside it that are nearly as bad. It is told where it is clearly worse than
 * the window is on average: what is the same all the time has no moment.
 */
#ifndef ANALYSE_WHY_WORST_H
#define ANALYSE_WHY_WORST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/why/why.h"

struct timeline;
struct why_part;

struct why_worst {
	uint64_t start_ns, end_ns;
	uint64_t held_ns; /* time of threads held up in it */
	uint64_t mean_ns; /* the same of a span of this length on average */
	uint32_t cause;	  /* index into roots[]: has most of it */
	uint64_t cause_ns;
};

/* How fine in time the roots have to be kept for it: struct why_opts.spans_ns. */
uint64_t worst_spans_ns(const struct timeline *timeline, const struct why_part *parts,
			size_t count);

/* Fill why->worst from the spans of its roots, and free these unless they are kept. */
void worst_find(struct why *why, bool keep_spans);

#endif

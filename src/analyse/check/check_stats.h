/*
 * check_stats.h - smallest, median, 99th percentile and largest of many values.
 *
 * Exact while there are few; from 'exact_max' values on in classes of 1/64 of their size, so
 * that a percentile is right within 0.8 %. The classes take 512 bytes for each power of 2 that
 * occurs. Zero-initialised is empty. One thread at a time.
 */
#ifndef ANALYSE_CHECK_CHECK_STATS_H
#define ANALYSE_CHECK_CHECK_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK_STATS_EXACT 16384u

struct check_stats {
	uint64_t count;
	double min, max;
	double *values; /* owned; in order only after a percentile was asked; NULL once there are classes */
	size_t cap;
	uint32_t exact_max; /* 0 = CHECK_STATS_EXACT */
	uint64_t **octaves; /* owned, and each; NULL = exact; of one: no value has been in it */
};

void check_stats_fini(struct check_stats *stats);
void check_stats_add(struct check_stats *stats, double value);

/* The smallest value that 'permille' of them are not above; 0 when there are none. */
double check_stats_quantile(struct check_stats *stats, uint32_t permille);

/* Each value, or, once there are classes, the middle of each class, and how many there are. */
void check_stats_each(const struct check_stats *stats,
		      void (*see)(void *context, double value, uint64_t count), void *context);

/* Are the percentiles exact? */
bool check_stats_is_exact(const struct check_stats *stats);

#endif

/*
 * rank.h - which of many tasks waited most, and for what.
 */
#ifndef ACCOUNTS_RANK_H
#define ACCOUNTS_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/sample.h"

/* A task with what is told of it: since its start, or over an interval. */
struct delays_row {
	const struct delays_task *task;
	const struct delays_stats *stats; /* its own, or the difference */
	uint64_t base_ns; /* what shares are of: wall time; of several threads the sum of theirs */
	bool born;
};

enum delays_sort {
	DELAYS_SORT_WAITED, /* share of the base that it waited, for whatever is counted */
	DELAYS_SORT_CPU,
	DELAYS_SORT_DISK,
	DELAYS_SORT_MEMORY,
	DELAYS_SORT_RUN,
	DELAYS_SORT_IO, /* bytes read and written */
};

struct delays_rows {
	struct delays_row *rows; /* owned; the first in order first, ties by number */
	size_t count;
};

/* Both are views: sample and delta must outlive the rows. Those that ended are left out. */
void delays_rows_of_sample(const struct delays_sample *sample, enum delays_sort sort,
			   struct delays_rows *out_rows);
void delays_rows_of_delta(const struct delays_delta *delta, enum delays_sort sort,
			  struct delays_rows *out_rows);
void delays_rows_fini(struct delays_rows *rows);

/*
 * Time of the base that nothing here explains: asleep, blocked on locks, pipes, sockets. What ran,
 * waited for a CPU or for disk is taken off; the other classes overlap with those. 0 when they
 * add up to more, as they do when threads have ended.
 */
uint64_t delays_rest_ns(const struct delays_stats *stats, uint64_t base_ns);

/* Swap-in, reclaim, thrashing, compaction, copy-on-write: the longest, since they overlap. */
uint64_t delays_memory_ns(const struct delays_stats *stats);

/* The class that took most time. Returns false when nothing was waited for. */
bool delays_worst(const struct delays_stats *stats, enum delays_class *out_class);

#endif

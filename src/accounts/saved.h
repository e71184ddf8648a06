/*
 * saved.h - runs that were saved as JSON, and how they differ.
 */
#ifndef ACCOUNTS_SAVED_H
#define ACCOUNTS_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/stats.h"

struct err;

/* What a run's time is made of. Run, CPU, disk and rest add up to the whole. */
enum delays_part {
	DELAYS_PART_RUN,
	DELAYS_PART_CLASS, /* + enum delays_class */
	DELAYS_PART_REST = DELAYS_PART_CLASS + DELAYS_CLASSES,
	DELAYS_PART_WHOLE, /* the lives of all threads */
	DELAYS_PARTS,
};

struct delays_run {
	char *label;		   /* owned; the file, and the host it was saved on */
	uint64_t ns[DELAYS_PARTS]; /* where 'known' has the bit */
	uint32_t known;
	uint32_t partial; /* parts that were not counted for some of the tasks */
	bool certain;	  /* no records were lost */
};

#define DELAYS_SAVED_BYTES_MAX (64u << 20)	/* 40,000 tasks and more */
#define DELAYS_SAVED_NS_MAX    (UINT64_MAX / 4) /* 146 years of all tasks together */

/* Read a saved report of tasks or of exits. Returns 0, or a negative errno with err filled. */
int delays_run_read(const char *path, struct delays_run *out_run, struct err *err);

/* The same from memory; 'name' goes into the label. A number that is no time is refused. */
int delays_run_parse(const char *text, size_t bytes, const char *name, struct delays_run *out_run,
		     struct err *err);

/* Can they be compared? -ENODATA with err filled when a run, or all together, know no part. */
int delays_runs_check(const struct delays_run *runs, size_t count, struct err *err);

void delays_run_fini(struct delays_run *run);

/* "running", "waiting for disk" ... */
const char *delays_part_words(enum delays_part part);

/* One part over runs. All in ns. */
struct delays_spread {
	bool is_known; /* by all runs */
	double mean;
	double deviation; /* standard deviation of one run; 0 for a single run */
	double median;
	double scale;	 /* what a run is away from the median usually; never 0 */
	size_t farthest; /* the run that is farthest from the median */
	double distance; /* of that run from the median; signed */
};

/* 'count' is above 0. */
void delays_spread_make(const struct delays_run *runs, size_t count, enum delays_part part,
			struct delays_spread *out_spread);

/*
 * How many scales away the farthest of 'count' runs is in 1 of 100 cases by chance alone, if runs are
 * normally distributed. What is farther stands out.
 */
double delays_chance_distance(size_t count);

/*
 * By how many deviations two groups of runs differ in 1 of 100 cases by chance alone (Student's t);
 * negative = not known, since there is one run of each.
 */
double delays_chance_difference(size_t one_count, size_t other_count);

/*
 * How many deviations lie between two groups of runs; negative = not known, since there is one
 * run of each.
 */
double delays_difference_score(const struct delays_spread *one, size_t one_count,
			       const struct delays_spread *other, size_t other_count);

#endif

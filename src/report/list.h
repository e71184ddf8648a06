/* report/list.h - how many events there are of each kind that was asked for. */
#ifndef REPORT_LIST_H
#define REPORT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct list_count {
	const char *const *values; /* one for each name; NULL = these events have none */
	uint64_t count;
};

struct list_counts {
	const char *const *names; /* what was counted by */
	size_t name_count;
	const struct list_count *rows; /* the most frequent first */
	size_t row_count;
	uint64_t total;	    /* events, of all rows and of what follows */
	uint64_t uncounted; /* of values beyond those that could be kept apart */
	uint64_t holes;	    /* in the recording, in the window; not in the total */
	uint64_t lost;	    /* events lost in them; the least there can be */
};

/* Print the table, or JSON. 'top': at most so many rows; 0 = all. */
void report_list_counts(FILE *out, const struct list_counts *counts, uint32_t top, bool json);

#endif

/*
 * series.h - what changes over time and is no thread and no CPU: a state, a level, an amount.
 *
 *	states   a lock is free, held, waited for        sums: ns in state 1, 2, 3
 *	levels   requests in flight                      sums: level times ns
 *	amounts  packets                                 sums: how many, and how many bytes
 *
 * Each change keeps the sums of all time before it, so a column is two searches and one difference,
 * whatever lies in it: nothing is sampled. A series that takes too much memory joins neighbouring
 * changes: sums stay exact, and only places between the changes that are left are rounded.
 */
#ifndef ANALYSE_OTHERS_SERIES_H
#define ANALYSE_OTHERS_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define SERIES_SUMS 3u

enum series_kind {
	SERIES_STATES,
	SERIES_LEVEL,
	SERIES_AMOUNT,
};

struct series_change {
	uint64_t time_ns;
	uint64_t sums[SERIES_SUMS]; /* of all before; of amounts with what comes at this time */
	uint32_t most; /* level: the largest from here to the next change; states: this one */
};

/* Zeroed but for 'kind' is empty, and nothing until its first change. */
struct series {
	enum series_kind kind;
	uint32_t value;		       /* state or level now */
	struct series_change *changes; /* owned; in order of time */
	size_t count, cap;
	uint64_t joined_ns; /* the longest time between two changes that hides others; 0 = none */
};

/* A part of the time: the difference of the sums, and the largest level in it. */
struct series_column {
	uint64_t sums[SERIES_SUMS];
	uint64_t most;
};

typedef void series_each(void *context, uint32_t columns, const struct series_column *column);

/* Times never go back; one that does is taken as the time of the last change. */
void series_set(struct series *series, uint64_t time_ns, uint32_t value);
void series_add(struct series *series, uint64_t time_ns, uint64_t amount);
/* Of states: what all sums are at 'time_ns'; in between they grow evenly. */
void series_put(struct series *series, uint64_t time_ns, const uint64_t *sums);
/* The recording ends. */
void series_end(struct series *series, uint64_t end_ns);
void series_fini(struct series *series);

/* Join changes until there are at most 'most' (at least 2). */
void series_thin(struct series *series, size_t most);

/*
 * The 'width' columns of [from, to), as those of lanes: column i begins i * length / width behind
 * 'from'. 'each' is given runs of columns that are alike. *out_sum is of the whole window.
 */
void series_columns(const struct series *series, uint64_t from_ns, uint64_t to_ns, uint32_t width,
		    series_each *each, void *context, struct series_column *out_sum);

#endif

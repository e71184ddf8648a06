/* series.c - changes with the sums of all before them. */
#include "analyse/others/series.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"

/* Of a state or a level that lasts 'ns'. A sum that does not fit stays at the largest number. */
static void add_time(const struct series *series, uint64_t ns, uint64_t *sums)
{
	if (series->kind == SERIES_LEVEL &&
	    __builtin_add_overflow(sums[0], ns * series->value, &sums[0]))
		sums[0] = UINT64_MAX;
	if (series->kind == SERIES_STATES && series->value && series->value <= SERIES_SUMS)
		sums[series->value - 1] += ns;
}

/* The change at 'time_ns', which is the last one; its sums are right. */
static struct series_change *change_at(struct series *series, uint64_t time_ns)
{
	struct series_change *last = series->count ? &series->changes[series->count - 1] : NULL;
	struct series_change now = { .time_ns = time_ns };

	if (last && time_ns <= last->time_ns)
		return last;
	if (last) {
		memcpy(now.sums, last->sums, sizeof(now.sums));
		add_time(series, time_ns - last->time_ns, now.sums);
	}
	series->changes =
		vec_room(series->changes, series->count, &series->cap, sizeof(*series->changes));
	series->changes[series->count] = now;
	return &series->changes[series->count++];
}

void series_set(struct series *series, uint64_t time_ns, uint32_t value)
{
	struct series_change *change;

	if (value == series->value)
		return;
	change = change_at(series, time_ns);
	series->value = value;
	change->most = value;
}

void series_add(struct series *series, uint64_t time_ns, uint64_t amount)
{
	struct series_change *change = change_at(series, time_ns);

	change->sums[0]++;
	change->sums[1] += amount;
}

void series_put(struct series *series, uint64_t time_ns, const uint64_t *sums)
{
	struct series_change *last = series->count ? &series->changes[series->count - 1] : NULL;
	struct series_change *change = change_at(series, time_ns);

	if (last && series->count > 1 && time_ns - (change - 1)->time_ns > series->joined_ns)
		series->joined_ns = time_ns - (change - 1)->time_ns;
	memcpy(change->sums, sums, sizeof(change->sums));
}

/* A window ends before its end: what came at that moment is in the last ns of it. */
static void keep_within(struct series *series, uint64_t end_ns)
{
	struct series_change *last = &series->changes[series->count - 1];

	if (last->time_ns < end_ns || !end_ns)
		return;
	last->time_ns = end_ns - 1;
	if (series->count > 1 && last[-1].time_ns >= last->time_ns) {
		memcpy(last[-1].sums, last->sums, sizeof(last->sums));
		series->count--;
	}
}

void series_end(struct series *series, uint64_t end_ns)
{
	if (series->count && series->kind == SERIES_AMOUNT)
		keep_within(series, end_ns);
	if (series->count)
		change_at(series, end_ns)->most = series->value;
}

void series_fini(struct series *series)
{
	free(series->changes);
	*series = (struct series){ .kind = series->kind };
}

/* Every second one goes, and neither the first nor the last one. */
static void join_pairs(struct series *series)
{
	struct series_change *changes = series->changes;
	size_t kept = 1, last = series->count - 1;

	for (size_t i = 1; i <= last; i++) {
		struct series_change *before = &changes[kept - 1];

		if (i < last && i % 2) {
			uint64_t ns = changes[i + 1].time_ns - before->time_ns;

			before->most =
				changes[i].most > before->most ? changes[i].most : before->most;
			series->joined_ns = ns > series->joined_ns ? ns : series->joined_ns;
		} else {
			changes[kept++] = changes[i];
		}
	}
	series->count = kept;
}

void series_thin(struct series *series, size_t most)
{
	bool is_thinned = false;

	while (series->count > most && series->count > 2) {
		join_pairs(series);
		is_thinned = true;
	}
	if (!is_thinned)
		return;
	series->cap = series->count;
	series->changes = xrealloc(series->changes, series->cap, sizeof(*series->changes));
}

/* ---------------------------------------------------------------------- columns */

/* The last change at or before 'time_ns'; -1 = there is none. Looked for from 'at' on. */
static ptrdiff_t series_find(const struct series *series, uint64_t time_ns, ptrdiff_t at)
{
	size_t from = at < 0 ? 0 : (size_t)at;

	return (ptrdiff_t)(from + SEARCH_BEHIND(series->changes + from, series->count - from,
						time_ns, time_ns)) -
	       1;
}

/* All before 'time_ns'. Between two changes sums grow evenly, where no change is hidden that is exact. */
static void sums_before(const struct series *series, ptrdiff_t at, uint64_t time_ns, uint64_t *out)
{
	const struct series_change *change = at < 0 ? NULL : &series->changes[at];
	const struct series_change *next;

	memset(out, 0, SERIES_SUMS * sizeof(*out));
	if (!change)
		return;
	memcpy(out, change->sums, SERIES_SUMS * sizeof(*out));
	if (series->kind == SERIES_AMOUNT) {
		if (change->time_ns == time_ns) /* what comes now comes not before */
			sums_before(series, at - 1, time_ns, out);
		return;
	}
	if ((size_t)at + 1 == series->count || time_ns == change->time_ns)
		return;
	next = change + 1;
	for (uint32_t i = 0; i < SERIES_SUMS; i++)
		out[i] +=
			(uint64_t)((unsigned __int128)(next->sums[i] - change->sums[i]) *
				   (time_ns - change->time_ns) / (next->time_ns - change->time_ns));
}

static uint64_t most_between(const struct series *series, ptrdiff_t at, uint64_t to_ns)
{
	uint64_t most = 0;

	for (size_t i = at < 0 ? 0 : (size_t)at; i < series->count; i++) {
		if (series->changes[i].time_ns >= to_ns)
			break;
		most = series->changes[i].most > most ? series->changes[i].most : most;
	}
	return series->kind == SERIES_LEVEL ? most : 0;
}

static struct series_column column_of(const struct series *series, const uint64_t *from,
				      const uint64_t *to, ptrdiff_t at, uint64_t to_ns)
{
	struct series_column column = { .most = most_between(series, at, to_ns) };

	for (uint32_t i = 0; i < SERIES_SUMS; i++)
		column.sums[i] = to[i] - from[i];
	return column;
}

static bool is_alike(const struct series_column *a, const struct series_column *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

void series_columns(const struct series *series, uint64_t from_ns, uint64_t to_ns, uint32_t width,
		    series_each *each, void *context, struct series_column *out_sum)
{
	uint64_t sums[SERIES_SUMS], first[SERIES_SUMS], next[SERIES_SUMS];
	ptrdiff_t at = series_find(series, from_ns, 0), begin = at;
	struct series_column run = { 0 }, column;
	uint32_t columns = 0;

	sums_before(series, at, from_ns, sums);
	memcpy(first, sums, sizeof(first));
	for (uint32_t i = 0; i < width; i++) {
		uint64_t end_ns = from_ns + (uint64_t)((unsigned __int128)(to_ns - from_ns) *
						       (i + 1) / width);
		ptrdiff_t end = series_find(series, end_ns, at);

		sums_before(series, end, end_ns, next);
		column = column_of(series, sums, next, at, end_ns);
		if (columns && !is_alike(&run, &column)) {
			each(context, columns, &run);
			columns = 0;
		}
		run = column;
		columns++;
		memcpy(sums, next, sizeof(sums));
		at = end;
	}
	each(context, columns, &run);
	*out_sum = column_of(series, first, sums, begin, to_ns);
}

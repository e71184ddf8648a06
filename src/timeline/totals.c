/* totals.c - rows by key, in a table with open addressing. */
#include "timeline/totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "timeline/timeline.h"

enum wait_kind wait_kind(const struct wait *wait)
{
	static const uint8_t by_actor[] = {
		[ACTOR_NONE] = WAIT_FOR_UNKNOWN,    [ACTOR_THREAD] = WAIT_FOR_THREAD,
		[ACTOR_TIMER] = WAIT_FOR_TIME,	    [ACTOR_DISK] = WAIT_FOR_DISK,
		[ACTOR_NETWORK] = WAIT_FOR_NETWORK, [ACTOR_IPI] = WAIT_FOR_OTHER,
		[ACTOR_IRQ] = WAIT_FOR_OTHER,	    [ACTOR_SOFTIRQ] = WAIT_FOR_OTHER,
	};
	uint8_t actor = wait->waker.kind;

	if (wait->flags & WAIT_STOPPED ||
	    (wait->flags & WAIT_THROTTLED && word_kind(wait->in) == WORD_USER))
		return WAIT_FOR_STOP;
	if (wait->flags & WAIT_LOCK)
		return WAIT_FOR_LOCK;
	if (wait->woken_ns && actor == ACTOR_DISK)
		return wait->flags & WAIT_NO_IO ? WAIT_FOR_OTHER : WAIT_FOR_DISK;
	if (wait->flags & WAIT_SERVER)
		return WAIT_FOR_IDLE;
	if (wait->woken_ns && wait->flags & WAIT_TIMED_OUT)
		return WAIT_FOR_TIME;
	/* The work that ends I/O runs in a kworker; any other thread is one that was awaited. */
	if (wait->flags & WAIT_IO)
		return WAIT_FOR_IO;
	if (wait->flags & WAIT_DISK_SLEEP && !(wait->flags & WAIT_NO_IO) &&
	    (!wait->woken_ns || actor != ACTOR_THREAD || word_kind(wait->waker.word) == WORD_WORK))
		return WAIT_FOR_IO;
	if (!wait->woken_ns || actor >= ARRAY_LEN(by_actor))
		return WAIT_FOR_UNKNOWN;
	return (enum wait_kind)by_actor[actor];
}

const char *wait_kind_name(enum wait_kind kind)
{
	static const char *const names[WAIT_KIND_COUNT] = {
		[WAIT_FOR_STOP] = "stopped",	[WAIT_FOR_LOCK] = "lock",
		[WAIT_FOR_DISK] = "disk",	[WAIT_FOR_IDLE] = "idle",
		[WAIT_FOR_TIME] = "time",	[WAIT_FOR_NETWORK] = "network",
		[WAIT_FOR_THREAD] = "thread",	[WAIT_FOR_IO] = "io",
		[WAIT_FOR_OTHER] = "interrupt", [WAIT_FOR_UNKNOWN] = "unknown",
	};

	return (unsigned int)kind < WAIT_KIND_COUNT ? names[kind] : "unknown";
}

static uint32_t hash_of(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32);
}

static uint32_t *totals_place(const struct totals *totals, uint64_t key)
{
	uint32_t mask = totals->index_cap - 1;
	uint32_t at = hash_of(key) & mask;

	while (totals->index[at] && totals->rows[totals->index[at] - 1].key != key)
		at = (at + 1) & mask;
	return &totals->index[at];
}

/* Twice as many places as rows, at least. */
static void index_again(struct totals *totals)
{
	uint32_t cap = 16;

	while (cap < totals->cap * 2)
		cap *= 2;
	if (cap > totals->index_cap) {
		totals->index = xrealloc(totals->index, cap, sizeof(*totals->index));
		totals->index_cap = cap;
	}
	memset(totals->index, 0, totals->index_cap * sizeof(*totals->index));
	for (uint32_t i = 0; i < totals->count; i++)
		*totals_place(totals, totals->rows[i].key) = i + 1;
}

void totals_fini(struct totals *totals)
{
	free(totals->rows);
	free(totals->index);
	*totals = (struct totals){ 0 };
}

void totals_clear(struct totals *totals)
{
	totals->count = 0;
	if (totals->index)
		memset(totals->index, 0, totals->index_cap * sizeof(*totals->index));
}

struct total *totals_row(struct totals *totals, uint64_t key)
{
	uint32_t *place = totals->index ? totals_place(totals, key) : NULL;

	if (place && *place)
		return &totals->rows[*place - 1];
	if (totals->count == totals->cap) {
		totals->cap = totals->cap ? totals->cap * 2 : 8;
		totals->rows = xrealloc(totals->rows, totals->cap, sizeof(*totals->rows));
		index_again(totals);
		place = totals_place(totals, key);
	}
	totals->rows[totals->count] = (struct total){ .key = key };
	*place = ++totals->count;
	return &totals->rows[totals->count - 1];
}

const struct total *totals_find(const struct totals *totals, uint64_t key)
{
	const uint32_t *place = totals->index ? totals_place(totals, key) : NULL;

	return place && *place ? &totals->rows[*place - 1] : NULL;
}

void totals_add(struct totals *totals, const struct totals *other)
{
	for (uint32_t i = 0; i < other->count; i++) {
		const struct total *from = &other->rows[i];
		struct total *row = totals_row(totals, from->key);

		row->ns += from->ns;
		row->count += from->count;
		if (from->max_ns > row->max_ns)
			row->max_ns = from->max_ns;
	}
}

void totals_subtract(struct totals *totals, const struct totals *before)
{
	for (uint32_t i = 0; i < before->count; i++) {
		const struct total *from = &before->rows[i];
		struct total *row = totals_row(totals, from->key);

		row->ns -= from->ns;
		row->count -= from->count;
	}
}

ORDER_FUNCTION(compare_totals_rows, struct total, ORDER_UP(key));

void totals_sort(struct totals *totals)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < totals->count; i++) {
		if (totals->rows[i].ns || totals->rows[i].count || totals->rows[i].max_ns)
			totals->rows[kept++] = totals->rows[i];
	}
	totals->count = kept;
	if (kept)
		qsort(totals->rows, kept, sizeof(*totals->rows), compare_totals_rows);
	if (totals->index)
		index_again(totals);
}

uint64_t totals_ns(const struct totals *totals, enum total_kind kind)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < totals->count; i++)
		sum += total_kind(totals->rows[i].key) == kind ? totals->rows[i].ns : 0;
	return sum;
}

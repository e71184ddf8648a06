/*
 * query_twin.h - what a timeline answers, held against plain lists of what it holds.
 *
 * Works on one thread of a timeline, in memory or in a store; the list is the caller's.
 */
#ifndef QUERY_TWIN_H
#define QUERY_TWIN_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "totals_twin.h"

/* Whom to ask, and what is so. */
struct asked {
	const struct timeline *tl;
	const struct plain *plain; /* begins at tl->origin_ns, ends at tl->end_ns */
	uint32_t slot;
	uint64_t seed;	/* for messages */
	bool any_words; /* what is a call is only told where a stack could have left the words */
	uint64_t dice;
};

static inline uint64_t asked_random(struct asked *asked, uint64_t below)
{
	asked->dice ^= asked->dice << 13;
	asked->dice ^= asked->dice >> 7;
	asked->dice ^= asked->dice << 17;
	return (asked->dice >> 5) % below;
}

/* A moment that matters: where a span begins, beside it, or inside it. */
static inline uint64_t asked_moment(struct asked *asked)
{
	const struct plain_span *span =
		&asked->plain->spans[asked_random(asked, asked->plain->count)];

	switch (asked_random(asked, 4)) {
	case 0:
		return span->start_ns < asked->tl->end_ns ? span->start_ns + 1 : span->start_ns;
	case 1:
		return span->start_ns > asked->tl->origin_ns ? span->start_ns - 1 : span->start_ns;
	case 2:
		return span->start_ns + (span->end_ns - span->start_ns) / 2;
	default:
		return span->start_ns;
	}
}

static inline void asked_window(struct asked *asked, uint64_t *out_start_ns, uint64_t *out_end_ns)
{
	uint64_t a = asked_moment(asked), b = asked_moment(asked);

	*out_start_ns = a < b ? a : b;
	*out_end_ns = a < b ? b : a;
	if (asked_random(asked, 8) == 0)
		*out_start_ns = asked->tl->origin_ns;
	if (asked_random(asked, 8) == 0)
		*out_end_ns = asked->tl->end_ns;
}

/* ---------------------------------------------------------------------- sums */

static inline void asked_say_rows(const char *who, const struct total *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fprintf(stderr,
			"%s kind %u a %" PRIx32 " b %" PRIu32 ": %" PRIu64 " ns, %" PRIu64
			" times, longest %" PRIu64 "\n",
			who, total_kind(rows[i].key), total_a(rows[i].key), total_b(rows[i].key),
			rows[i].ns, rows[i].count, rows[i].max_ns);
}

static inline const char *asked_differ(const struct total *want, const struct total *got)
{
	if (want->key != got->key)
		return want->key < got->key ? "is missing" : "is too much";
	if (want->ns != got->ns)
		return "has another time";
	/* Of a CPU only the time is told. */
	if (want->count != got->count && total_kind(want->key) != TOTAL_CPU)
		return "has another count";
	return want->max_ns != got->max_ns ? "has another longest" : NULL;
}

static inline void asked_compare_rows(const struct asked *asked, const struct plain_rows *want,
				      const struct totals *got, const char *where)
{
	static const struct total none = { .key = UINT64_MAX };

	for (size_t i = 0; i < want->count || i < got->count; i++) {
		const struct total *mine = i < want->count ? &want->rows[i] : &none;
		const struct total *theirs = i < got->count ? &got->rows[i] : &none;
		const struct total *row = mine->key <= theirs->key ? mine : theirs;
		const char *what = asked_differ(mine, theirs);

		if (!what)
			continue;
		if (getenv("HOLDUP_SEED")) {
			asked_say_rows("want", want->rows, want->count);
			asked_say_rows("got ", got->rows, got->count);
		}
		fail_msg("seed %" PRIu64 ", thread %u, %s: row of kind %u, a %" PRIx32
			 ", b %" PRIu32 " %s: %" PRIu64 " ns %" PRIu64 " x longest %" PRIu64
			 ", not %" PRIu64 " ns %" PRIu64 " x longest %" PRIu64,
			 asked->seed, asked->slot, where, total_kind(row->key), total_a(row->key),
			 total_b(row->key), what, theirs->ns, theirs->count, theirs->max_ns,
			 mine->ns, mine->count, mine->max_ns);
	}
}

static inline bool asked_is_call(uint64_t key)
{
	return total_kind(key) == TOTAL_CALL || total_kind(key) == TOTAL_ERROR;
}

static inline void asked_drop_calls(struct plain_rows *want, struct totals *got)
{
	size_t kept = 0;
	uint32_t still = 0;

	for (size_t i = 0; i < want->count; i++) {
		if (!asked_is_call(want->rows[i].key))
			want->rows[kept++] = want->rows[i];
	}
	for (uint32_t i = 0; i < got->count; i++) {
		if (!asked_is_call(got->rows[i].key))
			got->rows[still++] = got->rows[i];
	}
	want->count = kept;
	got->count = still;
}

static inline void asked_compare_totals(struct asked *asked, uint64_t start_ns, uint64_t end_ns)
{
	struct plain_rows want;
	struct totals got = { 0 };
	char where[80];

	snprintf(where, sizeof(where), "%" PRIu64 " to %" PRIu64, start_ns, end_ns);
	plain_totals(asked->plain, start_ns, end_ns, &want);
	timeline_totals(asked->tl, asked->slot, start_ns, end_ns, &got);
	if (totals_ns(&got, TOTAL_STATE) != end_ns - start_ns)
		fail_msg("seed %" PRIu64 ", %s: the states are %" PRIu64, asked->seed, where,
			 totals_ns(&got, TOTAL_STATE));
	totals_sort(&got);
	if (asked->any_words)
		asked_drop_calls(&want, &got);
	asked_compare_rows(asked, &want, &got, where);
	free(want.rows);
	totals_fini(&got);
}

/* Sums of touching windows are the sum of the window: all but the longest. */
static inline void asked_compare_parts(struct asked *asked)
{
	struct totals whole = { 0 }, sum = { 0 }, part = { 0 };
	uint64_t at, middle, end_ns;

	asked_window(asked, &at, &end_ns);
	timeline_totals(asked->tl, asked->slot, at, end_ns, &whole);
	while (at < end_ns) {
		middle = asked_moment(asked);
		middle = middle > at && middle < end_ns ? middle : end_ns;
		timeline_totals(asked->tl, asked->slot, at, middle, &part);
		totals_add(&sum, &part);
		at = middle;
	}
	totals_sort(&whole);
	totals_sort(&sum);
	assert_int_equal(whole.count, sum.count);
	for (uint32_t i = 0; i < whole.count; i++) {
		const struct total *x = &whole.rows[i], *y = &sum.rows[i];

		if (asked->any_words && asked_is_call(x->key) && x->key == y->key)
			continue;
		if (x->key != y->key || x->ns != y->ns || x->count != y->count)
			fail_msg("seed %" PRIu64 ": row of kind %u, a %" PRIx32 ", b %" PRIu32
				 " is %" PRIu64 " ns %" PRIu64 " x, its parts %" PRIu64
				 " ns %" PRIu64 " x",
				 asked->seed, total_kind(x->key), total_a(x->key), total_b(x->key),
				 x->ns, x->count, y->ns, y->count);
	}
	totals_fini(&whole);
	totals_fini(&sum);
	totals_fini(&part);
}

/* ----------------------------------------------------------------- intervals */

/* The interval that begins with span 'i', cut to the window; false when none is left. */
static inline bool asked_interval(const struct plain_sum *sum, size_t i,
				  struct tl_interval *out_interval)
{
	const struct plain *plain = sum->plain;
	uint64_t start = plain->spans[i].start_ns;
	uint64_t end = plain->spans[plain_last_of(plain, i)].end_ns;

	out_interval->start_ns = start > sum->start_ns ? start : sum->start_ns;
	out_interval->end_ns = end < sum->end_ns ? end : sum->end_ns;
	out_interval->word =
		plain->is_cpu ? plain->spans[i].word : word_plain(plain->spans[i].word);
	return plain_begins(plain, i) && out_interval->start_ns < out_interval->end_ns;
}

static inline void asked_compare_intervals(struct asked *asked, const struct track *track,
					   uint64_t start_ns, uint64_t end_ns)
{
	struct plain_sum sum = { asked->plain, start_ns, end_ns, NULL };
	struct tl_interval want, got;
	struct tl_iter iter;

	tl_iter_begin(&iter, asked->tl, track, start_ns, end_ns);
	for (size_t i = 0; i < asked->plain->count; i++) {
		if (!asked_interval(&sum, i, &want))
			continue;
		if (!tl_iter_next(&iter, &got))
			fail_msg("seed %" PRIu64 ", %u: nothing at %" PRIu64, asked->seed,
				 asked->slot, want.start_ns);
		if (got.start_ns != want.start_ns || got.end_ns != want.end_ns ||
		    got.word != want.word)
			fail_msg("seed %" PRIu64 ", %u: %x from %" PRIu64 " to %" PRIu64
				 ", not %x from %" PRIu64 " to %" PRIu64,
				 asked->seed, asked->slot, got.word, got.start_ns, got.end_ns,
				 want.word, want.start_ns, want.end_ns);
	}
	assert_false(tl_iter_next(&iter, &got));
}

/* As they were written, those of no length too. */
static inline void asked_compare_entries(struct asked *asked)
{
	const struct plain *plain = asked->plain;
	struct tl_iter iter;
	struct tl_interval in;
	size_t at = plain->lead;

	tl_iter_begin(&iter, asked->tl, &asked->tl->threads[asked->slot]->track,
		      asked->tl->origin_ns, UINT64_MAX);
	while (tl_iter_entry(&iter, &in)) {
		assert_true(at < plain->count);
		assert_int_equal(in.word, plain->spans[at].word);
		assert_int_equal(in.start_ns, plain->spans[at].start_ns);
		if (at + 1 < plain->count)
			assert_int_equal(in.end_ns, plain->spans[at].end_ns);
		at++;
	}
	assert_int_equal(at, plain->count);
}

/* -------------------------------------------------------------------- states */

static inline uint32_t plain_at(const struct plain *plain, uint64_t at_ns)
{
	uint32_t word = plain->is_cpu ? SLOT_NONE : word_make(WORD_NONE, 0);

	for (size_t i = 0; i < plain->count && plain->spans[i].start_ns <= at_ns; i++)
		word = plain->spans[i].word;
	return plain->is_cpu ? word : word_plain(word);
}

static inline void asked_compare_state(struct asked *asked, uint64_t at_ns)
{
	uint32_t want = plain_at(asked->plain, at_ns), got;

	got = asked->plain->is_cpu ? timeline_running_at(asked->tl, asked->slot, at_ns)
				   : timeline_state_at(asked->tl, asked->slot, at_ns);
	if (got != want)
		fail_msg("seed %" PRIu64 ", %u: at %" PRIu64 " it is %x, not %x", asked->seed,
			 asked->slot, at_ns, got, want);
}

/* The state it was in longest in [start, end); the smaller of two. */
static inline uint32_t plain_longest(const struct plain *plain, uint64_t start_ns, uint64_t end_ns)
{
	struct plain_rows rows = { 0 };
	struct plain_sum sum = { plain, start_ns, end_ns, &rows };
	uint64_t most = 0;
	uint32_t word = 0;

	for (size_t i = 0; i < plain->count; i++)
		plain_row(&rows, plain_state(plain->spans[i].word))->ns += plain_ns(&sum, i);
	for (size_t i = 0; i < rows.count; i++) {
		const struct total *row = &rows.rows[i];

		if (row->ns > most || (row->ns == most && most && row->key < word)) {
			most = row->ns;
			word = (uint32_t)row->key;
		}
	}
	free(rows.rows);
	return word;
}

/* Column i of n covers [start + i * length / n, start + (i + 1) * length / n). */
static inline void asked_compare_columns(struct asked *asked, uint64_t start_ns, uint64_t end_ns)
{
	__extension__ typedef unsigned __int128 wide;
	uint32_t words[40], width = 1 + (uint32_t)asked_random(asked, ARRAY_LEN(words));
	wide length = end_ns - start_ns;

	timeline_columns(asked->tl, asked->slot, start_ns, end_ns, width, words);
	for (uint32_t i = 0; i < width; i++) {
		uint64_t from = start_ns + (uint64_t)(length * i / width);
		uint64_t to = start_ns + (uint64_t)(length * (i + 1) / width);
		uint32_t want = plain_longest(asked->plain, from, to);

		if (words[i] != want)
			fail_msg("seed %" PRIu64 ": column %u of %u, %" PRIu64 " to %" PRIu64
				 ", is %x, not %x",
				 asked->seed, i, width, from, to, words[i], want);
	}
}

static inline void asked_compare_waits(struct asked *asked)
{
	const struct plain *plain = asked->plain;
	struct wait wait;

	for (uint32_t i = 0; i < plain->wait_count; i++) {
		timeline_wait(asked->tl, asked->slot, i, &wait);
		assert_int_equal(wait.begin_ns, plain->waits[i].begin_ns);
		assert_int_equal(wait.woken_ns, plain->waits[i].woken_ns);
		assert_int_equal(wait.in, plain->waits[i].in);
		assert_int_equal(wait.object, plain->waits[i].object);
		assert_int_equal(wait.fd, plain->waits[i].fd);
		assert_int_equal(wait.flags, plain->waits[i].flags);
		assert_int_equal(wait.waker.kind, plain->waits[i].waker.kind);
		assert_int_equal(wait.waker.slot, plain->waits[i].waker.slot);
		assert_int_equal(wait.waker.time_ns, plain->waits[i].waker.time_ns);
	}
	timeline_wait(asked->tl, asked->slot, plain->wait_count, &wait);
	assert_int_equal(wait.waker.slot, SLOT_NONE);
	assert_int_equal(wait.woken_ns, 0);
}

#endif

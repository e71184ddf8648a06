/*
 * totals_twin.h - the rows of totals.h, recomputed slowly from a plain list of spans.
 *
 * Written from the words of the header alone. Whatever a span belongs to (a call, a
 * wait, a CPU) is looked for anew each time by walking back through the list: nothing
 * is carried along, so that nothing can be carried along wrongly.
 */
#ifndef TOTALS_TWIN_H
#define TOTALS_TWIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "timeline/timeline.h"
#include "timeline/totals.h"

/*
 * From start_ns on, until end_ns, the thread is in 'word'. They touch, may be empty, and begin
 * where the recording does: with WORD_NONE where a track begins later.
 */
struct plain_span {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t word;
};

struct plain {
	struct plain_span *spans; /* owned */
	size_t count, cap;
	struct wait *waits; /* owned */
	uint32_t wait_count;
	size_t lead; /* spans before the first entry of the track: 0 or 1 */
	bool idle;   /* the idle task of 'idle_cpu' */
	uint32_t idle_cpu;
	bool is_cpu; /* the track of a CPU: words are slots */
};

struct plain_rows {
	struct total *rows; /* owned; in order of keys after plain_rows_sort() */
	size_t count, cap;
};

/* A window, and the rows it is added up in. */
struct plain_sum {
	const struct plain *plain;
	uint64_t start_ns, end_ns;
	struct plain_rows *rows;
};

#define PLAIN_NOWHERE SIZE_MAX

static inline void plain_fini(struct plain *plain)
{
	free(plain->spans);
	free(plain->waits);
}

static inline void plain_add(struct plain *plain, uint64_t start_ns, uint64_t end_ns, uint32_t word)
{
	plain->spans = vec_room(plain->spans, plain->count, &plain->cap, sizeof(*plain->spans));
	plain->spans[plain->count++] = (struct plain_span){ start_ns, end_ns, word };
}

static inline struct total *plain_row(struct plain_rows *rows, uint64_t key)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->rows[i].key == key)
			return &rows->rows[i];
	}
	rows->rows = vec_room(rows->rows, rows->count, &rows->cap, sizeof(*rows->rows));
	rows->rows[rows->count] = (struct total){ .key = key };
	return &rows->rows[rows->count++];
}

static inline int plain_compare(const void *a, const void *b)
{
	const struct total *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* Leave out the rows of nothing, and order the others. */
static inline void plain_rows_sort(struct plain_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		if (rows->rows[i].ns || rows->rows[i].count || rows->rows[i].max_ns)
			rows->rows[kept++] = rows->rows[i];
	}
	rows->count = kept;
	if (kept)
		qsort(rows->rows, kept, sizeof(*rows->rows), plain_compare);
}

/* --------------------------------------------------------------- about a span */

static inline enum word_kind plain_kind(const struct plain *plain, size_t i)
{
	return word_kind(plain->spans[i].word);
}

/* In its own code, or in a fault taken there: so in no system call. */
static inline bool plain_is_base(enum word_kind kind)
{
	return kind == WORD_NONE || kind == WORD_USER || kind == WORD_RUN || kind == WORD_TRAP ||
	       kind == WORD_KERNEL;
}

/* Nothing is known there, but for a switch that must have been somewhere in it. */
static inline bool plain_is_hole(uint32_t word)
{
	return word_kind(word) == WORD_UNCERTAIN && word_arg(word) != UNSURE_SWITCH;
}

static inline bool plain_on_cpu(enum word_kind kind)
{
	return kind >= WORD_RUN && kind <= WORD_SOFTIRQ;
}

/* The state, as TOTAL_STATE wants it: without what its argument tells beside it. */
static inline uint32_t plain_state(uint32_t word)
{
	switch (word_kind(word)) {
	case WORD_USER:
	case WORD_RUN:
	case WORD_BLOCKED:
	case WORD_PREEMPTED:
	case WORD_WAIT_CPU:
		return word_make(word_kind(word), 0);
	case WORD_SYSCALL:
		return word_make(WORD_SYSCALL, word_call(word));
	default:
		return word;
	}
}

/* The span where the call began that is open in span 'i'; nowhere when none is. */
static inline size_t plain_call(const struct plain *plain, size_t i)
{
	size_t found = PLAIN_NOWHERE;

	for (size_t at = i + 1; at-- > 0;) {
		enum word_kind kind = plain_kind(plain, at);

		/* One of no length says only how its neighbours were found out. */
		if (plain_is_base(kind) || (plain_is_hole(plain->spans[at].word) &&
					    plain->spans[at].start_ns < plain->spans[at].end_ns))
			break;
		if (kind != WORD_SYSCALL)
			continue;
		if (found != PLAIN_NOWHERE &&
		    word_call(plain->spans[at].word) != word_call(plain->spans[found].word))
			break;
		found = at;
	}
	return found;
}

/* Was it seen to begin: right behind own code, or another call? */
static inline bool plain_call_begins(const struct plain *plain, size_t call)
{
	enum word_kind before = call ? plain_kind(plain, call - 1) : WORD_NONE;

	return before == WORD_USER || before == WORD_RUN || before == WORD_TRAP ||
	       (call && plain_call(plain, call - 1) != PLAIN_NOWHERE);
}

/* The CPU that it is on in span 'i', by what was said of it last; UINT32_MAX = nothing was. */
static inline uint32_t plain_cpu(const struct plain *plain, size_t i)
{
	if (plain->idle)
		return plain->idle_cpu;
	for (size_t at = i + 1; at-- > 0;) {
		enum word_kind kind = plain_kind(plain, at);

		if (kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU || kind == WORD_CPU)
			return word_arg(plain->spans[at].word);
	}
	return UINT32_MAX;
}

static inline enum total_mode plain_mode(uint32_t word)
{
	switch (word_kind(word)) {
	case WORD_USER:
		return MODE_USER;
	case WORD_SYSCALL:
	case WORD_TRAP:
	case WORD_KERNEL:
	case WORD_WORK:
		return MODE_KERNEL;
	case WORD_IRQ:
	case WORD_VECTOR:
		return MODE_IRQ;
	case WORD_SOFTIRQ:
		return MODE_SOFTIRQ;
	case WORD_IDLE:
		return MODE_IDLE;
	default:
		return MODE_RUN;
	}
}

/* ------------------------------------------------------------------ the window */

static inline bool plain_within(const struct plain_sum *sum, uint64_t time_ns)
{
	return time_ns >= sum->start_ns && time_ns < sum->end_ns;
}

/* The part of span 'i' that lies in the window. */
static inline uint64_t plain_ns(const struct plain_sum *sum, size_t i)
{
	const struct plain_span *span = &sum->plain->spans[i];
	uint64_t start = span->start_ns > sum->start_ns ? span->start_ns : sum->start_ns;
	uint64_t end = span->end_ns < sum->end_ns ? span->end_ns : sum->end_ns;

	return start < end ? end - start : 0;
}

static inline void plain_count(struct plain_sum *sum, uint64_t key, uint64_t time_ns)
{
	if (plain_within(sum, time_ns))
		plain_row(sum->rows, key)->count++;
}

/* Something that ended at 'time_ns' had taken 'ns'. */
static inline void plain_ended(struct plain_sum *sum, uint64_t key, uint64_t time_ns, uint64_t ns)
{
	struct total *row;

	if (!plain_within(sum, time_ns))
		return;
	row = plain_row(sum->rows, key);
	if (ns > row->max_ns)
		row->max_ns = ns;
}

static inline bool plain_same(const struct plain *plain, size_t i, size_t k)
{
	uint32_t x = plain->spans[i].word, y = plain->spans[k].word;

	return plain->is_cpu ? x == y : word_plain(x) == word_plain(y);
}

/* The last of the spans that go on with the word of span 'i', one right behind the other. */
static inline size_t plain_last_of(const struct plain *plain, size_t i)
{
	while (i + 1 < plain->count && plain_same(plain, i, i + 1))
		i++;
	return i;
}

/* Does an interval of some length, as tl_iter_next() tells it, begin with span 'i'? */
static inline bool plain_begins(const struct plain *plain, size_t i)
{
	const struct plain_span *span = &plain->spans[i];

	if (i > 0 && plain_same(plain, i - 1, i))
		return false;
	return plain->spans[plain_last_of(plain, i)].end_ns > span->start_ns;
}

static inline void plain_sum_states(struct plain_sum *sum)
{
	const struct plain *plain = sum->plain;

	for (size_t i = 0; i < plain->count; i++) {
		uint64_t key = total_key(TOTAL_STATE, plain_state(plain->spans[i].word), 0);

		plain_row(sum->rows, key)->ns += plain_ns(sum, i);
		if (plain_begins(plain, i))
			plain_count(sum, key, plain->spans[i].start_ns);
	}
}

static inline void plain_sum_waits(struct plain_sum *sum)
{
	const struct plain *plain = sum->plain;

	for (size_t i = 0; i < plain->count; i++) {
		const struct plain_span *span = &plain->spans[i];
		const struct wait *wait;
		size_t last;
		uint64_t key;

		if (word_kind(span->word) != WORD_BLOCKED)
			continue;
		wait = &plain->waits[word_arg(span->word)];
		key = total_key(TOTAL_WAIT, word_plain(wait->in), wait_kind(wait));
		plain_row(sum->rows, key)->ns += plain_ns(sum, i);
		if (!plain_begins(plain, i))
			continue;
		plain_count(sum, key, span->start_ns);
		last = plain_last_of(plain, i);
		if (last + 1 < plain->count)
			plain_ended(sum, key, plain->spans[last].end_ns,
				    plain->spans[last].end_ns - span->start_ns);
	}
}

static inline void plain_sum_calls(struct plain_sum *sum)
{
	const struct plain *plain = sum->plain;

	for (size_t i = 0; i < plain->count; i++) {
		size_t call = plain_call(plain, i);
		const struct plain_span *began = &plain->spans[call];
		uint64_t key;

		if (call == PLAIN_NOWHERE)
			continue;
		key = total_key(TOTAL_CALL, word_call(began->word), 0);
		plain_row(sum->rows, key)->ns += plain_ns(sum, i);
		if (call == i && plain_call_begins(plain, i))
			plain_count(sum, key, began->start_ns);
		/* The span behind it is not of this call: it ended, unless nothing is known there. */
		if (i + 1 < plain->count && plain_call(plain, i + 1) != call &&
		    !plain_is_hole(plain->spans[i + 1].word) && plain_call_begins(plain, call)) {
			uint64_t end_ns = plain->spans[i].end_ns;

			plain_ended(sum, key, end_ns, end_ns - began->start_ns);
		}
	}
}

static inline void plain_sum_errors(struct plain_sum *sum)
{
	const struct plain *plain = sum->plain;

	for (size_t i = 1; i < plain->count; i++) {
		size_t call = plain_call(plain, i - 1);
		uint32_t error = word_error(plain->spans[i].word);

		if (error && call != PLAIN_NOWHERE)
			plain_count(sum,
				    total_key(TOTAL_ERROR, word_call(plain->spans[call].word),
					      error),
				    plain->spans[i].start_ns);
	}
}

static inline void plain_sum_cpus(struct plain_sum *sum)
{
	const struct plain *plain = sum->plain;

	for (size_t i = 0; i < plain->count; i++) {
		uint32_t word = plain->spans[i].word;
		uint32_t cpu = plain_cpu(plain, i);

		if (plain_on_cpu(word_kind(word)) && cpu != UINT32_MAX)
			plain_row(sum->rows, total_key(TOTAL_CPU, cpu, plain_mode(word)))->ns +=
				plain_ns(sum, i);
	}
}

/* The last span before 'i' on a CPU; nowhere when there is none. */
static inline size_t plain_ran_before(const struct plain *plain, size_t i)
{
	while (i-- > 0) {
		if (plain_on_cpu(plain_kind(plain, i)))
			return i;
	}
	return PLAIN_NOWHERE;
}

/* The span that tells where span 'i' came from: no uncertain one of no length. */
static inline enum word_kind plain_before(const struct plain *plain, size_t i)
{
	while (i > 0 && plain_is_hole(plain->spans[i - 1].word) &&
	       plain->spans[i - 1].start_ns == plain->spans[i - 1].end_ns)
		i--;
	return i ? plain_kind(plain, i - 1) : WORD_NONE;
}

static inline void plain_sum_counters(struct plain_sum *sum)
{
	const struct plain *plain = sum->plain;

	for (size_t i = 0; i < plain->count; i++) {
		enum word_kind kind = plain_kind(plain, i);
		enum word_kind before = plain_before(plain, i);
		uint64_t at = plain->spans[i].start_ns;

		if (plain_on_cpu(kind) && !plain_on_cpu(before)) {
			size_t ran = plain_ran_before(plain, i);

			plain_count(sum, total_key(TOTAL_COUNTER, COUNT_SWITCH_IN, 0), at);
			if (ran != PLAIN_NOWHERE && plain_cpu(plain, ran) != plain_cpu(plain, i) &&
			    plain_cpu(plain, ran) != UINT32_MAX)
				plain_count(sum, total_key(TOTAL_COUNTER, COUNT_MIGRATIONS, 0), at);
		}
		if (kind == WORD_PREEMPTED && plain_on_cpu(before))
			plain_count(sum, total_key(TOTAL_COUNTER, COUNT_PREEMPTED, 0), at);
		if (plain_on_cpu(before) &&
		    (kind == WORD_BLOCKED ||
		     (kind == WORD_WAIT_CPU && plain_is_hole(plain->spans[i - 1].word))))
			plain_count(sum, total_key(TOTAL_COUNTER, COUNT_WAITS, 0), at);
		if (word_faulted(plain->spans[i].word))
			plain_count(sum, total_key(TOTAL_COUNTER, COUNT_FAULTS, 0), at);
	}
}

/* All rows of [start, end). Free rows->rows. */
static inline void plain_totals(const struct plain *plain, uint64_t start_ns, uint64_t end_ns,
				struct plain_rows *rows)
{
	struct plain_sum sum = { plain, start_ns, end_ns, rows };

	*rows = (struct plain_rows){ 0 };
	plain_sum_states(&sum);
	plain_sum_waits(&sum);
	plain_sum_calls(&sum);
	plain_sum_errors(&sum);
	plain_sum_cpus(&sum);
	plain_sum_counters(&sum);
	plain_rows_sort(rows);
}

#endif

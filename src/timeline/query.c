/*
 * query.c - what a timeline is asked: intervals, states, sums, wake-ups, columns.
 *
 * A track is a row of pieces: its chunks, then the tail in memory. A time is found by
 * a search among the pieces and one inside the piece.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "timeline/cache.h"
#include "timeline/run.h"
#include "timeline/timeline.h"

/* Let the iterator stand at the beginning of a piece. */
static void enter_piece(struct tl_iter *iter, uint32_t piece)
{
	const struct track *track = iter->track;

	iter->piece = piece;
	iter->at = 0;
	if (piece < track->chunk_count) {
		iter->chunk = cache_chunk(iter->timeline->cache, track, piece);
		iter->stamp = iter->chunk->stamp;
		iter->entries = iter->chunk->entries;
		iter->count = iter->chunk->entry_count;
		return;
	}
	iter->chunk = NULL;
	iter->entries = track->tail;
	iter->count = track->count - track->base;
}

/* The next entry, or NULL at the end of the track. */
static inline const struct track_entry *peek(struct tl_iter *iter)
{
	while (iter->at == iter->count) {
		if (iter->piece >= iter->track->chunk_count)
			return NULL;
		enter_piece(iter, iter->piece + 1);
	}
	if (iter->chunk && iter->chunk->stamp != iter->stamp) {
		uint32_t at = iter->at; /* another chunk took its place meanwhile */

		enter_piece(iter, iter->piece);
		iter->at = at < iter->count ? at : iter->count - 1;
	}
	return &iter->entries[iter->at];
}

/* Entries of the piece that begin before 'time'. */
static uint32_t entries_before(const struct tl_iter *iter, uint64_t time)
{
	return (uint32_t)SEARCH_FROM(iter->entries, iter->count, time, time);
}

/* Stand before the first entry at or after 'time'; the word is the one in force before it. */
static void go_to(struct tl_iter *iter, uint64_t time)
{
	const struct track *track = iter->track;

	iter->word = track->id & TRACK_CPU ? SLOT_NONE : word_make(WORD_NONE, 0);
	enter_piece(iter, track_piece(track, time));
	iter->at = entries_before(iter, time);
	if (iter->at)
		iter->word = iter->entries[iter->at - 1].word;
}

void tl_iter_begin(struct tl_iter *iter, const struct timeline *timeline, const struct track *track,
		   uint64_t start_ns, uint64_t end_ns)
{
	uint64_t origin = timeline->origin_ns;

	*iter = (struct tl_iter){
		.timeline = timeline, .track = track, .now_ns = start_ns, .end_ns = end_ns
	};
	go_to(iter, start_ns > origin ? start_ns - origin : 0);
}

void tl_iter_thread(struct tl_iter *iter, const struct timeline *timeline, uint32_t slot,
		    uint64_t start_ns, uint64_t end_ns)
{
	tl_iter_begin(iter, timeline, &timeline->threads[slot]->track, start_ns, end_ns);
}

static inline uint32_t plain_of(const struct track *track, uint32_t word)
{
	return track->id & TRACK_CPU ? word : word_plain(word);
}

bool tl_iter_next(struct tl_iter *iter, struct tl_interval *out_interval)
{
	uint64_t origin = iter->timeline->origin_ns, start = iter->now_ns;
	const struct track *track = iter->track;

	while (start < iter->end_ns) {
		uint32_t word = plain_of(track, iter->word);
		const struct track_entry *next = peek(iter);
		uint64_t until = next ? next->time + origin : UINT64_MAX;

		if (until >= iter->end_ns) {
			until = iter->end_ns;
		} else {
			iter->word = next->word;
			iter->at++;
			/* The same state goes on. */
			if (plain_of(track, iter->word) == word)
				continue;
		}
		if (until <= start)
			continue;
		iter->now_ns = until;
		*out_interval = (struct tl_interval){ start, until, word };
		return true;
	}
	return false;
}

bool tl_iter_entry(struct tl_iter *iter, struct tl_interval *out_interval)
{
	uint64_t origin = iter->timeline->origin_ns;
	const struct track_entry *entry = peek(iter);

	if (!entry || entry->time + origin >= iter->end_ns)
		return false;
	out_interval->start_ns = entry->time + origin;
	out_interval->word = entry->word;
	iter->word = entry->word;
	iter->at++;
	iter->now_ns = out_interval->start_ns;
	entry = peek(iter);
	out_interval->end_ns = entry ? entry->time + origin : iter->timeline->end_ns;
	return true;
}

static uint32_t word_at(const struct timeline *timeline, const struct track *track, uint64_t at_ns)
{
	struct tl_iter iter = { .timeline = timeline, .track = track };

	if (at_ns < timeline->origin_ns)
		return track->id & TRACK_CPU ? SLOT_NONE : word_make(WORD_NONE, 0);
	go_to(&iter, at_ns - timeline->origin_ns + 1);
	return plain_of(track, iter.word);
}

uint32_t timeline_state_at(const struct timeline *timeline, uint32_t slot, uint64_t at_ns)
{
	if (slot >= timeline->thread_count)
		return word_make(WORD_NONE, 0);
	return word_at(timeline, &timeline->threads[slot]->track, at_ns);
}

uint32_t timeline_running_at(const struct timeline *timeline, uint32_t cpu, uint64_t at_ns)
{
	return cpu < timeline->cpu_count ? word_at(timeline, timeline->cpus[cpu], at_ns)
					 : SLOT_NONE;
}

const char *timeline_damage(const struct timeline *timeline)
{
	return cache_damage(timeline->cache);
}

/* --------------------------------------------------------------------- waits */

/* The chunk that holds wait 'index'; chunk_count when none does. */
static uint32_t piece_of_wait(const struct track *track, uint32_t index)
{
	uint32_t low = 0, high = track->chunk_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (track->chunks[middle].first_wait <= index)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void timeline_wait(const struct timeline *timeline, uint32_t slot, uint32_t index,
		   struct wait *out_wait)
{
	const struct tl_thread *thread;
	const struct chunk *chunk;

	*out_wait = (struct wait){ .waker.slot = SLOT_NONE, .origin.slot = SLOT_NONE, .fd = -1 };
	if (slot >= timeline->thread_count)
		return;
	thread = timeline->threads[slot];
	if (index >= thread->wait_base) {
		if (index < thread->wait_count)
			*out_wait = thread->waits[index - thread->wait_base];
		return;
	}
	if (!thread->track.chunk_count)
		return;
	chunk = cache_waits(timeline->cache, &thread->track, piece_of_wait(&thread->track, index));
	if (index - chunk->first_wait < chunk->wait_count)
		*out_wait = chunk->waits[index - chunk->first_wait];
}

/* --------------------------------------------------------------------- sums */

static void iter_feed(struct run *run, struct tl_iter *iter)
{
	const struct track_entry entry = iter->entries[iter->at++];
	struct wait wait = { .fd = -1 };

	if (word_kind(entry.word) == WORD_BLOCKED)
		timeline_wait(iter->timeline, iter->track->id, word_arg(entry.word), &wait);
	run_feed(run, entry.time, entry.word, &wait);
}

/* Take up the sums at the beginning of the piece. The first one begins with nothing. */
static void begin_piece(struct run *run, struct tl_iter *iter, uint32_t piece)
{
	enter_piece(iter, piece);
	if (piece < iter->track->chunk_count) {
		cache_run(iter->timeline->cache, iter->track, piece, false, run);
		return;
	}
	run_fini(run);
	run_init(run, thread_idle_cpu(iter->timeline->threads[iter->track->id]));
}

/* Feed the entries of the piece at hand that begin before 'time'. */
static void feed_before(struct run *run, struct tl_iter *iter, uint64_t time)
{
	while (iter->at < iter->count) {
		const struct track_entry *entry = peek(iter);

		if (entry->time >= time)
			break;
		iter_feed(run, iter);
	}
}

static void clear_longest(struct totals *totals)
{
	for (uint32_t i = 0; i < totals->count; i++)
		totals->rows[i].max_ns = 0;
}

static void keep_longest(struct totals *longest, const struct totals *from)
{
	for (uint32_t i = 0; i < from->count; i++) {
		struct total *row;

		if (!from->rows[i].max_ns)
			continue;
		row = totals_row(longest, from->rows[i].key);
		if (from->rows[i].max_ns > row->max_ns)
			row->max_ns = from->rows[i].max_ns;
	}
}

/* From the piece at hand to the end of the window, with the longest spans on the way. */
static void feed_window(struct run *run, struct tl_iter *iter, uint64_t end, struct totals *longest)
{
	const struct track *track = iter->track;
	uint32_t last = track_piece(track, end);

	feed_before(run, iter, end);
	keep_longest(longest, &run->totals);
	for (uint32_t piece = iter->piece + 1; piece < last; piece++) {
		struct run head;

		run_init(&head, SLOT_NONE);
		cache_run(iter->timeline->cache, track, piece, true, &head);
		keep_longest(longest, &head.totals);
		run_fini(&head);
	}
	if (last <= iter->piece)
		return;
	begin_piece(run, iter, last);
	feed_before(run, iter, end);
	keep_longest(longest, &run->totals);
}

void timeline_totals(const struct timeline *timeline, uint32_t slot, uint64_t start_ns,
		     uint64_t end_ns, struct totals *out_totals)
{
	uint64_t origin = timeline->origin_ns;
	uint64_t start = start_ns > origin ? start_ns - origin : 0;
	uint64_t end = end_ns > origin ? end_ns - origin : 0;
	struct tl_iter iter = { .timeline = timeline };
	struct totals before = { 0 }, longest = { 0 };
	struct run run;

	totals_clear(out_totals);
	if (slot >= timeline->thread_count || start >= end)
		return;
	iter.track = &timeline->threads[slot]->track;
	run_init(&run, SLOT_NONE);
	begin_piece(&run, &iter, track_piece(iter.track, start));
	feed_before(&run, &iter, start);
	run_to(&run, start);
	run_settle(&run);
	totals_add(&before, &run.totals);
	clear_longest(&run.totals);
	feed_window(&run, &iter, end, &longest);
	run_to(&run, end);
	run_settle(&run);
	totals_add(out_totals, &run.totals);
	totals_subtract(out_totals, &before);
	clear_longest(out_totals);
	keep_longest(out_totals, &longest);
	totals_sort(out_totals);
	totals_fini(&before);
	totals_fini(&longest);
	run_fini(&run);
}

struct tl_places {
	struct tl_iter iter;
	struct run run; /* with only_places */
	bool begun;
};

struct tl_places *tl_places_new(const struct timeline *timeline, uint32_t slot)
{
	struct tl_places *places = xcalloc(1, sizeof(*places));

	places->iter =
		(struct tl_iter){ .timeline = timeline, .track = &timeline->threads[slot]->track };
	return places;
}

void tl_places_free(struct tl_places *places)
{
	free(places);
}

static void places_begin(struct tl_places *places, uint32_t piece)
{
	const struct track *track = places->iter.track;
	const struct timeline *timeline = places->iter.timeline;

	places->begun = true;
	enter_piece(&places->iter, piece);
	run_init(&places->run, thread_idle_cpu(timeline->threads[track->id]));
	places->run.only_places = true;
	if (piece < track->chunk_count)
		cache_places(timeline->cache, track, piece, &places->run);
}

uint32_t tl_places_at(struct tl_places *places, uint64_t at_ns)
{
	uint64_t origin = places->iter.timeline->origin_ns,
		 at = at_ns > origin ? at_ns - origin : 0;
	uint32_t piece = track_piece(places->iter.track, at);

	if (!places->begun || piece > places->iter.piece)
		places_begin(places, piece);
	while (places->iter.at < places->iter.count) {
		const struct track_entry *entry = peek(&places->iter);

		if (entry->time >= at)
			break;
		run_feed(&places->run, entry->time, entry->word, NULL);
		places->iter.at++;
	}
	return places->run.ran_on;
}

uint32_t timeline_ran_on(const struct timeline *timeline, uint32_t slot, uint64_t at_ns)
{
	struct tl_places *places;
	uint32_t cpu;

	if (slot >= timeline->thread_count)
		return SLOT_NONE;
	places = tl_places_new(timeline, slot);
	cpu = tl_places_at(places, at_ns);
	tl_places_free(places);
	return cpu;
}

/* ------------------------------------------------------------------ columns */

/* The state whose sum has grown most from 'before' to 'now'. */
static uint32_t grown_most(const struct totals *now, const struct totals *before)
{
	uint32_t best = word_make(WORD_NONE, 0);
	uint64_t best_ns = 0;

	for (uint32_t i = 0; i < now->count; i++) {
		const struct total *row = &now->rows[i], *old;
		uint64_t ns = row->ns;

		if (total_kind(row->key) != TOTAL_STATE)
			continue;
		old = totals_find(before, row->key);
		ns -= old ? old->ns : 0;
		if (ns > best_ns || (ns == best_ns && ns && total_a(row->key) < best)) {
			best_ns = ns;
			best = total_a(row->key);
		}
	}
	return best;
}

/* Go on to 'time': inside the piece at hand, or with the sums of a later one. */
static void run_on(struct run *run, struct tl_iter *iter, uint64_t time)
{
	uint32_t piece = track_piece(iter->track, time);

	if (piece > iter->piece)
		begin_piece(run, iter, piece);
	feed_before(run, iter, time);
	run_to(run, time);
	run_settle(run);
}

void timeline_columns(const struct timeline *timeline, uint32_t slot, uint64_t start_ns,
		      uint64_t end_ns, uint32_t width, uint32_t *out_words)
{
	uint64_t origin = timeline->origin_ns;
	uint64_t start = start_ns > origin ? start_ns - origin : 0;
	uint64_t end = end_ns > origin ? end_ns - origin : 0;
	struct tl_iter iter = { .timeline = timeline };
	struct totals before = { 0 };
	struct run run;

	for (uint32_t i = 0; i < width; i++)
		out_words[i] = word_make(WORD_NONE, 0);
	if (slot >= timeline->thread_count || start >= end)
		return;
	iter.track = &timeline->threads[slot]->track;
	run_init(&run, SLOT_NONE);
	begin_piece(&run, &iter, track_piece(iter.track, start));
	run_on(&run, &iter, start);
	for (uint32_t i = 0; i < width; i++) {
		__uint128_t part = (__uint128_t)(end - start) * (i + 1) / width;

		totals_clear(&before);
		totals_add(&before, &run.totals);
		run_on(&run, &iter, start + (uint64_t)part);
		out_words[i] = grown_most(&run.totals, &before);
	}
	totals_fini(&before);
	run_fini(&run);
}

/* ----------------------------------------------------- sums that go forward */

struct tl_sums {
	struct tl_iter iter;
	struct run run;
	bool begun; /* a piece was entered: that of the first time that is asked */
};

struct tl_sums *tl_sums_new(const struct timeline *timeline, uint32_t slot)
{
	struct tl_sums *sums = xcalloc(1, sizeof(*sums));

	sums->iter =
		(struct tl_iter){ .timeline = timeline, .track = &timeline->threads[slot]->track };
	run_init(&sums->run, thread_idle_cpu(timeline->threads[slot]));
	return sums;
}

void tl_sums_free(struct tl_sums *sums)
{
	if (!sums)
		return;
	run_fini(&sums->run);
	free(sums);
}

void tl_sums_renew(struct tl_sums *sums)
{
	if (sums->iter.track->chunk_count || !sums->begun)
		return;
	enter_piece(&sums->iter, 0);
	sums->iter.at = entries_before(&sums->iter, sums->run.now);
}

const struct totals *tl_sums_at(struct tl_sums *sums, uint64_t time_ns)
{
	uint64_t origin = sums->iter.timeline->origin_ns;
	uint64_t time = time_ns > origin ? time_ns - origin : 0;

	if (time > sums->run.now) {
		if (!sums->begun)
			begin_piece(&sums->run, &sums->iter, track_piece(sums->iter.track, time));
		sums->begun = true;
		run_on(&sums->run, &sums->iter, time);
	} else {
		run_settle(&sums->run);
	}
	return &sums->run.totals;
}

bool tl_sums_pace(struct tl_sums *sums, struct tl_pace *out_pace)
{
	const struct run *run = &sums->run;
	const struct track_entry *next;

	if (!run->counted)
		return false;
	next = peek(&sums->iter);
	out_pace->until_ns = next ? next->time + sums->iter.timeline->origin_ns : UINT64_MAX;
	out_pace->word = run_state_of(run->word);
	out_pace->wait = run->wait_kind;
	out_pace->call = run->call == RUN_NO_CALL ? SLOT_NONE : run->call;
	out_pace->vague = run->vague;
	return true;
}

uint64_t tl_sums_vague_ns(const struct tl_sums *sums)
{
	return sums->run.vague_ns;
}

/* -------------------------------------------------------------------- edges */

/* Edges of a piece; 0 of them after the last piece. */
static const struct tl_edge *edges_of(const struct tl_edge_iter *iter, uint32_t *out_count)
{
	const struct tl_thread *thread = iter->timeline->threads[iter->slot];

	if (iter->piece < thread->track.chunk_count) {
		const struct chunk *chunk =
			cache_edges(iter->timeline->cache, &thread->track, iter->piece);

		*out_count = chunk->edge_count;
		return chunk->edges;
	}
	*out_count = iter->piece == thread->track.chunk_count
			     ? thread->edge_count - thread->edge_base
			     : 0;
	return thread->edges;
}

void tl_edges_begin(struct tl_edge_iter *iter, const struct timeline *timeline, uint32_t slot,
		    uint64_t start_ns, uint64_t end_ns)
{
	uint64_t origin = timeline->origin_ns;

	*iter = (struct tl_edge_iter){
		.timeline = timeline, .slot = slot, .start_ns = start_ns, .end_ns = end_ns
	};
	if (slot < timeline->thread_count)
		iter->piece = track_piece(&timeline->threads[slot]->track,
					  start_ns > origin ? start_ns - origin : 0);
}

bool tl_edges_next(struct tl_edge_iter *iter, struct tl_edge *out_edge)
{
	if (iter->slot >= iter->timeline->thread_count)
		return false;
	while (iter->piece <= iter->timeline->threads[iter->slot]->track.chunk_count) {
		uint32_t count;
		const struct tl_edge *edges = edges_of(iter, &count);

		while (iter->at < count) {
			*out_edge = edges[iter->at++];
			if (out_edge->time_ns >= iter->end_ns)
				return false;
			if (out_edge->time_ns >= iter->start_ns)
				return true;
		}
		iter->piece++;
		iter->at = 0;
	}
	return false;
}

/*
 * classed.c - sums by a few classes of states, for drawing.
 *
 * What query.c adds up by rows, is added up here by the caller's classes, out of chunks that stay packed (marks.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "timeline/cache.h"
#include "timeline/marks.h"
#include "timeline/timeline.h"
#include "timeline/totals.h"

struct tl_classed {
	const struct timeline *timeline;
	const struct track *track;
	const struct tl_classes *classes;
	const struct chunk *chunk; /* the piece at hand; NULL = the tail */
	uint64_t stamp;		   /* of 'chunk' when it was taken */
	uint32_t piece;		   /* chunk index; chunk_count = the tail */
	bool begun;
	struct marks_walk walk;	   /* in the tail 'here' and 'next' are kept, no more */
	uint64_t told[TL_CLASSES]; /* up to the time that was asked last */
};

struct tl_classed *tl_classed_new(const struct timeline *timeline, uint32_t slot,
				  const struct tl_classes *classes)
{
	struct tl_classed *classed = xcalloc(1, sizeof(*classed));

	classed->timeline = timeline;
	classed->track = &timeline->threads[slot]->track;
	classed->classes = classes;
	classed->walk.here.in_class = classes->of_word[WORD_NONE];
	return classed;
}

void tl_classed_free(struct tl_classed *classed)
{
	free(classed);
}

/* A chunk that cannot be read is of no entries, and uncertain. */
static void enter_unknown(struct tl_classed *classed)
{
	struct marks_walk *walk = &classed->walk;

	walk->here = (struct marks_place){
		.now = classed->track->chunks[classed->piece].start,
		.in_class = classed->classes->of_word[WORD_UNCERTAIN],
	};
	walk->next = walk->mark.now = UINT64_MAX;
}

static void enter_chunk(struct tl_classed *classed)
{
	struct tl_cache *cache = classed->timeline->cache;

	classed->chunk = cache_packed(cache, classed->track, classed->piece);
	classed->stamp = classed->chunk->stamp;
	if (!classed->chunk->byte_count) {
		enter_unknown(classed);
	} else if (!marks_walk_begin(&classed->walk, classed->chunk, classed->classes)) {
		cache_refuse(cache, classed->track, classed->piece);
		enter_unknown(classed);
	}
}

static void enter_tail(struct tl_classed *classed)
{
	const struct track *track = classed->track;
	struct marks_walk *walk = &classed->walk;

	classed->chunk = NULL;
	walk->here = (struct marks_place){ .in_class = classed->classes->of_word[WORD_NONE] };
	walk->next = track->count > track->base ? track->tail[0].time : UINT64_MAX;
}

static void enter_piece(struct tl_classed *classed, uint32_t piece)
{
	classed->begun = true;
	classed->piece = piece;
	classed->walk.grown = UINT32_MAX;
	if (piece < classed->track->chunk_count)
		enter_chunk(classed);
	else
		enter_tail(classed);
}

static uint8_t class_of_wait(const struct tl_classed *classed, uint32_t index)
{
	struct wait wait;

	timeline_wait(classed->timeline, classed->track->id, index, &wait);
	return classed->classes->of_wait[wait_kind(&wait)];
}

/* Another chunk may have taken its place meanwhile. */
static void hold_chunk(struct tl_classed *classed)
{
	if (classed->chunk->stamp == classed->stamp)
		return;
	classed->chunk = cache_packed(classed->timeline->cache, classed->track, classed->piece);
	classed->stamp = classed->chunk->stamp;
	if (!classed->chunk->byte_count)
		classed->walk.next = classed->walk.mark.now = UINT64_MAX;
}

static void walk_chunk(struct tl_classed *classed, uint64_t time)
{
	struct marks_walk *walk = &classed->walk;

	hold_chunk(classed);
	while (marks_walk_to(walk, classed->chunk, classed->classes, time)) {
		walk->here.in_class = class_of_wait(classed, walk->wait);
		hold_chunk(classed);
	}
	if (walk->failed)
		cache_refuse(classed->timeline->cache, classed->track, classed->piece);
}

static void walk_tail(struct tl_classed *classed, uint64_t time)
{
	const struct track *track = classed->track;
	struct marks_walk *walk = &classed->walk;
	uint32_t count = track->count - track->base;

	while (walk->next < time) {
		uint32_t word = track->tail[walk->here.taken++].word;

		marks_walk_grow(walk, walk->next);
		walk->since = walk->next;
		walk->here.in_class = word_kind(word) == WORD_BLOCKED
					      ? class_of_wait(classed, word_arg(word))
					      : classed->classes->of_word[word_kind(word)];
		walk->next =
			walk->here.taken < count ? track->tail[walk->here.taken].time : UINT64_MAX;
	}
}

/* When the entry behind the piece at hand begins; UINT64_MAX: there is none. */
static uint64_t next_piece_ns(const struct tl_classed *classed)
{
	return track_piece_start(classed->track, (uint64_t)classed->piece + 1);
}

static void walk_to(struct tl_classed *classed, uint64_t time)
{
	struct marks_walk *walk = &classed->walk;

	if (time <= walk->here.now)
		return;
	if (!classed->begun || next_piece_ns(classed) < time)
		enter_piece(classed, track_piece(classed->track, time));
	if (walk->next < time) {
		if (classed->chunk)
			walk_chunk(classed, time);
		else
			walk_tail(classed, time);
	}
	if (time > walk->here.now)
		marks_walk_grow(walk, time);
}

uint32_t tl_classed_take(struct tl_classed *classed, uint64_t time_ns, uint64_t *out_ns)
{
	uint64_t origin = classed->timeline->origin_ns;
	struct marks_walk *walk = &classed->walk;
	uint32_t grown = 0;

	walk_to(classed, time_ns > origin ? time_ns - origin : 0);
	for (uint32_t bits = walk->grown; bits; bits &= bits - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(bits);
		uint64_t ns = walk->here.ns[i] - classed->told[i];

		if (!ns)
			continue;
		out_ns[i] = ns;
		classed->told[i] = walk->here.ns[i];
		grown |= 1u << i;
	}
	walk->grown = 0;
	return grown;
}

bool tl_classed_pace(const struct tl_classed *classed, struct tl_classed_pace *out_pace)
{
	uint64_t next = classed->walk.next, origin = classed->timeline->origin_ns;

	if (!classed->begun)
		return false;
	if (next == UINT64_MAX)
		next = next_piece_ns(classed);
	*out_pace = (struct tl_classed_pace){
		.since_ns = classed->walk.since + origin,
		.until_ns = next == UINT64_MAX ? next : next + origin,
		.in_class = classed->walk.here.in_class,
	};
	return true;
}

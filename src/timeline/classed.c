/*
 * classed.c - sums by a few classes of states, for drawing.
 *
 * What query.c adds up by rows, is added up here by the caller's classes, out of chunks that are kept as classes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "timeline/cache.h"
#include "timeline/decoded.h"
#include "timeline/timeline.h"
#include "timeline/totals.h"

struct tl_classed {
	const struct timeline *timeline;
	const struct track *track;
	const struct tl_classes *classes;
	const struct chunk_classes *chunk; /* the piece at hand; NULL = the tail */
	uint64_t turn;			   /* decoded_turn() when 'chunk' was taken */
	uint32_t piece;			   /* chunk index; chunk_count = the tail */
	uint32_t at;			   /* entries of the piece that are taken up */
	bool begun;
	uint8_t in_class;	   /* in force at 'now' */
	uint64_t now;		   /* ns since the origin */
	uint64_t since;		   /* time of the last entry */
	uint64_t ns[TL_CLASSES];   /* up to 'now' */
	uint64_t told[TL_CLASSES]; /* up to the time that was asked last */
	uint32_t grown;		   /* bits of those that may differ */
};

struct tl_classed *tl_classed_new(const struct timeline *timeline, uint32_t slot,
				  const struct tl_classes *classes)
{
	struct tl_classed *classed = xcalloc(1, sizeof(*classed));

	classed->timeline = timeline;
	classed->track = &timeline->threads[slot]->track;
	classed->classes = classes;
	classed->in_class = classes->of_word[WORD_NONE];
	return classed;
}

void tl_classed_free(struct tl_classed *classed)
{
	free(classed);
}

static void take_chunk(struct tl_classed *classed)
{
	struct tl_decoded *decoded = cache_decoded(classed->timeline->cache);

	classed->chunk = decoded_chunk(decoded, classed->timeline, classed->track, classed->piece,
				       classed->classes);
	classed->turn = decoded_turn(decoded);
}

static void enter_piece(struct tl_classed *classed, uint32_t piece)
{
	classed->begun = true;
	classed->piece = piece;
	classed->at = 0;
	classed->grown = UINT32_MAX;
	if (piece < classed->track->chunk_count) {
		take_chunk(classed);
		memcpy(classed->ns, classed->chunk->ns, sizeof(classed->ns));
		classed->now = classed->chunk->now;
		classed->in_class = classed->chunk->in_class;
		return;
	}
	classed->chunk = NULL;
	memset(classed->ns, 0, sizeof(classed->ns));
	classed->now = 0;
	classed->in_class = classed->classes->of_word[WORD_NONE];
}

static inline void grow(struct tl_classed *classed, uint64_t time)
{
	classed->ns[classed->in_class] += time - classed->now;
	classed->grown |= 1u << classed->in_class;
	classed->now = time;
}

static inline uint64_t entry_time(const struct chunk_classes *chunk, uint32_t index)
{
	return chunk->start + (chunk->far ? chunk->far[index] : chunk->near[index]);
}

/* The hot loop: 'far' is a constant where it is called. */
static inline __attribute__((always_inline)) void walk_entries(struct tl_classed *classed,
							       uint64_t time, bool far)
{
	const struct chunk_classes *chunk = classed->chunk;
	uint64_t now = classed->now, start = chunk->start, since = classed->since;
	uint32_t at = classed->at, grown = classed->grown;
	uint8_t in_class = classed->in_class;

	for (; at < chunk->count; at++) {
		uint64_t next = start + (far ? chunk->far[at] : chunk->near[at]);

		if (next >= time)
			break;
		classed->ns[in_class] += next - now;
		grown |= 1u << in_class;
		now = since = next;
		in_class = chunk->classes[at];
	}
	classed->now = now;
	classed->since = since;
	classed->at = at;
	classed->grown = grown;
	classed->in_class = in_class;
}

static void walk_chunk(struct tl_classed *classed, uint64_t time)
{
	if (decoded_turn(cache_decoded(classed->timeline->cache)) != classed->turn)
		take_chunk(classed); /* it may have been given up meanwhile */
	if (classed->chunk->far)
		walk_entries(classed, time, true);
	else
		walk_entries(classed, time, false);
}

static uint8_t class_of_wait(const struct tl_classed *classed, uint32_t index)
{
	struct wait wait;

	timeline_wait(classed->timeline, classed->track->id, index, &wait);
	return classed->classes->of_wait[wait_kind(&wait)];
}

static void walk_tail(struct tl_classed *classed, uint64_t time)
{
	const struct track *track = classed->track;

	for (; classed->at < track->count - track->base; classed->at++) {
		const struct track_entry *entry = &track->tail[classed->at];
		enum word_kind kind = word_kind(entry->word);

		if (entry->time >= time)
			return;
		grow(classed, entry->time);
		classed->since = entry->time;
		classed->in_class = kind == WORD_BLOCKED
					    ? class_of_wait(classed, word_arg(entry->word))
					    : classed->classes->of_word[kind];
	}
}

/* When the entry behind the piece at hand begins; UINT64_MAX: there is none. */
static uint64_t next_piece_ns(const struct tl_classed *classed)
{
	return track_piece_start(classed->track, (uint64_t)classed->piece + 1);
}

static void walk_to(struct tl_classed *classed, uint64_t time)
{
	if (time <= classed->now)
		return;
	if (!classed->begun || next_piece_ns(classed) < time)
		enter_piece(classed, track_piece(classed->track, time));
	if (classed->chunk)
		walk_chunk(classed, time);
	else
		walk_tail(classed, time);
	if (time > classed->now)
		grow(classed, time);
}

uint32_t tl_classed_take(struct tl_classed *classed, uint64_t time_ns, uint64_t *out_ns)
{
	uint64_t origin = classed->timeline->origin_ns;
	uint32_t grown;

	walk_to(classed, time_ns > origin ? time_ns - origin : 0);
	grown = classed->grown;
	for (uint32_t bits = grown; bits; bits &= bits - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(bits);

		out_ns[i] = classed->ns[i] - classed->told[i];
		classed->told[i] = classed->ns[i];
	}
	classed->grown = 0;
	return grown;
}

bool tl_classed_pace(struct tl_classed *classed, struct tl_classed_pace *out_pace)
{
	uint64_t next = UINT64_MAX, origin = classed->timeline->origin_ns;
	const struct track *track = classed->track;

	if (!classed->begun)
		return false;
	if (!classed->chunk) {
		if (classed->at < track->count - track->base)
			next = track->tail[classed->at].time;
	} else {
		if (decoded_turn(cache_decoded(classed->timeline->cache)) != classed->turn)
			take_chunk(classed);
		next = classed->at < classed->chunk->count ? entry_time(classed->chunk, classed->at)
							   : next_piece_ns(classed);
	}
	*out_pace = (struct tl_classed_pace){
		.since_ns = classed->since + origin,
		.until_ns = next == UINT64_MAX ? next : next + origin,
		.in_class = classed->in_class,
	};
	return true;
}

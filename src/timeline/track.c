/* track.c - append, amend and insert at the end of one track. */
#include "timeline/track.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "timeline/seal.h"
#include "timeline/timeline.h"

void track_fini(struct track *track)
{
	free(track->tail);
	free(track->chunks);
	track->tail = NULL;
	track->chunks = NULL;
	track->base = track->count = track->cap = 0;
	track->chunk_count = track->chunk_cap = 0;
	track->final = false;
	track->sealed_last = 0;
}

uint32_t track_piece(const struct track *track, uint64_t time)
{
	size_t before;

	if (track->count > track->base && (!track->chunk_count || track->tail[0].time < time))
		return track->chunk_count;
	before = SEARCH_FROM(track->chunks, track->chunk_count, start, time);
	return before ? (uint32_t)before - 1 : 0;
}

uint64_t track_piece_start(const struct track *track, uint64_t index)
{
	if (index < track->chunk_count)
		return track->chunks[index].start;
	return index == track->chunk_count && track->count > track->base ? track->tail[0].time
									 : UINT64_MAX;
}

#define STRETCH_PIECES \
	4 /* before and behind one, that are looked at for where an interval begins or ends */

/* The interval that goes on as chunk 'piece' begins does not begin before that. */
static uint64_t begins_from(const struct track *track, uint64_t piece)
{
	for (uint64_t i = piece; i > 0 && i + STRETCH_PIECES > piece; i--) {
		if (track->chunks[i - 1].last_change)
			return track->chunks[i - 1].last_change;
	}
	return 0;
}

/* The one that goes on as it ends does not end behind that. */
static uint64_t ends_by(const struct track *track, uint64_t piece)
{
	for (uint64_t i = piece + 1; i < track->chunk_count && i <= piece + STRETCH_PIECES; i++) {
		if (track->chunks[i].last_change)
			return track->chunks[i].first_change;
	}
	return UINT64_MAX;
}

static bool may_hold(const struct track *track, uint64_t least, uint64_t piece)
{
	const struct chunk_ref *ref;

	if (piece >= track->chunk_count)
		return true;
	ref = &track->chunks[piece];
	if (ref->longest >= least)
		return true;
	if (!ref->last_change)
		return ends_by(track, piece) - begins_from(track, piece) >= least;
	return ref->first_change - begins_from(track, piece) >= least ||
	       ends_by(track, piece) - ref->last_change >= least;
}

bool track_stretch(const struct track *track, uint64_t least, uint64_t from, uint64_t to,
		   uint64_t *out_from, uint64_t *out_to)
{
	uint64_t piece = track_piece(track, from + 1);
	bool is_first = true;

	while (track_piece_start(track, piece) < to && !may_hold(track, least, piece)) {
		is_first = false;
		piece++;
	}
	if (from >= to || (!is_first && track_piece_start(track, piece) >= to))
		return false;
	*out_from = is_first ? from : track_piece_start(track, piece);
	while (track_piece_start(track, piece) < to && may_hold(track, least, piece))
		piece++;
	*out_to = track_piece_start(track, piece) < to ? track_piece_start(track, piece) : to;
	return *out_from < *out_to;
}

void track_grow(struct track *track)
{
	uint32_t used;

	if (track->final)
		seal_undo(track);
	used = track->count - track->base;
	if (used < track->cap)
		return;
	if (track->timeline && track->timeline->seal && seal_track(track) &&
	    track->count - track->base < track->cap)
		return;
	track->cap = used ? used * 2 : 8;
	track->tail = xrealloc(track->tail, track->cap, sizeof(*track->tail));
}

void track_unseal(struct track *track, uint32_t index)
{
	while (index < track->base)
		seal_undo(track);
}

void track_amend(struct track *track, uint32_t index, uint64_t time, uint32_t word)
{
	*track_at(track, index) = (struct track_entry){ .time = time, .word = word };
}

void track_insert(struct track *track, uint32_t index, uint64_t time, uint32_t word)
{
	struct track_entry *at = track_at(track, index);
	uint32_t behind = track->count - index;

	if (track->count - track->base == track->cap) {
		track->cap *= 2;
		track->tail = xrealloc(track->tail, track->cap, sizeof(*track->tail));
		at = &track->tail[index - track->base];
	}
	memmove(at + 1, at, behind * sizeof(*at));
	*at = (struct track_entry){ .time = time, .word = word };
	track->count++;
}

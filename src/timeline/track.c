/* track.c - append, amend and insert at the end of one track. */
#include "timeline/track.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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

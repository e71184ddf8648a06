/* track.c - append, amend and search the entries of one track. */
#include "timeline/track.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void track_fini(struct track *track)
{
	free(track->entries);
	free(track->epochs);
	*track = (struct track){ 0 };
}

void track_grow(struct track *track, uint32_t epoch)
{
	if (track->count == track->cap) {
		track->cap = track->cap ? track->cap * 2 : 8;
		track->entries = xrealloc(track->entries, track->cap, sizeof(*track->entries));
	}
	if (epoch >= track->epoch_cap) {
		track->epoch_cap = epoch + 1 + epoch / 2;
		track->epochs = xrealloc(track->epochs, track->epoch_cap, sizeof(*track->epochs));
	}
	while (track->epoch_count <= epoch)
		track->epochs[track->epoch_count++] = track->count;
}

/* The epoch that entry 'index' lies in: the last one that starts at or before it. */
static uint32_t epoch_of(const struct track *track, uint32_t index)
{
	uint32_t low = 0;
	uint32_t high = track->epoch_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (track->epochs[middle] <= index)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t track_time(const struct track *track, uint32_t index)
{
	return (uint64_t)epoch_of(track, index) << 32 | track->entries[index].time_low;
}

uint64_t track_last_time(const struct track *track)
{
	return track->count ? track_time(track, track->count - 1) : 0;
}

void track_amend(struct track *track, uint32_t index, uint64_t time, uint32_t word)
{
	uint32_t epoch = (uint32_t)(time >> 32);

	if (epoch >= track->epoch_count)
		track_grow(track, epoch);
	track->entries[index] = (struct track_entry){ (uint32_t)time, word };
	/* Moved back into an earlier epoch: the later ones start behind it. */
	for (uint32_t k = epoch + 1; k < track->epoch_count; k++) {
		if (track->epochs[k] == index)
			track->epochs[k] = index + 1;
	}
	/* Moved on into a later epoch: those up to it start here. */
	for (uint32_t k = epoch; k > 0 && track->epochs[k] > index; k--)
		track->epochs[k] = index;
	/* The last entry moved back: epochs without an entry are made when one comes. */
	while (track->epochs[track->epoch_count - 1] == track->count)
		track->epoch_count--;
}

void track_insert(struct track *track, uint32_t index, uint64_t time, uint32_t word)
{
	uint32_t epoch = (uint32_t)(time >> 32);

	if (track->count == track->cap || epoch >= track->epoch_count)
		track_grow(track, epoch);
	memmove(track->entries + index + 1, track->entries + index,
		(track->count - index) * sizeof(*track->entries));
	track->count++;
	track->entries[index] = (struct track_entry){ (uint32_t)time, word };
	/* Epochs after this one that began at or behind the new entry begin one later. */
	for (uint32_t k = epoch + 1; k < track->epoch_count; k++)
		track->epochs[k] += track->epochs[k] >= index;
}

bool track_find(const struct track *track, uint64_t time, struct track_pos *out_pos)
{
	uint64_t epoch64 = time >> 32;
	uint32_t epoch, low, high;

	if (!track->count || track_time(track, 0) > time)
		return false;
	epoch = epoch64 < track->epoch_count ? (uint32_t)epoch64 : track->epoch_count - 1;
	low = track->epochs[epoch];
	high = epoch + 1 < track->epoch_count ? track->epochs[epoch + 1] : track->count;

	/* The first entry of this epoch that begins after 'time'; all do not when time is later. */
	while (low < high && epoch64 == epoch) {
		uint32_t middle = low + (high - low) / 2;

		if (track->entries[middle].time_low > (uint32_t)time)
			high = middle;
		else
			low = middle + 1;
	}
	if (epoch64 != epoch)
		low = high;
	out_pos->track = track;
	out_pos->index = low - 1;
	out_pos->epoch = epoch_of(track, low - 1);
	return true;
}

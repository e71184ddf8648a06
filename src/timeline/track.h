/*
 * track.h - what one thread (or one CPU) was in, from the start to the end.
 *
 * A track is a list of (time, word): from that time on the state is 'word', until
 * the next entry. So intervals touch and never overlap by construction. An entry
 * takes 8 bytes: the low half of the time and the word; the high half of the time
 * changes every 4.3 s and is kept once, as the index where each such epoch starts.
 * Any time is found by one look at the epochs and one binary search inside one.
 *
 *	epoch     0            1                 2
 *	first[]   0            3                 3   (nothing happened in epoch 1 ... )
 *	entries   |e0 e1 e2    |                 |e3 e4 ...
 *
 * Entries may be written in time order only. The last few may be amended as facts
 * arrive late; see track_amend(). Written by one thread; readers wait until the
 * writer is done.
 */
#ifndef TIMELINE_TRACK_H
#define TIMELINE_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct track_entry {
	uint32_t time_low; /* low 32 bits of (time - origin of the timeline), ns */
	uint32_t word;
};

struct track {
	struct track_entry *entries; /* owned */
	uint32_t count;
	uint32_t cap;
	uint32_t *epochs; /* owned; epochs[k] = index of the first entry of epoch >= k */
	uint32_t epoch_count;
	uint32_t epoch_cap;
};

/* A position in a track, moving forward. */
struct track_pos {
	const struct track *track;
	uint32_t index;
	uint32_t epoch;
};

void track_fini(struct track *track);

/* Slow path of track_append(): more room, or a new epoch. */
void track_grow(struct track *track, uint32_t epoch);

/*
 * From 'time' (ns since the origin) on, the state is 'word'. Time must not be
 * before that of the last entry; an entry at the same time is kept, so that it can
 * be amended: a state of zero length never shows.
 */
static inline void track_append(struct track *track, uint64_t time, uint32_t word)
{
	uint32_t epoch = (uint32_t)(time >> 32);

	if (__builtin_expect(track->count == track->cap || epoch >= track->epoch_count, 0))
		track_grow(track, epoch);
	track->entries[track->count++] = (struct track_entry){ (uint32_t)time, word };
}

/* Time of the entry 'index', ns since the origin. O(log epochs). */
uint64_t track_time(const struct track *track, uint32_t index);

/* Time of the last entry; 0 when there is none. O(log epochs). */
uint64_t track_last_time(const struct track *track);

/*
 * Change entry 'index': a new word, and a time that lies between those of its
 * neighbours (the caller's promise).
 */
void track_amend(struct track *track, uint32_t index, uint64_t time, uint32_t word);

/*
 * Put a new entry before entry 'index' (below the count), at a time between those of
 * its neighbours. O(entries behind it).
 */
void track_insert(struct track *track, uint32_t index, uint64_t time, uint32_t word);

/* The last entry that begins at or before 'time'; false when there is none. Two searches. */
bool track_find(const struct track *track, uint64_t time, struct track_pos *out_pos);

/* Time at which the entry at 'pos' begins, ns since the origin. */
static inline uint64_t track_pos_time(const struct track_pos *pos)
{
	return (uint64_t)pos->epoch << 32 | pos->track->entries[pos->index].time_low;
}

static inline uint32_t track_pos_word(const struct track_pos *pos)
{
	return pos->track->entries[pos->index].word;
}

/* Step to the next entry; false at the end, and the position stays. */
static inline bool track_pos_next(struct track_pos *pos)
{
	const struct track *track = pos->track;

	if (pos->index + 1 >= track->count)
		return false;
	pos->index++;
	while (pos->epoch + 1 < track->epoch_count && track->epochs[pos->epoch + 1] <= pos->index)
		pos->epoch++;
	return true;
}

#endif

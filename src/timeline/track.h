/*
 * track.h - what one thread (or one CPU) was in, from the start to the end.
 *
 * A track is a list of (time, word): from that time on the state is 'word', until
 * the next entry. So intervals touch and never overlap by construction.
 *
 * The last entries are in memory and may be amended as facts arrive late. In front
 * of them the track may be sealed: packed into chunks (chunk.h) in the timeline's
 * store. Amending a sealed entry brings its chunk back; that is slow, and rare.
 *
 *	entries   0 ............. base ............ count
 *	          | sealed chunks | tail, in memory |
 *
 * Entries are written in time order by one thread.
 */
#ifndef TIMELINE_TRACK_H
#define TIMELINE_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timeline;

struct track_entry {
	uint64_t time; /* ns since the origin of the timeline */
	uint32_t word;
	uint32_t number; /* of the word, while a chunk is packed */
};

/* Where a sealed part of a track is. */
struct chunk_ref {
	uint64_t offset; /* in the store */
	uint64_t start;	 /* time of its first entry, ns since the origin */
	uint32_t bytes;
	uint32_t first;	     /* index of its first entry */
	uint32_t first_wait; /* index of its first wait */
	uint32_t first_edge;
	/* Behind its first entry the state changes for the first and the last time, ns since the origin; 0, 0: never. */
	uint64_t first_change, last_change;
	uint64_t longest; /* that it stays the same in between */
};

struct track {
	struct track_entry *tail; /* owned; entries [base, count) */
	uint32_t base;
	uint32_t count;		  /* of all entries, sealed ones too */
	uint32_t cap;		  /* of tail */
	uint32_t id;		  /* slot of its thread, or TRACK_CPU + CPU */
	struct chunk_ref *chunks; /* owned; sealed, in order */
	uint32_t chunk_count;
	uint32_t chunk_cap;
	struct timeline *timeline; /* whose track it is; NULL = never sealed */
	uint64_t sealed_last;	   /* time of the last sealed entry */
	bool final;		   /* all of it is sealed, and nothing more expected */
};

#define TRACK_CPU (1u << 31)

void track_fini(struct track *track);

/* Slow path of track_append(): more room, or the oldest entries are sealed. */
void track_grow(struct track *track);

/*
 * From 'time' (ns since the origin) on, the state is 'word'. Time must not be
 * before that of the last entry; an entry at the same time is kept, so that it can
 * be amended: a state of zero length never shows.
 */
static inline void track_append(struct track *track, uint64_t time, uint32_t word)
{
	if (__builtin_expect(track->count - track->base == track->cap, 0))
		track_grow(track);
	track->tail[track->count++ - track->base] =
		(struct track_entry){ .time = time, .word = word };
}

/* The last piece that begins before 'time' (a chunk; chunk_count: the tail); the first one when none does. */
uint32_t track_piece(const struct track *track, uint64_t time);

/* Where piece 'index' begins, UINT64_MAX behind the last one. */
uint64_t track_piece_start(const struct track *track, uint64_t index);

/*
 * A stretch of [from, to) in which an interval of 'least' may lie: chunks in which all are shorter are
 * left out. False: there is no other one. ns since the origin.
 */
bool track_stretch(const struct track *track, uint64_t least, uint64_t from, uint64_t to,
		   uint64_t *out_from, uint64_t *out_to);

/* Slow path of track_at(): bring back the chunks from 'index' on. */
void track_unseal(struct track *track, uint32_t index);

/* Entry 'index', to be read or amended until the track is next written to. */
static inline struct track_entry *track_at(struct track *track, uint32_t index)
{
	if (__builtin_expect(index < track->base, 0))
		track_unseal(track, index);
	return &track->tail[index - track->base];
}

static inline uint64_t track_time(struct track *track, uint32_t index)
{
	return track_at(track, index)->time;
}

/* Time of the last entry; 0 when there is none. */
static inline uint64_t track_last_time(const struct track *track)
{
	if (__builtin_expect(track->count == track->base, 0))
		return track->sealed_last;
	return track->tail[track->count - 1 - track->base].time;
}

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

#endif

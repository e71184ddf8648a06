/*
 * marks.h - the entries of a packed chunk by a few classes of states (struct tl_classes), walked along.
 *
 * A chunk has marks: after every so many entries, where the next one is, and for how long it was in which sort of
 * state by then. So who asks for the sums at a time unpacks the entries behind one mark, and not the whole chunk.
 * docs/FORMAT.md has the bytes.
 */
#ifndef TIMELINE_MARKS_H
#define TIMELINE_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/chunk.h"
#include "timeline/chunk_int.h"
#include "timeline/timeline.h"

#define MARKS_EVERY 256u /* entries, where a piece does not say */

/* Sorts of states: kinds of words, and kinds of waits. */
#define MARK_SORTS (WORD_KIND_COUNT + WAIT_KIND_COUNT)

/* The sums that a chunk begins with, by sort, and what is in force. */
struct mark_sums {
	uint64_t now; /* ns since the origin; not behind the first entry */
	uint64_t ns[MARK_SORTS];
	uint8_t sort;
};

void marks_take_run(const struct run *run, struct mark_sums *out_sums);

/*
 * Pack the sums at the beginning of 'piece', and its marks. 'places': where in the packed entries number
 * 'every', 2 * 'every', ... begins.
 */
void marks_pack(struct pack *pack, const struct piece *piece, struct mark_sums *sums,
		uint32_t every, const uint32_t *places);

/* Where a walk is. Nothing in it points into the chunk. */
struct marks_place {
	uint64_t now;		 /* ns since the origin */
	uint64_t ns[TL_CLASSES]; /* up to 'now' */
	uint32_t at;		 /* byte of the chunk, of the next entry's word, or behind a mark */
	uint32_t taken;		 /* entries */
	uint32_t next_wait;	 /* the index of the next one, as a rule */
	uint8_t in_class;	 /* in force at 'now' */
};

struct marks_walk {
	struct marks_place here;
	struct marks_place
		mark;  /* the first mark that is ahead; its time may be UINT64_MAX: there is none */
	uint64_t next; /* time of the next entry; UINT64_MAX = there is none */
	uint64_t since;				   /* time of the last entry */
	uint32_t count;				   /* of entries */
	uint32_t every;				   /* entries from mark to mark */
	uint32_t entries_end, marks_at, marks_end; /* bytes of the chunk */
	uint32_t wait; /* the index of a wait whose kind is asked for: see marks_walk_to() */
	uint32_t words;
	uint32_t grown; /* bits of classes whose ns may have grown; the caller clears it */
	uint8_t class_of[DICT_MAX];
	bool failed; /* the chunk is damaged: there is no next entry */
};

/* To the beginning of a chunk that was opened. False: it is damaged. 'since' and 'grown' stay. */
bool marks_walk_begin(struct marks_walk *walk, const struct chunk *chunk,
		      const struct tl_classes *classes);

/*
 * Take up the entries before 'time'. False: done. True: what is in force is a wait of another chunk, walk->wait; say what
 * it is in here.in_class and call again.
 */
bool marks_walk_to(struct marks_walk *walk, const struct chunk *chunk,
		   const struct tl_classes *classes, uint64_t time);

/* What is in force goes on until 'time', behind 'now'. */
static inline void marks_walk_grow(struct marks_walk *walk, uint64_t time)
{
	walk->here.ns[walk->here.in_class] += time - walk->here.now;
	walk->grown |= 1u << walk->here.in_class;
	walk->here.now = time;
}

#endif

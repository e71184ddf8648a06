/* chunk_int.h - what chunk.c and marks.c share: how entries are packed. */
#ifndef TIMELINE_CHUNK_INT_H
#define TIMELINE_CHUNK_INT_H

#include <string.h>

#include "timeline/chunk.h"
#include "wire/index.h"

/*
 * What an entry's word is, in front of the numbers of the words themselves: BLOCKED in a wait, by twice
 * its kind; and 1 when that is not the wait after the last one: its index follows.
 */
enum {
	KIND_ELSEWHERE = WAIT_KIND_COUNT, /* the wait is in another chunk */
	WORDS_FROM = 2 * (KIND_ELSEWHERE + 1),
};

#define DICT_MAX 700 /* words; others are written out */

static inline struct chunk_head chunk_head_of(const struct chunk *chunk)
{
	struct chunk_head head;

	memcpy(&head, chunk->bytes, sizeof(head));
	return head;
}

/* The wait of a word, if it is in the piece. */
static inline const struct wait *piece_wait(const struct piece *piece, uint32_t word)
{
	uint32_t index = word_arg(word) - piece->first_wait;

	if (word_kind(word) != WORD_BLOCKED)
		return NULL;
	return index < piece->wait_count ? &piece->waits[index] : NULL;
}

#endif

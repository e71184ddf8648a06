/*
 * decoded.h - the entries of chunks as classes of states (struct tl_classes), kept for the next picture.
 *
 * Pictures of one stretch of time after the other read the same chunks, each time for its classes alone. Those take
 * five bytes an entry; a bounded number of bytes is kept, and what was not used for a while goes. One thread at a time.
 */
#ifndef TIMELINE_DECODED_H
#define TIMELINE_DECODED_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/chunk.h"

struct timeline;
struct track;
struct tl_decoded;

struct tl_decoded *decoded_new(void);
void decoded_free(struct tl_decoded *decoded); /* NULL is fine */

/*
 * Chunk 'index' of 'track' by 'classes', out of the timeline's cache. Never NULL: one that cannot be read is of no
 * entries, and uncertain; cache_damage() tells. Valid until decoded_turn() changes: ask again then.
 */
const struct chunk_classes *decoded_chunk(struct tl_decoded *decoded,
					  const struct timeline *timeline,
					  const struct track *track, uint32_t index,
					  const struct tl_classes *classes);
uint64_t decoded_turn(const struct tl_decoded *decoded);

#endif

/*
 * cache.h - the chunks of a store that are in memory: a bounded number, read when
 * they are asked for.
 *
 * A chunk stays what it is until others have taken its place: whoever holds one
 * looks at its stamp before using it again. One thread at a time.
 */
#ifndef TIMELINE_CACHE_H
#define TIMELINE_CACHE_H

#include <stdint.h>

#include "timeline/chunk.h"

struct timeline;
struct tl_cache;

/* Chunks of 'timeline' are in 'fd', which the cache closes. */
struct tl_cache *cache_new(const struct timeline *timeline, int fd);
void cache_free(struct tl_cache *cache); /* NULL is fine */

/*
 * Chunk 'index' of 'track'. Never NULL: where it cannot be read its time is uncertain, and
 * cache_damage() tells.
 */
const struct chunk *cache_chunk(struct tl_cache *cache, const struct track *track, uint32_t index);

/* The same as it is packed; byte_count is 0 where it cannot be read. */
const struct chunk *cache_packed(struct tl_cache *cache, const struct track *track, uint32_t index);

/* What is packed in chunk 'index' turned out to be damaged. */
void cache_refuse(struct tl_cache *cache, const struct track *track, uint32_t index);

/* The same with its waits, or with its edges, unpacked. */
const struct chunk *cache_waits(struct tl_cache *cache, const struct track *track, uint32_t index);
const struct chunk *cache_edges(struct tl_cache *cache, const struct track *track, uint32_t index);

/* The sums before it: see chunk_unpack_run(). Damaged ones are empty. */
void cache_run(struct tl_cache *cache, const struct track *track, uint32_t index, bool with_max,
	       struct run *out_run);

/* The same without the rows: see chunk_unpack_places(). */
void cache_places(struct tl_cache *cache, const struct track *track, uint32_t index,
		  struct run *out_run);

/* The first thing that could not be read, or NULL. */
const char *cache_damage(const struct tl_cache *cache);

/* A copy of the descriptor of the store, or -1. */
int cache_dup_fd(const struct tl_cache *cache);

uint64_t cache_store_bytes(const struct tl_cache *cache);

#endif

/* decoded.c - as many chunks as fit into BYTES_MAX, taken out in turn (second chance). */
#include "timeline/decoded.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "timeline/cache.h"
#include "timeline/timeline.h"

#define BYTES_MAX (80u << 20)

struct kept {
	struct chunk_classes chunk;
	uint64_t key;
	bool used; /* since the hand last passed */
};

struct tl_decoded {
	const struct tl_classes *classes; /* of all that is kept */
	struct map index;		  /* key -> place in 'all' */
	struct kept **all;		  /* owned */
	uint32_t count, hand;
	size_t cap, bytes;
	uint64_t turn;
};

struct tl_decoded *decoded_new(void)
{
	return xcalloc(1, sizeof(struct tl_decoded));
}

static size_t kept_bytes(const struct kept *kept)
{
	const struct chunk_classes *chunk = &kept->chunk;

	return sizeof(*kept) + 64 + chunk->count * (chunk->far ? 9u : 5u); /* with malloc's own */
}

/* The last one takes its place. */
static void drop(struct tl_decoded *decoded, uint32_t place)
{
	struct kept *kept = decoded->all[place], *last = decoded->all[--decoded->count];

	(void)map_remove(&decoded->index, kept->key);
	if (last != kept) {
		decoded->all[place] = last;
		map_put(&decoded->index, last->key, place);
	}
	decoded->bytes -= kept_bytes(kept);
	chunk_classes_fini(&kept->chunk);
	free(kept);
}

void decoded_free(struct tl_decoded *decoded)
{
	if (!decoded)
		return;
	while (decoded->count)
		drop(decoded, decoded->count - 1);
	map_fini(&decoded->index);
	free(decoded->all);
	free(decoded);
}

static void make_room(struct tl_decoded *decoded)
{
	while (decoded->count && decoded->bytes > BYTES_MAX) {
		if (decoded->hand >= decoded->count)
			decoded->hand = 0;
		if (decoded->all[decoded->hand]->used)
			decoded->all[decoded->hand++]->used = false;
		else
			drop(decoded, decoded->hand);
	}
}

static void decode(struct kept *kept, const struct timeline *timeline, const struct track *track,
		   uint32_t index, const struct tl_classes *classes)
{
	const struct chunk *packed = cache_packed(timeline->cache, track, index);
	struct chunk_classes *chunk = &kept->chunk;

	if (!packed->byte_count || !chunk_unpack_classes(packed, classes, chunk)) {
		if (packed->byte_count)
			cache_refuse(timeline->cache, track, index);
		chunk_classes_fini(chunk);
		chunk->now = chunk->start = track->chunks[index].start;
		chunk->in_class = classes->of_word[WORD_UNCERTAIN];
		return;
	}
	for (uint32_t i = 0; i < chunk->elsewhere_count; i++) {
		struct wait wait;

		timeline_wait(timeline, track->id, chunk->elsewhere[i].wait, &wait);
		chunk->classes[chunk->elsewhere[i].entry] = classes->of_wait[wait_kind(&wait)];
	}
	free(chunk->elsewhere);
	chunk->elsewhere = NULL;
	chunk->elsewhere_count = chunk->elsewhere_cap = 0;
}

const struct chunk_classes *decoded_chunk(struct tl_decoded *decoded,
					  const struct timeline *timeline,
					  const struct track *track, uint32_t index,
					  const struct tl_classes *classes)
{
	uint64_t key = (uint64_t)track->id << 32 | index;
	const uint64_t *known;
	struct kept *kept;

	while (decoded->classes != classes && decoded->count)
		drop(decoded, decoded->count - 1);
	decoded->classes = classes;
	known = map_find(&decoded->index, key);
	if (known) {
		decoded->all[*known]->used = true;
		return &decoded->all[*known]->chunk;
	}
	decoded->turn++;
	make_room(decoded);
	kept = xcalloc(1, sizeof(*kept));
	kept->key = key;
	kept->used = true;
	decode(kept, timeline, track, index, classes);
	decoded->all = vec_room(decoded->all, decoded->count, &decoded->cap, sizeof(struct kept *));
	map_put(&decoded->index, key, decoded->count);
	decoded->all[decoded->count++] = kept;
	decoded->bytes += kept_bytes(kept);
	return &kept->chunk;
}

uint64_t decoded_turn(const struct tl_decoded *decoded)
{
	return decoded->turn;
}

/*
 * map.h - a hash map from a 64-bit key to a 64-bit value.
 *
 * Open addressing with linear probing; grows at 70 % load. Any key is allowed.
 * Keys from hostile input are mixed well enough that a chosen pattern of
 * addresses does not degrade it; it makes no stronger promise.
 * Zero-initialised memory is an empty map. Not shared between threads.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	uint64_t value;
};

struct map {
	struct map_slot *slots; /* owned; 'cap' of them */
	uint8_t *used;		/* owned; 1 where slots[i] holds an entry */
	size_t cap;		/* a power of two, or 0 */
	size_t count;
};

void map_fini(struct map *map);

/* Both halves of a 128-bit product: every key bit reaches every index bit. */
static inline size_t map_place(const struct map *map, uint64_t key)
{
	unsigned __int128 product =
		(unsigned __int128)(key ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;

	return ((uint64_t)product ^ (uint64_t)(product >> 64)) & (map->cap - 1);
}

/* The value under 'key', or NULL. Valid until the next put, add or remove. */
static inline uint64_t *map_find(const struct map *map, uint64_t key)
{
	size_t i;

	if (!map->count)
		return NULL;
	i = map_place(map, key);
	while (map->used[i] && map->slots[i].key != key)
		i = (i + 1) & (map->cap - 1);
	return map->used[i] ? &map->slots[i].value : NULL;
}

/* The value under 'key', which is 0 and *out_new true when there was none. Valid as above. */
uint64_t *map_add(struct map *map, uint64_t key, bool *out_new);

/* Set the value under 'key', replacing what is there. */
void map_put(struct map *map, uint64_t key, uint64_t value);

/* Remove 'key'. Returns whether it was there. */
bool map_remove(struct map *map, uint64_t key);

#endif

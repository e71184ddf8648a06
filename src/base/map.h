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

/* The value under 'key', or NULL. Valid until the next put or remove. */
uint64_t *map_find(const struct map *map, uint64_t key);

/* Set the value under 'key', replacing what is there. */
void map_put(struct map *map, uint64_t key, uint64_t value);

/* Remove 'key'. Returns whether it was there. */
bool map_remove(struct map *map, uint64_t key);

#endif

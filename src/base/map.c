/* map.c - open addressing, linear probing, backward-shift removal. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Final mixer of SplitMix64: every key bit reaches every index bit. */
static uint64_t mixed(uint64_t key)
{
	key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
	key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
	return key ^ (key >> 31);
}

void map_fini(struct map *map)
{
	free(map->slots);
	free(map->used);
	*map = (struct map){ 0 };
}

/* Where 'key' is, or the free slot where it would go. Needs a free slot. */
static size_t place_of(const struct map *map, uint64_t key)
{
	size_t i = mixed(key) & (map->cap - 1);

	while (map->used[i] && map->slots[i].key != key)
		i = (i + 1) & (map->cap - 1);
	return i;
}

static void grow(struct map *map)
{
	struct map bigger = { .cap = map->cap ? map->cap * 2 : 64, .count = map->count };

	bigger.slots = xcalloc(bigger.cap, sizeof(*bigger.slots));
	bigger.used = xcalloc(bigger.cap, 1);
	for (size_t i = 0; i < map->cap; i++) {
		if (map->used[i]) {
			size_t to = place_of(&bigger, map->slots[i].key);

			bigger.slots[to] = map->slots[i];
			bigger.used[to] = 1;
		}
	}
	free(map->slots);
	free(map->used);
	*map = bigger;
}

uint64_t *map_find(const struct map *map, uint64_t key)
{
	size_t i;

	if (!map->cap)
		return NULL;
	i = place_of(map, key);
	return map->used[i] ? &map->slots[i].value : NULL;
}

void map_put(struct map *map, uint64_t key, uint64_t value)
{
	size_t i;

	if ((map->count + 1) * 10 > map->cap * 7)
		grow(map);
	i = place_of(map, key);
	map->count += !map->used[i];
	map->used[i] = 1;
	map->slots[i] = (struct map_slot){ key, value };
}

bool map_remove(struct map *map, uint64_t key)
{
	size_t hole;

	if (!map->cap)
		return false;
	hole = place_of(map, key);
	if (!map->used[hole])
		return false;

	/* Move later entries of the probe run back, so that no tombstone is needed. */
	for (size_t i = (hole + 1) & (map->cap - 1); map->used[i]; i = (i + 1) & (map->cap - 1)) {
		size_t home = mixed(map->slots[i].key) & (map->cap - 1);

		if (((i - home) & (map->cap - 1)) < ((i - hole) & (map->cap - 1)))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->used[hole] = 0;
	map->count--;
	return true;
}

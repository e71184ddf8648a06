/* map.c - open addressing, linear probing, backward-shift removal. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void map_fini(struct map *map)
{
	free(map->slots);
	free(map->used);
	*map = (struct map){ 0 };
}

/* Where 'key' is, or the free slot where it would go. Needs a free slot. */
static size_t map_slot_of(const struct map *map, uint64_t key)
{
	size_t i = map_place(map, key);

	while (map->used[i] && map->slots[i].key != key)
		i = (i + 1) & (map->cap - 1);
	return i;
}

static void map_grow(struct map *map)
{
	struct map bigger = { .cap = map->cap ? map->cap * 2 : 64, .count = map->count };

	bigger.slots = xcalloc(bigger.cap, sizeof(*bigger.slots));
	bigger.used = xcalloc(bigger.cap, 1);
	for (size_t i = 0; i < map->cap; i++) {
		if (map->used[i]) {
			size_t to = map_slot_of(&bigger, map->slots[i].key);

			bigger.slots[to] = map->slots[i];
			bigger.used[to] = 1;
		}
	}
	free(map->slots);
	free(map->used);
	*map = bigger;
}

uint64_t *map_add(struct map *map, uint64_t key, bool *out_new)
{
	size_t i;

	if ((map->count + 1) * 10 > map->cap * 7)
		map_grow(map);
	i = map_slot_of(map, key);
	*out_new = !map->used[i];
	if (*out_new) {
		map->used[i] = 1;
		map->slots[i] = (struct map_slot){ key, 0 };
		map->count++;
	}
	return &map->slots[i].value;
}

void map_put(struct map *map, uint64_t key, uint64_t value)
{
	bool new;

	*map_add(map, key, &new) = value;
}

bool map_remove(struct map *map, uint64_t key)
{
	size_t hole;

	if (!map->count)
		return false;
	hole = map_slot_of(map, key);
	if (!map->used[hole])
		return false;

	/* Move later entries of the probe run back, so that no tombstone is needed. */
	for (size_t i = (hole + 1) & (map->cap - 1); map->used[i]; i = (i + 1) & (map->cap - 1)) {
		size_t home = map_place(map, map->slots[i].key);

		if (((i - home) & (map->cap - 1)) < ((i - hole) & (map->cap - 1)))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->used[hole] = 0;
	map->count--;
	return true;
}

/* print_pool.c - memory of nodes, names and texts, freed at once. */
#include <stdlib.h>

#include "base/mem.h"
#include "fields/print_int.h"

#define POOL_CHUNK (64u << 10)

struct chunk {
	struct chunk *next;
	_Alignas(16) uint8_t bytes[POOL_CHUNK];
};

struct pool {
	struct chunk *chunks; /* the first one is in use */
	size_t used;
	void **large;
	size_t large_count;
	size_t large_cap;
};

struct pool *pool_new(void)
{
	struct pool *pool = xcalloc(1, sizeof(*pool));

	pool->used = POOL_CHUNK;
	return pool;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	while (pool->chunks) {
		struct chunk *next = pool->chunks->next;

		free(pool->chunks);
		pool->chunks = next;
	}
	for (size_t i = 0; i < pool->large_count; i++)
		free(pool->large[i]);
	free(pool->large);
	free(pool);
}

void *pool_take(struct pool *pool, size_t bytes)
{
	void *taken;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > POOL_CHUNK / 4) {
		pool->large = vec_room(pool->large, pool->large_count, &pool->large_cap,
				       sizeof(*pool->large));
		return pool->large[pool->large_count++] = xcalloc(1, bytes);
	}
	if (bytes > POOL_CHUNK - pool->used) {
		struct chunk *chunk = xcalloc(1, sizeof(*chunk));

		chunk->next = pool->chunks;
		pool->chunks = chunk;
		pool->used = 0;
	}
	taken = pool->chunks->bytes + pool->used;
	pool->used += bytes;
	return taken;
}

/* cache.c - a fixed number of places for chunks, taken in turn (second chance). */
#include "timeline/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"

#define PLACES	  384u	      /* of about 100 KiB, with waits */
#define ROOM_MAX  (96u << 10) /* that a place keeps for the next chunk */
#define CHUNK_MAX (64u << 20) /* bytes; no writer makes larger ones */

struct place {
	struct chunk chunk;
	uint64_t key; /* UINT64_MAX = empty */
	bool used;    /* since the hand last passed */
};

struct tl_cache {
	const struct timeline *timeline;
	int fd;
	uint64_t store_bytes;
	uint64_t stamp;
	struct map index; /* key -> place */
	struct place places[PLACES];
	uint32_t hand;
	char *damage;
};

struct tl_cache *cache_new(const struct timeline *timeline, int fd)
{
	struct tl_cache *cache = xcalloc(1, sizeof(*cache));
	struct stat stat;

	cache->timeline = timeline;
	cache->fd = fd;
	if (fstat(fd, &stat) == 0)
		cache->store_bytes = (uint64_t)stat.st_size;
	for (uint32_t i = 0; i < PLACES; i++)
		cache->places[i].key = UINT64_MAX;
	return cache;
}

void cache_free(struct tl_cache *cache)
{
	if (!cache)
		return;
	for (uint32_t i = 0; i < PLACES; i++)
		chunk_fini(&cache->places[i].chunk);
	map_fini(&cache->index);
	mem_close_fd(&cache->fd);
	free(cache->damage);
	free(cache);
}

static void note_damage(struct tl_cache *cache, const struct chunk_ref *ref, const char *wrong)
{
	if (!cache->damage)
		cache->damage = xasprintf("the timeline is damaged at byte %llu: %s",
					  (unsigned long long)ref->offset, wrong);
}

static struct chunk_limits limits_of(const struct tl_cache *cache)
{
	return (struct chunk_limits){ cache->timeline->thread_count, cache->timeline->names.count };
}

/* The time of a chunk that cannot be read is uncertain. */
static void make_unknown(const struct track *track, const struct chunk_ref *ref,
			 struct chunk *chunk)
{
	if (!chunk->entry_cap) {
		chunk->entry_cap = 1;
		chunk->entries = xrealloc(chunk->entries, 1, sizeof(*chunk->entries));
	}
	chunk->entries[0] = (struct track_entry){
		.time = ref->start,
		.word = track->id & TRACK_CPU ? SLOT_NONE
					      : word_make(WORD_UNCERTAIN, UNSURE_DAMAGED),
	};
	chunk->entry_count = 1;
	chunk->byte_count = 0;
	chunk->wait_count = chunk->edge_count = 0;
	chunk->has_entries = chunk->has_waits = chunk->has_edges = true;
}

static void fill(struct tl_cache *cache, const struct track *track, const struct chunk_ref *ref,
		 struct chunk *chunk)
{
	const char *wrong = NULL;
	ssize_t got;

	if (ref->bytes > CHUNK_MAX || ref->bytes > cache->store_bytes) {
		note_damage(cache, ref, "it ends before that");
		make_unknown(track, ref, chunk);
		return;
	}
	if (chunk->byte_cap < ref->bytes) {
		chunk->byte_cap = ref->bytes;
		chunk->bytes = xrealloc(chunk->bytes, chunk->byte_cap, 1);
	}
	chunk->byte_count = ref->bytes;
	got = pread(cache->fd, chunk->bytes, ref->bytes, (off_t)ref->offset);
	if (got != (ssize_t)ref->bytes)
		wrong = got < 0 ? strerror(errno) : "it ends before that";
	else
		wrong = chunk_open(chunk, ref, track->id);
	if (wrong) {
		note_damage(cache, ref, wrong);
		make_unknown(track, ref, chunk);
	}
}

static size_t room_of(const struct chunk *chunk)
{
	return chunk->byte_cap + chunk->entry_cap * sizeof(*chunk->entries) +
	       chunk->wait_cap * sizeof(*chunk->waits) + chunk->edge_cap * sizeof(*chunk->edges);
}

/* A place that nothing has used for a while. */
static struct place *make_place(struct tl_cache *cache)
{
	struct place *place;

	for (;;) {
		place = &cache->places[cache->hand];
		cache->hand = (cache->hand + 1) % PLACES;
		if (!place->used)
			break;
		place->used = false;
	}
	if (place->key != UINT64_MAX)
		(void)map_remove(&cache->index, place->key);
	place->key = UINT64_MAX;
	if (room_of(&place->chunk) >
	    ROOM_MAX) /* else places get the room of the largest chunk each */
		chunk_fini(&place->chunk);
	return place;
}

static struct chunk *chunk_find(struct tl_cache *cache, const struct track *track, uint32_t index)
{
	uint64_t key = (uint64_t)track->id << 32 | index;
	uint64_t *known = map_find(&cache->index, key);
	struct place *place;

	if (known) {
		cache->places[*known].used = true;
		return &cache->places[*known].chunk;
	}
	place = make_place(cache);
	place->key = key;
	place->used = true;
	place->chunk.stamp = ++cache->stamp;
	map_put(&cache->index, key, (uint64_t)(place - cache->places));
	fill(cache, track, &track->chunks[index], &place->chunk);
	return &place->chunk;
}

const struct chunk *cache_chunk(struct tl_cache *cache, const struct track *track, uint32_t index)
{
	struct chunk_limits limits = limits_of(cache);
	struct chunk *chunk = chunk_find(cache, track, index);

	if (!chunk->has_entries && !chunk_unpack_entries(chunk, &limits)) {
		note_damage(cache, &track->chunks[index], "its entries are invalid");
		make_unknown(track, &track->chunks[index], chunk);
	}
	return chunk;
}

const struct chunk *cache_packed(struct tl_cache *cache, const struct track *track, uint32_t index)
{
	return chunk_find(cache, track, index);
}

void cache_refuse(struct tl_cache *cache, const struct track *track, uint32_t index)
{
	note_damage(cache, &track->chunks[index], "its entries are invalid");
}

const struct chunk *cache_waits(struct tl_cache *cache, const struct track *track, uint32_t index)
{
	struct chunk_limits limits = limits_of(cache);
	struct chunk *chunk = chunk_find(cache, track, index);

	if (!chunk->has_waits && !chunk_unpack_waits(chunk, &limits)) {
		note_damage(cache, &track->chunks[index], "its waits are invalid");
		chunk->wait_count = 0;
		chunk->has_waits = true;
	}
	return chunk;
}

const struct chunk *cache_edges(struct tl_cache *cache, const struct track *track, uint32_t index)
{
	struct chunk_limits limits = limits_of(cache);
	struct chunk *chunk = chunk_find(cache, track, index);

	if (!chunk->has_edges && !chunk_unpack_edges(chunk, &limits)) {
		note_damage(cache, &track->chunks[index], "its wake-ups are invalid");
		chunk->edge_count = 0;
		chunk->has_edges = true;
	}
	return chunk;
}

void cache_run(struct tl_cache *cache, const struct track *track, uint32_t index, bool with_max,
	       struct run *out_run)
{
	const struct chunk *chunk = chunk_find(cache, track, index);

	if (chunk->byte_count && chunk_unpack_run(chunk, with_max, out_run))
		return;
	note_damage(cache, &track->chunks[index], "its sums are invalid");
	run_fini(out_run);
	run_init(out_run, SLOT_NONE);
}

void cache_places(struct tl_cache *cache, const struct track *track, uint32_t index,
		  struct run *out_run)
{
	const struct chunk *chunk = chunk_find(cache, track, index);

	if (chunk->byte_count && chunk_unpack_places(chunk, out_run))
		return;
	note_damage(cache, &track->chunks[index], "its sums are invalid");
	run_init(out_run, SLOT_NONE);
	out_run->only_places = true;
}

const char *cache_damage(const struct tl_cache *cache)
{
	return cache ? cache->damage : NULL;
}

int cache_dup_fd(const struct tl_cache *cache)
{
	return fcntl(cache->fd, F_DUPFD_CLOEXEC, 0);
}

uint64_t cache_store_bytes(const struct tl_cache *cache)
{
	return cache ? cache->store_bytes : 0;
}

/*
 * chunk.h - a sealed piece of a track: its entries, the waits and wake-ups that
 * belong to them, and what everything before it adds up to.
 *
 *	head | sums so far (run.h) | entries | marks (marks.h) | waits | edges
 *
 * Packed in pack.h's numbers, checksummed as a whole; docs/FORMAT.md has the bytes.
 */
#ifndef TIMELINE_CHUNK_H
#define TIMELINE_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/pack.h"
#include "timeline/run.h"
#include "timeline/timeline.h"

/* A piece of a track on its way into the store. */
struct piece {
	uint32_t id;	     /* as in struct track */
	uint32_t idle_cpu;   /* an idle task's; else SLOT_NONE */
	bool final;	     /* no other piece of its track is expected */
	uint32_t mark_every; /* entries from mark to mark; 0 = MARKS_EVERY */
	uint32_t first;
	uint32_t first_wait;
	uint32_t first_edge;
	struct track_entry *entries; /* owned */
	uint32_t entry_count;
	struct wait *waits; /* owned */
	uint32_t wait_count;
	struct tl_edge *edges; /* owned */
	uint32_t edge_count;
};

void piece_fini(struct piece *piece);

/*
 * Pack 'piece' behind what is in 'pack'. 'run' is what everything before it adds up to
 * and takes up the piece; NULL: no sums are kept (CPUs). Returns the bytes of the chunk.
 */
uint32_t chunk_pack(struct pack *pack, const struct piece *piece, struct run *run);

/* A chunk in memory; its parts are unpacked when they are asked for. */
struct chunk {
	uint64_t stamp; /* changes when another chunk takes its place */
	uint8_t *bytes; /* owned */
	uint32_t byte_count;
	uint32_t byte_cap;
	struct track_entry *entries; /* owned */
	uint32_t entry_count;
	uint32_t entry_cap;
	bool has_entries;
	struct wait *waits; /* owned */
	uint32_t first_wait;
	uint32_t wait_count;
	uint32_t wait_cap;
	bool has_waits;
	struct tl_edge *edges; /* owned */
	uint32_t edge_count;
	uint32_t edge_cap;
	bool has_edges;
};

void chunk_fini(struct chunk *chunk);

/* What numbers in a chunk may be. */
struct chunk_limits {
	uint32_t thread_count;
	uint32_t name_count;
};

/*
 * Check chunk->bytes, which should be what 'ref' says; unpacks nothing yet.
 * Returns NULL, or what is wrong.
 */
const char *chunk_open(struct chunk *chunk, const struct chunk_ref *ref, uint32_t id);

/* Unpack the entries, the waits, the edges. False when they are damaged. */
bool chunk_unpack_entries(struct chunk *chunk, const struct chunk_limits *limits);
bool chunk_unpack_waits(struct chunk *chunk, const struct chunk_limits *limits);
bool chunk_unpack_edges(struct chunk *chunk, const struct chunk_limits *limits);

/*
 * The sums before the chunk, into an initialised run; 'with_max': max_ns of its rows are those
 * of what ended inside the chunk, else 0. False when they are damaged.
 */
bool chunk_unpack_run(const struct chunk *chunk, bool with_max, struct run *out_run);

/* The same without the rows: where it ran. */
bool chunk_unpack_places(const struct chunk *chunk, struct run *out_run);

#endif

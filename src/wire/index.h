/*
 * index.h - the bytes of timeline/index: docs/FORMAT.md, "The timeline".
 *
 *	index_head | chunk | chunk | ... | tables
 *
 * All numbers in the byte order of the machine that built it; another one builds its own.
 */
#ifndef WIRE_INDEX_H
#define WIRE_INDEX_H

#include <stdint.h>

#define INDEX_MAGIC   "HOLDUPTL"
#define INDEX_VERSION 2
#define CHUNK_MAGIC   0x4b4e4348u /* "HCNK" */

struct index_head {
	char magic[8];
	uint32_t version; /* of this layout */
	uint32_t engine;  /* of what turned events into states */
	uint8_t key[16];  /* of the trace */
	uint64_t table_offset;
	uint64_t table_bytes;
	uint64_t table_hash; /* XXH3, 64 bits */
	uint64_t head_hash;  /* XXH3 of the bytes before this */
};

struct chunk_head {
	uint32_t magic;
	uint32_t bytes; /* of the chunk, this head included */
	uint64_t hash;	/* XXH3 of all that follows */
	uint64_t start; /* time of the first entry, ns since the origin */
	uint32_t id;	/* slot of the thread; 1 << 31 | CPU */
	uint32_t first; /* index of the first entry, wait, edge */
	uint32_t first_wait;
	uint32_t first_edge;
	uint32_t entry_count;
	uint32_t wait_count;
	uint32_t edge_count;
	uint32_t run_bytes; /* of the parts, in this order */
	uint32_t entry_bytes;
	uint32_t mark_bytes;
	uint32_t wait_bytes;
	uint32_t edge_bytes;
};

_Static_assert(sizeof(struct index_head) == 64, "docs/FORMAT.md says so");
_Static_assert(sizeof(struct chunk_head) == 72, "docs/FORMAT.md says so");

#endif

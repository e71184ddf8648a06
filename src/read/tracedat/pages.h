/*
 * pages.h - the pages of one CPU in a trace.dat, as they stand or in compressed chunks.
 *
 * Of the chunks, where they are is kept in memory, 24 bytes each; unpacked are two of them
 * at a time. So any page costs one search and unpacking one chunk.
 */
#ifndef READ_TRACEDAT_PAGES_H
#define READ_TRACEDAT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "read/tracedat/meta.h"
#include "read/kernel/ring.h"

struct facts;

/* What unpacking may cost all CPUs of a file together; what is used of it becomes less. */
struct dat_room {
	uint64_t memory;   /* bytes, of unpacked chunks */
	uint64_t unpacked; /* bytes that come out of all chunks: so time is bounded, too */
};

/* The room for a file of 'bytes'. */
struct dat_room dat_room_of(uint64_t bytes);

/*
 * The pages of a CPU. What cannot be read, or has no room, is left out and noted, with 'name' in front. Never NULL; the descriptor of
 * the file stays the caller's and must live longer.
 */
struct ring_bytes *dat_pages_open(const struct dat_file *file, const struct dat_cpu *cpu,
				  bool zipped, struct dat_room *room, const char *name,
				  struct facts *facts);

#endif

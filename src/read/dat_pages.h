/*
 * dat_pages.h - the pages of one CPU in a trace.dat, as they stand or in compressed chunks.
 *
 * Of the chunks, where they are is kept in memory, 24 bytes each; unpacked are two of them
 * at a time. So any page costs one search and unpacking one chunk.
 */
#ifndef READ_DAT_PAGES_H
#define READ_DAT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "read/dat_meta.h"
#include "read/ring.h"

struct facts;

/* Unpacked chunks of all CPUs may have so much memory together. */
#define DAT_CHUNKS_MAX_BYTES ((uint64_t)128 << 20)

/*
 * The pages of a CPU. '*room' is what is left for unpacked chunks, and becomes less. What
 * cannot be read is left out and noted, with 'name' in front. Never NULL; the descriptor of
 * the file stays the caller's and must live longer.
 */
struct ring_bytes *dat_pages_open(const struct dat_file *file, const struct dat_cpu *cpu,
				  bool zipped, uint64_t *room, const char *name,
				  struct facts *facts);

#endif

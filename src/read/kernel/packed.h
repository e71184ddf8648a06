/*
 * packed.h - the sub-buffers of one CPU in compressed chunks: kernel/cpuN.packed.
 *
 * The chunks are laid out as those of trace.dat, and bounded in memory and time as they are.
 */
#ifndef READ_KERNEL_PACKED_H
#define READ_KERNEL_PACKED_H

#include <stdbool.h>

#include <stdint.h>

#include "read/tracedat/pages.h"

struct facts;
struct ring_bytes;

/* The room for packed files of 'bytes' together. A recorder packs nothing that would need more (record/pack.h). */
struct dat_room packed_room_of(uint64_t bytes);

/*
 * Open the file at 'path', of a machine whose numbers are as 'big_endian' says. 'room': of all files of the
 * trace together. What is damaged is noted in 'facts'. Returns what ring_open_bytes() takes, or NULL where
 * there is no such file.
 */
struct ring_bytes *packed_open(const char *path, bool big_endian, struct dat_room *room,
			       struct facts *facts);

#endif

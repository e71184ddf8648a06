/*
 * pack.h - compress the ring files of a recording that is over.
 *
 * kernel/cpuN.ring becomes kernel/cpuN.packed: the number of chunks, and for each chunk the bytes that
 * follow, the bytes that they unpack to, and a zstd frame. All numbers have 32 bits.
 */
#ifndef RECORD_PACK_H
#define RECORD_PACK_H

#include <stdbool.h>
#include <stdint.h>

/* More files than this a reader does not open at a time: they are left as they are. */
#define PACK_CPUS_MAX 128u

/*
 * Pack one file in 'kernel_fd'. Returns 0, and the ring file is gone; or a negative errno, and it is there as
 * before: -E2BIG when so little is left of it that a reader would take it for a trap.
 */
int pack_ring(int kernel_fd, uint32_t cpu);

#endif

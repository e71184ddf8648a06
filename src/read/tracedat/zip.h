/*
 * zip.h - the compressions of trace.dat.
 *
 * A file names one for all of its sections. What a block unpacks to is bounded by the
 * caller; a block that holds more than it was said to is damaged.
 */
#ifndef READ_TRACEDAT_ZIP_H
#define READ_TRACEDAT_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dat_zip_kind {
	DAT_ZIP_NONE,
	DAT_ZIP_ZLIB,
	DAT_ZIP_ZSTD,
	DAT_ZIP_UNKNOWN
};

enum dat_zip_kind dat_zip_kind(const char *name);

/* What unpacking needs; used by one thread at a time. */
struct dat_zip;
struct dat_zip *dat_zip_new(enum dat_zip_kind kind);
void dat_zip_free(struct dat_zip *zip);

/*
 * Unpack 'bytes' at 'from' to at most 'room' bytes at 'to'. Returns how many there were,
 * or -1 when the block is damaged or has more.
 */
int64_t dat_zip_unpack(struct dat_zip *zip, const void *from, size_t bytes, void *to, size_t room);

#endif

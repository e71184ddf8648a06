/*
 * recent.h - the newest records of a stream, in memory.
 *
 * They come in pieces of whole records, and go in pieces: the oldest first, when there are more bytes than
 * are allowed, or when nobody needs them any more. By one thread at a time.
 */
#ifndef RECORD_RECENT_H
#define RECORD_RECENT_H

#include <stddef.h>
#include <stdint.h>

struct recent;

struct recent_piece {
	uint64_t end_ns; /* CLOCK_MONOTONIC: its records are no younger */
	size_t bytes;
	void *data; /* owned; aligned as malloc() does */
};

/* Called for each piece that goes; NULL = nobody asks. */
typedef void recent_goes_fn(void *context, const struct recent_piece *piece);

/* At most 'most_bytes' of records; the pieces themselves are counted. Free it with recent_free(). */
struct recent *recent_new(uint64_t most_bytes, recent_goes_fn *goes, void *context);

/* Copy a piece. One that is larger than all that is allowed is not kept. */
void recent_add(struct recent *recent, const void *data, size_t bytes, uint64_t end_ns);

/* Pieces that ended before are not needed any more. */
void recent_forget(struct recent *recent, uint64_t before_ns);

/* Piece 'index', the oldest first; NULL = there are no more. A view. */
const struct recent_piece *recent_at(const struct recent *recent, size_t index);

/* What takes memory now. */
uint64_t recent_bytes(const struct recent *recent);

/* Records up to then went for want of room; 0 = none did. */
uint64_t recent_gone_ns(const struct recent *recent);

void recent_free(struct recent *recent); /* NULL is fine */

#endif

/*
 * pack.h - numbers in as few bytes as they need: 7 bits a byte, lowest first, as in LEB128.
 *
 * Writing goes into a buffer that grows. Reading never leaves the bytes given: past
 * the end it gives zeros and notes that it failed.
 */
#ifndef TIMELINE_PACK_H
#define TIMELINE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

#define PACK_MAX 10 /* bytes of one number at most */

struct pack {
	uint8_t *bytes; /* owned */
	size_t count;
	size_t cap;
};

/* Room for 'more' bytes; returns where they go. */
static inline uint8_t *pack_room(struct pack *pack, size_t more)
{
	if (__builtin_expect(pack->cap - pack->count < more, 0)) {
		size_t cap = pack->cap ? pack->cap : 4096;

		while (cap - pack->count < more)
			cap *= 2;
		pack->bytes = (uint8_t *)xrealloc(pack->bytes, cap, 1);
		pack->cap = cap;
	}
	return pack->bytes + pack->count;
}

/* Where the number ends. 'at' has room for PACK_MAX bytes. */
static inline uint8_t *pack_at(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)value | 0x80;
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline void pack_u64(struct pack *pack, uint64_t value)
{
	uint8_t *at = pack_room(pack, PACK_MAX);

	pack->count += (size_t)(pack_at(at, value) - at);
}

/* Small negative numbers stay small. */
static inline void pack_i64(struct pack *pack, int64_t value)
{
	pack_u64(pack, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

/* State words have their kind on top: turned round, they are small. */
static inline void pack_word(struct pack *pack, uint32_t word)
{
	pack_u64(pack, (uint32_t)(word << 5 | word >> 27));
}

struct unpack {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline uint64_t unpack_u64(struct unpack *from)
{
	uint64_t value = 0;

	if (__builtin_expect(from->end - from->at >= 2, 1)) { /* most are that small */
		uint8_t low = from->at[0], high = from->at[1];

		if (low < 0x80) {
			from->at++;
			return low;
		}
		if (high < 0x80) {
			from->at += 2;
			return (uint64_t)high << 7 | (low & 0x7f);
		}
	}
	for (uint32_t shift = 0; shift < 64 && from->at < from->end; shift += 7) {
		uint8_t byte = *from->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	from->failed = true;
	return 0;
}

static inline uint32_t unpack_u32(struct unpack *from)
{
	uint64_t value = unpack_u64(from);

	from->failed |= value > UINT32_MAX;
	return (uint32_t)value;
}

static inline int64_t unpack_i64(struct unpack *from)
{
	uint64_t value = unpack_u64(from);

	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static inline uint32_t unpack_word(struct unpack *from)
{
	uint32_t word = unpack_u32(from);

	return word >> 5 | word << 27;
}

#endif

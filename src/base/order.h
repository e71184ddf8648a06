/*
 * order.h - numbers in the byte order of a file.
 */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Is that order not this machine's? Its numbers are swapped then. */
static inline bool order_swaps(bool big_endian)
{
	return big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static inline uint16_t order_u16(uint16_t number, bool swap)
{
	return swap ? __builtin_bswap16(number) : number;
}

static inline uint32_t order_u32(uint32_t number, bool swap)
{
	return swap ? __builtin_bswap32(number) : number;
}

static inline uint64_t order_u64(uint64_t number, bool swap)
{
	return swap ? __builtin_bswap64(number) : number;
}

/* The number in the 1, 2, 4 or 8 bytes at 'at'; 0 for any other size. */
static inline uint64_t order_load(const uint8_t *at, uint32_t bytes, bool is_signed, bool swap)
{
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	switch (bytes) {
	case 8:
		memcpy(&u64, at, sizeof(u64));
		return order_u64(u64, swap);
	case 4:
		memcpy(&u32, at, sizeof(u32));
		u32 = order_u32(u32, swap);
		return is_signed ? (uint64_t)(int32_t)u32 : u32;
	case 2:
		memcpy(&u16, at, sizeof(u16));
		u16 = order_u16(u16, swap);
		return is_signed ? (uint64_t)(int16_t)u16 : u16;
	case 1:
		return is_signed ? (uint64_t)(int8_t)*at : *at;
	default:
		return 0;
	}
}

#endif

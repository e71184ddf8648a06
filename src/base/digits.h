/*
 * digits.h - numbers as text, without printf.
 *
 * All write at 'to', without a terminator, and return the end. There must be room for
 * DIGITS_MAX bytes.
 */
#ifndef BASE_DIGITS_H
#define BASE_DIGITS_H

#include <stdint.h>
#include <string.h>

#define DIGITS_MAX 24

/* "00" "01" ... "99" */
extern const char digits_pairs[200];

/* The last 'count' decimal digits of 'value', with zeros in front. */
static inline char *digits_fixed(char *to, uint64_t value, int count)
{
	for (int i = count - 1; i > 0; i -= 2) {
		memcpy(to + i - 1, digits_pairs + 2 * (value % 100), 2);
		value /= 100;
	}
	if (count & 1)
		to[0] = (char)('0' + value % 10);
	return to + count;
}

static inline int digits_count(uint64_t value)
{
	int count = 1;

	for (; value >= 10000; value /= 10000)
		count += 4;
	return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

static inline char *digits_u32(char *to, uint32_t value)
{
	uint32_t high;

	if (value < 10) {
		*to = (char)('0' + value);
		return to + 1;
	}
	if (value < 100) {
		memcpy(to, digits_pairs + (size_t)2 * value, 2);
		return to + 2;
	}
	if (value < 10000) {
		int odd = value < 1000;

		high = value / 100;
		memcpy(to, digits_pairs + (size_t)2 * high + odd, 2);
		memcpy(to + 2 - odd, digits_pairs + (size_t)2 * (value % 100), 2);
		return to + 4 - odd;
	}
	return digits_fixed(to, value, digits_count(value));
}

static inline char *digits_u64(char *to, uint64_t value)
{
	return value <= UINT32_MAX ? digits_u32(to, (uint32_t)value)
				   : digits_fixed(to, value, digits_count(value));
}

static inline char *digits_i64(char *to, int64_t value)
{
	if (value >= 0)
		return digits_u64(to, (uint64_t)value);
	*to = '-';
	return digits_u64(to + 1, 0 - (uint64_t)value);
}

/* Hexadecimal, lower case. */
static inline char *digits_hex(char *to, uint64_t value)
{
	int count = value ? (67 - __builtin_clzll(value)) / 4 : 1;

	for (int i = count; i > 0; value >>= 4)
		to[--i] = "0123456789abcdef"[value & 15];
	return to + count;
}

/* "12.000345678": ns as seconds. */
static inline char *digits_seconds(char *to, uint64_t ns)
{
	to = digits_u64(to, ns / 1000000000);
	*to = '.';
	return digits_fixed(to + 1, ns % 1000000000, 9);
}

#endif

/*
 * digits.h - numbers as text, without printf.
 *
 * All write at 'to', without a terminator, and return the end. There must be room for
 * DIGITS_MAX bytes.
 */
#ifndef BASE_DIGITS_H
#define BASE_DIGITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && defined(__x86_64__)
#define DIGITS_SSE2
#include <emmintrin.h>
#endif

#define DIGITS_MAX 32 /* the longest number, its sign, and what is written behind it */

/* "00" "01" ... "99" */
extern const char digits_pairs[201];

/* "0" "1" ... "999": most numbers of a trace are small. */
struct digits_small {
	char text[3];
	uint8_t count; /* of digits */
};

extern const struct digits_small digits_small[1000];

/* "000 " "001 " ... "999 ": a word each, which is moved at once. */
extern const char digits_triples[4001];

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

/* The three digits of 'value', below 1000; a blank stands behind them. */
static inline char *digits_three(char *to, uint32_t value)
{
	memcpy(to, digits_triples + (size_t)4 * value, 4);
	return to + 3;
}

static inline int digits_count(uint64_t value)
{
	int count = 1;

	if (value < 1000)
		return digits_small[value].count;
	for (; value >= 10000; value /= 10000)
		count += 4;
	return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* Stores eight bytes, the lowest of the word first. */
static inline char *digits_store(char *to, uint64_t word)
{
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	memcpy(to, &word, 8);
	return to + 8;
}

/*
 * The eight decimal digits of 'value', below 100000000, in the bytes of a word: 0 to 9, the
 * first one lowest. All at once: two lanes of four digits, four of two, eight of one.
 */
static inline uint64_t digits_word(uint32_t value)
{
	uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
	uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x7f0000007f);
	uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
	uint64_t tens = (twos * 103 >> 10) & UINT64_C(0x000f000f000f000f);

	return tens | (twos - tens * 10) << 8;
}

#define DIGITS_ZEROS UINT64_C(0x3030303030303030)

/* Eight digits at most, without zeros in front. */
static inline char *digits_eight(char *to, uint32_t value)
{
	uint64_t word = digits_word(value);
	int zeros = __builtin_ctzll(word | UINT64_C(1) << 56) & ~7; /* in front, in bits */

	return digits_store(to, (word + DIGITS_ZEROS) >> zeros) - zeros / 8;
}

static inline char *digits_u32(char *to, uint32_t value)
{
	if (value < 1000) {
		memcpy(to, &digits_small[value], 4);
		return to + digits_small[value].count;
	}
	if (__builtin_expect(value < 100000000, 1))
		return digits_eight(to, value);
	to = digits_eight(to, value / 100000000);
	return digits_store(to, digits_word(value % 100000000) + DIGITS_ZEROS);
}

static inline char *digits_u64(char *to, uint64_t value)
{
	uint64_t high;

	if (__builtin_expect(value <= UINT32_MAX, 1))
		return digits_u32(to, (uint32_t)value);
	high = value / 100000000;
	if (high > UINT32_MAX) {
		to = digits_u32(to, (uint32_t)(high / 100000000));
		to = digits_store(to, digits_word((uint32_t)(high % 100000000)) + DIGITS_ZEROS);
	} else {
		to = digits_u32(to, (uint32_t)high);
	}
	return digits_store(to, digits_word((uint32_t)(value % 100000000)) + DIGITS_ZEROS);
}

static inline char *digits_i64(char *to, int64_t value)
{
	if (value >= 0)
		return digits_u64(to, (uint64_t)value);
	*to = '-';
	return digits_u64(to + 1, 0 - (uint64_t)value);
}

#ifdef DIGITS_SSE2
/* The sixteen hexadecimal digits of 'value', all at once: a byte for each four bits. */
static inline void digits_hex_store(char *to, uint64_t value)
{
	const __m128i low = _mm_set1_epi8(0x0f), nine = _mm_set1_epi8(9);
	__m128i bytes = _mm_cvtsi64_si128((int64_t)__builtin_bswap64(value));
	__m128i fours = _mm_and_si128(_mm_unpacklo_epi8(_mm_srli_epi16(bytes, 4), bytes), low);
	__m128i letters = _mm_and_si128(_mm_cmpgt_epi8(fours, nine), _mm_set1_epi8('a' - '0' - 10));

	fours = _mm_add_epi8(_mm_add_epi8(fours, _mm_set1_epi8('0')), letters);
	_mm_storeu_si128((__m128i *)to, fours);
}
#else
/* The eight digits of 'value' in the bytes of a word, the first one lowest. */
static inline uint64_t digits_hex_word(uint32_t value)
{
	uint64_t word = __builtin_bswap32(value), letters;

	/* A byte for each four bits. */
	word = (word | word << 16) & UINT64_C(0x0000ffff0000ffff);
	word = (word | word << 8) & UINT64_C(0x00ff00ff00ff00ff);
	word = (word >> 4 & UINT64_C(0x000f000f000f000f)) |
	       (word << 8 & UINT64_C(0x0f000f000f000f00));
	/* 1 in each byte that is 10 or more */
	letters = (word + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
	return word + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10);
}

static inline void digits_hex_store(char *to, uint64_t value)
{
	digits_store(to, digits_hex_word((uint32_t)(value >> 32)));
	digits_store(to + 8, digits_hex_word((uint32_t)value));
}
#endif

/* Hexadecimal, lower case: what is moved to the left has no zeros in front. */
static inline char *digits_hex(char *to, uint64_t value)
{
	int zeros = __builtin_clzll(value | 1) & ~3; /* in front, in bits */

	digits_hex_store(to, value << zeros);
	return to + 16 - zeros / 4;
}

/* Nine digits of a number below a thousand million. */
static inline char *digits_nine(char *to, uint32_t value)
{
	*to = (char)('0' + value / 100000000);
	return digits_store(to + 1, digits_word(value % 100000000) + DIGITS_ZEROS);
}

/* "12.000345678": ns as seconds. */
static inline char *digits_seconds(char *to, uint64_t ns)
{
	to = digits_u64(to, ns / 1000000000);
	*to = '.';
	return digits_nine(to + 1, (uint32_t)(ns % 1000000000));
}

#endif

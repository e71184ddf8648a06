/* python_lines.c - see python_lines.h. */
#include "symbol/python_lines.h"

#include <stdbool.h>

#define START	    0x80 /* the first byte of an entry, and no other, has it */
#define LINE_MAX    (INT32_MAX / 2)
#define NUMBER_BITS 30

/* What the first byte says of the entry. */
enum {
	KIND_SAME_LINE, /* and up to: */
	KIND_SAME_LINE_LAST = 9,
	KIND_SAME_LINE_LONG, /* columns of a byte each; the next two kinds are lines behind */
	KIND_SECOND_LINE_BEHIND = 12,
	KIND_NO_COLUMNS,
	KIND_LONG,
	KIND_NO_LINE,
};

/* Six bits a byte, the lowest first. */
static int64_t number_take(const uint8_t *table, size_t bytes, size_t at)
{
	uint64_t number = 0;

	for (unsigned int shift = 0; at < bytes && shift < NUMBER_BITS; shift += 6, at++) {
		number |= (uint64_t)(table[at] & 0x3f) << shift;
		if (!(table[at] & 0x40))
			break;
	}
	return (int64_t)number;
}

/* The sign is the lowest bit. */
static int64_t signed_take(const uint8_t *table, size_t bytes, size_t at)
{
	int64_t number = number_take(table, bytes, at);

	return number & 1 ? -(number >> 1) : number >> 1;
}

static int64_t line_step(const uint8_t *table, size_t bytes, size_t at)
{
	unsigned int kind = table[at] >> 3 & 15;

	if (kind == KIND_NO_COLUMNS || kind == KIND_LONG)
		return signed_take(table, bytes, at + 1);
	if (kind >= KIND_SAME_LINE_LONG && kind <= KIND_SECOND_LINE_BEHIND)
		return kind - KIND_SAME_LINE_LONG;
	return 0;
}

uint32_t python_line(const uint8_t *table, size_t bytes, uint32_t first_line, uint32_t unit)
{
	int64_t line = first_line;
	uint64_t end = 0;
	size_t at = 0;

	while (at < bytes && table[at] & START) {
		bool has_line = (table[at] >> 3 & 15) != KIND_NO_LINE;

		line += line_step(table, bytes, at);
		end += (table[at] & 7u) + 1;
		if (line < 0 || line > LINE_MAX)
			return 0;
		if (unit < end)
			return has_line ? (uint32_t)line : 0;
		for (at++; at < bytes && !(table[at] & START); at++)
			;
	}
	return 0;
}

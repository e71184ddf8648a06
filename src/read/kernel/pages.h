/*
 * pages.h - walk the records of one sub-buffer of the kernel's ring buffer.
 *
 *	time stamp | commit | record | record | ... | unused
 *
 * A record begins with a word of 5 bits type or length and 27 bits of time since
 * the one before it (Documentation/trace/ring-buffer-design.rst, include/linux/
 * ring_buffer.h). Where time stamp, commit and data stand is told by the kernel in
 * its header_page text. Nothing in a page is trusted; a page decodes alone.
 *
 * All functions may be called from any thread.
 */
#ifndef READ_KERNEL_PAGES_H
#define READ_KERNEL_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/order.h"
#include "wire/wire.h"

struct err;

/* Where things stand in every page of a recording. */
struct page_layout {
	uint32_t page_bytes;
	uint32_t long_bytes; /* 4 or 8: size of the stored number of lost events */
	uint32_t time_offset;
	uint32_t commit_offset;
	uint32_t commit_bytes; /* 4 or 8 */
	uint32_t data_offset;
	bool big_endian;
};

/*
 * Read the layout out of the kernel's header_page text; NULL stands for what every
 * kernel so far has. Returns 0, or -EBADMSG with err filled.
 */
int page_layout_init(struct page_layout *out_layout, const char *header_page, uint32_t page_bytes,
		     uint32_t long_bytes, bool big_endian, struct err *err);

/* A page whose header was read and found sound. */
struct page {
	const uint8_t *data; /* a view into the page */
	uint32_t bytes;	     /* of data; 0 = no record */
	uint64_t time;	     /* of the first record, in units of the trace clock */
	bool lost;	     /* events were lost before this page */
	uint64_t lost_count; /* how many; 0 = not told */
};

/* The number of bytes at the start of a page that page_peek() looks at. */
#define PAGE_HEADER_BYTES 64

/* Read the header alone. False when it cannot be one. out_page->data is NULL. */
bool page_peek(const struct page_layout *layout, const uint8_t *bytes, struct page *out_page);

/* Read the header of a whole page. False when it cannot be one. */
bool page_open(const struct page_layout *layout, const uint8_t *bytes, struct page *out_page);

struct record {
	const uint8_t *data; /* a view into the page; 4-byte words, at least one */
	uint32_t bytes;
	uint64_t time; /* in units of the trace clock */
};

struct page_cursor {
	const uint8_t *at;
	const uint8_t *end;
	uint64_t time;
	bool big_endian;
};

static inline void page_begin(const struct page *page, bool big_endian, struct page_cursor *cursor)
{
	cursor->at = page->data;
	cursor->end = page->data + page->bytes;
	cursor->time = page->time;
	cursor->big_endian = big_endian;
}

static inline uint32_t page_word(const uint8_t *at, bool big_endian)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return order_u32(word, order_swaps(big_endian));
}

/* An absolute time stamp has 59 bits; the others are those of the time before it. */
static inline uint64_t page_absolute_time(uint64_t stamp, uint64_t before)
{
	const uint64_t low = (UINT64_C(1) << 59) - 1;
	uint64_t time = (before & ~low) | (stamp & low);

	return (before & ~low) && time < before ? time + low + 1 : time;
}

/*
 * Step over whatever is no data record: padding, time extends, absolute stamps.
 * 'word' is the header at cursor->at, whose 4 bytes are there. Returns 1 when it was
 * stepped over, 0 at the end of the records, -1 when it is damaged.
 */
static inline int page_skip(struct page_cursor *cursor, uint32_t type, uint32_t delta)
{
	size_t left = (size_t)(cursor->end - cursor->at);
	uint32_t body;

	if (type == WIRE_TYPE_PADDING && delta == 0)
		return 0; /* the rest of the page is unused */
	if (left < 8)
		return -1;
	body = page_word(cursor->at + 4, cursor->big_endian);
	if (type == WIRE_TYPE_PADDING) {
		/* An event that was discarded: 'body' bytes follow the header. */
		if (body < 4 || body % 4 || body > left - 4)
			return -1;
		cursor->time += delta;
		cursor->at += 4 + body;
		return 1;
	}
	if (type == WIRE_TYPE_TIME_EXTEND)
		cursor->time += ((uint64_t)body << WIRE_DELTA_BITS) + delta;
	else
		cursor->time = page_absolute_time(((uint64_t)body << WIRE_DELTA_BITS) + delta,
						  cursor->time);
	cursor->at += 8;
	return 1;
}

/*
 * The next data record: 1 and *out_record, 0 at the end of the page, -1 when the
 * bytes at cursor->at are no record; the rest of the page cannot be read then.
 */
static inline __attribute__((always_inline)) int page_next_in(struct page_cursor *cursor,
							      struct record *out_record,
							      bool big_endian)
{
	while (cursor->end - cursor->at >= 4) {
		size_t left = (size_t)(cursor->end - cursor->at);
		uint32_t word = page_word(cursor->at, big_endian);
		uint32_t type = big_endian ? word >> WIRE_DELTA_BITS : word & 31;
		uint32_t delta =
			cursor->big_endian ? word & ((1u << WIRE_DELTA_BITS) - 1) : word >> 5;
		uint32_t head = 4, bytes = type * 4;

		if (__builtin_expect(type > WIRE_TYPE_DATA_MAX, 0)) {
			int rc = page_skip(cursor, type, delta);

			if (rc <= 0)
				return rc;
			continue;
		}
		if (type == 0) { /* a large one: its length counts itself */
			if (left < 8)
				return -1;
			bytes = page_word(cursor->at + 4, big_endian);
			if (bytes < 8 || bytes % 4)
				return -1;
			bytes -= 4;
			head = 8;
		}
		if (bytes > left - head)
			return -1;
		cursor->time += delta;
		out_record->data = cursor->at + head;
		out_record->bytes = bytes;
		out_record->time = cursor->time;
		cursor->at += head + bytes;
		return 1;
	}
	return cursor->at == cursor->end ? 0 : -1;
}

/* The same, where the byte order is no constant. */
static inline int page_next(struct page_cursor *cursor, struct record *out_record)
{
	return cursor->big_endian ? page_next_in(cursor, out_record, true)
				  : page_next_in(cursor, out_record, false);
}

#endif

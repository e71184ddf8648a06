/*
 * cut_ring.c - sub-buffers: a head, then records with the time since the one before.
 *
 * The reader's side of the same is read/kernel/pages.h.
 */
#include "export/cut_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "read/kernel/pages.h"
#include "read/read.h"
#include "wire/wire.h"

#define DELTA_MAX ((UINT64_C(1) << WIRE_DELTA_BITS) - 1)

struct cut_ring {
	const struct page_layout *layout;
	char *path; /* owned */
	int fd;
	uint8_t *page; /* owned */
	uint32_t used; /* of its data */
	bool is_begun;
	uint64_t begin_ns;
	uint64_t last_ns;
	bool lost;	   /* events were lost before this page */
	bool lost_unknown; /* and nobody knows how many */
	uint64_t lost_count;
	struct cut_ring_sum sum;
	int error;
};

struct cut_ring *cut_ring_new(const char *path, const struct page_layout *layout)
{
	struct cut_ring *ring = xcalloc(1, sizeof(*ring));

	ring->layout = layout;
	ring->path = xstrdup(path);
	ring->page = xcalloc(1, layout->page_bytes);
	ring->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (ring->fd < 0)
		ring->error = -errno;
	return ring;
}

static bool cut_ring_swaps(const struct cut_ring *ring)
{
	return order_swaps(ring->layout->big_endian);
}

static void put_4(const struct cut_ring *ring, uint8_t *at, uint32_t word)
{
	word = order_u32(word, cut_ring_swaps(ring));
	memcpy(at, &word, sizeof(word));
}

static void cut_ring_put_number(const struct cut_ring *ring, uint8_t *at, uint32_t bytes,
				uint64_t number)
{
	if (bytes == 4) {
		put_4(ring, at, (uint32_t)number);
		return;
	}
	number = order_u64(number, cut_ring_swaps(ring));
	memcpy(at, &number, sizeof(number));
}

/* What a page can hold, with room behind it for the number of lost events. */
static uint32_t room_of(const struct cut_ring *ring)
{
	return ring->layout->page_bytes - ring->layout->data_offset - 8;
}

static void cut_ring_write_page(struct cut_ring *ring)
{
	const struct page_layout *layout = ring->layout;
	uint64_t commit = ring->used;
	uint32_t done = 0;

	if (ring->lost)
		commit |= WIRE_PAGE_LOST | (ring->lost_unknown ? 0 : WIRE_PAGE_LOST_STORED);
	cut_ring_put_number(ring, ring->page + layout->time_offset, 8, ring->begin_ns);
	cut_ring_put_number(ring, ring->page + layout->commit_offset, layout->commit_bytes, commit);
	if (ring->lost && !ring->lost_unknown)
		cut_ring_put_number(ring, ring->page + layout->data_offset + ring->used,
				    layout->long_bytes, ring->lost_count);
	while (!ring->error && done < layout->page_bytes) {
		ssize_t count = write(ring->fd, ring->page + done, layout->page_bytes - done);

		if (count < 0 && errno != EINTR)
			ring->error = -errno;
		done += count > 0 ? (uint32_t)count : 0;
	}
	ring->sum.bytes += layout->page_bytes;
	memset(ring->page, 0, layout->page_bytes);
	ring->used = 0;
	ring->is_begun = ring->lost = ring->lost_unknown = false;
	ring->lost_count = 0;
}

static void cut_ring_begin_page(struct cut_ring *ring, uint64_t time_ns)
{
	ring->is_begun = true;
	ring->begin_ns = ring->last_ns = time_ns;
}

/* The word that begins a record. */
static uint32_t head_word(const struct cut_ring *ring, uint32_t type, uint32_t delta)
{
	return ring->layout->big_endian ? type << WIRE_DELTA_BITS | delta : delta << 5 | type;
}

static uint8_t *cut_ring_take(struct cut_ring *ring, uint32_t bytes)
{
	uint8_t *at = ring->page + ring->layout->data_offset + ring->used;

	ring->used += bytes;
	return at;
}

void cut_ring_put(struct cut_ring *ring, uint64_t time_ns, const struct trace_record *record)
{
	uint32_t bytes = (record->bytes + 3) & ~3u, words = bytes / 4;
	bool is_long = words > WIRE_TYPE_DATA_MAX || words == 0;
	uint32_t need = 8 + 4 + (is_long ? 4 : 0) + bytes;
	uint64_t delta;
	uint8_t *at;

	if (need > room_of(ring)) {
		cut_ring_lost(ring, time_ns, 1); /* a record that no page of this size can hold */
		return;
	}
	if (ring->is_begun && ring->used + need > room_of(ring))
		cut_ring_write_page(ring);
	if (!ring->is_begun || ring->used == 0)
		cut_ring_begin_page(ring, time_ns);
	delta = time_ns - ring->last_ns;
	if (delta > DELTA_MAX) {
		at = cut_ring_take(ring, 8);
		put_4(ring, at,
		      head_word(ring, WIRE_TYPE_TIME_EXTEND, (uint32_t)(delta & DELTA_MAX)));
		put_4(ring, at + 4, (uint32_t)(delta >> WIRE_DELTA_BITS));
		delta = 0;
	}
	at = cut_ring_take(ring, is_long ? 8 : 4);
	put_4(ring, at, head_word(ring, is_long ? 0 : words, (uint32_t)delta));
	if (is_long)
		put_4(ring, at + 4, bytes + 4);
	memcpy(cut_ring_take(ring, bytes), record->data, record->bytes);
	ring->last_ns = time_ns;
	ring->sum.events++;
}

void cut_ring_lost(struct cut_ring *ring, uint64_t time_ns, uint64_t count)
{
	if (ring->is_begun && ring->used)
		cut_ring_write_page(ring);
	cut_ring_begin_page(ring, time_ns);
	ring->lost = true;
	ring->lost_unknown |= count == 0;
	ring->lost_count += count;
	ring->sum.lost += count;
}

int cut_ring_end(struct cut_ring *ring, struct cut_ring_sum *out_sum, struct err *err)
{
	int rc;

	if (ring->is_begun)
		cut_ring_write_page(ring);
	if (ring->fd >= 0 && close(ring->fd) < 0 && !ring->error)
		ring->error = -errno;
	*out_sum = ring->sum;
	rc = ring->error ? err_set(err, ring->error, "cannot write %s: %s", ring->path,
				   strerror(-ring->error))
			 : 0;
	free(ring->page);
	free(ring->path);
	free(ring);
	return rc;
}

/*
 * cut_ring.h - write events into sub-buffers of the kernel's ring buffer, as a kernel would.
 */
#ifndef EXPORT_CUT_RING_H
#define EXPORT_CUT_RING_H

#include <stdbool.h>
#include <stdint.h>

struct cut_ring;
struct err;
struct page_layout;
struct trace_record;

/* A new file for one CPU. 'layout' must live as long. Errors show at the end. */
struct cut_ring *cut_ring_new(const char *path, const struct page_layout *layout);

/* Times never go back. */
void cut_ring_put(struct cut_ring *ring, uint64_t time_ns, const struct trace_record *record);

/* Events are missing before the next one; 'count' 0 = nobody knows how many. */
void cut_ring_lost(struct cut_ring *ring, uint64_t time_ns, uint64_t count);

/* What is in the file, for the manifest. */
struct cut_ring_sum {
	uint64_t events;
	uint64_t lost;
	uint64_t bytes;
};

/* Write what is left, and free. Returns 0 or a negative errno with err filled. */
int cut_ring_end(struct cut_ring *ring, struct cut_ring_sum *out_sum, struct err *err);

#endif

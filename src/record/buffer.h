/*
 * buffer.h - size and shape of an instance's ring buffers, and the kernel's counts.
 */
#ifndef RECORD_BUFFER_H
#define RECORD_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct manifest;
struct manifest_cpu;

#define BUFFER_MIN_BYTES (256u << 10)
#define BUFFER_PAGES_MIN 4u

/* The default per CPU: 64 MiB, all of them together at most 1/32 of the memory. */
uint64_t buffer_default_bytes(uint64_t memory_bytes, uint32_t cpu_count);

/*
 * Give an instance its sub-buffer size, buffer size and wake-up mark. 'wish_bytes'
 * per CPU, 0 = default. Halves the size until the kernel grants it, and notes that
 * in manifest->missing. Fills manifest->buffer_bytes and page_bytes. Returns 0, or
 * a negative errno with err filled.
 */
int buffer_prepare(int instance_fd, uint64_t wish_bytes, struct manifest *manifest,
		   struct err *err);

/* Smaller than it was prepared, at once. Returns 0 with manifest->buffer_bytes, or a negative errno with err filled. */
int buffer_shrink(int instance_fd, uint64_t bytes, struct manifest *manifest, struct err *err);

/* Fill manifest->page_bytes and long_bytes. Returns 0, or a negative errno with err filled. */
int buffer_read_shape(int instance_fd, struct manifest *manifest, struct err *err);

/* Sub-buffer size and sizeof(long) of the kernel from header_page's text; 0 = unknown. */
uint32_t buffer_page_bytes(const char *header_page);
uint32_t buffer_long_bytes(const char *header_page);

/* Read events, lost and dropped from the text of per_cpu/cpuN/stats. */
void buffer_parse_stats(const char *stats, struct manifest_cpu *out_cpu);

/* Fill the kernel's counts in manifest->cpus. */
void buffer_read_stats(int instance_fd, struct manifest *manifest);

/* The text of header_page that is valid for the instance; to be freed; NULL = none. */
char *buffer_header_page(int instance_fd, size_t *out_bytes);

#endif

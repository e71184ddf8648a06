/*
 * go_memory.h - memory of a process in pages that are read once, read directly.
 *
 * Where the process hangs, so does the reader: for a child that is ended then. What lies there may be anything,
 * and may change meanwhile: one page is of one instant, two are not.
 */
#ifndef STUCK_GO_MEMORY_H
#define STUCK_GO_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct go_memory {
	int32_t tgid;
	struct map pages; /* address of a page, to its index */
	uint8_t (*bytes)[4096];
	size_t count, cap;
};

/* All of it, or false. */
bool go_memory_read(struct go_memory *memory, uint64_t address, void *buffer, size_t bytes);

/* The same as it is now, whatever was read before. */
bool go_memory_read_now(const struct go_memory *memory, uint64_t address, void *buffer,
			size_t bytes);

/* Zero where it cannot be read. */
uint64_t go_memory_u64(struct go_memory *memory, uint64_t address);
uint32_t go_memory_u32(struct go_memory *memory, uint64_t address);

/* A text that ends with a zero, or after 'max' - 1 bytes. False where it cannot be read. */
bool go_memory_text(struct go_memory *memory, uint64_t address, char *text, size_t max);

void go_memory_fini(struct go_memory *memory);

#endif

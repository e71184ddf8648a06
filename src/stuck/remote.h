/*
 * remote.h - memory of a process in pages that are read once, and the symbols that its libraries export.
 *
 * What lies there may be anything, and may change meanwhile: all sizes are bounded, nothing is believed
 * but what was asked for.
 */
#ifndef STUCK_REMOTE_H
#define STUCK_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct look;
struct process;

#define REMOTE_PAGE 4096u

struct remote {
	struct look *look;	 /* not owned */
	struct process *process; /* not owned; moves as the look goes on: set it before each use */
	struct map pages;	 /* address of a page, to its index */
	uint8_t (*bytes)[REMOTE_PAGE];
	size_t count;
	size_t cap;
};

void remote_fini(struct remote *remote);

/* All of it, or false. */
bool remote_read(struct remote *remote, uint64_t address, void *buffer, size_t bytes);

/* Zero where it cannot be read. */
uint64_t remote_u64(struct remote *remote, uint64_t address);
uint32_t remote_u32(struct remote *remote, uint64_t address);

/* Whether this text is there, with its end. */
bool remote_is_text(struct remote *remote, uint64_t address, const char *text);

/* The address of what the library that is loaded at 'base' exports under that name; 0 = it does not. */
uint64_t remote_symbol(struct remote *remote, uint64_t base, const char *name);

/* Whether the file that is loaded at 'base' has a note of this owner and type. */
bool remote_has_note(struct remote *remote, uint64_t base, const char *owner, uint32_t type);

#endif

/*
 * maps.h - whether two processes have the same memory, by the file that is mapped there; where a library is.
 */
#ifndef STUCK_MAPS_H
#define STUCK_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct look;
struct process;

/* What is mapped at an address. */
struct mapping {
	char device[16]; /* "fe:01" */
	uint64_t inode;	 /* 0 = no file, also of memory without a name that is shared */
	uint64_t offset; /* in the file, of the address */
};

/* What is at 'address' of the process. False when it is private, no file, or not to be read. */
bool maps_at(struct look *look, struct process *process, uint64_t address,
	     struct mapping *out_mapping);

/*
 * Whether what is at 'address' is memory of this process alone, but for who shares all of its memory. Asked again
 * for an address beside the last one, it costs nothing.
 */
bool maps_is_private(struct look *look, struct process *process, uint64_t address);

/* Where the library of that name is loaded: the address of its first byte. */
bool maps_library(struct look *look, struct process *process, const char *name,
		  uint64_t *out_address);

/* Whether the process has the same place of the same file mapped, shared. */
bool maps_has(struct look *look, struct process *process, const struct mapping *mapping);

#endif

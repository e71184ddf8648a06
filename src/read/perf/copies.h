/*
 * copies.h - copies of stacks in samples (perf record --call-graph dwarf).
 *
 * They are large, and stay where they are: what is kept of each is its place in the file.
 */
#ifndef READ_PERF_COPIES_H
#define READ_PERF_COPIES_H

#include <stdbool.h>
#include <stdint.h>

struct perf_attr;
struct perf_file;
struct perf_record;
struct perf_rest;
struct walk_dump;

/* What a sample has of the program's stack, where its call chain has nothing of that. */
struct perf_copy {
	const struct perf_attr *attr; /* NULL = none: the call chain tells */
	uint64_t place;		      /* of the sample */
	uint64_t hash;		      /* of registers and stack */
	uint64_t pc;		      /* where the program was; 0 = not known */
	uint32_t bytes;		      /* of the sample */
	bool has_regs;
};

struct perf_copy perf_copy_of(const struct perf_file *file, const struct perf_attr *attr,
			      const struct perf_record *record, const struct perf_rest *rest,
			      uint64_t place);

#define PERF_COPY_ROOM 65536u /* the longest record */

/* Read it into 'room', of PERF_COPY_ROOM. False where it has no registers that are known, or is of the other byte order, or cannot be read. */
bool perf_copy_read(const struct perf_file *file, const struct perf_copy *copy, uint8_t *room,
		    struct walk_dump *out_dump);

#endif

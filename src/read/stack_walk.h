/*
 * stack_walk.h - copies of stacks in a trace, for who can tell the calls in them.
 *
 * A reader does not: that takes the files which the programs had mapped, and what reads those is big. It hands
 * out what was recorded, one process after the other.
 */
#ifndef READ_STACK_WALK_H
#define READ_STACK_WALK_H

#include <stddef.h>
#include <stdint.h>

enum walk_machine {
	WALK_OTHER, /* its registers are not known here */
	WALK_X86_64,
	WALK_I386,
	WALK_AARCH64,
};

/* A part of a file that was mapped to run code. */
struct walk_map {
	uint64_t start, bytes;
	uint64_t offset;      /* in the file */
	const char *path;     /* "[vdso]", "//anon": none of a file */
	const char *build_id; /* hexadecimal; NULL = not recorded */
};

#define WALK_REGS_MAX	33
#define WALK_FRAMES_MAX 192
#define WALK_NO_MAP	UINT32_MAX

struct walk_dump {
	enum walk_machine machine;
	uint64_t regs[WALK_REGS_MAX]; /* by their numbers in DWARF, the program counter last */
	uint64_t absent;	      /* bit = number of a register that was not recorded */
	size_t reg_count;
	const uint8_t *stack; /* what was at the stack pointer and above it */
	uint64_t stack_at;
	size_t stack_bytes;
};

struct walk_frame {
	uint64_t
		pc; /* where it was; of a frame that called another one, the last byte of the call */
	uint32_t map; /* index of those of the process; WALK_NO_MAP = it is in none */
};

struct stack_walker {
	/* What the process of the following copies had mapped; a view, until the next call. */
	void (*enter)(void *context, const struct walk_map *maps, size_t count);
	/*
	 * Innermost frame first, at most WALK_FRAMES_MAX. Returns how many are known; *out_end, a constant, is why it goes no
	 * further, NULL = the thread began there.
	 */
	size_t (*walk)(void *context, const struct walk_dump *dump, struct walk_frame *out_frames,
		       const char **out_end);
	void *context;
};

#endif

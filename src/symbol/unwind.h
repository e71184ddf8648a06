/*
 * unwind.h - who called whom: from registers and a copy of the top of a stack.
 *
 * By the tables that compilers make for exceptions (.eh_frame) in the files that the program had
 * mapped, or by .debug_frame, or by frame pointers where there is neither; all of it elfutils'.
 * Files, registers and stack may be anything. A walk has a bound; libdw itself is big, and meant
 * for files that one trusts: do this in a process that has nothing to lose.
 *
 * One thread at a time.
 */
#ifndef SYMBOL_UNWIND_H
#define SYMBOL_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_names;
struct unwinder;

#define UNWIND_FRAMES_MAX 192

/* A part of a file that was mapped to run code; 'fd' and 'path' are views, used until the end. */
struct unwind_map {
	uint64_t start, bytes;
	uint64_t offset; /* in the file */
	int fd;		 /* -1 = the file is not there */
	const char *path;
};

struct unwind_start {
	const uint64_t *regs; /* by their numbers in DWARF */
	size_t reg_count;     /* x86-64: 17, the last is the program counter; i386: 9; arm64: 33 */
	const uint8_t *stack; /* a copy of what was at ... */
	uint64_t stack_at;
	size_t stack_bytes;
	uint64_t absent; /* bit = number of a register that is not known */
};

struct unwind_frame {
	uint64_t pc;	  /* as in the process */
	uint64_t sp;	  /* the stack pointer there: its part of the stack begins; 0 = not known */
	bool is_call;	  /* it is where the call returns to: the call is before it */
	uint32_t map;	  /* index of a map; UNWIND_NO_MAP = in none */
	uint64_t address; /* in the file, as ELF counts; of the call itself; 0 = not known */
};

#define UNWIND_NO_MAP UINT32_MAX

/* What is known of an address of code; NULL, 0 = not known. The texts live until the next call. */
struct unwind_name {
	const char *function;  /* demangled, without arguments, clone suffixes and hashes */
	const char *signature; /* whole */
	const char *build_id;  /* hexadecimal */
	const char *file;      /* of the source */
	uint32_t line;
	uint64_t start;	 /* of a function without a name: where the tables say that it begins */
	bool is_inlined; /* the compiler put it into the next one, at that one's line */
};

#define UNWIND_INLINED_MAX 16

/* NULL where the machine is none whose registers are known. Free it with unwinder_free(). */
struct unwinder *unwinder_new(const struct unwind_map *maps, size_t count);

/*
 * Code in no file ends a walk, unless 'is_known' says that it was made by a runtime that keeps frame
 * pointers in it: then they are followed.
 */
void unwinder_knows(struct unwinder *unwinder, bool (*is_known)(void *context, uint64_t pc),
		    void *context);

/*
 * Walk up, innermost frame first. Returns how many of 'out_frames' are set, at most 'max'. *out_end
 * is NULL when the last one is where the thread began, else why it goes no further; a constant.
 */
size_t unwinder_walk(struct unwinder *unwinder, const struct unwind_start *start,
		     struct unwind_frame *out_frames, size_t max, const char **out_end);

/*
 * How many registers a walk takes. UNWIND_REGS_32: all files are of i386, as a 32-bit program's on x86-64; else it
 * is unwind_reg_count(), and files of i386 do not count.
 */
#define UNWIND_REGS_32 9
#define UNWIND_SP_32   4 /* the number of its stack pointer */
size_t unwinder_reg_count(const struct unwinder *unwinder);

void unwinder_free(struct unwinder *unwinder); /* NULL is fine */

/*
 * What code of one file is called, for all processes that run it: what is read of the file for that is
 * kept. NULL where it is no ELF file. 'fd' and 'path' are views, used until the end; free it with
 * unwind_names_free().
 */
struct unwind_names *unwind_names_new(int fd, const char *path);

/*
 * The function whose symbol covers the address, never another one near it, and the line that debug
 * information tells. The address is a struct unwind_frame's. Returns how many of 'out_names' are
 * set, at least 1: functions that were inlined there come first, the innermost one first of all.
 */
size_t unwind_names_find(struct unwind_names *names, uint64_t address,
			 struct unwind_name out_names[UNWIND_INLINED_MAX + 1]);

/* The address of what stands at an offset of the file, and is loaded as code; false = nothing is. */
bool unwind_names_address(struct unwind_names *names, uint64_t offset, uint64_t *out_address);

/* Hexadecimal; NULL where the file has none. It lives as long as the names. */
const char *unwind_names_build_id(struct unwind_names *names);

/*
 * A debug file that is used where none is at its places. 'fd' is a view, used until the end. Returns false, and
 * changes nothing, where its build-id is not that of the file.
 */
bool unwind_names_add_debug(struct unwind_names *names, int fd);

/* Is there debug information, in the file or beside it? After unwind_names_add_debug(), if at all. */
bool unwind_names_have_lines(struct unwind_names *names);

void unwind_names_free(struct unwind_names *names); /* NULL is fine */

/* Registers of this machine: how many of struct unwind_start there are; 0 = it is not known. */
size_t unwind_reg_count(void);

#endif

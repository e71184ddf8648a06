/*
 * variables.h - which variable of a program or library lies at an address, by the symbols of its data,
 * and which member of it, by its DWARF (members.h).
 *
 * Symbols are those of the file, of its .gnu_debugdata, and of its separate debug file. A variable is told
 * only where its symbol covers the address, never another one near it. The file may be anything.
 */
#ifndef SYMBOL_VARIABLES_H
#define SYMBOL_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

struct unwind_names;

/* Where a process has something, as to one file. */
struct variable_at {
	uint64_t address;    /* in the process */
	uint64_t start;	     /* of a mapping of the file that the address is in, or right behind */
	uint64_t offset;     /* of that mapping in the file */
	uint64_t code_start; /* of a mapping of the file's code, and its ... */
	uint64_t code_offset;
	uint64_t code_bytes;
};

struct variable {
	const char *
		name; /* demangled, without arguments; NULL = no symbol covers it; lives until the next call */
	uint64_t offset; /* how far into it */
	const char *
		member; /* which part of it that is: ".lock", "" = itself; NULL = no debug information; lives as long */
	uint64_t member_offset; /* how far into that part */
	bool is_initialised;	/* its first value stands in the file; else it begins as 0 */
};

/*
 * False when the address is in none of the file's data: when the two mappings do not fit each other, or the
 * file's data do not reach that far.
 */
bool variables_find(struct unwind_names *names, const struct variable_at *at,
		    struct variable *out_variable);

#endif

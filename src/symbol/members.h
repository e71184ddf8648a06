/*
 * members.h - which member of a variable lies so far behind its beginning, by the DWARF of its file.
 *
 * Told is the way there, "[3].lock": members of structures and classes, elements of arrays. It ends at
 * what the C and C++ libraries made of a lock, which is one thing whatever it consists of, and at unions,
 * as nobody knows which of their members is meant. The debug information may be anything: a search has bounds.
 */
#ifndef SYMBOL_MEMBERS_H
#define SYMBOL_MEMBERS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

struct members;

struct member {
	const char *path; /* ".lock"; "" = the variable itself; lives until the next call */
	uint64_t offset;  /* how far into that */
};

/* 'module' is a view. Free it with members_free(). Its debug information is read at the first search. */
struct members *members_new(Dwfl_Module *module);

/*
 * What lies 'offset' bytes into the variable at 'address' in the file. False when there is no debug
 * information for it, or the variable is not that large.
 */
bool members_find(struct members *members, uint64_t address, uint64_t offset,
		  struct member *out_member);

void members_free(struct members *members); /* NULL is fine */

#endif

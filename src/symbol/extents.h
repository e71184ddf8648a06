/*
 * extents.h - where functions begin and end, by the table for exceptions (.eh_frame), which stripped files have, too.
 *
 * Linux Standard Base, "DWARF Extensions". An entry of the table is of a function, or of a part that the compiler
 * put elsewhere. The file may be anything; see elf_file.h for who reads it.
 */
#ifndef SYMBOL_EXTENTS_H
#define SYMBOL_EXTENTS_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

struct extents;

/* NULL where the file has no such table, or none that can be read. Free it with extents_free(). */
struct extents *extents_new(Elf *elf);

/* Where that begins in which the address lies, both as ELF counts; false = in nothing that the table tells of. */
bool extents_find(const struct extents *extents, uint64_t address, uint64_t *out_start);

void extents_free(struct extents *extents); /* NULL is fine */

#endif

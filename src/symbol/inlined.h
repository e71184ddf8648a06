/*
 * inlined.h - which functions the compiler put into each other at an address, by debug information.
 *
 * dwarf_getscopes() finds none where the function is described elsewhere: in another unit (link time optimization),
 * or in a type.
 */
#ifndef SYMBOL_INLINED_H
#define SYMBOL_INLINED_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#define INLINED_MAX 64

/* Where a function was called that was put into its caller; not known: NULL, 0. A view of the debug information. */
struct inlined_call {
	const char *file;
	uint32_t line;
};

/* The inlined functions at 'address' of 'unit', innermost last. Returns how many; those that are too deep are left out. */
size_t inlined_find(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die out_inlined[INLINED_MAX]);

struct inlined_call inlined_call_of(Dwarf_Die *unit, Dwarf_Die *inlined);

#endif

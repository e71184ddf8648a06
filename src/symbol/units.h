/*
 * units.h - which unit of a file's debug information has the code of an address.
 *
 * GCC writes a table of that (.debug_aranges), which libdwfl uses. Clang and rustc write none: there the units
 * themselves are asked, once.
 */
#ifndef SYMBOL_UNITS_H
#define SYMBOL_UNITS_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

struct units;

/* Of a module that lives longer. Nothing is read yet. Free it with units_free(). */
struct units *units_new(Dwfl_Module *module);

/*
 * The unit with the code at 'pc', as the module has it. *out_bias: to be subtracted from 'pc' for addresses of the
 * unit. NULL = there is none. A view, until units_free() or the next call.
 */
Dwarf_Die *units_find(struct units *units, uint64_t pc, Dwarf_Addr *out_bias);

void units_free(struct units *units); /* NULL is fine */

#endif

/*
 * symbol_spans.h - the symbol that libdwfl finds for an address, found once for all addresses that have the same.
 *
 * libdwfl looks at all symbols each time. Which one it takes depends on where symbols and sections begin and end:
 * between two such places it is always the same.
 */
#ifndef SYMBOL_SYMBOL_SPANS_H
#define SYMBOL_SYMBOL_SPANS_H

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdint.h>

struct symbol_spans;

/* Of a module that outlives them. Free them with symbol_spans_free(). */
struct symbol_spans *symbol_spans_new(Dwfl_Module *module);

/* As dwfl_module_addrinfo(): the name, how far behind its beginning the address is, and the symbol; NULL = there is none. */
const char *symbol_spans_find(struct symbol_spans *spans, uint64_t address, GElf_Off *out_offset,
			      GElf_Sym *out_symbol);

void symbol_spans_free(struct symbol_spans *spans); /* NULL is fine */

#endif

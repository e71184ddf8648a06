/*
 * die_name.h - the whole name of a function that debug information describes: "std::mutex::lock".
 */
#ifndef SYMBOL_DIE_NAME_H
#define SYMBOL_DIE_NAME_H

#include <elfutils/libdw.h>

/*
 * What linkers call it, where that is known, for demangle(); else its name behind those of the namespaces, types and
 * functions around it. NULL = it has no name. Free it with free().
 */
char *die_name(Dwarf_Die *die);

#endif

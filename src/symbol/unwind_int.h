/*
 * unwind_int.h - what is kept of one file for names of its code and of its variables.
 */
#ifndef SYMBOL_UNWIND_INT_H
#define SYMBOL_UNWIND_INT_H

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbol/demangle.h"
#include "symbol/unwind.h"

#define UNWIND_BUILD_ID_MAX 64

struct extents;
struct symbol_spans;
struct units;
struct variables;

struct unwind_names {
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Addr bias;
	struct demangled demangled[UNWIND_INLINED_MAX + 1];
	char build_id[2 * UNWIND_BUILD_ID_MAX + 1];
	int debug_fd;		 /* a view; -1 = none was added */
	struct extents *extents; /* owned; NULL = nobody has asked yet, or the file has none */
	bool has_asked_extents;
	struct units *units;	     /* owned */
	struct symbol_spans *spans;  /* owned */
	struct variables *variables; /* owned; NULL = nobody has asked yet */
};

/* What is to be added to addresses of the file, to have those in the process, by a part that is mapped as code. */
bool unwind_bias(Elf *elf, uint64_t start, uint64_t offset, uint64_t bytes, uint64_t *out_bias);

void variables_free(struct variables *variables); /* NULL is fine */

#endif

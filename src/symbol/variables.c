/*
 * variables.c - see variables.h.
 *
 * Symbols may overlap: they are sorted by where they begin, and each entry knows how far those before it
 * reach, so that a search goes back no further than it must.
 */
#include "symbol/variables.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"
#include "symbol/members.h"
#include "symbol/unwind_int.h"

#define SYMBOLS_MAX (4 << 20)
#define BACK_MAX    4096 /* entries that a search goes back */

struct variable_symbol {
	uint64_t address, bytes;
	uint64_t reach; /* the furthest end of this one and those before it */
	int index;	/* of the symbol in the module's tables */
	bool is_local;
};

struct variables {
	struct variable_symbol *symbols; /* owned; by address */
	size_t count, cap;
	struct demangled demangled;
	struct members *members; /* owned */
};

/* ------------------------------------------------------------------ symbols */

ORDER_FUNCTION(compare_symbols, struct variable_symbol, ORDER_UP(address), ORDER_UP(index));

/* Its data is loaded, and can be written to, from 'address' up to the end of its segment: no further. */
static bool segment_of(Elf *elf, uint64_t address, GElf_Phdr *out_header)
{
	size_t count = 0;

	if (!elf || elf_getphdrnum(elf, &count) < 0)
		return false;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		if (gelf_getphdr(elf, (int)i, out_header) && out_header->p_type == PT_LOAD &&
		    out_header->p_flags & PF_W && address >= out_header->p_vaddr &&
		    address - out_header->p_vaddr < out_header->p_memsz)
			return true;
	}
	return false;
}

/* Is the section loaded? Only then libdwfl moves the symbol's address with the file. */
static bool is_loaded(Elf *elf, GElf_Word section)
{
	Elf_Scn *found = section == SHN_UNDEF ? NULL : elf_getscn(elf, section);
	GElf_Shdr header;

	return found && gelf_getshdr(found, &header) && header.sh_flags & SHF_ALLOC;
}

static void add_symbol(struct variables *variables, const struct unwind_names *names, int index)
{
	GElf_Sym symbol;
	GElf_Addr at, ignored;
	GElf_Word section = SHN_UNDEF;
	Elf *elf = NULL;
	const char *name = dwfl_module_getsym_info(names->module, index, &symbol, &at, &section,
						   &elf, &ignored);

	if (!name || !*name || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || !symbol.st_size ||
	    !elf || !is_loaded(elf, section) || at < names->bias)
		return;
	at -= names->bias;
	if (symbol.st_size > UINT64_MAX - at)
		return;
	variables->symbols = vec_room(variables->symbols, variables->count, &variables->cap,
				      sizeof(*variables->symbols));
	variables->symbols[variables->count++] = (struct variable_symbol){
		.address = at,
		.bytes = symbol.st_size,
		.index = index,
		.is_local = GELF_ST_BIND(symbol.st_info) == STB_LOCAL,
	};
}

static struct variables *variables_new(const struct unwind_names *names)
{
	struct variables *variables = xcalloc(1, sizeof(*variables));
	int count = dwfl_module_getsymtab(names->module);
	uint64_t reach = 0;

	variables->members = members_new(names->module);
	for (int i = 0; i < count && i < SYMBOLS_MAX; i++)
		add_symbol(variables, names, i);
	if (variables->count)
		qsort(variables->symbols, variables->count, sizeof(*variables->symbols),
		      compare_symbols);
	for (size_t i = 0; i < variables->count; i++) {
		struct variable_symbol *symbol = &variables->symbols[i];

		if (symbol->address + symbol->bytes > reach)
			reach = symbol->address + symbol->bytes;
		symbol->reach = reach;
	}
	return variables;
}

void variables_free(struct variables *variables)
{
	if (!variables)
		return;
	members_free(variables->members);
	demangled_fini(&variables->demangled);
	free(variables->symbols);
	free(variables);
}

static const char *symbol_name(const struct unwind_names *names,
			       const struct variable_symbol *symbol)
{
	GElf_Sym ignored;
	GElf_Addr at;
	const char *name = dwfl_module_getsym_info(names->module, symbol->index, &ignored, &at,
						   NULL, NULL, NULL);

	return name ? name : "";
}

/* Of several the smallest, as it says most; of names of one variable the one that others see, then the first. */
static bool says_more(const struct unwind_names *names, const struct variable_symbol *symbol,
		      const struct variable_symbol *than)
{
	const char *name, *other;

	if (!than || symbol->bytes != than->bytes)
		return !than || symbol->bytes < than->bytes;
	if (symbol->is_local != than->is_local)
		return than->is_local;
	name = symbol_name(names, symbol);
	other = symbol_name(names, than);
	if ((name[0] == '_') != (other[0] == '_'))
		return other[0] == '_';
	return strcmp(name, other) < 0;
}

static const struct variable_symbol *find_symbol(const struct variables *variables,
						 const struct unwind_names *names, uint64_t address)
{
	const struct variable_symbol *found = NULL;
	size_t low = SEARCH_BEHIND(variables->symbols, variables->count, address, address);

	for (size_t i = low; i > 0 && variables->symbols[i - 1].reach > address; i--) {
		const struct variable_symbol *symbol = &variables->symbols[i - 1];

		if (low - i >= BACK_MAX)
			return NULL;
		if (address - symbol->address < symbol->bytes && says_more(names, symbol, found))
			found = symbol;
	}
	return found;
}

/* ------------------------------------------------------------------ names */

/* Compilers number the static variables of functions: "lock.3". */
static void cut_number(char *name)
{
	char *dot = strrchr(name, '.');

	if (dot && dot > name && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1))
		*dot = '\0';
}

bool variables_find(struct unwind_names *names, const struct variable_at *at,
		    struct variable *out_variable)
{
	GElf_Addr ignored;
	Elf *elf = dwfl_module_getelf(names->module, &ignored);
	const struct variable_symbol *symbol;
	uint64_t bias, address, offset = at->address - at->start + at->offset;
	struct member member;
	GElf_Phdr segment;

	if (!elf || !unwind_bias(elf, at->code_start, at->code_offset, at->code_bytes, &bias))
		return false;
	address = at->address - bias;
	/* Both mappings say where the file's data are: they must say the same. */
	if (!segment_of(elf, address, &segment) ||
	    address - segment.p_vaddr + segment.p_offset != offset)
		return false;
	if (!names->variables)
		names->variables = variables_new(names);
	*out_variable =
		(struct variable){ .is_initialised = address - segment.p_vaddr < segment.p_filesz };
	symbol = find_symbol(names->variables, names, address);
	/* One that ends behind its segment is none. */
	if (!symbol || !segment_of(elf, symbol->address + symbol->bytes - 1, &segment))
		return true;
	demangle(symbol_name(names, symbol), &names->variables->demangled);
	cut_number(names->variables->demangled.function);
	out_variable->name = names->variables->demangled.function;
	out_variable->offset = address - symbol->address;
	if (members_find(names->variables->members, symbol->address, out_variable->offset,
			 &member)) {
		out_variable->member = member.path;
		out_variable->member_offset = member.offset;
	}
	return true;
}

/* symbol_spans.c - see symbol_spans.h. */
#include "symbol/symbol_spans.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/search.h"

#define FEW_LOOKS   4 /* that are quicker than finding all the places */
#define SYMBOLS_MAX 4000000

/* What was found in a span. */
struct span_symbol {
	const char *name;
	uint64_t start;
	GElf_Sym symbol;
};

struct symbol_spans {
	Dwfl_Module *module;
	unsigned int looks;
	bool is_split;	 /* 'edges' are there, if there can be any */
	uint64_t *edges; /* owned; sorted */
	size_t edge_count, edge_cap;
	struct map found;	     /* number of a span: index of it */
	struct span_symbol *symbols; /* owned */
	size_t symbol_count, symbol_cap;
};

struct symbol_spans *symbol_spans_new(Dwfl_Module *module)
{
	struct symbol_spans *spans = xcalloc(1, sizeof(*spans));

	spans->module = module;
	return spans;
}

void symbol_spans_free(struct symbol_spans *spans)
{
	if (!spans)
		return;
	free(spans->edges);
	free(spans->symbols);
	map_fini(&spans->found);
	free(spans);
}

static void add_edges(struct symbol_spans *spans, uint64_t start, uint64_t bytes)
{
	spans->edges = vec_room(spans->edges, spans->edge_count + 1, &spans->edge_cap,
				sizeof(*spans->edges));
	spans->edges[spans->edge_count++] = start;
	spans->edges[spans->edge_count++] = start + bytes;
}

static int compare_edges(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Of a file that has symbols; those that are not loaded, too, as libdwfl does not tell them apart. */
static void add_sections(struct symbol_spans *spans, Elf *elf, uint64_t bias)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		add_edges(spans, header.sh_addr + bias, header.sh_size);
		/* Right behind its end it may count, too. */
		add_edges(spans, header.sh_addr + bias + header.sh_size, 1);
	}
}

static void add_symbols(struct symbol_spans *spans, int count)
{
	Elf *seen = NULL;

	for (int i = 0; i < count; i++) {
		Dwarf_Addr bias = 0;
		GElf_Sym symbol;
		GElf_Addr at;
		Elf *elf = NULL;

		if (!dwfl_module_getsym_info(spans->module, i, &symbol, &at, NULL, &elf, &bias))
			continue;
		add_edges(spans, at, symbol.st_size);
		add_edges(spans, symbol.st_value + bias, symbol.st_size);
		/* Without a size, or in no section, it may be that of its first byte alone. */
		add_edges(spans, at, 1);
		/* Those of one file come one after the other, but for the first. */
		if (elf && elf != seen)
			add_sections(spans, elf, bias);
		seen = elf;
	}
}

static void split(struct symbol_spans *spans)
{
	int count = dwfl_module_getsymtab(spans->module);

	spans->is_split = true;
	if (count <= 0 || count > SYMBOLS_MAX)
		return;
	add_symbols(spans, count);
	if (spans->edge_count)
		qsort(spans->edges, spans->edge_count, sizeof(*spans->edges), compare_edges);
}

static const char *look(struct symbol_spans *spans, uint64_t address, GElf_Off *out_offset,
			GElf_Sym *out_symbol)
{
	return dwfl_module_addrinfo(spans->module, address, out_offset, out_symbol, NULL, NULL,
				    NULL);
}

const char *symbol_spans_find(struct symbol_spans *spans, uint64_t address, GElf_Off *out_offset,
			      GElf_Sym *out_symbol)
{
	const struct span_symbol *known;
	struct span_symbol *symbol;
	uint64_t *index;
	bool is_new;

	if (spans->looks++ < FEW_LOOKS)
		return look(spans, address, out_offset, out_symbol);
	if (!spans->is_split)
		split(spans);
	if (!spans->edge_count)
		return look(spans, address, out_offset, out_symbol);
	index = map_add(&spans->found, SEARCH_WHERE(spans->edges, spans->edge_count, <= address),
			&is_new);
	if (is_new) {
		GElf_Off offset = 0;

		*index = spans->symbol_count;
		spans->symbols = vec_room(spans->symbols, spans->symbol_count, &spans->symbol_cap,
					  sizeof(*spans->symbols));
		symbol = &spans->symbols[spans->symbol_count++];
		*symbol = (struct span_symbol){ 0 };
		symbol->name = look(spans, address, &offset, &symbol->symbol);
		symbol->start = address - offset;
	}
	known = &spans->symbols[*index];
	*out_offset = address - known->start;
	*out_symbol = known->symbol;
	return known->name;
}

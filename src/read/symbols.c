/* symbols.c - the kernel's symbols: views into the text of the file. */
#include "read/symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "store/file.h"

#define SYMBOLS_MAX_BYTES ((size_t)256 << 20)

/* One line without its newline. Ends the name at a blank: a module's name may follow. */
static bool parse_line(char *line, struct fact_symbol *out_symbol)
{
	char *end;
	unsigned long long address = strtoull(line, &end, 16);

	if (end == line || *end != ' ' || end[1] == '\0' || end[1] == ' ')
		return false;
	out_symbol->address = address;
	out_symbol->name = end + 1;
	end[1 + strcspn(end + 1, " \t")] = '\0';
	return true;
}

static int by_address(const void *left, const void *right)
{
	const struct fact_symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name; /* as in the file */
}

void symbols_read(const char *path, struct facts *facts)
{
	struct fact_symbol symbol;
	struct err err = { 0 };
	size_t bytes, cap = 0, bad = 0;
	char *text, *next;
	int rc = file_read(path, SYMBOLS_MAX_BYTES, &text, &bytes, &err);

	if (rc < 0) {
		if (rc != -ENOENT)
			facts_note_damage(facts, "kernel/kallsyms: %s", err.text);
		return;
	}
	facts_take(facts, text);
	while ((next = strsep(&text, "\n")) && (*next || text)) {
		if (!parse_line(next, &symbol)) {
			bad++;
			continue;
		}
		facts->symbols =
			vec_room(facts->symbols, facts->symbol_count, &cap, sizeof(symbol));
		facts->symbols[facts->symbol_count++] = symbol;
	}
	if (bad)
		facts_note_damage(facts, "kernel/kallsyms: %zu lines are no symbols", bad);
	if (facts->symbol_count)
		qsort(facts->symbols, facts->symbol_count, sizeof(symbol), by_address);
}

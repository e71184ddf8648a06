/* kernel_symbols.c - the kernel's symbols: views into the text of the file. */
#include "read/kernel_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"
#include "store/file.h"

#define SYMBOLS_MAX_BYTES ((size_t)256 << 20)

/*
 * One line without its newline. Ends the name at a blank: a module's name may follow.
 * There are 150,000 of them, read by every command: no function of the library is called.
 */
static bool kernel_symbols_parse_line(char *line, struct fact_symbol *out_symbol)
{
	uint64_t address = 0;
	char *at = line;

	while (at - line < 16 && text_hex_digit(*at) >= 0)
		address = address << 4 | (uint64_t)text_hex_digit(*at++);
	if (at == line || *at != ' ' || at[1] == '\0' || at[1] == ' ')
		return false;
	out_symbol->address = address;
	out_symbol->name = ++at;
	while (*at && *at != ' ' && *at != '\t')
		at++;
	*at = '\0';
	return true;
}

static int kernel_symbols_by_address(const void *left, const void *right)
{
	const struct fact_symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name; /* as in the file */
}

/* As the recorder writes them, as a rule. */
static bool kernel_symbols_in_order(const struct facts *facts)
{
	for (size_t i = 1; i < facts->symbol_count; i++) {
		if (facts->symbols[i].address < facts->symbols[i - 1].address)
			return false;
	}
	return true;
}

size_t symbols_add(struct facts *facts, char *text, size_t max, symbols_line_fn *take)
{
	struct fact_symbol symbol;
	size_t cap = facts->symbol_count, unwanted = 0;
	char *next;

	facts_take(facts, text);
	while (facts->symbol_count < max && (next = strsep(&text, "\n")) && (*next || text)) {
		if (!take(next, &symbol)) {
			unwanted++;
			continue;
		}
		facts->symbols =
			vec_room(facts->symbols, facts->symbol_count, &cap, sizeof(symbol));
		facts->symbols[facts->symbol_count++] = symbol;
	}
	if (!kernel_symbols_in_order(facts))
		qsort(facts->symbols, facts->symbol_count, sizeof(symbol),
		      kernel_symbols_by_address);
	return unwanted;
}

void symbols_read(const char *path, struct facts *facts)
{
	struct err err = { 0 };
	size_t bytes, bad;
	char *text;
	int rc = file_read(path, SYMBOLS_MAX_BYTES, &text, &bytes, &err);

	if (rc < 0) {
		if (rc != -ENOENT)
			facts_note_damage(facts, "kernel/kallsyms: %s", err.text);
		return;
	}
	bad = symbols_add(facts, text, SIZE_MAX, kernel_symbols_parse_line);
	if (bad)
		facts_note_damage(facts, "kernel/kallsyms: %zu lines are no symbols", bad);
}

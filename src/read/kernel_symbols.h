/*
 * kernel_symbols.h - kernel/kallsyms into the facts.
 */
#ifndef READ_KERNEL_SYMBOLS_H
#define READ_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

struct fact_symbol;
struct facts;

/*
 * Read "ADDRESS NAME\n" lines into facts->symbols, sorted by address. A missing file
 * is no damage; lines that are none are left out and noted.
 */
void symbols_read(const char *path, struct facts *facts);

/* One line without its newline, which may be changed. False: it is not wanted, or no symbol. */
typedef bool symbols_line_fn(char *line, struct fact_symbol *out_symbol);

/*
 * The same out of 'text', which the facts take: the first 'max' that 'take' wants. Returns how many
 * lines it did not want.
 */
size_t symbols_add(struct facts *facts, char *text, size_t max, symbols_line_fn *take);

#endif

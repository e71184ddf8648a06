/*
 * symbols.h - kernel/kallsyms into the facts.
 */
#ifndef READ_SYMBOLS_H
#define READ_SYMBOLS_H

struct facts;

/*
 * Read "ADDRESS NAME\n" lines into facts->symbols, sorted by address. A missing file
 * is no damage; lines that are none are left out and noted.
 */
void symbols_read(const char *path, struct facts *facts);

#endif

/*
 * clones.h - what compilers append to names of copies and parts of a function: "load.constprop.0", "load.part.0.cold".
 */
#ifndef BASE_CLONES_H
#define BASE_CLONES_H

#include <stddef.h>

/* Bytes of the symbol before that; all of them where there is none, as in "main.work" of Go. */
size_t clones_plain_bytes(const char *symbol);

#endif

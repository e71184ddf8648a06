/*
 * binary.h - which file a name means: a path, a program of PATH, a library of the loader.
 */
#ifndef SYMBOL_BINARY_H
#define SYMBOL_BINARY_H

#include <stddef.h>
#include <stdint.h>

struct err;

#define BINARY_LOADER_CACHE "/etc/ld.so.cache"

/*
 * Find a file. A name with a slash is a path; any other is looked for along PATH,
 * then among the libraries that the loader knows ("libc.so.6", or "libc" for the
 * first libc.so*). Returns 0 and an absolute path to free, or -ENOENT with err filled.
 */
int binary_find(const char *name, char **out_path, struct err *err);

/* The same for a library alone; NULL = not there. 'cache': a file as of ldconfig(8). */
char *binary_find_library(const char *name, const char *cache);

/* Look in the bytes of such a file; NULL = not there, or no such file. */
char *binary_search_cache(const uint8_t *bytes, size_t count, const char *name);

#endif

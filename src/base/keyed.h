/*
 * keyed.h - small files of ours with a line "KEY VALUE" for each thing they say.
 */
#ifndef BASE_KEYED_H
#define BASE_KEYED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The value behind 'key' in the first line that begins with it, to its end. False when there is none, or
 * it is empty, cut, or does not fit into 'room' bytes; then 'out' is left alone.
 */
bool keyed_find(const char *text, const char *key, char *out, size_t room);

/* The same of a number. */
bool keyed_find_u64(const char *text, const char *key, uint64_t *out_value);

#endif

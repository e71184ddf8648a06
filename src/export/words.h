/*
 * words.h - what the formats call things.
 */
#ifndef EXPORT_WORDS_H
#define EXPORT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline/timeline.h"

struct facts;

/* "held_up", "asked", "idle", "runs": enum why_class. */
const char *export_class_name(uint32_t class);

/* "read", or "system call 600" in 'buffer'. */
#define EXPORT_NAME_BYTES 64
const char *export_call_name(const struct facts *facts, int64_t nr, bool compat,
			     char buffer[EXPORT_NAME_BYTES]);

/*
 * 'text' up to 'max' bytes or a terminator, as UTF-8: bytes that are none become U+FFFD. Itself
 * when nothing had to be done, else a copy in *room, which is freed or reused by the caller.
 */
const char *export_utf8(const char *text, size_t max, char **room);

#endif

/*
 * formats.h - the format texts of the recorded events, as one file.
 *
 * Text, so that a person can read it. A section starts with a line
 *
 *	=== NAME BYTES
 *
 * followed by exactly BYTES bytes and a newline. NAME is "header_page",
 * "header_event" or "SYSTEM/EVENT" (format file of that event).
 */
#ifndef STORE_FORMATS_H
#define STORE_FORMATS_H

#include <stddef.h>
#include <stdio.h>

struct err;

#define FORMATS_MAX_BYTES (64u << 20) /* a larger file is refused */

struct format_section {
	char *name; /* owned */
	char *text; /* owned; terminated */
	size_t bytes;
};

struct formats {
	struct format_section *sections; /* owned */
	size_t count;
	size_t cap;
};

void formats_fini(struct formats *formats);

/* Write one section. Returns 0 or a negative errno. */
int formats_print(FILE *out, const char *name, const char *text, size_t bytes);

/*
 * Read all sections. A file that ends inside a section gives the sections before
 * it and -EBADMSG with err filled; *out_formats is valid in both cases.
 */
int formats_read(const char *path, struct formats *out_formats, struct err *err);

/* The text of a section, or NULL. */
const char *formats_find(const struct formats *formats, const char *name);

#endif

/*
 * folded.h - lines of stacks for flame graphs, each once: frames divided by ';', and a number.
 */
#ifndef EXPORT_FOLDED_H
#define EXPORT_FOLDED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/names.h"

struct outbuf;

/* Zeroed is empty. */
struct folded_lines {
	struct names texts;
	uint64_t *ns; /* owned; by id of the text */
	size_t cap;
};

/* One frame more. What separates frames, and what breaks lines, cannot be in it. */
void folded_frame(struct outbuf *out, const char *text);

void folded_add(struct folded_lines *lines, const char *text, uint64_t ns);
void folded_print(const struct folded_lines *lines, FILE *out);
void folded_fini(struct folded_lines *lines);

#endif

/*
 * names.h - each distinct string once, known by a small number.
 *
 * Ids are given in order of first appearance, from 1; id 0 is the empty string.
 * Strings live until names_fini(). Zero-initialised memory is an empty table.
 * Not shared between threads while it is added to.
 */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct names {
	char **texts;	/* owned; index = id */
	uint32_t count; /* including id 0, once anything was added */
	size_t cap;
	uint32_t *buckets; /* owned; ids, 0 = free */
	size_t bucket_cap;
};

void names_fini(struct names *names);

/* The id of 'text', added when it is new. 'max' bytes are looked at at most. */
uint32_t names_add(struct names *names, const char *text, size_t max);

/* The string of 'id'; "" for 0 and for ids never given. Never NULL. */
const char *names_text(const struct names *names, uint32_t id);

#endif

/*
 * text.h - put text together in a buffer of fixed size, in signal handlers too.
 */
#ifndef RUNTIME_TEXT_H
#define RUNTIME_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text in the caller's memory, always ended by a 0; what does not fit sets 'cut'. */
struct text {
	char *data;
	size_t size; /* of the memory */
	size_t length;
	bool cut;
};

void text_begin(struct text *text, char *data, size_t size);
void text_bytes(struct text *text, const char *bytes, size_t count);
void text_add(struct text *text, const char *string);
void text_number(struct text *text, uint64_t number);
void text_signed(struct text *text, int64_t number);
void text_hex(struct text *text, uint64_t number, unsigned digits);

#endif

/*
 * frames.h - a frame of a stack, as text and as JSON.
 */
#ifndef REPORT_FRAMES_H
#define REPORT_FRAMES_H

#include <stdint.h>
#include <stdio.h>

struct json;
struct stack_frame;
struct stacks;

/* "inflate_fast", "libz.so.1+0x1f2a"; what no symbol covers has no name, whatever stands before it. Raw text. */
void frame_put_function(FILE *out, const struct stack_frame *frame);

/* "inflate_fast (libz.so.1)", "libz.so.1+0x2a40 (function without a name)": a row of all that is in a function. Raw text. */
void frame_put_named(FILE *out, const struct stack_frame *frame);

/* "inflate_fast (inffast.c:212, libz.so.1)"; raw text, too. */
void frame_put(FILE *out, const struct stack_frame *frame);

/* The same, safe on a terminal; to be freed. */
char *frame_text(const struct stack_frame *frame);

/* A whole stack, a frame a line, '>' before the one numbered 'place'; safe on a terminal. */
void frame_print_stack(FILE *out, const struct stacks *stacks, uint32_t stack, uint32_t place,
		       const char *indent);

/* The keys of "frame" in the vocabulary. */
void frame_json_keys(struct json *json, const struct stack_frame *frame);

#endif

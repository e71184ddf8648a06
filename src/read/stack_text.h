/*
 * stack_text.h - frames as a tracer printed them.
 *
 *	<stack trace> => schedule => do_nanosleep+0x67/0x100 => loop_thread [loop] => 0xffffffffc0a01234
 *	<stack trace > => schedule (ffffffff81a0b2c3)                                  trace-cmd
 *	<user stack trace> => <00007f5e1c2d> => /usr/lib/libc.so.6[+0x11d7c2] => ??
 */
#ifndef READ_STACK_TEXT_H
#define READ_STACK_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/names.h"

struct stack_frame;

struct stack_texts {
	struct names names; /* of the last frame that was asked for, too */
};

/* Numbers of the frames in the text, up to 'max'; returns how many. Those of which nothing is known are left out. */
uint32_t stack_texts_split(struct stack_texts *texts, const char *text, size_t bytes,
			   uint64_t *out_words, uint32_t max);

/* Function, module and address as far as the text tells; the rest of the frame is left. Views into 'texts'. */
void stack_texts_frame(struct stack_texts *texts, uint64_t word, struct stack_frame *frame);

void stack_texts_fini(struct stack_texts *texts); /* zeroed is fine */

#endif

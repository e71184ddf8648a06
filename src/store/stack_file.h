/*
 * stack_file.h - kernel/stacks: where threads waited and worked, as text.
 *
 * A line each, its parts divided by tabs; characters that would break that are '?'. What a line names
 * stands before it, by its number from 0.
 *
 *	holdup-stacks 5
 *	P PERIOD LOST SCOPE                                                  how work was sampled
 *	F FLAGS OFFSET LINE FUNCTION SIGNATURE MODULE PATH BUILD_ID FILE [START]  a frame
 *	S END FRAME...                                                       a stack, innermost first
 *	W TID BEGIN END SLEPT FLAGS STACK                                    a wait
 *	C TID TIME STACK                                                     a sample of work
 *	L TGID ADDRESS FROM UNTIL KIND NAME MODULE STACK                     a word waited for in futex(2)
 *
 * PERIOD (ns), LOST, TIME, BEGIN, END, SLEPT, FROM, UNTIL (ns) and numbers are decimal, OFFSET, START and ADDRESS hexadecimal. START: where a function without a name begins. Flags of a
 * frame: k of the kernel, i inlined, s of a script, u names were left to later, - none; of a wait: s short, o open, - neither.
 * Frames that are functions inlined into another one stand before it, of the same OFFSET, PATH and BUILD_ID. A reader that does
 * not know a flag of a frame leaves it out of account.
 * SCOPE: "all" threads, or of the "tree". KIND: v in variable NAME of the file MODULE, g CPython's GIL, a arena of malloc,
 * s in a shared mapping of the file NAME, p not known; STACK is that of the first wait for it. Version 1 had neither P
 * nor C, version 2 no L, version 3 no s, version 4 no START; all are read.
 */
#ifndef STORE_STACK_FILE_H
#define STORE_STACK_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct stack_frame;
struct stack_futex;
struct stack_sample;
struct stack_sampling;
struct stack_wait;
struct stacks;

#define STACK_FILE_BYTES_MAX  ((size_t)512 << 20)
#define STACK_FILE_FRAMES_MAX 512      /* of a stack */
#define STACK_FILE_ITEMS_MAX  4000000u /* of each kind; of frames in stacks four times as many */
#define STACK_FILE_BAD_MAX    1000     /* lines; then nothing in it is believed any more */

/* The kinds of lines, and what comes first; errors are the stream's. */
void stack_file_begin(FILE *out);
void stack_file_frame(FILE *out, const struct stack_frame *frame);
void stack_file_stack(FILE *out, const uint32_t *frames, size_t count, const char *end);
void stack_file_wait(FILE *out, const struct stack_wait *wait);
void stack_file_sampling(FILE *out, const struct stack_sampling *sampling);
void stack_file_sample(FILE *out, const struct stack_sample *sample);
void stack_file_futex(FILE *out, const struct stack_futex *futex);

/*
 * Read a file into 'stacks' (zeroed before); stacks_finish() is left to the caller. Lines that are none are left out;
 * *out_bad is how many. Returns 0, or a negative errno with err filled: -ENOENT, other as open(2),
 * -EBADMSG = it is no such file. Free the stacks in any case.
 */
int stack_file_read(const char *path, struct stacks *stacks, size_t *out_bad, struct err *err);

/* Is this line, of so many bytes, one that has a number as a frame or stack, damaged or not? 'F', 'S', or 0 = of neither. */
char stack_file_numbered(const char *line, size_t bytes);

/* The same of its text, which is changed. Returns 0 or -EBADMSG. */
int stack_file_parse(char *text, struct stacks *stacks, size_t *out_bad);

#endif

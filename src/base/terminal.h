/*
 * terminal.h - what leaves for a terminal: text, and no bytes that command one.
 *
 * Names, paths and messages come from traces, from the kernel and from other people's programs.
 * Who prints them escapes them (text_escaped()); that this is never forgotten is seen to here, at
 * the last moment: in all that is written, bytes that are no UTF-8 and characters that control,
 * hide or reorder become \xNN, and only '\n', '\t' and the codes of terminal_codes() stay.
 */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Text on its way to a descriptor. */
struct terminal {
	int fd;
	int error; /* of a stream: negative errno of the first write that failed */
	uint8_t held_bytes;
	char held[4]; /* the begin of a character whose rest is to come */
};

/* Write 'count' bytes of text. Returns 0 or a negative errno. */
int terminal_put(struct terminal *terminal, const char *bytes, size_t count);

/* A character that was not ended will not be: write it. Returns 0 or a negative errno. */
int terminal_end(struct terminal *terminal);

/*
 * From now on stdout and stderr are such text, for the whole program, which must not have printed
 * yet. A descriptor of the three that is closed fails from now on, rather than be the next file that is
 * opened. Without it they are as they were: a library's caller decides on its own.
 */
void terminal_guard(void);

/* All that was printed is written. Returns 0 or the negative errno of stdout. */
int terminal_finish(void);

/*
 * From now until terminal_end_paged() stdout is a pipe to a pager, in the place of the terminal that it is
 * now. From the first byte of stdout on the pager has the terminal, and gets what is written to stderr, too,
 * if that is a terminal.
 */
void terminal_begin_paged(void);
void terminal_end_paged(void);

/* Does a person read 'fd' on a terminal, by a pager or directly? */
bool terminal_shows(int fd);

/* Of the terminal on which 'out' is read; 0 = it is none, or does not say. */
unsigned int terminal_columns(FILE *out);
unsigned int terminal_rows(FILE *out);

/* A stream of text to 'fd', which it owns. NULL with errno set, and the descriptor closed. */
FILE *terminal_open(int fd);

/* Our own codes for bold, erase, return: text that is no one else's. Works on any stream. */
void terminal_codes(FILE *out, const char *codes);

/* stdout as it was before terminal_guard(), for what draws a whole screen. */
FILE *terminal_stdout(void);

#endif

/*
 * rows.h - how kernels and tools write the events that have a type.
 */
#ifndef READ_TEXT_ROWS_H
#define READ_TEXT_ROWS_H

#include <stddef.h>

#define TEXT_ROW_PATTERNS 4u

/*
 * A pattern is the text of an event with its fields in braces: "pid={pid:d} prio={prio:d}".
 * A field without a name, "{:d}", is passed over. A blank stands for one or more; what follows the pattern in a line does not matter. Letters:
 *
 *	d  decimal, with or without a sign	x  hexadecimal, with or without 0x
 *	s  text up to what follows it		w  a word: up to a blank or ']', ',', ')'
 *	e  the rest of the line			S  state of a task: letters, or a number
 *	D  major,minor of a device		F  function: a name or an address
 *	h  "handled" or not			b  "true" or "false"
 *	L  words of flags of a lock		a  arguments of a call: hexadecimal, with commas
 */
struct text_row {
	const char *event;			 /* "SYSTEM/EVENT" */
	const char *patterns[TEXT_ROW_PATTERNS]; /* the first that fits is taken */
};

/* All of them; 'out_count' is set to their number. */
const struct text_row *text_rows(size_t *out_count);

#endif

/*
 * kinds.h - the kinds of events that a text has, and what the text of one says.
 *
 * Besides the kinds of text_rows.c there are those whose names were met when the trace was
 * opened: system calls by name, and all others, which have nothing but their text.
 *
 * For columns, filters and printing, an event is written down as a record of a made-up kernel
 * format, as ctf_record.h does it: one place of 8 bytes for each field, a number or where its
 * text is; the last field, "text", is what stands in the line.
 */
#ifndef READ_TEXT_KINDS_H
#define READ_TEXT_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "read/text/line.h"

struct facts;
struct formats;
struct text_kinds;

#define TEXT_MAX_FIELDS 12u
#define TEXT_MAX_LINE	30000u /* bytes; a longer one is no event. With its fields it fits a record */

struct text_kinds *text_kinds_new(void);
void text_kinds_free(struct text_kinds *kinds);

/* Learn the name of an event. Only before text_kinds_finish(). */
void text_kinds_add(struct text_kinds *kinds, const struct text_line *line);

/* The name of a function in a line gets a made-up address, so that facts_symbol() finds it. */
void text_kinds_add_symbols(struct text_kinds *kinds, const struct text_line *line);

/*
 * Write the format of each kind, and the symbols of 'facts', whose machine is known. From now on
 * the kinds do not change; they may be used by one thread at a time.
 */
void text_kinds_finish(struct text_kinds *kinds, struct facts *facts, struct formats *formats);

/* What an event became. */
struct text_made {
	bool understood; /* false: of a kind with a type, but its text is none that is known */
	uint32_t record_bytes;
};

/*
 * Fill 'out_event' from the line, whose text is ours: texts within it are ended by a zero byte,
 * and there is room for one behind the line. 'record' is NULL, or has room for TEXT_MAX_RECORD.
 */
struct text_made text_kinds_event(struct text_kinds *kinds, const struct text_line *line,
				  struct event *out_event, uint8_t *record);

#define TEXT_MAX_RECORD 65536u

#endif

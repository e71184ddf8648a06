/*
 * value.h - what a name means in a line of the list: a column, or a field of the event.
 *
 *	time since wall delta cpu tid comm latency event system place text syscall state instance
 *
 * are columns; any other name is a field of the event. "pid" and "name" are the event's own
 * field where it has one, else the thread and the name of the event. ".NAME" is always the
 * event's own field, and "args[2]" an element of an array.
 */
#ifndef FIELDS_VALUE_H
#define FIELDS_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/read.h"

struct err;
struct event;
struct facts;
struct outbuf;
struct print_event;
struct print_field;
struct print_memory;
struct printer;
struct value_name;

/* A line that values are asked of. */
struct value_line {
	const struct event *event;
	const struct print_event *kind;
	struct trace_record record; /* data NULL: an event of the reader's own */
	const char *comm;	    /* COMMS_BYTES bytes */
	const char *state;	    /* control-flow stack; NULL = not asked for */
	uint64_t delta_ns;	    /* since the line before */
};

/* What all lines share; must live as long as the names. */
struct value_context {
	const struct printer *printer;
	const struct facts *facts;
	struct print_memory *memory; /* of this thread */
};

enum value_column {
	COLUMN_FIELD, /* none: a field of the event */
	COLUMN_TIME,  /* trace clock */
	COLUMN_SINCE, /* the start of the recording */
	COLUMN_WALL,
	COLUMN_DELTA,
	COLUMN_CPU,
	COLUMN_TID,
	COLUMN_COMM,
	COLUMN_THREAD,	/* "make[1234]", as the list shows it */
	COLUMN_LATENCY, /* "d..2." */
	COLUMN_EVENT,	/* "sched:sched_switch" */
	COLUMN_NAME,	/* "sched_switch" */
	COLUMN_SYSTEM,
	COLUMN_PLACE, /* "0@1f40c" */
	COLUMN_TEXT,
	COLUMN_SYSCALL, /* name of the call, of sys_enter and sys_exit */
	COLUMN_STATE,
	COLUMN_INSTANCE, /* name of the tracing instance that recorded it; none = the usual one */
};

/*
 * Understand 'name'. Returns 0 and *out_name (free with value_name_free()), or -EINVAL with
 * err filled when no event of the trace has such a field.
 */
int value_name_new(const struct value_context *context, const char *name,
		   struct value_name **out_name, struct err *err);
void value_name_free(struct value_name *name);

/* The name as it was written. */
const char *value_name_text(const struct value_name *name);

/* Which column it is for all events; COLUMN_FIELD when it depends on the event. */
enum value_column value_name_column(const struct value_name *name);

/* May it stand for the name of the event's thread? */
bool value_name_shows_comm(const struct value_name *name);

enum value_kind {
	VALUE_NONE, /* this event has no such thing */
	VALUE_NUMBER,
	VALUE_TEXT,
	VALUE_BYTES, /* an array of numbers */
};

/* Where a name leads in one kind of event. */
struct value_place {
	enum value_kind kind;
	enum value_column column;
	const struct print_field *field;
	uint32_t index; /* of an array's element; UINT32_MAX = none */
	bool is_signed;
	bool is_time; /* ns */
};

struct value_place value_place(const struct value_name *name, const struct print_event *kind);

/* The same for a column. */
struct value_place value_column_place(enum value_column column, const struct print_event *kind);

/* The value as a number; 0 unless it is one. */
uint64_t value_number(const struct value_context *context, const struct value_place *place,
		      const struct value_line *line);

/*
 * The value as text. A number in decimal, times in seconds, an address in hexadecimal.
 * 'words': in the words of the print format, where it has some ("S" for a state).
 */
void value_text(const struct value_context *context, const struct value_place *place,
		const struct value_line *line, bool words, struct outbuf *out);

/* Has the number words besides? */
bool value_has_words(const struct value_place *place, const struct print_event *kind);

/* The value as JSON. */
void value_json(const struct value_context *context, const struct value_place *place,
		const struct value_line *line, struct outbuf *out);

/* "0@1f40c": CPU and place of the record, see trace_find_place(). "-": there is none. */
void value_put_place(const struct value_line *line, struct outbuf *out);

/* "12.000345678" and the like. */
void value_put_time(const struct value_context *context, enum value_column column,
		    const struct value_line *line, struct outbuf *out);

/* The kind of an event: of its record, or of the reader's own ones, which have no fields. */
const struct print_event *value_kind_of(const struct printer *printer, const struct event *event,
					const struct trace_record *record);

/* A number for each kind, below value_kind_count(). */
uint32_t value_kind_index(const struct printer *printer, const struct print_event *kind);
uint32_t value_kind_count(const struct printer *printer);

/* What print_text() makes, and the texts of the reader's own events. */
void value_put_event_text(const struct value_context *context, const struct value_line *line,
			  struct outbuf *out);

#endif

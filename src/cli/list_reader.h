/*
 * list_reader.h - the lines that holdup list was asked for, one after the other.
 *
 *	struct list_reader *reader;
 *	struct value_line line;
 *
 *	rc = list_reader_open("run.holdup", &choice, &reader, &err);
 *	while ((rc = list_reader_next(reader, &line, &err)) > 0)
 *		...
 *	list_reader_close(reader);
 *
 * Used by one thread at a time.
 */
#ifndef CLI_LIST_READER_H
#define CLI_LIST_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/when.h"
#include "read/value.h"

struct err;
struct facts;
struct list_reader;

/* Which events. Views; must live as long as the reader. */
struct list_choice {
	const char *filter; /* expression; NULL = all */
	struct when from, to;
	const int32_t *follow; /* thread ids; none = all */
	size_t follow_count;
	bool children;	  /* and the threads that these make from then on */
	const char *cpus; /* "0,2-5"; NULL = all */
	bool state;	  /* lines have the control-flow stack of their thread */
};

int list_reader_open(const char *path, const struct list_choice *choice,
		     struct list_reader **out_reader, struct err *err);
void list_reader_close(struct list_reader *reader);

/* What values are asked with. Its memory is this reader's. */
const struct value_context *list_reader_context(const struct list_reader *reader);
const struct facts *list_reader_facts(const struct list_reader *reader);

/* The window, ns on the trace clock. */
void list_reader_window(const struct list_reader *reader, uint64_t *out_from_ns,
			uint64_t *out_to_ns);

/*
 * Begin at 'from_ns', within the window. Lines before it count neither for the delta of
 * the first one. Called once by list_reader_open().
 */
int list_reader_seek(struct list_reader *reader, uint64_t from_ns, struct err *err);

/*
 * Begin again, for who asks the lines for nothing but the kind of event, CPU and thread: what that
 * does not need is left out where it can be. Returns 0 or a negative errno with err filled.
 */
int list_reader_heads(struct list_reader *reader, struct err *err);

/*
 * The next line: 1 and *out_line, whose views are valid until the next call; 0 at the end.
 * Holes in the recording are lines whatever the filter says, unless it names them.
 */
int list_reader_next(struct list_reader *reader, struct value_line *out_line, struct err *err);

#endif

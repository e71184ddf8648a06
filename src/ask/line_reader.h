/*
 * line_reader.h - the lines that holdup list was asked for, one after the other.
 *
 *	struct line_reader *reader;
 *	struct value_line line;
 *
 *	rc = line_reader_open("run.holdup", &choice, &reader, &err);
 *	while ((rc = line_reader_next(reader, &line, &err)) > 0)
 *		...
 *	line_reader_close(reader);
 *
 * Used by one thread at a time.
 */
#ifndef ASK_LINE_READER_H
#define ASK_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ask/window.h"
#include "fields/value.h"

struct err;
struct facts;
struct line_reader;
struct trace;

/* Which events. Views; must live as long as the reader. */
struct line_choice {
	const char *filter; /* expression; NULL = all */
	struct when from, to;
	const int32_t *follow; /* thread ids; none = all */
	size_t follow_count;
	bool children;	  /* and the threads that these make from then on */
	const char *cpus; /* "0,2-5"; NULL = all */
	bool state;	  /* lines have the control-flow stack of their thread */
	/* Called once as that of struct load_opts (ask/loaded.h); NULL: code that another tracer left has no names. */
	void (*code)(struct trace *trace);
};

int line_reader_open(const char *path, const struct line_choice *choice,
		     struct line_reader **out_reader, struct err *err);
void line_reader_close(struct line_reader *reader);

/* What values are asked with. Its memory is this reader's. */
const struct value_context *line_reader_context(const struct line_reader *reader);
const struct facts *line_reader_facts(const struct line_reader *reader);

/* The window, ns on the trace clock. */
void line_reader_window(const struct line_reader *reader, uint64_t *out_from_ns,
			uint64_t *out_to_ns);

/*
 * Begin at 'from_ns', within the window. Lines before it count neither for the delta of
 * the first one. Called once by line_reader_open().
 */
int line_reader_seek(struct line_reader *reader, uint64_t from_ns, struct err *err);

/*
 * Begin again, for who asks the lines for nothing but the kind of event, CPU and thread: what that
 * does not need is left out where it can be. Returns 0 or a negative errno with err filled.
 */
int line_reader_heads(struct line_reader *reader, struct err *err);

/*
 * From here on look at no more than 'count' events, and those of the same time: then it ends, and
 * line_reader_is_spent() gives the time from which on events were not looked at. 0 = no limit.
 */
void line_reader_limit(struct line_reader *reader, uint64_t count);
bool line_reader_is_spent(const struct line_reader *reader, uint64_t *out_ns);

/*
 * The next line: 1 and *out_line, whose views are valid until the next call; 0 at the end.
 * Holes in the recording are lines whatever the filter says, unless it names them.
 */
int line_reader_next(struct line_reader *reader, struct value_line *out_line, struct err *err);

#endif

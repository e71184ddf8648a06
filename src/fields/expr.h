/*
 * expr.h - filter expressions over the lines of the list.
 *
 *	expression  and, or, not (&& || !), parentheses
 *	EVENT                  "sched_switch", "sched:*": events of that name
 *	EVENT: expression      the same, and what follows
 *	NAME                   it is there and not 0
 *	NAME OP VALUE          OP: == != < <= > >=, ~ and !~ for globs, =~ for regular expressions
 *	NAME & MASK            some of these bits are set; NAME & MASK == VALUE
 *
 * A NAME is what value.h says. A VALUE is a number (12, 0x1f, -1; 5ms is ns, and times without
 * a unit are seconds), a text in quotes, or a word up to a blank. A number is also compared
 * with the words that the event's print format has for it: prev_state == S, vec == TIMER,
 * id == openat.
 *
 * An event without the field matches neither a comparison nor its opposite.
 *
 * Compiled for each kind of event when the first one comes. Used by one thread at a time.
 */
#ifndef FIELDS_EXPR_H
#define FIELDS_EXPR_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct expr;
struct value_context;
struct value_line;

/*
 * Returns 0 and *out_expr (free with expr_free()), or -EINVAL with err filled, which names
 * the place and what is wrong there. 'context' must outlive it.
 */
int expr_new(const char *text, const struct value_context *context, struct expr **out_expr,
	     struct err *err);
void expr_free(struct expr *expr);

bool expr_match(struct expr *expr, const struct value_line *line);

/* Does it ask for this column anywhere? */
bool expr_uses(const struct expr *expr, int column);

/* Does it name this event? ("lost_events") */
bool expr_names(const struct expr *expr, const char *event);

#endif

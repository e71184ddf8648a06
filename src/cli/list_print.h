/*
 * list_print.h - a line of holdup list as text or JSON.
 *
 * Read-only once made: any number of threads may print with it, each with its own
 * list_scratch and outbuf.
 */
#ifndef CLI_LIST_PRINT_H
#define CLI_LIST_PRINT_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct list_print;
struct list_scratch;
struct outbuf;
struct stacks;
struct value_context;
struct value_line;
struct value_name;

struct list_print_opts {
	const char *fields; /* "time,comm,bytes"; NULL = the usual columns */
	bool json;
	bool place; /* the usual columns and the place of the record */
	bool state; /* and the control-flow stack */
	const struct stacks
		*stacks; /* and of a switch the stack of the wait that begins; NULL = not */
};

int list_print_new(const struct value_context *context, const struct list_print_opts *opts,
		   struct list_print **out_print, struct err *err);
void list_print_free(struct list_print *print);

/* The line above all: what the columns are. Nothing for JSON. */
void list_print_head(const struct list_print *print, struct outbuf *out);

/* Texts made before, of one thread. 'context' must outlive it. */
struct list_scratch *list_scratch_new(const struct value_context *context);
void list_scratch_free(struct list_scratch *scratch);

void list_print_line(const struct list_print *print, struct list_scratch *scratch,
		     const struct value_line *line, struct outbuf *out);

/*
 * Split "a,b,c" into names. Returns 0, or -EINVAL with err filled. Free the array and
 * each name.
 */
int list_names(const struct value_context *context, const char *text,
	       struct value_name ***out_names, size_t *out_count, struct err *err);
void list_names_free(struct value_name **names, size_t count);

#endif

/*
 * list_pipe.h - lines to a descriptor, in their order, printed by several threads.
 *
 *	reader ── copies of lines ──▶ pieces ── printed by workers ──▶ written in order
 *
 * The first lines are printed by the caller; workers start when there are many. The
 * output is the same with and without them.
 */
#ifndef CLI_LIST_PIPE_H
#define CLI_LIST_PIPE_H

#include <stdint.h>

struct err;
struct list_pipe;
struct list_print;
struct value_context;
struct value_line;

/* 'print' and 'context' must outlive it; 'fd' stays the caller's. */
struct list_pipe *list_pipe_new(const struct list_print *print, const struct value_context *context,
				int fd);

/* Let at most 'count' threads print; 0 = only the caller. The default fits the machine. */
void list_pipe_set_threads(struct list_pipe *pipe, uint32_t count);

/* Print a line. Returns 0, or a negative errno when an earlier one could not be written. */
int list_pipe_put(struct list_pipe *pipe, const struct value_line *line);

/* Write what is left and free it. Returns 0, or what writing failed with. NULL is fine. */
int list_pipe_finish(struct list_pipe *pipe, struct err *err);

#endif

/*
 * list_stack.h - the stack of the wait that an event of holdup list begins.
 */
#ifndef CLI_LIST_STACK_H
#define CLI_LIST_STACK_H

#include <stdint.h>

struct event;
struct outbuf;
struct stacks;

/* Of a switch away from a thread that goes to sleep: where it waits from then on. STACK_NONE = that is not known. */
uint32_t list_stack_of(const struct stacks *stacks, const struct event *event);

/* A frame a line, behind the line of the event. Nothing for STACK_NONE. */
void list_stack_put(const struct stacks *stacks, uint32_t stack, struct outbuf *out);

/* An array of frames; "null" for STACK_NONE. */
void list_stack_put_json(const struct stacks *stacks, uint32_t stack, struct outbuf *out);

#endif

/* read_on.h - read a part of a trace that grows, for a bounded time. */
#ifndef ASK_READ_ON_H
#define ASK_READ_ON_H

#include <stdint.h>

struct err;
struct event;
struct trace;

/*
 * Events of [*from, until), until the CLOCK_MONOTONIC time 'stop_ns'; *from becomes where the next one begins. What
 * happened in one instant is read in one go. Returns 0, or negative with err filled.
 */
int read_on(struct trace *trace, uint64_t *from_ns, uint64_t until_ns, uint64_t stop_ns,
	    void (*each)(void *context, const struct event *event), void *context, struct err *err);

#endif

/*
 * lock_decode.h - an event of libholdup-locks, as any trace has it, into EV_USER_LOCK.
 *
 * By the names of its fields; what they are called in each kind of event is looked up once.
 */
#ifndef ASK_LOCK_DECODE_H
#define ASK_LOCK_DECODE_H

#include <stdbool.h>

struct event;
struct lock_decode;
struct printer;
struct value_line;

/* 'printer' must outlive it. */
struct lock_decode *lock_decode_new(const struct printer *printer);
void lock_decode_free(struct lock_decode *decode); /* NULL is fine */

/* False: it is about no lock. What *out_event points to is valid until the next call. */
bool lock_decode(struct lock_decode *decode, const struct value_line *line,
		 struct event *out_event);

#endif

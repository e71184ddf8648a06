/* learn_feed.h - the events of a trace, by key, for the learning of analyse/check/learn.h. */
#ifndef ASK_LEARN_FEED_H
#define ASK_LEARN_FEED_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct learn;
struct timeline;
struct trace;

struct learn_wants {
	/* Names of events, with * and ?; "syscall:NAME"; none = those of programs themselves. */
	const char *const *events;
	size_t event_count;
	const char *key; /* thread, process, cpu, all, or a field, as in a model */
};

/*
 * Read the whole trace. 'timeline': for the key "process"; else NULL. Returns 0, or negative with
 * err filled.
 */
int learn_feed_trace(struct trace *trace, const struct timeline *timeline,
		     const struct learn_wants *wants, struct learn *learn, struct err *err);

#endif

/*
 * events.h - which kernel events are recorded.
 *
 * The sets "core", "lean" and "full" are tables of what the analyses use; a list names
 * events by hand. "lean" is "core", and the call that a thread blocks in, which a BPF program tells. An event that this kernel does not have is left out and noted
 * by name; one that the user asked for and that nobody knows is an error.
 */
#ifndef RECORD_EVENTS_H
#define RECORD_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "event/steps.h"

struct err;
struct manifest;

/* Zero-initialised memory is an empty set. */
struct event_set {
	char **names; /* "system:event"; owned, each once */
	size_t count;
	size_t cap;
	bool is_lean; /* "lean" was chosen: BPF tells the rest */
};

void event_set_fini(struct event_set *set);

/* Add an event that is known to exist; one that is there already is not added again. */
void event_set_add(struct event_set *set, const char *system, const char *event);

/* Do the tables have events of this system? Then nothing else may be called so in a trace. */
bool events_has_system(const char *system);

/* The name, which may hold wildcards, of the i-th event in the tables; NULL behind the last. */
const char *events_table_name(size_t i);

bool event_set_has(const struct event_set *set, const char *name);

/*
 * Choose events. 'wish' is "core", "lean", "full", NULL for "full", or a comma-separated
 * list of these, of systems, of "system:event" and of event names, with * and ? as
 * wildcards; what the state engine needs is always added. 'tracing_fd' is a
 * directory that holds events/. What is left out goes to manifest->missing.
 * Returns 0, or a negative errno with err filled:
 *   -EINVAL   a name of the list is unknown; err lists names close to it,
 *   -ENOTSUP  the kernel does not have an event without which nothing works.
 */
int event_set_choose(struct event_set *set, int tracing_fd, const char *wish,
		     struct manifest *manifest, struct err *err);

/*
 * Switch the events on in an instance and list them in manifest->events. One that
 * the kernel refuses goes to manifest->missing. Returns 0, or a negative errno with err filled when
 * a needed one is refused.
 */
int event_set_enable(const struct event_set *set, int instance_fd, struct manifest *manifest,
		     struct err *err);

/* Which step of a budget is the last one that records this event of the set. */
enum record_step events_last_step(const char *name);

/* Switch one event of an instance on or off. Returns 0, or a negative errno with err filled. */
int events_switch(int instance_fd, const char *name, bool on, struct err *err);

/*
 * Record the kernel stack whenever a thread blocks. Returns false, with a note in
 * manifest->missing, where the kernel cannot.
 */
bool events_enable_stacks(int instance_fd, struct manifest *manifest);

#endif

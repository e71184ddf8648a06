/*
 * memory_event.h - the kernel's events of memory that a thread frees or moves before it may go on, and of
 * the pauses of those who write faster than a device does.
 */
#ifndef EVENT_MEMORY_EVENT_H
#define EVENT_MEMORY_EVENT_H

#include <stdbool.h>

struct event;

enum memory_kind {
	MEMORY_OTHER,	   /* no such event */
	MEMORY_MACHINE,	   /* reclaim: the machine has too little */
	MEMORY_CGROUP,	   /* reclaim: a cgroup has as much as it may */
	MEMORY_NODE,	   /* reclaim: so has a node of the machine */
	MEMORY_COMPACTION, /* memory is moved: there is no free piece that is large enough */
	MEMORY_DIRTY,	   /* a writer may be told to pause: it has no end of its own */
};

struct memory_event {
	const char *system;
	const char *name;
	enum memory_kind kind;
	bool is_end;
};

/* NULL: an event of another kind. Only events of EV_OTHER are asked about. */
const struct memory_event *memory_event_of(const struct event *event);

#endif

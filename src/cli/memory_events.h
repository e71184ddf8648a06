/* memory_events.h - the spans of reclaim and compaction of a trace. */
#ifndef CLI_MEMORY_EVENTS_H
#define CLI_MEMORY_EVENTS_H

struct err;
struct loaded;
struct memory_spans;
struct moved;

/*
 * Read the events of the trace at 'path', unless it is known that these were not recorded. Returns
 * 0, or a negative errno with err filled. The source of the trace stands somewhere afterwards.
 */
int memory_events_read(const struct loaded *loaded, const char *path,
		       struct memory_spans *out_spans, struct err *err);

/* The same with who was moved asleep; all events are read. */
int memory_events_moved(const struct loaded *loaded, const char *path,
			struct memory_spans *out_spans, struct moved *out_moved, struct err *err);

#endif

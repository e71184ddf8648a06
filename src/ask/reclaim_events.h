/* reclaim_events.h - the spans of reclaim and compaction of a trace. */
#ifndef ASK_RECLAIM_EVENTS_H
#define ASK_RECLAIM_EVENTS_H

struct err;
struct loaded;
struct memory_spans;
struct moved;

/*
 * Read the events of the trace at 'path', unless it is known that these were not recorded. Returns
 * 0, or a negative errno with err filled. The source of the trace stands somewhere afterwards.
 */
int reclaim_spans_read(const struct loaded *loaded, const char *path,
		       struct memory_spans *out_spans, struct err *err);

/* The same with who was moved asleep; all events are read. */
int reclaim_spans_moved(const struct loaded *loaded, const char *path,
			struct memory_spans *out_spans, struct moved *out_moved, struct err *err);

#endif

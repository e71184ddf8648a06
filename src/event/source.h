/*
 * source.h - a stream of events in time order, wherever they come from.
 *
 * Readers in read/ implement it; analyses only see this. Tests implement it over
 * an array. This is the seam between file formats and meaning.
 *
 *	const struct event *ev;
 *	int rc;
 *
 *	while ((rc = source_next(src, &ev, err)) > 0)
 *		use(ev);
 *	if (rc < 0)
 *		return err_wrap(err, "reading events");
 */
#ifndef EVENT_SOURCE_H
#define EVENT_SOURCE_H

#include <stdint.h>

struct err;
struct event;
struct source;

struct source_ops {
	int (*next)(struct source *src, const struct event **out_event, struct err *err);
	int (*seek)(struct source *src, uint64_t time_ns, struct err *err);
	void (*close)(struct source *src);
};

/* First member of every reader's own struct. */
struct source {
	const struct source_ops *ops;
};

/*
 * Fetch the next event. Returns 1 with *out_event set, 0 at the end, negative on
 * failure with err filled. Time never goes back from one event to the next.
 * A hole in the recording is itself an event, EV_LOST: it is never skipped.
 * The event and what it points to are valid until the next call on 'src'.
 */
static inline int source_next(struct source *src, const struct event **out_event, struct err *err)
{
	return src->ops->next(src, out_event, err);
}

/*
 * Move so that the next event is the first at or after 'time_ns'. 0 rewinds.
 * Returns 0, or negative with err filled and the position unchanged.
 * Cost: O(log packets) plus decoding one packet per CPU.
 */
static inline int source_seek(struct source *src, uint64_t time_ns, struct err *err)
{
	return src->ops->seek(src, time_ns, err);
}

/* Free the source. NULL is fine. */
static inline void source_close(struct source *src)
{
	if (src)
		src->ops->close(src);
}

#endif

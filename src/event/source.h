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

#include <stddef.h>
#include <stdint.h>

struct err;
struct event;
struct source;

/* Events in order. */
struct event_run {
	const struct event *const *events;
	size_t count;
	const struct event *one; /* room for a run of one */
};

struct source_ops {
	int (*next)(struct source *src, const struct event **out_event, struct err *err);
	int (*seek)(struct source *src, uint64_t time_ns, struct err *err);
	void (*close)(struct source *src);
	/* May be NULL: a run is then one event of next(). */
	int (*next_run)(struct source *src, struct event_run *out_run, struct err *err);
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
 * Fetch many at once: as source_next(), and *out_run has at least one event, all of them
 * valid until the next call on 'src'. The two can be mixed: no event comes twice.
 */
static inline int source_next_run(struct source *src, struct event_run *out_run, struct err *err)
{
	int rc;

	if (src->ops->next_run)
		return src->ops->next_run(src, out_run, err);
	rc = src->ops->next(src, &out_run->one, err);
	out_run->events = &out_run->one;
	out_run->count = rc > 0;
	return rc;
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

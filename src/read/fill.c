/* fill.c - the part that all sources which fill in events have in common. */
#include "read/fill.h"

#include <stddef.h>

#include "event/event.h"

static void fill_in(struct fill *fill, const struct event *event)
{
	fill->ops->event(fill, (struct event *)(uintptr_t)event);
}

static int fill_next(struct source *source, const struct event **out_event, struct err *err)
{
	struct fill *fill = (struct fill *)source;
	int rc;

	if (fill->pending) {
		*out_event = fill->pending;
		fill->pending = NULL;
		return 1;
	}
	rc = source_next(fill->inner, out_event, err);
	if (rc > 0)
		fill_in(fill, *out_event);
	return rc;
}

static int fill_next_run(struct source *source, struct event_run *out_run, struct err *err)
{
	struct fill *fill = (struct fill *)source;
	int rc;

	if (fill->pending) {
		out_run->one = fill->pending;
		out_run->events = &out_run->one;
		out_run->count = 1;
		fill->pending = NULL;
		return 1;
	}
	rc = source_next_run(fill->inner, out_run, err);
	for (size_t i = 0; rc > 0 && i < out_run->count; i++)
		fill_in(fill, out_run->events[i]);
	return rc;
}

static int fill_seek(struct source *source, uint64_t time_ns, struct err *err)
{
	struct fill *fill = (struct fill *)source;
	uint64_t from_ns = time_ns > fill->warm_ns ? time_ns - fill->warm_ns : 0;
	const struct event *event;
	int rc = source_seek(fill->inner, from_ns, err);

	if (rc < 0)
		return rc;
	fill->pending = NULL;
	fill->ops->forget(fill);
	if (time_ns == 0)
		return 0;
	while ((rc = source_next(fill->inner, &event, err)) > 0) {
		fill_in(fill, event);
		if (event->time_ns >= time_ns) {
			fill->pending = event;
			return 0;
		}
	}
	return rc;
}

static void fill_close(struct source *source)
{
	struct fill *fill = (struct fill *)source;

	fill->ops->free(fill);
}

static const struct source_ops fill_source_ops = {
	.next = fill_next,
	.seek = fill_seek,
	.close = fill_close,
	.next_run = fill_next_run,
};

void fill_init(struct fill *fill, struct source *inner, uint64_t warm_ns,
	       const struct fill_ops *ops)
{
	fill->source.ops = &fill_source_ops;
	fill->inner = inner;
	fill->warm_ns = warm_ns;
	fill->ops = ops;
	ops->forget(fill);
}

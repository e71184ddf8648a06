/*
 * fill.h - a source around another one that fills in what its events do not say.
 *
 * What is filled in is learnt from the events before: so a seek begins earlier, and the first
 * event at or after the time waits for the next call.
 */
#ifndef READ_FILL_H
#define READ_FILL_H

#include <stdint.h>

#include "event/source.h"

struct event;
struct fill;

struct fill_ops {
	/* Learn from an event, or change it: the cells of a merge are ours until the next call. */
	void (*event)(struct fill *fill, struct event *event);
	void (*forget)(struct fill *fill); /* nothing is known any more */
	void (*free)(struct fill *fill);
};

/* First member of whoever fills in. */
struct fill {
	struct source source;
	struct source *inner; /* not owned */
	const struct fill_ops *ops;
	uint64_t warm_ns;	     /* a seek begins so much earlier */
	const struct event *pending; /* the first one after a seek */
};

/* Make fill->source usable, and forget everything. It is freed with source_close(). */
void fill_init(struct fill *fill, struct source *inner, uint64_t warm_ns,
	       const struct fill_ops *ops);

#endif

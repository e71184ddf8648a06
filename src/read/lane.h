/*
 * lane.h - one stream of events before it is merged with the others.
 *
 * A lane hands out its events in runs, so that another thread can decode ahead. It
 * is used by one thread at a time. Time never goes back within a lane.
 */
#ifndef READ_LANE_H
#define READ_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "read/read.h"

#define BATCH_NOTES	 4
#define BATCH_NOTE_BYTES 200

/* Damage that was met while a batch was filled. */
struct batch_note {
	uint64_t place; /* grows along the lane, so that nothing is noted twice */
	char text[BATCH_NOTE_BYTES];
};

/* Bytes that the events of some batches of one lane are views into. */
struct chunk {
	struct chunk *next; /* a spare one: the next of these */
	uint32_t uses;	    /* batches, and the lane itself while it reads on in it */
	uint8_t bytes[];
};

/*
 * An event on cache lines of its own, since one thread writes it and another reads it. Most
 * kinds of events fit on the first line; the second is then never touched.
 */
struct cell {
	struct event event;
	struct trace_record record; /* when the lane keeps records; no data = it has none */
} __attribute__((aligned(64)));

/* A run of events. */
struct batch {
	struct cell *
		cells; /* owned; room for BATCH_EVENTS, in pages of its own: most lanes of many are short */
	size_t count;
	size_t max;	     /* as many events as fill() may put: 2 to BATCH_EVENTS */
	struct chunk *chunk; /* what the events are views into; NULL = nothing yet */
	struct batch_note notes[BATCH_NOTES];
	uint32_t note_count;
};

#define BATCH_EVENTS 512u

struct lane;

struct lane_ops {
	/* Replace what is in 'batch' by the next run. False at the end; notes may still come. */
	bool (*fill)(struct lane *lane, struct batch *batch);
	/* Go to where no event at or after 'time_ns' is missed; some before it may come. */
	void (*seek)(struct lane *lane, uint64_t time_ns);
	/* All batches that it filled are gone before. */
	void (*close)(struct lane *lane);
};

/* First member of every kind of lane. */
struct lane {
	const struct lane_ops *ops;
	size_t chunk_bytes;  /* of each chunk */
	struct chunk *spare; /* owned; chunks that nobody uses: at most one for each batch */
	bool keep_records;   /* fill() puts them beside the events */
	bool heads_only;     /* of those that it makes itself the head is enough */
};

/* A chunk with one use. Its bytes are undefined. */
struct chunk *chunk_get(struct lane *lane);

/* End one use. NULL is fine. */
void chunk_put(struct lane *lane, struct chunk *chunk);

/* Free the spare chunks. */
void lane_fini(struct lane *lane);

void batch_init(struct batch *batch);
void batch_fini(struct batch *batch, struct lane *lane);

/* Empty the batch, for fill(). */
void batch_clear(struct batch *batch, struct lane *lane);

/* Note damage; what does not fit is left out. */
void batch_note(struct batch *batch, uint64_t place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif

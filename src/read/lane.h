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

#define BATCH_NOTES	 4
#define BATCH_NOTE_BYTES 200

/* Damage that was met while a batch was filled. */
struct batch_note {
	uint64_t place; /* grows along the lane, so that nothing is noted twice */
	char text[BATCH_NOTE_BYTES];
};

/* A run of events, and the bytes that they are views into. */
struct batch {
	struct event *events; /* owned */
	struct trace_record *records; /* owned; beside the events, when the lane keeps them */
	size_t count;
	size_t max;	/* as many events as fill() may put, from 2 up to the lane's max_events */
	uint8_t *chunk; /* owned */
	struct batch_note notes[BATCH_NOTES];
	uint32_t note_count;
};

struct lane;

struct lane_ops {
	/*
	 * Replace what is in 'batch' by the next run. False at the end; notes may still
	 * come. While 'partial' is set, the next call must get the same batch.
	 */
	bool (*fill)(struct lane *lane, struct batch *batch);
	/* Go to where no event at or after 'time_ns' is missed; some before it may come. */
	void (*seek)(struct lane *lane, uint64_t time_ns);
	void (*close)(struct lane *lane);
};

/* First member of every kind of lane. */
struct lane {
	const struct lane_ops *ops;
	size_t max_events;  /* room that fill() wants in a batch */
	size_t chunk_bytes; /* the same */
	bool partial;	    /* the batch's chunk holds more than what was put */
	bool keep_records;  /* batches have room for them, and fill() puts them */
};

void batch_init(struct batch *batch, const struct lane *lane);
void batch_fini(struct batch *batch);

/* Note damage; what does not fit is left out. */
void batch_note(struct batch *batch, uint64_t place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif

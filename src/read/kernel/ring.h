/*
 * ring.h - the recorded sub-buffers of one CPU as a lane of events.
 *
 * Pages are read with pread(), a chunk at a time: a file that shrinks under us costs
 * its end, never a signal. A page that cannot be right is left out and noted; events
 * lost for whatever reason come as EV_LOST.
 */
#ifndef READ_KERNEL_RING_H
#define READ_KERNEL_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct facts;
struct kernel_events;
struct lane;
struct page_layout;
struct record;
struct ring;

/* What all rings of a recording share; must live as long as they do. */
struct ring_common {
	const struct page_layout *layout;
	const struct kernel_events *events;
	const struct clock *clock;
	uint64_t first_ns; /* recording began */
	uint64_t limit_ns; /* no event can be later */
	uint64_t end_ns;   /* recording ended; 0 = unknown */
	bool keep_open;	   /* few files: their descriptors may stay open */
};

/* What is told about one CPU's file from outside. */
struct ring_claim {
	uint32_t cpu;
	uint64_t bytes;	     /* that it should have; 0 = unknown */
	uint64_t lost;	     /* events lost on this CPU, by the kernel's count */
	bool count_lost;     /* look through all pages for what they tell; else only at the end */
	bool unfinished;     /* more came than what is in the file, nobody knows how much */
	bool growing;	     /* it is being written: its end is no loss */
	uint64_t place_base; /* added to the places of records */
	const char *origin;  /* see struct trace_record; must live as long as the ring */
	const char *calls;   /* file of the calls that threads block in; NULL = there is none */
	int32_t calls_id;    /* number of their format */
};

/* Pages that do not stand in a file of their own. */
struct ring_bytes {
	/* Read up to 'bytes' at 'offset'; returns how many there were. */
	size_t (*read)(struct ring_bytes *from, uint64_t offset, void *buffer, size_t bytes);
	/* May be NULL: the first offset at or behind 'offset' that is no hole in a sparse file. */
	uint64_t (*behind_hole)(struct ring_bytes *from, uint64_t offset);
	void (*close)(struct ring_bytes *from);
	uint64_t bytes; /* all of them */
};

/*
 * Open the ring file at 'path'. Damage is noted in 'facts', whose cpus[claim->cpu] is
 * filled. Always gives a ring: of a missing file, an empty one. Free it through its
 * lane's close().
 */
struct ring *ring_open(const char *path, const struct ring_common *common,
		       const struct ring_claim *claim, struct facts *facts);

/* The same of 'from', which the ring owns; 'name' is what messages call it. */
struct ring *ring_open_bytes(const char *name, struct ring_bytes *from,
			     const struct ring_common *common, const struct ring_claim *claim,
			     struct facts *facts);

struct lane *ring_lane(struct ring *ring);

/* Time of the first and last event, ns. False when there is none. O(pages without events). */
bool ring_span(struct ring *ring, uint64_t *out_first_ns, uint64_t *out_last_ns);

/* common->events was replaced: use the new ones from the next event on. */
void ring_renew(struct ring *ring);

uint32_t ring_cpu(const struct ring *ring);

/* The time of the record whose data is at byte 'place', without its base. False: there is none. */
bool ring_time_at(struct ring *ring, uint64_t place, uint64_t *out_ns);

/*
 * Call 'visit' for every record at or after 'from_ns', in order, until it returns
 * false. The lane is at its first event after it.
 */
void ring_walk(struct ring *ring, uint64_t from_ns,
	       bool (*visit)(void *context, const struct record *record, uint64_t time_ns),
	       void *context);

#endif

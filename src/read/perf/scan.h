/*
 * scan.h - one pass over all records: where they are in order of time.
 *
 * perf empties the buffer of one CPU after the other, again and again. So a file is a row of
 * runs, each in order; runs of one round overlap in time:
 *
 *	file    | cpu 0: 1..9 | cpu 1: 2..8 | round | cpu 0: 10..19 | cpu 1: 9..20 | round
 *	chains  0: [1..9] [10..19]      1: [2..8] [9..20]
 *
 * Runs are put behind each other into as few chains as can be, each in order of time, and the
 * chains are merged when they are read. Nothing is sorted or kept but one entry for each run, so
 * memory does not depend on how much perf wrote in a round; and an entry for each MiB of a long
 * run is what seeking needs. What perf notes as the ends of rounds is not used.
 */
#ifndef READ_PERF_SCAN_H
#define READ_PERF_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "read/perf/attr.h"

struct err;
struct event;
struct perf_file;
struct perf_stacks;

struct perf_extent {
	uint64_t first_ns;
	uint64_t offset; /* in the part of the file */
	uint32_t bytes;
	uint32_t part;
};

struct perf_chain {
	struct perf_extent *extents; /* owned */
	size_t count, cap;
};

/* What a LOST record does not tell itself. */
struct perf_hole {
	uint64_t since_ns; /* 0 = nothing was there before */
	uint16_t cpu;
};

#define PERF_PLACE_SHIFT 48 /* place of a record: part, and byte in it */

struct perf_scan {
	struct perf_file *file;	   /* not owned */
	struct perf_chain *chains; /* owned */
	uint64_t *last_ns;	   /* owned; of each chain */
	size_t chain_count, chain_cap;
	uint64_t begin_ns, end_ns;	 /* first and last event; 0 = there is none */
	uint64_t counts[PERF_ALL_TYPES]; /* records by type */
	struct map holes;		 /* place: index of holes */
	struct perf_hole *hole_items;	 /* owned */
	size_t hole_count, hole_cap;
	struct event *tail; /* owned; EV_LOST behind what was recorded, by CPU */
	size_t tail_count;
	uint64_t round_samples; /* before the end of the last round: perf wrote all CPUs' buffers */
	uint64_t untimed;	/* samples without a time */
	uint64_t unplaced;	/* samples of which nothing tells the CPU */

	struct perf_stacks *stacks; /* owned; call chains */

	/* The rest is of the pass itself. */
	bool wants_stacks;
	size_t current;	       /* chain that the last record went to; SIZE_MAX = none */
	uint16_t cpu;	       /* of the last record */
	uint64_t skip;	       /* bytes before the next record */
	uint64_t *cpu_last_ns; /* owned */
	size_t *cpu_chain;     /* owned; plus 1 */
	uint64_t *cpu_events;  /* owned */
	uint64_t *cpu_bytes;   /* owned */
	uint64_t *cpu_lost;    /* owned; that LOST records tell */
	uint64_t *cpu_summed;  /* owned; lost, as perf added up at its end */
	size_t cpu_count;
	struct map threads; /* tid: index in the facts */
	size_t thread_cap;
	uint64_t strangers; /* records of no known event */
	uint64_t short_ones;
	uint64_t late_ones;    /* records of a time that no clock shows */
	uint64_t strange_ones; /* of a type or length that perf does not write */
	uint64_t lost_summed;  /* samples lost, as perf itself added up, CPU not told */
	uint64_t may_keep;     /* so many more runs, holes, threads and names */
	bool kept_all;	       /* none was one too many */
	bool stop;
};

/*
 * Read all records of 'file'; facts are filled. Parts may be added to the file. Damage is noted:
 * what is before it can be read. Returns 0 or a negative errno with err filled.
 */
int perf_scan_run(struct perf_scan *scan, struct perf_file *file, struct err *err);
void perf_scan_fini(struct perf_scan *scan);

/*
 * The event that a record is of and where it was. False: it is none with a time, and is passed
 * over by who reads.
 */
bool perf_scan_where(const struct perf_attrs *attrs, const struct perf_record *record,
		     const struct perf_attr **out_attr, struct perf_where *out_where);

/*
 * May one more thing be kept in memory? There are as many as a file of this size can have: a
 * small one that unpacks to a large one does not fill the memory.
 */
bool perf_scan_may_keep(struct perf_scan *scan);

/* Make room for what is known of a CPU. */
void perf_scan_need_cpu(struct perf_scan *scan, uint16_t cpu);

#endif

/*
 * event.h - one record of perf to events.
 *
 * Tracepoints are decoded as those of any other tracer. Records with a meaning for threads
 * (a name, a birth, an end, a switch) become the events that say so, unless a tracepoint of the
 * recording tells the same; all others are EV_OTHER.
 */
#ifndef READ_PERF_EVENT_H
#define READ_PERF_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "read/perf/attr.h"
#include "read/perf/kinds.h"

struct cell;
struct decode_table;
struct kernel_events;
struct perf_file;
struct perf_scan;

struct perf_decoder {
	const struct perf_file *file;
	const struct perf_scan *scan;
	const struct kernel_events *events;
	const struct decode_table *table;
	struct perf_kinds kinds;
	bool swap;
	bool tells_switches, tells_births, tells_ends, tells_names,
		tells_execs; /* tracepoints do */
};

#define PERF_MAX_EVENTS 2u /* out of one record */
#define PERF_MAX_COPY	(2 * PERF_COPY_MAX)

struct perf_put {
	struct cell *cells; /* room for PERF_MAX_EVENTS */
	uint32_t count;
	uint8_t *room; /* for PERF_MAX_COPY bytes; NULL: records are not kept */
	uint32_t used; /* of it */
	uint64_t place;
};

/* 'file' is scanned. */
void perf_decoder_init(struct perf_decoder *decoder, const struct perf_scan *scan,
		       const struct kernel_events *events);

/* Records one behind the other, and where their events go. */
struct perf_samples {
	const uint8_t *data;
	uint32_t bytes;
	uint64_t place;	    /* of the first one */
	uint64_t last_ns;   /* no event is before it; in the end that of the last one */
	struct cell *cells; /* room for 'max' */
	uint32_t max;
	uint32_t count;	   /* events made, in the end */
	bool keep_records; /* beside the events */
};

/*
 * Decode tracepoints whose data stands at a fixed place, which nearly all records of a large
 * recording are, up to the first that is something else or not as it should be: that one is for
 * perf_decode(). Returns how many bytes were decoded.
 */
uint32_t perf_decode_samples(const struct perf_decoder *decoder, struct perf_samples *samples);

/*
 * Decode. put->count is 0 for a record that is no event. Returns NULL, or what is wrong with the
 * record.
 */
const char *perf_decode(const struct perf_decoder *decoder, const struct perf_record *record,
			struct perf_put *put);

#endif

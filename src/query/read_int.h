/*
 * read_int.h - what the files behind include/holdup/read.h share.
 *
 *	trace.c      open, rebuild, what is known of a recording
 *	threads.c    threads and processes
 *	states.c     states as numbers and in words
 *	intervals.c  what was when: states, CPUs, columns
 *	waits.c      waits, wake-ups, actors
 *	sums.c       totals
 *	why.c        what held a thread up: ask/explain.h
 *	locks.c      locks: ask/locks.h
 */
#ifndef QUERY_READ_INT_H
#define QUERY_READ_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ask/loaded.h"
#include "ask/beside.h"
#include "base/err.h"
#include "base/names.h"
#include "holdup/read.h"
#include "timeline/timeline.h"

struct hr_trace {
	struct loaded loaded;
	char *path; /* owned; NULL = not opened from a path (tests) */
	struct hr_options options;
	struct beside beside; /* what programs told; read with the first question */
	bool has_beside;
	struct names texts;  /* words that were given out */
	struct err err;	     /* of the last call that failed */
	uint32_t generation; /* how often the index was built again */
};

/* A trace out of what is loaded; takes it over. */
struct hr_trace *read_trace_new(const struct loaded *loaded);

/*
 * The checks below return 0, or a negative errno with trace->err filled.
 */

/* 'thread' is one, 'cpu' is one, and the index is not known to be damaged. */
int read_check_thread(struct hr_trace *trace, uint32_t thread);
int read_check_cpu(struct hr_trace *trace, uint32_t cpu);

/* After a query: the index was not damaged where it looked. */
int read_check_damage(struct hr_trace *trace);

/* Of a cursor: nothing was built again since it was made. */
int read_check_generation(struct hr_trace *trace, uint32_t generation);

/* Cut a window to the recording; it may be empty then. */
int read_cut_window(struct hr_trace *trace, uint64_t *start_ns, uint64_t *end_ns);

/*
 * Whether the caller's struct, of 'bytes' in this version, has a struct_size of which something
 * can be made. 'trace' may be NULL.
 */
int read_check_size(struct hr_trace *trace, const void *out, size_t bytes);

/* That, and that there is a row 'index' of 'count'. */
int read_check_row(struct hr_trace *trace, const void *out, size_t bytes, uint32_t index,
		   size_t count);

/* Fill as much of the caller's struct as it has; what it has more is cleared. */
void read_give(void *out, const void *from, size_t bytes);

/* Keep a heap string, which is taken over, as long as the trace. */
const char *read_keep(struct hr_trace *trace, char *text);

/* Text that may be missing. */
static inline const char *read_text(const char *text)
{
	return text ? text : "";
}

/* A state word of the timeline as a state of the API; 'sum': without its CPU. */
uint64_t state_of_word(uint32_t word, bool sum);

#endif

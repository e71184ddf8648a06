/*
 * load.h - open a trace with its timeline, and find a window in it.
 *
 * The timeline comes from the index beside the trace (timeline/index.h); where there is
 * none, or an old one, it is built first, with progress on a terminal. A trace that must
 * not be written to has its index in the cache: $XDG_CACHE_HOME/holdup, else
 * ~/.cache/holdup; where that cannot be written either, in a temporary file.
 */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct facts;
struct timeline;
struct trace;
struct when;

struct loaded {
	struct trace *trace;	   /* owned */
	const struct facts *facts; /* of the trace */
	struct timeline *timeline; /* owned */
	char *note;		   /* owned; what the user should know of the index, or NULL */
	bool built;		   /* the index was not there */
	bool kept;		   /* it is there for the next time */
};

enum load_flag {
	LOAD_REBUILD = 1 << 0,	 /* even if the index is there and fits */
	LOAD_MUST_KEEP = 1 << 1, /* fail when there is no place where the index can stay */
};

/* Returns 0, or negative with err filled, as read_open() and index_commit() report. */
int load_trace(const char *path, uint32_t flags, struct loaded *out_loaded, struct err *err);
void loaded_fini(struct loaded *loaded);

/*
 * The moment of 'when', looked for at or after 'from_ns' when it is an event; 'otherwise' when
 * it was not given.
 */
int load_moment(struct loaded *loaded, const struct when *when, uint64_t from_ns,
		uint64_t otherwise, uint64_t *out_ns, struct err *err);

/* The same of a trace without its timeline. */
int load_find(struct trace *trace, const struct when *when, uint64_t from_ns, uint64_t otherwise,
	      uint64_t *out_ns, struct err *err);

/* The window of --from and --to; what was not given is where the recording begins or ends. */
int load_window(struct loaded *loaded, const struct when *from, const struct when *to,
		uint64_t *out_start_ns, uint64_t *out_end_ns, struct err *err);

#endif

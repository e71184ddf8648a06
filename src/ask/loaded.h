/*
 * loaded.h - a trace with its timeline.
 *
 * The timeline comes from the index beside the trace (timeline/index.h); where there is
 * none, or an old one, it is built first. A trace that must not be written to has its
 * index in the cache: $XDG_CACHE_HOME/holdup, else ~/.cache/holdup; where that cannot be
 * written either, in a temporary file.
 *
 * Nothing here prints. One thread at a time for one struct loaded.
 */
#ifndef ASK_LOADED_H
#define ASK_LOADED_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct facts;
struct timeline;
struct trace;

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
	LOAD_TEMPORARY = 1 << 2, /* what is built goes to a temporary file only */
	LOAD_NO_BUILD = 1 << 3,	 /* build nothing: -ENOENT when there is no index that fits */
};

struct load_opts {
	uint32_t flags; /* enum load_flag */
	/*
	 * Called now and then while the index is built: 'done_ns' of 'whole_ns' of the recording
	 * are read. May be NULL.
	 */
	void (*progress)(void *context, uint64_t done_ns, uint64_t whole_ns);
	/*
	 * Called once when another one has held the lock of the index for 0.3 s. Then it is awaited up
	 * to 5 s in all; the index of this run is made in a temporary file after that. May be NULL.
	 */
	void (*waiting)(void *context, const char *dir);
	/* Called once that is over, whether or not it was called before. May be NULL. */
	void (*over)(void *context);
	/*
	 * Called once for code that another tracer left as addresses in files, or as copies of stacks: give it names. May be NULL; they
	 * are looked up with libdw, so only where the process is nothing but a reader.
	 */
	void (*code)(struct trace *trace);
	void *context;
};

/*
 * Returns 0 with *out_loaded (end it with loaded_fini()), or negative with err filled, as
 * read_open() and index_commit() report.
 */
int loaded_open(const char *path, const struct load_opts *opts, struct loaded *out_loaded,
		struct err *err);

/* Free what it owns. A zeroed one is fine. */
void loaded_fini(struct loaded *loaded);

#endif

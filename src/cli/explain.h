/*
 * explain.h - from a trace on disk to the results of why, without printing.
 */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/memory_spans.h"
#include "cli/app_events.h"
#include "cli/load.h"
#include "cli/target.h"
#include "cli/when.h"

struct err;
struct facts;
struct lock_owners;
struct why;

struct explain_opts {
	struct target_opts target;
	struct when from;
	struct when to;
	uint32_t depth;	  /* of the causality; 0 = default */
	bool want_waits;  /* the causality and what instances say of waits */
	uint32_t classes; /* bits of enum delays_class: only these; 0 = all */
	uint64_t min_ns;  /* waits shorter than this are left out of the causality */
};

struct explained {
	struct loaded loaded;	   /* owned */
	const struct facts *facts; /* the trace's */
	struct why *results;	   /* owned; at least one */
	size_t count;
	size_t cap;
	struct memory_spans memory; /* of reclaim and compaction, where they are asked for */
	char *note;		    /* owned; on window and threads, for the user; NULL = none */
	struct lock_owners *locks;  /* owned; what programs told; NULL = nothing */
	struct app_events told;	    /* owned; at known points */
};

/*
 * Open the trace at 'path' and explain each target. A target that did not live in
 * the window is left out when others did. Returns 0, or a negative errno with err
 * filled and *out_explained untouched.
 */
int explain_trace(const char *path, const struct explain_opts *opts,
		  struct explained *out_explained, struct err *err);

void explained_fini(struct explained *explained);

#endif

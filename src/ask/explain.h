/*
 * explain.h - from a trace on disk to the results of why, without printing.
 */
#ifndef ASK_EXPLAIN_H
#define ASK_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ask/beside.h"
#include "ask/loaded.h"
#include "ask/target.h"
#include "ask/window.h"

struct err;
struct facts;
struct why;
struct why_work;

struct explain_opts {
	struct target_opts target;
	struct when from;
	struct when to;
	uint32_t depth;	       /* of the causality; 0 = default */
	bool want_waits;       /* the causality and what instances say of waits */
	uint32_t classes;      /* bits of enum delays_class: only these; 0 = all */
	uint64_t min_ns;       /* waits shorter than this are left out of the causality */
	struct why_work *work; /* filled with the work that the verdicts charge; NULL = not asked */
	/* Where in time each cause was, to such a part of the window; 0 = not asked. */
	uint32_t span_parts;
	struct load_opts load; /* how the trace is opened; zeroed: in silence */
};

/* Zeroed is empty. */
struct explanation {
	struct why *results; /* owned; at least one */
	size_t count;
	size_t cap;
	char *note; /* owned; on window and threads, for the user; NULL = none */
};

/*
 * Explain each target in a trace that is open, with what it has beside its timeline. A target that
 * did not live in the window is left out when others did. Returns 0 (free with explanation_fini()),
 * or a negative errno with err filled: -ESRCH when there is no such target. The caller looks whether
 * the timeline turned out to be damaged. opts->load is not used.
 */
int explain_loaded(struct loaded *loaded, const struct beside *beside,
		   const struct explain_opts *opts, struct explanation *out_explanation,
		   struct err *err);
void explanation_fini(struct explanation *explanation);

/*
 * Does the trace at 'path' tell when threads ran? 0, or -ENODATA with err filled: then no answer
 * is made up.
 */
int explain_refuse(const char *path, struct err *err);

/* A trace on disk with all that was asked of it. */
struct explained {
	struct loaded loaded;	   /* owned */
	const struct facts *facts; /* the trace's */
	struct beside beside;	   /* owned */
	struct explanation answer; /* owned */
};

/*
 * All of the above, of the trace at 'path': an index that turns out to be damaged is built again,
 * once. Returns 0, or a negative errno with err filled and *out_explained untouched, as
 * explain_refuse(), loaded_open() and explain_loaded() do.
 */
int explain_trace(const char *path, const struct explain_opts *opts,
		  struct explained *out_explained, struct err *err);

void explained_fini(struct explained *explained);

#endif

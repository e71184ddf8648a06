/*
 * model_run.h - a model run over a trace: what check, learn and pictures of models ask.
 *
 * The engine is that of analyse/check/check.h; its events come from check_feed.h.
 */
#ifndef ASK_MODEL_RUN_H
#define ASK_MODEL_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "ask/loaded.h"

struct check;
struct check_feed;
struct err;
struct facts;
struct model;
struct model_errors;
struct trace;

struct model_run_opts {
	struct load_opts load; /* how traces are opened; zeroed: in silence */
	/* What threads did is taken from this trace, recorded on the same clock; NULL = the same. */
	const char *kernel;
	/* Run again where events were lost: where that was is known only in the end. */
	bool minds_holes;
	uint32_t explain; /* so many broken constraints at most are explained; 0 = none */
};

/* Zeroed is empty. */
struct model_run {
	struct loaded loaded; /* owned; with the timeline, when the model asks what threads did */
	struct trace *plain;  /* owned; the trace, when that is not 'loaded' */
	struct loaded
		explained; /* owned; with the timeline that explained, when that is not 'loaded' */
	struct check_feed *feed; /* owned */
	struct check *check;	 /* owned; ended */
};

/*
 * Run 'model', which must outlive it, over the trace at 'path'. Returns 0, -EINVAL with errors filled
 * when a filter of the model is wrong, or negative with err filled; -EIO: an index turned out to be
 * damaged. In any case the caller frees.
 */
int model_run_trace(const char *path, const struct model_run_opts *opts, const struct model *model,
		    struct model_run *out_run, struct model_errors *errors, struct err *err);
void model_run_fini(struct model_run *run);

/* Do these events tell what threads did? */
bool model_run_has_kernel(const struct model_run *run);

/* Of the trace that the model was run over. */
const struct facts *model_run_facts(const struct model_run *run);

/* Of the trace that broken constraints were explained with: the code in their verdicts is of its stacks. */
const struct facts *model_run_why_facts(const struct model_run *run);

#endif

/* measured.h - a model run over a trace, for commands that want what it measured. */
#ifndef CLI_MEASURED_H
#define CLI_MEASURED_H

#include <stdbool.h>

#include "query/loaded.h"

struct check;
struct check_feed;
struct err;
struct model;
struct model_errors;
struct trace;

/* Zeroed is empty. */
struct measured {
	struct loaded loaded; /* owned; with the timeline, when the trace has the kernel's events */
	struct trace *plain;  /* owned; else the trace alone */
	struct check_feed *feed; /* owned */
	struct check *check;	 /* owned; ended */
};

/*
 * Run 'model', which must outlive it, over the trace at 'path'. Returns 0, -EINVAL with errors filled
 * when a filter of the model is wrong, or negative with err filled. In any case the caller frees.
 */
int measured_run(const char *path, const struct model *model, struct measured *out_measured,
		 struct model_errors *errors, struct err *err);
void measured_fini(struct measured *measured);

/* Do these events tell what threads did? */
bool measured_has_kernel(const struct measured *measured);

#endif

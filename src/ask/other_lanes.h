/*
 * other_lanes.h - the lanes of analyse/others/others.h, of a trace of any format.
 *
 * Reads all events once, and once more where programs told of their locks, and once for a model. One
 * thread at a time.
 */
#ifndef ASK_OTHER_LANES_H
#define ASK_OTHER_LANES_H

#include <stdint.h>

#include "ask/loaded.h"

struct check_finding;
struct check_result;
struct err;
struct model;
struct others;
struct trace;

struct other_lanes_opts {
	const struct model *model; /* NULL = none; must live until it is read */
	char *(*reason_of)(const struct check_result *result, const struct check_finding *finding);
	/* Called now and then: so much of the recording is read. May be NULL. */
	void (*progress)(void *context, uint64_t done_ns, uint64_t whole_ns);
	void *context;
};

/* Zeroed is empty. */
struct other_lanes {
	struct loaded loaded;  /* owned; of a trace whose index can be found */
	struct trace *trace;   /* owned; else the trace alone */
	struct others *others; /* owned; ended */
	char *note;	       /* owned; a sentence on what could not be read; NULL = nothing */
};

/* Read the trace at 'path'. Returns 0 (free with other_lanes_fini()), or negative with err filled. */
int other_lanes_read(const char *path, const struct other_lanes_opts *opts,
		     struct other_lanes *out_lanes, struct err *err);
void other_lanes_fini(struct other_lanes *lanes);

#endif

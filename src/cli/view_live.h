/*
 * view_live.h - view of a recording while it is made: one process records, another one answers.
 *
 * The one that answers has given up its rights before it hears of anybody, reads no trace until recording is over, and
 * has lanes out of memory that the recorder writes (view/live.h).
 */
#ifndef CLI_VIEW_LIVE_H
#define CLI_VIEW_LIVE_H

#include "cli/recording.h"

struct err;
struct view_live;

struct view_live_job {
	char **command; /* NULL = the whole system */
	double seconds; /* 0 = to the end of the command, or Ctrl-C */
	struct recording_opts recording;
	/* Serve the trace at 'dir', which is still being recorded; calls 'served' once the address is printed. */
	int (*serve)(void *context, const char *dir, const struct view_live *live,
		     void (*served)(void *of), void *of, struct err *err);
	void *context;
};

/* Returns once the server has ended: 0, or a negative errno with err filled. */
int view_live_run(struct view_live_job *job, struct err *err);

#endif

/*
 * view_live.h - view of a recording while it is made: one process records, another one answers.
 *
 * The one that answers has given up its rights before it hears of anybody, reads no trace until recording is over, and
 * has lanes out of memory that the recorder writes (view/live.h). It prints its address once recording has begun: where
 * that cannot begin, the reason is all that is printed.
 */
#ifndef CLI_VIEW_LIVE_H
#define CLI_VIEW_LIVE_H

#include <stdbool.h>

#include "cli/recording.h"

struct err;
struct view;
struct view_live;

/* What the one that answers tells the other one. */
struct view_live_door {
	bool (*listens)(void *of); /* waits until recording has begun; false: it never will */
	void (*served)(void *of);  /* the address is printed */
	void *of;
};

struct view_live_job {
	char **command; /* NULL = the whole system */
	double seconds; /* 0 = to the end of the command, or Ctrl-C */
	struct recording_opts *recording;
	/* Serve the trace at 'dir', which is still being recorded; calls both of 'door', in this order. */
	int (*serve)(void *context, const char *dir, struct view_live *live,
		     const struct view_live_door *door, struct err *err);
	void *context;
	/* Make a picture of the window for it; NULL = view_live_put(). */
	void (*draw)(struct view_live *live, const struct view *view);
	/*
	 * It has the terminal: the command reads /dev/null, and what it prints is kept in a file without a name and
	 * printed at the end.
	 */
	bool has_terminal;
};

/* Returns once the server has ended: 0, or a negative errno with err filled. */
int view_live_run(const struct view_live_job *job, struct err *err);

#endif

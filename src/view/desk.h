/*
 * desk.h - who answers: three threads, each with the open trace for itself (enum view_clerk).
 *
 *	slow    builds the index first, then verdicts, one after the other
 *	quick   what is drawn, so that panning never waits for a verdict; with a helper (crew.h)
 *	events  single events, out of the trace itself
 *
 * A question is handed in and told of when it is answered. One that the same page has replaced by a
 * newer one of its kind is given up while it waits.
 */
#ifndef VIEW_DESK_H
#define VIEW_DESK_H

#include "ask/loaded.h"
#include "ask/window.h"
#include "view/answer.h"

struct err;
struct model;
struct view_live;
struct view_desk;

struct view_desk_opts {
	const char *path; /* of the trace */
	struct when from, to;
	const struct model *model;    /* run over the trace, for lanes of its own; NULL = none */
	const struct view_live *live; /* the trace is still being recorded; NULL = it is there */
};

/* A question on its way. The caller's, until 'answered' is called. */
struct view_job {
	const char *route;
	const char *query;
	enum view_clerk clerk;
	struct view_answer answer;
	/* Called once, from another thread, or from within view_desk_ask(). */
	void (*answered)(struct view_job *job);
	void *context;
	struct view_job *next; /* the desk's */
};

/* Begin to open the trace. It lives as long as the process. Returns 0, or negative with err filled. */
int view_desk_open(const struct view_desk_opts *opts, struct view_desk **out_desk, struct err *err);

void view_desk_ask(struct view_desk *desk, struct view_job *job);

#endif

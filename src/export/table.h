/*
 * table.h - a recording as rows: intervals, waits with their verdict, wake-ups. Thread by thread,
 * each in order of time; idle tasks are left out.
 */
#ifndef EXPORT_TABLE_H
#define EXPORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/stats/states.h"
#include "analyse/why/why.h"

struct err;
struct export_job;

/* One wait, cut to the window. */
struct table_wait {
	const struct states_span *span;
	struct why_thread who;
	const char *lock;	     /* from the program's own lock events; "" = none told */
	const struct why_root *root; /* of the verdict: the largest; NULL = none */
};

/* What ended a wait that ended in the window. */
struct table_edge {
	uint64_t time_ns;
	uint64_t waited_ns;	/* since the wait began, or the recording */
	struct why_thread from; /* tid 0: hardware, or not known */
	struct why_thread to;
	const struct states_span *span; /* the wait; its words about the waker */
};

/* Any may be NULL: its rows are not made. */
struct table_ops {
	void (*interval)(void *context, const struct why_thread *who,
			 const struct states_span *span);
	void (*wait)(void *context, const struct table_wait *wait);
	void (*edge)(void *context, const struct table_edge *edge);
	bool (*failed)(void *context); /* is writing in vain? */
};

/* Returns 0, also when writing failed; or negative with err filled. */
int table_run(struct export_job *job, const struct table_ops *ops, void *context, struct err *err);

#endif

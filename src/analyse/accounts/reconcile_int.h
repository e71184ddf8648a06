/* reconcile_int.h - what the files of reconcile share. */
#ifndef ANALYSE_ACCOUNTS_RECONCILE_INT_H
#define ANALYSE_ACCOUNTS_RECONCILE_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/accounts/reconcile.h"
#include "timeline/timeline.h"

/* One thread: its account at both ends, as far as they are there. */
struct reconcile_life {
	const struct recorded_task *start;	  /* NULL = it began in the recording, or later */
	const struct recorded_task *end;	  /* its exit, or the end; NULL = not there */
	const struct recorded_sched *sched_start; /* NULL = not there */
	const struct recorded_sched *sched_end;
	uint32_t slot;		 /* SLOT_NONE = the events do not know it */
	bool has_span;		 /* below */
	struct tl_interval span; /* both accounts are over this; word is not used */
	uint64_t slack_ns;	 /* and so much its ends may be off, together */
};

struct reconcile_ground {
	const struct timeline *timeline;
	const struct memory_spans *memory;
	const struct moved *moved;
	const struct recorded *recorded;
	const char *kernel; /* its release; NULL = not known */
	uint64_t since_ns;  /* delays are counted for threads born then or later */
	struct reconcile_scale scale;
};

/* reconcile_edge.c: how exact this recording is. */
void reconcile_measure(const struct reconcile_ground *ground, const struct reconcile_life *lives,
		       size_t count, struct reconcile_scale *out_scale);

/* reconcile_whys.c: both values of each class, and what sets them apart. 'out_rows' are zero. */
void reconcile_compare(const struct reconcile_ground *ground, const struct reconcile_life *life,
		       struct reconcile_class out_rows[RECONCILE_ROWS]);

/* Whys that explain nothing go, and what none explains is set. */
void reconcile_settle(struct reconcile_class *row);

#endif

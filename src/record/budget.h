/*
 * budget.h - decides how many kinds of events are recorded, so that it costs no more than was asked for.
 *
 * A pure function of what was spent when. What a time leaves over is saved, one second's worth at most, and
 * what it spent too much is owed. Down: more is spent than is allowed, and nothing is saved. Events that cost eight
 * times what is allowed go down two steps at once, 64 times three. Up: a whole second's worth is saved, and
 * the last change is some time ago; each attempt that ends at once doubles that time, up to a minute. What a
 * change costs is owed, but is no reason for the next one.
 *
 *	  spends more, owes        spends more, owes
 *	all ---------------> ... ---------------> none
 *	    <---------------     <---------------
 *	  saved, and waited        saved, and waited
 */
#ifndef RECORD_BUDGET_H
#define RECORD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "event/steps.h"

#define BUDGET_LOOK_NS UINT64_C(250000000) /* about as often should be looked */

/* CPU time since recording began. What the recorder does itself, as a snapshot, may be over at once; a rate of events is not. */
struct budget_spent {
	uint64_t all_ns;
	uint64_t events_ns; /* of that, on events in the programs that are recorded */
};

struct budget {
	uint64_t share_ppm; /* allowed, of the time of all CPUs */
	uint32_t cpus;
	bool has_calls; /* else there is no step without them */
	enum record_step step;
	uint64_t begun_ns, begun_spent_ns; /* at the first look */
	uint64_t looked_ns, spent_ns;	   /* at the last look */
	uint64_t events_ns;		   /* of that */
	int64_t saved_ns;		   /* CPU time; owed when negative */
	uint64_t changed_ns;		   /* when the step was */
	uint64_t wait_ns;  /* so long after that it goes up again, at the earliest */
	bool went_up;	   /* and this was up */
	uint32_t cost_ppm; /* between the last two looks, of the time of all CPUs */
};

/* 'share_ppm' and 'cpus' are not 0. The first look is where it begins: what was spent before is not counted. */
void budget_begin(struct budget *budget, uint64_t share_ppm, uint32_t cpus, bool has_calls);

/* The work for a change is done; what it cost says nothing of the new step. */
void budget_changed(struct budget *budget, uint64_t now_ns);

/* Up to 'now_ns' recording has cost so much. Returns whether budget->step is another one now. */
bool budget_look(struct budget *budget, uint64_t now_ns, const struct budget_spent *spent);

#endif

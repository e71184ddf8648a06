/*
 * steps.h - fewer kinds of events, so that a recording costs no more than was asked for.
 *
 * A recording with a budget is at one of these steps at each moment. Which kinds of events it lacks
 * there decides what can be said of that time: docs/budget.md has the table.
 */
#ifndef EVENT_STEPS_H
#define EVENT_STEPS_H

enum record_step {
	STEP_ALL,      /* every event that was asked for */
	STEP_NO_CALLS, /* no system calls and no page faults */
	STEP_SWITCHES, /* only who runs, who waits, and who woke whom */
	STEP_NONE,     /* nothing */
	STEP_COUNT
};

/* What a step does not record: bits. */
enum step_lacks {
	STEP_LACKS_CALLS = 1 << 0,
	STEP_LACKS_CAUSES =
		1 << 1, /* interrupts, timers, packets, requests, work, locks, signals, all else */
	STEP_LACKS_ALL = 1 << 2,
};

static inline unsigned int step_lacks(enum record_step step)
{
	return (step >= STEP_NO_CALLS ? STEP_LACKS_CALLS : 0u) |
	       (step >= STEP_SWITCHES ? STEP_LACKS_CAUSES : 0u) |
	       (step >= STEP_NONE ? STEP_LACKS_ALL : 0u);
}

#endif

/*
 * event_cost.h - how long one event holds up who has it, measured on this machine.
 *
 * That depends on what comes between two of them. Close together, the recorder's code and buffers are still in the
 * nearest caches; a program that works in between finds them out of these, and afterwards its own. So a thread that
 * renames itself, and one that makes a call of no length, are measured with and without the event at some
 * distances: with more and more memory touched, and code run, in between.
 */
#ifndef RECORD_EVENT_COST_H
#define RECORD_EVENT_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_COST_POINTS 3

/* Where events come so far apart, one costs so much. */
struct event_cost_point {
	uint64_t apart_ns, ns;
};

/* The nearest first. */
struct event_cost_curve {
	struct event_cost_point points[EVENT_COST_POINTS];
	size_t count; /* 0 = not measured */
};

struct event_cost {
	struct event_cost_curve others; /* most kinds of events */
	struct event_cost_curve calls;	/* of the two events of a system call, each */
};

/*
 * Measure in an instance that is off and has no events on; it is left so, and empty. Takes some 20 ms of CPU time.
 * What cannot be measured is left out.
 */
void event_cost_measure(int instance_fd, struct event_cost *out_cost);

/*
 * Put a point behind the others, which are nearer. Where it is the cheaper one, that is an error of measuring:
 * all that contradict each other get their mean.
 */
void event_cost_add(struct event_cost_curve *curve, uint64_t apart_ns, uint64_t ns);

/* What one event costs where they come so far apart; 0 = not measured. */
uint64_t event_cost_at(const struct event_cost_curve *curve, uint64_t apart_ns);

/* So many events in so long a time of one CPU: those of calls among them, and what they all cost. */
struct event_cost_sum {
	uint64_t others, others_ns;
	uint64_t calls, calls_ns;
};

/*
 * Add events of one CPU. 'has_calls': system calls are among them, and by far the most where they are
 * many: five of six are taken to be that.
 */
void event_cost_count(const struct event_cost *cost, uint64_t count, uint64_t span_ns,
		      bool has_calls, struct event_cost_sum *sum);

#endif

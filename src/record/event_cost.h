/*
 * event_cost.h - how long one event holds up who has it, measured on this machine.
 *
 * A thread that renames itself, and one that makes a call of no length, with and without the event. Between
 * two of them as much memory is touched as the nearest cache holds: a program that does some work of its
 * own finds the recorder's code and buffers out of that cache each time, and afterwards its own.
 */
#ifndef RECORD_EVENT_COST_H
#define RECORD_EVENT_COST_H

#include <stdbool.h>
#include <stdint.h>

struct event_cost {
	uint64_t event_ns; /* of most kinds of events; 0 = not measured */
	uint64_t call_ns;  /* of the two events of a system call, each */
};

/*
 * Measure in an instance that is off and has no events on; it is left so, and empty. Takes some 30 ms.
 * What cannot be measured stays 0.
 */
void event_cost_measure(int instance_fd, struct event_cost *out_cost);

/*
 * What 'count' events cost. 'has_calls': system calls are among them, and by far the most where they are
 * many: five of six are taken to be that.
 */
uint64_t event_cost_of(const struct event_cost *cost, uint64_t count, bool has_calls);

#endif

/*
 * states.h - print the intervals of analyse/stats/states.h as they come: text, or a JSON object
 * on each line.
 */
#ifndef REPORT_STATES_H
#define REPORT_STATES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct facts;
struct states_span;
struct states_sum;

struct report_states {
	FILE *out;
	const struct facts *facts;
	int32_t tid; /* the thread, whose stacks of waits are looked up */
	bool json;
};

/* Before the first: text only. */
void report_states_begin(const struct report_states *report, const char *comm, int32_t tid,
			 uint64_t start_ns, uint64_t end_ns);

/* For states_run(); 'context' is a struct report_states. */
void report_states_span(void *context, const struct states_span *span);

/* After the last: what was left out and what the intervals rest on; JSON: the last line. */
void report_states_end(const struct report_states *report, const struct states_sum *sum);

#endif

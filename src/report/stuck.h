/* stuck.h - what threads wait for now, as text and as JSON. */
#ifndef REPORT_STUCK_H
#define REPORT_STUCK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct condition;
struct condition_met;
struct goroutines;
struct stacks;
struct stuck;
struct stuck_thread;

struct report_stuck {
	const struct stuck *stuck;
	const struct stacks *stacks; /* a wait for each thread whose stack is known; NULL = none */
	bool all;		     /* those that only idle, too */
	bool whole;		     /* whole stacks, not only the place */
	bool unfold;		     /* a line for each thread, also where they wait alike */
	const struct goroutines *goroutines; /* of the Go programs among them; NULL = not read */
};

/* Deadlocks first, then lines behind one thread, who waits for others, the rest; idle ones last. */
void report_stuck_text(FILE *out, const struct report_stuck *report);

/* The deadlocks alone. Nothing where there is none. */
void report_stuck_cycles(FILE *out, const struct stuck *stuck);

void report_stuck_json(FILE *out, const struct report_stuck *report);

/*
 * "futex > b[12] > c[13]: runs, or waits for a CPU": what it is in, and from one to the next who could end
 * that. One line, as it comes from the programs; "" where it runs. Owned.
 */
char *report_stuck_chain(const struct stuck *stuck, const struct stuck_thread *thread);

/* A condition that is met. */
struct report_met {
	const struct condition *condition;
	const struct condition_met *met;
	uint64_t time_ns; /* CLOCK_REALTIME: when it was seen */
};

/* A line that says when, what and who, and the threads that are concerned. */
void report_met_text(FILE *out, const struct report_met *met, const struct report_stuck *report);

/* One line, with the whole report. */
void report_met_json(FILE *out, const struct report_met *met, const struct report_stuck *report);

/* "a[3] waits behind ...": one line, as it comes from the programs. Owned. */
char *report_met_reason(const struct report_met *met, const struct report_stuck *report);

#endif

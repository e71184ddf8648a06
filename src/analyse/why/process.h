/*
 * process.h - what held a whole process up: the answers of its threads, added up.
 *
 * The sum is thread time: a span in which three threads lived counts three times. Each thread is
 * explained by itself (why.h), and what held it up is its own: that another thread of the process
 * worked meanwhile is a cause like any other. Threads that did nothing but wait for work, sleep
 * for a time, or wait for what never came (but not in a circle), and those with which a runtime serves itself (compilers, garbage
 * collectors) as long as they do next to nothing, are told apart, for a hundred of them would hide what the others did. Where all
 * of them waited so, only those are that waited for work; where that are all, those of the runtime; else none. Threads whose largest part is another one than that of the sum
 * are named with it, for the sum hides them.
 */
#ifndef ANALYSE_WHY_PROCESS_H
#define ANALYSE_WHY_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/why/why.h"

/* A thread of the process, and the window in which it is explained; 0 as in struct why_opts. */
struct why_part {
	uint32_t slot;
	uint64_t start_ns, end_ns;
};

/* A thread of the process whose largest part is another one than that of all. */
struct why_differs {
	struct why_thread who;
	uint64_t ns; /* it lived in the window */
	struct why_root root;
};

/* The result of a process, beside what struct why has of it. Owned by that one. */
struct why_process {
	size_t threads;	 /* that lived in the window */
	size_t added;	 /* of these, whose time is in the sums */
	struct why told; /* the thread whose chain, summary, instances and causality are told */
	struct why_root *apart; /* a root for each of the others: where it waited, and how long */
	size_t apart_count;
	uint64_t apart_ns;
	struct why_differs *differs; /* owned; largest part first: of those that were added up */
	size_t differs_count;
};

/*
 * Explain them as one process; 'main_slot' gives it its name. opts->slot and its window are not
 * used. The result is as why_run() gives it, but class_ns is the threads' time, to which roots and
 * states add up, and chain, lines, instances, waits, paths and syscalls are in process->told.
 * Where at most one thread lived in its window, the result is as why_run() gives it, of that one or
 * the main thread. 'count' is not 0. Returns as why_run() does.
 */
int why_process_run(const struct timeline *timeline, const struct facts *facts,
		    const struct why_opts *opts, uint32_t main_slot, const struct why_part *parts,
		    size_t count, struct why *out_why, struct err *err);

/* Is that the name of a thread with which a runtime serves itself: a compiler, a garbage collector, a timer? */
bool why_serves_runtime(const char *comm);

void why_process_free(struct why_process *process); /* NULL is fine */

#endif

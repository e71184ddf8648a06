/*
 * waiting.h - look at who waits for whom, while the threads that wait are there.
 *
 *	struct waiting *waiting = waiting_new(&target, kernel_fd);
 *
 *	each tick:  waiting_tick(waiting);
 *	before it is told to end: waiting_look(waiting);
 *	behind the end: waiting_look_back(waiting, end_ns);
 *	waiting_free(waiting);
 *
 * Events do not tell who has a lock of a runtime or what a process has open since long ago: /proc and the memory of
 * the processes do (stuck/stuck.h). What is found is appended to kernel/dump.jsonl, as lines "wait".
 *
 * A program may be killed at any time, and then it is too late. So it is looked at as it goes on, more rarely
 * the longer it lasts. A wait that was seen before is not told again.
 */
#ifndef RECORD_WAITING_H
#define RECORD_WAITING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct waiting;

/* Whose waits: those of these processes and of their children, and theirs. None: all processes. */
struct waiting_target {
	const int32_t *pids; /* a view */
	size_t count;
};

/* 'kernel_fd' is the folder kernel/ of the trace, a view; it must have dump.jsonl when a look is made. Free with waiting_free(). */
struct waiting *waiting_new(const struct waiting_target *target, int kernel_fd);

/* Look, if it is time for that. Not at all processes. */
void waiting_tick(struct waiting *waiting);

/* Look now. Best effort; costs some tenths of a second of CPU time at most. NULL is fine. */
void waiting_look(struct waiting *waiting);

/*
 * The same when no events are recorded any more since 'end_ns' of CLOCK_MONOTONIC: what is told is of threads that have not
 * had a CPU since, as far as the kernel tells when they had one.
 */
void waiting_look_back(struct waiting *waiting, uint64_t end_ns);

/* How many threads were looked at, and how many were not: there were too many, or it took too long. */
struct waiting_seen {
	uint64_t looked, skipped;
};

/*
 * The same of all processes, once: the lines are written to 'out'. At 'until_ns' of CLOCK_MONOTONIC it ends with what it
 * has. *out_seen is all 0 where nothing could be read.
 */
void waiting_look_at_all(FILE *out, uint64_t end_ns, uint64_t until_ns,
			 struct waiting_seen *out_seen);

/* NULL is fine. */
void waiting_free(struct waiting *waiting);

#endif

/*
 * work_samples.h - look at each CPU many times a second: in which code do threads work?
 *
 * A timer of each CPU (perf_event_open(2), cpu-clock) calls a BPF program (sample.bpf.c), which tells
 * of what ran there. This hands on what it tells; wait_stacks.h keeps it beside the waits.
 *
 * By one thread at a time.
 */
#ifndef RECORD_WORK_SAMPLES_H
#define RECORD_WORK_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct work_samples;

#define WORK_SAMPLES_HZ	    199u /* default: no multiple of what else happens many times a second */
#define WORK_SAMPLES_HZ_MAX 10000u

struct work_samples_opts {
	uint32_t hz;	     /* looks in a second, of each CPU; not 0 */
	bool takes_all;	     /* of all threads of the machine; else of what we start, and: */
	const int32_t *pids; /* these, and what they started */
	size_t pid_count;
	/* Called by work_samples_look() with each record: a struct raw_stack or raw_python_code, to be checked. */
	int (*take)(void *context, void *record, size_t bytes);
	void *context;
};

/* Begin. Returns 0 and *out_samples, or a negative errno with err filled. */
int work_samples_start(const struct work_samples_opts *opts, struct work_samples **out_samples,
		       struct err *err);

/* Readable when much waits to be taken. A view. */
int work_samples_fd(const struct work_samples *samples);

/* The map of processes that run Python, as bpf/python_frames.h has it. A view. */
int work_samples_pythons_fd(const struct work_samples *samples);

/* Take what was told since. */
void work_samples_look(struct work_samples *samples);

/* No more samples are made. Calling it again is fine. */
void work_samples_end(struct work_samples *samples);

/* Samples for which there was no room in the buffer, and that were over the budget of their second. */
uint64_t work_samples_lost(const struct work_samples *samples);
uint64_t work_samples_over(const struct work_samples *samples);

void work_samples_free(struct work_samples *samples); /* NULL is fine */

#endif

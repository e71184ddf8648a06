/*
 * cut.h - a smaller trace that stands for itself: a window of another one, or some of its events.
 *
 * A recording of holdup stays one: its kernel's events are written into new sub-buffers of the
 * kernel's ring buffer, with times in ns of CLOCK_MONOTONIC, so that the window is exact to the
 * event, and what programs logged goes to user/ as CTF. All other formats become CTF.
 *
 * What is known at the start of the window is brought forward: all events before it are read, and
 * who lives then and what its descriptors name becomes the new state dump.
 */
#ifndef EXPORT_CUT_H
#define EXPORT_CUT_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct trace;

struct cut_opts {
	uint64_t from_ns, to_ns; /* [from, to) */
	/*
	 * Of other threads than these only what says who runs, who wakes whom and what interrupts
	 * is kept. None = all threads.
	 */
	const int32_t *tids;
	size_t tid_count;
	const int32_t *pids; /* processes: all threads that they have at any time of the window */
	size_t pid_count;
	const uint8_t *cpus; /* 1 = wanted; index = CPU; NULL = all */
	size_t cpu_count;
	/* Called now and then: all before 'time_ns' is read. May be NULL. */
	void (*progress)(void *context, uint64_t time_ns);
	void *context;
};

struct cut_result {
	uint64_t events;
	uint64_t threads;   /* in the new state dump */
	const char *format; /* "a holdup trace directory", "CTF 1.8" */
};

/*
 * Write the cut of 'trace', which was opened at 'path', to the folder 'dir', which must not
 * exist, or be empty. It has its name when it is whole, not before. Returns 0, or a negative errno
 * with err filled.
 */
int cut_trace(struct trace *trace, const char *path, const char *dir, const struct cut_opts *opts,
	      struct cut_result *out_result, struct err *err);

#endif

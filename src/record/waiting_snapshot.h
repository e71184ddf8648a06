/*
 * waiting_snapshot.h - who waits for whom as a snapshot is taken: a child looks, and has a limited time for it.
 *
 *	recording is off: end_ns
 *	waiting_snapshot_begin(&looking, end_ns);
 *	kernel/dump.jsonl is written meanwhile, and all else
 *	waiting_snapshot_end(&looking, kernel_fd);
 *
 * What is told is as of waiting_look_back(), of all processes. Memory that the look needs is the child's. A look that takes too
 * long ends with what it has seen, and the trace says how much of all that was.
 */
#ifndef RECORD_WAITING_SNAPSHOT_H
#define RECORD_WAITING_SNAPSHOT_H

#include <stdint.h>
#include <sys/types.h>

struct manifest;
struct waiting_seen;

struct waiting_snapshot {
	pid_t pid; /* 0 = nobody looks */
	int out_fd;
	uint64_t begun_ns;
	struct waiting_seen *seen; /* owned, and shared with the child */
};

#define WAITING_SNAPSHOT_NONE ((struct waiting_snapshot){ .out_fd = -1 })

/* Best effort. 'end_ns' of CLOCK_MONOTONIC: nothing is recorded since. */
void waiting_snapshot_begin(struct waiting_snapshot *looking, uint64_t end_ns);

/*
 * Wait for it, not long, and append what it saw to the dump of 'kernel_fd'. What it did not see is noted in 'manifest'; NULL = drop
 * all. Also of one that nobody began.
 */
void waiting_snapshot_end(struct waiting_snapshot *looking, int kernel_fd,
			  struct manifest *manifest);

#endif

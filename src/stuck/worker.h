/*
 * worker.h - do what may hang in a thread that can be left behind.
 *
 * Files that look into another process block for as long as its memory is locked, or a file system behind
 * it does not answer. Such waits of ours end when we are killed or exit, so a thread that hangs
 * costs nothing but itself.
 */
#ifndef STUCK_WORKER_H
#define STUCK_WORKER_H

#include <stdbool.h>
#include <stdint.h>

struct worker;

/* What is to be done: begins a struct of the caller's, from xcalloc(). */
struct worker_job {
	void (*run)(struct worker_job *job);
	void (*free)(struct worker_job *job); /* of one that was left behind, when it ends */
};

struct worker *worker_new(uint32_t patience_ms);

/* A thread that hangs is left to itself: false when one was. NULL is fine. */
bool worker_free(struct worker *worker);

/*
 * Do it and wait for it. Returns true when it was done: the job is the caller's again. False when
 * it took longer than the patience, or too many hang already: the job is gone then.
 */
bool worker_do(struct worker *worker, struct worker_job *job);

#endif

/*
 * condition.h - what somebody waits for to happen: a deadlock, a long chain of waits, a long sleep in D.
 *
 *	deadlock    threads, or goroutines, wait for each other
 *	chain>5s    a thread has waited for others for longer
 *	D>10s       a thread has slept in the kernel for longer, in state D
 *	convoy>20   more threads than that wait for one
 */
#ifndef STUCK_CONDITION_H
#define STUCK_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct goroutines;
struct stuck;

enum condition_kind {
	CONDITION_DEADLOCK,
	CONDITION_CHAIN,
	CONDITION_D,
	CONDITION_CONVOY,
};

struct condition {
	enum condition_kind kind;
	uint64_t least_ns;    /* of a chain, or in D: longer than this */
	uint64_t least_count; /* of a convoy: more than this */
	const char *text;     /* not owned: as it was given */
};

/* 'text' must live on. Returns 0, or -EINVAL with err filled. */
int condition_parse(const char *text, struct condition *out_condition, struct err *err);

/* One place where a condition is met. */
struct condition_met {
	size_t condition; /* which one */
	int32_t tid; /* whom it is about: of a chain, the thread that it ends in, or begins with */
	int32_t *tids; /* owned: who waits there, longest first; of a deadlock, its threads */
	size_t count;
	uint64_t since_ns; /* CLOCK_MONOTONIC: since when the first of them waits; 0 = unknown */
	/* A deadlock of goroutines: the threads are those of the process, which had no CPU since then. */
	bool is_of_goroutines;
};

struct condition_list {
	struct condition_met *items; /* owned */
	size_t count, cap;
};

/* Of the threads that were asked for, and of deadlocks and convoys that they are in; goroutines may be NULL. */
void conditions_find(const struct condition *conditions, size_t count, const struct stuck *stuck,
		     const struct goroutines *goroutines, struct condition_list *out_list);

void conditions_fini(struct condition_list *list);

#endif

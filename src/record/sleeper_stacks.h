/*
 * sleeper_stacks.h - in which code threads sleep right now: their stacks, without a recording.
 *
 * Nothing is stopped and nothing written to. A stack is taken of a thread that slept from when it was
 * looked at until its stack was copied, so it is the stack of that wait.
 */
#ifndef RECORD_SLEEPER_STACKS_H
#define RECORD_SLEEPER_STACKS_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct stacks;

/* A thread that sleeps in a system call. */
struct sleeper {
	int32_t tid, tgid;
	uint64_t sp, pc; /* of user space, as /proc/PID/syscall has them */
	uint64_t runs;	 /* proc_runs() when it was looked at */
	uint64_t futex;	 /* the word that it waits for; 0 = none */
};

/*
 * Copy, unwind and name their stacks, and fill 'stacks' (zeroed before): a wait for each thread of which a
 * stack was had. All is done by a child that ends after 'wait_ms' at the latest, since looking into a
 * process may hang, and what programs and stacks are made of may be anything. Of the registers only two are
 * known, so that a stack may end before the thread's beginning; each says so.
 *
 * Returns 0, or a negative errno with err filled when the child came to no end; what it wrote up to then
 * is in 'stacks' all the same. Free them with stacks_fini() in any case.
 */
int sleeper_stacks_take(const struct sleeper *sleepers, size_t count, int wait_ms,
			struct stacks *stacks, struct err *err);

#endif

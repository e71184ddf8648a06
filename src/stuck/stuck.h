/*
 * stuck.h - what threads wait for right now, and who could end it: no recording, no trace.
 *
 *	struct stuck_select select = { .tgids = &pid, .count = 1 };
 *	struct stuck *stuck;
 *
 *	rc = stuck_look(&select, &stuck, err);
 *	...
 *	stuck_free(stuck);
 *
 * All is read twice, and only what both looks tell is in the result. A thread that got a CPU between the
 * looks runs. So whoever is told to wait here slept from one look to the other, and so did its owner.
 *
 * A deadlock is told where nobody of those who could end a wait can go on: all of them are known, sleep
 * without a time limit, and wait for each other. Whatever is not known could go on. A wait that names nobody
 * counts where all threads of the process are among them, and nobody else could end it: see closed.h.
 *
 * Nothing is written to the processes that are looked at, and none is stopped. What hangs in the kernel so
 * that looking at it hangs, too, is given up after a while.
 */
#ifndef STUCK_STUCK_H
#define STUCK_STUCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "stuck/how.h"

struct err;

#define STUCK_COMM_MAX	 64
#define STUCK_OBJECT_MAX 192
#define STUCK_IN_MAX	 32
#define STUCK_TITLE_MAX	 96

/* What the state of a thread is, as to who could end it. */
enum stuck_kind {
	STUCK_RUNS,    /* it has a CPU or waits for one, or had one between the looks */
	STUCK_TASKS,   /* other tasks can end it: its edges */
	STUCK_TIMER,   /* it waits for a time, and for nothing else */
	STUCK_KERNEL,  /* asleep in the kernel without regard to signals: disk, a lock, memory */
	STUCK_STOPPED, /* by a signal */
	STUCK_TRACED,  /* by its tracer: an edge */
	STUCK_FROZEN,  /* by its cgroup */
	STUCK_OUTSIDE, /* the network, a terminal, a signal, a new client: whoever comes */
	STUCK_UNOWNED, /* what it waits for names nobody */
	STUCK_UNKNOWN, /* it is not known or not to be read what it waits for */
	STUCK_EXITED,  /* a zombie */
};

/* Somebody who could end a wait. */
struct stuck_edge {
	int32_t tid;	  /* of a process with several threads, its main thread */
	bool is_process;  /* any of its threads */
	bool is_inferred; /* it need not be that one */
	bool is_note;	  /* by the number that a library noted, which stays when the thread ends */
	enum stuck_how how;
	const char
		*mode; /* a constant: in which a lock is held, or asked for; NULL = see stuck_how */
};

/* The part of an object that says which one it is; no bytes = no part does. */
struct stuck_which {
	uint16_t at, bytes;
};

/* What a chain ends in. */
enum stuck_root {
	STUCK_ROOT_SELF, /* by its kind: nobody else is awaited */
	STUCK_ROOT_TASK, /* root_tid, by that one's kind */
	STUCK_ROOT_ANY,	 /* any of several: its edges */
	STUCK_ROOT_DEADLOCK,
	STUCK_ROOT_VICTIM, /* everything it waits for ends in a deadlock */
	STUCK_ROOT_INSIDE, /* nobody is named, and no thread of the process can go on, but by a signal */
	STUCK_ROOT_BEFORE, /* it leads into the deadlock of root_tid, and something else could end a wait on the way */
	STUCK_ROOT_RING, /* it leads back, and a time limit or somebody from outside can end it */
};

struct stuck_thread {
	int32_t tid;
	int32_t tgid;
	uint64_t birth;		   /* clock ticks since boot: with the tid, which thread this is */
	char comm[STUCK_COMM_MAX]; /* as the kernel has it: may hold anything */
	/* What its process says of itself behind its name, "app shop [local] idle in transaction"; "" = nothing. */
	char title[STUCK_TITLE_MAX];
	bool is_asked; /* one of the target's; else only waited for */
	char state;    /* of /proc */
	enum stuck_kind kind;
	char in[STUCK_IN_MAX]; /* system call, or what else it is in; "" = nothing */
	char object
		[STUCK_OBJECT_MAX]; /* what the call waits for; of one that runs, a CPU quota; "" = nothing */
	struct stuck_which which; /* an address in 'object', or a variable */
	uint16_t common_at; /* of 'object': what is the same for all who wait for it begins there */
	bool is_limited; /* STUCK_KERNEL, and a limit holds it back, as inferred: see io_limit.h */
	uint16_t limit_at; /* of 'object': that limit begins there */
	bool is_timed;	   /* a time limit ends it, too */
	bool is_inside;	   /* STUCK_UNOWNED, and only its own process can end it */
	bool is_closed;	   /* the same, and all threads of its process are known: see closed.h */
	bool is_scheduled; /* the same, for work: its runtime passes that from thread to thread */
	int32_t only_tid; /* of such a one: by exclusion, nobody but this thread can end it; 0 = not known */
	bool has_outside;     /* somebody from outside can end it, too: see STUCK_OUTSIDE */
	bool is_complete;     /* nobody but the edges can end it, but for signals */
	bool waits_any_child; /* that it has, or may get: see adopted.h */
	bool needs_all; /* all edges that are not inferred must end it together, not any of them */
	uint64_t
		since_ns; /* CLOCK_MONOTONIC: when it last had a CPU, or a little earlier; 0 = unknown */
	int32_t prio; /* of /proc/PID/stat: lower is more urgent */

	/* Of one that sleeps in a system call: where its stack and its code are, and proc_runs(); else 0. */
	uint64_t sp, pc, runs;
	uint64_t futex; /* of such a one: the address of the word that it waits for; 0 = none */
	struct stuck_edge *edges;
	size_t edge_count;
	enum stuck_root root;
	int32_t root_tid;
};

/* Those who wait for each other, ascending. */
struct stuck_cycle {
	int32_t *tids;
	size_t count;
	bool is_closed; /* who of them has what is not known: nobody else could end their waits */
};

#define STUCK_CONVOY_MIN 3 /* waiters from which on a line is a convoy */

/* Many behind one. */
struct stuck_convoy {
	int32_t tid;		       /* for whom they wait */
	bool is_inferred;	       /* of none of them it is known */
	char object[STUCK_OBJECT_MAX]; /* and for what */
	int32_t *tids;		       /* they, ascending */
	size_t count;
};

/* What could not be read, and why. */
struct stuck_missing {
	char what[96];
	char why[160];
};

struct stuck {
	uint64_t took_ns;
	uint64_t now_ns;	      /* CLOCK_MONOTONIC */
	uint64_t between_ns;	      /* the same, between the two looks: who waits, did so then */
	struct stuck_thread *threads; /* by tgid, tid */
	size_t count;
	size_t looked,
		skipped;   /* threads, and those not looked at: for want of time, or too many */
	size_t barred;	   /* whose system calls may not be read */
	struct map by_tid; /* index into threads */
	struct stuck_cycle *cycles;
	size_t cycle_count;
	struct stuck_convoy *convoys;
	size_t convoy_count;
	struct stuck_missing *missing;
	size_t missing_count;
};

/* Whom to look at; what they wait for is looked at, too. */
struct stuck_select {
	const int32_t *tgids; /* processes, or threads of them */
	size_t count;
	const char *comm;    /* all processes of that name; NULL = none */
	bool all;	     /* all processes, without threads of the kernel */
	bool without_parent; /* of all processes, not the parent of the calling one */
	bool may_be_gone;    /* some of 'tgids' may have exited, if not all have */
	bool with_children;  /* and whom they began, and these, as far as the kernel tells it */
	size_t most_threads; /* no process is begun behind so many; 0 = as many as there may be */
	uint64_t
		until_ns; /* CLOCK_MONOTONIC: then it ends with what it has; 0 = when all is seen */
};

/*
 * Look now. Returns 0, or a negative errno with err filled: -ESRCH nobody is there, -EACCES none of them
 * may be looked at.
 */
int stuck_look(const struct stuck_select *select, struct stuck **out_stuck, struct err *err);

/* Say that something could not be read; both texts are copied, and cut where they are longer. */
void stuck_add_missing(struct stuck *stuck, const char *what, const char *why);

void stuck_free(struct stuck *stuck); /* NULL is fine */

/* By which number the thread's process is read: a main thread that ended before others has no memory any more. */
int32_t stuck_living(const struct stuck *stuck, const struct stuck_thread *thread);

/* The thread of that number, or NULL. */
const struct stuck_thread *stuck_find(const struct stuck *stuck, int32_t tid);

#endif

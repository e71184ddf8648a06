/*
 * kernel_locks.h - the kernel's own locks: who waited for which, how long, and who had it.
 *
 * From the events of contention (lock:contention_begin, contention_end), whoever recorded them. What a lock
 * belongs to, and who had it, is known where the recorder asked the lock (event/kernel_lock.h); else
 * it is known by its address, and by who woke those that waited for it. Where a thread spins, and the
 * kernel tells, that is counted apart.
 */
#ifndef ANALYSE_LOCKS_KERNEL_LOCKS_H
#define ANALYSE_LOCKS_KERNEL_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/locks/locks.h"

struct err;
struct facts;
struct source;

struct klocks_owner {
	int32_t tid;
	bool is_told;	  /* had the lock when it was asked for; else: woke who waited for it */
	const char *comm; /* view */
	const char *in;	  /* view: what it was in, the last time; "" = nothing, or not known */
	bool in_call;	  /* that is a system call */
	uint64_t count;
	uint64_t ns; /* of the waits */
};

struct klocks_caller {
	const char *call;     /* view: "mmap", "page fault", "kernel thread"; "" = not known */
	bool in_call;	      /* that is a system call */
	const char *function; /* view: that asked for the lock; "" = not known */
	uint64_t count;
	uint64_t ns;
};

struct klocks_row {
	const char *name; /* view: kernel_lock_text() */
	uint32_t flags;	  /* LCB_F_*, of all waits together */
	bool is_known;	  /* by more than its address */
	uint64_t waits;	  /* begun, whether it spun or slept */
	uint64_t spins;	  /* of these, never slept */
	uint64_t waiting; /* of these, not ended when the trace did */
	uint64_t wait_ns, wait_max_ns;
	uint64_t spin_ns; /* of wait_ns */
	struct klocks_owner
		*owners; /* owned; the largest first, those that were told before others */
	size_t owner_count, owner_cap;
	struct klocks_caller *callers; /* owned; the largest first */
	size_t caller_count, caller_cap;
};

struct klocks_store;

struct klocks_sum {
	struct klocks_row *rows; /* owned */
	size_t count, cap;
	uint64_t events;
	uint64_t waits, spins, wait_ns, spin_ns;
	uint64_t lost; /* events lost; at least so many when is_lost */
	bool is_lost;
	struct klocks_store *store; /* owned; what the views point to */
};

/*
 * Read all events of 'source', which is at its start. Returns 0 and *out_sum (free with klocks_fini()), or
 * negative with err filled. Waits that are open at the end last to 'end_ns', or to the last event that was
 * read. 'facts' are of the source, and must live as long as the sum.
 */
int klocks_run(struct source *source, const struct facts *facts, enum locks_sort sort,
	       uint64_t end_ns, struct klocks_sum *out_sum, struct err *err);
void klocks_fini(struct klocks_sum *sum);

#endif

/*
 * lock_owner.h - which lock a thread waited for, and who owned it meanwhile.
 *
 * For a wait that the kernel saw as a futex call alone: what the thread told of it itself
 * (libholdup-locks) names the lock, and what all threads told says who had it, moment by moment.
 *
 *	rc = lock_owners_new(source, end_ns, &owners, &err);
 *	if (lock_owners_find(owners, tid, from_ns, to_ns, &wait))
 *		for (i = 0; i < wait.span_count; i++)
 *			... wait.spans[i].owner_tid from start_ns to end_ns ...
 *
 * Read-only once made: any number of threads may ask; lock_owners_name() alone is for one.
 */
#ifndef ANALYSE_LOCKS_LOCK_OWNER_H
#define ANALYSE_LOCKS_LOCK_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct lock_owners;
struct lock_span;
struct source;

struct lock_owner_wait {
	uint32_t lock; /* the same for all waits for one lock */
	int32_t pid;
	uint8_t kind; /* enum lock_kind; LOCK_KIND_COND: a condition, which nobody owns */
	uint64_t address;
	uint64_t site;		   /* where the call came from */
	uint64_t begin_ns, end_ns; /* the whole wait, as the thread told of it */
	bool is_open;		   /* it had not ended with the trace */
	/*
	 * The part of it that was asked for, without a gap; views, cut to what was asked for
	 * by lock_owner_span(). None for conditions and barriers.
	 */
	const struct lock_span *spans;
	size_t span_count;
};

/*
 * Read all events of 'source', which is at its start. Waits that are open at the end last to 'end_ns', or
 * to the last event that was read. Memory grows with the number of waits.
 */
int lock_owners_new(struct source *source, uint64_t end_ns, struct lock_owners **out_owners,
		    struct err *err);
void lock_owners_free(struct lock_owners *owners); /* NULL is fine */

/*
 * The wait for a lock that thread 'tid' was in during [from_ns, to_ns): of several the one
 * that covers most of it. A wait begins before the kernel is called and ends after it, so a
 * blocked time of the kernel's lies within one. False when the thread told of none: it waited for
 * something else, or its program was not watched. O(log waits).
 */
bool lock_owners_find(const struct lock_owners *owners, int32_t tid, uint64_t from_ns,
		      uint64_t to_ns, struct lock_owner_wait *out_wait);

/* Span 'index' of a wait that was found, cut to [from_ns, to_ns). */
struct lock_span lock_owner_span(const struct lock_owner_wait *wait, size_t index, uint64_t from_ns,
				 uint64_t to_ns);

/*
 * "mutex convoy_mutex (server)", or "mutex 0x55d0c0a4e2c0" where no symbol is known. Owned by
 * 'owners'. Files are read as lock_names.h says, when first asked for.
 */
const char *lock_owners_name(struct lock_owners *owners, const struct lock_owner_wait *wait);

#endif

/*
 * lock_track.h - from what threads told of their locks to holds and waits.
 *
 *	tracker = lock_tracker_new(&ops, context);
 *	while (source_next(...) > 0)
 *		lock_tracker_feed(tracker, event);
 *	lock_tracker_finish(tracker, end_ns);
 *	lock_tracker_free(tracker);
 *
 * A lock is one address in one life of a process; it is known by its index, from 0 on. While a
 * thread waits, the tracker notes who holds the lock, span by span: the spans of a wait touch
 * and add up to it. What happened before a hole in the recording says nothing after it: holders
 * are then not known until they are told again.
 *
 * Memory: one entry for each lock, and one for each thread that waits.
 */
#ifndef ANALYSE_LOCKS_LOCK_TRACK_H
#define ANALYSE_LOCKS_LOCK_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct lock_tracker;

/* lock_span.owner_tid when it is no thread */
#define LOCK_OWNER_UNKNOWN (-1)
#define LOCK_OWNER_NOBODY  0 /* let go, and the next one has not run yet */

struct lock_span {
	uint64_t start_ns, end_ns;
	int32_t owner_tid; /* of several readers: the one that came first */
};

struct lock_wait {
	uint32_t lock; /* index */
	int32_t tid;
	uint8_t kind; /* enum lock_kind; LOCK_KIND_COND: on a condition */
	bool is_open; /* it had not ended with the trace */
	int32_t result;
	uint64_t site;
	uint64_t start_ns, end_ns;
	const struct lock_span *spans; /* who held it; none of conditions and barriers */
	size_t span_count;
};

/* How a thread came to hold a lock. */
enum lock_came {
	LOCK_CAME_AT_ONCE,
	LOCK_CAME_AFTER_WAIT,
	LOCK_CAME_AFTER_COND, /* out of a wait on a condition */
};

struct lock_hold {
	uint32_t lock;
	int32_t tid;
	uint8_t kind;
	enum lock_came came;
	uint64_t site;
	uint64_t start_ns, end_ns; /* end_ns == 0: it begins here */
};

/* Any may be NULL. What they are given is valid until they return. */
struct lock_track_ops {
	void (*taken)(void *context, const struct lock_hold *hold);    /* a hold begins */
	void (*released)(void *context, const struct lock_hold *hold); /* and ends */
	void (*wait)(void *context, const struct lock_wait *wait);     /* a wait has ended */
	/* signal, broadcast, destroyed: 'op' of enum user_lock_op */
	void (*touched)(void *context, uint32_t lock, uint8_t op);
	void (*module)(void *context, uint32_t process, const struct ev_user_lock *module);
	void (*begun)(void *context, uint32_t lock, int32_t tid); /* a wait begins */
	/* Who holds it is not known any more: their ends will not be told. */
	void (*forgotten)(void *context, uint32_t lock);
};

struct lock_tracker *lock_tracker_new(const struct lock_track_ops *ops, void *context);
void lock_tracker_free(struct lock_tracker *tracker); /* NULL is fine */

/*
 * Events in the order of time: about locks, EV_LOST, and EV_SCHED_EXIT, which ends the thread's wait
 * as one that is open. Others do nothing.
 */
void lock_tracker_feed(struct lock_tracker *tracker, const struct event *event);

/* There are no more: waits that have not ended are told, as open to 'end_ns' or the last event. */
void lock_tracker_finish(struct lock_tracker *tracker, uint64_t end_ns);

/* What is known of a lock that was told by index. */
struct lock_identity {
	uint32_t process; /* index; a program that executes another one is a new process */
	int32_t pid;
	uint64_t address;
	uint8_t kind; /* the first that was told: LOCK_KIND_READ and LOCK_KIND_WRITE are of the same lock */
};

struct lock_identity lock_tracker_identity(const struct lock_tracker *tracker, uint32_t lock);
/* Did its process tell so far when locks were taken without a wait, too? Else holders are known while one waits. */
bool lock_tracker_tells_all(const struct lock_tracker *tracker, uint32_t lock);
uint32_t lock_tracker_process_count(const struct lock_tracker *tracker);

#endif

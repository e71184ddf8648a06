/* lock_track.c - who holds which lock, and who waits for it. */
#include "analyse/locks/lock_track.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

#define HOLDERS_MAX 4096u /* readers of one lock that are told apart */
#define WAITERS_MAX 4096u /* of one lock; the owners of more are not known */

struct holder {
	int32_t tid;
	uint8_t kind;
	uint8_t came;
	uint64_t site;
	uint64_t since_ns;
};

struct lock {
	uint32_t process;
	uint8_t kind;
	bool is_known;	/* 'holders' is all there is to know; else a waiter's hint is better */
	uint32_t holes; /* in the recording, when the rest was last looked at */
	uint64_t address;
	struct holder *holders; /* owned; the one that came first is first */
	size_t holder_count, holder_cap;
	uint32_t *waiters; /* owned; indices of waits */
	size_t waiter_count, waiter_cap;
};

/* A wait that has begun. */
struct waiting {
	bool used;
	uint32_t next_free; /* index + 1 of another unused one; 0 = none */
	struct lock_wait wait;
	int32_t hint; /* the owner as the lock said; 0 = it did not */
	uint64_t mutex;
	uint64_t settled_ns;	 /* spans go up to here */
	struct lock_span *spans; /* owned */
	size_t span_cap;
};

struct process {
	int32_t pid;
	bool has_begun;
	bool tells_all;	  /* that a lock is taken at once, and let go; not waits alone */
	struct map locks; /* address to index + 1 */
};

struct lock_tracker {
	struct lock_track_ops ops;
	void *context;
	struct process *processes; /* owned */
	size_t process_count, process_cap;
	struct map pids;    /* to index of process + 1 */
	struct lock *locks; /* owned */
	size_t lock_count, lock_cap;
	struct waiting *waits; /* owned; places are used again */
	size_t wait_count, wait_cap;
	uint32_t first_free;
	struct map tids; /* to index of the open wait + 1; 0 = none */
	uint32_t holes;
	uint64_t last_ns;
};

/* ---------------------------------------------------------------- what there is */

static uint32_t tracker_add_process(struct lock_tracker *tracker, int32_t pid)
{
	uint32_t index = (uint32_t)tracker->process_count;

	tracker->processes = vec_room(tracker->processes, tracker->process_count,
				      &tracker->process_cap, sizeof(*tracker->processes));
	tracker->processes[tracker->process_count++] = (struct process){ .pid = pid };
	map_put(&tracker->pids, (uint32_t)pid, index + 1);
	return index;
}

static uint32_t tracker_process(struct lock_tracker *tracker, int32_t pid)
{
	const uint64_t *index = map_find(&tracker->pids, (uint32_t)pid);

	return index ? (uint32_t)*index - 1 : tracker_add_process(tracker, pid);
}

/* What was known before the last hole in the recording. */
static void forget_old(const struct lock_tracker *tracker, struct lock *lock)
{
	if (lock->holes == tracker->holes)
		return;
	lock->holes = tracker->holes;
	lock->holder_count = 0;
	lock->is_known = false;
}

static uint32_t lock_of(struct lock_tracker *tracker, int32_t pid, uint64_t address, uint8_t kind)
{
	uint32_t process = tracker_process(tracker, pid);
	bool is_new;
	uint64_t *index = map_add(&tracker->processes[process].locks, address, &is_new);
	struct lock *lock;

	if (is_new) {
		*index = tracker->lock_count + 1;
		tracker->locks = vec_room(tracker->locks, tracker->lock_count, &tracker->lock_cap,
					  sizeof(*tracker->locks));
		tracker->locks[tracker->lock_count++] =
			(struct lock){ .process = process, .address = address };
	}
	lock = &tracker->locks[*index - 1];
	forget_old(tracker, lock);
	if (lock->kind == LOCK_KIND_UNKNOWN)
		lock->kind = kind;
	return (uint32_t)*index - 1;
}

/* ---------------------------------------------------------------------- owners */

static int32_t owner_now(const struct lock *lock, const struct waiting *waiting)
{
	if (lock->holder_count)
		return lock->holders[0].tid;
	if (lock->is_known)
		return LOCK_OWNER_NOBODY;
	return waiting->hint ? waiting->hint : LOCK_OWNER_UNKNOWN;
}

static void waiting_add_span(struct waiting *waiting, int32_t owner_tid, uint64_t to_ns)
{
	struct lock_wait *wait = &waiting->wait;
	struct lock_span *last = wait->span_count ? &waiting->spans[wait->span_count - 1] : NULL;

	if (to_ns <= waiting->settled_ns)
		return;
	if (last && last->owner_tid == owner_tid) {
		last->end_ns = to_ns;
	} else {
		waiting->spans = vec_room(waiting->spans, wait->span_count, &waiting->span_cap,
					  sizeof(*waiting->spans));
		waiting->spans[wait->span_count++] =
			(struct lock_span){ waiting->settled_ns, to_ns, owner_tid };
	}
	waiting->settled_ns = to_ns;
}

/* The holders are about to change: what was up to now is noted in all waits. */
static void lock_settle(struct lock_tracker *tracker, struct lock *lock)
{
	for (size_t i = 0; i < lock->waiter_count; i++) {
		struct waiting *waiting = &tracker->waits[lock->waiters[i]];

		waiting_add_span(waiting, owner_now(lock, waiting), tracker->last_ns);
	}
}

static void forget_holders(struct lock_tracker *tracker, struct lock *lock, bool is_known)
{
	lock_settle(tracker, lock);
	lock->holder_count = 0;
	lock->is_known = is_known;
	if (tracker->ops.forgotten)
		tracker->ops.forgotten(tracker->context, (uint32_t)(lock - tracker->locks));
}

static struct lock_hold hold_of(uint32_t index, const struct holder *holder)
{
	return (struct lock_hold){ .lock = index,
				   .tid = holder->tid,
				   .kind = holder->kind,
				   .came = (enum lock_came)holder->came,
				   .site = holder->site,
				   .start_ns = holder->since_ns };
}

/* Holders that cannot be there any more when this kind of hold begins: their end was not told. */
static void drop_stale(struct lock *lock, uint8_t kind)
{
	size_t kept = 0;

	for (size_t i = 0; i < lock->holder_count; i++) {
		if (kind == LOCK_KIND_READ && lock->holders[i].kind == LOCK_KIND_READ)
			lock->holders[kept++] = lock->holders[i];
	}
	lock->holder_count = kept;
}

static void lock_take(struct lock_tracker *tracker, uint32_t index, const struct holder *holder)
{
	struct lock *lock = &tracker->locks[index];
	struct lock_hold hold = hold_of(index, holder);

	lock_settle(tracker, lock);
	drop_stale(lock, holder->kind);
	if (!lock->holder_count && tracker->ops.forgotten)
		tracker->ops.forgotten(tracker->context, index);
	lock->is_known = true;
	if (lock->holder_count < HOLDERS_MAX) {
		lock->holders = vec_room(lock->holders, lock->holder_count, &lock->holder_cap,
					 sizeof(*lock->holders));
		lock->holders[lock->holder_count++] = *holder;
	}
	if (tracker->ops.taken)
		tracker->ops.taken(tracker->context, &hold);
}

/* The holder that lets go; a mutex may be let go by another thread than took it. */
static size_t find_holder(const struct lock *lock, int32_t tid, uint8_t kind)
{
	for (size_t i = lock->holder_count; i-- > 0;) {
		if (lock->holders[i].tid == tid)
			return i;
	}
	return kind != LOCK_KIND_READ && lock->holder_count == 1 ? 0 : SIZE_MAX;
}

static void let_go(struct lock_tracker *tracker, uint32_t index, int32_t tid, uint8_t kind)
{
	struct lock *lock = &tracker->locks[index];
	size_t at = find_holder(lock, tid, kind);
	struct lock_hold hold;

	lock_settle(tracker, lock);
	if (at == SIZE_MAX) { /* taken before anything was told: now it is known */
		lock->is_known |= kind != LOCK_KIND_READ;
		return;
	}
	hold = hold_of(index, &lock->holders[at]);
	hold.end_ns = tracker->last_ns;
	memmove(&lock->holders[at], &lock->holders[at + 1],
		(lock->holder_count - at - 1) * sizeof(*lock->holders));
	lock->holder_count--;
	if (tracker->ops.released)
		tracker->ops.released(tracker->context, &hold);
}

/* ----------------------------------------------------------------------- waits */

static void remove_waiter(struct lock *lock, uint32_t at)
{
	for (size_t i = 0; i < lock->waiter_count; i++) {
		if (lock->waiters[i] != at)
			continue;
		lock->waiters[i] = lock->waiters[--lock->waiter_count];
		return;
	}
}

static bool has_owner(uint8_t kind)
{
	return kind != LOCK_KIND_COND && kind != LOCK_KIND_BARRIER;
}

/* The thread's open wait, taken from it; NULL when it has none. */
static struct waiting *take_wait(struct lock_tracker *tracker, int32_t tid)
{
	uint64_t *index = map_find(&tracker->tids, (uint32_t)tid);
	struct waiting *waiting;

	if (!index || !*index)
		return NULL;
	waiting = &tracker->waits[*index - 1];
	if (has_owner(waiting->wait.kind)) {
		lock_settle(tracker, &tracker->locks[waiting->wait.lock]);
		waiting_add_span(waiting, LOCK_OWNER_UNKNOWN, tracker->last_ns);
		remove_waiter(&tracker->locks[waiting->wait.lock], (uint32_t)*index - 1);
	}
	waiting->used = false;
	waiting->next_free = tracker->first_free;
	tracker->first_free = (uint32_t)*index;
	*index = 0;
	return waiting;
}

static uint32_t free_place(struct lock_tracker *tracker)
{
	uint32_t at = tracker->first_free;

	if (at) {
		tracker->first_free = tracker->waits[at - 1].next_free;
		return at - 1;
	}
	tracker->waits = vec_room(tracker->waits, tracker->wait_count, &tracker->wait_cap,
				  sizeof(*tracker->waits));
	tracker->waits[tracker->wait_count] = (struct waiting){ 0 };
	return (uint32_t)tracker->wait_count++;
}

static void begin_wait(struct lock_tracker *tracker, uint32_t index, const struct event *event,
		       uint8_t kind)
{
	const struct ev_user_lock *told = &event->user_lock;
	struct lock *lock = &tracker->locks[index];
	uint32_t at;
	struct waiting *waiting;

	(void)take_wait(tracker, event->tid); /* one whose end was lost */
	/* Where waits alone are told, the lock itself knows better who holds it. */
	if (!tracker->processes[lock->process].tells_all && has_owner(kind))
		forget_holders(tracker, lock, false);
	at = free_place(tracker);
	waiting = &tracker->waits[at];
	waiting->used = true;
	waiting->hint = told->owner > 0 ? told->owner : 0;
	waiting->mutex = told->mutex;
	waiting->settled_ns = event->time_ns;
	waiting->wait = (struct lock_wait){ .lock = index,
					    .tid = event->tid,
					    .kind = kind,
					    .site = told->site,
					    .start_ns = event->time_ns };
	map_put(&tracker->tids, (uint32_t)event->tid, at + 1);
	if (tracker->ops.begun)
		tracker->ops.begun(tracker->context, index, event->tid);
	if (!has_owner(kind) || lock->waiter_count == WAITERS_MAX)
		return;
	lock->waiters = vec_room(lock->waiters, lock->waiter_count, &lock->waiter_cap,
				 sizeof(*lock->waiters));
	lock->waiters[lock->waiter_count++] = at;
}

static void tell_wait(struct lock_tracker *tracker, struct waiting *waiting, int32_t result,
		      bool is_open)
{
	waiting->wait.end_ns = tracker->last_ns;
	waiting->wait.result = result;
	waiting->wait.is_open = is_open;
	waiting->wait.spans = waiting->spans;
	if (tracker->ops.wait)
		tracker->ops.wait(tracker->context, &waiting->wait);
}

/* Returns where the wait's call came from; 0 when its begin was not told. */
static uint64_t end_wait(struct lock_tracker *tracker, uint32_t index, const struct event *event)
{
	struct waiting *waiting = take_wait(tracker, event->tid);

	if (!waiting || waiting->wait.lock != index)
		return 0;
	tell_wait(tracker, waiting, event->user_lock.result, false);
	return waiting->wait.site;
}

/* ---------------------------------------------------------------------- events */

static bool has_taken(int32_t result)
{
	return result == 0 || result == EOWNERDEAD;
}

static void on_wait_end(struct lock_tracker *tracker, uint32_t index, const struct event *event)
{
	const struct ev_user_lock *told = &event->user_lock;
	uint64_t site = end_wait(tracker, index, event);

	if (has_owner(told->kind) && has_taken(told->result))
		lock_take(tracker, index,
			  &(struct holder){ event->tid, told->kind, LOCK_CAME_AFTER_WAIT, site,
					    event->time_ns });
}

static void on_cond_begin(struct lock_tracker *tracker, uint32_t index, const struct event *event)
{
	const struct ev_user_lock *told = &event->user_lock;

	let_go(tracker, lock_of(tracker, told->pid, told->mutex, LOCK_KIND_MUTEX), event->tid,
	       LOCK_KIND_MUTEX);
	begin_wait(tracker, index, event, LOCK_KIND_COND);
}

static void on_cond_end(struct lock_tracker *tracker, uint32_t index, const struct event *event)
{
	const struct ev_user_lock *told = &event->user_lock;
	uint64_t site = end_wait(tracker, index, event);

	if (told->result != EPERM) /* else the mutex was not the caller's */
		lock_take(tracker, lock_of(tracker, told->pid, told->mutex, LOCK_KIND_MUTEX),
			  &(struct holder){ event->tid, LOCK_KIND_MUTEX, LOCK_CAME_AFTER_COND, site,
					    event->time_ns });
}

/* Another program in the same process, or another process with the same number. */
static void on_begin(struct lock_tracker *tracker, int32_t pid)
{
	uint32_t index = tracker_process(tracker, pid);

	if (tracker->processes[index].has_begun)
		index = tracker_add_process(tracker, pid);
	tracker->processes[index].has_begun = true;
}

static void on_lock(struct lock_tracker *tracker, const struct event *event, uint8_t kind)
{
	const struct ev_user_lock *told = &event->user_lock;
	uint32_t index = lock_of(tracker, told->pid, told->address, kind);

	if (told->op == USER_LOCK_ACQUIRED || told->op == USER_LOCK_RELEASED)
		tracker->processes[tracker->locks[index].process].tells_all = true;
	switch ((enum user_lock_op)told->op) {
	case USER_LOCK_ACQUIRED:
		lock_take(tracker, index,
			  &(struct holder){ event->tid, kind, LOCK_CAME_AT_ONCE, told->site,
					    event->time_ns });
		break;
	case USER_LOCK_RELEASED:
		let_go(tracker, index, event->tid, kind);
		break;
	case USER_LOCK_WAIT_BEGIN:
		begin_wait(tracker, index, event, kind);
		break;
	case USER_LOCK_WAIT_END:
		on_wait_end(tracker, index, event);
		break;
	case USER_LOCK_COND_BEGIN:
		on_cond_begin(tracker, index, event);
		break;
	case USER_LOCK_COND_END:
		on_cond_end(tracker, index, event);
		break;
	case USER_LOCK_DESTROYED:
		forget_holders(tracker, &tracker->locks[index], true);
		/* fall through */
	default:
		if (tracker->ops.touched)
			tracker->ops.touched(tracker->context, index, told->op);
		break;
	}
}

/* Whatever was lost may have changed any lock. */
static void on_lost(struct lock_tracker *tracker)
{
	for (size_t i = 0; i < tracker->wait_count; i++) {
		struct waiting *waiting = &tracker->waits[i];

		if (!waiting->used)
			continue;
		if (has_owner(waiting->wait.kind))
			forget_holders(tracker, &tracker->locks[waiting->wait.lock], false);
		waiting->hint = 0;
	}
	tracker->holes++; /* of the others when they are looked at: there may be many */
}

static uint8_t user_wait_kind(const struct ev_user_lock *told)
{
	switch ((enum user_lock_op)told->op) {
	case USER_LOCK_COND_BEGIN:
	case USER_LOCK_COND_END:
	case USER_LOCK_SIGNAL:
	case USER_LOCK_BROADCAST:
		return LOCK_KIND_COND;
	default:
		return told->kind < LOCK_KIND_COUNT ? told->kind : LOCK_KIND_UNKNOWN;
	}
}

/* A thread that ends while it waits got no lock. */
static void on_thread_exit(struct lock_tracker *tracker, int32_t tid)
{
	struct waiting *waiting = take_wait(tracker, tid);

	if (waiting)
		tell_wait(tracker, waiting, 0, true);
}

void lock_tracker_feed(struct lock_tracker *tracker, const struct event *event)
{
	const struct ev_user_lock *told = &event->user_lock;

	if (event->type != EV_LOST && event->type != EV_USER_LOCK && event->type != EV_SCHED_EXIT)
		return;
	if (event->time_ns > tracker->last_ns)
		tracker->last_ns = event->time_ns;
	if (event->type == EV_LOST) {
		on_lost(tracker);
	} else if (event->type == EV_SCHED_EXIT) {
		on_thread_exit(tracker, event->task.tid);
	} else if (told->op == USER_LOCK_BEGIN) {
		on_begin(tracker, told->pid);
	} else if (told->op == USER_LOCK_MODULE) {
		if (tracker->ops.module)
			tracker->ops.module(tracker->context, tracker_process(tracker, told->pid),
					    told);
	} else if (told->op < USER_LOCK_OP_COUNT) {
		on_lock(tracker, event, user_wait_kind(told));
	}
}

void lock_tracker_finish(struct lock_tracker *tracker, uint64_t end_ns)
{
	if (end_ns > tracker->last_ns)
		tracker->last_ns = end_ns;
	for (size_t i = 0; i < tracker->wait_count; i++) {
		struct waiting *waiting = &tracker->waits[i];

		if (waiting->used && take_wait(tracker, waiting->wait.tid) == waiting)
			tell_wait(tracker, waiting, 0, true);
	}
}

struct lock_identity lock_tracker_identity(const struct lock_tracker *tracker, uint32_t index)
{
	const struct lock *lock = &tracker->locks[index];

	return (struct lock_identity){ .process = lock->process,
				       .pid = tracker->processes[lock->process].pid,
				       .address = lock->address,
				       .kind = lock->kind };
}

bool lock_tracker_tells_all(const struct lock_tracker *tracker, uint32_t index)
{
	return tracker->processes[tracker->locks[index].process].tells_all;
}

uint32_t lock_tracker_process_count(const struct lock_tracker *tracker)
{
	return (uint32_t)tracker->process_count;
}

struct lock_tracker *lock_tracker_new(const struct lock_track_ops *ops, void *context)
{
	struct lock_tracker *tracker = xcalloc(1, sizeof(*tracker));

	tracker->ops = *ops;
	tracker->context = context;
	return tracker;
}

void lock_tracker_free(struct lock_tracker *tracker)
{
	if (!tracker)
		return;
	for (size_t i = 0; i < tracker->process_count; i++)
		map_fini(&tracker->processes[i].locks);
	for (size_t i = 0; i < tracker->lock_count; i++) {
		free(tracker->locks[i].holders);
		free(tracker->locks[i].waiters);
	}
	for (size_t i = 0; i < tracker->wait_count; i++)
		free(tracker->waits[i].spans);
	free(tracker->processes);
	free(tracker->locks);
	free(tracker->waits);
	map_fini(&tracker->pids);
	map_fini(&tracker->tids);
	free(tracker);
}

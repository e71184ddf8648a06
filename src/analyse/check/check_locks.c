/*
 * check_locks.c - how long threads waited for locks and held them, as they told themselves.
 *
 * Sums from the start of the trace, as all metrics are: what is under way counts up to the time
 * that is asked. Waits for conditions and barriers are none for a lock.
 */
#include <stdlib.h>

#include "analyse/check/check_int.h"
#include "analyse/locks/lock_track.h"
#include "base/mem.h"
#include "event/event.h"

struct lock_times {
	uint64_t held_ns, held_since_ns; /* at least one */
	uint64_t wait_ns, wait_since_ns;
	uint32_t held; /* so many now */
	bool waits;
};

struct check_locks {
	struct lock_tracker *tracker; /* owned */
	struct map tids;	      /* to index + 1 */
	struct map processes;	      /* that told of a lock */
	struct map holders;	      /* of locks that one thread has at a time: lock to tid */
	struct lock_times *times;     /* owned */
	size_t count, cap;
	uint64_t now_ns;
	bool is_told;
	bool tells_all; /* the process of the event at hand: not of waits alone */
	bool any_tells_all;
};

enum told {
	TOLD_WAITS = 1,
	TOLD_ALL
};

static struct lock_times *times_of(struct check_locks *locks, int32_t tid)
{
	bool is_new;
	uint64_t *index = map_add(&locks->tids, (uint32_t)tid, &is_new);

	if (is_new) {
		locks->times =
			vec_room(locks->times, locks->count, &locks->cap, sizeof(*locks->times));
		locks->times[locks->count++] = (struct lock_times){ 0 };
		*index = locks->count;
	}
	return &locks->times[*index - 1];
}

static void count_hold(struct check_locks *locks, int32_t tid)
{
	struct lock_times *times = times_of(locks, tid);

	if (times->held++ == 0)
		times->held_since_ns = locks->now_ns;
}

static void uncount_hold(struct check_locks *locks, int32_t tid)
{
	struct lock_times *times = times_of(locks, tid);

	if (times->held && --times->held == 0)
		times->held_ns += locks->now_ns - times->held_since_ns;
}

/* Taken again without having been let go, a lock is held once: by the one that has it now. */
static void on_taken(void *context, const struct lock_hold *hold)
{
	struct check_locks *locks = context;
	bool is_new;
	uint64_t *holder;

	if (!locks->tells_all) /* it would not tell of the end */
		return;
	count_hold(locks, hold->tid);
	if (hold->kind == LOCK_KIND_READ)
		return;
	holder = map_add(&locks->holders, hold->lock, &is_new);
	if (!is_new)
		uncount_hold(locks, (int32_t)(uint32_t)*holder);
	*holder = (uint32_t)hold->tid;
}

static void on_released(void *context, const struct lock_hold *hold)
{
	struct check_locks *locks = context;

	if (hold->kind == LOCK_KIND_READ || map_remove(&locks->holders, hold->lock))
		uncount_hold(locks, hold->tid);
}

static void set_waits(struct check_locks *locks, int32_t tid, bool waits)
{
	struct lock_times *times = times_of(locks, tid);

	if (times->waits)
		times->wait_ns += locks->now_ns - times->wait_since_ns;
	times->waits = waits;
	times->wait_since_ns = locks->now_ns;
}

struct check_locks *check_locks_new(void)
{
	static const struct lock_track_ops ops = { .taken = on_taken, .released = on_released };
	struct check_locks *locks = xcalloc(1, sizeof(*locks));

	locks->tracker = lock_tracker_new(&ops, locks);
	return locks;
}

void check_locks_free(struct check_locks *locks)
{
	if (!locks)
		return;
	lock_tracker_free(locks->tracker);
	map_fini(&locks->tids);
	map_fini(&locks->processes);
	map_fini(&locks->holders);
	free(locks->times);
	free(locks);
}

/* Where a program tells of waits alone, who holds what is not known. */
static void note_process(struct check_locks *locks, int32_t tgid, uint8_t op)
{
	bool is_new;
	uint64_t *told = map_add(&locks->processes, (uint32_t)tgid, &is_new);

	if (is_new)
		*told = TOLD_WAITS;
	if (op == USER_LOCK_ACQUIRED || op == USER_LOCK_RELEASED)
		*told = TOLD_ALL;
	locks->tells_all = *told == TOLD_ALL;
	locks->any_tells_all |= locks->tells_all;
	locks->is_told = true;
}

void check_locks_feed(struct check_locks *locks, const struct event *event, int32_t tgid)
{
	const struct ev_user_lock *told = &event->user_lock;
	bool is_lock = told->kind != LOCK_KIND_BARRIER && told->kind != LOCK_KIND_COND;

	if (event->time_ns > locks->now_ns)
		locks->now_ns = event->time_ns;
	note_process(locks, tgid, told->op);
	if (is_lock && (told->op == USER_LOCK_WAIT_BEGIN || told->op == USER_LOCK_WAIT_END))
		set_waits(locks, event->tid, told->op == USER_LOCK_WAIT_BEGIN);
	lock_tracker_feed(locks->tracker, event);
}

void check_locks_exit(struct check_locks *locks, int32_t tid, uint64_t time_ns)
{
	struct lock_times *times;

	if (!map_find(&locks->tids, (uint32_t)tid))
		return;
	times = times_of(locks, tid);
	if (time_ns > locks->now_ns)
		locks->now_ns = time_ns;
	set_waits(locks, tid, false);
	if (times->held)
		times->held_ns += locks->now_ns - times->held_since_ns;
	times->held = 0;
}

bool check_locks_tell(const struct check_locks *locks, int32_t tgid, bool is_held)
{
	const uint64_t *told = map_find(&locks->processes, (uint32_t)tgid);

	if (tgid < 0)
		return is_held ? locks->any_tells_all : locks->is_told;
	return told && (!is_held || *told == TOLD_ALL);
}

uint64_t check_locks_at(struct check_locks *locks, int32_t tid, uint64_t time_ns, bool is_held)
{
	const struct lock_times *times;

	if (tid < 0 || !map_find(&locks->tids, (uint32_t)tid))
		return 0;
	times = times_of(locks, tid);
	if (is_held)
		return times->held_ns + (times->held ? time_ns - times->held_since_ns : 0);
	return times->wait_ns + (times->waits ? time_ns - times->wait_since_ns : 0);
}

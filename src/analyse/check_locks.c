/*
 * check_locks.c - how long threads waited for locks and held them, as they told themselves.
 *
 * Sums from the start of the trace, as all metrics are: what is under way counts up to the time
 * that is asked. Waits for conditions and barriers are none for a lock.
 */
#include <stdlib.h>

#include "analyse/check_int.h"
#include "analyse/lock_track.h"
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
	struct lock_times *times;     /* owned */
	size_t count, cap;
	uint64_t now_ns;
	bool is_told;
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

static void on_taken(void *context, const struct lock_hold *hold)
{
	struct check_locks *locks = context;
	struct lock_times *times = times_of(locks, hold->tid);

	if (times->held++ == 0)
		times->held_since_ns = locks->now_ns;
}

static void on_released(void *context, const struct lock_hold *hold)
{
	struct check_locks *locks = context;
	struct lock_times *times = times_of(locks, hold->tid);

	if (times->held && --times->held == 0)
		times->held_ns += locks->now_ns - times->held_since_ns;
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
	free(locks->times);
	free(locks);
}

void check_locks_feed(struct check_locks *locks, const struct event *event, int32_t tgid)
{
	const struct ev_user_lock *told = &event->user_lock;
	bool is_lock = told->kind != LOCK_KIND_BARRIER && told->kind != LOCK_KIND_COND;

	if (event->time_ns > locks->now_ns)
		locks->now_ns = event->time_ns;
	if (tgid >= 0)
		map_put(&locks->processes, (uint32_t)tgid, 1);
	locks->is_told = true;
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

bool check_locks_tell(const struct check_locks *locks, int32_t tgid)
{
	return locks->is_told && (tgid < 0 || map_find(&locks->processes, (uint32_t)tgid));
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

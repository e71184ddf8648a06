/* others_locks.c - a lane for each lock: of programs, as lock_track.h tells; of the kernel, by contention. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/locks/lock_names.h"
#include "analyse/locks/lock_track.h"
#include "analyse/locks/locks.h"
#include "analyse/others/others_int.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/kernel_lock.h"

#define KERNEL_WAITS_MAX 65536u
#define TOLD_BYTES	 4096u
#define TEXT_BYTES	 256u
#define CLOCKS_NS	 50000u /* two clocks differ by so much at most */
#define CONDITION_WEIGHT \
	1000u /* who waits for a condition is mostly idle: other locks come first */

struct lock_lane {
	uint32_t lane;
	uint32_t holders, waiters;
	uint64_t address; /* kernel */
	uint32_t flags;	  /* kernel: of all waits */
	uint32_t told;	  /* kernel: name id; 0 = nothing was told */
	bool is_idle;	  /* a condition, or a barrier */
};

/* A thread that waits for a lock of the kernel's. */
struct kernel_wait {
	uint32_t lock; /* index */
	int32_t tid;
	int32_t owner;
	uint64_t start_ns;
};

struct others_locks {
	struct others *others;
	struct lock_tracker *tracker; /* owned */
	struct lock_names *names;     /* owned */
	struct names told;
	struct lock_lane
		*locks; /* owned; those of programs by the tracker's index, then the kernel's */
	size_t count, cap;
	struct lock_lane *kernel; /* owned */
	size_t kernel_count, kernel_cap;
	struct map by_address, kernel_waits; /* to indices */
	struct map owners, owner_ns;	     /* of waits: who had it as was told, and when */
	struct kernel_wait *waits;	     /* owned; places are used again */
	size_t wait_count, wait_cap;
	uint32_t *free_waits; /* owned */
	size_t free_count, free_cap;
	struct map waiting; /* thread -> lock of a program + 1 */
	uint64_t told_ns;   /* by programs; they are read apart from the kernel's events */
};

static void show(struct others_locks *locks, const struct lock_lane *lock, uint64_t time_ns)
{
	uint32_t state = lock->holders && lock->waiters ? OTHER_LOCK_CONTENDED
			 : lock->waiters		? OTHER_LOCK_WAITED
			 : lock->holders		? OTHER_LOCK_HELD
							: 0;

	others_set(locks->others, lock->lane, time_ns, state);
}

static void add_weight(struct others_locks *locks, const struct lock_lane *lock, uint64_t ns)
{
	if (lock->lane != OTHERS_NONE)
		locks->others->lanes[lock->lane].weight +=
			lock->is_idle ? ns / CONDITION_WEIGHT : ns;
}

/* ------------------------------------------------------------ locks of programs */

static struct lock_lane *program_lock(struct others_locks *locks, uint32_t index)
{
	struct lock_identity is = lock_tracker_identity(locks->tracker, index);

	while (index >= locks->count) {
		locks->locks =
			vec_room(locks->locks, locks->count, &locks->cap, sizeof(*locks->locks));
		locks->locks[locks->count++] = (struct lock_lane){ .lane = OTHERS_NONE };
	}
	if (!locks->locks[index].address) {
		locks->locks[index].address = is.address ? is.address : 1;
		locks->locks[index].is_idle =
			is.kind == LOCK_KIND_COND || is.kind == LOCK_KIND_BARRIER;
		locks->locks[index].lane =
			others_new_lane(locks->others, OTHER_LOCKS, SERIES_STATES, xstrdup(""));
	}
	return &locks->locks[index];
}

static void on_taken(void *context, const struct lock_hold *hold)
{
	struct others_locks *locks = context;
	struct lock_lane *lock = program_lock(locks, hold->lock);

	/* Else nobody will tell when it lets go. */
	if (!lock_tracker_tells_all(locks->tracker, hold->lock))
		return;
	lock->holders++;
	show(locks, lock, locks->told_ns);
}

static void on_released(void *context, const struct lock_hold *hold)
{
	struct others_locks *locks = context;
	struct lock_lane *lock = program_lock(locks, hold->lock);
	const struct other_span span = { .start_ns = hold->start_ns,
					 .end_ns = hold->end_ns,
					 .tid = hold->tid,
					 .what = OTHER_HOLD };

	lock->holders -= lock->holders != 0;
	show(locks, lock, locks->told_ns);
	others_put_span(locks->others, lock->lane, &span);
}

static void on_forgotten(void *context, uint32_t index)
{
	struct others_locks *locks = context;
	struct lock_lane *lock = program_lock(locks, index);

	lock->holders = 0;
	show(locks, lock, locks->told_ns);
}

static void leave(struct others_locks *locks, int32_t tid)
{
	const uint64_t *index = map_find(&locks->waiting, (uint32_t)tid);
	struct lock_lane *lock;

	if (!index)
		return;
	lock = &locks->locks[*index];
	lock->waiters -= lock->waiters != 0;
	show(locks, lock, locks->told_ns);
	(void)map_remove(&locks->waiting, (uint32_t)tid);
}

static void on_begun(void *context, uint32_t index, int32_t tid)
{
	struct others_locks *locks = context;
	struct lock_lane *lock;

	leave(locks, tid); /* of one whose end was lost */
	lock = program_lock(locks, index);
	lock->waiters++;
	map_put(&locks->waiting, (uint32_t)tid, index);
	show(locks, lock, locks->told_ns);
}

/* Who had it longest while it was waited for; 0 = nobody, or not known. */
static int32_t main_owner(const struct lock_wait *wait)
{
	const struct lock_span *longest = NULL;

	for (size_t i = 0; i < wait->span_count; i++) {
		const struct lock_span *span = &wait->spans[i];

		if (!longest || span->end_ns - span->start_ns > longest->end_ns - longest->start_ns)
			longest = span;
	}
	return longest && longest->owner_tid > 0 ? longest->owner_tid : 0;
}

static void on_wait(void *context, const struct lock_wait *wait)
{
	struct others_locks *locks = context;
	struct lock_lane *lock = program_lock(locks, wait->lock);
	const struct other_span span = { .start_ns = wait->start_ns,
					 .end_ns = wait->end_ns,
					 .tid = wait->tid,
					 .other_tid = main_owner(wait),
					 .what = OTHER_WAIT };

	leave(locks, wait->tid);
	add_weight(locks, lock, wait->end_ns - wait->start_ns);
	others_put_span(locks->others, lock->lane, &span);
}

static void on_module(void *context, uint32_t process, const struct ev_user_lock *module)
{
	lock_names_add(((struct others_locks *)context)->names, process, module);
}

/* Holders before a hole are not known behind it. */
static void forget_holders(struct others_locks *locks)
{
	for (size_t i = 0; i < locks->count; i++) {
		locks->locks[i].holders = 0;
		show(locks, &locks->locks[i], locks->told_ns);
	}
}

void others_feed_lock(struct others *others, const struct event *event)
{
	struct others_locks *locks = others->locks;

	locks->told_ns = event->time_ns;
	if (event->type == EV_LOST)
		forget_holders(locks);
	lock_tracker_feed(locks->tracker, event);
}

/* ---------------------------------------------------------- locks of the kernel */

static uint32_t kernel_lock(struct others_locks *locks, uint64_t address)
{
	bool is_new;
	uint64_t *index = map_add(&locks->by_address, address, &is_new);

	if (is_new) {
		*index = locks->kernel_count;
		locks->kernel = vec_room(locks->kernel, locks->kernel_count, &locks->kernel_cap,
					 sizeof(*locks->kernel));
		locks->kernel[locks->kernel_count++] = (struct lock_lane){
			.address = address,
			.lane = others_new_lane(locks->others, OTHER_LOCKS, SERIES_STATES,
						xstrdup("")),
		};
	}
	return (uint32_t)*index;
}

static uint64_t others_lock_key(uint64_t who, uint64_t address)
{
	return who * UINT64_C(0x9e3779b97f4a7c15) ^ address;
}

/* Of a thread, or of an idle task's CPU. */
static uint64_t wait_key(const struct event *event)
{
	return others_lock_key(event->tid > 0 ? (uint32_t)event->tid
					      : UINT64_C(1) << 32 | event->cpu,
			       event->lock.address);
}

/* Who has the lock, as the recorder told just before the wait began; 0 = it did not. */
static int32_t told_owner(struct others_locks *locks, uint64_t key, uint64_t time_ns)
{
	const uint64_t *owner = map_find(&locks->owners, key),
		       *ns = map_find(&locks->owner_ns, key);

	return owner && *ns + CLOCKS_NS > time_ns ? (int32_t)*owner : 0;
}

static uint32_t new_wait(struct others_locks *locks)
{
	if (locks->free_count)
		return locks->free_waits[--locks->free_count];
	locks->waits =
		vec_room(locks->waits, locks->wait_count, &locks->wait_cap, sizeof(*locks->waits));
	return (uint32_t)locks->wait_count++;
}

static void on_contention(struct others_locks *locks, const struct event *event)
{
	uint32_t index = kernel_lock(locks, event->lock.address);
	struct lock_lane *lock = &locks->kernel[index];
	uint64_t key = wait_key(event);
	bool is_new;
	uint64_t *place;

	if (locks->kernel_waits.count >= KERNEL_WAITS_MAX)
		others_locks_lost(locks, event->time_ns);
	place = map_add(&locks->kernel_waits, key, &is_new);
	/* A mutex spins first: that is not what kind of lock it is. */
	lock->flags |=
		event->lock.flags & KERNEL_LOCK_MUTEX ? KERNEL_LOCK_MUTEX : event->lock.flags;
	if (!is_new)
		return; /* it goes from spinning to sleeping */
	*place = new_wait(locks);
	locks->waits[*place] = (struct kernel_wait){
		.lock = index,
		.tid = event->tid > 0 ? event->tid : 0,
		.owner = told_owner(locks, key, event->time_ns),
		.start_ns = event->time_ns,
	};
	lock->waiters++;
	show(locks, lock, event->time_ns);
}

static void put_kernel_wait(struct others_locks *locks, const struct kernel_wait *wait,
			    uint64_t end_ns)
{
	const struct lock_lane *lock = &locks->kernel[wait->lock];
	const struct other_span span = { .start_ns = wait->start_ns,
					 .end_ns = end_ns,
					 .tid = wait->tid,
					 .other_tid = wait->owner,
					 .what = OTHER_WAIT };

	add_weight(locks, lock, end_ns - wait->start_ns);
	others_put_span(locks->others, lock->lane, &span);
}

static void on_contention_end(struct others_locks *locks, const struct event *event)
{
	uint64_t key = wait_key(event);
	const uint64_t *place = map_find(&locks->kernel_waits, key);
	struct lock_lane *lock;

	if (!place)
		return; /* it began before the recording, or in a hole */
	lock = &locks->kernel[locks->waits[*place].lock];
	put_kernel_wait(locks, &locks->waits[*place], event->time_ns);
	locks->free_waits = vec_room(locks->free_waits, locks->free_count, &locks->free_cap,
				     sizeof(*locks->free_waits));
	locks->free_waits[locks->free_count++] = (uint32_t)*place;
	lock->waiters -= lock->waiters != 0;
	show(locks, lock, event->time_ns);
	(void)map_remove(&locks->kernel_waits, key);
}

/* It comes beside the begin of a wait, a little before or behind it. */
static void on_told(struct others_locks *locks, const struct event *event)
{
	const struct ev_fd_name *told = &event->fd_name;
	uint64_t key = others_lock_key((uint32_t)told->tid, told->inode);
	int32_t owner = fd_owner(told->fd);
	const uint64_t *place;
	uint32_t lock;

	if (told->watch != FD_LOCK)
		return;
	lock = kernel_lock(locks, told->inode);
	if (told->name && told->name[0])
		locks->kernel[lock].told = names_add(&locks->told, told->name, TOLD_BYTES);
	if (!owner || locks->owners.count > KERNEL_WAITS_MAX)
		return;
	map_put(&locks->owners, key, (uint32_t)owner);
	map_put(&locks->owner_ns, key, event->time_ns);
	place = map_find(&locks->kernel_waits, key);
	if (place)
		locks->waits[*place].owner = owner;
}

void others_locks_kernel(struct others_locks *locks, const struct event *event)
{
	if (event->type == EV_LOCK_BEGIN)
		on_contention(locks, event);
	else if (event->type == EV_LOCK_END)
		on_contention_end(locks, event);
	else
		on_told(locks, event);
}

/* Ends of waits may lie in the hole. */
void others_locks_lost(struct others_locks *locks, uint64_t time_ns)
{
	for (size_t i = 0; i < locks->kernel_count; i++) {
		locks->kernel[i].waiters = 0;
		show(locks, &locks->kernel[i], time_ns);
	}
	map_fini(&locks->kernel_waits);
	locks->kernel_waits = (struct map){ 0 };
	locks->wait_count = locks->free_count = 0;
}

/* ------------------------------------------------------------------------ names */

static void name_program_locks(struct others_locks *locks)
{
	for (size_t i = 0; i < locks->count; i++) {
		const struct lock_lane *lock = &locks->locks[i];
		struct lock_identity is = lock_tracker_identity(locks->tracker, (uint32_t)i);
		AUTO_FREE char *name = NULL;
		struct other_lane *lane;

		if (lock->lane == OTHERS_NONE)
			continue;
		name = lock_names_find(locks->names, is.process, is.address);
		lane = &locks->others->lanes[lock->lane];
		free(lane->label);
		lane->label = name ? xasprintf("%s %s", locks_kind_name(is.kind), name)
				   : xasprintf("%s 0x%" PRIx64 " of process %d",
					       locks_kind_name(is.kind), is.address, is.pid);
	}
}

static void name_kernel_locks(struct others_locks *locks)
{
	for (size_t i = 0; i < locks->kernel_count; i++) {
		const struct lock_lane *lock = &locks->kernel[i];
		char text[TEXT_BYTES];

		if (lock->lane == OTHERS_NONE)
			continue;
		kernel_lock_text(locks->others->opts.facts, names_text(&locks->told, lock->told),
				 lock->flags, lock->address, text, sizeof(text));
		free(locks->others->lanes[lock->lane].label);
		locks->others->lanes[lock->lane].label = xstrdup(text);
	}
}

void others_locks_name(struct others_locks *locks)
{
	name_program_locks(locks);
	name_kernel_locks(locks);
}

void others_locks_end(struct others_locks *locks, uint64_t end_ns)
{
	for (size_t i = 0; i < locks->kernel_waits.cap; i++) {
		if (locks->kernel_waits.used[i])
			put_kernel_wait(locks, &locks->waits[locks->kernel_waits.slots[i].value],
					end_ns);
	}
	locks->told_ns = end_ns;
	lock_tracker_finish(locks->tracker, end_ns);
	others_locks_name(locks);
}

struct others_locks *others_locks_new(struct others *others)
{
	static const struct lock_track_ops ops = { .taken = on_taken,
						   .released = on_released,
						   .begun = on_begun,
						   .wait = on_wait,
						   .forgotten = on_forgotten,
						   .module = on_module };
	struct others_locks *locks = xcalloc(1, sizeof(*locks));

	locks->others = others;
	locks->tracker = lock_tracker_new(&ops, locks);
	locks->names = lock_names_new();
	return locks;
}

void others_locks_free(struct others_locks *locks)
{
	if (!locks)
		return;
	lock_tracker_free(locks->tracker);
	lock_names_free(locks->names);
	names_fini(&locks->told);
	map_fini(&locks->by_address);
	map_fini(&locks->kernel_waits);
	map_fini(&locks->owners);
	map_fini(&locks->owner_ns);
	map_fini(&locks->waiting);
	free(locks->locks);
	free(locks->kernel);
	free(locks->waits);
	free(locks->free_waits);
	free(locks);
}

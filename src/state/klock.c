/*
 * klock.c - kernel locks: which one a thread waits for, and who had it.
 *
 * The events of a wait have an address and the kind of lock. The recorder may tell more (FD_LOCK), with the
 * time when the wait began, by another clock: so it is told a moment before or after the event of that. Short waits
 * are not told of each: a lock that one thread of the process was told of a moment ago is the same still.
 */
#include "state/state_int.h"

#include "base/mem.h"
#include "event/facts.h"
#include "event/kernel_lock.h"

#define CLOCKS_NS 50000u     /* two clocks differ by so much at most */
#define KNOWN_NS  100000000u /* what was told of a lock is not believed for longer */

static uint32_t text_id(struct state *state, const char *told, uint32_t flags, uint64_t address)
{
	char text[4096];

	kernel_lock_text(state->facts, told, flags, address, text, sizeof(text));
	return names_add(&state->tl->names, text, sizeof(text));
}

/* What was told of the lock, to a thread of the same process. */
static const struct known_lock *known_lock(const struct state *state, const struct thread *thread)
{
	const uint64_t *index = map_find(&state->lock_index, thread->lock);
	const struct known_lock *known = index ? &state->locks[*index] : NULL;

	if (!known || known->tgid != thread->tl->tgid || state->now_ns - known->time_ns > KNOWN_NS)
		return NULL;
	return known;
}

static bool is_told(const struct thread *thread)
{
	uint64_t told = thread->told_lock_ns, began = thread->lock_ns;

	return thread->told_lock == thread->lock &&
	       (told > began ? told - began : began - told) < CLOCKS_NS;
}

static void describe_owner(struct state *state, struct thread *thread, struct wait *wait)
{
	if (!is_told(thread) || thread->told_owner == SLOT_NONE ||
	    thread->told_owner == thread->slot || wait->origin.time_ns)
		return;
	wait->flags |= WAIT_OWNED;
	wait->origin = (struct actor){ .slot = thread->told_owner,
				       .word = thread->told_word,
				       .kind = ACTOR_THREAD };
	(void)state;
}

void klock_describe(struct state *state, struct thread *thread, struct wait *wait)
{
	const struct known_lock *known;

	if (!thread->lock)
		return;
	known = known_lock(state, thread);
	wait->object = known ? known->name : text_id(state, "", thread->lock_flags, thread->lock);
	wait->fd = -1;
	wait->flags |= WAIT_LOCK;
	describe_owner(state, thread, wait);
}

void klock_begin(struct state *state, struct thread *thread, const struct event *ev)
{
	bool spins = ev->lock.flags & KERNEL_LOCK_SPIN;

	/* Nobody sleeps for a spin lock, but spins within the code of one that he sleeps for. */
	if (spins && !(ev->lock.flags & KERNEL_LOCK_MUTEX))
		return;
	/* Of one wait there are several: it spins, sleeps, wakes up and finds it taken by another one. */
	if (thread->lock != ev->lock.address || thread->lock_flags & KERNEL_LOCK_SPIN)
		thread->lock_ns = spins ? 0 : ev->time_ns;
	else if (!thread->lock_ns && !spins)
		thread->lock_ns = ev->time_ns;
	thread->lock = ev->lock.address;
	thread->lock_flags = ev->lock.flags;
	(void)state;
}

struct known_lock *klock_place(struct state *state, uint64_t address)
{
	bool is_new;
	uint64_t *index = map_add(&state->lock_index, address, &is_new);

	if (is_new) {
		*index = state->lock_count;
		state->locks = vec_room(state->locks, state->lock_count, &state->lock_cap,
					sizeof(*state->locks));
		state->lock_count++;
	}
	return &state->locks[*index];
}

/* In which call it is, whatever interrupts it there. */
static uint32_t doing(const struct thread *thread)
{
	uint8_t depth = thread->depth;

	while (depth > 1 && word_is_irq(thread->frames[depth - 1]))
		depth--;
	return thread->frames[depth - 1];
}

void klock_told(struct state *state, const struct event *ev)
{
	struct thread *thread = state_living(state, ev->fd_name.tid);
	int32_t owner = fd_owner(ev->fd_name.fd);
	const struct thread *other = owner ? state_living(state, owner) : NULL;
	struct wait *wait;
	uint32_t name;

	if (!thread)
		return;
	name = text_id(state, ev->fd_name.name ? ev->fd_name.name : "", thread->lock_flags,
		       ev->fd_name.inode);
	*klock_place(state, ev->fd_name.inode) =
		(struct known_lock){ ev->time_ns, name, ev->fd_name.tgid };
	thread->told_lock = ev->fd_name.inode;
	thread->told_lock_ns = ev->time_ns;
	thread->told_owner = other ? other->slot : SLOT_NONE;
	thread->told_word = other ? doing(other) : 0;
	if (thread->sched != SCHED_BLOCKED || thread->lock != thread->told_lock ||
	    thread->wait < thread->tl->wait_base || thread->wait >= thread->tl->wait_count)
		return;
	wait = tl_wait(thread->tl, thread->wait);
	if (!wait->woken_ns && wait->flags & WAIT_LOCK) {
		wait->object = name;
		describe_owner(state, thread, wait);
	}
}

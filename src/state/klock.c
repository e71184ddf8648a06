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

#define CLOCKS_NS 50000u /* what is told is before the event by so much at most */
#define TEXT_MAX  4096
#define KNOWN_NS  100000000u /* what was told of a lock is not believed for longer */

static uint32_t text_id(struct state *state, const char *told, uint32_t flags, uint64_t address)
{
	char text[TEXT_MAX];

	kernel_lock_text(state->facts, told, flags, address, text, sizeof(text));
	return names_add(&state->tl->names, text, sizeof(text));
}

/*
 * Of this wait: an earlier one for that lock began earlier. The two tell of it one after the other, and the
 * thread's CPU may be taken away in between.
 */
static bool is_told(const struct thread *thread)
{
	return thread->told_lock == thread->lock &&
	       thread->told_lock_ns + CLOCKS_NS > thread->lock_ns;
}

/* What was told of the lock: of this wait, or a moment ago to a thread of the same process. */
static const struct known_lock *known_lock(const struct state *state, const struct thread *thread)
{
	const uint64_t *index = map_find(&state->lock_index, thread->lock);
	const struct known_lock *known = index ? &state->locks[*index] : NULL;

	if (!known || is_told(thread))
		return known;
	if (known->tgid != thread->tl->tgid || state->now_ns - known->time_ns > KNOWN_NS)
		return NULL;
	return known;
}

static void describe_owner(const struct thread *thread, struct wait *wait)
{
	if (!is_told(thread) || thread->told_owner == SLOT_NONE ||
	    thread->told_owner == thread->slot || wait->origin.time_ns)
		return;
	wait->flags |= WAIT_OWNED;
	wait->origin = (struct actor){ .slot = thread->told_owner,
				       .word = thread->told_word,
				       .kind = ACTOR_THREAD };
}

void klock_describe(struct state *state, struct thread *thread, struct wait *wait)
{
	const struct known_lock *known;

	if (!thread->lock)
		return;
	known = known_lock(state, thread);
	wait->object = text_id(state, known ? timeline_name(state->tl, known->told) : "",
			       thread->lock_flags, thread->lock);
	wait->fd = -1;
	wait->flags |= WAIT_LOCK;
	describe_owner(thread, wait);
}

void klock_begin(struct thread *thread, const struct event *ev)
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
	const char *text = ev->fd_name.name ? ev->fd_name.name : "";
	struct wait *wait;

	if (!thread)
		return;
	/* In words it comes when a wait for it is told of: what kind of lock it is, the wait knows. */
	*klock_place(state, ev->fd_name.inode) =
		(struct known_lock){ ev->time_ns, names_add(&state->tl->names, text, TEXT_MAX),
				     ev->fd_name.tgid };
	thread->told_lock = ev->fd_name.inode;
	thread->told_lock_ns = ev->time_ns;
	thread->told_owner = other ? other->slot : SLOT_NONE;
	thread->told_word = other ? doing(other) : 0;
	if ((thread->sched == SCHED_BLOCKED || thread->sched == SCHED_UNKNOWN) && !thread->lock) {
		/* It has waited since before the recording, or its event was lost. */
		thread->lock = thread->told_lock;
		thread->lock_ns = thread->told_lock_ns;
		thread->lock_flags = 0;
	}
	if (thread->sched != SCHED_BLOCKED || thread->lock != thread->told_lock ||
	    thread->wait < thread->tl->wait_base || thread->wait >= thread->tl->wait_count)
		return;
	wait = tl_wait(thread->tl, thread->wait);
	if (!wait->woken_ns) {
		wait->flags |= WAIT_LOCK;
		wait->fd = -1;
		wait->object = text_id(state, text, thread->lock_flags, thread->lock);
		describe_owner(thread, wait);
	}
}

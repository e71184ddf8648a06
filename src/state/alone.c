/*
 * alone.c - who is left that could end a wait at a futex of its process, by exclusion.
 *
 *	waits at a private futex, without a time limit	only a thread of its process can wake it
 *	   ... and so do all of those but one		that one has to begin: it wakes it, or one that does
 *	joins one of the process	that one has to end before it, and is looked at itself
 *
 * A handler of a signal may wake threads as well, so that this is never known, only inferred.
 */
#include "state/ends.h"

bool alone_awaits(const struct state *state, const struct thread *thread, const struct wait *wait)
{
	uint32_t op = (uint32_t)thread->call_args[1], command = op & FUTEX_CMD_MASK;

	return is_in_call(thread, wait) && call_of(state, thread)->kind == CALL_FUTEX &&
	       op & FUTEX_PRIVATE &&
	       (command == FUTEX_CMD_WAIT || command == FUTEX_CMD_WAIT_BITSET) &&
	       !thread->call_args[FUTEX_LIMIT];
}

uint32_t alone_joined(struct state *state, const struct thread *thread)
{
	uint32_t op = (uint32_t)thread->call_args[1], command = op & FUTEX_CMD_MASK;
	const struct thread *other;

	if (op & FUTEX_PRIVATE || (command != FUTEX_CMD_WAIT && command != FUTEX_CMD_WAIT_BITSET))
		return SLOT_NONE;
	other = state_living(state, (int32_t)thread->call_args[2]);
	return other && other != thread && other->process && other->process == thread->process
		       ? other->slot
		       : SLOT_NONE;
}

/* Until a thread of its own process ends, and with no time limit. */
static bool joins(struct state *state, const struct thread *thread, const struct wait *wait)
{
	return is_in_call(thread, wait) && call_of(state, thread)->kind == CALL_FUTEX &&
	       !thread->call_args[FUTEX_LIMIT] && alone_joined(state, thread) != SLOT_NONE;
}

static bool is_asleep(struct state *state, const struct thread *thread)
{
	const struct wait *wait = wait_now(thread);

	return wait && !wait->woken_ns && !(wait->flags & (WAIT_STOPPED | WAIT_LOST)) &&
	       (alone_awaits(state, thread, wait) || joins(state, thread, wait));
}

struct left alone_left(struct state *state, const struct thread *thread)
{
	struct left left = { .slot = SLOT_NONE };
	uint32_t unseen = thread->process->refs; /* each has one */

	for (uint32_t i = 0; i < state->tl->thread_count && unseen && left.count < 2; i++) {
		const struct thread *other = state->threads[i];

		if (other->process != thread->process)
			continue;
		unseen--;
		if (other == thread || other->sched == SCHED_DEAD || is_asleep(state, other))
			continue;
		left.slot = left.count ? SLOT_NONE : i;
		left.count++;
	}
	return left;
}

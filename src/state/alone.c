/*
 * alone.c - who is left that could end a wait at a futex of its process, by exclusion.
 *
 *	waits at a private futex, without a time limit	only a thread of its process can wake it
 *	   ... and so do all of those but one		that one has to begin: it wakes it, or one that does
 *
 * A handler of a signal may wake threads as well, so that this is never known, only inferred.
 */
#include "state/ends.h"

#define FUTEX_PRIVATE	  128u
#define FUTEX_WAIT	  0u
#define FUTEX_WAIT_BITSET 9u

bool alone_awaits(const struct state *state, const struct thread *thread, const struct wait *wait)
{
	uint32_t op = (uint32_t)thread->call_args[1], command = op & FUTEX_CMD_MASK;

	return thread->call_nr >= 0 && word_kind(wait->in) == WORD_SYSCALL &&
	       (word_call(wait->in) & 0xffff) == ((uint32_t)thread->call_nr & 0xffff) &&
	       call_of(state, thread)->kind == CALL_FUTEX && op & FUTEX_PRIVATE &&
	       (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) &&
	       !thread->call_args[FUTEX_LIMIT];
}

static bool is_asleep(const struct state *state, const struct thread *thread)
{
	const struct wait *wait;

	if (thread->sched != SCHED_BLOCKED || thread->wait < thread->tl->wait_base ||
	    thread->wait >= thread->tl->wait_count)
		return false;
	wait = tl_wait(thread->tl, thread->wait);
	return !wait->woken_ns && !(wait->flags & (WAIT_STOPPED | WAIT_LOST)) &&
	       alone_awaits(state, thread, wait);
}

struct left alone_left(const struct state *state, const struct thread *thread)
{
	struct left left = { .slot = SLOT_NONE };

	for (uint32_t i = 0; i < state->tl->thread_count && left.count < 2; i++) {
		const struct thread *other = state->threads[i];

		if (other == thread || other->process != thread->process ||
		    other->sched == SCHED_DEAD || is_asleep(state, other))
			continue;
		left.slot = left.count ? SLOT_NONE : i;
		left.count++;
	}
	return left;
}

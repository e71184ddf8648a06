/*
 * again.c - what the recorder told of a call, for the same call made again.
 *
 *	futex A ──timer── futex A ──timer── futex A ──timer── futex A ── killed
 *	            looked at: T has it
 *
 * The recorder looks at those that sleep now and then, so that of waits with a short limit only some are told of. Where
 * the time of one is up and the thread asks for the same with the same arguments, what was told still is so, as
 * far as can be inferred: who lets go of a lock wakes who waits for it. No wait has its name from that: only
 * who is awaited, if the last one of them does not end.
 */
#include <errno.h>
#include <string.h>

#include "state/state_int.h"

#define FUTEX_WAIT	  0u
#define FUTEX_WAIT_BITSET 9u

/* So many of the first arguments tell what is waited for; 0 = that is no such call. */
static size_t args_that_tell(const struct state *state, const struct thread *thread)
{
	const struct call *call = call_of(state, thread);
	uint32_t command = (uint32_t)thread->call_args[1] & FUTEX_CMD_MASK;

	if (call->kind == CALL_FUTEX)
		return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET ? 3 : 0;
	if (call->kind != CALL_POLL)
		return 0;
	return strstr(call->name, "select") ? 4 : 2;
}

/* Nothing that another thread did ended it. */
static bool ran_out(const struct state *state, const struct thread *thread, int64_t ret)
{
	return call_of(state, thread)->kind == CALL_FUTEX ? ret == -ETIMEDOUT : ret == 0;
}

void again_leave(const struct state *state, struct thread *thread, int64_t ret)
{
	struct again *again = &thread->again;
	bool is_told = thread->held_ns == thread->call_ns && thread->held != SLOT_NONE;

	if (!args_that_tell(state, thread))
		return;
	if (!ran_out(state, thread, ret)) {
		*again = (struct again){ .nr = -1, .held = SLOT_NONE };
		return;
	}
	again->nr = thread->call_nr;
	memcpy(again->args, thread->call_args, sizeof(again->args));
	if (is_told) {
		again->held = thread->held;
		again->held_by = thread->held_by;
	}
	if (thread->poll_count)
		again->poll_count = thread->poll_count;
}

void again_enter(const struct state *state, struct thread *thread)
{
	struct again *again = &thread->again;
	size_t count = args_that_tell(state, thread);

	if (count && (again->nr != thread->call_nr ||
		      memcmp(again->args, thread->call_args, count * sizeof(*again->args)) != 0))
		*again = (struct again){ .nr = -1, .held = SLOT_NONE };
}

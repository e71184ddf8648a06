/*
 * supervised.c - threads that another process may stop, or answer for.
 *
 *	ptrace    a thread is stopped and has a tracer: that one lets it go on, by a call of ptrace()
 *	seccomp   a system call is put to a supervisor (SECCOMP_RET_USER_NOTIF) before it begins: only
 *	          its end is recorded, or its beginning when the supervisor lets it go on
 */
#include "state/state_int.h"

#define REQUEST_TRACEME 0
#define REQUEST_ATTACH	16
#define REQUEST_DETACH	17
#define REQUEST_SEIZE	0x4206u
#define NOTIF_SEND	0xc0182101u /* SECCOMP_IOCTL_NOTIF_SEND */

static bool is_in(const struct state *state, const struct thread *thread, const char *call)
{
	const char *name = thread->in_call ? call_of(state, thread)->name : NULL;

	return name && strcmp(name, call) == 0;
}

void supervised_ptrace(struct state *state, struct thread *thread)
{
	uint64_t request = thread->call_args[0];
	struct thread *other;

	if (request == REQUEST_TRACEME) {
		thread->tracer = thread->tl->parent;
		return;
	}
	other = thread->call_args[1] <= INT32_MAX
			? state_living(state, (int32_t)thread->call_args[1])
			: NULL;
	if (!other || other == thread)
		return;
	if (request == REQUEST_ATTACH || request == REQUEST_SEIZE)
		other->tracer = thread->slot;
	else if (request == REQUEST_DETACH && other->tracer == thread->slot)
		other->tracer = SLOT_NONE;
}

void supervised_stops(const struct thread *thread, struct wait *wait)
{
	if (thread->tracer == SLOT_NONE || thread->tracer == thread->slot)
		return;
	wait->flags |= WAIT_EXPECTS;
	wait->origin = (struct actor){ .slot = thread->tracer, .kind = ACTOR_THREAD };
}

void supervised_at_wake(struct state *state, const struct thread *waker, struct thread *thread,
			struct wait *wait)
{
	enum word_kind in = word_kind(wait->in);

	if (wait->flags & WAIT_STOPPED && is_in(state, waker, "ptrace")) {
		thread->tracer = waker->slot;
		supervised_stops(thread, wait);
	}
	if ((in != WORD_USER && in != WORD_TRAP && in != WORD_RUN) ||
	    !is_in(state, waker, "ioctl") || (uint32_t)waker->call_args[1] != NOTIF_SEND)
		return;
	wait->in = word_make(WORD_USER, 0);
	wait->object = names_add(&state->tl->names, "the answer of its supervisor (seccomp)", 64);
	wait->fd = -1;
	thread->answered = true;
}

void supervised_call(struct thread *thread, uint32_t word)
{
	if (!thread->answered)
		return;
	thread->answered = false;
	if (thread->tl->wait_count)
		tl_wait(thread->tl, thread->tl->wait_count - 1)->in = word;
}

/*
 * used.c - what a thread used lately: which of the threads that share it may have to do with it.
 *
 * Of descriptors it is the last few that its calls were about. Of System V's queues and semaphores,
 * which nobody has, it is the last one that it was let do with what it asked for.
 *
 * Who reads from one and writes to another passes on what came, until it reads again, or answers.
 */
#include "state/state_int.h"

static bool is_about_fd(const struct call *call)
{
	return call->kind == CALL_FD || call->kind == CALL_ACCEPT || call->kind == CALL_CONNECT;
}

void used_enter(struct thread *thread, const struct call *call)
{
	int32_t used;

	if (!is_about_fd(call))
		return;
	used = (int32_t)((uint32_t)thread->call_args[call->arg] + 1);
	if (thread->used_fd[0] == used)
		return;
	memmove(&thread->used_fd[1], &thread->used_fd[0],
		sizeof(thread->used_fd) - sizeof(thread->used_fd[0]));
	thread->used_fd[0] = used;
}

/* A kind and its number; 0 = it is about none. */
static uint64_t ipc_of(const struct call *call, const uint64_t *args)
{
	if (call->kind != CALL_SEM && call->kind != CALL_MSG)
		return 0;
	return (uint64_t)call->kind << 32 | (uint32_t)args[0];
}

static void note_passed(struct thread *thread, const struct call *call, int64_t moved)
{
	int32_t fd = (int32_t)((uint32_t)thread->call_args[0] + 1);

	if (moved < 0)
		return;
	if (call->moves == MOVES_OUT) {
		thread->came_fd = fd == thread->passed_fd ? 0 : fd; /* an answer, or a part of it */
		thread->passed_fd = 0;
	} else if (fd == thread->came_fd) { /* answered */
		thread->came_fd = thread->passed_fd = 0;
	} else if (thread->came_fd) {
		thread->passed_fd = fd;
	}
}

void used_leave(struct thread *thread, const struct call *call, const struct event *ev)
{
	uint64_t what = ev->syscall.ret >= 0 ? ipc_of(call, thread->call_args) : 0;

	if (call->moves && call->moves != MOVES_LOOKS)
		note_passed(thread, call, ev->syscall.ret);
	if (!what)
		return;
	thread->used_ipc = what;
	thread->used_ipc_ns = ev->time_ns;
}

const struct thread *used_ipc_last(const struct state *state, const struct thread *thread)
{
	uint64_t what = ipc_of(call_of(state, thread), thread->call_args);
	const struct thread *last = NULL;

	for (uint32_t i = 0; what && i < state->tl->thread_count; i++) {
		const struct thread *other = state->threads[i];

		if (other != thread && other->sched != SCHED_DEAD && other->used_ipc == what &&
		    (!last || other->used_ipc_ns > last->used_ipc_ns))
			last = other;
	}
	return last;
}

static bool has_used(const struct state *state, const struct thread *thread, uint32_t name)
{
	for (size_t i = 0; i < USED_FDS; i++) {
		const struct object *object = fds_find(state, thread, thread->used_fd[i] - 1);

		if (object && object->name == name)
			return true;
	}
	return false;
}

uint32_t used_only_by(const struct state *state, const struct process *process, uint32_t name)
{
	uint32_t only = SLOT_NONE;

	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		const struct thread *thread = state->threads[i];

		if (thread->process != process || thread->sched == SCHED_DEAD ||
		    !has_used(state, thread, name))
			continue;
		if (only != SLOT_NONE)
			return SLOT_NONE;
		only = i;
	}
	return only;
}

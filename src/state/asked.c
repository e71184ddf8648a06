/*
 * asked.c - what a call asked for in vain: the path or the peer that it was given, and who had the lock.
 *
 * The recorder tells of it while the call goes on, or a moment after it. A sleep that follows is for
 * that, most likely, and who had the lock is who it sleeps for.
 */
#include "state/state_int.h"

#include <errno.h>

#include "event/facts.h"

#define LOOKS_MAX UINT64_C(100000000) /* descriptors, for all of a trace: a bound on time */
#define BACK	  8u		      /* entries between the end of a call and what is told of it */

uint32_t asked_about(const struct state *state, uint32_t name)
{
	return word_about_name(names_text(&state->tl->names, name), true);
}

uint32_t asked_about_both(const struct state *state, uint32_t from, uint32_t to)
{
	return word_about_both(asked_about(state, from), asked_about(state, to));
}

static bool has_file(const struct state *state, const struct process *process, uint32_t name)
{
	for (size_t i = 0; i < process->fds.cap; i++) {
		const struct object *object =
			process->fds.used[i] ? fds_object(state, process->fds.slots[i].value)
					     : NULL;

		if (object && object->name == name)
			return true;
	}
	return false;
}

/* The one process beside 'own' that has the file open. */
static const struct process *only_one_with(struct state *state, const struct process *own,
					   const char *file)
{
	uint32_t name = names_add(&state->tl->names, file, 4096);
	const struct process *only = NULL;

	for (size_t i = 0; i < state->processes.cap; i++) {
		const struct process *process =
			state->processes.used[i]
				? (struct process *)(uintptr_t)state->processes.slots[i].value
				: NULL;

		if (!process || process == own)
			continue;
		state->file_looks += process->fds.cap + 1;
		if (state->file_looks > LOOKS_MAX)
			return NULL;
		if (!has_file(state, process, name))
			continue;
		if (only)
			return NULL;
		only = process;
	}
	return only;
}

/*
 * The thread of the process that has the lock. flock() tells who took it, who may have ended since and
 * left it to another one; a lock of an open file tells nobody.
 */
static uint32_t holder_of(struct state *state, const struct thread *thread,
			  const struct ev_fd_name *name)
{
	int32_t pid = (int32_t)(uint32_t)name->inode;
	const struct process *process = pid > 0 ? process_find(state, pid) : NULL;
	const struct thread *leader;
	uint32_t slot;

	if (!process)
		process = only_one_with(state, thread->process, name->name ? name->name : "");
	if (!process || process == thread->process)
		return SLOT_NONE;
	slot = expect_thread(state, thread, process);
	leader = state_living(state, process->tgid);
	if (slot != SLOT_NONE)
		return slot;
	return leader && leader->process == process ? leader->slot : SLOT_NONE;
}

static void lock_is_held(struct state *state, struct thread *thread, const struct ev_fd_name *name)
{
	thread->held = holder_of(state, thread, name);
	thread->held_ns = thread->call_ns;
	thread->left = names_add(&state->tl->names, name->name ? name->name : "", 4096);
}

/* The call has ended, and its end was written before it was told what it was about. */
static void amend_about(struct thread *thread, uint32_t about)
{
	struct track *track = &thread->tl->track;

	for (uint32_t i = track->count; i > track->base && i + BACK > track->count; i--) {
		uint32_t was = track_at(track, i - 1)->word;
		uint32_t word = was & ~(((1u << WORD_ABOUT_BITS) - 1) << WORD_ABOUT_SHIFT);

		if (word_kind(was) == WORD_SYSCALL || word_kind(was) == WORD_BLOCKED)
			return;
		if (word_kind(was) != WORD_USER)
			continue;
		if (thread->word == was)
			thread->word = word | about;
		track_amend(track, i - 1, track_time(track, i - 1), word | about);
		return;
	}
}

static void path_is_asked(struct state *state, struct thread *thread, const struct ev_fd_name *name)
{
	uint32_t told = names_add(&state->tl->names, name->name ? name->name : "", 4096);

	if (thread->told)
		thread->told_also = told;
	else
		thread->told = told;
	if (name->inode == EEXIST || name->inode == ECONNREFUSED)
		thread->left = told;
	if (thread->in_call)
		return;
	if (name->inode)
		thread->asked = told;
	amend_about(thread, thread->told_also
				    ? asked_about_both(state, thread->told, thread->told_also)
				    : asked_about(state, told));
}

/* mkdir, flock -n: what such a child asked for a shell sleeps for. */
void asked_leave(const struct state *state, const struct thread *thread)
{
	uint32_t slot = thread->tl->parent;
	struct thread *parent =
		thread->left && slot < state->tl->thread_count ? state->threads[slot] : NULL;

	if (!parent || parent->process == thread->process || parent->sched == SCHED_DEAD)
		return;
	parent->child_asked = thread->left;
	parent->child_held = thread->held;
}

static void program_is_run(struct state *state, struct thread *thread,
			   const struct ev_fd_name *name)
{
	struct thread *leader = state_living(state, thread->tl->tgid);

	if (leader && name->name && *name->name)
		leader->tl->cmdline = names_add(&state->tl->names, name->name, 4096);
}

/* What is told of no descriptor alone. */
void asked_on_name(struct state *state, struct thread *thread, const struct ev_fd_name *name)
{
	switch ((enum fd_watch)name->watch) {
	case FD_HELD:
		lock_is_held(state, thread, name);
		return;
	case FD_ASKED:
		path_is_asked(state, thread, name);
		return;
	case FD_RUNS:
		program_is_run(state, thread, name);
		return;
	default:
		return;
	}
}

/*
 * asked.c - what a call asked for in vain: the path or the peer that it was given, and who had the lock.
 *
 * The recorder tells of it while the call goes on, or a moment after it. A sleep that follows is for
 * that, most likely, and who had the lock is who it sleeps for.
 */
#include "state/state_int.h"

#include <errno.h>
#include <string.h>

#include "event/facts.h"

#define LOOKS_MAX    UINT64_C(100000000) /* descriptors, for all of a trace: a bound on time */
#define STEPS_UP     64u		 /* from a process to one above it */
#define HAVE_MAX     16u
#define BACK	     8u	 /* entries between the end of a call and what is told of it */
#define CONNECT_BACK 64u /* the same, from the end of a connection back to its connect() */

uint32_t asked_about(const struct state *state, uint32_t name)
{
	return word_about_name(names_text(&state->tl->names, name), true);
}

uint32_t asked_about_both(const struct state *state, uint32_t from, uint32_t to)
{
	return word_about_both(asked_about(state, from), asked_about(state, to));
}

/* Devices, and what the kernel makes up as it is read: nobody writes there for who looks. */
static bool is_made_up(const char *name)
{
	if (word_is_of_process(name))
		return false; /* its end is seen there */
	return strncmp(name, "/dev/", strlen("/dev/")) == 0
		       ? strncmp(name, "/dev/shm/", strlen("/dev/shm/")) != 0
		       : strncmp(name, "/proc/", strlen("/proc/")) == 0 ||
				 strncmp(name, "/sys/", strlen("/sys/")) == 0;
}

uint32_t asked_content_name(const struct state *state, const struct thread *thread, int64_t fd)
{
	const struct object *object = fds_find(state, thread, (int32_t)fd);
	const char *name = object ? names_text(&state->tl->names, object->name) : "";

	if (!object ||
	    (object->role != FD_ROLE_FILE && object->role != FD_ROLE_DIR &&
	     object->role != FD_ROLE_UNKNOWN) ||
	    *name != '/' || is_made_up(name))
		return 0;
	return object->name;
}

uint32_t asked_about_content(const struct state *state, const struct thread *thread, int64_t fd)
{
	uint32_t name = asked_content_name(state, thread, fd);

	return name ? asked_about(state, name) : 0;
}

void asked_looked(const struct state *state, struct thread *thread, int64_t fd)
{
	uint32_t name = thread->told ? thread->told : asked_content_name(state, thread, fd);

	if (!name)
		return;
	thread->looked = name;
	thread->looked_by = word_make(WORD_SYSCALL, ((uint32_t)thread->call_nr & 0xffff) |
							    (thread->compat ? WORD_COMPAT : 0));
}

void asked_tell_looked(struct thread *thread, struct wait *wait)
{
	struct actor *origin = &wait->origin;

	if (thread->looked && !(wait->flags & (WAIT_ASKED | WAIT_EXPECTS)) && !origin->time_ns &&
	    !origin->name && origin->slot == SLOT_NONE && origin->kind == ACTOR_NONE) {
		origin->name = thread->looked;
		origin->word = thread->looked_by;
	}
	thread->looked = thread->looked_by = 0;
}

/* Is 'one' the parent of 'other', or further up? */
static bool is_above(struct state *state, const struct process *one, const struct process *other)
{
	const struct thread *thread = state_living(state, other->tgid);
	uint32_t slot = thread ? thread->slot : SLOT_NONE;

	for (uint32_t i = 0; i < STEPS_UP && slot < state->tl->thread_count; i++) {
		slot = state->tl->threads[slot]->parent;
		if (slot < state->tl->thread_count && state->tl->threads[slot]->tgid == one->tgid)
			return true;
	}
	return false;
}

/* Who asks by a descriptor that it has from there: the lock of that open file is what it asks for. */
static bool is_lender(struct state *state, const struct process *process, const struct process *own,
		      int32_t fd, uint32_t name)
{
	const uint64_t *lent = map_find(&process->fds, (uint32_t)fd);
	const struct object *object = lent ? fds_object(state, *lent) : NULL;

	return object && object->name == name && is_above(state, process, own);
}

/* Processes beside 'own' that have the file open. Returns how many; HAVE_MAX + 1 = it is not known. */
static size_t all_with(struct state *state, const struct process *own,
		       const struct ev_fd_name *file, const struct process *out_have[HAVE_MAX])
{
	uint32_t name = names_add(&state->tl->names, file->name ? file->name : "", 4096);
	size_t count = 0;

	for (size_t i = 0; i < state->processes.cap; i++) {
		const struct process *process =
			state->processes.used[i]
				? (struct process *)(uintptr_t)state->processes.slots[i].value
				: NULL;

		if (!process || process == own)
			continue;
		state->file_looks += process->fds.cap + 1;
		if (state->file_looks > LOOKS_MAX)
			return HAVE_MAX + 1;
		if (!process_has(state, process, name) ||
		    (own && is_lender(state, process, own, file->fd, name)))
			continue;
		if (count == HAVE_MAX)
			return HAVE_MAX + 1;
		out_have[count++] = process;
	}
	return count;
}

/* The one process beside 'own' that has the file open, or the one above all that have: they have it from there. */
static const struct process *only_one_with(struct state *state, const struct process *own,
					   const struct ev_fd_name *file, const char **out_why)
{
	const struct process *have[HAVE_MAX];
	size_t count = all_with(state, own, file, have);

	*out_why = count == 1 ? BY_TAKER_GONE : BY_TAKER_GONE_FAMILY;
	for (size_t i = 0; i < count && count <= HAVE_MAX; i++) {
		size_t below = 0;

		for (size_t k = 0; k < count; k++)
			below += k != i && is_above(state, have[i], have[k]);
		if (below + 1 == count)
			return have[i];
	}
	return NULL;
}

/* The thread of the process that has the lock. */
static uint32_t thread_with_lock(struct state *state, const struct thread *thread,
				 const struct process *process)
{
	uint32_t slot = expect_thread(state, thread, process);
	const struct thread *leader = state_living(state, process->tgid);

	if (slot != SLOT_NONE)
		return slot;
	return leader && leader->process == process ? leader->slot : SLOT_NONE;
}

/* The call was broken off in its sleep, and that was written before it was told who had the lock. */
static void lock_was_awaited(const struct thread *thread)
{
	struct wait *wait;

	if (thread->in_call || thread->held == SLOT_NONE ||
	    thread->wait < thread->call_first_wait || thread->wait < thread->tl->wait_base ||
	    thread->wait >= thread->tl->wait_count)
		return;
	wait = tl_wait(thread->tl, thread->wait);
	if (!wait->woken_ns || !wait->waker.signal || wait->origin.slot != SLOT_NONE)
		return;
	wait->flags |= WAIT_EXPECTS;
	wait->origin = (struct actor){ .slot = thread->held,
				       .kind = ACTOR_THREAD,
				       .name = thread->held_by };
}

/*
 * flock() tells who took it, who may have ended since and left it to another one; a lock of an open
 * file tells nobody. Then it is inferred who has it.
 */
static void lock_is_held(struct state *state, struct thread *thread, const struct ev_fd_name *name)
{
	int32_t pid = (int32_t)(uint32_t)name->inode;
	const struct process *process = pid > 0 ? process_find(state, pid) : NULL;

	thread->held = SLOT_NONE;
	thread->held_by = 0;
	thread->held_ns = thread->call_ns;
	if (!process) {
		const char *why;

		process = only_one_with(state, thread->process, name, &why);
		thread->held_by = names_add(&state->tl->names, why, 4096);
	}
	if (process && process != thread->process)
		thread->held = thread_with_lock(state, thread, process);
	thread->left = names_add(&state->tl->names, name->name ? name->name : "", 4096);
	thread->left_held = thread->held;
	lock_was_awaited(thread);
}

/* The call has ended, and its end was written before it was told what it was about. */
static void amend_about(struct thread *thread, uint32_t about)
{
	struct track *track = &thread->tl->track;

	for (uint32_t i = track->count; i > track->base && i + BACK > track->count; i--) {
		uint32_t was = track_at(track, i - 1)->word;
		uint32_t word = was & ~(WORD_ABOUT | WORD_CHANNEL);

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

void asked_open_is_named(const struct state *state, struct thread *thread, int32_t fd)
{
	enum call_kind kind = call_of(state, thread)->kind;
	struct track *track = &thread->tl->track;

	if (thread->in_call || thread->told || (kind != CALL_OPEN && kind != CALL_FD))
		return;
	for (uint32_t i = track->count; i > track->base && i + BACK > track->count; i--) {
		uint32_t was = track_at(track, i - 1)->word;

		if (word_kind(was) == WORD_SYSCALL || word_kind(was) == WORD_BLOCKED)
			return;
		if (word_kind(was) != WORD_USER)
			continue;
		if (!word_error(was) && !word_was_about(was) &&
		    (kind == CALL_FD || word_has(was, WORD_MADE)))
			amend_about(thread, about_of_call(state, thread, fd));
		return;
	}
}

void asked_after_connect(struct thread *thread, int64_t ret)
{
	if (ret == -EINPROGRESS)
		thread->connecting = (uint32_t)thread->call_args[0] + 1;
}

/* Whose connect() left that descriptor under way: where any thread runs any task, seldom who asks for its end. */
static struct thread *who_connects(struct state *state, struct thread *thread, uint32_t fd)
{
	if (thread->connecting == fd + 1)
		return thread;
	for (uint32_t i = 0; i < state->tl->thread_count && state->file_looks++ < LOOKS_MAX; i++) {
		if (state->threads[i] && state->threads[i]->connecting == fd + 1 &&
		    state->threads[i]->process == thread->process)
			return state->threads[i];
	}
	return thread;
}

/*
 * connect() was under way as it returned, and getsockopt(SO_ERROR) tells how it ended: that is the end
 * of connect(), as if that had waited for it.
 */
static void connect_has_ended(struct state *state, struct thread *thread, uint32_t told,
			      uint32_t error)
{
	struct thread *began = who_connects(state, thread, (uint32_t)thread->call_args[0]);
	struct track *track = &began->tl->track;

	began->connecting = 0;
	for (uint32_t i = track->count; i > track->base && i + CONNECT_BACK > track->count; i--) {
		uint32_t was = track_at(track, i - 1)->word;
		uint32_t word = word_make(WORD_USER, error) | asked_about(state, told);

		if (word_error(was) != EINPROGRESS)
			continue;
		if (began->word == was)
			began->word = word;
		track_amend(track, i - 1, track_time(track, i - 1), word);
		break;
	}
	if (!error) {
		fds_connected(state, thread, (int32_t)thread->call_args[0]);
		return;
	}
	thread->left = told;
	thread->left_held = SLOT_NONE;
}

static void path_is_asked(struct state *state, struct thread *thread, const struct ev_fd_name *name)
{
	uint32_t told = names_add(&state->tl->names, name->name ? name->name : "", 4096);
	const char *call = call_of(state, thread)->name; /* NULL = none that is known */

	if (call && strcmp(call, "getsockopt") == 0) {
		connect_has_ended(state, thread, told, (uint32_t)name->inode & WORD_ERRORS);
		return;
	}
	if (thread->told)
		thread->told_also = told;
	else
		thread->told = told;
	if (name->inode == EEXIST || name->inode == ECONNREFUSED) {
		thread->left = told;
		thread->left_held = SLOT_NONE;
	}
	if (thread->in_call)
		return;
	if (name->inode)
		thread->asked = told;
	else if (call && strstr(call, "stat"))
		asked_looked(state, thread, -1);
	amend_about(thread, thread->told_also
				    ? asked_about_both(state, thread->told, thread->told_also)
				    : asked_about(state, told));
}

/* mkdir, flock -n: what such a child asked for a shell sleeps for. */
void asked_leave(const struct state *state, const struct thread *thread)
{
	uint32_t slot = thread->tl->parent;
	struct thread *parent = slot < state->tl->thread_count ? state->threads[slot] : NULL;

	if (!parent || parent->process == thread->process || parent->sched == SCHED_DEAD)
		return;
	if (thread->looked) {
		parent->looked = thread->looked;
		parent->looked_by = thread->looked_by;
	}
	if (!thread->left)
		return;
	parent->child_asked = thread->left;
	parent->child_held = thread->left_held;
}

static void program_is_run(struct state *state, struct thread *thread,
			   const struct ev_fd_name *name)
{
	struct thread *leader = state_living(state, thread->tl->tgid);

	if (leader && name->name && *name->name)
		leader->tl->cmdline = names_add(&state->tl->names, name->name, 4096);
}

/* The last thread of that number, of the process of 'thread', that has ended; NULL = there was none. */
static const struct thread *ended_thread(const struct state *state, const struct thread *thread,
					 int32_t tid)
{
	uint32_t slot = timeline_find_thread(state->tl, tid, UINT64_MAX);

	for (; slot != SLOT_NONE; slot = state->tl->next_same_tid[slot]) {
		const struct thread *other = state->threads[slot];

		if (other->tl->tgid == thread->tl->tgid && other->sched == SCHED_DEAD)
			return other;
	}
	return NULL;
}

/*
 * Who has the mutex that the call under way asks for: a thread that lives, also the one that asks, or one of its
 * process that has ended with it. What is none of these was something else.
 */
static void mutex_is_held(struct state *state, struct thread *thread, const struct ev_fd_name *name)
{
	int32_t tid = (int32_t)(uint32_t)name->inode;
	const struct thread *owner = state_living(state, tid);

	thread->held = SLOT_NONE;
	thread->held_by = 0;
	thread->held_ns = thread->call_ns;
	if (!owner)
		owner = ended_thread(state, thread, tid);
	if (!owner || (!owner->process && owner->sched != SCHED_DEAD))
		return;
	if (name->inode & FD_OWNER_INFERRED)
		thread->held_by =
			names_add(&state->tl->names, BY_GLIBC_OWNER, sizeof(BY_GLIBC_OWNER));
	thread->held = owner->slot;
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
	case FD_OWNER:
		mutex_is_held(state, thread, name);
		return;
	default:
		return;
	}
}

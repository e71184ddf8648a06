/*
 * expect.c - who could have ended a wait that nobody ended.
 *
 * A wait that lasts to the end of the recording, or in which a signal came first, has no waker to
 * follow. What it waited for may tell who was awaited all the same:
 *
 *	a thread to end     glibc and musl wait for the word that the kernel clears, and tell the kernel
 *	                    its value, the thread's id (set_tid_address(2), futex(2))
 *	a pipe or FIFO      the one other process that has an end of it
 *	loopback TCP        the process that has the other end
 *	a pair of sockets   the one other process that has the other one
 *	a unix socket       the process that connected or accepted
 *	an eventfd          the one other process that has it
 *	a file lock         the process that has it, as the recorder saw
 *
 * It is told only where one process alone comes into question. Of a process of several threads it is
 * the one that woke the thread before, if any did.
 */
#include "state/state_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/facts.h"

#define FUTEX_PRIVATE	  128u
#define FUTEX_WAIT	  0u
#define FUTEX_WAIT_BITSET 9u
/* So many of a thread's waits are asked who woke it. */
#define WAITS_BACK 256u

struct end {
	uint32_t name;
	uint32_t object;
	struct process *process;
};

struct expecting {
	struct state *state;
	struct end *ends; /* owned; of pipes and connections, by name; made when first needed */
	size_t count, cap;
	bool is_made;
};

/* "tcp A->B", "unix 11->12" */
static bool has_two_names(const char *name)
{
	return (strncmp(name, "tcp ", 4) == 0 ||
		(strncmp(name, "unix ", 5) == 0 && name[5] >= '0' && name[5] <= '9')) &&
	       strstr(name, "->");
}

static bool has_ends(const char *name, uint8_t role)
{
	return role == FD_ROLE_PIPE || role == FD_ROLE_EVENTFD || strncmp(name, "pipe:[", 6) == 0 ||
	       strncmp(name, "unix", 4) == 0 || has_two_names(name);
}

static int by_name(const void *left, const void *right)
{
	const struct end *a = left, *b = right;

	return a->name != b->name ? (a->name < b->name ? -1 : 1) : 0;
}

static void add_ends(struct expecting *expecting, struct process *process)
{
	const struct state *state = expecting->state;

	for (size_t i = 0; i < process->fds.cap; i++) {
		const struct object *object =
			process->fds.used[i] ? fds_object(state, process->fds.slots[i].value)
					     : NULL;

		if (!object || !has_ends(names_text(&state->tl->names, object->name), object->role))
			continue;
		expecting->ends = vec_room(expecting->ends, expecting->count, &expecting->cap,
					   sizeof(*expecting->ends));
		expecting->ends[expecting->count++] =
			(struct end){ object->name, (uint32_t)(object - state->objects), process };
	}
}

static void make_ends(struct expecting *expecting)
{
	const struct map *processes = &expecting->state->processes;

	if (expecting->is_made)
		return;
	expecting->is_made = true;
	for (size_t i = 0; i < processes->cap; i++) {
		if (processes->used[i])
			add_ends(expecting, (struct process *)(uintptr_t)processes->slots[i].value);
	}
	if (expecting->count)
		qsort(expecting->ends, expecting->count, sizeof(*expecting->ends), by_name);
}

/*
 * The one process beside 'own' that has something of that name, but for 'object' itself: its other end. Of an
 * eventfd both have the same, by fork.
 */
static struct process *holder(struct expecting *expecting, uint32_t name, uint32_t object,
			      const struct process *own)
{
	uint32_t pair = expecting->state->objects[object].pair;
	bool is_shared = expecting->state->objects[object].role == FD_ROLE_EVENTFD;
	const struct end key = { .name = name };
	const struct end *at;
	struct process *only = NULL;

	make_ends(expecting);
	at = expecting->count
		     ? bsearch(&key, expecting->ends, expecting->count, sizeof(key), by_name)
		     : NULL;
	while (at && at > expecting->ends && at[-1].name == name)
		at--;
	for (; at && at < expecting->ends + expecting->count && at->name == name; at++) {
		bool same = at->object == object;

		if (at->process == own || same != is_shared || (pair && at->object != pair))
			continue;
		if (only && at->process != only)
			return NULL;
		only = at->process;
	}
	return only;
}

/* The number at the end of "unix PATH peer PID"; 0 = there is none. */
static int32_t peer_pid(const char *name)
{
	const char *peer = strncmp(name, "unix", 4) == 0 ? strstr(name, " peer ") : NULL;
	const char *more;

	while (peer && (more = strstr(peer + 1, " peer ")))
		peer = more;
	return peer ? (int32_t)strtol(peer + 6, NULL, 10) : 0;
}

/* Who is at the other end by its number, if it has a socket whose other end is this process. */
static const struct process *peer_of(struct state *state, const struct process *own,
				     const char *name)
{
	int32_t pid = peer_pid(name);
	const struct process *process =
		pid > 0 && pid != own->tgid ? process_find(state, pid) : NULL;

	for (size_t i = 0; process && i < process->fds.cap; i++) {
		const struct object *object =
			process->fds.used[i] ? fds_object(state, process->fds.slots[i].value)
					     : NULL;

		if (object && peer_pid(names_text(&state->tl->names, object->name)) == own->tgid)
			return process;
	}
	return NULL;
}

/* "tcp A->B" is the other end of "tcp B->A". */
static uint32_t other_end(struct state *state, const char *name)
{
	struct ends_name ends = { 0 };
	AUTO_FREE char *text = NULL;

	if (!ends_of_name(name, &ends))
		return 0;
	text = xasprintf("%.*s%s->%.*s", (int)ends.kind, name, name + ends.kind + ends.left + 2,
			 (int)ends.left, name + ends.kind);
	return names_add(&state->tl->names, text, 4096);
}

uint32_t expect_thread(struct state *state, const struct thread *thread,
		       const struct process *process)
{
	const struct thread *leader = state_living(state, process->tgid);
	uint32_t least = thread->tl->wait_base;

	if (process->refs == 1 && leader && leader->process == process)
		return leader->slot;
	if (thread->tl->wait_count > WAITS_BACK && thread->tl->wait_count - WAITS_BACK > least)
		least = thread->tl->wait_count - WAITS_BACK;
	for (uint32_t i = thread->tl->wait_count; i > least; i--) {
		const struct wait *wait = tl_wait(thread->tl, i - 1);

		if (wait->waker.kind == ACTOR_THREAD && wait->waker.slot != SLOT_NONE &&
		    state->threads[wait->waker.slot]->process == process)
			return wait->waker.slot;
	}
	return SLOT_NONE;
}

/* Who joins another thread waits for its id to be cleared: by the kernel, so the word is shared. */
static uint32_t joined(struct state *state, const struct thread *thread)
{
	uint32_t op = (uint32_t)thread->call_args[1];
	uint32_t command = op & FUTEX_CMD_MASK;
	const struct thread *other;

	if (op & FUTEX_PRIVATE || (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET))
		return SLOT_NONE;
	other = state_living(state, (int32_t)thread->call_args[2]);
	return other && other != thread && other->process && other->process == thread->process
		       ? other->slot
		       : SLOT_NONE;
}

static uint32_t other_side(struct expecting *expecting, const struct thread *thread,
			   const struct wait *wait)
{
	struct state *state = expecting->state;
	const struct object *object = fds_find(state, thread, wait->fd);
	const char *text = object ? names_text(&state->tl->names, object->name) : "";
	const struct process *process;
	uint32_t index, name;
	bool is_unix;

	if (!object || object->name != wait->object || !has_ends(text, object->role))
		return SLOT_NONE;
	index = (uint32_t)(object - state->objects);
	/* Who listens may have forked since, and its number be that of the process itself. */
	is_unix = strncmp(text, "unix", 4) == 0 && !object->pair && !has_two_names(text);
	process = is_unix ? peer_of(state, thread->process, text) : NULL;
	if (is_unix && !process && strncmp(text, "unix /", 6) != 0 &&
	    strncmp(text, "unix @", 6) != 0)
		return SLOT_NONE;
	name = has_two_names(text) ? other_end(state, text) : object->name;
	if (!process)
		process = holder(expecting, name, index, thread->process);
	return process ? expect_thread(state, thread, process) : SLOT_NONE;
}

/* Is the wait in the call that the thread is known to be in? */
static bool is_in_call(const struct thread *thread, const struct wait *wait)
{
	return word_kind(wait->in) == WORD_SYSCALL && thread->call_nr >= 0 &&
	       (word_call(wait->in) & 0xffff) == ((uint32_t)thread->call_nr & 0xffff);
}

static void expect(struct expecting *expecting, struct thread *thread, struct wait *wait)
{
	uint32_t slot = SLOT_NONE;

	/* Had it not let go of it in the meantime, and another one taken it, that would have been told. */
	if (wait->flags & WAIT_OWNED) {
		wait->flags |= WAIT_EXPECTS;
		return;
	}
	if (!thread->process || !is_in_call(thread, wait) || wait->flags & WAIT_STOPPED ||
	    wait->origin.slot != SLOT_NONE || wait->origin.time_ns)
		return;
	if (call_of(expecting->state, thread)->kind == CALL_RING)
		uring_awaits(expecting->state, thread,
			     wait); /* it may be taken from the ring late */
	if (call_of(expecting->state, thread)->kind == CALL_FUTEX)
		slot = joined(expecting->state, thread);
	else if (call_of(expecting->state, thread)->kind == CALL_FLOCK ||
		 call_of(expecting->state, thread)->kind == CALL_FCNTL)
		slot = thread->held_ns == thread->call_ns ? thread->held : SLOT_NONE;
	else if (!(wait->flags & WAIT_SERVER) && (!(wait->flags & WAIT_MANY) || wait->fd >= 0))
		slot = other_side(expecting, thread, wait);
	if (slot == SLOT_NONE || slot == thread->slot)
		return;
	wait->flags |= WAIT_EXPECTS;
	wait->origin = (struct actor){ .slot = slot, .kind = ACTOR_THREAD };
}

/* Before those that it waits for are ended, too. */
void expect_at_signal(struct state *state, struct thread *thread, struct wait *wait)
{
	struct expecting expecting = { .state = state };

	if (!signal_asks_to_end(wait->waker.signal))
		return;
	expect(&expecting, thread, wait);
	free(expecting.ends);
}

void expect_at_return(struct state *state, struct thread *thread)
{
	struct expecting expecting = { .state = state };

	if (thread->wait < thread->call_first_wait || thread->wait < thread->tl->wait_base ||
	    thread->wait >= thread->tl->wait_count)
		return;
	expect(&expecting, thread, tl_wait(thread->tl, thread->wait));
	free(expecting.ends);
}

void expect_at_end(struct state *state)
{
	struct expecting expecting = { .state = state };

	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		struct thread *thread = state->threads[i];
		struct wait *wait;

		if (thread->sched != SCHED_BLOCKED || thread->wait >= thread->tl->wait_count ||
		    thread->wait < thread->tl->wait_base)
			continue;
		wait = tl_wait(thread->tl, thread->wait);
		if (!wait->woken_ns)
			expect(&expecting, thread, wait);
	}
	free(expecting.ends);
}

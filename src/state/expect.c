/*
 * expect.c - who could have ended a wait that nobody ended.
 *
 * A wait that lasts to the end of the recording, or in which a signal came first, has no waker to
 * follow. What it waited for may tell who was awaited all the same:
 *
 *	a thread to end     glibc and musl wait for the word that the kernel clears, and tell the kernel
 *	                    its value, the thread's id (set_tid_address(2), futex(2))
 *	a mutex             its owner: what robust ones, those of musl, and FUTEX_LOCK_PI have in the word
 *	                    itself, and glibc beside it
 *	a descriptor        who has the other end: see ends.c; of poll and epoll where all ends are of one
 *	a connection        who listens there; that is told when its time was up, too
 *	a file lock         the process that has it, as the recorder saw
 *	a child             the one that was asked for, or that a vfork() made; of any child all of them
 *	a signal            a shell that waits for its jobs: their end
 *	System V            who used that queue or semaphore last
 *	what else           who could end it as the recorder saw when it looked at the thread, see seen.c
 *
 * It is told only where one process alone comes into question; else who those are, beside what was
 * waited for, and as a group (WAIT_GROUP) for whoever can follow each of them. Of a process of several threads it is the one that woke the thread before, or, as
 * inferred, the only one that used its end lately.
 */
#include "state/ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/facts.h"
#include "state/group.h"

#define FUTEX_WAITERS  0x80000000u
#define FUTEX_TID_MASK 0x3fffffffu
#define CLONE_VFORK    0x4000u
#define WAIT_FOR_PID   1u /* P_PID, P_PIDFD of waitid() */
#define WAIT_FOR_PIDFD 3u
#define CHILDREN_MAX   6u
#define WATCHED_MAX    64u
/* So many of a thread's waits are asked who woke it. */
#define WAITS_BACK     256u
#define UNCONNECTED_NS 10000000u /* who listens is looked for only if it took so long */

/* Who was awaited. */
struct awaited {
	uint32_t slot;	      /* SLOT_NONE = not known */
	const char *inferred; /* from what; NULL = it is known */
	uint32_t group;	      /* name id: any of those, see WAIT_GROUP; 0 = no such */
};

static const struct awaited nobody = { .slot = SLOT_NONE };

/* ----------------------------------------------------------------- which thread */

/* A stop is one of the whole process, but for what a tracer does to a thread. */
static bool is_process_stopped(const struct thread *leader)
{
	const struct wait *wait = wait_now(leader);

	return wait && !wait->woken_ns && wait->flags & WAIT_STOPPED &&
	       !(wait->flags & WAIT_EXPECTS);
}

uint32_t expect_thread(struct state *state, const struct thread *thread,
		       const struct process *process)
{
	const struct thread *leader = state_living(state, process->tgid);
	uint32_t least = thread->tl->wait_base;

	if (leader && leader->process == process &&
	    (process->refs == 1 || is_process_stopped(leader)))
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

/* ----------------------------------------------------------------- who waits for whom */

static bool is_child(const struct thread *thread, const struct thread *of)
{
	return thread->tl->parent == of->slot && thread->tl->tid == thread->tl->tgid &&
	       thread->sched != SCHED_DEAD && thread->process != of->process;
}

/* The process that it stands for; -1 = it is none, or that is not known. */
static int32_t pidfd_pid(const struct state *state, const struct object *object)
{
	const char *name = names_text(&state->tl->names, object->name);
	int32_t pid = strncmp(name, "pidfd ", 6) == 0 ? (int32_t)strtol(name + 6, NULL, 10) : 0;

	return pid > 0 ? pid : -1;
}

/* The process that a wait4() or waitid() is about; 0 = any child, -1 = some of them. */
static int32_t child_asked_for(const struct state *state, const struct thread *thread)
{
	const uint64_t *args = thread->call_args;
	const struct object *object;

	if (call_of(state, thread)->arg == 0)
		return (int32_t)args[0] > 0 ? (int32_t)args[0] : (int32_t)args[0] == -1 ? 0 : -1;
	if (args[0] == WAIT_FOR_PID)
		return (int32_t)args[1];
	if (args[0] != WAIT_FOR_PIDFD)
		return args[0] == 0 ? 0 : -1;
	object = fds_find(state, thread, (int32_t)args[1]);
	return object ? pidfd_pid(state, object) : -1;
}

static void add_words(struct state *state, struct wait *wait, const char *what)
{
	struct names *names = &state->tl->names;
	AUTO_FREE char *text = xasprintf("%s%s%s", names_text(names, wait->object),
					 wait->object ? "; " : "", what);

	wait->object = names_add(names, text, 4096);
}

static bool is_among(const struct others *others, const struct process *process)
{
	for (uint32_t i = 0; i < others->count && i < OTHERS_MAX; i++) {
		if (others->process[i] == process)
			return true;
	}
	return false;
}

/* Does it wait for one of the others to end before it goes on: as a shell for what it runs? */
static bool waits_for_one(struct state *state, const struct process *process,
			  const struct others *others)
{
	const struct thread *thread = state_living(state, process->tgid);
	const struct wait *wait = thread ? wait_now(thread) : NULL;
	int32_t pid;
	bool any = false;

	if (!wait || thread->process != process || process->refs != 1 ||
	    !is_in_call(thread, wait) || call_of(state, thread)->kind != CALL_WAIT)
		return false;
	pid = child_asked_for(state, thread);
	for (uint32_t i = 0; pid >= 0 && i < state->tl->thread_count; i++) {
		const struct thread *child = state->threads[i];

		if (!is_child(child, thread) || (pid > 0 && child->tl->tid != pid))
			continue;
		if (!is_among(others, child->process))
			return false;
		any = true;
	}
	return any;
}

/* Without those that one of them holds up: that one has to come first. */
static struct others without_waiting(struct state *state, const struct others *others)
{
	struct others left = { .name = others->name };

	for (uint32_t i = 0; i < others->count && others->count <= OTHERS_MAX; i++) {
		if (!waits_for_one(state, others->process[i], others))
			left.process[left.count++] = others->process[i];
	}
	return left.count ? left : *others;
}

/* Who of 'others' it is, by the name of what they have. Where that is not known, they are named. */
static struct awaited one_of(struct state *state, const struct thread *thread, struct wait *wait,
			     const struct others *others, const char *what)
{
	const struct others left = without_waiting(state, others);
	struct awaited result = nobody;

	if (left.count == 1) {
		result.slot = expect_thread(state, thread, left.process[0]);
		if (result.slot == SLOT_NONE && left.name) {
			result.slot = used_only_by(state, left.process[0], left.name);
			result.inferred = BY_OWN_END_LATELY;
		}
	}
	if (result.slot == SLOT_NONE && others->count) {
		group_tell(state, wait, others, what);
		result.group = group_of_others(state, thread, others, BY_ENDS);
	}
	return result;
}

/* ----------------------------------------------------------------------- futexes */

/* A word like that has the number of its owner, robust or not: see futex(2), "Priority-inheritance futexes". */
static uint32_t owner_in_word(struct state *state, const struct thread *thread)
{
	uint32_t word = (uint32_t)thread->call_args[2];
	const struct thread *owner = NULL;

	if (word & FUTEX_WAITERS)
		owner = state_living(state, (int32_t)(word & FUTEX_TID_MASK));
	return owner && owner != thread && owner->process ? owner->slot : SLOT_NONE;
}

/* Who had the lock that it asks for again. */
static struct awaited told_before(const struct state *state, const struct thread *thread)
{
	const struct again *again = &thread->again;

	if (call_of(state, thread)->kind != CALL_FUTEX || again->nr != thread->call_nr ||
	    again->held == SLOT_NONE)
		return nobody;
	return (struct awaited){ again->held,
				 again->held_by ? names_text(&state->tl->names, again->held_by)
						: BY_TOLD_BEFORE };
}

/* What the recorder told of what the call under way asks for. */
static struct awaited told_holder(const struct state *state, const struct thread *thread)
{
	if (thread->held_ns != thread->call_ns)
		return told_before(state, thread);
	if (thread->held == SLOT_NONE)
		return nobody;
	return (struct awaited){ thread->held,
				 thread->held_by ? names_text(&state->tl->names, thread->held_by)
						 : NULL };
}

static struct awaited of_futex(struct state *state, const struct thread *thread)
{
	uint32_t command = (uint32_t)thread->call_args[1] & FUTEX_CMD_MASK;
	struct awaited result = { .slot = alone_joined(state, thread) };

	if (result.slot == SLOT_NONE &&
	    (command == FUTEX_CMD_WAIT || command == FUTEX_CMD_WAIT_BITSET)) {
		result.slot = owner_in_word(state, thread);
		result.inferred = BY_LOCK_WORD;
	}
	if (result.slot == SLOT_NONE)
		result = told_holder(state, thread);
	/* What only its own threads wait at, only those have. */
	if (result.slot != SLOT_NONE && (uint32_t)thread->call_args[1] & FUTEX_PRIVATE &&
	    state->threads[result.slot]->tl->tgid != thread->tl->tgid)
		return nobody;
	return result;
}

/* ----------------------------------------------------------------------- children */

static void children_of(const struct state *state, const struct thread *thread, struct group *out)
{
	*out = (struct group){ .count = 0 };
	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		if (is_child(state->threads[i], thread))
			group_add(out, i);
	}
}

/* All that it may be that it waits for. Returns the group of them. */
static uint32_t name_children(struct state *state, const struct thread *thread, struct wait *wait)
{
	char *text = xstrdup("any of:"), *longer;
	struct group group;

	children_of(state, thread, &group);
	for (uint32_t i = 0; i < group.count && i < CHILDREN_MAX; i++) {
		const struct thread *child = state->threads[group.slots[i]];

		longer = xasprintf("%s%s child %.16s[%d]", text, i ? "," : "",
				   names_text(&state->tl->names, child->tl->comm), child->tl->tid);
		free(text);
		text = longer;
	}
	if (group.count > CHILDREN_MAX) {
		longer = xasprintf("%s and %u more", text, group.count - CHILDREN_MAX);
		free(text);
		text = longer;
	}
	if (group.count > 1)
		wait->object = names_add(&state->tl->names, text, 4096);
	free(text);
	return group_name(state, &group, BY_CHILDREN);
}

/* Shells, and what runs one program: they suspend themselves until SIGCHLD comes, and for nothing else. */
static bool suspends_for_children(const struct state *state, const struct thread *thread)
{
	static const char *const comms[] = { "sh", "dash", "ash", "busybox", "timeout" };
	const char *comm = names_text(&state->tl->names, thread->tl->comm);

	if (strcmp(call_of(state, thread)->name, "rt_sigsuspend") != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(comms); i++) {
		if (strcmp(comm, comms[i]) == 0)
			return true;
	}
	return false;
}

static struct awaited of_signal(struct state *state, const struct thread *thread, struct wait *wait)
{
	struct awaited result = { .slot = SLOT_NONE, .inferred = BY_CHILD_SIGNAL };
	struct group group;

	if (!suspends_for_children(state, thread))
		return nobody;
	children_of(state, thread, &group);
	if (group.count == 1)
		result.slot = group.slots[0];
	else if (group.count)
		result.group = name_children(state, thread, wait);
	return result;
}

/* It has to end. */
static struct awaited of_pid(struct state *state, int32_t pid)
{
	const struct thread *thread = pid > 0 ? state_living(state, pid) : NULL;

	return (struct awaited){ .slot = thread ? thread->slot : SLOT_NONE };
}

static struct awaited of_child(struct state *state, const struct thread *thread, struct wait *wait)
{
	int32_t pid = child_asked_for(state, thread);
	struct awaited result = of_pid(state, pid);

	if (pid == 0)
		result.group = name_children(state, thread, wait);
	return result;
}

/* Until what vfork() made runs a program or ends. */
static struct awaited of_fork(struct state *state, const struct thread *thread, struct wait *wait)
{
	const struct thread *made = NULL;
	char text[96];

	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		const struct thread *child = state->threads[i];

		if (is_child(child, thread) &&
		    child->tl->birth_ns >= track_ns(state, thread->call_ns))
			made = child;
	}
	if (!made || !thread->call_ns)
		return nobody;
	(void)snprintf(text, sizeof(text), "child %.16s[%d] to run a program or end",
		       names_text(&state->tl->names, made->tl->comm), made->tl->tid);
	wait->object = names_add(&state->tl->names, text, sizeof(text));
	return (struct awaited){ .slot = made->slot };
}

/* -------------------------------------------------------------------- descriptors */

/* Who listens where the connection of 'wait' shall go to. */
static void listeners_of(struct ends *ends, const struct thread *thread, struct wait *wait,
			 struct others *out_others)
{
	struct names *names = &ends->state->tl->names;

	/* A unix socket has no other end yet: where to is what the call was given. */
	if (thread->told && strcmp(names_text(names, wait->object), "unix") == 0) {
		AUTO_FREE char *text = xasprintf("unix %s", names_text(names, thread->told));

		wait->object = names_add(names, text, 4096);
	}
	ends_listeners(ends, thread->process, names_text(names, wait->object), out_others);
}

static struct awaited of_connect(struct ends *ends, const struct thread *thread, struct wait *wait)
{
	struct others others;
	struct awaited result;

	listeners_of(ends, thread, wait, &others);
	result = one_of(ends->state, thread, wait, &others, "listening there");
	if (result.slot != SLOT_NONE && !result.inferred)
		result.inferred = BY_LISTENS;
	return result;
}

static struct awaited of_fd(struct ends *ends, const struct thread *thread, struct wait *wait)
{
	struct state *state = ends->state;
	const struct object *object = fds_find(state, thread, wait->fd);
	struct others others;

	if (object && object->role == FD_ROLE_CONNECTING && object->name == wait->object)
		return of_connect(ends, thread, wait);
	if (!object || object->name != wait->object ||
	    (wait->flags & WAIT_SERVER && object->role != FD_ROLE_TTY))
		return nobody;
	if (object->role == FD_ROLE_PIDFD)
		return of_pid(state, pidfd_pid(state, object));
	if (strncmp(call_of(state, thread)->name, "mq_", 3) == 0)
		ends_sharers(ends, thread->process, object, &others);
	else
		ends_others(ends, thread->process, object, &others);
	/* A connection that nobody has accepted yet. */
	if (!others.count && object->role == FD_ROLE_CONNECTED)
		return of_connect(ends, thread, wait);
	return one_of(state, thread, wait, &others, "other end");
}

/* Of a process of one thread: it has both ends, or nobody else can make that ready. */
static bool is_own_alone(const struct thread *thread, const struct object *object,
			 const struct others *others)
{
	return !others->count && thread->process->refs == 1 &&
	       (object->role == FD_ROLE_PIPE || object->role == FD_ROLE_EVENTFD ||
		object->role == FD_ROLE_TIMERFD);
}

/*
 * Of one who serves a client and asks another one for it, and takes new ones maybe: it read from the client, wrote
 * to the other one, and nothing has come from there since. Whoever serves several at a time may wait for the answer to another one.
 */
static struct awaited of_passed(struct ends *ends, const struct thread *thread, struct wait *wait)
{
	struct state *state = ends->state;
	const struct object *came = fds_find(state, thread, thread->came_fd - 1);
	const struct object *passed = fds_find(state, thread, thread->passed_fd - 1);
	int32_t fds[WATCHED_MAX];
	size_t count = polled_watched(state, thread, fds, WATCHED_MAX), connections = 0;
	struct awaited awaited;
	struct others others;

	if (!came || came->role != FD_ROLE_ACCEPTED || !passed || passed->role != FD_ROLE_CONNECTED)
		return nobody;
	for (size_t i = 0; i < count; i++) {
		const struct object *object = fds_find(state, thread, fds[i]);

		if (object == came || object == passed) {
			connections++;
			continue;
		}
		if (!object)
			return nobody;
		ends_others(ends, thread->process, object, &others);
		if (object->role != FD_ROLE_LISTEN && !is_own_alone(thread, object, &others) &&
		    !ends_at_parent(state, thread->process, object, &others))
			return nobody;
	}
	ends_others(ends, thread->process, passed, &others);
	if (connections != 2 || others.count != 1)
		return nobody;
	awaited = one_of(state, thread, wait, &others, "passed on to");
	if (awaited.slot != SLOT_NONE)
		awaited.inferred = BY_PASSED_ON;
	return awaited;
}

/* Who could make a descriptor ready: of a process's own one that is the process, as it ends. */
static void others_of(struct ends *ends, const struct thread *thread, const struct object *object,
		      struct others *out)
{
	struct state *state = ends->state;
	const struct process *process = NULL;

	if (object->role != FD_ROLE_PIDFD) {
		ends_others(ends, thread->process, object, out);
		return;
	}
	*out = (struct others){ .name = object->name };
	process = process_find(state, pidfd_pid(state, object));
	if (process && process != thread->process)
		out->process[out->count++] = process;
}

/*
 * Where all that it watches ends at one process, but for what is its own, that is awaited, whichever of them comes. Of
 * one thing those are named that could be it.
 */
static struct awaited of_all(struct ends *ends, const struct thread *thread, struct wait *wait,
			     const int32_t *fds, size_t count, const char *what)
{
	struct state *state = ends->state;
	struct others others, only = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct object *object = fds_find(state, thread, fds[i]);

		if (!object || role_serves(object->role))
			return nobody;
		others_of(ends, thread, object, &others);
		if (is_own_alone(thread, object, &others))
			continue;
		if (count == 1)
			return one_of(state, thread, wait, &others, what);
		if (others.count != 1 || (only.count && others.process[0] != only.process[0]))
			return nobody;
		only = others;
	}
	return only.count ? one_of(state, thread, wait, &only, what) : nobody;
}

/* It was told of the same call before, that it makes again. */
static struct awaited of_watched_before(struct ends *ends, const struct thread *thread,
					struct wait *wait, const int32_t *fds, size_t count)
{
	uint32_t object = wait->object;
	struct awaited awaited;

	polled_tell_before(ends->state, thread, wait);
	awaited = of_all(ends, thread, wait, fds, count, "other end");
	if (awaited.slot != SLOT_NONE)
		wait->object = object;
	if (awaited.slot != SLOT_NONE && !awaited.inferred)
		awaited.inferred = BY_TOLD_BEFORE;
	return awaited;
}

/* It watches other things, too, for what may come from there: but what it does is to write. */
static struct awaited of_room(struct ends *ends, const struct thread *thread, struct wait *wait)
{
	const struct object *object = fds_find(ends->state, thread, polled_for_room(thread));
	struct others others = { 0 };
	struct awaited awaited;

	if (object)
		ends_others(ends, thread->process, object, &others);
	awaited = others.count == 1 ? one_of(ends->state, thread, wait, &others, "other end")
				    : nobody;
	awaited.inferred = BY_WRITTEN_TO;
	return awaited;
}

static struct awaited of_many(struct ends *ends, const struct thread *thread, struct wait *wait)
{
	int32_t fds[WATCHED_MAX];
	struct awaited awaited;
	size_t count;

	if (wait->fd >= 0)
		return of_fd(ends, thread, wait);
	awaited = of_room(ends, thread, wait);
	if (awaited.slot != SLOT_NONE)
		return awaited;
	count = polled_watched_before(thread, fds, WATCHED_MAX);
	if (thread->passed_fd && count != 1)
		return of_passed(ends, thread, wait);
	if (count)
		return of_watched_before(ends, thread, wait, fds, count);
	count = polled_watched(ends->state, thread, fds, WATCHED_MAX);
	return of_all(ends, thread, wait, fds, count, "other ends");
}

/* ----------------------------------------------------------------------- System V */

/* Nobody has such a thing: who used it last is who is known to have to do with it. */
static struct awaited of_ipc(const struct state *state, const struct thread *thread)
{
	const struct thread *last = used_ipc_last(state, thread);

	return last ? (struct awaited){ last->slot, BY_NO_LATER_USER } : nobody;
}

/* --------------------------------------------------------------------------------- */

static struct awaited of_call(struct ends *ends, const struct thread *thread, struct wait *wait)
{
	struct state *state = ends->state;

	switch (call_of(state, thread)->kind) {
	case CALL_FUTEX:
		return of_futex(state, thread);
	case CALL_FLOCK:
	case CALL_FCNTL:
		return told_holder(state, thread);
	case CALL_WAIT:
		return of_child(state, thread, wait);
	case CALL_SIGNAL:
		return of_signal(state, thread, wait);
	case CALL_FORK:
		return of_fork(state, thread, wait);
	case CALL_OPEN:
		if (!wait->object)
			wait->object = thread->told ? thread->told : thread->call_path;
		return nobody;
	case CALL_CONNECT:
		return of_connect(ends, thread, wait);
	case CALL_SEM:
	case CALL_MSG:
		return of_ipc(state, thread);
	case CALL_POLL:
	case CALL_EPOLL:
		return of_many(ends, thread, wait);
	case CALL_RING:
		uring_awaits(state, thread, wait); /* it may be taken from the ring late */
		return of_fd(ends, thread, wait);
	default:
		return of_fd(ends, thread, wait);
	}
}

/* ------------------------------------------------------------ what the recorder saw */

static void add_seen(struct state *state, struct others *others, const struct fact_wait *seen)
{
	const struct thread *who = state_living(state, seen->who);

	if (!who || !who->process)
		return;
	for (uint32_t i = 0; i < others->count && i < OTHERS_MAX; i++) {
		if (others->process[i] == who->process)
			return;
	}
	if (others->count < OTHERS_MAX)
		others->process[others->count] = who->process;
	others->count++;
}

static bool all_are_children(const struct fact_wait *seen, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(seen[i].how, "child") != 0)
			return false;
	}
	return true;
}

/* The one thread or process that could end it; those of several are named. */
static struct awaited of_seen(struct state *state, const struct thread *thread, struct wait *wait,
			      const struct fact_wait *seen, size_t count)
{
	const struct thread *who = count == 1 && seen->who && !seen->is_process
					   ? state_living(state, seen->who)
					   : NULL;
	struct awaited awaited = nobody;
	struct others others = { 0 };

	if (strcmp(seen->how, HOW_IO_LIMIT) == 0) {
		throttle_seen(state, wait, seen->object);
		return nobody;
	}
	seen_object(state, wait, seen);
	if (who && who->process)
		awaited.slot = who->slot;
	for (size_t i = 0; i < count && awaited.slot == SLOT_NONE; i++) {
		if (seen[i].who)
			add_seen(state, &others, &seen[i]);
	}
	if (others.count)
		awaited = one_of(state, thread, wait, &others, "could end it");
	if (awaited.group && all_are_children(seen, count))
		awaited.group = group_of_others(state, thread, &others, BY_CHILDREN);
	if (awaited.slot != SLOT_NONE)
		awaited.inferred = seen_by(state, seen);
	if (awaited.slot != SLOT_NONE && seen_has_lock(seen))
		wait->flags |= WAIT_LOCK;
	return awaited;
}

/* A server without requests waits for nobody. Who has the other end may have been named already. */
static struct awaited of_call_or_seen(struct ends *ends, const struct thread *thread,
				      struct wait *wait)
{
	struct state *state = ends->state;
	uint32_t object = wait->object, named;
	struct awaited awaited = of_call(ends, thread, wait);
	uint32_t group = awaited.group;
	const struct fact_wait *seen;
	size_t count;

	if (awaited.slot != SLOT_NONE || wait->flags & WAIT_SERVER)
		return awaited;
	seen = seen_wait(state, thread, wait, &count);
	named = wait->object;
	if (seen)
		awaited = of_seen(state, thread, wait, seen, count);
	if (named != object && !strstr(names_text(&state->tl->names, wait->object),
				       names_text(&state->tl->names, named)))
		wait->object = named;
	if (group)
		awaited.group = group;
	return awaited;
}

static bool is_idle(const struct thread *thread)
{
	const struct wait *wait = wait_now(thread);

	return wait && wait->flags & WAIT_SERVER;
}

/*
 * By exclusion: of a wait at a futex, who is left of the process that could end it. Who waits for one that waits for
 * work itself does so, too.
 */
static struct awaited of_left(struct ends *ends, const struct thread *thread, struct wait *wait)
{
	if (!ends->is_over || !alone_awaits(ends->state, thread, wait))
		return nobody;
	if (ends->asked != thread->process)
		ends->left = alone_left(ends->state, thread);
	ends->asked = thread->process;
	if (!ends->left.count)
		add_words(ends->state, wait,
			  "no thread of the process is left that could end that, but for a signal");
	if (ends->left.slot == SLOT_NONE || !is_idle(ends->state->threads[ends->left.slot]))
		return (struct awaited){ ends->left.slot, BY_ONLY_ONE_LEFT };
	wait->flags |= WAIT_SERVER;
	return nobody;
}

/* Its tracer was not seen to stop it: it was seen as it looked. */
static void expect_tracer(struct state *state, const struct thread *thread, struct wait *wait)
{
	const struct fact_wait *seen = seen_tracer(state, thread, wait);
	const struct thread *who = seen ? state_living(state, seen->who) : NULL;

	if (!who || !who->process || who == thread)
		return;
	wait->flags |= WAIT_EXPECTS;
	wait->origin = (struct actor){ .slot = who->slot, .kind = ACTOR_THREAD };
}

static void expect(struct ends *ends, struct thread *thread, struct wait *wait)
{
	const struct state *state = ends->state;
	struct awaited awaited;

	if (wait->flags & WAIT_STOPPED && !(wait->flags & WAIT_EXPECTS) && !wait->woken_ns)
		expect_tracer(ends->state, thread, wait);
	/* Had it not let go of it in the meantime, and another one taken it, that would have been told. */
	if (wait->flags & WAIT_OWNED) {
		wait->flags |= WAIT_EXPECTS;
		return;
	}
	if (!thread->process || !is_in_call(thread, wait) || wait->flags & WAIT_STOPPED ||
	    wait->origin.slot != SLOT_NONE || wait->origin.time_ns)
		return;
	awaited = of_call_or_seen(ends, thread, wait);
	if (awaited.slot == SLOT_NONE && !awaited.group)
		awaited = of_left(ends, thread, wait);
	if (awaited.slot == SLOT_NONE && awaited.group && !(wait->flags & WAIT_SERVER)) {
		wait->flags |= WAIT_GROUP;
		wait->origin = (struct actor){ .slot = SLOT_NONE,
					       .kind = ACTOR_THREAD,
					       .name = awaited.group };
	}
	/* Only a lock is waited for by who has it. */
	if (awaited.slot == SLOT_NONE ||
	    (awaited.slot == thread->slot && call_of(state, thread)->kind != CALL_FUTEX))
		return;
	wait->flags = (wait->flags | WAIT_EXPECTS) & ~(uint32_t)WAIT_SERVER;
	wait->origin = (struct actor){ .slot = awaited.slot, .kind = ACTOR_THREAD };
	/* By exclusion it is not known to have a lock. */
	if (awaited.inferred && strcmp(awaited.inferred, BY_ONLY_ONE_LEFT) == 0)
		wait->flags &= ~(uint32_t)WAIT_LOCK;
	if (awaited.inferred)
		wait->origin.name = names_add(&ends->state->tl->names, awaited.inferred, 256);
}

/* Before those that it waits for are ended, too. */
void expect_at_signal(struct state *state, struct thread *thread, struct wait *wait)
{
	struct ends ends = { .state = state, .is_over = true };

	if (!signal_asks_to_end(wait->waker.signal))
		return;
	expect(&ends, thread, wait);
	ends_fini(&ends);
}

void expect_at_return(struct state *state, struct thread *thread)
{
	struct ends ends = { .state = state };

	if (thread->wait < thread->call_first_wait || thread->wait < thread->tl->wait_base ||
	    thread->wait >= thread->tl->wait_count)
		return;
	expect(&ends, thread, tl_wait(thread->tl, thread->wait));
	ends_fini(&ends);
}

/* Is the wait for a connection that was not made when its time was up? */
static bool is_unconnected(const struct state *state, const struct thread *thread,
			   const struct wait *wait)
{
	const struct call *call = call_of(state, thread);
	const struct object *object;

	if (!thread->process || !is_in_call(thread, wait) || wait->fd < 0 ||
	    wait->woken_ns - wait->begin_ns < UNCONNECTED_NS)
		return false;
	if (call->kind == CALL_CONNECT) /* of TCP once it is told where to */
		return strcmp(names_text(&state->tl->names, wait->object), "tcp") != 0;
	if (!state->has_connecting || (call->kind != CALL_POLL && call->kind != CALL_EPOLL))
		return false;
	object = fds_find(state, thread, wait->fd);
	return object && object->role == FD_ROLE_CONNECTING && object->name == wait->object;
}

void expect_timed_out(struct state *state, const struct thread *thread, struct wait *wait)
{
	struct ends ends = { .state = state };
	struct others others;

	if (!is_unconnected(state, thread, wait))
		return;
	listeners_of(&ends, thread, wait, &others);
	if (others.count)
		group_tell(state, wait, &others, "not connected yet; listening there");
	else
		add_words(state, wait, "not connected yet");
	ends_fini(&ends);
}

/* A packet ended it that answers one which a timer of TCP had sent again. */
static bool is_answered_late(struct state *state, const struct wait *wait)
{
	return wait->woken_ns && wait->waker.kind == ACTOR_NETWORK &&
	       wait->origin.kind == ACTOR_TIMER &&
	       strcmp(names_text(&state->tl->names, wait->origin.name), "tcp_write_timer") == 0;
}

void expect_asked_again(struct state *state, const struct thread *thread, struct wait *wait)
{
	struct ends ends = { .state = state };
	struct others others;

	if (!is_answered_late(state, wait) || !is_unconnected(state, thread, wait))
		return;
	listeners_of(&ends, thread, wait, &others);
	if (others.count == 1)
		wait->origin.slot = expect_thread(state, thread, others.process[0]);
	if (others.count)
		group_tell(state, wait, &others,
			   "not answered at first; inferred: the queue of connections was full; "
			   "listening there");
	else
		add_words(state, wait, "not answered at first");
	ends_fini(&ends);
}

/* The last wait, and the one before it: their limits ran out in the same call, for the same, and it has made no other call since. */
static struct wait *slice_cut_off(struct thread *thread)
{
	struct tl_thread *tl = thread->tl;
	struct wait *last, *before;

	if (thread->sched == SCHED_BLOCKED || tl->wait_count < tl->wait_base + 2)
		return NULL;
	last = tl_wait(tl, tl->wait_count - 1);
	before = tl_wait(tl, tl->wait_count - 2);
	return last->flags & before->flags & WAIT_TIMED_OUT && last->in == before->in &&
			       last->fd == before->fd && is_in_call(thread, last)
		       ? last
		       : NULL;
}

void expect_cut_off(struct state *state, struct thread *thread)
{
	struct ends ends = { .state = state };
	struct wait *wait = slice_cut_off(thread);

	if (!wait)
		return;
	expect(&ends, thread, wait);
	ends_fini(&ends);
}

void expect_at_end(struct state *state)
{
	struct ends ends = { .state = state, .is_over = true };

	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		struct thread *thread = state->threads[i];
		struct wait *wait = thread->sched != SCHED_DEAD ? slice_cut_off(thread) : NULL;

		if (wait)
			expect(&ends, thread, wait);
		wait = wait_now(thread);
		if (wait && !wait->woken_ns && !(wait->flags & WAIT_LOST))
			expect(&ends, thread, wait);
	}
	ends_fini(&ends);
}

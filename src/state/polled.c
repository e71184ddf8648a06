/*
 * polled.c - what a wait for several descriptors is about.
 *
 * From the strongest to the weakest:
 *
 *	it watches one thing only: epoll sets are followed; for poll and select the recorder looks
 *	who ended the wait was in a call that writes to the other end of one of them
 *	what the thread used next, of those that could have been it: told as that, "then used"
 *
 * Where none of them says what came, what it watches is still what was waited for.
 */
#include "state/state_int.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define EPOLL_LOOK \
	256 /* a server with more clients: looking at each at every wait would cost too much */
#define SEEN_NS	   300000000u /* the recorder looks at those that sleep, each 250 ms */
#define SETS_DEEP  3	      /* within each other */
#define NAMED_MAX  6
#define TEXT_BYTES 512
#define FOR_ROOM   " (to write)"

bool role_serves(uint8_t role)
{
	return role == FD_ROLE_LISTEN || role == FD_ROLE_ACCEPTED || role == FD_ROLE_TTY;
}

/* What is read there comes from programs at the terminal's other end, as from a pipe: from nobody who asks for something. */
static bool is_master(const struct state *state, const struct object *object)
{
	const char *name = names_text(&state->tl->names, object->name);

	return object->role == FD_ROLE_TTY &&
	       (strncmp(name, "/dev/ptmx", 9) == 0 || strncmp(name, "/dev/pts/ptmx", 13) == 0);
}

bool object_serves(const struct state *state, const struct object *object)
{
	return role_serves(object->role) && !is_master(state, object);
}

/* Answers arrive there, or the one whether it is connected. */
static bool role_asks(uint8_t role)
{
	return role == FD_ROLE_CONNECTED || role == FD_ROLE_CONNECTING;
}

/* Files are always ready: poll says so at once, and epoll does not take them. */
static bool can_be_polled(const struct state *state, const struct object *object)
{
	const char *name;

	if (object->role == FD_ROLE_FILE || object->role == FD_ROLE_DIR)
		return false;
	name = names_text(&state->tl->names, object->name);
	return object->role != FD_ROLE_UNKNOWN || *name != '/' || strncmp(name, "/dev/", 5) == 0;
}

/* A number in an epoll set stands for what had it when it was added, as long as that is open. */
bool polled_has(const struct process *process, int32_t set, int32_t target)
{
	const uint64_t *made = map_find(&process->epoll, epoll_key(set, target));
	const uint64_t *set_slot = map_find(&process->fds, (uint32_t)set);
	const uint64_t *slot = map_find(&process->fds, (uint32_t)target);

	return made && set_slot && slot &&
	       *made == ((uint64_t)slot_fd_of(*set_slot).made << 32 | slot_fd_of(*slot).made);
}

/* --------------------------------------------------------------------- sets */

struct member {
	int32_t fd;
	const struct object *object; /* NULL = not known */
	bool for_room;		     /* until it can be written to: no request comes there */
};

static int by_fd(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	bool x_listens = x->object && x->object->role == FD_ROLE_LISTEN;
	bool y_listens = y->object && y->object->role == FD_ROLE_LISTEN;

	if (x_listens != y_listens)
		return y_listens - x_listens;
	return (x->fd > y->fd) - (x->fd < y->fd);
}

/* Whether all that it watches is known: it was made before our eyes, or the dump has the sets. */
static bool is_whole(const struct process *process, int32_t set)
{
	const uint64_t *found = map_find(&process->fds, (uint32_t)set);
	struct slot_fd slot;

	if (!found || process->epoll.count > EPOLL_LOOK)
		return false;
	slot = slot_fd_of(*found);
	return !(slot.marks & (FD_UNSEEN | FD_PARTLY));
}

static bool is_set(const struct state *state, const struct object *object)
{
	return object && strcmp(names_text(&state->tl->names, object->name), "epoll") == 0;
}

/* Sets within it stand for what they watch. Returns how many there are. */
static size_t add_members(const struct state *state, const struct process *process, int32_t set,
			  struct member *out_members, size_t count, uint32_t depth)
{
	for (size_t i = 0; i < process->epoll.cap && count < EPOLL_LOOK; i++) {
		int32_t target = (int32_t)(uint32_t)process->epoll.slots[i].key;
		const uint64_t *slot;

		if (!process->epoll.used[i] ||
		    (int32_t)(process->epoll.slots[i].key >> 32) != set ||
		    !polled_has(process, set, target))
			continue;
		slot = map_find(&process->fds, (uint32_t)target);
		if (depth && is_set(state, fds_object(state, *slot)) && is_whole(process, target))
			count = add_members(state, process, target, out_members, count, depth - 1);
		else
			out_members[count++] =
				(struct member){ target, fds_object(state, *slot), false };
	}
	return count;
}

/* What the set of descriptor 'set' watches, listening sockets first; at most EPOLL_LOOK. */
static size_t members_of(const struct state *state, const struct process *process, int32_t set,
			 struct member *out_members)
{
	size_t count = add_members(state, process, set, out_members, 0, SETS_DEEP);

	if (count)
		qsort(out_members, count, sizeof(*out_members), by_fd);
	return count;
}

static size_t put_member(const struct state *state, char *text, size_t used, int32_t fd,
			 const struct object *object)
{
	const char *name = object ? names_text(&state->tl->names, object->name) : "";
	int got = snprintf(text + used, TEXT_BYTES - used, *name ? "fd %d = %.160s" : "fd %d", fd,
			   name);

	return got < 0 || (size_t)got >= TEXT_BYTES - used ? TEXT_BYTES - 1 : used + (size_t)got;
}

static uint32_t name_members(struct state *state, const struct member *members, size_t count,
			     bool whole)
{
	char text[TEXT_BYTES] = "any of: ";
	size_t used = strlen(text);

	for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
		if (i && used < TEXT_BYTES - 3)
			used += (size_t)snprintf(text + used, TEXT_BYTES - used, ", ");
		used = put_member(state, text, used, members[i].fd, members[i].object);
		if (members[i].for_room && used + sizeof(FOR_ROOM) < TEXT_BYTES)
			used += (size_t)snprintf(text + used, TEXT_BYTES - used, FOR_ROOM);
	}
	if (count > NAMED_MAX)
		(void)snprintf(text + used, TEXT_BYTES - used, " and %s%zu more",
			       whole ? "" : "at least ", count - NAMED_MAX);
	return names_add(&state->tl->names, text, sizeof(text));
}

/* 'whole': it watches nothing else. */
static struct polled_set judge(struct state *state, const struct member *members, size_t count,
			       bool whole)
{
	struct polled_set result = { .fd = -1, .whole = whole };
	bool asks = false, relays = false, has_clients = false;

	for (size_t i = 0; i < count; i++) {
		const struct object *object = members[i].object;

		asks |= !object || role_asks(object->role);
		relays |= object && is_master(state, object);
		if (members[i].for_room)
			continue;
		result.serves |= object && object_serves(state, object);
		has_clients |= object && object->role != FD_ROLE_TTY && role_serves(object->role);
	}
	/* Between a terminal and programs at another one it does what those do. */
	result.serves &= !asks && (has_clients || !relays);
	if (count == 1) {
		result.fd = members[0].fd;
		result.name = members[0].object ? members[0].object->name : 0;
	} else if (count > 1) {
		result.name = name_members(state, members, count, whole);
	}
	return result;
}

static struct polled_set polled_look_at(struct state *state, const struct process *process,
					int32_t set)
{
	struct member members[EPOLL_LOOK];

	if (!is_whole(process, set))
		return (struct polled_set){ .fd = -1 };
	return judge(state, members, members_of(state, process, set, members), true);
}

/* Most processes wait for one set again and again. */
static const struct polled_set *set_of(struct state *state, struct process *process, int32_t set)
{
	if (process->set_change != process->change || process->set_fd != set) {
		process->set = polled_look_at(state, process, set);
		process->set_fd = set;
		process->set_change = process->change;
	}
	return &process->set;
}

/* -------------------------------------------------------------------- waits */

/* Whether the recorder told all that the call watches: it tells POLL_TOLD at most, and once told half of that. */
static bool is_told_whole(const struct thread *thread)
{
	return thread->poll_count < POLL_TOLD && thread->poll_count != POLL_TOLD / 2;
}

static struct member told_member(const struct state *state, const struct thread *thread, size_t i)
{
	return (struct member){ thread->poll_fds[i], fds_find(state, thread, thread->poll_fds[i]),
				thread->poll_room >> i & 1 };
}

/* What the recorder told that the call watches is what it waits for. */
static void tell_told(struct state *state, struct thread *thread, struct wait *wait)
{
	struct member members[POLL_TOLD];
	struct polled_set set;

	for (size_t i = 0; i < thread->poll_count; i++)
		members[i] = told_member(state, thread, i);
	set = judge(state, members, thread->poll_count, is_told_whole(thread));
	wait->fd = set.fd;
	wait->object = set.name;
	/* Where there is room for no more, there may be more. */
	if (is_told_whole(thread) && set.serves)
		wait->flags |= WAIT_SERVER;
	else
		wait->flags &= ~(uint32_t)WAIT_SERVER;
}

int32_t polled_for_room(const struct thread *thread)
{
	int32_t fd = -1;

	for (size_t i = 0; i < thread->poll_count; i++) {
		if (!(thread->poll_room >> i & 1))
			continue;
		if (fd >= 0)
			return -1;
		fd = thread->poll_fds[i];
	}
	return fd;
}

/* Of what an epoll descriptor watches, the recorder tells only what is watched for room to write. */
static void tell_room(struct state *state, struct thread *thread, struct wait *wait)
{
	const struct process *process = thread->process;
	struct member members[EPOLL_LOOK];
	struct polled_set set;
	size_t count;

	if (!process || !is_whole(process, thread->poll_set))
		return;
	count = members_of(state, process, thread->poll_set, members);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < thread->poll_count; k++)
			members[i].for_room |=
				members[i].fd == thread->poll_fds[k] && thread->poll_room >> k & 1;
	}
	set = judge(state, members, count, true);
	wait->fd = set.fd;
	wait->object = set.name;
	wait->flags = set.serves ? wait->flags | WAIT_SERVER : wait->flags & ~(uint32_t)WAIT_SERVER;
}

void polled_enter(struct state *state, struct thread *thread)
{
	const struct call *call = call_of(state, thread);

	if (call->kind != CALL_POLL && call->kind != CALL_EPOLL)
		return;
	thread->poll_known = false;
	thread->poll_count = 0;
}

/* The thread goes to sleep in poll, select, or epoll_wait. */
void polled_begin(struct state *state, struct thread *thread, struct wait *wait)
{
	bool is_epoll = call_of(state, thread)->kind == CALL_EPOLL;
	const struct polled_set *set;

	wait->flags |= WAIT_MANY;
	thread->poll_set = is_epoll ? (int32_t)thread->call_args[0] : -1;
	thread->poll_known = false;
	if (!is_epoll && thread->poll_count)
		tell_told(state, thread, wait);
	if (thread->poll_set >= 0 && thread->poll_set < (int32_t)WAIT_SET_MAX)
		wait->flags |= (uint32_t)(thread->poll_set + 1) << WAIT_SET_SHIFT;
	if (!is_epoll || !thread->process)
		return;
	set = set_of(state, thread->process, thread->poll_set);
	wait->fd = set->fd;
	wait->object = set->name;
	if (set->serves)
		wait->flags |= WAIT_SERVER;
	if (thread->poll_count)
		tell_room(state, thread, wait);
}

/* "tcp A->B" and "tcp B->A" are the ends of one connection. */
static bool are_ends(const char *one, const char *other)
{
	struct ends_name a, b;

	return ends_of_name(one, &a) && ends_of_name(other, &b) && a.kind == b.kind &&
	       a.left == b.right && a.right == b.left && strncmp(one, other, a.kind) == 0 &&
	       strncmp(one + a.kind, other + b.kind + b.left + 2, a.left) == 0 &&
	       strncmp(one + a.kind + a.left + 2, other + b.kind, b.left) == 0;
}

/* What is written to 'to' comes out of 'from'. */
static bool comes_from(const struct state *state, const struct object *to,
		       const struct object *from)
{
	if (to->role != from->role && (to->role == FD_ROLE_PIPE || to->role == FD_ROLE_EVENTFD))
		return false;
	if (to->role == FD_ROLE_EVENTFD)
		return to == from;
	if (to->role == FD_ROLE_PIPE)
		return to->inode ? to->inode == from->inode : to->name == from->name;
	return are_ends(names_text(&state->tl->names, to->name),
			names_text(&state->tl->names, from->name));
}

/* What the thread that ended the wait was writing to, or reading from; NULL = it was not, or that is not known. */
static const struct object *touched_by(struct state *state, const struct actor *waker,
				       uint8_t moves)
{
	const struct thread *thread;
	const struct call *call;

	if ((waker->kind != ACTOR_THREAD && waker->kind != ACTOR_NETWORK) ||
	    waker->slot == SLOT_NONE)
		return NULL;
	thread = state->threads[waker->slot];
	call = call_of(state, thread);
	/* A packet comes late, when its sender may be asleep in the next call. */
	if (!thread->in_call || call->moves != moves ||
	    (moves == MOVES_OUT && thread->sched != SCHED_RUNNING))
		return NULL;
	return fds_find(state, thread, (int32_t)thread->call_args[0]);
}

/* "unix PATH peer N" of who accepted, N has connected; and N's own end. */
static bool are_peers(const char *mine, const char *other, int32_t other_tgid)
{
	static const char said[] = " peer ";
	const char *peer = strstr(mine, said), *listened = strstr(other, said);

	return peer && listened && strncmp(mine, "unix ", 5) == 0 &&
	       peer - mine == listened - other &&
	       strncmp(mine, other, (size_t)(peer - mine)) == 0 &&
	       atoi(peer + sizeof(said) - 1) == other_tgid;
}

/* 'waker' is reading from 'taken', and so made room for what is written to 'object'. */
static bool makes_room(const struct state *state, const struct actor *waker,
		       const struct object *taken, const struct object *object)
{
	return comes_from(state, taken, object) ||
	       are_peers(names_text(&state->tl->names, object->name),
			 names_text(&state->tl->names, taken->name),
			 state->threads[waker->slot]->tl->tgid);
}

static bool is_timerfd(const struct state *state, const struct actor *waker)
{
	return waker->kind == ACTOR_TIMER &&
	       strncmp(names_text(&state->tl->names, waker->name), "timerfd_", 8) == 0;
}

/* Sets that are reached from one, each of them once, whatever they watch. */
struct reached {
	int32_t sets[EPOLL_LOOK];
	size_t count;
};

static void reached_add(struct reached *reached, int32_t set)
{
	for (size_t i = 0; i < reached->count; i++) {
		if (reached->sets[i] == set)
			return;
	}
	if (reached->count < EPOLL_LOOK)
		reached->sets[reached->count++] = set;
}

/* Those that 'set' watches. */
static void add_sets_within(const struct state *state, const struct process *process, int32_t set,
			    struct reached *reached)
{
	for (size_t i = 0; i < process->epoll.cap; i++) {
		int32_t target = (int32_t)(uint32_t)process->epoll.slots[i].key;

		if (process->epoll.used[i] && (int32_t)(process->epoll.slots[i].key >> 32) == set &&
		    polled_has(process, set, target) &&
		    is_set(state, fds_object(state, *map_find(&process->fds, (uint32_t)target))))
			reached_add(reached, target);
	}
}

/* The set watches it, or one within it does. */
static bool reaches(const struct state *state, const struct process *process, int32_t set,
		    int32_t fd)
{
	struct reached reached = { .sets = { set }, .count = 1 };
	size_t done = 0;

	for (uint32_t depth = 0; depth <= SETS_DEEP; depth++) {
		for (size_t end = reached.count; done < end; done++) {
			if (polled_has(process, reached.sets[done], fd))
				return true;
			/* Looking at more would cost too much, as it would for one set. */
			if (depth < SETS_DEEP && process->epoll.count <= EPOLL_LOOK)
				add_sets_within(state, process, reached.sets[done], &reached);
		}
	}
	return false;
}

/* Whether it may have come through this one, as far as is known. */
static bool is_watched(const struct state *state, const struct thread *thread, int32_t fd)
{
	if (thread->poll_set >= 0)
		return reaches(state, thread->process, thread->poll_set, fd);
	if (!thread->poll_count || !is_told_whole(thread))
		return true;
	for (size_t i = 0; i < thread->poll_count; i++) {
		if (thread->poll_fds[i] == fd)
			return true;
	}
	return false;
}

/* Who ended the wait says by its own call what came; whether there is one such descriptor. */
static bool tell_touched(struct state *state, struct thread *thread, struct wait *wait)
{
	const struct object *taken = touched_by(state, &wait->waker, MOVES_OUT), *found = NULL;
	const struct object *written = taken ? taken : touched_by(state, &wait->waker, MOVES_IN);
	bool timer = is_timerfd(state, &wait->waker);
	const struct map *fds = &thread->process->fds;
	int32_t fd = -1;

	for (size_t i = 0; (written || timer) && fds->count <= EPOLL_LOOK && i < fds->cap; i++) {
		const struct object *object =
			fds->used[i] ? fds_object(state, fds->slots[i].value) : NULL;

		if (!object ||
		    !(timer   ? object->role == FD_ROLE_TIMERFD
		      : taken ? makes_room(state, &wait->waker, taken, object)
			      : comes_from(state, written, object)) ||
		    !is_watched(state, thread, (int32_t)fds->slots[i].key))
			continue;
		if (found && (timer || found->name != object->name))
			return false;
		fd = found ? -1 : (int32_t)fds->slots[i].key;
		found = object;
	}
	if (!found)
		return false;
	wait->fd = fd;
	wait->object = found->name;
	if (role_asks(found->role) || taken)
		wait->flags &= ~(uint32_t)WAIT_SERVER;
	return true;
}

/* It watches one thing, and waited until the other end had taken what was written to it. */
static bool is_for_room(struct state *state, const struct thread *thread, const struct wait *wait)
{
	const struct object *taken = touched_by(state, &wait->waker, MOVES_OUT);
	const struct object *watched = fds_find(state, thread, wait->fd);

	return taken && watched && makes_room(state, &wait->waker, taken, watched);
}

/* What a client asked was passed on to another one, and who has the other end of that ended the wait. */
static bool is_answer(const struct state *state, const struct thread *thread,
		      const struct actor *waker)
{
	const struct object *passed = fds_find(state, thread, thread->passed_fd - 1);
	const struct thread *other;

	if (!passed || (waker->kind != ACTOR_THREAD && waker->kind != ACTOR_NETWORK) ||
	    waker->slot == SLOT_NONE)
		return false;
	other = state->threads[waker->slot];
	for (size_t i = 0; i < USED_FDS; i++) {
		const struct object *object = fds_find(state, other, other->used_fd[i] - 1);

		if (object && comes_from(state, passed, object))
			return true;
	}
	return false;
}

/* What is known of what came, or of which of those that it watches did. */
static void tell_came(struct state *state, struct thread *thread, struct wait *wait)
{
	if (wait->fd < 0) {
		thread->poll_known = tell_touched(state, thread, wait);
		thread->poll_open = !thread->poll_known && !(wait->flags & WAIT_TIMED_OUT);
	} else if (is_for_room(state, thread, wait)) {
		wait->flags &= ~(uint32_t)WAIT_SERVER;
	}
	if (wait->flags & WAIT_SERVER && is_answer(state, thread, &wait->waker))
		wait->flags &= ~(uint32_t)WAIT_SERVER;
}

/* Such a wait was ended by 'wait->waker'. */
void polled_ended(struct state *state, struct thread *thread, struct wait *wait)
{
	thread->poll_open = false;
	/* A shorter one was seen by chance: of waits that are alike each would have another name. */
	if (thread->poll_count && wait->flags & WAIT_TIMED_OUT &&
	    call_of(state, thread)->kind == CALL_POLL && !is_timerfd(state, &wait->waker) &&
	    wait->woken_ns - wait->begin_ns < SEEN_NS) {
		wait->object = 0;
		wait->fd = -1;
		wait->flags &= ~(uint32_t)WAIT_SERVER;
		return;
	}
	if (thread->process)
		tell_came(state, thread, wait);
}

void polled_found(struct state *state, struct thread *thread)
{
	const struct polled_set *set;

	if (!thread->process)
		return;
	if (call_of(state, thread)->kind == CALL_POLL) {
		if (thread->poll_count == 1)
			fds_connected(state, thread, thread->poll_fds[0]);
		return;
	}
	set = set_of(state, thread->process, (int32_t)thread->call_args[0]);
	if (set->fd >= 0)
		fds_connected(state, thread, set->fd);
}

size_t polled_watched(const struct state *state, const struct thread *thread, int32_t *out_fds,
		      size_t max)
{
	struct member members[EPOLL_LOOK];
	size_t count = thread->poll_count;

	if (!thread->process)
		return 0;
	if (thread->poll_set < 0) {
		memcpy(out_fds, thread->poll_fds, (count < max ? count : max) * sizeof(*out_fds));
		return is_told_whole(thread) && count <= max ? count : 0;
	}
	if (!is_whole(thread->process, thread->poll_set))
		return 0;
	count = members_of(state, thread->process, thread->poll_set, members);
	for (size_t i = 0; i < count && i < max; i++)
		out_fds[i] = members[i].fd;
	return count <= max ? count : 0;
}

size_t polled_watched_before(const struct thread *thread, int32_t *out_fds, size_t max)
{
	size_t count = thread->poll_set < 0 && !thread->poll_count ? thread->again.poll_count : 0;

	if (count >= POLL_TOLD || count == POLL_TOLD / 2 || count > max)
		return 0; /* there may be more */
	memcpy(out_fds, thread->poll_fds, count * sizeof(*out_fds));
	return count;
}

void polled_tell_before(struct state *state, const struct thread *thread, struct wait *wait)
{
	struct member members[POLL_TOLD] = { 0 };
	size_t count = thread->again.poll_count;
	char text[TEXT_BYTES];
	struct polled_set set;

	for (size_t i = 0; i < count; i++)
		members[i] = told_member(state, thread, i);
	set = judge(state, members, count, true);
	if (count == 1)
		(void)put_member(state, text, 0, members[0].fd, members[0].object);
	else
		(void)snprintf(text, sizeof(text), "%.400s",
			       names_text(&state->tl->names, set.name));
	(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
		       ", as when it was looked at before");
	wait->object = names_add(&state->tl->names, text, sizeof(text));
	if (set.serves)
		wait->flags |= WAIT_SERVER;
}

static void add_watched(struct thread *thread, int32_t fd, bool for_room)
{
	size_t i = 0;

	thread->again.poll_count = 0;
	while (i < thread->poll_count && thread->poll_fds[i] != fd)
		i++;
	if (i == POLL_TOLD)
		return;
	thread->poll_fds[i] = fd;
	thread->poll_room = (thread->poll_room & ~(UINT64_C(1) << i)) | (uint64_t)for_room << i;
	if (i == thread->poll_count)
		thread->poll_count++;
}

/* The recorder looked where such a call sleeps: this one it watches. */
void polled_told(struct state *state, struct thread *thread, const struct event *ev)
{
	bool sleeps = thread->tl->wait_count > thread->call_first_wait;
	struct wait *wait = sleeps ? tl_wait(thread->tl, thread->wait) : NULL;

	/* Also when the call began before the recording: see call_describe_dumped(). */
	add_watched(thread, ev->fd_name.fd, ev->fd_name.watch == FD_WATCHED_ROOM);
	if (!wait || !thread->in_call || thread->poll_known || !(wait->flags & WAIT_MANY))
		return;
	if (call_of(state, thread)->kind == CALL_POLL)
		tell_told(state, thread, wait);
	else if (call_of(state, thread)->kind == CALL_EPOLL)
		tell_room(state, thread, wait);
}

/* Calls that take what came. What is written next may well go elsewhere. */
static bool takes(const struct call *call)
{
	static const char *const reads[] = { "read",	 "readv",   "recv",
					     "recvfrom", "recvmsg", "recvmmsg" };

	for (size_t i = 0; i < ARRAY_LEN(reads) && call->kind == CALL_FD; i++) {
		if (strcmp(call->name, reads[i]) == 0)
			return true;
	}
	return call->kind == CALL_ACCEPT;
}

/* Such a wait ended a moment ago, and nobody told of what came: what the thread takes next may be it. */
void polled_used(struct state *state, struct thread *thread, const struct event *ev)
{
	const struct call *call = call_of(state, thread);
	int32_t fd = (int32_t)ev->syscall.args[call->arg];
	const struct object *object = fds_find(state, thread, fd);
	char text[TEXT_BYTES] = "then used: ";
	struct wait *wait;

	if (call->kind == CALL_POLL || call->kind == CALL_EPOLL)
		thread->poll_open = false;
	if (!object || !thread->poll_open || !takes(call) || fd == thread->poll_set)
		return;
	wait = tl_wait(thread->tl, thread->wait);
	if (!can_be_polled(state, object) || object->since_ns > wait->begin_ns)
		return;
	if ((thread->poll_set < 0 || set_of(state, thread->process, thread->poll_set)->whole) &&
	    !is_watched(state, thread, fd))
		return;
	if ((thread->poll_set < 0 && thread->poll_count == 1) || wait->fd >= 0) {
		thread->poll_open = false; /* it is known already */
		return;
	}
	thread->poll_open = false;
	(void)put_member(state, text, strlen(text), fd, object);
	wait->object = names_add(&state->tl->names, text, sizeof(text));
	wait->fd = -1;
	if (role_asks(object->role))
		wait->flags &= ~(uint32_t)WAIT_SERVER;
	else if (object_serves(state, object))
		wait->flags |= WAIT_SERVER;
}

/*
 * fds.c - what the descriptors of a process name, followed from call to call.
 *
 * Sources, in order of strength: the name learnt by the recorder when a call made
 * the descriptor (EV_FD_NAME), the state dump, and the calls that make, copy or close
 * one. A number that came about unseen (received over a socket) had no name before, and
 * has none now. What exec closes is taken off the table where it is known.
 */
#include "state/state_int.h"

#include <stdlib.h>

#include "base/mem.h"
#include "event/facts.h"

#define PAIR_LOOK 64u /* others make descriptors, too, while a call makes two */

struct process *process_get(struct state *state, int32_t tgid)
{
	uint64_t *found = map_find(&state->processes, (uint32_t)tgid);
	struct process *process;

	if (found) {
		process = (struct process *)(uintptr_t)*found;
		process->refs++;
		return process;
	}
	process = xcalloc(1, sizeof(*process));
	process->tgid = tgid;
	process->refs = 1;
	map_put(&state->processes, (uint32_t)tgid, (uintptr_t)process);
	return process;
}

static void copy_map(struct map *to, const struct map *from)
{
	for (size_t i = 0; i < from->cap; i++) {
		if (from->used[i])
			map_put(to, from->slots[i].key, from->slots[i].value);
	}
}

struct process *process_copy(struct state *state, int32_t tgid, const struct process *from)
{
	uint64_t *stale = map_find(&state->processes, (uint32_t)tgid);
	struct process *process;

	/* A process of that id whose end was not seen: its table is not ours. */
	if (stale)
		map_remove(&state->processes, (uint32_t)tgid);
	process = process_get(state, tgid);
	if (from) {
		copy_map(&process->fds, &from->fds);
		copy_map(&process->epoll, &from->epoll);
		process->made = from->made;
	}
	process->set_change = process->change++;
	return process;
}

/* Take from the table, or mark, what 'is_one' says. */
static void change_fds(struct process *process, bool remove, uint8_t marks,
		       bool (*is_one)(int32_t fd, uint8_t marks, const uint32_t *range),
		       const uint32_t *range)
{
	struct map left = { 0 };

	for (size_t i = 0; i < process->fds.cap; i++) {
		int32_t fd = (int32_t)process->fds.slots[i].key;
		struct slot_fd slot;

		if (!process->fds.used[i])
			continue;
		slot = slot_fd_of(process->fds.slots[i].value);
		if (is_one(fd, slot.marks, range)) {
			if (remove)
				continue;
			slot.marks = (slot.marks & (FD_UNSEEN | FD_PARTLY | FD_COPIED)) | marks;
		}
		map_put(&left, (uint32_t)fd, slot_fd_value(slot));
	}
	map_fini(&process->fds);
	process->fds = left;
	process->change++;
}

/* Whether a descriptor that nothing is known of closes: most do, but for those that every program has. */
static bool closes_on_exec(int32_t fd, uint8_t marks, const uint32_t *range)
{
	(void)range;
	return marks & FD_CLOSES || (!(marks & FD_STAYS) && fd > 2);
}

void process_exec(struct process *process)
{
	if (process)
		change_fds(process, true, 0, closes_on_exec, NULL);
}

void process_put(struct state *state, struct process *process)
{
	uint64_t *registered;

	if (!process || --process->refs > 0)
		return;
	registered = map_find(&state->processes, (uint32_t)process->tgid);
	if (registered && *registered == (uintptr_t)process)
		map_remove(&state->processes, (uint32_t)process->tgid);
	map_fini(&process->fds);
	map_fini(&process->epoll);
	free(process);
}

static uint32_t add_object(struct state *state, const char *name, uint8_t role, uint64_t inode,
			   uint64_t since_ns)
{
	if (state->object_count == 0)
		state->object_count = 1; /* index 0 is "nothing" */
	state->objects = vec_room(state->objects, state->object_count, &state->object_cap,
				  sizeof(*state->objects));
	state->objects[state->object_count] = (struct object){
		.name = names_add(&state->tl->names, name ? name : "", 4096),
		.role = role & FD_ROLE_MASK,
		.inode = inode,
		.since_ns = since_ns,
	};
	state->has_connecting |= (role & FD_ROLE_MASK) == FD_ROLE_CONNECTING;
	return (uint32_t)state->object_count++;
}

/* From now on 'fd' is another thing than before. */
static void put_fd(struct process *process, int32_t fd, uint32_t object, uint8_t marks)
{
	struct slot_fd slot = { object, marks, ++process->made & 0xffffff };

	map_put(&process->fds, (uint32_t)fd, slot_fd_value(slot));
	process->change++;
}

static void remove_fd(struct process *process, int32_t fd)
{
	process->change += map_remove(&process->fds, (uint32_t)fd);
}

/* As the epoll set of a process has it: what has no name yet is somebody all the same. */
static uint32_t made_of(struct process *process, int32_t fd)
{
	uint64_t *found = map_find(&process->fds, (uint32_t)fd);

	if (!found)
		put_fd(process, fd, 0, FD_UNSEEN);
	return slot_fd_of(*map_find(&process->fds, (uint32_t)fd)).made;
}

/* What was closed leaves the sets without a call. */
static void sweep_epoll(struct process *process)
{
	struct map left = { 0 };

	for (size_t i = 0; i < process->epoll.cap; i++) {
		uint64_t key = process->epoll.slots[i].key;

		if (process->epoll.used[i] &&
		    polled_has(process, (int32_t)(key >> 32), (int32_t)(uint32_t)key))
			map_put(&left, key, process->epoll.slots[i].value);
	}
	map_fini(&process->epoll);
	process->epoll = left;
	process->sweep_at = 2 * left.count + 64;
}

static void put_epoll(struct process *process, int32_t set, int32_t target)
{
	uint64_t made = (uint64_t)made_of(process, set) << 32;

	if (process->epoll.count >= process->sweep_at)
		sweep_epoll(process);
	map_put(&process->epoll, epoll_key(set, target), made | made_of(process, target));
	process->change++;
}

struct process *process_find(const struct state *state, int32_t tgid)
{
	const uint64_t *process = map_find(&state->processes, (uint32_t)tgid);

	return process ? (struct process *)(uintptr_t)*process : NULL;
}

bool process_has(const struct state *state, const struct process *process, uint32_t name)
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

/* Without a name it is known to be there, as a set may be that a thread waits for. */
static void load_fd(struct state *state, struct process *process, const struct fact_fd *fd)
{
	bool named = (fd->name && *fd->name) || fd->role & FD_ROLE_MASK || fd->inode;
	uint32_t object = named ? add_object(state, fd->name, fd->role, fd->inode, 0) : 0;

	put_fd(process, fd->fd, object, fd->role & (FD_PARTLY | FD_STAYS | FD_CLOSES));
}

void fds_load(struct state *state)
{
	const struct facts *facts = state->facts;

	for (size_t i = 0; i < facts->fd_count; i++) {
		const struct fact_fd *fd = &facts->fds[i];
		struct process *process = process_find(state, fd->tgid);

		if (process)
			load_fd(state, process, fd);
	}
	for (size_t i = 0; i < facts->epoll_count; i++) {
		const struct fact_epoll *epoll = &facts->epolls[i];
		struct process *process = process_find(state, epoll->tgid);

		if (process)
			put_epoll(process, epoll->epoll, epoll->target);
	}
}

const struct object *fds_find(const struct state *state, const struct thread *thread, int32_t fd)
{
	const uint64_t *found;

	if (!thread->process || fd < 0)
		return NULL;
	found = map_find(&thread->process->fds, (uint32_t)fd);
	return found ? fds_object(state, *found) : NULL;
}

bool ends_of_name(const char *name, struct ends_name *out_ends)
{
	const char *space = strchr(name, ' '), *arrow = strstr(name, "->");

	if (!space || !arrow || arrow < space)
		return false;
	out_ends->kind = (size_t)(space + 1 - name);
	out_ends->left = (size_t)(arrow - space - 1);
	out_ends->right = strlen(arrow + 2);
	return true;
}

/* More than the name was told of it as it ended: who had to answer may be gone by now. */
static bool tells_more(const struct state *state, const struct wait *wait, uint32_t name)
{
	const char *told = names_text(&state->tl->names, wait->object);
	const char *text = names_text(&state->tl->names, name);
	size_t len = strlen(text);

	return len && strncmp(told, text, len) == 0 && told[len] == ';';
}

/* A call that blocked before its descriptor had a name: the waits get it now. */
static void name_waits(struct state *state, struct thread *thread, int32_t fd,
		       const struct object *object)
{
	const struct call *call = call_of(state, thread);

	for (uint32_t i = thread->call_first_wait; i < thread->tl->wait_count; i++) {
		struct wait *wait = tl_wait(thread->tl, i);

		if (call->kind == CALL_OPEN || (call->kind == CALL_CONNECT && wait->fd == fd)) {
			wait->fd = fd;
			if (tells_more(state, wait, object->name))
				continue;
			wait->object = object->name;
			if (wait->flags & WAIT_TIMED_OUT)
				expect_timed_out(state, thread, wait);
			else
				expect_asked_again(state, thread, wait);
		}
	}
}

/*
 * What has a name already and gets another one was connected or bound meanwhile, or is the same. A
 * socket that listens, or was accepted, is that also when a later look at it cannot tell.
 */
static void rename_fd(struct state *state, struct process *process, const struct ev_fd_name *name,
		      uint64_t *found)
{
	struct slot_fd slot = slot_fd_of(*found);
	uint8_t marks = name->role & (FD_STAYS | FD_CLOSES);
	uint8_t role = name->role & FD_ROLE_MASK;
	const struct object was = slot.object ? state->objects[slot.object] : (struct object){ 0 };

	if (role == FD_ROLE_UNKNOWN || (role == FD_ROLE_SOCKET && was.inode == name->inode))
		role = was.role;
	slot.marks =
		marks ? (slot.marks & (FD_PARTLY | FD_COPIED)) | marks : slot.marks & ~FD_UNSEEN;
	/* Who has it, too, by fork or dup, has the same as long as it is the same. */
	if (!slot.object || role != was.role || name->inode != was.inode ||
	    strcmp(names_text(&state->tl->names, was.name), name->name ? name->name : "") != 0)
		slot.object = add_object(state, name->name, role, name->inode, was.since_ns);
	if (name->inode != was.inode && (role == FD_ROLE_PIPE || was.role == FD_ROLE_PIPE))
		slot.marks &= (uint8_t)~FD_READS;
	*found = slot_fd_value(slot);
	process->change++;
}

/* Of the two ends that one call makes, the second one finds the first. */
static void pair_up(struct state *state, const struct thread *thread, uint32_t index)
{
	struct object *object = &state->objects[index], *other;

	if (!thread->call_ns || call_of(state, thread)->kind != CALL_PAIR)
		return;
	object->call_ns = thread->call_ns;
	for (uint32_t i = index - 1; i > 0 && i + PAIR_LOOK > index; i--) {
		other = &state->objects[i];
		if (other->call_ns != object->call_ns || other->name != object->name || other->pair)
			continue;
		other->pair = index;
		object->pair = i;
		return;
	}
}

static bool uses_fd(const struct state *state, const struct thread *thread, int32_t fd)
{
	const struct call *call = call_of(state, thread);

	return thread->in_call && (call->kind == CALL_FD || call->kind == CALL_EPOLL) &&
	       thread->call_args[call->arg] == (uint64_t)fd;
}

/*
 * A name may be told when somebody blocks on it: that may be the one that is known. With lean events it is
 * known of a socket or pipe.
 */
static bool is_told_again(const struct state *state, const struct thread *thread, uint64_t found,
			  const struct ev_fd_name *name)
{
	const struct object *object = fds_object(state, found);

	if (!object || (!state->is_lean && !uses_fd(state, thread, name->fd)))
		return false;
	if (name->inode || state->is_lean)
		return name->inode && object->inode == name->inode;
	return !object->inode && strcmp(names_text(&state->tl->names, object->name),
					name->name ? name->name : "") == 0;
}

/* The same: told right behind the switch, it is of the wait that has just begun. */
static void name_told_wait(const struct state *state, struct thread *thread, int32_t fd,
			   const struct object *object)
{
	struct wait *wait;

	if (thread->sched != SCHED_BLOCKED || !thread->tl->wait_count)
		return;
	wait = tl_wait(thread->tl, thread->wait);
	if (wait->fd != fd || word_kind(wait->in) != WORD_SYSCALL || wait->flags & WAIT_MANY)
		return;
	wait->object = object->name;
	if (object_serves(state, object) && call_takes_work(call_of(state, thread)))
		wait->flags |= WAIT_SERVER;
}

/* It began before the recording, and ended before anybody looked: nothing else tells whose it is. */
static void join_told(struct state *state, struct thread *thread, const struct ev_fd_name *name)
{
	if (thread->process || thread->tl->kernel || name->tgid <= 0)
		return;
	thread->tl->tgid = name->tgid;
	thread->process = process_get(state, name->tgid);
}

void fds_on_name(struct state *state, struct cpu *cpu, const struct event *ev)
{
	const struct ev_fd_name *name = &ev->fd_name;
	struct thread *thread = state_living(state, name->tid);
	const struct call *call;
	uint64_t *found;
	uint32_t object;

	(void)cpu;
	if (name->watch == FD_LOCK) {
		klock_told(state, ev);
		return;
	}
	if (name->watch == FD_THROTTLED)
		throttle_told(state, ev);
	if (thread && thread->process && name->watch > FD_THROTTLED)
		asked_on_name(state, thread, name);
	if (thread && fd_watch_names(name->watch))
		join_told(state, thread, name);
	if (!thread || !thread->process || name->fd < 0 || !fd_watch_names(name->watch))
		return;
	call = call_of(state, thread);
	found = map_find(&thread->process->fds, (uint32_t)name->fd);
	if (found && (name->watch || call->kind == CALL_CONNECT || call->kind == CALL_NAME ||
		      is_told_again(state, thread, *found, name))) {
		rename_fd(state, thread->process, name, found);
		object = slot_fd_of(*found).object;
	} else {
		object = add_object(state, name->name, name->role, name->inode,
				    name->watch ? 0 : ev->time_ns);
		pair_up(state, thread, object);
		put_fd(thread->process, name->fd, object, name->role & (FD_STAYS | FD_CLOSES));
	}
	if (!name->watch && object)
		asked_open_is_named(state, thread, name->fd);
	if (name->watch)
		polled_told(state, thread, ev);
	else
		name_waits(state, thread, name->fd, &state->objects[object]);
	if (object && !name->watch)
		name_told_wait(state, thread, name->fd, &state->objects[object]);
}

uint32_t fds_path(struct state *state, const struct thread *thread, const char *path)
{
	const char *call = call_of(state, thread)->name;
	const struct object *folder = NULL;
	char text[4096];

	/* openat and openat2 have the directory's descriptor first. */
	if (*path != '/' && strncmp(call, "openat", 6) == 0)
		folder = fds_find(state, thread, (int32_t)thread->call_args[0]);
	if (!folder || !folder->name)
		return names_add(&state->tl->names, path, sizeof(text));
	(void)snprintf(text, sizeof(text), "%s/%s", names_text(&state->tl->names, folder->name),
		       path);
	return names_add(&state->tl->names, text, sizeof(text));
}

static uint8_t marks_of(const struct call *call, const uint64_t *args)
{
	if (call->exec_arg == EXEC_UNKNOWN)
		return 0;
	if (call->exec_arg == 0)
		return call->exec_bits ? FD_CLOSES : FD_STAYS;
	return args[call->exec_arg - 1] & call->exec_bits ? FD_CLOSES : FD_STAYS;
}

/* The recorder told of it while the call went on. */
static bool has_name(const struct state *state, const struct thread *thread, int32_t fd)
{
	const struct object *object = fds_find(state, thread, fd);

	return object && thread->call_ns && object->since_ns >= thread->call_ns;
}

/* What was opened has the name that the call was given: a later event may know it better. */
static void name_made(struct state *state, struct thread *thread, int32_t fd)
{
	const struct call *call = call_of(state, thread);
	uint32_t object = 0;

	if (has_name(state, thread, fd))
		return;
	if (call->kind == CALL_OPEN && thread->call_path)
		object = add_object(state, names_text(&state->tl->names, thread->call_path),
				    FD_ROLE_UNKNOWN, 0, state->now_ns);
	put_fd(thread->process, fd, object, marks_of(call, thread->call_args));
	if (object)
		name_waits(state, thread, fd, &state->objects[object]);
}

static bool is_pipe(const struct state *state, uint64_t value)
{
	const struct object *object = fds_object(state, value);

	return object && object->role == FD_ROLE_PIPE;
}

static void copy_fd(struct state *state, struct thread *thread, int64_t to, uint8_t marks)
{
	struct process *process = thread->process;
	const uint64_t *from = map_find(&process->fds, (uint32_t)thread->call_args[0]);

	if (has_name(state, thread, (int32_t)to) || to == (int64_t)(int32_t)thread->call_args[0])
		return;
	/* Of two descriptors of one epoll set only those added by this one are seen as its. */
	if (from && is_pipe(state, *from))
		marks |= slot_fd_of(*from).marks & FD_READS;
	else
		marks |= FD_PARTLY;
	put_fd(process, (int32_t)to, from ? slot_fd_of(*from).object : 0, marks);
}

/* Both are the same from now on. */
static void note_copy(struct process *process, int32_t from, int32_t to)
{
	const int32_t both[] = { from, to };

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		uint64_t *found = map_find(&process->fds, (uint32_t)both[i]);
		struct slot_fd slot = { 0 };

		if (!found)
			continue;
		slot = slot_fd_of(*found);
		slot.marks |= FD_COPIED;
		*found = slot_fd_value(slot);
	}
}

bool fds_is_copy(const struct thread *thread, int32_t fd)
{
	const uint64_t *found =
		thread->process ? map_find(&thread->process->fds, (uint32_t)fd) : NULL;

	return found && slot_fd_of(*found).marks & FD_COPIED;
}

static void mark_fd(struct process *process, int32_t fd, uint8_t marks)
{
	uint64_t *found = map_find(&process->fds, (uint32_t)fd);
	struct slot_fd slot;

	if (!found)
		return;
	slot = slot_fd_of(*found);
	slot.marks = (slot.marks & (FD_UNSEEN | FD_PARTLY | FD_COPIED)) | marks;
	*found = slot_fd_value(slot);
}

#define COMMAND_DUPFD	      0
#define COMMAND_SETFD	      2
#define COMMAND_DUPFD_CLOEXEC 1030

static void after_fcntl(struct state *state, struct thread *thread, int64_t ret)
{
	const uint64_t *args = thread->call_args;

	if (args[1] == COMMAND_DUPFD || args[1] == COMMAND_DUPFD_CLOEXEC) {
		copy_fd(state, thread, ret, args[1] == COMMAND_DUPFD ? FD_STAYS : FD_CLOSES);
		note_copy(thread->process, (int32_t)args[0], (int32_t)ret);
	} else if (args[1] == COMMAND_SETFD) {
		mark_fd(thread->process, (int32_t)args[0], args[2] & 1 ? FD_CLOSES : FD_STAYS);
	}
}

/* asm-generic/ioctls.h: the same numbers on all that holdup knows. */
#define IOCTL_PEER  0x5441u /* TIOCGPTPEER: the other end of a pseudo-terminal */
#define IOCTL_STAY  0x5450u
#define IOCTL_CLOSE 0x5451u
#define OPEN_CLOSES 02000000u

static void after_ioctl(struct state *state, struct thread *thread, int64_t ret)
{
	const uint64_t *args = thread->call_args;
	const struct object *master = fds_find(state, thread, (int32_t)args[0]);
	const char *known =
		master ? strstr(names_text(&state->tl->names, master->name), " of /dev/") : NULL;
	char name[64];

	switch ((uint32_t)args[1]) {
	case IOCTL_PEER:
		if (known)
			(void)snprintf(name, sizeof(name), "%s", known + strlen(" of "));
		else
			(void)snprintf(name, sizeof(name), "terminal, other end of fd %d",
				       (int)args[0]);
		put_fd(thread->process, (int32_t)ret,
		       add_object(state, name, FD_ROLE_TTY, 0, state->now_ns),
		       args[2] & OPEN_CLOSES ? FD_CLOSES : FD_STAYS);
		break;
	case IOCTL_STAY:
	case IOCTL_CLOSE:
		mark_fd(thread->process, (int32_t)args[0],
			(uint32_t)args[1] == IOCTL_CLOSE ? FD_CLOSES : FD_STAYS);
		break;
	}
}

static bool in_range(int32_t fd, uint8_t marks, const uint32_t *range)
{
	(void)marks;
	return (uint32_t)fd >= range[0] && (uint32_t)fd <= range[1];
}

static void close_range_of(struct process *process, const uint64_t *args)
{
	const uint32_t range[2] = { (uint32_t)args[0], (uint32_t)args[1] };

	/* CLOSE_RANGE_CLOEXEC */
	change_fds(process, !(args[2] & 4), FD_CLOSES, in_range, range);
}

static void change_epoll(struct process *process, const uint64_t *args)
{
	if (args[1] == 1) /* EPOLL_CTL_ADD */
		put_epoll(process, (int32_t)args[0], (int32_t)args[2]);
	else if (args[1] == 2) /* EPOLL_CTL_DEL */
		process->change +=
			map_remove(&process->epoll, epoll_key((int32_t)args[0], (int32_t)args[2]));
}

void fds_connected(struct state *state, const struct thread *thread, int32_t fd)
{
	const uint64_t *found = map_find(&thread->process->fds, (uint32_t)fd);
	uint32_t object = found ? slot_fd_of(*found).object : 0;

	if (object && state->objects[object].role == FD_ROLE_CONNECTING)
		state->objects[object].role = FD_ROLE_CONNECTED;
}

/* The call in thread->call_* returned 'ret'. */
void fds_after_call(struct state *state, struct thread *thread, int64_t ret)
{
	const struct call *call = call_of(state, thread);
	struct process *process = thread->process;
	const uint64_t *args = thread->call_args;

	if (!process)
		return;
	/* When it fails, the number is free as well; another thread may have got it by now. */
	if (call->kind == CALL_CLOSE && !has_name(state, thread, (int32_t)args[0]))
		remove_fd(process, (int32_t)args[0]);
	if (ret < 0)
		return;
	switch (call->kind) {
	case CALL_OPEN:
	case CALL_MAKE:
	case CALL_ACCEPT:
		name_made(state, thread, (int32_t)ret);
		break;
	case CALL_CLOSE_RANGE:
		close_range_of(process, args);
		break;
	case CALL_DUP:
	case CALL_DUP2:
		copy_fd(state, thread, ret, marks_of(call, args));
		note_copy(process, (int32_t)args[0], (int32_t)ret);
		break;
	case CALL_FCNTL:
		after_fcntl(state, thread, ret);
		break;
	case CALL_FD:
		if (strcmp(call->name, "ioctl") == 0)
			after_ioctl(state, thread, ret);
		else if (ret > 0 && state->has_connecting) /* data came, or went */
			fds_connected(state, thread, (int32_t)args[call->arg]);
		break;
	case CALL_POLL:
	case CALL_EPOLL:
		if (ret > 0 && state->has_connecting)
			polled_found(state, thread);
		break;
	case CALL_EPOLL_CTL:
		change_epoll(process, args);
		break;
	default:
		break;
	}
}

/*
 * fds.c - what the descriptors of a process name, followed from call to call.
 *
 * Sources, in order of strength: the name learnt by the recorder when a call made
 * the descriptor (EV_FD_NAME), the state dump, and the calls that copy or close
 * one (dup, fcntl, close, fork). exec keeps the table: which descriptors close on
 * exec is not known, and a number that is used again gets a new name anyway.
 */
#include "state/state_int.h"

#include <stdlib.h>

#include "base/mem.h"
#include "event/facts.h"

#define EPOLL_LOOK 256

bool role_serves(uint8_t role)
{
	return role == FD_ROLE_LISTEN || role == FD_ROLE_ACCEPTED || role == FD_ROLE_TTY;
}

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
	}
	return process;
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

static uint32_t add_object(struct state *state, const char *name, uint8_t role, uint64_t inode)
{
	if (state->object_count == 0)
		state->object_count = 1; /* index 0 is "nothing" */
	state->objects = vec_room(state->objects, state->object_count, &state->object_cap,
				  sizeof(*state->objects));
	state->objects[state->object_count] = (struct object){
		.name = names_add(&state->tl->names, name ? name : "", 4096),
		.role = role,
		.inode = inode,
	};
	return (uint32_t)state->object_count++;
}

void fds_load(struct state *state)
{
	const struct facts *facts = state->facts;

	for (size_t i = 0; i < facts->fd_count; i++) {
		const struct fact_fd *fd = &facts->fds[i];
		uint64_t *process = map_find(&state->processes, (uint32_t)fd->tgid);

		if (process)
			map_put(&((struct process *)(uintptr_t)*process)->fds, (uint32_t)fd->fd,
				add_object(state, fd->name, fd->role, fd->inode));
	}
	for (size_t i = 0; i < facts->epoll_count; i++) {
		const struct fact_epoll *epoll = &facts->epolls[i];
		uint64_t *process = map_find(&state->processes, (uint32_t)epoll->tgid);

		if (process)
			map_put(&((struct process *)(uintptr_t)*process)->epoll,
				(uint64_t)(uint32_t)epoll->epoll << 32 | (uint32_t)epoll->target,
				1);
	}
}

const struct object *fds_find(const struct state *state, const struct thread *thread, int32_t fd)
{
	uint64_t *found;

	if (!thread->process || fd < 0)
		return NULL;
	found = map_find(&thread->process->fds, (uint32_t)fd);
	return found && *found < state->object_count ? &state->objects[*found] : NULL;
}

/* A call that blocked before its descriptor had a name: the waits get it now. */
static void name_waits(struct state *state, struct thread *thread, int32_t fd,
		       const struct object *object)
{
	const struct call *call = call_of(state, thread);

	for (uint32_t i = thread->call_first_wait; i < thread->tl->wait_count; i++) {
		struct wait *wait = tl_wait(thread->tl, i);

		if (call->kind == CALL_OPEN || (call->kind == CALL_CONNECT && wait->fd == fd)) {
			wait->object = object->name;
			wait->fd = fd;
		}
	}
}

void fds_on_name(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_living(state, ev->fd_name.tid);
	uint32_t object;

	(void)cpu;
	if (!thread || !thread->process || ev->fd_name.fd < 0)
		return;
	object = add_object(state, ev->fd_name.name, ev->fd_name.role, ev->fd_name.inode);
	map_put(&thread->process->fds, (uint32_t)ev->fd_name.fd, object);
	name_waits(state, thread, ev->fd_name.fd, &state->objects[object]);
}

static void copy_fd(struct process *process, int32_t from, int64_t to)
{
	uint64_t *object = map_find(&process->fds, (uint32_t)from);

	if (object)
		map_put(&process->fds, (uint32_t)to, *object);
	else
		map_remove(&process->fds, (uint32_t)to);
}

static void change_epoll(struct process *process, const uint64_t *args)
{
	uint64_t key = args[0] << 32 | (uint32_t)args[2];

	if (args[1] == 1) /* EPOLL_CTL_ADD */
		map_put(&process->epoll, key, 1);
	else if (args[1] == 2) /* EPOLL_CTL_DEL */
		map_remove(&process->epoll, key);
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

/* What was opened has the name that the call was given: a later event may know it better. */
static void name_opened(struct state *state, struct thread *thread, int32_t fd)
{
	uint32_t object;

	if (!thread->call_path)
		return;
	object = add_object(state, names_text(&state->tl->names, thread->call_path),
			    FD_ROLE_UNKNOWN, 0);
	map_put(&thread->process->fds, (uint32_t)fd, object);
	name_waits(state, thread, fd, &state->objects[object]);
}

/* The call in thread->call_* returned 'ret'. */
void fds_after_call(struct state *state, struct thread *thread, int64_t ret)
{
	struct process *process = thread->process;
	const uint64_t *args = thread->call_args;

	if (!process || ret < 0)
		return;
	switch (call_of(state, thread)->kind) {
	case CALL_OPEN:
		name_opened(state, thread, (int32_t)ret);
		break;
	case CALL_CLOSE:
		map_remove(&process->fds, (uint32_t)args[0]);
		break;
	case CALL_DUP:
	case CALL_DUP2:
		copy_fd(process, (int32_t)args[0], ret);
		break;
	case CALL_FCNTL:
		if (args[1] == 0 || args[1] == 1030) /* F_DUPFD, F_DUPFD_CLOEXEC */
			copy_fd(process, (int32_t)args[0], ret);
		break;
	case CALL_EPOLL_CTL:
		change_epoll(process, args);
		break;
	default:
		break;
	}
}

/*
 * Whether work arrives through this epoll set: it watches a listening or accepted
 * socket and none that answers come through. *out_name: the name of what it
 * watches, when that is one thing or one listening socket, else 0.
 */
bool fds_epoll_serves(const struct state *state, const struct thread *thread, int32_t epoll,
		      uint32_t *out_name)
{
	const struct map *set = thread->process ? &thread->process->epoll : NULL;
	bool serves = false, asks = false;
	uint32_t listening = 0, only = 0, count = 0;

	/* A server with many clients: looking at each at every wait would cost too much. */
	if (set && set->count > EPOLL_LOOK)
		set = NULL;
	for (size_t i = 0; set && i < set->cap; i++) {
		const struct object *object;

		if (!set->used[i] || (int32_t)(set->slots[i].key >> 32) != epoll)
			continue;
		object = fds_find(state, thread, (int32_t)(uint32_t)set->slots[i].key);
		count++;
		if (!object)
			continue;
		only = object->name;
		serves |= role_serves(object->role);
		asks |= object->role == FD_ROLE_CONNECTED;
		/* The smallest id: the same whatever the order of the map. */
		if (object->role == FD_ROLE_LISTEN && (!listening || object->name < listening))
			listening = object->name;
	}
	*out_name = count == 1 ? only : listening;
	return serves && !asks;
}

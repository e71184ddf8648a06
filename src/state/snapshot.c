/* snapshot.c - what the engine knows at a moment, as the facts that a recording begins with. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "event/facts.h"
#include "state/state.h"
#include "state/state_int.h"

struct snapshot {
	const struct state *state;
	struct facts *out;
	struct map known; /* tid: index in the facts of the start, plus 1 */
	size_t thread_cap, fd_cap, epoll_cap;
};

/* What the dump saw of the thread, which may have begun while it was made; NULL = of an earlier one, or nothing. */
static const struct fact_thread *fact_of(const struct snapshot *snapshot,
					 const struct tl_thread *tl)
{
	uint64_t *index = map_find(&snapshot->known, (uint32_t)tl->tid);
	const struct fact_thread *fact =
		index ? &snapshot->state->facts->threads[*index - 1] : NULL;

	return fact && (!tl->born || fact->seen_ns >= tl->birth_ns) ? fact : NULL;
}

/* The thread in the facts of the start: the same one, or the one that it was made by. */
static const struct fact_thread *origin_of(const struct snapshot *snapshot,
					   const struct thread *thread, bool *out_same)
{
	const struct state *state = snapshot->state;
	const struct tl_thread *tl = thread->tl;

	*out_same = !tl->born && tl->birth_ns == state->tl->origin_ns;
	for (uint32_t up = 0; up < 64; up++) {
		const struct fact_thread *fact = fact_of(snapshot, tl);

		if (fact)
			return fact;
		if (tl->parent == SLOT_NONE)
			break;
		tl = state->tl->threads[tl->parent];
	}
	return NULL;
}

/* As /proc shows it. What no event told of is as the dump saw it. */
static char letter_of(const struct thread *thread, const struct fact_thread *same)
{
	if (thread->sched == SCHED_RUNNING || thread->sched == SCHED_RUNNABLE)
		return 'R';
	if (thread->sched == SCHED_BLOCKED)
		return same && (same->state == 'D' || same->state == 'I') && !thread->seen
			       ? same->state
			       : 'S';
	return same && !thread->seen ? same->state : '?';
}

static void snapshot_put_thread(struct snapshot *snapshot, const struct thread *thread)
{
	const struct state *state = snapshot->state;
	struct facts *out = snapshot->out;
	const struct tl_thread *tl = thread->tl;
	const struct tl_thread *parent =
		tl->parent == SLOT_NONE ? NULL : state->tl->threads[tl->parent];
	bool is_same;
	const struct fact_thread *origin = origin_of(snapshot, thread, &is_same);
	const struct fact_thread *same = is_same ? origin : NULL;
	char comm[COMM_BYTES + 1] = { 0 };

	memcpy(comm, thread->comm, COMM_BYTES);
	out->threads = vec_room(out->threads, out->thread_count, &snapshot->thread_cap,
				sizeof(*out->threads));
	out->threads[out->thread_count++] = (struct fact_thread){
		.tid = tl->tid,
		.tgid = tl->tgid,
		.ppid = parent ? parent->tgid
			: same ? same->ppid
			       : 0,
		.comm = facts_keep(out, comm),
		.cmdline = facts_keep(out, names_text(&state->tl->names, tl->cmdline)),
		.cgroup = origin ? facts_keep(out, origin->cgroup) : "",
		.uid = origin ? origin->uid : 0,
		.policy = origin ? origin->policy : -1,
		.prio = origin ? origin->prio : 0,
		.state = letter_of(thread, same),
		.allowed = facts_keep(out, names_text(&state->tl->names, tl->allowed)),
		.kernel = tl->kernel,
		.compat = thread->is_32bit,
		.seen_ns = state->now_ns,
	};
	/* Nothing told of it since: it is in that call still. */
	if (same && !thread->seen) {
		struct fact_thread *fact = &out->threads[out->thread_count - 1];

		fact->call = same->call;
		fact->arg0 = same->arg0;
		fact->arg1 = same->arg1;
		fact->arg2 = same->arg2;
		fact->untimed = same->untimed;
		fact->call_ns = same->call_ns;
	}
}

ORDER_FUNCTION(by_epoll, struct fact_epoll, ORDER_UP(tgid), ORDER_UP(epoll), ORDER_UP(target));

static void put_fds(struct snapshot *snapshot, const struct process *process)
{
	const struct state *state = snapshot->state;
	struct facts *out = snapshot->out;

	for (size_t i = 0; i < process->fds.cap; i++) {
		const struct object *object, none = { 0 };
		struct slot_fd slot;

		if (!process->fds.used[i])
			continue;
		slot = slot_fd_of(process->fds.slots[i].value);
		if (!slot.object && slot.marks & FD_UNSEEN)
			continue;
		object = slot.object ? &state->objects[slot.object] : &none;
		out->fds = vec_room(out->fds, out->fd_count, &snapshot->fd_cap, sizeof(*out->fds));
		out->fds[out->fd_count++] = (struct fact_fd){
			.tgid = process->tgid,
			.fd = (int32_t)process->fds.slots[i].key,
			.role = object->role | (slot.marks & (FD_PARTLY | FD_STAYS | FD_CLOSES)),
			.inode = object->inode,
			.name = facts_keep(out, names_text(&state->tl->names, object->name)),
		};
	}
	for (size_t i = 0; i < process->epoll.cap; i++) {
		uint64_t key = process->epoll.slots[i].key;

		if (!process->epoll.used[i] ||
		    !polled_has(process, (int32_t)(key >> 32), (int32_t)(uint32_t)key))
			continue;
		out->epolls = vec_room(out->epolls, out->epoll_count, &snapshot->epoll_cap,
				       sizeof(*out->epolls));
		out->epolls[out->epoll_count++] = (struct fact_epoll){
			.tgid = process->tgid,
			.epoll = (int32_t)(key >> 32),
			.target = (int32_t)(uint32_t)key,
		};
	}
}

static void put_processes(struct snapshot *snapshot)
{
	const struct map *processes = &snapshot->state->processes;
	struct facts *out = snapshot->out;

	for (size_t i = 0; i < processes->cap; i++) {
		if (processes->used[i])
			put_fds(snapshot, (const void *)(uintptr_t)processes->slots[i].value);
	}
	if (out->fd_count)
		qsort(out->fds, out->fd_count, sizeof(*out->fds), facts_compare_fds);
	if (out->epoll_count)
		qsort(out->epolls, out->epoll_count, sizeof(*out->epolls), by_epoll);
}

/* Those that had ended when the dump passed them, but lived now: their events have a name. */
static void put_ended(struct snapshot *snapshot)
{
	const struct state *state = snapshot->state;
	struct facts *out = snapshot->out;

	for (size_t i = 0; i < state->facts->thread_count; i++) {
		struct fact_thread fact = state->facts->threads[i];

		if ((fact.state != 'Z' && fact.state != 'X') || fact.seen_ns < state->now_ns ||
		    map_find(&state->live, (uint32_t)fact.tid))
			continue;
		fact.comm = facts_keep(out, fact.comm);
		fact.cmdline = facts_keep(out, fact.cmdline);
		fact.cgroup = facts_keep(out, fact.cgroup);
		out->threads = vec_room(out->threads, out->thread_count, &snapshot->thread_cap,
					sizeof(*out->threads));
		out->threads[out->thread_count++] = fact;
	}
}

void state_snapshot(const struct state *state, struct facts *out)
{
	struct snapshot snapshot = { .state = state, .out = out };

	for (size_t i = 0; i < state->facts->thread_count; i++)
		map_put(&snapshot.known, (uint32_t)state->facts->threads[i].tid, i + 1);
	for (uint32_t slot = 0; slot < state->tl->thread_count; slot++) {
		const struct thread *thread = state->threads[slot];

		if (!thread->idle && thread->sched != SCHED_DEAD && thread->tl->tid > 0)
			snapshot_put_thread(&snapshot, thread);
	}
	put_ended(&snapshot);
	put_processes(&snapshot);
	map_fini(&snapshot.known);
}

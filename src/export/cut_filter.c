/*
 * cut_filter.c - which events a cut keeps.
 *
 * Of threads that were not asked for stays what the others' states rest on: who runs where, who
 * wakes whom, births and ends, interrupts and what they do. So the answers about the chosen threads
 * lose nothing but what those that they waited for did in detail.
 */
#include <string.h>

#include "base/mem.h"
#include "event/event.h"
#include "export/ctf_export.h"
#include "export/cut_int.h"

void cut_filter_init(struct cut *cut)
{
	const struct cut_opts *opts = cut->opts;

	for (size_t i = 0; i < opts->tid_count; i++)
		map_put(&cut->tids, (uint32_t)opts->tids[i], 1);
	for (size_t i = 0; i < opts->pid_count; i++) {
		map_put(&cut->tgids, (uint32_t)opts->pids[i], 1);
		map_put(&cut->tids, (uint32_t)opts->pids[i], 1);
	}
	/* The threads that a process has at the start; the others show by their birth. */
	for (size_t t = 0; opts->pid_count && t < cut->facts.thread_count; t++) {
		const struct fact_thread *thread = &cut->facts.threads[t];

		if (map_find(&cut->tgids, (uint32_t)thread->tgid))
			map_put(&cut->tids, (uint32_t)thread->tid, 1);
	}
}

#define CLONE_THREAD 0x10000u

/* A chosen process makes a thread: it is chosen, too. */
static void learn_birth(struct cut *cut, const struct event *event)
{
	bool is_thread = event->type == EV_TASK_NEW
				 ? event->task.clone_flags & CLONE_THREAD
				 : event->type == EV_SCHED_FORK && event->task.tgid > 0 &&
					   event->task.tgid != event->task.tid;

	if (is_thread && cut->tgids.count && event->tid >= 0 &&
	    map_find(&cut->tids, (uint32_t)event->tid))
		map_put(&cut->tids, (uint32_t)event->task.tid, 1);
}

/* Does the state of other threads rest on it? */
static bool is_shared(const struct event *event)
{
	switch (event->type) {
	case EV_OTHER:
	case EV_SYS_ENTER:
	case EV_SYS_EXIT:
	case EV_FAULT_USER:
	case EV_FAULT_KERNEL:
	case EV_LOCK_BEGIN:
	case EV_LOCK_END:
	case EV_STACK:
	case EV_USER_LOCK:
	case EV_SIGNAL_DELIVER:
	case EV_BLOCKED_IN:
		return false;
	default:
		return true;
	}
}

bool cut_wants(void *context, const struct event *event)
{
	struct cut *cut = context;
	const struct cut_opts *opts = cut->opts;
	bool wanted = true;

	if (opts->cpus && event->type != EV_FD_NAME)
		wanted = event->cpu < opts->cpu_count && opts->cpus[event->cpu];
	if (!wanted)
		return false;
	if (event->type == EV_LOST || cut->tids.count == 0)
		return true;
	learn_birth(cut, event);
	if (event->type == EV_FD_NAME)
		return map_find(&cut->tids, (uint32_t)event->fd_name.tid) ||
		       map_find(&cut->tgids, (uint32_t)event->fd_name.tgid);
	if (is_shared(event) && !(event->context & EV_CTX_USER))
		return true;
	return event->tid >= 0 && map_find(&cut->tids, (uint32_t)event->tid);
}

struct ctf_choice cut_choice(struct cut *cut)
{
	return (struct ctf_choice){
		.from_ns = cut->opts->from_ns,
		.to_ns = cut->opts->to_ns,
		.wants = cut_wants,
		.context = cut,
		.facts = &cut->facts,
	};
}

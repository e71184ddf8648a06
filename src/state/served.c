/*
 * served.c - disks that are no hardware: a kworker serves their requests, as a loop device's does from
 * the file behind it.
 *
 * Who issues a request of such a disk queues the work that serves it at once, unless it is queued
 * already; a work item belongs to one disk for as long as that lives. So from the first request on it is
 * known whose work it is, and the kworker that ran it last is who serves. A request is completed
 * wherever the kernel likes: that says nothing.
 */
#include <string.h>

#include "base/mem.h"
#include "state/state_int.h"

/* From a request to its work, in the same thread. */
#define SERVED_NS 100000u

/* Does a work function serve requests of a disk? */
static bool serves(const char *function)
{
	static const char *const functions[] = { "loop_workfn", "loop_rootcg_workfn" };

	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		if (strcmp(function, functions[i]) == 0)
			return true;
	}
	return false;
}

void served_issued(struct cpu *cpu, const struct event *ev, const struct actor *by)
{
	if (ev->type != EV_BLOCK_ISSUE)
		return;
	cpu->issued_slot = by->kind == ACTOR_THREAD ? by->slot : SLOT_NONE;
	cpu->issued_dev = ev->block.dev;
	cpu->issued_ns = ev->time_ns;
}

void served_queued(struct state *state, struct cpu *cpu, const struct event *ev)
{
	if (!cpu->issued_ns || cpu->issued_slot != cpu->cur || cpu->cur == SLOT_NONE ||
	    ev->time_ns - cpu->issued_ns > SERVED_NS || !ev->work.function)
		return;
	if (serves(names_text(&state->tl->names, state_symbol(state, ev->work.function))))
		map_put(&state->server_works, ev->work.work, cpu->issued_dev);
	cpu->issued_ns = 0;
}

void served_started(struct state *state, const struct thread *worker, const struct event *ev)
{
	const uint64_t *dev =
		state->server_works.count ? map_find(&state->server_works, ev->work.work) : NULL;

	if (dev)
		map_put(&state->servers, *dev,
			worker->slot | (uint64_t)state_symbol(state, ev->work.function) << 32);
}

void served_completed(struct state *state, struct cpu *cpu, const struct event *ev)
{
	const uint64_t *server =
		state->servers.count ? map_find(&state->servers, ev->block.dev) : NULL;

	cpu->disk_server = server ? *server : 0;
}

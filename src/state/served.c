/*
 * served.c - disks that are no hardware: a kworker serves their requests, as a loop device's does from
 * the file behind it.
 *
 * Who issues a request of such a disk queues the work that serves it at once, unless it is queued
 * already; a work item belongs to one disk for as long as that lives. So from the first request on it is
 * known whose work it is, and the kworker that ran it last is who serves. A request is completed
 * wherever the kernel likes: that says nothing. With direct I/O the kworker does not wait for the disk
 * below: then what it issued last there, and is complete, says what the request waited for.
 *
 * Others have no requests of their own: the device mapper asks devices below for what it was asked for, at once or
 * later, and only those have requests. These are told as those of the device on top.
 */
#include <string.h>

#include "base/mem.h"
#include "event/facts.h"
#include "state/state_int.h"

/* So many waits of a kworker are looked at. */
#define WAITS_BACK 8u

/* Requests of devices above whose end was not seen: they were joined to others. Then all are forgotten. */
#define REMAPS_MAX 65536u

#define DEV_MINOR_BITS 20

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

/*
 * Complete is what a thread of the kernel issued that does not wait for it: one that polls for
 * io_uring, or serves a loop device with direct I/O. It happens in an interrupt.
 */
void served_disk_done(struct state *state, const struct cpu *cpu, const struct event *ev)
{
	struct thread *issuer = cpu->disk_slot == SLOT_NONE ? NULL : state->threads[cpu->disk_slot];

	if (issuer && (issuer->tl->kernel || uring_polls(issuer)))
		issuer->disk_done = (struct actor){ .time_ns = ev->time_ns,
						    .slot = issuer->slot,
						    .name = cpu->disk_name,
						    .kind = ACTOR_DISK };
}

/* Of a partition only the device that it is on is told: mostly both are the driver's. */
static bool stands_on_others(const struct state *state, const struct ev_block *block)
{
	const char *name = facts_device(state->facts, block->old_dev);

	return block->old_dev >> DEV_MINOR_BITS != block->dev >> DEV_MINOR_BITS ||
	       (name && strchr(name, '('));
}

void served_remapped(struct state *state, const struct event *ev)
{
	uint64_t above = throttle_request(ev->block.old_dev, ev->block.old_sector);
	const uint64_t *known = state->remaps.count ? map_find(&state->remaps, above) : NULL;
	uint64_t top = known ? *known : ev->block.old_dev;

	if (!known && !stands_on_others(state, &ev->block))
		return;
	(void)map_remove(&state->remaps, above);
	if (state->remaps.count >= REMAPS_MAX)
		map_fini(&state->remaps);
	map_put(&state->remaps, throttle_request(ev->block.dev, ev->block.sector), top);
}

uint32_t served_top(struct state *state, const struct event *ev)
{
	uint64_t key = throttle_request(ev->block.dev, ev->block.sector);
	const uint64_t *top = state->remaps.count ? map_find(&state->remaps, key) : NULL;
	uint32_t dev = top ? (uint32_t)*top : ev->block.dev;

	if (top && ev->type == EV_BLOCK_COMPLETE)
		(void)map_remove(&state->remaps, key);
	return dev;
}

/* Did it sleep at its work since the request was issued? Then that says what for. */
static bool slept_since(const struct thread *server, uint64_t since_ns)
{
	const struct tl_thread *tl = server->tl;

	for (uint32_t i = tl->wait_count; i > tl->wait_base && tl->wait_count - i < WAITS_BACK;
	     i--) {
		const struct wait *wait = tl_wait(server->tl, i - 1);

		if (wait->woken_ns && wait->woken_ns < since_ns)
			return false;
		if (word_kind(wait->in) == WORD_WORK)
			return true;
	}
	return false;
}

void served_completed(struct state *state, struct cpu *cpu, const struct event *ev)
{
	const uint64_t *server =
		state->servers.count ? map_find(&state->servers, ev->block.dev) : NULL;
	const struct thread *thread;

	cpu->disk_server = server ? *server : 0;
	cpu->disk_below.time_ns = 0;
	if (!server)
		return;
	thread = state->threads[(uint32_t)*server];
	if (thread->disk_done.time_ns && thread->disk_done.time_ns >= cpu->disk_ns &&
	    !slept_since(thread, cpu->disk_ns))
		cpu->disk_below = thread->disk_done;
}

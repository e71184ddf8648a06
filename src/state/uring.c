/*
 * uring.c - io_uring: the kernel's threads that act for a process, and for what.
 *
 * Who completes a request is not who it waited for, when a thread of the kernel polls for that
 * (SQPOLL): the request says when it became ready, and in whose context.
 *
 *	writer   io_uring_task_add    it is ready: kept by its address
 *	iou-sqp  io_uring_complete    what it now wakes somebody with
 *
 * Who waits for its ring waits for the descriptor of its request, where there is only one.
 *
 * A request that would block may be given to a worker (iou-wrk): the one that is woken or made right
 * then. What it works at until that is complete is neither the call nor a descriptor of who made it.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "state/state_int.h"

/* include/uapi/linux/io_uring.h: enum io_uring_op */
static const char *const operations[] = {
	"nop",
	"readv",
	"writev",
	"fsync",
	"read_fixed",
	"write_fixed",
	"poll_add",
	"poll_remove",
	"sync_file_range",
	"sendmsg",
	"recvmsg",
	"timeout",
	"timeout_remove",
	"accept",
	"async_cancel",
	"link_timeout",
	"connect",
	"fallocate",
	"openat",
	"close",
	"files_update",
	"statx",
	"read",
	"write",
	"fadvise",
	"madvise",
	"send",
	"recv",
	"openat2",
	"epoll_ctl",
	"splice",
	"provide_buffers",
	"remove_buffers",
	"tee",
	"shutdown",
	"renameat",
	"unlinkat",
	"mkdirat",
	"symlinkat",
	"linkat",
	"msg_ring",
	"fsetxattr",
	"setxattr",
	"fgetxattr",
	"getxattr",
	"socket",
	"uring_cmd",
	"send_zc",
	"sendmsg_zc",
	"read_multishot",
	"waitid",
	"futex_wait",
	"futex_wake",
	"futex_waitv",
	"fixed_fd_install",
	"ftruncate",
	"bind",
	"listen",
	"recv_zc",
	"epoll_wait",
};

static bool begins(const struct thread *thread, const char *with)
{
	return thread->tl->tid != 0 && strncmp(thread->comm, with, strlen(with)) == 0;
}

static bool polls(const struct thread *thread)
{
	return begins(thread, "iou-sqp-");
}

bool uring_works(const struct thread *thread)
{
	return begins(thread, "iou-wrk-");
}

/* ----------------------------------------------------- who a request waited for */

static void on_ready(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct actor *actor = pending_place(&state->ready, ev->uring.req);

	actor_now(state, cpu, ev, actor);
	/* A packet is of who sent it. */
	if (actor->kind == ACTOR_NETWORK && actor->slot != SLOT_NONE)
		actor->kind = ACTOR_THREAD;
}

static void on_submit(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *current = state_current(state, cpu);
	struct process *process = current && !current->idle ? current->process : NULL;
	uint64_t *tgid;
	bool is_new;

	if (!process)
		return;
	tgid = map_add(&state->uring_open, ev->uring.req, &is_new);
	*tgid = (uint32_t)process->tgid | (uint64_t)ev->uring.opcode << 32;
	process->ring_count += is_new;
	process->ring_req = ev->uring.req;
	process->ring_fd = -1;
}

static void close_request(struct state *state, uint64_t req)
{
	uint64_t *tgid = state->uring_open.count ? map_find(&state->uring_open, req) : NULL;
	struct process *process = tgid ? process_find(state, (int32_t)(uint32_t)*tgid) : NULL;

	if (process && process->ring_count)
		process->ring_count--;
	if (process && process->ring_req == req)
		process->ring_req = 0;
	if (tgid)
		map_remove(&state->uring_open, req);
}

/* Who waits for its ring waits for the only request that is not done. */
void uring_awaits(struct state *state, const struct thread *thread, struct wait *wait)
{
	const struct process *process = thread->process;
	const struct object *object;

	if (!process || process->ring_count != 1 || !process->ring_req || process->ring_fd < 0)
		return;
	object = fds_find(state, thread, process->ring_fd);
	wait->fd = process->ring_fd;
	wait->object = object ? object->name : 0;
}

static void on_done(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *current = state_current(state, cpu);
	uint64_t *worker =
		state->uring_workers.count ? map_find(&state->uring_workers, ev->uring.req) : NULL;
	struct actor by = { .slot = SLOT_NONE };
	bool is_ready = state->ready.index.count && pending_take(&state->ready, ev->uring.req, &by);

	close_request(state, ev->uring.req);
	if (worker) {
		state->threads[*worker]->job.req = 0;
		map_remove(&state->uring_workers, ev->uring.req);
	}
	if (!current || !polls(current))
		return;
	current->ready = by;
	if (!is_ready && current->disk_done.time_ns)
		current->ready = current->disk_done;
	current->disk_done.time_ns = 0;
}

/* 'waker' ended the wait: for whom, if it polls. */
void uring_ended(const struct thread *waker, struct wait *wait)
{
	if (waker->ready.time_ns && polls(waker))
		wait->origin = waker->ready;
}

/* ------------------------------------------------------------------- workers */

static void on_queued(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *current = state_current(state, cpu);
	int32_t fd;

	(void)state;
	if (!current || current->idle || begins(current, "iou-wrk-"))
		return;
	fd = current->job.req == ev->uring.req ? current->job.fd : -1;
	current->job = (struct uring_job){ ev->uring.req, fd, ev->uring.opcode, true };
}

static uint32_t opcode_of(const struct state *state, uint64_t req)
{
	const uint64_t *open = state->uring_open.count ? map_find(&state->uring_open, req) : NULL;

	return open ? (uint32_t)(*open >> 32) : UINT32_MAX;
}

/* 'worker' was faster than the one that was woken for it. */
static void take_over(struct state *state, const struct thread *worker, uint64_t req)
{
	uint64_t *slot = state->uring_workers.count ? map_find(&state->uring_workers, req) : NULL;

	if (!slot || *slot == worker->slot || !uring_works(worker))
		return;
	if (state->threads[*slot]->job.req == req)
		state->threads[*slot]->job.req = 0;
	*slot = worker->slot;
}

static void on_file(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *current = state_current(state, cpu);

	if (!current || current->idle)
		return;
	take_over(state, current, ev->uring.req);
	/* A worker gets on with what it was given, or with something that it took itself. */
	if (current->job.req != ev->uring.req)
		current->job = (struct uring_job){ .req = ev->uring.req,
						   .opcode = opcode_of(state, ev->uring.req) };
	current->job.fd = ev->uring.fd;
	if (current->process && current->process->ring_req == ev->uring.req)
		current->process->ring_fd = ev->uring.fd;
}

/* 'worker' is woken or made by who has just queued a request. */
void uring_give(struct state *state, struct thread *by, struct thread *worker)
{
	if (!by || !by->job.is_queued || by == worker || by->process != worker->process)
		return;
	worker->job = by->job;
	worker->job.is_queued = false;
	map_put(&state->uring_workers, worker->job.req, worker->slot);
	by->job.is_queued = false;
}

/* What a worker waits in and for; nothing of the call that its maker was in. */
void uring_describe(struct state *state, const struct thread *thread, struct wait *wait)
{
	const struct uring_job *job = &thread->job;
	const struct object *object;
	char text[64];

	if (!job->req)
		return;
	if (job->opcode < ARRAY_LEN(operations)) {
		snprintf(text, sizeof(text), "io_uring %s", operations[job->opcode]);
		wait->in = word_make(WORD_WORK, names_add(&state->tl->names, text, sizeof(text)));
	}
	wait->fd = job->fd;
	object = job->fd >= 0 ? fds_find(state, thread, job->fd) : NULL;
	wait->object = object ? object->name : 0;
}

const struct state_handler uring_handlers[] = {
	{ EV_URING_SUBMIT, on_submit }, { EV_URING_READY, on_ready }, { EV_URING_DONE, on_done },
	{ EV_URING_QUEUE, on_queued },	{ EV_URING_FILE, on_file },   { EV_NONE, NULL },
};

/*
 * uring.c - io_uring: the kernel's threads that act for a process, and for what.
 *
 * Who completes a request is not who it waited for, when a thread of the kernel polls for that
 * (SQPOLL): the request says when it became ready, and in whose context.
 *
 *	writer   io_uring_task_add    it is ready: kept by its address
 *	iou-sqp  io_uring_complete    what it now wakes somebody with
 *
 * Who waits for its ring waits for the descriptor of its request; where there are several, for those
 * that are not done, as long as all of them are known, and the process has no other ring.
 *
 * A request that would block may be given to a worker (iou-wrk): the one that is woken or made right
 * then. What it works at until that is complete is neither the call nor a descriptor of who made it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "state/state_int.h"

#define REQUESTS_MAX 16u /* of a process that are named */
#define REQUESTS_LOOK \
	1024u /* open ones of all: looking at each at every wait would cost too much */

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

bool uring_polls(const struct thread *thread)
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

/* A request that is not done: how the values of state.uring_open are put together. */
struct open_request {
	int32_t tgid;
	uint32_t opcode;
	int32_t fd; /* -1 = not known, or none */
};

#define OPCODE_BITS 8
#define FD_BITS	    24

static struct open_request request_of(uint64_t value)
{
	return (struct open_request){ (int32_t)(uint32_t)value,
				      (uint32_t)(value >> 32) & ((1u << OPCODE_BITS) - 1),
				      (int32_t)(value >> (32 + OPCODE_BITS)) - 1 };
}

static uint64_t request_value(struct open_request request)
{
	uint64_t fd = request.fd >= 0 && request.fd < (1 << FD_BITS) - 1 ? request.fd + 1u : 0;

	return (uint32_t)request.tgid |
	       (uint64_t)(request.opcode & ((1u << OPCODE_BITS) - 1)) << 32 |
	       fd << (32 + OPCODE_BITS);
}

static void on_submit(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *current = state_current(state, cpu);
	struct process *process = current && !current->idle ? current->process : NULL;
	uint64_t *value;
	bool is_new;

	if (!process)
		return;
	value = map_add(&state->uring_open, ev->uring.req, &is_new);
	*value = request_value((struct open_request){ process->tgid, ev->uring.opcode, -1 });
	process->ring_count += is_new;
	process->ring_req = ev->uring.req;
	process->ring_fd = -1;
}

static void close_request(struct state *state, uint64_t req)
{
	uint64_t *value = state->uring_open.count ? map_find(&state->uring_open, req) : NULL;
	struct process *process = value ? process_find(state, request_of(*value).tgid) : NULL;

	if (process && process->ring_count)
		process->ring_count--;
	if (process && process->ring_req == req)
		process->ring_req = 0;
	if (value)
		map_remove(&state->uring_open, req);
}

/* The process has one ring, so that all its requests are of that. */
static bool has_one_ring(const struct state *state, const struct process *process)
{
	size_t count = 0;

	for (size_t i = 0; i < process->fds.cap; i++) {
		const struct object *object =
			process->fds.used[i] ? fds_object(state, process->fds.slots[i].value)
					     : NULL;

		count += object &&
			 strcmp(names_text(&state->tl->names, object->name), "io_uring") == 0;
	}
	return count == 1;
}

static int by_fd(const void *a, const void *b)
{
	const struct open_request *x = a, *y = b;

	if (x->fd != y->fd)
		return (x->fd > y->fd) - (x->fd < y->fd);
	return (x->opcode > y->opcode) - (x->opcode < y->opcode);
}

/* What the process has open; 0 = nothing, or more than fits, or something that is not known. */
static size_t requests_of(const struct state *state, const struct process *process,
			  struct open_request *out)
{
	const struct map *open = &state->uring_open;
	size_t count = 0;

	if (process->ring_count > REQUESTS_MAX || open->count > REQUESTS_LOOK)
		return 0;
	for (size_t i = 0; i < open->cap; i++) {
		struct open_request request;

		if (!open->used[i])
			continue;
		request = request_of(open->slots[i].value);
		if (request.tgid != process->tgid)
			continue;
		if (count == REQUESTS_MAX || request.opcode >= ARRAY_LEN(operations) ||
		    (request.fd < 0 && !strstr(operations[request.opcode], "timeout")))
			return 0;
		out[count++] = request;
	}
	if (count)
		qsort(out, count, sizeof(*out), by_fd);
	return count == process->ring_count ? count : 0;
}

/* "any of: read of fd 3 = pipe:[5], accept on fd 5 = tcp listen *:80" */
static uint32_t name_requests(struct state *state, const struct thread *thread,
			      const struct open_request *requests, size_t count)
{
	uint32_t wanted = (uint32_t)thread->call_args[2]; /* min_complete */
	char *text = wanted > 1 ? xasprintf("%u of: ", wanted) : xstrdup("any of: ");
	uint32_t id;

	for (size_t i = 0; i < count; i++) {
		const struct object *object = fds_find(state, thread, requests[i].fd);
		const char *name = object ? names_text(&state->tl->names, object->name) : "";
		AUTO_FREE char *fd = requests[i].fd < 0 ? xstrdup("")
							: xasprintf(" of fd %d%s%s", requests[i].fd,
								    *name ? " = " : "", name);
		char *longer = xasprintf("%s%s%s%s", text, i ? ", " : "",
					 operations[requests[i].opcode], fd);

		free(text);
		text = longer;
	}
	id = names_add(&state->tl->names, text, 1024);
	free(text);
	return id;
}

/* Who waits for its ring waits for the requests that are not done. */
void uring_awaits(struct state *state, const struct thread *thread, struct wait *wait)
{
	const struct process *process = thread->process;
	struct open_request requests[REQUESTS_MAX];
	const struct object *object;
	size_t count;

	if (!process || !process->ring_count)
		return;
	if (process->ring_count == 1) {
		if (!process->ring_req || process->ring_fd < 0)
			return;
		object = fds_find(state, thread, process->ring_fd);
		wait->fd = process->ring_fd;
		wait->object = object ? object->name : 0;
		return;
	}
	count = requests_of(state, process, requests);
	if (count < 2 || !has_one_ring(state, process))
		return;
	wait->object = name_requests(state, thread, requests, count);
	wait->fd = -1;
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
	if (!current || !uring_polls(current))
		return;
	if (current->job.req != ev->uring.req)
		current->job.fd = -1;
	current->ready = by;
	if (!is_ready && !throttle_polled(state, current, ev->time_ns, &current->ready) &&
	    current->disk_done.time_ns)
		current->ready = current->disk_done;
	current->disk_done.time_ns = 0;
}

/* 'waker' ended the wait: for whom, if it polls. */
void uring_ended(struct state *state, const struct thread *waker, struct wait *wait)
{
	const struct object *ring, *object;

	if (!uring_polls(waker))
		return;
	if (waker->ready.time_ns)
		wait->origin = waker->ready;
	throttle_passed_on(state, &waker->ready, wait);
	/* It began to wait before its request was looked at: for the ring, as far as was known. */
	ring = wait->fd >= 0 ? fds_find(state, waker, wait->fd) : NULL;
	object = waker->job.fd >= 0 ? fds_find(state, waker, waker->job.fd) : NULL;
	if (!ring || !object || strcmp(names_text(&state->tl->names, ring->name), "io_uring") != 0)
		return;
	wait->fd = waker->job.fd;
	wait->object = object->name;
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

/* What is known of the request from now on: its descriptor. Returns what it does; UINT32_MAX = not known. */
static uint32_t note_file(const struct state *state, const struct event *ev)
{
	uint64_t *value =
		state->uring_open.count ? map_find(&state->uring_open, ev->uring.req) : NULL;
	struct open_request request;

	if (!value)
		return UINT32_MAX;
	request = request_of(*value);
	request.fd = ev->uring.fd;
	*value = request_value(request);
	return request.opcode;
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

/* What changes a file's content; 'operation' is a word of operations. */
static bool is_change(const char *operation)
{
	return strncmp(operation, "write", strlen("write")) == 0 ||
	       strcmp(operation, "fallocate") == 0 || strcmp(operation, "ftruncate") == 0 ||
	       strcmp(operation, "splice") == 0;
}

/* A file is changed for who hands over its requests: told as what io_uring_enter() is about. */
static void note_change(const struct state *state, struct thread *thread, uint32_t opcode,
			int32_t fd)
{
	uint32_t name;

	if (!thread->in_call || call_of(state, thread)->kind != CALL_RING ||
	    opcode >= ARRAY_LEN(operations) || !is_change(operations[opcode]))
		return;
	name = asked_content_name(state, thread, fd);
	if (name)
		thread->told = name;
}

static void on_file(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *current = state_current(state, cpu);
	uint32_t opcode = note_file(state, ev);

	if (!current || current->idle)
		return;
	take_over(state, current, ev->uring.req);
	/* A worker gets on with what it was given, or with something that it took itself. */
	if (current->job.req != ev->uring.req)
		current->job = (struct uring_job){ .req = ev->uring.req, .opcode = opcode };
	current->job.fd = ev->uring.fd;
	note_change(state, current, opcode, ev->uring.fd);
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

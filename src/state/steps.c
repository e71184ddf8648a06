/*
 * steps.c - a recording that keeps to a budget stops some kinds of events, and begins again.
 *
 * What such events had said of each thread, process and CPU holds no more from then on: it is forgotten
 * when they stop, and again when they begin. Between, a thread on its CPU just runs: whether in its own
 * code or in a call is not known. What told of threads and CPUs as they are switched goes on, so that no
 * time is uncertain; at a step without any events it is, as in a hole.
 */
#include "state/state_int.h"

#include <stdlib.h>

#include "event/steps.h"

#define LACKS_CALLS  STEP_LACKS_CALLS
#define LACKS_CAUSES STEP_LACKS_CAUSES

/* Which kinds of events are of no use at a step: what still comes of them is from its beginning or end. */
static const uint8_t kinds[EV_TYPE_COUNT] = {
	[EV_SYS_ENTER] = LACKS_CALLS,	     [EV_SYS_EXIT] = LACKS_CALLS,
	[EV_FAULT_USER] = LACKS_CALLS,	     [EV_FAULT_KERNEL] = LACKS_CALLS,
	[EV_HRTIMER_START] = LACKS_CALLS,    [EV_IRQ_ENTRY] = LACKS_CAUSES,
	[EV_IRQ_EXIT] = LACKS_CAUSES,	     [EV_VECTOR_ENTRY] = LACKS_CAUSES,
	[EV_VECTOR_EXIT] = LACKS_CAUSES,     [EV_SOFTIRQ_ENTRY] = LACKS_CAUSES,
	[EV_SOFTIRQ_EXIT] = LACKS_CAUSES,    [EV_SOFTIRQ_RAISE] = LACKS_CAUSES,
	[EV_BLOCK_INSERT] = LACKS_CAUSES,    [EV_BLOCK_ISSUE] = LACKS_CAUSES,
	[EV_BLOCK_REMAP] = LACKS_CAUSES,     [EV_BLOCK_COMPLETE] = LACKS_CAUSES,
	[EV_WORK_QUEUE] = LACKS_CAUSES,	     [EV_WORK_START] = LACKS_CAUSES,
	[EV_WORK_END] = LACKS_CAUSES,	     [EV_HRTIMER_EXPIRE] = LACKS_CAUSES,
	[EV_HRTIMER_DONE] = LACKS_CAUSES,    [EV_TIMER_EXPIRE] = LACKS_CAUSES,
	[EV_TIMER_DONE] = LACKS_CAUSES,	     [EV_LOCK_BEGIN] = LACKS_CAUSES,
	[EV_LOCK_END] = LACKS_CAUSES,	     [EV_NET_QUEUE] = LACKS_CAUSES,
	[EV_NET_RX] = LACKS_CAUSES,	     [EV_NET_RECEIVE] = LACKS_CAUSES,
	[EV_SIGNAL_GENERATE] = LACKS_CAUSES, [EV_SIGNAL_DELIVER] = LACKS_CAUSES,
	[EV_IPI_SEND] = LACKS_CAUSES,	     [EV_URING_READY] = LACKS_CAUSES,
	[EV_URING_DONE] = LACKS_CAUSES,	     [EV_URING_QUEUE] = LACKS_CAUSES,
	[EV_URING_FILE] = LACKS_CAUSES,	     [EV_URING_SUBMIT] = LACKS_CAUSES,
	[EV_CPU_FREQUENCY] = LACKS_CAUSES,   [EV_OTHER] = LACKS_CAUSES,
};

bool steps_lack(const struct state *state, enum event_type type)
{
	return (state->lacks & kinds[type]) != 0;
}

/* Names of descriptors tell of calls, whose ends are not seen: a number may be closed and used again. */
bool steps_lack_name(const struct state *state, const struct event *ev)
{
	return state->lacks & LACKS_CALLS && !state->is_lean && ev->fd_name.watch != FD_LOCK &&
	       ev->fd_name.watch != FD_THROTTLED;
}

/* What it does on a CPU, as far as the events of the step tell. */
static void forget_flow(struct state *state, struct thread *thread, uint64_t now_ns)
{
	flow_reset(thread, flow_base(state, thread));
	if (!thread->tl->kernel)
		thread->frames[0] = word_make(WORD_RUN, 0);
	if (thread->sched == SCHED_RUNNING && !thread->placing.open)
		flow_write(state, thread, now_ns, flow_top(thread));
}

static void forget_call(struct thread *thread)
{
	thread->call_nr = -1;
	thread->call_ns = 0;
	thread->call_path = thread->told = thread->told_also = 0;
	thread->call_first_wait = thread->first_named = thread->tl->wait_count;
	thread->tl->keep_wait = UINT32_MAX;
	/* It may sleep in a call of which the end will be seen. */
	if (thread->sched == SCHED_BLOCKED && thread->first_named)
		thread->first_named--;
	thread->asked = thread->child_asked = thread->left = 0;
	thread->asked_fd = -1;
	thread->connecting = 0;
	thread->held = thread->child_held = thread->left_held = SLOT_NONE;
	thread->held_ns = 0;
	thread->held_by = 0;
	memset(thread->used_fd, 0, sizeof(thread->used_fd));
	thread->came_fd = thread->passed_fd = 0;
	thread->used_ipc = thread->used_ipc_ns = 0;
	thread->dumped = NULL;
	thread->answered = thread->poll_open = thread->poll_known = false;
	thread->poll_set = -1;
	thread->poll_count = 0;
	thread->again = (struct again){ .nr = -1, .held = SLOT_NONE };
	thread->tracer = SLOT_NONE;
}

static void forget_causes(struct thread *thread)
{
	thread->told_owner = SLOT_NONE;
	thread->told_lock = thread->told_lock_ns = 0;
	thread->reclaim_ns = thread->reclaimed_ns = thread->dirty_ns = 0;
	thread->reclaim_depth = 0;
	thread->work = thread->held_work = thread->ready = thread->disk_done =
		(struct actor){ .slot = SLOT_NONE };
	thread->job = (struct uring_job){ .fd = -1 };
}

static void forget_descriptors(struct state *state)
{
	for (size_t i = 0; i < state->processes.cap; i++) {
		struct process *process;

		if (!state->processes.used[i])
			continue;
		process = (struct process *)(uintptr_t)state->processes.slots[i].value;
		map_fini(&process->fds);
		map_fini(&process->epoll);
		process->ring_count = 0;
		process->ring_req = 0;
		process->ring_fd = -1;
		process->change++;
	}
}

static void empty(struct pending *pending)
{
	pending_fini(pending);
	*pending = (struct pending){ 0 };
}

static void forget_machine(struct state *state)
{
	empty(&state->works);
	empty(&state->held_works);
	empty(&state->packets);
	empty(&state->requests);
	empty(&state->ready);
	map_fini(&state->timer_setters);
	state->limited = (struct limited){ .limit.slot = SLOT_NONE };
	map_fini(&state->uring_open);
	map_fini(&state->uring_workers);
	map_fini(&state->server_works);
	map_fini(&state->remaps);
	map_fini(&state->servers);
	state->queue_since_ns = state->queue_passed_ns = 0;
	state->queue_set_ns = state->queue_expired_ns = state->handed_skb = 0;
	state->queue_waits = false;
	/* Events of interrupts come whose entry is not recorded. */
	state->no_irqs = true;
	for (uint32_t i = 0; i < state->cpu_count; i++) {
		struct cpu *cpu = &state->cpus[i];

		cpu_forget_context(cpu);
		cpu->disk_server = cpu->issued_ns = 0;
		cpu->disk_below = (struct actor){ .slot = SLOT_NONE };
		cpu->disk_limit = 0;
	}
}

/* Of calls, those that threads wait in are told from now on, or all are. */
static void turn_lean(struct state *state, bool is_lean, uint64_t now_ns)
{
	forget_descriptors(state);
	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		struct thread *thread = state->threads[i];

		if (thread->sched != SCHED_DEAD) {
			forget_flow(state, thread, now_ns);
			forget_call(thread);
		}
	}
	state->is_lean = is_lean;
}

void steps_take(struct state *state, const struct event *ev)
{
	unsigned int lacks = step_lacks((enum record_step)ev->lost.step);
	unsigned int changes = lacks ^ state->lacks;

	if (!changes)
		return; /* another CPU told */
	state->lacks = lacks;
	state->has_syscalls = state->facts->has_some_syscalls && !(lacks & LACKS_CALLS);
	if (state->facts->has_lean_steps && changes & LACKS_CALLS)
		turn_lean(state, lacks & LACKS_CALLS, ev->time_ns);
	if (!state->is_lean || changes & STEP_LACKS_ALL)
		forget_descriptors(state);
	if (changes & LACKS_CAUSES)
		forget_machine(state);
	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		struct thread *thread = state->threads[i];

		if (thread->sched == SCHED_DEAD)
			continue;
		forget_flow(state, thread, ev->time_ns);
		if (!state->is_lean || changes & STEP_LACKS_ALL)
			forget_call(thread);
		if (changes & LACKS_CAUSES)
			forget_causes(thread);
	}
}

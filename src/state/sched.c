/*
 * sched.c - scheduler events: who is on a CPU, who waits for one, who sleeps.
 *
 *	switch out, runnable     PREEMPTED
 *	switch out, asleep       BLOCKED: a wait begins
 *	waking of a blocked one  BLOCKED becomes WAIT_CPU; the waker is noted
 *	switch in                the control-flow stack shows again
 *
 * Facts that cost time to find out:
 * - sched_waking may be recorded just before the sleeper's own switch out: the
 *   waker spins until the sleeper is off its CPU. The wait then has length zero.
 * - sched_waking also fires for a thread that never left its CPU. It changes nothing.
 * - target_cpu of sched_waking is where the thread ran last; where it will run is
 *   said by sched_migrate_task or sched_wakeup, which come later.
 */
#include "state/state_int.h"

#include <stdio.h>
#include <string.h>

#include "event/facts.h"

#define PRIO_LOWEST 139 /* nice 19 */

#define CLONE_THREAD	0x00010000u
#define FAULT_BEGINS_NS 100000u

/* ------------------------------------------------------------------- switch */

static void begin_wait(struct state *state, struct thread *thread, const struct event *ev)
{
	struct wait *wait;

	thread->wait = timeline_add_wait(thread->tl);
	wait = tl_wait(thread->tl, thread->wait);
	wait->begin_ns = ev->time_ns;
	wait->in = flow_top(thread);
	if (ev->sched_switch.prev_state == TASK_STATE_DISK)
		wait->flags |= WAIT_DISK_SLEEP;
	if (ev->sched_switch.prev_state == TASK_STATE_STOPPED)
		wait->flags |= WAIT_STOPPED;
	if (wait->flags & WAIT_STOPPED)
		supervised_stops(thread, wait);
	/* A fault sleeps like that for user space alone, and at once. */
	if (ev->sched_switch.prev_state == TASK_STATE_SLEEPING &&
	    ev->time_ns - thread->fault_ns > FAULT_BEGINS_NS)
		thread->fault_ns = 0;
	call_describe_wait(state, thread, wait);
	wait = tl_wait(thread->tl, thread->wait); /* to describe it may move it */
	if (thread->freezing)
		frozen_at_sleep(thread, wait);
	pressure_at_sleep(state, thread, wait);
	/* Where the next one will be: another thread packed what was there before. */
	__builtin_prefetch((const char *)(wait + 1), 1);
	__builtin_prefetch((const char *)(wait + 1) + 64, 1);
	__builtin_prefetch((const char *)(wait + 1) + 128, 1);
}

/*
 * The bit of the dead became that of the parked in Linux 4.14, and some formats do not tell which is
 * meant: but nobody parks who exits.
 */
static bool is_death(const struct thread *thread, uint8_t state)
{
	return state == TASK_STATE_DEAD || (state == TASK_STATE_PARKED && thread->exiting);
}

/* Its priority was seen. That of a thread of SCHED_IDLE says nothing. Which one it had before is not known. */
static inline void note_priority(struct thread *thread, int32_t prio, uint64_t now)
{
	uint8_t as = (uint8_t)(prio + SCHED_AS);

	if (__builtin_expect(thread->tl->sched_as == as, 1) ||
	    thread->tl->sched_as == SCHED_AS_IDLE || prio < -1 || prio > PRIO_LOWEST)
		return;
	thread->tl->sched_as = as;
	thread->tl->sched_as_ns = now;
}

static void switch_out(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_current(state, cpu);
	uint64_t now = ev->time_ns;

	if (!thread)
		return;
	note_priority(thread, ev->sched_switch.prev_prio, now);
	thread->placing.open = false;
	flow_drop_irqs(thread);
	if (thread->idle) {
		thread->sched = SCHED_RUNNABLE;
		flow_write(state, thread, now, word_make(WORD_NONE, 0));
		return;
	}
	if (ev->sched_switch.prev_state == TASK_STATE_RUNNABLE) {
		thread->sched = SCHED_RUNNABLE;
		flow_write(state, thread, now, word_make(WORD_PREEMPTED, ev->cpu));
		throttle_at_switch(state, thread, ev);
	} else if (is_death(thread, ev->sched_switch.prev_state)) {
		expect_cut_off(state, thread);
		thread_bury(state, thread, now);
	} else {
		thread->sched = SCHED_BLOCKED;
		begin_wait(state, thread, ev);
		cpu->out = thread->slot;
		flow_write(state, thread, now, word_make(WORD_BLOCKED, thread->wait));
	}
}

/* The wake-up is kept with who gave it, too. */
static void note_edge(struct state *state, const struct thread *thread, const struct wait *wait)
{
	if (wait->waker.slot != SLOT_NONE &&
	    (wait->waker.kind == ACTOR_THREAD || wait->waker.kind == ACTOR_NETWORK))
		timeline_add_edge(state->tl->threads[wait->waker.slot], wait->woken_ns,
				  thread->slot, thread->wait);
}

/*
 * A sleeper is up, and no waking came since it was switched out: it came just before.
 * When none is known it was not recorded: lost, or whoever recorded saw some threads alone. Since
 * when it was queued is not known either. The Uncertain entry of no length says that this was concluded afterwards: see unsure.c.
 */
void use_early_wake(struct state *state, struct thread *thread)
{
	struct track *track = &thread->tl->track;
	uint64_t since = track_last_time(track);
	struct wait *wait;

	if (thread->sched != SCHED_BLOCKED ||
	    thread->word != word_make(WORD_BLOCKED, thread->wait) || !state->has_wakings ||
	    unsure_since(state, thread))
		return;
	wait = tl_wait(thread->tl, thread->wait);
	thread->sched = SCHED_RUNNABLE;
	thread->word = word_make(WORD_UNCERTAIN, UNSURE_WAKING);
	track_amend(track, track->count - 1, since, thread->word);
	if (thread->early_wake.time_ns && thread->early_wake.time_ns >= state->gap_end_ns) {
		wait->waker = thread->early_wake;
		wait->woken_ns = wait->begin_ns;
		note_edge(state, thread, wait);
		flow_set(thread, word_make(WORD_WAIT_CPU, thread->cpu));
		track_append(track, since, thread->word);
	}
	thread->early_wake.time_ns = 0;
}

static void switch_in(struct state *state, struct cpu *cpu, struct thread *thread,
		      const struct event *ev)
{
	uint64_t now = ev->time_ns;

	note_priority(thread, ev->sched_switch.next_prio, now);
	if (!thread->idle) {
		if (thread->sched == SCHED_RUNNING && thread->cpu != cpu_index(state, cpu)) {
			struct cpu *other = &state->cpus[thread->cpu];
			uint64_t sure = other->cur == thread->slot ? other->last_ns : now;

			state->tl->contradictions++;
			if (other->cur == thread->slot) {
				track_append(timeline_cpu(state->tl, thread->cpu),
					     track_ns(state, sure), SLOT_NONE);
				cpu_set_current(other, NULL);
				other->unknown_since = now;
			}
			unsure_forget(state, thread, sure, UNSURE_ORDER);
			thread->unsure_until = now;
		}
		/* Where it was queued before anything told: where it runs now. */
		if (thread->sched == SCHED_UNKNOWN)
			thread->cpu = cpu_index(state, cpu);
		if (!throttle_end(state, thread, now))
			use_early_wake(state, thread);
		(void)unsure_settle(state, thread, now, unsure_before_run(state, thread));
	}
	if (thread->sched != SCHED_RUNNING && !thread->idle)
		call_forget_told(state, thread);
	thread->sched = SCHED_RUNNING;
	thread->seen = true;
	thread->cpu = cpu_index(state, cpu);
	thread->early_wake.time_ns = 0;
	flow_onto_cpu(state, thread, now);
	track_append(timeline_cpu(state->tl, thread->cpu), track_ns(state, now), thread->slot);
	cpu_set_current(cpu, thread);
}

static void on_switch(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *prev, *next;

	/* A tracer that does not record the thread of an event still says who leaves. */
	if (ev->sched_switch.prev_tid != cpu->cur_tid)
		unsure_prove(state, cpu, ev->sched_switch.prev_tid, ev);
	prev = state_current(state, cpu);
	if (prev)
		thread_see_comm(state, prev, ev->sched_switch.prev_comm,
				ev->sched_switch.comms_wide);
	switch_out(state, cpu, ev);
	cpu_forget_context(cpu);
	cpu->left_tid = ev->sched_switch.prev_tid;
	cpu->left_ns = ev->time_ns;
	next = ev->sched_switch.next_tid == 0 ? state_idle(state, ev->cpu)
					      : state_thread(state, ev->sched_switch.next_tid);
	thread_see_comm(state, next, ev->sched_switch.next_comm, ev->sched_switch.comms_wide);
	switch_in(state, cpu, next, ev);
}

/* -------------------------------------------------------------------- stacks */

/* Functions that every sleeper is in; they say nothing. */
static bool is_scheduler(const char *function)
{
	static const char *const parts[] = {
		"schedule", "__traceiter_", "trace_event_raw_event_", "event_triggers_call",
		"ftrace_",  "stack_trace"
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strncmp(function, parts[i], strlen(parts[i])) == 0)
			return true;
	}
	return strcmp(function, "__schedule") == 0;
}

/* The way into the kernel is the same for all. */
static bool is_entry(const char *function)
{
	return strcmp(function, "do_syscall_64") == 0 || strncmp(function, "entry_", 6) == 0 ||
	       strncmp(function, "asm_", 4) == 0 || strncmp(function, "ret_from_fork", 13) == 0 ||
	       strcmp(function, "el0_svc") == 0;
}

static void on_stack(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = cpu->out == SLOT_NONE ? NULL : state->threads[cpu->out];
	char text[512] = "";
	size_t used = 0;

	if (!thread || thread->tl->tid != ev->tid || !thread->tl->wait_count)
		return;
	for (uint32_t i = 0; i < ev->stack.count && used < sizeof(text) - 1; i++) {
		uint64_t address;
		const char *function;

		memcpy(&address, (const char *)ev->stack.frames + i * sizeof(address),
		       sizeof(address));
		function = names_text(&state->tl->names, state_symbol(state, address));
		if (!*function || (!used && is_scheduler(function)))
			continue;
		if (is_entry(function))
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
					 used ? " < " : "", function);
	}
	tl_wait(thread->tl, thread->wait)->stack = names_add(&state->tl->names, text, sizeof(text));
}

/* ------------------------------------------------------------------ wake-up */

/* A connection's timers wake a thread only to say that the other end did not acknowledge. */
static bool is_of_tcp(struct state *state, const struct actor *waker)
{
	const char *timer = names_text(&state->tl->names, waker->name);

	return strncmp(timer, "tcp_", strlen("tcp_")) == 0 &&
	       (strcmp(timer, "tcp_write_timer") == 0 || strcmp(timer, "tcp_keepalive_timer") == 0);
}

/* No caller sets one to what opens a file, or is about a path: the kernel has its own, as for leases (fcntl(2)). */
static bool may_have_limit(const struct state *state, const struct thread *thread)
{
	enum call_kind kind = thread->in_call ? call_of(state, thread)->kind : CALL_OTHER;

	return kind != CALL_OPEN && kind != CALL_PATH;
}

/*
 * Of a process's threads the last one to end wakes who waits for that: chance says which one. Up to when another one ended the
 * process that one was awaited.
 */
static void woken_by_end(const struct thread *ended, const struct thread *thread, struct wait *wait)
{
	wait->flags |= WAIT_EXITED;
	if (ended->ender != SLOT_NONE && ended->process != thread->process)
		wait->origin = (struct actor){ .time_ns = ended->ender_ns,
					       .slot = ended->ender,
					       .kind = ACTOR_THREAD };
}

/* Fill the wait that ends: by whom, and who stood behind the waker. */
static void end_wait(struct state *state, struct thread *thread, struct cpu *cpu,
		     const struct event *ev)
{
	struct wait *wait = tl_wait(thread->tl, thread->wait);
	struct thread *current = state_current(state, cpu);
	bool served;

	wait->woken_ns = ev->time_ns;
	actor_now(state, cpu, ev, &wait->waker);
	if (wait->waker.kind == ACTOR_THREAD && wait->flags & WAIT_DISK_SLEEP)
		actor_completes(state, cpu, &wait->waker);
	if (wait->waker.kind == ACTOR_THREAD && current) {
		if (current->exiting)
			woken_by_end(current, thread, wait);
		frozen_at_wake(state, current, thread, wait);
		supervised_at_wake(state, current, thread, wait);
		if (current->work.time_ns)
			wait->origin = current->work;
		uring_ended(state, current, wait);
		if (wait->flags & WAIT_LOCK && !thread->lock &&
		    call_of(state, thread)->kind == CALL_FUTEX && call_wakes_all(state, current))
			wait->flags &= ~(uint32_t)WAIT_LOCK;
	}
	throttle_at_wake(state, cpu, thread, wait);
	/* Received on behalf of nobody in particular: since it was sent, the sender went on. */
	if (wait->waker.kind == ACTOR_NETWORK && wait->waker.slot != SLOT_NONE &&
	    wait->waker.slot != cpu->cur)
		wait->origin = (struct actor){ .time_ns = cpu->packet_ns,
					       .slot = wait->waker.slot,
					       .kind = ACTOR_THREAD };
	if (wait->waker.kind == ACTOR_NETWORK && wait->waker.slot == SLOT_NONE && cpu->packet_timer)
		wait->origin = (struct actor){ .time_ns = cpu->packet_ns,
					       .slot = SLOT_NONE,
					       .name = cpu->packet_timer,
					       .kind = ACTOR_TIMER };
	served = wait->waker.kind == ACTOR_DISK && cpu->disk_server &&
		 wait->waker.name == cpu->disk_name && !(wait->flags & WAIT_THROTTLED);
	if (served)
		wait->origin = (struct actor){ .time_ns = cpu->disk_flushed ? wait->begin_ns
									    : cpu->disk_ns,
					       .slot = (uint32_t)cpu->disk_server,
					       .word = word_make(WORD_WORK, cpu->disk_server >> 32),
					       .kind = ACTOR_THREAD };
	if (uring_works(thread))
		uring_give(state, current, thread);
	if (served && cpu->disk_below.time_ns)
		wait->origin = cpu->disk_below;
	queue_at_wake(cpu, wait);
	cpu->woken = thread->slot;
	note_edge(state, thread, wait);
	if (wait->waker.kind == ACTOR_TIMER && !is_of_tcp(state, &wait->waker) &&
	    may_have_limit(state, thread) &&
	    (wait->waker.slot == SLOT_NONE || wait->waker.slot == thread->slot))
		wait->flags |= WAIT_TIMED_OUT;
	pressure_at_wake(state, thread, wait);
	if (wait->flags & WAIT_MANY)
		polled_ended(state, thread, wait);
	if (wait->flags & WAIT_TIMED_OUT)
		expect_timed_out(state, thread, wait);
	else
		expect_asked_again(state, thread, wait);
}

/* Whom the event wakes; NULL where it names no thread. */
static struct thread *woken_thread(struct state *state, const struct event *ev)
{
	struct thread *thread;

	if (ev->wake.tid <= 0)
		return NULL;
	thread = state_thread(state, ev->wake.tid);
	thread_see_comm(state, thread, ev->wake.comm, ev->wake.comm_wide);
	thread->seen = true;
	return thread;
}

static void on_waking(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = woken_thread(state, ev);

	if (!thread)
		return;
	state->has_wakings = true;
	if (thread->sched == SCHED_RUNNING) {
		actor_now(state, cpu, ev, &thread->early_wake);
		return;
	}
	/* Runnable, and woken again: it has slept in a hole, or the waking changes nothing. */
	if (thread->sched == SCHED_RUNNABLE && !unsure_since(state, thread)) {
		/* Or it runs, and its switch in was not recorded. */
		actor_now(state, cpu, ev, &thread->early_wake);
		return;
	}
	if (unsure_settle(state, thread, ev->time_ns, WORD_BLOCKED)) {
		end_wait(state, thread, cpu, ev);
		/* It may turn out to have run: in a hole, or switched in unseen. */
		thread->early_wake = tl_wait(thread->tl, thread->wait)->waker;
	}
	thread->sched = SCHED_RUNNABLE;
	if (ev->wake.target_cpu >= 0)
		thread->cpu = (uint32_t)ev->wake.target_cpu;
	flow_write(state, thread, ev->time_ns, word_make(WORD_WAIT_CPU, thread->cpu));
}

/* An event that only a thread that is awake can have. */
static void awake(struct state *state, struct thread *thread, uint64_t now)
{
	if (thread->sched != SCHED_BLOCKED)
		return;
	use_early_wake(state, thread);
	/* Its waking was lost in a hole. */
	if (thread->sched == SCHED_BLOCKED && state->has_wakings && unsure_since(state, thread)) {
		(void)unsure_settle(state, thread, now, WORD_WAIT_CPU);
		thread->sched = SCHED_RUNNABLE;
		thread->word = word_make(WORD_WAIT_CPU, thread->cpu);
	}
	/* What was concluded ends where it was concluded. */
	if (thread->sched == SCHED_RUNNABLE)
		track_append(&thread->tl->track, track_ns(state, now), thread->word);
}

static void move_queue(struct state *state, struct thread *thread, int32_t cpu, uint64_t now)
{
	bool preempted;

	if (thread->sched != SCHED_RUNNABLE || cpu < 0 || thread->cpu == (uint32_t)cpu)
		return;
	(void)unsure_settle(state, thread, now, WORD_WAIT_CPU);
	thread->cpu = (uint32_t)cpu;
	thread->sched = SCHED_RUNNABLE;
	preempted = word_kind(thread->word) == WORD_PREEMPTED;
	flow_write(state, thread, now,
		   word_make(preempted ? WORD_PREEMPTED : WORD_WAIT_CPU, thread->cpu));
}

/* It is up, and its waking was not recorded: lost, or this trace has none at all. */
static void woken_unseen(struct state *state, struct thread *thread, struct cpu *cpu,
			 const struct event *ev)
{
	bool slept = !state->has_wakings;
	bool newborn = ev->type == EV_SCHED_WAKEUP_NEW;

	if (!newborn &&
	    unsure_settle(state, thread, ev->time_ns, slept ? WORD_BLOCKED : WORD_WAIT_CPU) &&
	    slept)
		end_wait(state, thread, cpu, ev);
	thread->sched = SCHED_RUNNABLE;
	flow_write(state, thread, ev->time_ns, word_make(WORD_WAIT_CPU, thread->cpu));
}

/* The thread is on a run queue now; says where when sched_migrate_task is not recorded. */
static void on_wakeup(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = woken_thread(state, ev);

	if (!thread)
		return;
	awake(state, thread, ev->time_ns);
	if (thread->sched == SCHED_BLOCKED || thread->sched == SCHED_UNKNOWN)
		woken_unseen(state, thread, cpu, ev);
	if (thread->sched == SCHED_RUNNABLE)
		thread->early_wake.time_ns = 0;
	move_queue(state, thread, ev->wake.target_cpu, ev->time_ns);
}

static void on_migrate(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread;

	(void)cpu;
	if (ev->migrate.tid <= 0)
		return;
	thread = state_thread(state, ev->migrate.tid);
	/*
	 * It does not say that a waking was lost: since Linux 6.12 threads that sleep may stay in
	 * the queue for a while (sched_feat DELAY_DEQUEUE), and are moved with it.
	 */
	if (thread->early_wake.time_ns)
		awake(state, thread, ev->time_ns);
	move_queue(state, thread, ev->migrate.to_cpu, ev->time_ns);
}

/* ------------------------------------------------------------- birth and end */

/* A newly made thread: 'tid' cannot be alive any more. */
static struct thread *give_birth(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *living = state_living(state, ev->task.tid);
	struct thread *parent = state_current(state, cpu);
	struct thread *child;

	/* task_newtask and sched_process_fork tell of the same birth, one right after the other. */
	if (living && living->tl->born && living->sched == SCHED_RUNNABLE &&
	    living->tl->parent == cpu->cur)
		return living;
	if (living)
		thread_bury(state, living, ev->time_ns);
	child = state_thread_new(state, ev->task.tid, ev->time_ns);
	state_live(state, child);
	child->tl->born = true;
	child->seen = true;
	child->sched = SCHED_RUNNABLE;
	child->cpu = ev->cpu;
	child->tl->parent = parent ? parent->slot : SLOT_NONE;
	child->tl->tgid = ev->task.tid;
	if (parent) {
		child->tl->kernel = parent->tl->kernel;
		child->is_32bit = parent->is_32bit;
		child->tl->cmdline = parent->tl->cmdline;
		if (parent->tl->sched_as == SCHED_AS_IDLE) {
			child->tl->sched_as = SCHED_AS_IDLE;
			child->tl->sched_as_ns = ev->time_ns;
		}
		child->tl->allowed = parent->tl->allowed;
		child->tl->allowed_ns = ev->time_ns;
		thread_set_comm(state, child, parent->comm);
		/* It begins on its way out of the parent's system call. */
		child->depth = parent->in_call ? 2 : 1;
		child->in_call = parent->in_call;
		child->call_nr = parent->call_nr;
		memcpy(child->frames, parent->frames, 2 * sizeof(child->frames[0]));
	}
	/* Where the parent was is not known: nor is whether the child is on its way out. */
	child->frames[0] = parent && !parent->in_call && !parent->tl->kernel
				   ? word_make(WORD_RUN, 0)
				   : flow_base(state, child);
	child->word = word_make(WORD_WAIT_CPU, child->cpu);
	track_amend(&child->tl->track, 0, track_ns(state, ev->time_ns), child->word);
	return child;
}

static void join_process(struct state *state, struct thread *child, int32_t tgid)
{
	child->tl->tgid = tgid;
	child->process = process_get(state, tgid);
}

/* That which the event names, or one of its own, made from its parent's. */
static void find_process(struct state *state, struct thread *child, const struct thread *parent,
			 const struct event *ev)
{
	if (ev->task.tgid > 0 && ev->task.tgid != ev->task.tid)
		join_process(state, child, ev->task.tgid);
	else
		child->process = process_copy(state, ev->task.tid, parent ? parent->process : NULL);
}

/* It is a worker of io_uring, or becomes one: its name is given later. */
static void take_job(struct state *state, struct thread *parent, struct thread *child)
{
	if (parent && child->process == parent->process)
		uring_give(state, parent, child);
}

/* Returns NULL where it is known whose it is, or nothing to be known. */
static struct thread *name_child(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *child;

	if (ev->task.tid <= 0)
		return NULL;
	child = give_birth(state, cpu, ev);
	thread_set_comm(state, child, ev->task.comm);
	return child->process ? NULL : child;
}

static void on_new_task(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *parent = state_current(state, cpu);
	struct thread *child = name_child(state, cpu, ev);

	if (!child)
		return;
	if ((ev->task.clone_flags & CLONE_THREAD) && parent && ev->task.tgid <= 0)
		join_process(state, child, parent->tl->tgid);
	else
		find_process(state, child, parent, ev);
	take_job(state, parent, child);
}

static void on_fork(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *parent = state_current(state, cpu);
	struct thread *child = name_child(state, cpu, ev);

	/* Without task_newtask only events of LTTng and perf tell a thread from a process. */
	if (child)
		find_process(state, child, parent, ev);
}

static void on_exec(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_current(state, cpu);

	if (!thread || thread->idle)
		return;
	/* A thread that execs takes over the tid of its process: its own is gone. */
	if (ev->task.parent_tid > 0 && ev->task.parent_tid != thread->tl->tid) {
		struct thread *old = state_living(state, ev->task.parent_tid);

		if (old)
			unsure_rename(state, old, thread, ev->time_ns);
	}
	thread->tl->kernel = false;
	thread->fresh_exec = true;
	process_exec(thread->process);
	thread->is_32bit = false;
	thread->frames[0] = flow_base(state, thread);
	if (ev->task.filename)
		thread->tl->cmdline = names_add(&state->tl->names, ev->task.filename, 4096);
}

/* It ends all threads of its process. */
static void end_process(struct state *state, const struct thread *thread)
{
	if (call_of(state, thread)->kind != CALL_END || !thread->process ||
	    thread->process->refs < 2)
		return;
	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		struct thread *other = state->threads[i];

		if (other == thread || other->process != thread->process ||
		    other->ender != SLOT_NONE)
			continue;
		other->ender = thread->slot;
		other->ender_ns = thread->call_ns;
	}
}

static void on_exit(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_current(state, cpu);

	if (!thread || thread->tl->tid != ev->task.tid)
		return;
	cpu->woken = SLOT_NONE; /* what it wakes from now on it wakes by its end */
	thread->exiting = true;
	end_process(state, thread);
	asked_leave(state, thread);
}

static void on_rename(struct state *state, struct cpu *cpu, const struct event *ev)
{
	(void)cpu;
	if (ev->task.tid > 0)
		thread_set_comm(state, state_thread(state, ev->task.tid), ev->task.comm);
}

static void on_runtime(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_living(state, ev->runtime.tid);

	(void)cpu;
	if (thread && thread->placing.open)
		unsure_place(state, thread, ev->time_ns, ev->runtime.runtime_ns);
}

/*
 * The sleep that has just ended was for I/O, or not: as the kernel itself counts. It says so when the
 * thread is put into a queue, after its waking.
 */
static void on_blocked_reason(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_living(state, ev->blocked_reason.tid);
	struct wait *wait;

	(void)cpu;
	if (!thread || !thread->tl->wait_count || unsure_since(state, thread) ||
	    (thread->sched != SCHED_RUNNABLE && thread->sched != SCHED_BLOCKED))
		return;
	wait = tl_wait(thread->tl, thread->wait);
	if (wait->flags & WAIT_DISK_SLEEP)
		wait->flags |= ev->blocked_reason.io ? WAIT_IO : WAIT_NO_IO;
}

const struct state_handler sched_handlers[] = {
	{ EV_SCHED_SWITCH, on_switch },
	{ EV_SCHED_WAKING, on_waking },
	{ EV_SCHED_WAKEUP, on_wakeup },
	{ EV_SCHED_WAKEUP_NEW, on_wakeup },
	{ EV_SCHED_FORK, on_fork },
	{ EV_SCHED_EXEC, on_exec },
	{ EV_SCHED_EXIT, on_exit },
	{ EV_SCHED_MIGRATE, on_migrate },
	{ EV_SCHED_STAT_RUNTIME, on_runtime },
	{ EV_SCHED_BLOCKED_REASON, on_blocked_reason },
	{ EV_TASK_NEW, on_new_task },
	{ EV_TASK_RENAME, on_rename },
	{ EV_STACK, on_stack },
	{ EV_NONE, NULL },
};

/*
 * throttle.c - who is held back by a limit of its cgroup, as the recorder tells (FD_THROTTLED).
 *
 *	CPU quota   it leaves its CPU as if it were preempted; told right after that: it waits instead,
 *	            until it may run again
 *	I/O limit   a work of the kernel's issues the request when its time has come; who waits for
 *	            the request has waited for the limit up to then, also where its end is work
 *	            that a kworker does
 *
 *	real time   a thread with a deadline, or a real-time priority, may run, and one without does
 *		    instead: its time is used up, as its priority at the switch says
 *
 * Limits of memory are in pressure.c.
 */
#include "state/state_int.h"

#define PRIO_DEADLINE (-1)
#define PRIO_HIGHEST  0 /* also of the kernel's threads that stop all others on a CPU */
#define PRIO_NORMAL   100
#define YIELDED	      "sched_yield() up to the next period of its SCHED_DEADLINE"
#define RELEASES      "blk_throtl_dispatch_work_fn"

/* The limit that holds it back now; NULL = none does. */
static struct wait *throttled_now(const struct thread *thread)
{
	struct wait *wait;

	if (thread->sched != SCHED_BLOCKED || thread->word != word_make(WORD_BLOCKED, thread->wait))
		return NULL;
	wait = tl_wait(thread->tl, thread->wait);
	return wait->flags & WAIT_THROTTLED && !wait->woken_ns ? wait : NULL;
}

/* It left its CPU a moment ago, and the track says that it was preempted. */
static void throttle_begin(struct state *state, struct thread *thread, const char *limit)
{
	struct track *track = &thread->tl->track;
	uint64_t since = track_last_time(track);
	struct wait *wait = throttled_now(thread);

	if (wait && limit[0])
		wait->object = wait->origin.name = names_add(&state->tl->names, limit, 4096);
	if (thread->sched != SCHED_RUNNABLE || word_kind(thread->word) != WORD_PREEMPTED ||
	    !track->count)
		return;
	thread->wait = timeline_add_wait(thread->tl);
	wait = tl_wait(thread->tl, thread->wait);
	wait->begin_ns = state->tl->origin_ns + since;
	wait->in = word_make(WORD_USER, 0);
	wait->flags = WAIT_THROTTLED;
	wait->object = wait->origin.name = names_add(&state->tl->names, limit, 4096);
	wait->origin.kind = ACTOR_TIMER;
	thread->sched = SCHED_BLOCKED;
	thread->word = word_make(WORD_BLOCKED, thread->wait);
	track_amend(track, track->count - 1, since, thread->word);
}

/* Who yields gives up what it has left. */
static bool yields(const struct state *state, const struct thread *thread)
{
	const char *call = thread->in_call ? call_of(state, thread)->name : NULL;

	return call && strcmp(call, "sched_yield") == 0;
}

void throttle_at_switch(struct state *state, struct thread *thread, const struct event *ev)
{
	int32_t prio = ev->sched_switch.prev_prio, next = ev->sched_switch.next_prio;

	if (prio >= PRIO_NORMAL || next <= PRIO_HIGHEST)
		return;
	if (yields(state, thread)) {
		if (prio == PRIO_DEADLINE)
			throttle_begin(state, thread, YIELDED);
	} else if (prio == PRIO_DEADLINE)
		throttle_begin(state, thread,
			       thread->deadline
				       ? names_text(&state->tl->names, thread->deadline)
				       : "runtime of its SCHED_DEADLINE; how much is not known");
	else if (prio > PRIO_HIGHEST && next >= PRIO_NORMAL)
		throttle_begin(state, thread,
			       "limit of real-time threads; whose it is, is not known");
}

bool throttle_end(struct state *state, struct thread *thread, uint64_t now_ns)
{
	struct wait *wait = throttled_now(thread);

	if (!wait)
		return false;
	wait->woken_ns = now_ns;
	wait->waker = (struct actor){ .time_ns = now_ns, .slot = SLOT_NONE, .kind = ACTOR_TIMER };
	wait->origin.time_ns = now_ns;
	thread->sched = SCHED_RUNNABLE;
	flow_write(state, thread, now_ns, word_make(WORD_WAIT_CPU, thread->cpu));
	return true;
}

bool throttle_releases(const struct state *state, const struct actor *issuer)
{
	return word_kind(issuer->word) == WORD_WORK &&
	       strcmp(names_text(&state->tl->names, word_arg(issuer->word)), RELEASES) == 0;
}

/*
 * Kept with who issued it, as what is below that. A flush is not issued yet: others will, for this.
 */
static void name_request(struct state *state, struct thread *worker, const struct event *ev)
{
	uint64_t request = ev->fd_name.inode;
	struct actor issuer;

	if (!pending_take(&state->requests, request, &issuer)) {
		if (!worker)
			return;
		issuer = (struct actor){ .time_ns = ev->time_ns,
					 .slot = worker->slot,
					 .word = flow_top(worker),
					 .kind = ACTOR_THREAD };
	}
	if (throttle_releases(state, &issuer))
		issuer.below =
			word_make(WORD_WORK, names_add(&state->tl->names, ev->fd_name.name, 4096));
	*pending_place(&state->requests, request) = issuer;
}

uint32_t throttle_of_request(struct state *state, const struct actor *issuer)
{
	if (!throttle_releases(state, issuer))
		return 0;
	if (word_kind(issuer->below) == WORD_WORK && word_arg(issuer->below))
		return word_arg(issuer->below);
	return names_add(&state->tl->names, "I/O limit of a cgroup; which one is not known", 64);
}

void throttle_queued(struct state *state, const struct cpu *cpu, const struct event *ev,
		     const struct actor *actor)
{
	if (actor->kind != ACTOR_DISK || !cpu->disk_limit)
		return;
	*pending_place(&state->held_works, ev->work.work) = (struct actor){ .time_ns = cpu->disk_ns,
									    .slot = SLOT_NONE,
									    .name = cpu->disk_limit,
									    .kind = ACTOR_DISK };
}

void throttle_started(struct state *state, struct thread *worker, const struct event *ev)
{
	worker->held_work.time_ns = 0;
	if (state->held_works.index.count)
		(void)pending_take(&state->held_works, ev->work.work, &worker->held_work);
}

void throttle_at_wake(const struct cpu *cpu, const struct thread *current, struct wait *wait)
{
	struct actor limit = { 0 };

	if (wait->waker.kind == ACTOR_DISK && cpu->disk_name && cpu->disk_limit)
		limit = (struct actor){ .time_ns = cpu->disk_ns,
					.slot = SLOT_NONE,
					.name = cpu->disk_limit,
					.kind = ACTOR_DISK };
	else if (wait->waker.kind == ACTOR_THREAD && current && current->work.time_ns)
		limit = current->held_work;
	if (limit.time_ns <= wait->begin_ns)
		return;
	wait->flags |= WAIT_THROTTLED;
	wait->origin = limit;
}

void throttle_told(struct state *state, const struct event *ev)
{
	const struct ev_fd_name *name = &ev->fd_name;
	struct thread *thread = state_living(state, name->tid);

	if (name->fd == THROTTLE_KILLED && thread)
		thread->tl->killed_by = names_add(&state->tl->names, name->name, 4096);
	else if (name->fd == THROTTLE_DEADLINE && thread)
		thread->deadline = names_add(&state->tl->names, name->name, 4096);
	else if (name->fd == THROTTLE_QUEUE)
		queue_told(state, name->name);
	else if (name->fd == THROTTLE_REQUEST)
		name_request(state, thread, ev);
	else if (thread && name->fd == THROTTLE_BEGINS)
		throttle_begin(state, thread, name->name);
	else if (thread && name->fd == THROTTLE_ENDS)
		(void)throttle_end(state, thread, ev->time_ns);
	else if (thread)
		pressure_told(state, thread, ev);
}

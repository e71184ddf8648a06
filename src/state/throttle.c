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
#define UNKNOWN_LIMIT "I/O limit of a cgroup; which one is not known"

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
	return names_add(&state->tl->names, UNKNOWN_LIMIT, 64);
}

/* What held back the request that has just completed on that CPU, up to when it was issued. */
static struct actor limit_of_disk(const struct cpu *cpu)
{
	return (struct actor){ .time_ns = cpu->disk_ns,
			       .slot = SLOT_NONE,
			       .word = word_make(WORD_NONE, cpu->disk_limit_by),
			       .name = cpu->disk_limit,
			       .kind = ACTOR_DISK };
}

void throttle_queued(struct state *state, const struct cpu *cpu, const struct event *ev,
		     const struct actor *actor)
{
	if (actor->kind == ACTOR_DISK && cpu->disk_limit)
		*pending_place(&state->held_works, ev->work.work) = limit_of_disk(cpu);
}

void throttle_started(struct state *state, struct thread *worker, const struct event *ev)
{
	worker->held_work.time_ns = 0;
	if (state->held_works.index.count)
		(void)pending_take(&state->held_works, ev->work.work, &worker->held_work);
}

void throttle_at_wake(struct state *state, const struct cpu *cpu, const struct thread *thread,
		      struct wait *wait)
{
	const struct thread *current = state_current(state, cpu);
	struct actor limit = { 0 };

	if (wait->waker.kind == ACTOR_DISK && cpu->disk_name && cpu->disk_limit)
		limit = limit_of_disk(cpu);
	else if (wait->waker.kind == ACTOR_THREAD && current && current->work.time_ns)
		limit = current->held_work;
	/* That request is of who is woken. */
	if (limit.time_ns == state->limited.limit.time_ns && uring_polls(thread))
		state->limited.woke = thread->slot;
	else if (limit.time_ns == state->limited.limit.time_ns)
		state->limited.limit.time_ns = 0;
	if (limit.time_ns <= wait->begin_ns)
		return;
	wait->flags |= WAIT_THROTTLED;
	wait->origin = limit;
}

/*
 * Who polls for io_uring sleeps for none of its requests, so that none of their ends wakes it: it sees them as it looks
 * next. It looks all the time, so that it is done with a request right after that ended.
 */
#define LOOKS_NS     200000u /* it runs for so long at most up to that */
#define ENTRIES_BACK 256u    /* of its track: in which it is looked for what it did since */

void throttle_completed(struct state *state, const struct cpu *cpu, const struct event *ev)
{
	struct limited *limited = &state->limited;

	if (!cpu->disk_limit)
		return;
	if (limited->limit.time_ns && limited->limit.name != cpu->disk_limit)
		limited->other_ns = limited->done_ns;
	limited->limit = limit_of_disk(cpu);
	limited->woke = SLOT_NONE;
	limited->done_ns = ev->time_ns;
}

/* It was on a CPU only for long enough to look, since then. */
static bool has_only_looked(const struct state *state, const struct thread *poller,
			    uint64_t since_ns, uint64_t now_ns)
{
	const struct track *track = &poller->tl->track;
	uint64_t since = track_ns(state, since_ns), until = track_ns(state, now_ns), ran = 0;

	for (uint32_t i = track->count; i > track->base && track->count - i < ENTRIES_BACK; i--) {
		const struct track_entry *entry = &track->tail[i - 1 - track->base];
		uint64_t from = entry->time > since ? entry->time : since;

		if (word_wib(entry->word) == WIB_WORKING)
			ran += until - from;
		until = from;
		if (ran > LOOKS_NS || entry->time <= since)
			return ran <= LOOKS_NS;
	}
	return false;
}

bool throttle_polled(struct state *state, const struct thread *poller, uint64_t now_ns,
		     struct actor *out_limit)
{
	struct limited *limited = &state->limited;

	if (!limited->limit.time_ns || limited->done_ns < poller->disk_done.time_ns ||
	    (limited->woke != SLOT_NONE && limited->woke != poller->slot) ||
	    !has_only_looked(state, poller, limited->done_ns, now_ns))
		return false;
	*out_limit = limited->limit;
	out_limit->word =
		word_make(WORD_NONE, limited->woke == SLOT_NONE ? LIMIT_POLLED : LIMIT_WOKE);
	limited->limit.time_ns = 0;
	return true;
}

void throttle_passed_on(struct state *state, const struct actor *limit, struct wait *wait)
{
	if (word_kind(limit->word) != WORD_NONE || word_arg(limit->word) < LIMIT_WOKE ||
	    limit->time_ns <= wait->begin_ns)
		return;
	wait->flags |= WAIT_THROTTLED;
	/* It may have been either of them. */
	if (word_arg(limit->word) == LIMIT_POLLED && state->limited.other_ns > wait->begin_ns)
		wait->origin.name = names_add(&state->tl->names, UNKNOWN_LIMIT, 64);
}

void throttle_seen(struct state *state, struct wait *wait, const char *limit)
{
	wait->flags |= WAIT_THROTTLED;
	wait->origin = (struct actor){ .slot = SLOT_NONE,
				       .word = word_make(WORD_NONE, LIMIT_SEEN),
				       .name = names_add(&state->tl->names, limit, 4096),
				       .kind = ACTOR_DISK };
}

/* It is of SCHED_IDLE from now on, or of another policy. */
static void set_idle_policy(struct thread *thread, bool is_idle, uint64_t now_ns)
{
	if (is_idle == (thread->tl->sched_as == SCHED_AS_IDLE))
		return;
	thread->tl->sched_as = is_idle ? SCHED_AS_IDLE : 0;
	thread->tl->sched_as_ns = now_ns;
}

static void set_allowed(struct state *state, struct thread *thread, const struct event *ev)
{
	thread->tl->allowed = names_add(&state->tl->names, ev->fd_name.name, 256);
	thread->tl->allowed_ns = ev->time_ns;
}

void throttle_told(struct state *state, const struct event *ev)
{
	const struct ev_fd_name *name = &ev->fd_name;
	struct thread *thread = state_living(state, name->tid);

	if (name->fd == THROTTLE_KILLED && thread)
		thread->tl->killed_by = names_add(&state->tl->names, name->name, 4096);
	else if (name->fd == THROTTLE_DEADLINE && thread)
		thread->deadline = names_add(&state->tl->names, name->name, 4096);
	else if (name->fd == THROTTLE_IDLE && thread)
		set_idle_policy(thread, name->name && strcmp(name->name, "SCHED_IDLE") == 0,
				ev->time_ns);
	else if (name->fd == THROTTLE_ALLOWED && thread)
		set_allowed(state, thread, ev);
	else if ((name->fd == THROTTLE_FREEZES || name->fd == THROTTLE_THAWS) && thread)
		frozen_told(state, thread, ev);
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

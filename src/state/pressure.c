/*
 * pressure.c - what limits of memory keep threads at: they free some, or pause.
 *
 *	reclaim       between two events of the kernel. For which cgroup the recorder tells before
 *	              it begins, where it tells another one than the last time
 *	memory.high   reclaim as well; right behind it the thread may have to pause, until a timer
 *	              of its own goes off
 *	dirty pages   an event comes right before a pause, which the writer's own timer ends
 *
 * Spans of reclaim lie across the states of the thread: see struct tl_limit. A wait that a timer of its own
 * ends is none that it asked for there.
 */
#include "event/memory_event.h"
#include "state/state_int.h"

#define TOLD_NS	 50000u	     /* two clocks differ by so much at most */
#define PAUSE_NS 2000000u    /* from the event to the pause: others run, and usage is added up */
#define FAULT_NS 1000000000u /* where nothing else pauses */
#define HIGH	 "over memory.high of its cgroup; which one is not known"
#define DIRTY	 "dirty pages, made faster than a device writes them"

static uint32_t name_id(struct state *state, const char *text)
{
	return names_add(&state->tl->names, text, 4096);
}

/* For what it frees memory; 'kind' is that of the outermost event. */
static uint32_t limit_of(struct state *state, const struct thread *thread)
{
	switch ((enum memory_kind)thread->reclaim_kind) {
	case MEMORY_CGROUP:
		return thread->reclaim_limit
			       ? thread->reclaim_limit
			       : name_id(state,
					 "reclaims memory at a limit of its cgroup; which one is not known");
	case MEMORY_NODE:
		return name_id(state, "reclaims memory of its NUMA node");
	case MEMORY_COMPACTION:
		return name_id(state, "compacts memory: no free piece was large enough");
	default:
		return name_id(state, "reclaims memory: the machine has too little");
	}
}

/* What was under way when events were lost has no known end. */
static bool is_reclaiming(const struct state *state, const struct thread *thread)
{
	return thread->reclaim_ns && thread->reclaim_ns >= state->gap_end_ns;
}

static void begin_reclaim(const struct state *state, struct thread *thread, enum memory_kind kind,
			  uint64_t now_ns)
{
	if (!is_reclaiming(state, thread))
		thread->reclaim_depth = 0;
	if (thread->reclaim_depth++ > 0)
		return;
	thread->reclaim_ns = now_ns;
	thread->reclaim_kind = (uint8_t)kind;
}

static void end_reclaim(struct state *state, struct thread *thread, uint64_t now_ns)
{
	bool known = is_reclaiming(state, thread);

	if (thread->reclaim_depth > 1 && known) {
		thread->reclaim_depth--;
		return;
	}
	thread->reclaimed_ns = known && thread->reclaim_kind == MEMORY_CGROUP ? now_ns : 0;
	if (known && now_ns > thread->reclaim_ns)
		timeline_add_limit(thread->tl, (struct tl_limit){ thread->reclaim_ns, now_ns,
								  limit_of(state, thread) });
	thread->reclaim_ns = 0;
	thread->reclaim_depth = 0;
}

static void on_other(struct state *state, struct cpu *cpu, const struct event *ev)
{
	const struct memory_event *known = memory_event_of(ev);
	struct thread *thread = known && ev->tid > 0 ? state_living(state, ev->tid) : NULL;

	(void)cpu;
	if (!thread || thread->tl->kernel)
		return;
	if (known->kind == MEMORY_DIRTY)
		thread->dirty_ns = ev->time_ns;
	else if (known->is_end)
		end_reclaim(state, thread, ev->time_ns);
	else
		begin_reclaim(state, thread, known->kind, ev->time_ns);
}

/* ---------------------------------------------------------------------- waits */

static void name_wait(struct wait *wait, uint32_t limit)
{
	wait->flags |= WAIT_THROTTLED;
	wait->flags &= ~(uint32_t)WAIT_TIMED_OUT;
	wait->origin = (struct actor){
		.time_ns = wait->woken_ns, .slot = SLOT_NONE, .name = limit, .kind = ACTOR_TIMER
	};
}

static bool in_fault(const struct wait *wait)
{
	return word_kind(wait->in) == WORD_TRAP;
}

/* Which limit has it pause, if the wait is a pause of that kind; 0 = it begins elsewhere. */
static uint32_t pause_of(struct state *state, const struct thread *thread, const struct wait *wait)
{
	if (!(wait->flags & WAIT_DISK_SLEEP))
		return 0;
	if (thread->dirty_ns && wait->begin_ns - thread->dirty_ns < PAUSE_NS)
		return thread->dirty_limit ? thread->dirty_limit : name_id(state, DIRTY);
	if (!thread->reclaimed_ns ||
	    wait->begin_ns - thread->reclaimed_ns >= (in_fault(wait) ? FAULT_NS : PAUSE_NS))
		return 0;
	if (!thread->reclaim_limit)
		return name_id(state, HIGH);
	return thread->reclaim_high ? thread->reclaim_limit : 0;
}

void pressure_at_sleep(struct state *state, struct thread *thread, struct wait *wait)
{
	uint32_t limit = pause_of(state, thread, wait);

	if (limit && !is_reclaiming(state, thread))
		name_wait(wait, limit);
}

void pressure_at_wake(struct state *state, const struct thread *thread, struct wait *wait)
{
	bool is_own = wait->flags & WAIT_TIMED_OUT || wait->waker.signal;
	uint32_t limit = is_reclaiming(state, thread) ? limit_of(state, thread)
						      : pause_of(state, thread, wait);

	if (limit && is_own)
		name_wait(wait, limit);
	else if (limit && wait->origin.kind == ACTOR_TIMER)
		wait->flags &= ~(uint32_t)WAIT_THROTTLED;
}

/* By another clock: a moment before what it is about begins, or after that. */
static void told_reclaim(struct thread *thread, const struct event *ev, uint32_t limit)
{
	struct tl_thread *tl = thread->tl;
	struct tl_limit *last = tl->limit_count ? &tl->limits[tl->limit_count - 1] : NULL;

	thread->reclaim_limit = limit;
	thread->reclaim_high = ev->fd_name.fd == THROTTLE_HIGH;
	if (last && !thread->reclaim_ns && ev->time_ns - last->start_ns < TOLD_NS &&
	    thread->reclaim_kind == MEMORY_CGROUP)
		last->name = limit;
}

void pressure_told(struct state *state, struct thread *thread, const struct event *ev)
{
	uint32_t limit = name_id(state, ev->fd_name.name);

	if (!limit)
		return;
	if (ev->fd_name.fd == THROTTLE_RECLAIM || ev->fd_name.fd == THROTTLE_HIGH)
		told_reclaim(thread, ev, limit);
	else if (ev->fd_name.fd == THROTTLE_DIRTY)
		thread->dirty_limit = limit;
}

void pressure_at_end(struct state *state)
{
	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		struct thread *thread = state->threads[i];

		if (thread->reclaim_ns && thread->sched != SCHED_DEAD) {
			thread->reclaim_depth = 1;
			end_reclaim(state, thread, state->tl->end_ns);
		}
	}
}

const struct state_handler pressure_handlers[] = {
	{ EV_OTHER, on_other },
	{ EV_NONE, NULL },
};

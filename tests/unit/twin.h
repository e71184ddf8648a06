/*
 * twin.h - the slow and obvious twin of the state engine and of the verdict.
 *
 * Written from the rules of DESIGN.md (sections 8 and 9), not from the engine. It
 * holds the whole array of events, cuts time at every distinct event time, and asks
 * of each such elementary span anew: what was this thread in, and who is to be
 * charged for it? No state is kept from one question to the next.
 *
 * For traces in which no tid is used twice and every event says its context.
 */
#ifndef TWIN_H
#define TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analyse/why/why.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "timeline/timeline.h"

struct twin {
	const struct event *events;
	size_t count;
	const struct facts *facts;
	uint64_t origin_ns;
	uint64_t end_ns;
	uint64_t asked_ns; /* the end of the window that is asked about; 0 = the end */
};

/* An elementary span: from the last of the first 'pos' events to the next one. */
struct twin_span {
	uint64_t start_ns;
	uint64_t end_ns;
	size_t pos;		      /* events that came before it */
	const struct twin_path *path; /* who waits for whom, from the one that is asked about */
};

struct twin_path {
	int32_t tid;
	const struct twin_path *up;
};

enum twin_kind {
	TWIN_NONE,
	TWIN_RUNS,
	TWIN_PREEMPTED,
	TWIN_QUEUED,
	TWIN_BLOCKED,
	TWIN_UNKNOWN
};

struct twin_state {
	enum twin_kind kind;
	uint32_t cpu;	 /* where it runs or is queued */
	bool early;	 /* a waking came while it ran */
	size_t early_at; /* that event */
	size_t since;	 /* event that began this; SIZE_MAX = none seen */
};

/* ------------------------------------------------------------------- spans */

/* The first span, then the next ones; false at the end. Empty spans are left out. */
static inline bool twin_next_span(const struct twin *twin, struct twin_span *span, bool first)
{
	if (first)
		*span = (struct twin_span){ twin->origin_ns, twin->origin_ns, 0, NULL };
	span->start_ns = span->end_ns;
	while (span->pos < twin->count && twin->events[span->pos].time_ns <= span->start_ns)
		span->pos++;
	span->end_ns = span->pos < twin->count ? twin->events[span->pos].time_ns : twin->end_ns;
	return span->start_ns < span->end_ns;
}

/* ----------------------------------------------------------------- a thread */

static inline bool twin_is_birth(const struct event *ev, int32_t tid)
{
	return (ev->type == EV_TASK_NEW || ev->type == EV_SCHED_FORK) && ev->task.tid == tid;
}

static inline bool twin_is_switch_in(const struct event *ev, int32_t tid)
{
	return ev->type == EV_SCHED_SWITCH && ev->sched_switch.next_tid == tid;
}

static inline bool twin_is_waking(const struct event *ev, int32_t tid)
{
	return ev->type == EV_SCHED_WAKING && ev->wake.tid == tid;
}

/* What the first event about a thread says of the time before it. */
static inline struct twin_state twin_before_first(const struct twin *twin, int32_t tid)
{
	for (size_t i = 0; i < twin->count; i++) {
		const struct event *ev = &twin->events[i];

		if (twin_is_birth(ev, tid))
			return (struct twin_state){ .kind = TWIN_NONE };
		if (twin_is_switch_in(ev, tid))
			return (struct twin_state){ TWIN_QUEUED, ev->cpu, false, 0, SIZE_MAX };
		if (twin_is_waking(ev, tid))
			return (struct twin_state){ TWIN_BLOCKED, 0, false, 0, SIZE_MAX };
		if (ev->tid == tid)
			return (struct twin_state){ TWIN_RUNS, ev->cpu, false, 0, SIZE_MAX };
	}
	for (size_t i = 0; i < twin->facts->thread_count; i++) {
		if (twin->facts->threads[i].tid == tid && twin->facts->threads[i].state == 'S')
			return (struct twin_state){ TWIN_BLOCKED, 0, false, 0, SIZE_MAX };
	}
	return (struct twin_state){ .kind = TWIN_UNKNOWN };
}

/* Whether the wait that begins with event 'at' is ended by a waking of its own. */
static inline bool twin_has_waking(const struct twin *twin, int32_t tid, size_t at)
{
	for (size_t i = at + 1; i < twin->count; i++) {
		if (twin_is_waking(&twin->events[i], tid))
			return true;
		if (twin_is_switch_in(&twin->events[i], tid))
			return false;
	}
	return false;
}

/* Whether it is seen awake again: woken up, moved or switched in. */
static inline bool twin_comes_back(const struct twin *twin, int32_t tid, size_t at)
{
	for (size_t i = at + 1; i < twin->count; i++) {
		const struct event *ev = &twin->events[i];

		if (twin_is_switch_in(ev, tid) ||
		    (ev->type == EV_SCHED_WAKEUP && ev->wake.tid == tid) ||
		    (ev->type == EV_SCHED_MIGRATE && ev->migrate.tid == tid))
			return true;
	}
	return false;
}

static inline void twin_leave(const struct twin *twin, int32_t tid, size_t i,
			      struct twin_state *state)
{
	const struct event *ev = &twin->events[i];
	bool early =
		state->early && !twin_has_waking(twin, tid, i) && twin_comes_back(twin, tid, i);
	size_t early_at = state->early_at;

	*state = (struct twin_state){ .cpu = ev->cpu, .since = i };
	switch (ev->sched_switch.prev_state) {
	case TASK_STATE_RUNNABLE:
		state->kind = TWIN_PREEMPTED;
		break;
	case TASK_STATE_DEAD:
		state->kind = TWIN_NONE;
		break;
	default:
		/* The waking that came just before ended the wait as it began. */
		state->kind = early ? TWIN_QUEUED : TWIN_BLOCKED;
		state->early_at = early_at;
		break;
	}
}

/* Event 'i' happens to thread 'tid'. */
static inline void twin_step(const struct twin *twin, int32_t tid, size_t i,
			     struct twin_state *state)
{
	const struct event *ev = &twin->events[i];
	bool queued = state->kind == TWIN_QUEUED || state->kind == TWIN_PREEMPTED;

	if (twin_is_birth(ev, tid) && state->kind == TWIN_NONE) {
		*state = (struct twin_state){ TWIN_QUEUED, ev->cpu, false, 0, i };
	} else if (ev->type == EV_SCHED_SWITCH && ev->sched_switch.prev_tid == tid) {
		twin_leave(twin, tid, i, state);
	} else if (twin_is_switch_in(ev, tid)) {
		*state = (struct twin_state){ TWIN_RUNS, ev->cpu, false, 0, i };
	} else if (twin_is_waking(ev, tid) && state->kind == TWIN_RUNS) {
		state->early = true;
		state->early_at = i;
	} else if (twin_is_waking(ev, tid) && state->kind == TWIN_BLOCKED) {
		*state = (struct twin_state){ TWIN_QUEUED, (uint32_t)ev->wake.target_cpu, false, 0,
					      i };
	} else if ((ev->type == EV_SCHED_WAKEUP || ev->type == EV_SCHED_WAKEUP_NEW) &&
		   ev->wake.tid == tid && queued) {
		state->cpu = (uint32_t)ev->wake.target_cpu;
	} else if (ev->type == EV_SCHED_MIGRATE && ev->migrate.tid == tid && queued) {
		state->cpu = (uint32_t)ev->migrate.to_cpu;
	}
}

/* What thread 'tid' is in after the first 'pos' events. */
static inline struct twin_state twin_state(const struct twin *twin, int32_t tid, size_t pos)
{
	struct twin_state state = twin_before_first(twin, tid);

	for (size_t i = 0; i < pos; i++)
		twin_step(twin, tid, i, &state);
	return state;
}

/* ------------------------------------------------------------------- a CPU */

#define TWIN_NEST 16

/* The interrupts and softirqs that are open on a CPU, as events; the innermost is last. */
struct twin_open {
	const struct event *open[TWIN_NEST];
	uint32_t depth;
};

static inline struct twin_open twin_open(const struct twin *twin, uint32_t cpu, size_t pos)
{
	struct twin_open nest = { .depth = 0 };

	for (size_t i = 0; i < pos; i++) {
		const struct event *ev = &twin->events[i];

		if (ev->cpu != cpu)
			continue;
		if (ev->type == EV_SCHED_SWITCH)
			nest.depth = 0;
		if (ev->type == EV_IRQ_ENTRY || ev->type == EV_VECTOR_ENTRY ||
		    ev->type == EV_SOFTIRQ_ENTRY)
			nest.open[nest.depth++] = ev;
		if ((ev->type == EV_IRQ_EXIT || ev->type == EV_VECTOR_EXIT ||
		     ev->type == EV_SOFTIRQ_EXIT) &&
		    nest.depth)
			nest.depth--;
	}
	return nest;
}

/* Who has the CPU; -1 = no event tells. */
static inline int32_t twin_runs_on(const struct twin *twin, uint32_t cpu, size_t pos)
{
	for (size_t i = pos; i > 0; i--) {
		const struct event *ev = &twin->events[i - 1];

		if (ev->cpu == cpu)
			return ev->type == EV_SCHED_SWITCH ? ev->sched_switch.next_tid : ev->tid;
	}
	for (size_t i = pos; i < twin->count; i++) {
		if (twin->events[i].cpu == cpu)
			return twin->events[i].tid;
	}
	return -1;
}

static inline enum wib twin_wib(const struct twin *twin, int32_t tid, size_t pos)
{
	struct twin_state state = twin_state(twin, tid, pos);

	switch (state.kind) {
	case TWIN_NONE:
		return WIB_NONE;
	case TWIN_RUNS:
		return twin_open(twin, state.cpu, pos).depth ? WIB_INTERRUPTED : WIB_WORKING;
	case TWIN_PREEMPTED:
	case TWIN_QUEUED:
		return WIB_INTERRUPTED;
	case TWIN_BLOCKED:
		return WIB_BLOCKED;
	default:
		return WIB_UNCERTAIN;
	}
}

/* ----------------------------------------------------------------- the verdict */

struct twin_root {
	enum why_kind kind;
	int32_t tid; /* 0 = nobody */
};

static inline struct twin_root twin_root(const struct twin *twin, int32_t tid,
					 const struct twin_span *span, uint32_t depth, bool lock);

static inline bool twin_in_irq(const struct event *ev)
{
	return ev->context & (EV_CTX_HARDIRQ | EV_CTX_SOFTIRQ);
}

/*
 * The last event of 'type' on the CPU of event 'at' before it, in the innermost interrupt
 * itself: not in one that interrupted it for a while.
 */
static inline const struct event *twin_inside(const struct twin *twin, size_t at,
					      enum event_type type, enum event_type end)
{
	struct twin_open nest = twin_open(twin, twin->events[at].cpu, at);
	const struct event *entry = nest.depth ? nest.open[nest.depth - 1] : NULL;

	for (size_t i = at; i > 0; i--) {
		const struct event *ev = &twin->events[i - 1];

		if (ev->cpu != twin->events[at].cpu)
			continue;
		if (ev == entry)
			return NULL;
		if ((ev->type != type && ev->type != end) ||
		    twin_open(twin, ev->cpu, i - 1).depth != nest.depth)
			continue;
		if (ev->type == end)
			return NULL;
		if (ev->type == type)
			return ev;
	}
	return NULL;
}

/* The hardware or the kernel's deferred work that runs in the interrupt of event 'at'. */
static inline enum why_kind twin_hardware(const struct twin *twin, size_t at)
{
	struct twin_open nest = twin_open(twin, twin->events[at].cpu, at);
	const struct event *top = nest.depth ? nest.open[nest.depth - 1] : NULL;

	if (twin_inside(twin, at, EV_HRTIMER_EXPIRE, EV_HRTIMER_DONE))
		return WHY_TIMER;
	if (twin_inside(twin, at, EV_BLOCK_COMPLETE, EV_NONE))
		return WHY_DISK;
	if (!top)
		return WHY_UNKNOWN;
	if (top->type == EV_VECTOR_ENTRY)
		return top->irq.nr == VECTOR_LOCAL_TIMER ? WHY_TIMER : WHY_IPI;
	if (top->type == EV_IRQ_ENTRY)
		return WHY_IRQ;
	/* By what the softirq is for: TIMER, NET_RX, BLOCK. */
	return top->irq.nr == 1	  ? WHY_TIMER
	       : top->irq.nr == 3 ? WHY_NETWORK
	       : top->irq.nr == 4 ? WHY_DISK
	       : top->irq.nr == 9 ? WHY_GRACE
				  : WHY_SOFTIRQ;
}

/* Who sent the packet that is being received at event 'at'; SIZE_MAX = nobody on this machine. */
static inline size_t twin_sending(const struct twin *twin, size_t at)
{
	const struct event *packet = twin_inside(twin, at, EV_NET_RECEIVE, EV_NONE);
	size_t received = packet ? (size_t)(packet - twin->events) : 0;

	for (size_t i = received; packet && i > 0; i--) {
		const struct event *ev = &twin->events[i - 1];

		if (ev->type == EV_NET_RECEIVE && ev->net.skb == packet->net.skb)
			break;
		if (ev->type == EV_NET_RX && ev->net.skb == packet->net.skb && !twin_in_irq(ev))
			return i - 1;
	}
	return SIZE_MAX;
}

/* Whether thread 'tid' is in a system call before event 'pos', as far as anything tells. */
static inline bool twin_in_call(const struct twin *twin, int32_t tid, size_t pos)
{
	bool in_call = false;

	for (size_t i = 0; i < pos; i++) {
		const struct event *ev = &twin->events[i];

		/* A new thread begins on its way out of the call that made it. */
		if (twin_is_birth(ev, tid) && ev->type == EV_TASK_NEW)
			in_call = twin_in_call(twin, ev->tid, i);
		if (ev->tid == tid && (ev->type == EV_SYS_ENTER || ev->type == EV_SYS_EXIT))
			in_call = ev->type == EV_SYS_ENTER;
	}
	return in_call;
}

/*
 * No packet was recorded in this network softirq, but a system call of the thread under it
 * raised it: no interrupt came since that thread has this CPU.
 */
static inline bool twin_raised_by_call(const struct twin *twin, size_t at)
{
	const struct event *waking = &twin->events[at];
	struct twin_open nest = twin_open(twin, waking->cpu, at);
	bool in_call = twin_in_call(twin, waking->tid, at);

	if (nest.depth != 1 || nest.open[0]->irq.nr != 3 || waking->tid == 0 ||
	    twin_inside(twin, at, EV_NET_RECEIVE, EV_NONE))
		return false;
	for (size_t i = at; i > 0 && in_call; i--) {
		const struct event *ev = &twin->events[i - 1];

		if (ev->cpu != waking->cpu)
			continue;
		if (ev->type == EV_SCHED_SWITCH)
			return true;
		if (ev->type == EV_IRQ_ENTRY || ev->type == EV_VECTOR_ENTRY)
			return false;
	}
	return in_call;
}

/* The work that the kworker of event 'at' runs: who queued it; SIZE_MAX = it runs none. */
static inline size_t twin_queued_by(const struct twin *twin, size_t at)
{
	const struct event *start = NULL;
	size_t i;

	for (i = at; i > 0 && !start; i--) {
		const struct event *ev = &twin->events[i - 1];

		if (ev->tid != twin->events[at].tid)
			continue;
		if (ev->type == EV_WORK_END)
			return SIZE_MAX;
		if (ev->type == EV_WORK_START)
			start = ev;
	}
	for (; start && i > 0; i--) {
		const struct event *ev = &twin->events[i - 1];

		if (ev->type == EV_WORK_QUEUE && ev->work.work == start->work.work)
			return i - 1;
		/* Queued once, run once: that was for an earlier run. */
		if (ev->type == EV_WORK_START && ev->work.work == start->work.work)
			return SIZE_MAX;
	}
	return SIZE_MAX;
}

/* Whether the wait that began with switch out 'since' was for a lock. */
static inline bool twin_for_lock(const struct twin *twin, int32_t tid, size_t since)
{
	if (since == SIZE_MAX)
		return false;
	for (size_t i = since; i > 0; i--) {
		const struct event *ev = &twin->events[i - 1];

		if (ev->tid != tid || twin_in_irq(ev))
			continue;
		if (ev->type == EV_SYS_EXIT)
			return false;
		if (ev->type == EV_SYS_ENTER)
			return ev->syscall.nr == 202 && (ev->syscall.args[1] & 0xff) == 128 &&
			       (uint32_t)ev->syscall.args[2] != 0;
	}
	return false;
}

/* Woken by the thread of event 'at', in its own or the kernel's code. */
static inline struct twin_root twin_by_thread(const struct twin *twin, size_t at,
					      const struct twin_span *span, uint32_t depth,
					      bool lock)
{
	int32_t waker = twin->events[at].tid, tid = twin->events[at].wake.tid;
	size_t queued = twin_queued_by(twin, at);

	if (queued != SIZE_MAX && span->start_ns < twin->events[queued].time_ns) {
		const struct event *ev = &twin->events[queued];

		/* Before the work was queued, whoever queued it was awaited. */
		if (twin_in_irq(ev))
			return (struct twin_root){ twin_hardware(twin, queued), waker };
		if (ev->tid != tid && ev->tid != waker)
			return twin_root(twin, ev->tid, span, depth + 1, lock);
	}
	return twin_root(twin, waker, span, depth + 1, lock);
}

/* ------------------------------------------------------------ waits in slices */

/* A wait: the event that it began with, and the one that ended it. */
struct twin_wait {
	size_t since; /* SIZE_MAX = before the trace */
	size_t at; /* the waking; the count = none before the end; SIZE_MAX = it was not recorded */
};

/* The system call of which only the end is in the trace, or NULL. */
static inline const struct event *twin_unseen_call(const struct twin *twin, int32_t tid, size_t pos)
{
	for (size_t i = pos; i < twin->count; i++) {
		const struct event *ev = &twin->events[i];

		if (ev->tid == tid && (ev->type == EV_SYS_ENTER || ev->type == EV_SYS_EXIT))
			return ev->type == EV_SYS_EXIT ? ev : NULL;
	}
	return NULL;
}

/* The system call that thread 'tid' is in before event 'pos', or NULL. */
static inline const struct event *twin_call(const struct twin *twin, int32_t tid, size_t pos)
{
	const struct event *call;

	for (size_t i = pos; i > 0; i--) {
		const struct event *ev = &twin->events[i - 1];

		if (ev->tid == tid && ev->type == EV_SYS_EXIT)
			return NULL;
		if (ev->tid == tid && ev->type == EV_SYS_ENTER)
			return ev;
		/* A new thread begins on its way out of the call that made it. */
		if (twin_is_birth(ev, tid) && ev->type == EV_TASK_NEW) {
			call = twin_call(twin, ev->tid, i - 1);
			return call && call->type == EV_SYS_ENTER
				       ? call
				       : twin_unseen_call(twin, tid, pos);
		}
	}
	return twin_unseen_call(twin, tid, pos);
}

static inline size_t twin_end_of_wait(const struct twin *twin, int32_t tid, size_t from)
{
	for (size_t i = from; i < twin->count; i++) {
		if (twin_is_waking(&twin->events[i], tid))
			return i;
		if (twin_is_switch_in(&twin->events[i], tid))
			return SIZE_MAX;
	}
	return twin->count;
}

/* Ended by nothing but a timer, in a system call. */
static inline bool twin_is_slice(const struct twin *twin, int32_t tid, const struct twin_wait *wait)
{
	if (wait->since == SIZE_MAX || wait->at >= twin->count ||
	    !twin_call(twin, tid, wait->since) || !twin_in_irq(&twin->events[wait->at]))
		return false;
	if (!(twin->events[wait->at].context & EV_CTX_HARDIRQ) &&
	    twin_raised_by_call(twin, wait->at))
		return false;
	return twin_hardware(twin, wait->at) == WHY_TIMER;
}

/* In the same call, for the same: addresses of futexes are near each other, poll() is for many. */
static inline bool twin_is_same(const struct twin *twin, int32_t tid, size_t one, size_t other)
{
	const struct event *a = twin_call(twin, tid, one), *b = twin_call(twin, tid, other);

	return a && b && a->syscall.nr == b->syscall.nr &&
	       (a->syscall.nr == 202 || a->syscall.nr == 7 ||
		a->syscall.args[0] == b->syscall.args[0]);
}

/* The next wait of the thread behind event 'at', unless it does more than look: write() is more. */
static inline bool twin_next_wait(const struct twin *twin, int32_t tid, size_t at,
				  struct twin_wait *out_wait)
{
	struct twin_state state = twin_state(twin, tid, at + 1);

	for (size_t i = at + 1; i < twin->count; i++) {
		const struct event *ev = &twin->events[i];
		const struct event *call = twin_call(twin, tid, i);

		if (twin->asked_ns && ev->time_ns >= twin->asked_ns)
			return false;

		if (ev->tid == tid && ev->type == EV_SYS_EXIT && call && call->syscall.nr == 1 &&
		    !twin_in_irq(ev))
			return false;
		twin_step(twin, tid, i, &state);
		if (ev->type != EV_SCHED_SWITCH || ev->sched_switch.prev_tid != tid)
			continue;
		if (state.kind == TWIN_NONE)
			return false;
		if (state.kind != TWIN_BLOCKED)
			continue;
		out_wait->since = i;
		out_wait->at = twin_end_of_wait(twin, tid, i + 1);
		return true;
	}
	return false;
}

/* The last slice of the wait that 'slice' is one of; false: the thread gave up. */
static inline bool twin_last_slice(const struct twin *twin, int32_t tid,
				   const struct twin_wait *slice, struct twin_wait *out_last)
{
	struct twin_wait wait = *slice, last = *slice;

	while (twin_next_wait(twin, tid, wait.at > wait.since ? wait.at : wait.since, &wait)) {
		if (twin_is_same(twin, tid, last.since, wait.since)) {
			last = wait;
			if (!twin_is_slice(twin, tid, &wait)) {
				*out_last = wait;
				return true;
			}
		}
		if (wait.at >= twin->count)
			return false;
	}
	return false;
}

static inline bool twin_waits_above(const struct twin_span *span, int32_t tid)
{
	const struct twin_path *path = span->path;

	while (path && path->tid != tid)
		path = path->up;
	return path;
}

/* Was that switch one to a stop? */
static inline bool twin_is_stopped(const struct twin *twin, size_t since)
{
	return since != SIZE_MAX && twin->events[since].type == EV_SCHED_SWITCH &&
	       twin->events[since].sched_switch.prev_state == TASK_STATE_STOPPED;
}

/* What ended the wait is charged for this span. */
static inline struct twin_root twin_ended(const struct twin *twin, int32_t tid,
					  const struct twin_wait *wait,
					  const struct twin_span *span, uint32_t depth)
{
	bool lock = twin_for_lock(twin, tid, wait->since);
	size_t at = wait->at, sent;

	if (at == SIZE_MAX)
		return (struct twin_root){ WHY_UNKNOWN, tid };
	if (at == twin->count)
		return (struct twin_root){ twin_is_stopped(twin, wait->since) ? WHY_STOPPED
									      : WHY_STUCK,
					   tid };
	if (!twin_in_irq(&twin->events[at]))
		return twin_by_thread(twin, at, span, depth, lock);
	if (!(twin->events[at].context & EV_CTX_HARDIRQ) && twin_raised_by_call(twin, at))
		return twin_root(twin, twin->events[at].tid, span, depth + 1, lock);
	sent = twin_sending(twin, at);
	if (twin->events[at].context & EV_CTX_HARDIRQ || sent == SIZE_MAX ||
	    twin->events[sent].tid == tid)
		return (struct twin_root){ twin_hardware(twin, at), tid };
	/* Sent, but received on behalf of nobody in particular: from then on it is the network. */
	if (twin->events[sent].tid != twin->events[at].tid &&
	    span->start_ns >= twin->events[sent].time_ns)
		return (struct twin_root){ WHY_NETWORK, tid };
	return twin_root(twin, twin->events[sent].tid, span, depth + 1, lock);
}

static inline struct twin_root twin_blocked(const struct twin *twin, int32_t tid, size_t since,
					    const struct twin_span *span, uint32_t depth)
{
	struct twin_wait wait = { since, twin_end_of_wait(twin, tid, span->pos) }, last;
	const struct twin_path here = { tid, span->path };
	struct twin_span below = *span;

	if (twin_is_slice(twin, tid, &wait) && !twin_waits_above(span, tid) &&
	    twin_last_slice(twin, tid, &wait, &last))
		wait = last;
	below.path = &here;
	return twin_ended(twin, tid, &wait, &below, depth);
}

static inline struct twin_root twin_waits_for_cpu(const struct twin *twin, int32_t tid,
						  struct twin_state state, size_t pos)
{
	int32_t runs = twin_runs_on(twin, state.cpu, pos);

	if (runs <= 0 || runs == tid)
		return (struct twin_root){ WHY_CPU_QUEUE, 0 };
	return (struct twin_root){ state.kind == TWIN_PREEMPTED ? WHY_PREEMPTED : WHY_CPU_QUEUE,
				   runs };
}

static inline struct twin_root twin_runs(const struct twin *twin, int32_t tid, uint32_t cpu,
					 const struct twin_span *span, bool lock)
{
	struct twin_open nest = twin_open(twin, cpu, span->pos);

	if (nest.depth)
		return (struct twin_root){ nest.open[nest.depth - 1]->type == EV_SOFTIRQ_ENTRY
						   ? WHY_SOFTIRQ
						   : WHY_IRQ,
					   0 };
	return (struct twin_root){ lock ? WHY_LOCK : WHY_OTHER_THREAD, tid };
}

/* Not there: before its birth the thread that made it stands in. */
static inline struct twin_root twin_absent(const struct twin *twin, int32_t tid,
					   const struct twin_span *span, uint32_t depth, bool lock)
{
	for (size_t i = span->pos; i < twin->count; i++) {
		if (twin_is_birth(&twin->events[i], tid))
			return twin_root(twin, twin->events[i].tid, span, depth ? depth + 1 : 0,
					 lock);
	}
	return (struct twin_root){ WHY_UNKNOWN, tid };
}

/* The one that is charged for this span of thread 'tid'. */
static inline struct twin_root twin_root(const struct twin *twin, int32_t tid,
					 const struct twin_span *span, uint32_t depth, bool lock)
{
	struct twin_state state = twin_state(twin, tid, span->pos);
	struct twin_root root = { WHY_UNKNOWN, tid };

	if (depth > 90)
		return root;
	switch (state.kind) {
	case TWIN_RUNS:
		root = twin_runs(twin, tid, state.cpu, span, lock);
		if (depth == 0 && root.kind == WHY_OTHER_THREAD)
			root.kind = WHY_WORKING;
		return root;
	case TWIN_PREEMPTED:
	case TWIN_QUEUED:
		return twin_waits_for_cpu(twin, tid, state, span->pos);
	case TWIN_BLOCKED:
		return twin_blocked(twin, tid, state.since, span, depth);
	case TWIN_NONE:
		return twin_absent(twin, tid, span, depth, lock);
	default:
		return root;
	}
}

#endif

/*
 * random_trace.h - random traces of a machine that could exist.
 *
 * A small machine is played: every step takes a random CPU and does one thing that
 * is possible there, and writes the events that a kernel would. So who runs where,
 * who wakes whom and which interrupts are open is consistent, whatever the seed.
 */
#ifndef RANDOM_TRACE_H
#define RANDOM_TRACE_H

#include "text_trace.h"

#define RT_CPUS	   3
#define RT_THREADS 12
#define RT_FIRST   100 /* tid of the first thread */
#define RT_KWORKER 2   /* the first ones are kernel threads that run work */

enum rt_state {
	RT_UNBORN,
	RT_RUNS,
	RT_READY,
	RT_SLEEPS,
	RT_DEAD
};

struct rt_thread {
	enum rt_state state;
	uint32_t cpu;
	bool in_call;
	uint64_t work;	    /* it runs this; 0 = none */
	uint64_t accounted; /* when its running time was counted last */
	bool seen;	    /* some event told where it is */
	bool proved;	    /* an event was recorded in it */
};

struct rt_cpu {
	int cur; /* index of a thread; -1 = idle */
	struct event open[TT_NEST];
	uint32_t depth;
	bool timer;	 /* a timer callback runs */
	uint64_t packet; /* being received; 0 = none */
};

struct random_trace {
	struct text_trace *trace;
	uint64_t random;
	uint64_t now;
	uint32_t cpu_count, thread_count;
	uint64_t next_id;
	struct rt_thread threads[RT_THREADS];
	struct rt_cpu cpus[RT_CPUS];
	uint64_t packets[8]; /* sent, not received */
	uint32_t packet_count;
	uint64_t works[8]; /* queued, not run */
	uint32_t work_count;
	bool wakeups; /* sched_wakeup is recorded: else only sched_waking */
	bool early;   /* wakings may come just before the switch out */
	bool runtime; /* write what each thread has run before it leaves its CPU */
};

static inline uint32_t rt_random(struct random_trace *rt, uint32_t below)
{
	rt->random ^= rt->random << 13;
	rt->random ^= rt->random >> 7;
	rt->random ^= rt->random << 17;
	return (uint32_t)((rt->random >> 11) % below);
}

static inline int32_t rt_tid(const struct random_trace *rt, int thread)
{
	(void)rt;
	return thread < 0 ? 0 : RT_FIRST + thread;
}

/* An event of now, recorded on 'cpu' in what runs there. */
static inline struct event rt_event(struct random_trace *rt, uint32_t cpu, enum event_type type)
{
	struct rt_cpu *at = &rt->cpus[cpu];
	struct event ev = { .time_ns = rt->now, .cpu = (uint16_t)cpu, .type = (uint8_t)type };

	ev.tid = rt_tid(rt, at->cur);
	ev.context = EV_CTX_KNOWN;
	for (uint32_t i = 0; i < at->depth; i++)
		ev.context |=
			at->open[i].type == EV_SOFTIRQ_ENTRY ? EV_CTX_SOFTIRQ : EV_CTX_HARDIRQ;
	if (at->cur >= 0)
		rt->threads[at->cur].seen = rt->threads[at->cur].proved = true;
	return ev;
}

static inline void rt_add(struct random_trace *rt, const struct event *ev)
{
	tt_add(rt->trace, ev);
}

static inline void rt_plain(struct random_trace *rt, uint32_t cpu, enum event_type type)
{
	struct event ev = rt_event(rt, cpu, type);

	rt_add(rt, &ev);
}

/* A random thread in 'state'; -1 when there is none. On 'cpu' unless that is UINT32_MAX. */
static inline int rt_pick(struct random_trace *rt, enum rt_state state, uint32_t cpu)
{
	uint32_t start = rt_random(rt, rt->thread_count);

	for (uint32_t i = 0; i < rt->thread_count; i++) {
		int thread = (int)((start + i) % rt->thread_count);

		if (rt->threads[thread].state == state &&
		    (cpu == UINT32_MAX || rt->threads[thread].cpu == cpu))
			return thread;
	}
	return -1;
}

/* ------------------------------------------------------------------- switches */

static inline void rt_account(struct random_trace *rt, uint32_t cpu)
{
	struct rt_thread *thread = &rt->threads[rt->cpus[cpu].cur];
	struct event ev = rt_event(rt, cpu, EV_SCHED_STAT_RUNTIME);

	ev.runtime.tid = ev.tid;
	ev.runtime.runtime_ns = rt->now - thread->accounted;
	thread->accounted = rt->now;
	rt_add(rt, &ev);
}

static inline void rt_switch(struct random_trace *rt, uint32_t cpu, enum task_state state)
{
	struct rt_cpu *at = &rt->cpus[cpu];
	int next = rt_pick(rt, RT_READY, cpu), prev = at->cur;
	struct event ev;

	if (rt->runtime && prev >= 0)
		rt_account(rt, cpu);
	ev = rt_event(rt, cpu, EV_SCHED_SWITCH);
	ev.sched_switch.prev_tid = rt_tid(rt, prev);
	ev.sched_switch.next_tid = rt_tid(rt, next);
	ev.sched_switch.prev_state = (uint8_t)state;
	rt_add(rt, &ev);
	if (prev >= 0)
		rt->threads[prev].state = state == TASK_STATE_RUNNABLE ? RT_READY
					  : state == TASK_STATE_DEAD   ? RT_DEAD
								       : RT_SLEEPS;
	at->cur = next;
	if (next >= 0) {
		rt->threads[next].state = RT_RUNS;
		rt->threads[next].seen = true;
		rt->threads[next].accounted = rt->now;
	}
}

static inline void rt_waking(struct random_trace *rt, uint32_t cpu, int thread, uint32_t target)
{
	struct event ev = rt_event(rt, cpu, EV_SCHED_WAKING);

	ev.wake.tid = rt_tid(rt, thread);
	ev.wake.target_cpu = (int32_t)rt->threads[thread].cpu;
	rt_add(rt, &ev);
	if (rt->wakeups) {
		ev = rt_event(rt, cpu, EV_SCHED_WAKEUP);
		ev.wake.tid = rt_tid(rt, thread);
		ev.wake.target_cpu = (int32_t)target;
		rt_add(rt, &ev);
	} else if (rt->threads[thread].cpu != target) {
		ev = rt_event(rt, cpu, EV_SCHED_MIGRATE);
		ev.migrate.tid = rt_tid(rt, thread);
		ev.migrate.from_cpu = (int32_t)rt->threads[thread].cpu;
		ev.migrate.to_cpu = (int32_t)target;
		rt_add(rt, &ev);
	}
	rt->threads[thread].state = RT_READY;
	rt->threads[thread].cpu = target;
	rt->threads[thread].seen = true;
}

static inline void rt_wake_any(struct random_trace *rt, uint32_t cpu)
{
	int thread = rt_pick(rt, RT_SLEEPS, UINT32_MAX);

	if (thread >= 0)
		rt_waking(rt, cpu, thread, rt_random(rt, rt->cpu_count));
}

/* A waking that comes just before the sleeper's own switch out. */
static inline void rt_wake_early(struct random_trace *rt, uint32_t cpu)
{
	uint32_t other = rt_random(rt, rt->cpu_count);
	int thread = rt->cpus[other].cur;
	struct event ev;

	if (!rt->early || other == cpu || thread < 0 || rt->cpus[other].depth ||
	    !rt->threads[thread].proved)
		return;
	ev = rt_event(rt, cpu, EV_SCHED_WAKING);
	ev.wake.tid = rt_tid(rt, thread);
	ev.wake.target_cpu = (int32_t)other;
	rt_add(rt, &ev);
	rt->now += rt_random(rt, 3);
	rt_switch(rt, other, TASK_STATE_SLEEPING);
	rt->now += rt_random(rt, 3);
	if (rt->wakeups) {
		ev = rt_event(rt, cpu, EV_SCHED_WAKEUP);
		ev.wake.tid = rt_tid(rt, thread);
		ev.wake.target_cpu = (int32_t)other;
		rt_add(rt, &ev);
	}
	rt->threads[thread].state = RT_READY;
	rt->threads[thread].cpu = other;
}

static inline void rt_migrate(struct random_trace *rt, uint32_t cpu)
{
	int thread = rt_pick(rt, RT_READY, UINT32_MAX);
	struct event ev;

	if (thread < 0 || !rt->threads[thread].seen)
		return;
	ev = rt_event(rt, cpu, EV_SCHED_MIGRATE);
	ev.migrate.tid = rt_tid(rt, thread);
	ev.migrate.from_cpu = (int32_t)rt->threads[thread].cpu;
	ev.migrate.to_cpu = (int32_t)rt_random(rt, rt->cpu_count);
	rt->threads[thread].cpu = (uint32_t)ev.migrate.to_cpu;
	rt_add(rt, &ev);
}

/* ----------------------------------------------------------------- interrupts */

static inline void rt_open(struct random_trace *rt, uint32_t cpu)
{
	/* TIMER, NET_RX, BLOCK, SCHED, RCU */
	static const uint8_t softirqs[] = { 1, 3, 3, 4, 7, 9 };
	struct rt_cpu *at = &rt->cpus[cpu];
	uint32_t what = rt_random(rt, at->depth ? 2 : 3);
	struct event ev = { .type = (uint8_t)(what == 0	  ? EV_IRQ_ENTRY
					      : what == 1 ? EV_VECTOR_ENTRY
							  : EV_SOFTIRQ_ENTRY) };

	at->open[at->depth++] = ev;
	ev = rt_event(rt, cpu, (enum event_type)ev.type);
	ev.irq.nr = what == 0 ? 24 + (int32_t)rt_random(rt, 2) : (int32_t)rt_random(rt, 3);
	if (what == 0)
		ev.irq.name = "eth0";
	if (what == 2)
		ev.irq.nr = softirqs[rt_random(rt, sizeof(softirqs))];
	at->open[at->depth - 1] = ev;
	rt_add(rt, &ev);
}

static inline void rt_close(struct random_trace *rt, uint32_t cpu)
{
	struct rt_cpu *at = &rt->cpus[cpu];
	const struct event *entry = &at->open[at->depth - 1];
	struct event ev;

	if (at->timer)
		rt_plain(rt, cpu, EV_HRTIMER_DONE);
	at->timer = false;
	ev = rt_event(rt, cpu, (enum event_type)(entry->type + 1));
	ev.irq = entry->irq;
	rt_add(rt, &ev);
	at->depth--;
}

/* Something that happens inside of an interrupt. */
static inline void rt_in_irq(struct random_trace *rt, uint32_t cpu)
{
	struct rt_cpu *at = &rt->cpus[cpu];
	const struct event *top = &at->open[at->depth - 1];
	struct event ev;

	if (top->type == EV_VECTOR_ENTRY && top->irq.nr == VECTOR_LOCAL_TIMER && !at->timer) {
		ev = rt_event(rt, cpu, EV_HRTIMER_EXPIRE);
		ev.timer.timer = 1 + rt_random(rt, 4);
		rt_add(rt, &ev);
		at->timer = true;
	} else if (top->type == EV_IRQ_ENTRY && rt_random(rt, 2)) {
		ev = rt_event(rt, cpu, EV_BLOCK_COMPLETE);
		ev.block.sector = rt_random(rt, 8);
		ev.block.rwbs = "R";
		rt_add(rt, &ev);
	} else if (top->type == EV_SOFTIRQ_ENTRY && top->irq.nr == 3 && rt->packet_count) {
		ev = rt_event(rt, cpu, EV_NET_RECEIVE);
		ev.net.skb = rt->packets[--rt->packet_count];
		ev.net.dev = "lo";
		rt_add(rt, &ev);
	}
}

static inline void rt_step_irq(struct random_trace *rt, uint32_t cpu)
{
	struct rt_cpu *at = &rt->cpus[cpu];

	switch (rt_random(rt, 8)) {
	case 0:
	case 1:
	case 2:
		rt_in_irq(rt, cpu);
		break;
	case 3:
	case 4:
		rt_wake_any(rt, cpu);
		break;
	case 5:
		/* Only a softirq is interrupted. */
		if (at->open[at->depth - 1].type == EV_SOFTIRQ_ENTRY) {
			rt_open(rt, cpu);
			break;
		}
		rt_close(rt, cpu);
		break;
	default:
		rt_close(rt, cpu);
		break;
	}
}

/* -------------------------------------------------------------------- threads */

static inline void rt_call(struct random_trace *rt, uint32_t cpu, struct rt_thread *thread)
{
	static const int16_t calls[] = { 0, 1, 7, 61, 202, 202 }; /* read write poll wait4 futex */
	struct event ev = rt_event(rt, cpu, thread->in_call ? EV_SYS_EXIT : EV_SYS_ENTER);

	ev.syscall.nr = calls[rt_random(rt, ARRAY_LEN(calls))];
	ev.syscall.args[0] = rt_random(rt, 5);
	ev.syscall.args[1] = rt_random(rt, 2) ? 128 : 0;
	ev.syscall.args[2] = ev.syscall.nr == 202 && ev.syscall.args[0] % 4 ? 2 : 0;
	ev.syscall.ret = 0;
	thread->in_call = !thread->in_call;
	rt_add(rt, &ev);
}

static inline void rt_fork(struct random_trace *rt, uint32_t cpu)
{
	int child = rt_pick(rt, RT_UNBORN, UINT32_MAX);
	struct event ev;

	if (child < 0)
		return;
	ev = rt_event(rt, cpu, EV_TASK_NEW);
	ev.task.tid = rt_tid(rt, child);
	ev.task.clone_flags = rt_random(rt, 2) ? 0x10000 : 0;
	rt_add(rt, &ev);
	ev.type = EV_SCHED_FORK;
	rt_add(rt, &ev);
	ev = rt_event(rt, cpu, EV_SCHED_WAKEUP_NEW);
	ev.wake.tid = rt_tid(rt, child);
	rt->threads[child].cpu = rt_random(rt, rt->cpu_count);
	ev.wake.target_cpu = (int32_t)rt->threads[child].cpu;
	rt_add(rt, &ev);
	rt->threads[child].state = RT_READY;
	rt->threads[child].in_call = true;
	rt->threads[child].seen = true;
}

static inline void rt_send(struct random_trace *rt, uint32_t cpu)
{
	struct event ev;

	if (rt->packet_count == ARRAY_LEN(rt->packets))
		return;
	ev = rt_event(rt, cpu, EV_NET_RX);
	ev.net.skb = ++rt->next_id;
	ev.net.dev = "lo";
	rt->packets[rt->packet_count++] = ev.net.skb;
	rt_add(rt, &ev);
}

static inline void rt_queue_work(struct random_trace *rt, uint32_t cpu)
{
	struct event ev;

	if (rt->work_count == ARRAY_LEN(rt->works))
		return;
	ev = rt_event(rt, cpu, EV_WORK_QUEUE);
	ev.work.work = ++rt->next_id;
	rt->works[rt->work_count++] = ev.work.work;
	rt_add(rt, &ev);
}

static inline void rt_do_work(struct random_trace *rt, uint32_t cpu, struct rt_thread *thread)
{
	struct event ev;

	if (!thread->work && !rt->work_count)
		return;
	ev = rt_event(rt, cpu, thread->work ? EV_WORK_END : EV_WORK_START);
	ev.work.work = thread->work ? thread->work : rt->works[--rt->work_count];
	thread->work = thread->work ? 0 : ev.work.work;
	rt_add(rt, &ev);
}

static inline void rt_step_thread(struct random_trace *rt, uint32_t cpu)
{
	int cur = rt->cpus[cpu].cur;
	struct rt_thread *thread = &rt->threads[cur];

	switch (rt_random(rt, 16)) {
	case 0:
	case 1:
	case 2:
		if (cur < RT_KWORKER)
			rt_do_work(rt, cpu, thread);
		else
			rt_call(rt, cpu, thread);
		break;
	case 3:
	case 4:
		rt_wake_any(rt, cpu);
		break;
	case 5:
		rt_wake_early(rt, cpu);
		break;
	case 6:
		rt_send(rt, cpu);
		break;
	case 7:
		rt_queue_work(rt, cpu);
		break;
	case 8:
		rt_plain(rt, cpu, EV_FAULT_USER);
		break;
	case 9:
		if (rt_random(rt, 3) == 0)
			rt_fork(rt, cpu);
		break;
	case 10:
		if (cur >= RT_KWORKER && rt_random(rt, 8) == 0)
			rt_switch(rt, cpu, TASK_STATE_DEAD);
		break;
	case 11:
		rt_switch(rt, cpu, TASK_STATE_RUNNABLE);
		break;
	case 12:
		if (rt->runtime)
			rt_account(rt, cpu);
		break;
	default:
		rt_switch(rt, cpu, rt_random(rt, 2) ? TASK_STATE_SLEEPING : TASK_STATE_DISK);
		break;
	}
}

static inline void rt_step(struct random_trace *rt)
{
	uint32_t cpu = rt_random(rt, rt->cpu_count);
	struct rt_cpu *at = &rt->cpus[cpu];

	rt->now += rt_random(rt, 4) ? rt_random(rt, 20) : 0;
	if (rt_random(rt, 12) == 0)
		rt_migrate(rt, cpu);
	else if (at->depth)
		rt_step_irq(rt, cpu);
	else if (rt_random(rt, 4) == 0)
		rt_open(rt, cpu);
	else if (at->cur >= 0)
		rt_step_thread(rt, cpu);
	else if (rt_pick(rt, RT_READY, cpu) >= 0)
		rt_switch(rt, cpu, TASK_STATE_RUNNABLE);
}

/* Where everybody is before the first event. */
static inline void rt_begin(struct random_trace *rt)
{
	for (uint32_t i = 0; i < RT_CPUS; i++)
		rt->cpus[i].cur = -1;
	for (uint32_t i = 0; i < rt->thread_count; i++) {
		struct rt_thread *thread = &rt->threads[i];

		thread->cpu = rt_random(rt, rt->cpu_count);
		thread->state = i >= RT_KWORKER && rt_random(rt, 3) == 0 ? RT_UNBORN
				: rt_random(rt, 2)			 ? RT_SLEEPS
									 : RT_READY;
		thread->accounted = rt->now;
		if (thread->state == RT_READY && rt->cpus[thread->cpu].cur < 0 &&
		    rt_random(rt, 2)) {
			thread->state = RT_RUNS;
			rt->cpus[thread->cpu].cur = (int)i;
		}
	}
}

/*
 * About 'steps' events of a machine that 'seed' decides. 'early': a waking may come just before
 * the switch out. sched_wakeup is recorded for odd seeds. Free the trace.
 */
static inline struct text_trace *random_trace(uint64_t seed, uint32_t steps, bool runtime,
					      bool early)
{
	struct random_trace *rt = xcalloc(1, sizeof(*rt));
	struct text_trace *trace = text_trace_new();

	rt->trace = trace;
	rt->random = seed * 0x9e3779b97f4a7c15u + 1;
	rt->now = trace->facts.first_ns = 1000;
	rt->runtime = runtime;
	rt->wakeups = seed % 2;
	rt->early = early;
	for (int i = 0; i < 4; i++)
		(void)rt_random(rt, 2);
	rt->cpu_count = 1 + rt_random(rt, RT_CPUS);
	rt->thread_count = RT_KWORKER + 1 + rt_random(rt, RT_THREADS - RT_KWORKER);
	rt_begin(rt);
	for (uint32_t i = 0; i < steps; i++)
		rt_step(rt);
	trace->facts.last_ns = rt->now + 7;
	free(rt);
	return trace;
}

/* --------------------------------------------------------------------- losses */

/* The place of the n-th event of 'cpu', or the count when there are fewer. */
static inline size_t rt_nth_on_cpu(const struct text_trace *trace, uint32_t cpu, size_t n)
{
	for (size_t i = 0; i < trace->count; i++) {
		if (trace->events[i].cpu == cpu && n-- == 0)
			return i;
	}
	return trace->count;
}

/* Lose 'run' events of 'cpu' from its n-th on; the hole is an event. */
static inline void rt_lose(struct text_trace *trace, uint32_t cpu, size_t n, size_t run)
{
	struct event lost = { .type = EV_LOST, .cpu = (uint16_t)cpu, .tid = -1 };
	size_t at = rt_nth_on_cpu(trace, cpu, n);
	size_t next;

	if (at == trace->count)
		return;
	lost.lost.since_ns =
		n ? trace->events[rt_nth_on_cpu(trace, cpu, n - 1)].time_ns : trace->facts.first_ns;
	while (run-- && (at = rt_nth_on_cpu(trace, cpu, n)) < trace->count) {
		memmove(trace->events + at, trace->events + at + 1,
			(trace->count - at - 1) * sizeof(*trace->events));
		trace->count--;
		lost.lost.count++;
	}
	/* Whole again at the next event of that CPU, or never. */
	next = rt_nth_on_cpu(trace, cpu, n);
	lost.time_ns = next < trace->count ? trace->events[next].time_ns : trace->facts.last_ns;
	tt_add(trace, &lost);
	memmove(trace->events + next + 1, trace->events + next,
		(trace->count - next - 1) * sizeof(*trace->events));
	trace->events[next] = lost;
}

/* -------------------------------------------------------------------- in text */

static inline void rt_print_event(FILE *to, const struct event *ev)
{
	static const char *const states[] = { "runnable", "blocked", "disk",   "idle",
					      "stopped",  "dead",    "parked", "unknown" };
	const char *word = "?";

	for (size_t i = 0; i < ARRAY_LEN(tt_verbs); i++) {
		if (tt_verbs[i].type == (enum event_type)ev->type)
			word = tt_verbs[i].word;
	}
	fprintf(to, "%5llu cpu%u by %d %s", (unsigned long long)ev->time_ns, ev->cpu, ev->tid,
		word);
	if (ev->type == EV_SCHED_SWITCH)
		fprintf(to, " %d(%s) %d", ev->sched_switch.prev_tid,
			states[ev->sched_switch.prev_state & 7], ev->sched_switch.next_tid);
	if (ev->type == EV_SCHED_WAKING || ev->type == EV_SCHED_WAKEUP ||
	    ev->type == EV_SCHED_WAKEUP_NEW)
		fprintf(to, " %d cpu %d", ev->wake.tid, ev->wake.target_cpu);
	if (ev->type == EV_TASK_NEW || ev->type == EV_SCHED_FORK)
		fprintf(to, " %d", ev->task.tid);
	if (ev->type == EV_SCHED_MIGRATE)
		fprintf(to, " %d %d %d", ev->migrate.tid, ev->migrate.from_cpu, ev->migrate.to_cpu);
	if (ev->type >= EV_IRQ_ENTRY && ev->type <= EV_SOFTIRQ_EXIT)
		fprintf(to, " %d", ev->irq.nr);
	if (ev->type == EV_SCHED_STAT_RUNTIME)
		fprintf(to, " %d %llu", ev->runtime.tid,
			(unsigned long long)ev->runtime.runtime_ns);
	if (ev->type == EV_LOST)
		fprintf(to, " %llu %llu", (unsigned long long)ev->lost.since_ns,
			(unsigned long long)ev->lost.count);
	if (ev->type == EV_NET_RX || ev->type == EV_NET_RECEIVE)
		fprintf(to, " %llu", (unsigned long long)ev->net.skb);
	if (ev->type >= EV_WORK_QUEUE && ev->type <= EV_WORK_END)
		fprintf(to, " %llu", (unsigned long long)ev->work.work);
	fprintf(to, "%s%s\n", ev->context & EV_CTX_HARDIRQ ? " # hard" : "",
		ev->context & EV_CTX_SOFTIRQ ? " # soft" : "");
}

static inline void rt_print(FILE *to, const struct text_trace *trace)
{
	for (size_t i = 0; i < trace->count; i++)
		rt_print_event(to, &trace->events[i]);
}

#endif

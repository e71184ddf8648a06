/*
 * engine.c - routes each event to the handler that owns its type, and keeps the
 * threads and CPUs that the handlers work on.
 */
#include "state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/source.h"
#include "state/moment.h"
#include "state/state_int.h"

#define POLICY_IDLE 5 /* SCHED_IDLE: see sched(7) */

#define PROGRESS_EVENTS (1u << 20)

#define MAX_CPUS    8192
#define MAX_SPAN_NS (UINT64_C(1) << 50) /* 13 days: a later event is a damaged one */

/* Every topic of the engine, one file each. Order does not matter. */
static const struct state_handler *const topics[] = {
	unsure_handlers,  sched_handlers, irq_handlers,
	syscall_handlers, uring_handlers, pressure_handlers,
};

/* ------------------------------------------------------------------ threads */

struct thread *state_thread_new(struct state *state, int32_t tid, uint64_t birth_ns)
{
	struct thread *thread = xcalloc(1, sizeof(*thread));

	thread->slot = timeline_add_thread(state->tl, tid);
	thread->tl = state->tl->threads[thread->slot];
	thread->tl->birth_ns = birth_ns;
	state->threads =
		vec_room(state->threads, thread->slot, &state->thread_cap, sizeof(struct thread *));
	state->threads[thread->slot] = thread;
	thread->sched = SCHED_UNKNOWN;
	thread->idle = tid == 0;
	thread->call_nr = -1;
	thread->again = (struct again){ .nr = -1, .held = SLOT_NONE };
	thread->asked_fd = -1;
	thread->told_owner = SLOT_NONE;
	thread->held = thread->child_held = thread->left_held = SLOT_NONE;
	thread->ender = SLOT_NONE;
	thread->stopped_ns = UINT64_MAX;
	thread->depth = 1;
	thread->frames[0] = word_make(WORD_RUN, 0);
	thread->unsure_until = birth_ns;
	thread->on_cpu = SLOT_NONE;
	thread->tracer = SLOT_NONE;
	if (tid != 0)
		flow_write(state, thread, birth_ns, word_make(WORD_UNCERTAIN, UNSURE_START));
	return thread;
}

struct thread *state_living_slow(struct state *state, int32_t tid)
{
	const uint64_t *found = map_find(&state->live, (uint32_t)tid);

	if (!found)
		return NULL;
	state->recent[(uint32_t)tid % RECENT_TIDS] = (struct recent){ tid, (uint32_t)*found };
	return state->threads[*found];
}

void state_live(struct state *state, const struct thread *thread)
{
	int32_t tid = thread->tl->tid;

	map_put(&state->live, (uint32_t)tid, thread->slot);
	state->recent[(uint32_t)tid % RECENT_TIDS] = (struct recent){ tid, thread->slot };
}

struct thread *state_thread(struct state *state, int32_t tid)
{
	struct thread *thread = state_living(state, tid);

	if (thread)
		return thread;
	thread = state_thread_new(state, tid, state->tl->origin_ns);
	/* A tid that died in this recording and is back was born after that. */
	if (state->tl->next_same_tid[thread->slot] != SLOT_NONE) {
		uint32_t before = state->tl->next_same_tid[thread->slot];
		uint64_t died = state->tl->threads[before]->death_ns;

		thread->tl->birth_ns = died;
		thread->unsure_until = died;
		track_amend(&thread->tl->track, 0, track_ns(state, died), thread->word);
	}
	state_live(state, thread);
	return thread;
}

struct thread *state_idle(struct state *state, uint32_t cpu)
{
	if (state->cpus[cpu].idle == SLOT_NONE) {
		struct thread *idle = state_thread_new(state, 0, state->tl->origin_ns);

		idle->tl->idle_cpu = cpu;
		idle->tl->kernel = true;
		idle->tl->tgid = 0;
		idle->tl->comm = names_add(&state->tl->names, "idle", 16);
		idle->frames[0] = word_make(WORD_IDLE, 0);
		state->cpus[cpu].idle = idle->slot;
	}
	return state->threads[state->cpus[cpu].idle];
}

void thread_set_comm(struct state *state, struct thread *thread, const char *comm)
{
	char padded[COMM_BYTES] = { 0 };

	if (!comm || thread->idle || strncmp(comm, thread->comm, COMM_BYTES) == 0)
		return;
	memcpy(padded, comm, strnlen(comm, COMM_BYTES));
	memcpy(thread->comm, padded, COMM_BYTES);
	thread->tl->comm = names_add(&state->tl->names, padded, COMM_BYTES);
}

/* It was on a CPU that no other thread was seen to take over. */
static void leave_cpu(struct state *state, struct thread *thread, uint64_t time_ns)
{
	struct cpu *cpu;

	if (thread->sched != SCHED_RUNNING || state->cpus[thread->cpu].cur != thread->slot)
		return;
	cpu = &state->cpus[thread->cpu];
	track_append(timeline_cpu(state->tl, thread->cpu), track_ns(state, time_ns), SLOT_NONE);
	cpu_set_current(cpu, NULL);
	cpu->unknown_since = time_ns;
}

/* The thread is gone: its tid may be used again. */
void thread_bury(struct state *state, struct thread *thread, uint64_t time_ns)
{
	int32_t tid = thread->tl->tid;

	if (thread->sched == SCHED_DEAD)
		return;
	leave_cpu(state, thread, time_ns);
	thread->tl->death_ns = time_ns;
	thread->tl->died = true;
	thread->sched = SCHED_DEAD;
	thread->placing.open = false;
	flow_write(state, thread, time_ns, word_make(WORD_NONE, 0));
	if (state_living(state, tid) == thread) {
		map_remove(&state->live, (uint32_t)tid);
		state->recent[(uint32_t)tid % RECENT_TIDS].slot = SLOT_NONE;
	}
	process_put(state, thread->process);
	thread->process = NULL;
	timeline_seal_thread(thread->tl);
}

/* --------------------------------------------------------------------- CPUs */

void cpu_forget_context(struct cpu *cpu)
{
	cpu->timer_fn = 0;
	cpu->disk_name = 0;
	cpu->packet_dev = 0;
	cpu->packet_queue = 0;
	cpu->doubt = 0;
	cpu->woken = SLOT_NONE;
	cpu->irq_wakes = 0;
	cpu->irq_before_softirq = false;
}

void cpu_grow(struct state *state, uint32_t cpu)
{
	uint32_t count = cpu + 1;

	if (cpu < state->cpu_count)
		return;
	state->cpus = vec_grow(state->cpus, state->cpu_count, count, sizeof(*state->cpus));
	for (uint32_t i = state->cpu_count; i < count; i++) {
		state->cpus[i] = (struct cpu){
			.cur = SLOT_NONE,
			.idle = SLOT_NONE,
			.woken = SLOT_NONE,
			.out = SLOT_NONE,
			.cur_tid = INT32_MIN,
			.last_ns = state->tl->origin_ns,
			.unknown_since = state->tl->origin_ns,
		};
		(void)timeline_cpu(state->tl, i);
	}
	state->cpu_count = count;
}

uint32_t state_symbol(struct state *state, uint64_t address)
{
	uint64_t *known = map_find(&state->symbol_names, address);
	const char *name;
	uint32_t id;

	if (known)
		return (uint32_t)*known;
	name = facts_symbol(state->facts, address);
	id = name ? names_add(&state->tl->names, name, 128) : 0;
	map_put(&state->symbol_names, address, id);
	return id;
}

/* -------------------------------------------------------------------- start */

static void load_thread(struct state *state, const struct fact_thread *fact)
{
	struct thread *thread;

	/* A zombie did nothing any more. */
	if (fact->tid <= 0 || fact->state == 'Z' || fact->state == 'X' ||
	    state_living(state, fact->tid))
		return;
	thread = state_thread_new(state, fact->tid, state->tl->origin_ns);
	state_live(state, thread);
	thread->tl->tgid = fact->tgid;
	thread->tl->kernel = fact->kernel;
	thread->is_32bit = fact->compat;
	thread_set_comm(state, thread, fact->comm);
	thread->tl->cmdline =
		names_add(&state->tl->names, fact->cmdline ? fact->cmdline : "", 4096);
	thread->frames[0] = word_make(fact->kernel ? WORD_KERNEL : WORD_RUN, 0);
	thread->process = process_get(state, fact->tgid);
	thread->dumped = fact->call_ns ? fact : NULL;
	thread->frozen = fact->state == 'F';
	if (fact->policy == POLICY_IDLE)
		thread->tl->sched_as = SCHED_AS_IDLE;
	if (fact->allowed)
		thread->tl->allowed = names_add(&state->tl->names, fact->allowed, 256);
	if (fact->state == 'T' || fact->state == 't' || thread->frozen)
		thread->stopped_ns = fact->seen_ns;
}

/* The dump lists a thread that was born while the dump was made: its birth event wins. */
static void load_facts(struct state *state)
{
	const struct facts *facts = state->facts;

	for (size_t i = 0; i < facts->thread_count; i++)
		load_thread(state, &facts->threads[i]);
	for (size_t i = 0; i < facts->thread_count; i++) {
		struct thread *child = state_living(state, facts->threads[i].tid);
		struct thread *parent = state_living(state, facts->threads[i].ppid);

		if (child && parent)
			child->tl->parent = parent->slot;
	}
	fds_load(state);
	moment_load(state);
}

static void fill_table(struct state *state)
{
	for (size_t i = 0; i < ARRAY_LEN(topics); i++) {
		for (const struct state_handler *h = topics[i]; h->type != EV_NONE; h++) {
			/* One owner per type: the order of effects is then in one place. */
			assert(!state->on[h->type]);
			state->on[h->type] = h->handle;
		}
	}
}

struct state *state_new(const struct facts *facts)
{
	struct state *state = xcalloc(1, sizeof(*state));

	state->facts = facts;
	state->tl = timeline_new(facts->first_ns);
	state->omits_idle = facts->omits_idle_switches;
	state->has_syscalls = facts->has_syscalls || facts->has_some_syscalls;
	state->is_lean = facts->is_lean && !facts->has_syscalls;
	state->now_ns = facts->first_ns;
	for (uint32_t i = 0; i < RECENT_TIDS; i++)
		state->recent[i].slot = SLOT_NONE;
	fill_table(state);
	call_tables_init(state);
	load_facts(state);
	return state;
}

/* ------------------------------------------------------------------- events */

#define SWITCH_NS 20000u /* what a CPU still does for who leaves it, after the switch is recorded */

/* ftrace writes stacks behind the event that they belong to: the program's, and those of text, have no type. */
static bool is_stack(const struct event *ev)
{
	return ev->type == EV_STACK || (ev->type == EV_OTHER && ev->other.system &&
					ev->other.name && strcmp(ev->other.system, "ftrace") == 0 &&
					(strcmp(ev->other.name, "user_stack") == 0 ||
					 strcmp(ev->other.name, "kernel_stack") == 0));
}

/*
 * A BPF program at the switch (the recorder's own, whose buffer has a reader to wake) sends an interrupt to its
 * CPU: recorded behind the switch, by the thread that leaves.
 */
static bool is_of_switch(struct cpu *cpu, const struct event *ev)
{
	bool of_stack = is_stack(ev);

	if ((ev->type != EV_IPI_SEND && !of_stack) || !cpu->known || ev->tid != cpu->left_tid ||
	    cpu->left_ns != cpu->last_ns || (!of_stack && ev->time_ns - cpu->last_ns > SWITCH_NS))
		return ev->type == EV_STACK;
	cpu->left_ns = ev->time_ns;
	return true;
}

/* A program's own event: its thread was there, and nothing tells until when it ran. */
static void see_program(struct state *state, const struct event *ev)
{
	struct thread *thread;

	state->now_ns = ev->time_ns;
	state->tl->events++;
	if (ev->cpu >= state->cpu_count)
		cpu_grow(state, ev->cpu);
	if (ev->tid <= 0)
		return;
	thread = state_thread(state, ev->tid);
	if (!thread->seen)
		flow_write(state, thread, thread->tl->birth_ns,
			   word_make(WORD_UNCERTAIN, UNSURE_SWITCH));
	thread->seen = true;
}

static inline void engine_feed(struct state *state, const struct event *ev)
{
	state_handler_fn *handle;
	struct cpu *cpu;

	if (ev->context & EV_CTX_USER) /* proves nothing about the CPU: its clock may be late */
		return;
	if (ev->type >= EV_TYPE_COUNT || ev->cpu >= MAX_CPUS || ev->time_ns < state->now_ns ||
	    ev->time_ns - state->tl->origin_ns > MAX_SPAN_NS) {
		/* Before the recording began: the dump knows better. */
		state->tl->contradictions += ev->time_ns >= state->tl->origin_ns;
		return;
	}
	if (state->facts->only_programs && ev->type == EV_OTHER) {
		see_program(state, ev);
		return;
	}
	state->now_ns = ev->time_ns;
	state->tl->events++;
	handle = state->on[ev->type];
	if (ev->type == EV_FD_NAME && state->lacks && steps_lack_name(state, ev))
		return;
	if (ev->type == EV_FD_NAME) {
		handle(state, NULL, ev);
		return;
	}
	if (ev->cpu >= state->cpu_count)
		cpu_grow(state, ev->cpu);
	cpu = &state->cpus[ev->cpu];
	/*
	 * A switch says itself who leaves. A stack is recorded after the switch that it belongs
	 * to, by the thread that leaves. So is an interrupt that a BPF program asks for there.
	 */
	if (ev->tid >= 0 && ev->tid != cpu->cur_tid && ev->type != EV_LOST &&
	    ev->type != EV_SCHED_SWITCH && !is_of_switch(cpu, ev))
		unsure_prove(state, cpu, ev->tid, ev);
	if (handle && (!state->lacks || !steps_lack(state, ev->type)))
		handle(state, cpu, ev);
	if (cpu->doubt)
		unsure_context(state, cpu, ev);
	cpu->last_ns = ev->time_ns;
	cpu->known = true;
}

void state_feed(struct state *state, const struct event *ev)
{
	engine_feed(state, ev);
}

/* -------------------------------------------------------------------- finish */

/* A thread that no event told about did what the dump saw it do, all the time. */
static void close_unseen(struct state *state, struct thread *thread, char letter)
{
	bool asleep = letter == 'S' || letter == 'D' || letter == 'I' || letter == 'T' ||
		      letter == 't' || letter == 'F';

	if (thread->seen || !asleep || thread->sched != SCHED_UNKNOWN)
		return;
	(void)unsure_settle(state, thread, state->now_ns, WORD_BLOCKED);
	thread->sched = SCHED_BLOCKED;
}

/* Those that no event named may have a name that was seen at some time. */
static void name_unnamed(struct state *state)
{
	const struct facts *facts = state->facts;

	for (size_t i = 0; i < facts->comm_count; i++) {
		struct thread *thread = state_living(state, (int32_t)facts->comms[i].nr);

		if (thread && thread->comm[0] == '\0')
			thread_set_comm(state, thread, facts->comms[i].name);
	}
}

static void close_threads(struct state *state)
{
	const struct facts *facts = state->facts;

	name_unnamed(state);
	for (size_t i = 0; i < facts->thread_count; i++) {
		struct thread *thread = state_living(state, facts->threads[i].tid);

		if (thread)
			close_unseen(state, thread, facts->threads[i].state);
	}
	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		struct thread *thread = state->threads[i];

		if (thread->sched != SCHED_DEAD) {
			unsure_close(state, thread, state->now_ns);
			thread->tl->death_ns = state->tl->end_ns;
		}
	}
}

struct timeline *state_finish(struct state *state)
{
	struct timeline *tl = state->tl;

	if (state->facts->last_ns > state->now_ns)
		state->now_ns = state->facts->last_ns;
	tl->end_ns = state->now_ns;
	moment_end(state);
	close_threads(state);
	expect_at_end(state);
	pressure_at_end(state);
	for (uint32_t i = 0; i < tl->thread_count; i++) {
		process_put(state, state->threads[i]->process);
		free(state->threads[i]);
	}
	free(state->threads);
	map_fini(&state->live);
	map_fini(&state->processes);
	map_fini(&state->symbol_names);
	map_fini(&state->timer_setters);
	pending_fini(&state->ready);
	map_fini(&state->uring_open);
	map_fini(&state->uring_workers);
	map_fini(&state->server_works);
	map_fini(&state->remaps);
	map_fini(&state->device_pairs);
	map_fini(&state->servers);
	map_fini(&state->lock_index);
	free(state->locks);
	map_fini(&state->queues);
	pending_fini(&state->works);
	pending_fini(&state->held_works);
	pending_fini(&state->packets);
	pending_fini(&state->requests);
	free(state->objects);
	free(state->cpus);
	free(state);
	return tl;
}

/* How many events ahead of the one that is fed another thread's work is brought into the cache. */
#define AHEAD 6

static void feed_run(struct state *state, const struct event_run *run)
{
	for (size_t i = 0; i < run->count; i++) {
		const struct event *ahead = run->events[i + AHEAD < run->count ? i + AHEAD : i];

		__builtin_prefetch(ahead);
		__builtin_prefetch((const char *)ahead + 64);
		engine_feed(state, run->events[i]);
	}
}

struct timeline *state_timeline(struct state *state)
{
	return state->tl;
}

int state_drain(struct state *state, struct source *source,
		void (*progress)(void *context, uint64_t time_ns), void *context,
		struct timeline **out_timeline, struct err *err)
{
	struct event_run run;
	struct timeline *tl;
	size_t told = 0;
	int rc;

	while ((rc = source_next_run(source, &run, err)) > 0) {
		feed_run(state, &run);
		told += run.count;
		if (progress && told >= PROGRESS_EVENTS) {
			progress(context, state->now_ns);
			told = 0;
		}
	}
	tl = state_finish(state);
	if (rc < 0) {
		timeline_free(tl);
		return err_wrap(err, "reading events");
	}
	*out_timeline = tl;
	return 0;
}

int state_run(struct source *source, const struct facts *facts,
	      void (*progress)(void *context, uint64_t time_ns), void *context,
	      struct timeline **out_timeline, struct err *err)
{
	return state_drain(state_new(facts), source, progress, context, out_timeline, err);
}

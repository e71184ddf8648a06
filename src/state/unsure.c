/*
 * unsure.c - what is not known, and the events that make it known again.
 *
 * Three things leave a thread UNKNOWN: nothing was seen of it yet, events were
 * lost, or another thread turned up on its CPU. From the last instant that is
 * sure its track says Uncertain. The next event about it proves what it was in
 * just before; since nothing was lost after 'unsure_until', it was in that all the
 * time since then:
 *
 *	sure   |  uncertain  |  proven by the event   |
 *	-------+-------------+------------------------+---
 *	     hole begins   unsure_until             event
 *
 * A thread off its CPU is not touched when a hole appears; only when its state is
 * about to change are the holes since then looked at. What changed while the hole
 * lasted, before anything told of it, is looked at when it ends: see doubt_past().
 *
 * A switch-in that was not recorded lies between the last event of the thread
 * before and the first event of the new one. sched_stat_runtime says how long a
 * thread has run since it was switched in: the first one after it places it.
 */
#include "state/state_int.h"

#include "base/mem.h"
#include "event/facts.h"

/* Start of the holes that touch [since, ...): the earliest; UINT64_MAX when none does. */
static uint64_t first_hole(const struct state *state, uint64_t since_ns)
{
	uint64_t first = UINT64_MAX;

	if (state->gap_end_ns <= since_ns)
		return first;
	for (size_t i = state->tl->gap_count; i > 0; i--) {
		const struct tl_gap *gap = &state->tl->gaps[i - 1];

		if (gap->until_ns <= since_ns)
			break;
		if (gap->since_ns < first)
			first = gap->since_ns;
	}
	return first;
}

static uint64_t last_ns(const struct state *state, const struct thread *thread)
{
	return track_last_time(&thread->tl->track) + state->tl->origin_ns;
}

/*
 * Start of the holes since the thread's track last changed. What was lost in the instant in
 * which a hole ends may have come after a change in that same instant; but what leaves the CPU
 * with the hole does so after it.
 */
static uint64_t hole_since(const struct state *state, const struct thread *thread)
{
	uint64_t since = last_ns(state, thread), first = UINT64_MAX;

	if (state->gap_end_ns < since)
		return first;
	for (size_t i = state->tl->gap_count; i > 0; i--) {
		const struct tl_gap *gap = &state->tl->gaps[i - 1];
		bool touches = gap->until_ns == since;
		uint64_t begin = touches ? since : gap->since_ns;

		if (gap->until_ns < since)
			break;
		if (touches && thread->sched == SCHED_BLOCKED && gap->cpu == thread->cpu)
			continue;
		if (begin < first)
			first = begin;
	}
	return first;
}

bool unsure_since(const struct state *state, const struct thread *thread)
{
	return hole_since(state, thread) != UINT64_MAX;
}

/* Asleep until it ran only if its waking cannot have been lost: else it was queued. */
enum word_kind unsure_before_run(const struct state *state, const struct thread *thread)
{
	return thread->sched == SCHED_BLOCKED && !unsure_since(state, thread) ? WORD_BLOCKED
									      : WORD_WAIT_CPU;
}

/* The word for what was proven; a wait whose beginning is not known for BLOCKED. */
static uint32_t proven_word(struct thread *thread, enum word_kind proven, uint64_t from_ns)
{
	if (proven == WORD_BLOCKED) {
		struct wait *wait;

		thread->wait = timeline_add_wait(thread->tl);
		wait = tl_wait(thread->tl, thread->wait);
		wait->begin_ns = from_ns;
		wait->flags = WAIT_START_UNKNOWN;
		wait->in = word_make(WORD_NONE, 0);
		return word_make(WORD_BLOCKED, thread->wait);
	}
	if (proven == WORD_PREEMPTED || proven == WORD_WAIT_CPU)
		return word_make(WORD_WAIT_CPU, thread->cpu);
	return word_make(WORD_RUN, 0);
}

/* The Uncertain entry before it stays, of no length if need be: see doubt_past(). */
static void write_proven(struct state *state, struct thread *thread, uint64_t from_ns,
			 enum word_kind proven)
{
	uint64_t last = last_ns(state, thread), begin_ns = from_ns;

	if (from_ns < last)
		from_ns = last;
	/* A cut knows waits that began before it. */
	if (begin_ns >= state->tl->origin_ns)
		begin_ns = from_ns;
	flow_set(thread, proven_word(thread, proven, begin_ns));
	track_append(&thread->tl->track, track_ns(state, from_ns), thread->word);
}

/*
 * An event at 'time_ns' proves what the thread was in just before it. Called
 * before the event changes the thread. A hole on the way leaves its part Uncertain.
 * Returns whether the track says 'proven' right before the event; when the thread
 * was UNKNOWN that is a new wait for WORD_BLOCKED.
 */
bool unsure_settle(struct state *state, struct thread *thread, uint64_t time_ns,
		   enum word_kind proven)
{
	uint64_t since = last_ns(state, thread);
	uint64_t hole;

	if (thread->tl->tid == 0)
		return true;
	if (thread->sched == SCHED_UNKNOWN) {
		uint64_t from = thread->unsure_until;

		if (state->gap_end_ns > from && first_hole(state, from) != UINT64_MAX)
			from = state->gap_end_ns;
		if (from < time_ns) {
			write_proven(state, thread, from, proven);
			if (proven == WORD_BLOCKED)
				call_describe_dumped(state, thread, from, time_ns);
		}
		return from < time_ns;
	}
	if (thread->sched == SCHED_RUNNING || thread->sched == SCHED_DEAD)
		return true;
	hole = hole_since(state, thread);
	if (hole == UINT64_MAX)
		return true;
	/* A hole of no length: it is still in what began there, or something ended that. */
	if (hole == since && state->gap_end_ns == since &&
	    (thread->sched == SCHED_BLOCKED) == (proven == WORD_BLOCKED))
		return true;
	/* In the hole it may have run, and have done anything there. */
	unsure_forget(state, thread, hole > since ? hole : since, UNSURE_LOST);
	if (state->gap_end_ns >= time_ns || (state->gap_end_ns == since && proven == WORD_BLOCKED))
		return false;
	write_proven(state, thread, state->gap_end_ns, proven);
	return true;
}

/* From 'since_ns' on nothing is known of the thread. */
void unsure_forget(struct state *state, struct thread *thread, uint64_t since_ns, enum unsure why)
{
	struct track *track = &thread->tl->track;
	uint32_t word = word_make(WORD_UNCERTAIN, why);

	thread->placing.open = false;
	thread->sched = SCHED_UNKNOWN;
	flow_reset(thread, thread->tl->tid == 0 || thread->tl->kernel ? flow_base(state, thread)
								      : word_make(WORD_RUN, 0));
	thread->unsure_until = since_ns;
	if (track->count && last_ns(state, thread) >= since_ns) {
		/* The queue that is overwritten may have told the CPU. */
		thread->on_cpu = SLOT_NONE;
		track_amend(track, track->count - 1, track_last_time(track), word);
		thread->word = word;
	} else {
		flow_write(state, thread, since_ns, word);
	}
}

/* The thread that was thought to run on another CPU left it unseen. */
static void leave_other_cpu(struct state *state, struct thread *thread, uint64_t time_ns)
{
	struct cpu *other = &state->cpus[thread->cpu];
	uint64_t sure = last_ns(state, thread);

	if (other->cur == thread->slot) {
		if (other->last_ns > sure)
			sure = other->last_ns;
		track_append(timeline_cpu(state->tl, thread->cpu),
			     track_ns(state, other->last_ns > state->now_ns ? state->now_ns
									    : other->last_ns),
			     SLOT_NONE);
		cpu_set_current(other, NULL);
		other->unknown_since = time_ns;
	}
	state->tl->contradictions++;
	unsure_forget(state, thread, sure < time_ns ? sure : time_ns, UNSURE_ORDER);
}

/* The interrupts that event 'ev' says were open before it, and whose beginning was not seen. */
static uint8_t open_before(const struct state *state, const struct event *ev)
{
	uint8_t open = ev->context & (EV_CTX_HARDIRQ | EV_CTX_SOFTIRQ);

	switch (ev->type) {
	case EV_IRQ_ENTRY:
	case EV_VECTOR_ENTRY:
		return open & EV_CTX_SOFTIRQ;
	case EV_SOFTIRQ_ENTRY:
		return open & EV_CTX_HARDIRQ;
	case EV_IRQ_EXIT:
	case EV_VECTOR_EXIT:
		return open | EV_CTX_HARDIRQ;
	case EV_SOFTIRQ_EXIT:
		return open | EV_CTX_SOFTIRQ;
	default:
		/* Where interrupts are not recorded, they are part of what they interrupt. */
		return state->no_irqs ? 0 : open;
	}
}

static bool is_entry(enum event_type type)
{
	return type == EV_IRQ_ENTRY || type == EV_VECTOR_ENTRY || type == EV_SOFTIRQ_ENTRY;
}

/* After an event on a CPU in doubt: an interrupt that is over is over. */
void unsure_context(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_current(state, cpu);
	uint8_t open = ev->context & (EV_CTX_HARDIRQ | EV_CTX_SOFTIRQ);

	if (ev->type == EV_IRQ_EXIT || ev->type == EV_VECTOR_EXIT)
		open &= EV_CTX_SOFTIRQ;
	if (ev->type == EV_SOFTIRQ_EXIT)
		open &= EV_CTX_HARDIRQ;
	cpu->doubt &= open;
	if (cpu->doubt || !thread)
		return;
	/* What the event has just begun goes on. */
	if (is_entry(ev->type) && word_is_irq(flow_top(thread))) {
		uint32_t word = flow_top(thread);

		thread->depth--;
		flow_pop(state, thread, ev->time_ns, WORD_UNCERTAIN);
		flow_push(state, thread, ev->time_ns, word);
		return;
	}
	flow_pop(state, thread, ev->time_ns, WORD_UNCERTAIN);
}

/* Write the bound [low, high] of an unrecorded switch-in, open for being placed. */
static void write_bound(struct state *state, struct thread *thread, uint32_t cpu, uint64_t low_ns,
			uint64_t high_ns)
{
	struct track *track = &thread->tl->track;
	struct track *cpu_track = timeline_cpu(state->tl, cpu);
	struct placing *placing = &thread->placing;
	uint32_t unsure = word_make(WORD_UNCERTAIN, UNSURE_SWITCH);

	flow_mark_cpu(state, thread, low_ns);
	placing->open = true;
	placing->cpu = cpu;
	placing->low_ns = low_ns;
	placing->high_ns = high_ns;
	placing->thread_index = track->count;
	placing->run_word = flow_top(thread);
	track_append(track, track_ns(state, low_ns), unsure);
	track_append(track, track_ns(state, high_ns), unsure);
	thread->word = unsure;
	if (track_last_time(cpu_track) > track_ns(state, low_ns))
		low_ns = track_last_time(cpu_track) + state->tl->origin_ns;
	placing->cpu_index = cpu_track->count;
	track_append(cpu_track, track_ns(state, low_ns), SLOT_NONE);
	track_append(cpu_track, track_ns(state, high_ns), SLOT_NONE);
}

/* Whoever had the CPU left it at 'time' or later. */
static void write_gap(struct track *cpu_track, uint64_t time)
{
	uint64_t last = track_last_time(cpu_track);

	track_append(cpu_track, time > last ? time : last, SLOT_NONE);
}

/* The idle task, when it was that, had the CPU until some instant in [low, high]. */
static void leave_idle(struct state *state, struct thread *idle, uint64_t low_ns, uint64_t high_ns)
{
	if (idle->tl->tid != 0)
		return;
	if (low_ns < last_ns(state, idle))
		low_ns = last_ns(state, idle);
	flow_write(state, idle, low_ns, word_make(WORD_UNCERTAIN, UNSURE_SWITCH));
	flow_write(state, idle, high_ns, word_make(WORD_NONE, 0));
}

/* It had the CPU until 'at': the end of what leave_idle() wrote. */
static void place_idle(struct state *state, struct thread *idle, uint64_t at_ns)
{
	struct track *track = &idle->tl->track;
	uint32_t last = track->count - 1;

	if (idle->tl->tid != 0 || track->count < 2 || idle->sched != SCHED_UNKNOWN ||
	    track_at(track, last - 1)->word != word_make(WORD_UNCERTAIN, UNSURE_SWITCH) ||
	    track_at(track, last)->word != word_make(WORD_NONE, 0))
		return;
	track_amend(track, last - 1, track_time(track, last - 1), word_make(WORD_IDLE, 0));
	if (track_ns(state, at_ns) > track_time(track, last - 1))
		track_amend(track, last, track_ns(state, at_ns), word_make(WORD_NONE, 0));
	else
		track_amend(track, last, track_time(track, last - 1), word_make(WORD_NONE, 0));
}

/* The thread came onto 'cpu' unseen, at some instant in [low, high]. */
static void arrive(struct state *state, struct cpu *cpu, struct thread *thread, uint64_t low_ns,
		   uint64_t high_ns)
{
	uint32_t before = cpu->cur;
	/* Else it may have come where nothing is recorded: before the CPU's stream began, in a hole. */
	bool runnable, counts = cpu->known && before != SLOT_NONE;

	if (thread->sched == SCHED_RUNNING)
		leave_other_cpu(state, thread, high_ns);
	if (last_ns(state, thread) > low_ns)
		low_ns = last_ns(state, thread);
	if (low_ns > high_ns)
		low_ns = high_ns;
	use_early_wake(state, thread);
	runnable = thread->sched == SCHED_RUNNABLE && !unsure_since(state, thread) &&
		   word_kind(thread->word) != WORD_UNCERTAIN;
	if (thread->sched == SCHED_UNKNOWN)
		thread->cpu = cpu_index(state, cpu);
	/* A hole that begins later lies in the bound. */
	if (thread->sched == SCHED_UNKNOWN || hole_since(state, thread) < low_ns)
		(void)unsure_settle(state, thread, low_ns, unsure_before_run(state, thread));
	thread->placing.open = false;
	thread->sched = SCHED_RUNNING;
	thread->cpu = cpu_index(state, cpu);
	flow_drop_irqs(thread);
	if (cpu->doubt)
		flow_doubt(thread);
	state->tl->repairs += counts;
	if (before != SLOT_NONE)
		leave_idle(state, state->threads[before], low_ns, high_ns);
	if (low_ns < high_ns && thread->tl->tid != 0) {
		write_bound(state, thread, thread->cpu, low_ns, high_ns);
		thread->placing.was_runnable = runnable;
		thread->placing.before_slot = before;
		thread->placing.counts = counts;
	} else {
		write_gap(timeline_cpu(state->tl, thread->cpu), track_ns(state, low_ns));
		state->tl->repairs_exact += counts;
	}
	flow_onto_cpu(state, thread, high_ns);
	track_append(timeline_cpu(state->tl, thread->cpu), track_ns(state, high_ns), thread->slot);
	cpu_set_current(cpu, thread);
}

/* The first thread seen on a CPU ran there since the CPU is known. */
static void first_seen(struct state *state, struct cpu *cpu, struct thread *thread,
		       uint64_t time_ns)
{
	uint64_t since = cpu->unknown_since;

	/* Where switches from idle are left out it may have come at any time. */
	if ((state->omits_idle && thread->tl->tid != 0) || thread->sched != SCHED_UNKNOWN) {
		arrive(state, cpu, thread, since, time_ns);
		return;
	}
	if (thread->unsure_until > since)
		since = thread->unsure_until;
	thread->cpu = cpu_index(state, cpu);
	if (cpu->doubt) {
		flow_doubt(thread);
	} else if (thread->tl->tid != 0 && since < time_ns) {
		uint64_t last = last_ns(state, thread);

		flow_mark_cpu(state, thread, since > last ? since : last);
		write_proven(state, thread, since, WORD_RUN);
	}
	thread->sched = SCHED_RUNNING;
	track_append(timeline_cpu(state->tl, thread->cpu), track_ns(state, since), thread->slot);
	if (thread->tl->tid == 0 && since >= last_ns(state, thread))
		flow_write(state, thread, since, flow_top(thread));
	else
		flow_onto_cpu(state, thread, time_ns);
	cpu_set_current(cpu, thread);
}

/*
 * Event 'ev' was recorded in thread 'tid' on 'cpu', where another one
 * was thought to run: a switch went unrecorded since the last event there.
 */
void unsure_prove(struct state *state, struct cpu *cpu, int32_t tid, const struct event *ev)
{
	uint64_t time_ns = ev->time_ns;
	struct thread *thread =
		tid == 0 ? state_idle(state, cpu_index(state, cpu)) : state_thread(state, tid);
	struct thread *before = state_current(state, cpu);
	uint64_t low = cpu->last_ns;

	thread->seen = true;
	cpu->doubt = open_before(state, ev);
	if (!before) {
		first_seen(state, cpu, thread, time_ns);
		return;
	}
	cpu_forget_context(cpu);
	cpu->doubt = open_before(state, ev);
	if (before->tl->tid != 0) {
		unsure_forget(state, before, low, UNSURE_SWITCH);
		before->unsure_until = time_ns;
	} else {
		flow_drop_irqs(before);
		before->sched = SCHED_UNKNOWN;
	}
	arrive(state, cpu, thread, low, time_ns);
}

/* The thread says at 'time_ns' that it has run for 'runtime_ns' since it was switched in. */
void unsure_place(struct state *state, struct thread *thread, uint64_t time_ns, uint64_t runtime_ns)
{
	struct placing *placing = &thread->placing;
	uint64_t at = runtime_ns < time_ns ? time_ns - runtime_ns : 0;
	struct track *cpu_track;
	uint64_t cpu_low;

	if (!placing->open)
		return;
	placing->open = false;
	/* The kernel counts from the wake-up's clock, which may lie before the last event. */
	if (at < placing->low_ns)
		at = placing->low_ns;
	if (at > placing->high_ns)
		at = placing->high_ns;
	if (placing->was_runnable)
		track_amend(&thread->tl->track, placing->thread_index,
			    track_ns(state, placing->low_ns),
			    word_make(WORD_WAIT_CPU, placing->cpu));
	track_amend(&thread->tl->track, placing->thread_index + 1, track_ns(state, at),
		    placing->run_word);
	cpu_track = timeline_cpu(state->tl, placing->cpu);
	if (placing->before_slot != SLOT_NONE)
		place_idle(state, state->threads[placing->before_slot], at);
	cpu_low = track_time(cpu_track, placing->cpu_index);
	track_amend(cpu_track, placing->cpu_index, cpu_low, placing->before_slot);
	if (track_ns(state, at) > cpu_low)
		cpu_low = track_ns(state, at);
	track_amend(cpu_track, placing->cpu_index + 1, cpu_low, thread->slot);
	state->tl->repairs_exact += placing->counts;
}

/*
 * Since when a thread that is queued at the end may have come onto its CPU unseen: it idles,
 * as far as was seen, since the last event there. UINT64_MAX = another thread has it.
 */
static uint64_t may_run_since(const struct state *state, const struct thread *thread)
{
	const struct cpu *cpu = thread->cpu < state->cpu_count ? &state->cpus[thread->cpu] : NULL;
	const struct thread *runs = cpu ? state_current(state, cpu) : NULL;
	uint64_t since = last_ns(state, thread);

	if (!state->omits_idle || thread->sched != SCHED_RUNNABLE || (runs && runs->tl->tid != 0))
		return UINT64_MAX;
	return cpu && cpu->last_ns > since ? cpu->last_ns : since;
}

/*
 * The thread 'old' goes on as 'thread', which turned up on its CPU unseen: it ran there all
 * the time, until the bound under one tid and from then on under the other.
 */
void unsure_rename(struct state *state, struct thread *old, struct thread *thread, uint64_t time_ns)
{
	struct placing *placing = &thread->placing;
	struct track *track = &thread->tl->track;

	if (!placing->open || placing->before_slot != old->slot || old->sched != SCHED_UNKNOWN) {
		thread_bury(state, old, time_ns);
		return;
	}
	placing->was_runnable = false;
	track_amend(track, placing->thread_index, track_ns(state, placing->low_ns),
		    placing->run_word);
	if (placing->thread_index == 1) {
		thread->tl->birth_ns = placing->low_ns;
		track_amend(track, 0, track_ns(state, placing->low_ns), placing->run_word);
	}
	track_amend(&old->tl->track, old->tl->track.count - 1, track_last_time(&old->tl->track),
		    placing->run_word);
	thread_bury(state, old, placing->low_ns);
	unsure_place(state, thread, time_ns, time_ns - placing->low_ns);
}

/* The recording ends: what no later event proves stays open. */
void unsure_close(struct state *state, struct thread *thread, uint64_t end_ns)
{
	uint64_t since = last_ns(state, thread);
	uint64_t hole = hole_since(state, thread);
	uint64_t unseen = may_run_since(state, thread);

	(void)end_ns;
	if ((thread->sched != SCHED_BLOCKED && thread->sched != SCHED_RUNNABLE) ||
	    thread->tl->tid == 0 || thread->known_end)
		return;
	if (hole < since)
		hole = since;
	if (unseen < hole)
		unsure_forget(state, thread, unseen, UNSURE_SWITCH);
	else if (hole != UINT64_MAX)
		unsure_forget(state, thread, hole, UNSURE_LOST);
}

static void add_gap(struct timeline *tl, const struct tl_gap *gap)
{
	tl->gaps = vec_room(tl->gaps, tl->gap_count, &tl->gap_cap, sizeof(*tl->gaps));
	tl->gaps[tl->gap_count++] = *gap;
}

static bool off_cpu(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	return kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU || kind == WORD_BLOCKED;
}

/* A queue, or the mark of a CPU, which has no length. */
static bool is_queue_or_mark(uint32_t word)
{
	return word_kind(word) == WORD_CPU || (off_cpu(word) && word_kind(word) != WORD_BLOCKED);
}

/*
 * Entry 'index', which is of a thread off its CPU, becomes uncertain. A queue told the CPU
 * that it came onto: a mark tells that from now on, where that uncertain span ends.
 */
static void doubt_entry(struct thread *thread, uint32_t index)
{
	const uint32_t lost = word_make(WORD_UNCERTAIN, UNSURE_LOST);
	const uint32_t waking = word_make(WORD_UNCERTAIN, UNSURE_WAKING);
	struct track *track = &thread->tl->track;
	uint32_t was = track_at(track, index)->word, next = index + 1, word;

	track_amend(track, index, track_time(track, index), lost);
	while (next < track->count &&
	       (track_at(track, next)->word == lost || track_at(track, next)->word == waking))
		next++;
	if (next == track->count) {
		thread->on_cpu = SLOT_NONE;
		return;
	}
	word = track_at(track, next)->word;
	if (!is_queue_or_mark(was) || is_queue_or_mark(word) || word_kind(word) == WORD_BLOCKED ||
	    word_kind(word) == WORD_NONE)
		return;
	track_insert(track, next, track_time(track, next), word_make(WORD_CPU, word_arg(was)));
	if (thread->placing.open && thread->placing.thread_index >= next)
		thread->placing.thread_index++;
}

/*
 * Doubt entry 'index' and the queueing that it goes on with, if it was concluded from what
 * came after it: then an Uncertain entry, which may have no length, stands before it.
 */
static bool doubt_concluded(struct thread *thread, uint32_t index)
{
	struct track *track = &thread->tl->track;
	uint32_t first = index;

	while (first > 0 && word_kind(track_at(track, first)->word) != WORD_BLOCKED &&
	       is_queue_or_mark(track_at(track, first - 1)->word))
		first--;
	if (first == 0 || word_kind(track_at(track, first - 1)->word) != WORD_UNCERTAIN)
		return false;
	for (uint32_t i = index + 1; i-- > first;) {
		if (word_kind(track_at(track, i)->word) != WORD_CPU)
			doubt_entry(thread, i);
	}
	return true;
}

/*
 * A hole since 'since_ns' is known only at its end. What other CPUs told of a thread in
 * the meantime holds at those instants; but between them, while it was off their CPUs,
 * it may have run on the CPU with the hole.
 */
static void doubt_past(struct state *state, struct thread *thread, uint64_t since_ns)
{
	struct track *track = &thread->tl->track;
	uint64_t since = track_ns(state, since_ns);
	uint32_t word = word_make(WORD_UNCERTAIN, UNSURE_LOST);
	uint32_t i;

	if (thread->sched == SCHED_DEAD && track_last_time(track) < since)
		return;

	if (thread->placing.open && thread->placing.high_ns >= since_ns)
		thread->placing.was_runnable = false;
	for (i = track->count; i > 1 && track_time(track, i - 1) >= since; i--) {
		uint64_t begin = track_time(track, i - 2);

		if (!off_cpu(track_at(track, i - 2)->word))
			continue;
		if (begin >= since) {
			doubt_entry(thread, i - 2);
		} else if (!doubt_concluded(thread, i - 2)) {
			if (track_time(track, i - 1) == since)
				return;
			track_insert(track, i - 1, since, word);
			if (thread->placing.open && thread->placing.thread_index >= i - 1)
				thread->placing.thread_index++;
			return;
		}
	}
	/* Before the bound of an unseen switch, it was concluded from the end of the bound. */
	if (i > 1 && track_at(track, i - 1)->word == word_make(WORD_UNCERTAIN, UNSURE_SWITCH)) {
		uint32_t at = i - 2;

		at -= at > 0 && word_kind(track_at(track, at)->word) == WORD_CPU;
		if (off_cpu(track_at(track, at)->word))
			(void)doubt_concluded(thread, at);
	}
}

/*
 * Since 'since_ns' events were lost: nothing since then is a contradiction between events, or was not
 * recorded at all.
 */
static void blame_hole(struct state *state, struct thread *thread, uint64_t since_ns)
{
	const uint32_t order = word_make(WORD_UNCERTAIN, UNSURE_ORDER);
	const uint32_t waking = word_make(WORD_UNCERTAIN, UNSURE_WAKING);
	const uint32_t lost = word_make(WORD_UNCERTAIN, UNSURE_LOST);
	struct track *track = &thread->tl->track;
	uint64_t since = track_ns(state, since_ns);

	for (uint32_t i = track->count; i > 0 && track_time(track, i - 1) >= since; i--) {
		uint32_t word = track_at(track, i - 1)->word;

		if (word != order && word != waking)
			continue;
		track_amend(track, i - 1, track_time(track, i - 1), lost);
		state->tl->contradictions -= word == order && state->tl->contradictions > 0;
	}
	if (thread->word == order && track_last_time(track) >= since)
		thread->word = lost;
}

/* Nothing is known of the CPU from 'since' to the event. */
static void add_hole(struct state *state, struct cpu *cpu, const struct event *ev, uint64_t since)
{
	struct thread *thread = state_current(state, cpu);
	struct track *track = timeline_cpu(state->tl, ev->cpu);

	/* What was seen of this CPU was not lost. */
	if (since < cpu->last_ns)
		since = cpu->last_ns;
	add_gap(state->tl, &(struct tl_gap){ since, ev->time_ns, ev->lost.count, ev->cpu });
	if (!ev->lost.is_step)
		state->tl->lost_events += ev->lost.count ? ev->lost.count : 1;
	if (ev->time_ns > state->gap_end_ns)
		state->gap_end_ns = ev->time_ns;
	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		doubt_past(state, state->threads[i], since);
		blame_hole(state, state->threads[i], since);
	}
	if (thread) {
		uint64_t sure = last_ns(state, thread) > since ? last_ns(state, thread) : since;

		unsure_forget(state, thread, sure, UNSURE_LOST);
		thread->unsure_until = ev->time_ns;
	}
	if (track_last_time(track) <= track_ns(state, since))
		track_append(track, track_ns(state, since), SLOT_NONE);
	else
		track_append(track, track_last_time(track), SLOT_NONE);
	cpu_set_current(cpu, NULL);
	cpu_forget_context(cpu);
	cpu->unknown_since = ev->time_ns;
}

static void on_lost(struct state *state, struct cpu *cpu, const struct event *ev)
{
	uint64_t since = ev->lost.since_ns < ev->time_ns ? ev->lost.since_ns : ev->time_ns;

	if (!ev->lost.is_step || since < ev->time_ns)
		add_hole(state, cpu, ev, since);
	if (ev->lost.is_step)
		steps_take(state, ev);
}

const struct state_handler unsure_handlers[] = {
	{ EV_LOST, on_lost },
	{ EV_NONE, NULL },
};

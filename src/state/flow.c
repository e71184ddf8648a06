/*
 * flow.c - the control-flow stack of a thread.
 *
 *	frames[0]          own code: user, kernel thread, or "runs, not known where"
 *	frames[1..]        system call, trap, work function, softirq, interrupts
 *
 * The scheduled-out states are not frames: they are written over the top while the
 * thread is off its CPU, and the top shows again when it is back.
 */
#include "state/state_int.h"

#include "event/facts.h"
#include "state/state.h"

bool word_is_irq(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	return kind == WORD_IRQ || kind == WORD_VECTOR || kind == WORD_SOFTIRQ;
}

uint32_t flow_base(const struct state *state, const struct thread *thread)
{
	if (thread->tl->tid == 0)
		return word_make(WORD_IDLE, 0);
	if (thread->tl->kernel)
		return word_make(WORD_KERNEL, 0);
	/* Without system calls, user and kernel code cannot be told apart. */
	return word_make(state->has_syscalls ? WORD_USER : WORD_RUN, 0);
}

void flow_note(struct state *state, struct thread *thread, uint64_t time_ns, uint32_t word)
{
	track_append(&thread->tl->track, track_ns(state, time_ns), word);
	thread->word = word;
}

void flow_mark_cpu(struct state *state, struct thread *thread, uint64_t time_ns)
{
	if (thread->tl->tid == 0 || thread->on_cpu == thread->cpu)
		return;
	thread->on_cpu = thread->cpu;
	flow_note(state, thread, time_ns, word_make(WORD_CPU, thread->cpu));
}

void flow_onto_cpu(struct state *state, struct thread *thread, uint64_t time_ns)
{
	flow_mark_cpu(state, thread, time_ns);
	flow_write(state, thread, time_ns, flow_top(thread));
}

void flow_push(struct state *state, struct thread *thread, uint64_t time_ns, uint32_t word)
{
	/* Deeper than any kernel nests: exits were lost. Keep the bottom, replace the top. */
	if (thread->depth == FLOW_MAX)
		thread->depth--;
	thread->frames[thread->depth++] = word;
	flow_write(state, thread, time_ns, word);
}

void flow_pop(struct state *state, struct thread *thread, uint64_t time_ns, enum word_kind kind)
{
	uint8_t depth = thread->depth;

	while (depth > 1 && word_kind(thread->frames[depth - 1]) != kind)
		depth--;
	if (depth <= 1)
		return; /* its beginning was not seen */
	thread->depth = (uint8_t)(depth - 1);
	flow_write(state, thread, time_ns, flow_top(thread));
}

void flow_drop_irqs(struct thread *thread)
{
	while (thread->depth > 1 &&
	       (word_is_irq(flow_top(thread)) || word_kind(flow_top(thread)) == WORD_UNCERTAIN))
		thread->depth--;
}

void flow_doubt(struct thread *thread)
{
	if (thread->depth == FLOW_MAX)
		thread->depth--;
	thread->frames[thread->depth++] = word_make(WORD_UNCERTAIN, UNSURE_LOST);
}

void flow_reset(struct thread *thread, uint32_t base)
{
	thread->depth = 1;
	thread->frames[0] = base;
	thread->in_call = false;
	thread->fault_ns = 0;
	thread->lock = 0;
}

_Static_assert(STATE_FRAMES == FLOW_MAX + 1, "a stack and what is written over its top");

static const struct thread *find_thread(const struct state *state, int32_t tid, uint32_t cpu)
{
	const uint64_t *slot;

	if (tid == 0)
		return cpu < state->cpu_count && state->cpus[cpu].idle != SLOT_NONE
			       ? state->threads[state->cpus[cpu].idle]
			       : NULL;
	slot = map_find(&state->live, (uint32_t)tid);
	return slot ? state->threads[*slot] : NULL;
}

uint32_t state_frames(const struct state *state, int32_t tid, uint32_t cpu,
		      uint32_t out_words[STATE_FRAMES])
{
	const struct thread *thread = find_thread(state, tid, cpu);
	enum word_kind kind;
	uint32_t count = 0;

	if (!thread)
		return 0;
	kind = word_kind(thread->word);
	for (; count < thread->depth && kind != WORD_UNCERTAIN; count++)
		out_words[count] = thread->frames[count];
	if (kind == WORD_UNCERTAIN || kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU ||
	    kind == WORD_BLOCKED)
		out_words[count++] = thread->word;
	return count;
}

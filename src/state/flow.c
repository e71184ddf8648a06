/*
 * flow.c - the control-flow stack of a thread; what each event does is in state_int.h.
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

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

/*
 * states.c - states as numbers, and in words.
 *
 * A state is the timeline's plain word, with one bit above it that says that its argument is
 * left out. A wait is never part of it: two waits are the same state.
 */
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "query/read_int.h"

#define STATE_BARE ((uint64_t)1 << 32) /* the argument does not count */

static const uint8_t kind_of[WORD_KIND_COUNT] = {
	[WORD_NONE] = HR_KIND_NOT_THERE,      [WORD_UNCERTAIN] = HR_KIND_UNCERTAIN,
	[WORD_RUN] = HR_KIND_RUNNING,	      [WORD_USER] = HR_KIND_USER,
	[WORD_SYSCALL] = HR_KIND_SYSCALL,     [WORD_TRAP] = HR_KIND_FAULT,
	[WORD_KERNEL] = HR_KIND_KERNEL,	      [WORD_WORK] = HR_KIND_WORK,
	[WORD_IDLE] = HR_KIND_IDLE,	      [WORD_IRQ] = HR_KIND_IRQ,
	[WORD_VECTOR] = HR_KIND_VECTOR,	      [WORD_SOFTIRQ] = HR_KIND_SOFTIRQ,
	[WORD_PREEMPTED] = HR_KIND_PREEMPTED, [WORD_WAIT_CPU] = HR_KIND_WAIT_CPU,
	[WORD_BLOCKED] = HR_KIND_BLOCKED,     [WORD_CPU] = HR_KIND_NOT_THERE,
};

_Static_assert((int)HR_GROUP_NONE == (int)WIB_NONE && (int)HR_GROUP_UNCERTAIN == (int)WIB_UNCERTAIN,
	       "groups are those of the timeline");
_Static_assert((int)HR_UNSURE_WAKING == (int)UNSURE_WAKING, "reasons are those of the timeline");
_Static_assert((int)HR_VECTOR_OTHER == (int)VECTOR_OTHER, "vectors are those of events");

uint64_t state_of_word(uint32_t word, bool sum)
{
	switch (word_kind(word)) {
	case WORD_NONE:
	case WORD_CPU:
		return 0;
	case WORD_TRAP:
	case WORD_KERNEL:
	case WORD_IDLE:
	case WORD_BLOCKED:
		return word_make(word_kind(word), 0) | STATE_BARE;
	case WORD_PREEMPTED:
	case WORD_WAIT_CPU:
		return sum ? word_make(word_kind(word), 0) | STATE_BARE : word;
	default:
		return word_plain(word);
	}
}

static uint32_t word_of(uint64_t state)
{
	uint32_t word = (uint32_t)state;

	return word_kind(word) < WORD_KIND_COUNT ? word : word_make(WORD_NONE, 0);
}

enum hr_kind hr_state_kind(uint64_t state)
{
	return (enum hr_kind)kind_of[word_kind(word_of(state))];
}

enum hr_group hr_state_group(uint64_t state)
{
	return (enum hr_group)word_wib(word_of(state));
}

uint32_t hr_state_number(uint64_t state)
{
	uint32_t word = word_of(state), arg = word_arg(word);

	if (state & STATE_BARE)
		return HR_NONE;
	switch (word_kind(word)) {
	case WORD_UNCERTAIN:
	case WORD_VECTOR:
	case WORD_SOFTIRQ:
	case WORD_PREEMPTED:
	case WORD_WAIT_CPU:
		return arg;
	case WORD_SYSCALL:
		return arg & 0xffff;
	default:
		return HR_NONE;
	}
}

bool hr_state_is_compat(uint64_t state)
{
	uint32_t word = word_of(state);

	return word_kind(word) == WORD_SYSCALL && word & WORD_COMPAT;
}

/* ------------------------------------------------------------------------- words */

static const char *syscall_name(struct hr_trace *trace, uint32_t word)
{
	uint32_t call = word_call(word), nr = call & 0xffff;
	const char *name = facts_syscall(trace->loaded.facts, nr, call & WORD_COMPAT);

	return name ? name : read_keep(trace, xasprintf("system call %u", nr));
}

static const char *softirq_name(struct hr_trace *trace, uint32_t softirq)
{
	static const char *const names[] = { "HI",	 "TIMER",   "NET_TX", "NET_RX",	 "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };

	if (softirq < ARRAY_LEN(names))
		return names[softirq];
	return read_keep(trace, xasprintf("%u", softirq));
}

const char *hr_state_name(struct hr_trace *trace, uint64_t state)
{
	uint32_t word = word_of(state);

	switch (word_kind(word)) {
	case WORD_SYSCALL:
		return syscall_name(trace, word);
	case WORD_WORK:
	case WORD_IRQ:
		return timeline_name(trace->loaded.timeline, word_arg(word));
	case WORD_VECTOR:
		return event_vector_name(word_arg(word)) ? event_vector_name(word_arg(word)) : "?";
	case WORD_SOFTIRQ:
		return softirq_name(trace, word_arg(word));
	default:
		return "";
	}
}

static const char *unsure_text(uint32_t reason)
{
	static const char *const texts[] = {
		[UNSURE_LOST] = "events were lost",
		[UNSURE_START] = "no event was recorded yet",
		[UNSURE_SWITCH] = "a switch was not recorded",
		[UNSURE_ORDER] = "events contradict each other",
		[UNSURE_DAMAGED] = "the timeline is damaged there",
		[UNSURE_WAKING] = "its wake-up is missing",
	};

	return reason < ARRAY_LEN(texts) ? texts[reason] : "not known";
}

const char *hr_state_text(struct hr_trace *trace, uint64_t state)
{
	/* %s: the name. NULL: see below. */
	static const char *const texts[] = {
		[HR_KIND_NOT_THERE] = "not there",  [HR_KIND_RUNNING] = "running",
		[HR_KIND_USER] = "own code",	    [HR_KIND_FAULT] = "page fault",
		[HR_KIND_KERNEL] = "kernel thread", [HR_KIND_IDLE] = "idle",
		[HR_KIND_PREEMPTED] = "preempted",  [HR_KIND_WAIT_CPU] = "waiting for a CPU",
		[HR_KIND_BLOCKED] = "blocked",
	};
	enum hr_kind kind = hr_state_kind(state);
	const char *name;

	if (texts[kind])
		return texts[kind];
	if (kind == HR_KIND_UNCERTAIN)
		return unsure_text(hr_state_number(state));
	name = hr_state_name(trace, state);
	switch (kind) {
	case HR_KIND_WORK:
		return read_keep(trace, xasprintf("work %s", name));
	case HR_KIND_IRQ:
		return read_keep(trace, xasprintf("irq %s", name));
	case HR_KIND_VECTOR:
		return read_keep(trace, xasprintf("%s interrupt", name));
	case HR_KIND_SOFTIRQ:
		return read_keep(trace, xasprintf("softirq %s", name));
	default:
		return name;
	}
}

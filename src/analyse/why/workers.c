/*
 * workers.c - whom a thread waits for that waits for what its workers do, as its stack says (event/idle_table.h).
 *
 * Workers are threads of its process, or child processes. Those that wait for work themselves, or at nothing that they
 * were given to do, are not awaited. Whichever of the others comes first: it is inferred.
 */
#include "analyse/why/why_int.h"
#include "event/facts.h"
#include "event/stacks.h"

#define SAMPLE_BACK_NS \
	100000000u /* what a thread was seen at, if it worked that long ago at most */

/* What a thread was in at the end of a span. */
struct worker_at {
	uint32_t stack; /* STACK_NONE = not known */
	bool is_idle;
};

/* The last look at it, at work. */
static uint32_t worker_sample(const struct stacks *stacks, int32_t tid, uint64_t end_ns)
{
	uint64_t from_ns = end_ns > SAMPLE_BACK_NS ? end_ns - SAMPLE_BACK_NS : 0;
	uint32_t stack = STACK_NONE;

	for (size_t i = stacks_first_sample(stacks, tid, from_ns);
	     i < stacks->sample_count && stacks->samples[i].tid == tid &&
	     stacks->samples[i].time_ns < end_ns;
	     i++)
		stack = stacks->samples[i].stack;
	return stack;
}

static struct worker_at worker_look(struct query *query, uint32_t slot, uint64_t end_ns)
{
	const struct timeline *tl = query->tl;
	uint32_t word = timeline_state_at(tl, slot, end_ns - 1);
	struct worker_at at = { .stack = STACK_NONE };
	struct wait wait;

	if (word_kind(word) != WORD_BLOCKED) {
		at.stack = worker_sample(query->facts->stacks, tl->threads[slot]->tid, end_ns);
		return at;
	}
	query_wait(query, slot, word, &wait);
	at.stack = code_of_wait(query, slot, &wait);
	at.is_idle = wait.flags & WAIT_SERVER || wait_idle(query, slot, &wait);
	return at;
}

static bool worker_is_child(const struct query *query, uint32_t slot, uint32_t of)
{
	const struct timeline *tl = query->tl;
	const struct tl_thread *thread = tl->threads[slot];

	return thread->tid == thread->tgid && thread->parent < tl->thread_count &&
	       !query_is_one_process(query, slot, of) &&
	       query_is_one_process(query, thread->parent, of);
}

/* Is it at work for 'of' at the end of 'in'? 2: as is known of its code. */
static int worker_rank(struct query *query, uint32_t slot, uint32_t of,
		       const struct tl_interval *in)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	const struct stacks *stacks = query->facts->stacks;
	bool is_child = worker_is_child(query, slot, of);
	struct worker_at at;

	if (slot == of || thread->death_ns < in->end_ns || thread->birth_ns >= in->end_ns ||
	    (!is_child && !query_is_one_process(query, slot, of)))
		return 0;
	at = worker_look(query, slot, in->end_ns);
	if (at.is_idle)
		return 0;
	if (at.stack != STACK_NONE && stacks->stacks[at.stack].in_task)
		return 2;
	/* Of a child in a script it would be known. */
	return is_child &&
	       (at.stack == STACK_NONE || stacks->stacks[at.stack].script == FRAME_NONE);
}

uint32_t query_worker(struct query *query, uint32_t slot, const struct wait *wait,
		      const struct tl_interval *in, const struct why_reason **out_by)
{
	const struct stacks *stacks = query->facts->stacks;
	uint32_t stack = stacks ? code_of_wait(query, slot, wait) : STACK_NONE;
	uint32_t found = SLOT_NONE, count = 0;
	int most = 1;

	if (stack == STACK_NONE || stacks->stacks[stack].idle != STACK_AWAITS)
		return SLOT_NONE;
	for (uint32_t i = 0; i < query->tl->thread_count; i++) {
		int rank = worker_rank(query, i, slot, in);

		if (rank < most)
			continue;
		count = rank > most ? 1 : count + 1;
		if (rank > most || found == SLOT_NONE)
			found = i;
		most = rank;
	}
	if (found != SLOT_NONE)
		*out_by = why_reason_keep(
			query->why, &(struct why_reason){ .kind = count == 1 ? WHY_REASON_WORKER
									     : WHY_REASON_A_WORKER,
							  .number = count });
	return found;
}

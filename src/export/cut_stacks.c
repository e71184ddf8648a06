/*
 * cut_stacks.c - where threads waited and worked, in a cut: waits and samples of its window, of the threads
 * that were chosen, with the stacks and frames that they are of.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/profile/sampled.h"
#include "base/mem.h"
#include "event/stacks.h"
#include "export/cut_int.h"
#include "store/stack_file.h"

struct cut_stacks {
	const struct cut *cut;
	const struct stacks *from;
	FILE *out;
	uint32_t *frames, *stacks; /* owned; number in the cut, plus 1; 0 = not written yet */
	uint32_t frame_count, stack_count;
};

static bool is_kept(const struct cut *cut, int32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	return end_ns >= cut->facts.first_ns && begin_ns <= cut->facts.last_ns + SAMPLED_LATE_NS &&
	       (!cut->tids.count || map_find(&cut->tids, (uint32_t)tid));
}

static uint32_t keep_frame(struct cut_stacks *to, uint32_t frame)
{
	if (!to->frames[frame]) {
		stack_file_frame(to->out, &to->from->frames[frame]);
		to->frames[frame] = ++to->frame_count;
	}
	return to->frames[frame] - 1;
}

static uint32_t cut_stacks_keep_stack(struct cut_stacks *to, uint32_t id)
{
	const struct stack *stack = &to->from->stacks[id];
	AUTO_FREE uint32_t *frames = NULL;

	if (to->stacks[id])
		return to->stacks[id] - 1;
	frames = xcalloc(stack->count + 1, sizeof(*frames));
	for (uint32_t i = 0; i < stack->count; i++)
		frames[i] = keep_frame(to, to->from->frame_ids[stack->first + i]);
	stack_file_stack(to->out, frames, stack->count, stack->end);
	to->stacks[id] = ++to->stack_count;
	return to->stacks[id] - 1;
}

/* The processes of the chosen threads. */
static void find_processes(const struct cut *cut, struct map *tgids)
{
	for (size_t i = 0; i < cut->facts.thread_count; i++) {
		const struct fact_thread *thread = &cut->facts.threads[i];

		if (map_find(&cut->tids, (uint32_t)thread->tid))
			map_put(tgids, (uint32_t)thread->tgid, 1);
	}
}

static void keep_futexes(struct cut_stacks *to)
{
	const struct cut *cut = to->cut;
	struct map tgids = { 0 };

	find_processes(cut, &tgids);
	for (size_t i = 0; i < to->from->futex_count; i++) {
		struct stack_futex futex = to->from->futexes[i];
		uint32_t tgid = (uint32_t)futex.tgid;

		if (futex.until_ns <= cut->facts.first_ns || futex.from_ns > cut->facts.last_ns ||
		    (cut->tids.count && !map_find(&cut->tgids, tgid) && !map_find(&tgids, tgid)))
			continue;
		futex.stack = cut_stacks_keep_stack(to, futex.stack);
		stack_file_futex(to->out, &futex);
	}
	map_fini(&tgids);
}

static void keep_all(struct cut_stacks *to)
{
	const struct stacks *from = to->from;

	stack_file_begin(to->out);
	if (from->sampling.period_ns)
		stack_file_sampling(to->out, &from->sampling);
	for (size_t i = 0; i < from->wait_count; i++) {
		struct stack_wait wait = from->waits[i];

		if (!is_kept(to->cut, wait.tid, wait.begin_ns, wait.end_ns))
			continue;
		wait.stack = cut_stacks_keep_stack(to, wait.stack);
		stack_file_wait(to->out, &wait);
	}
	keep_futexes(to);
	for (size_t i = 0; i < from->sample_count; i++) {
		struct stack_sample sample = from->samples[i];

		if (!is_kept(to->cut, sample.tid, sample.time_ns, sample.time_ns))
			continue;
		sample.stack = cut_stacks_keep_stack(to, sample.stack);
		stack_file_sample(to->out, &sample);
	}
}

void cut_stacks_put(const struct cut *cut, FILE *out)
{
	struct cut_stacks to = { .cut = cut, .from = cut->facts.stacks, .out = out };

	to.frames = xcalloc(to.from->frame_count + 1, sizeof(*to.frames));
	to.stacks = xcalloc(to.from->stack_count + 1, sizeof(*to.stacks));
	keep_all(&to);
	free(to.frames);
	free(to.stacks);
}

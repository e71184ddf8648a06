/*
 * hot_waits.c - in which code threads waited: the time of the timeline, by the stack of each wait.
 *
 * A stack of a short wait stands for others before it, which have none: as much of the thread's time is
 * told of its place as they took, where so much is left. So sums are those of the timeline.
 */
#include <stdlib.h>

#include "analyse/profile/hot_int.h"
#include "base/mem.h"
#include "event/stacks.h"
#include "timeline/timeline.h"

/* Waits of one thread. */
struct hot_sleep {
	struct hot_run *run;
	size_t index; /* of the thread */
	uint32_t slot;
	int32_t tid;
	uint64_t left_ns[WAIT_KIND_COUNT]; /* of no stack yet */
	const struct stack_wait *last;	   /* that was told of */
};

static void sleep_tell(struct hot_sleep *sleep, const struct stack_wait *wait, enum wait_kind kind,
		       uint64_t ns)
{
	struct hot_run *run = sleep->run;
	bool is_new = wait != sleep->last;

	sleep->last = wait;
	if (is_new) {
		run->threads[sleep->index].count++;
		run->hot->samples++;
	}
	if (run->opts->by < HOT_PROCESS)
		hot_tell(run, &(struct hot_part){ .slot = sleep->slot,
						  .stack = wait->stack,
						  .ns = ns,
						  .count = is_new,
						  .wait = wait,
						  .kind = kind });
}

static enum wait_kind sleep_kind(const struct hot_sleep *sleep, uint32_t word)
{
	struct wait wait;
	enum wait_kind kind;

	timeline_wait(sleep->run->timeline, sleep->slot, word_arg(word), &wait);
	kind = wait_kind(&wait);
	return kind < WAIT_KIND_COUNT ? kind : WAIT_FOR_UNKNOWN;
}

/* Each wait of the timeline: of its stack, or left. */
static void sleep_waits(struct hot_sleep *sleep)
{
	const struct hot_run *run = sleep->run;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_thread(&iter, run->timeline, sleep->slot, run->opts->start_ns, run->opts->end_ns);
	while (tl_iter_next(&iter, &in)) {
		const struct stack_wait *wait;
		enum wait_kind kind;

		if (word_wib(in.word) != WIB_BLOCKED || in.start_ns == in.end_ns)
			continue;
		kind = sleep_kind(sleep, in.word);
		wait = stacks_find_wait(run->stacks, sleep->tid, in.start_ns, in.end_ns);
		if (wait && !wait->is_short)
			sleep_tell(sleep, wait, kind, in.end_ns - in.start_ns);
		else
			sleep->left_ns[kind] += in.end_ns - in.start_ns;
	}
}

/* What the timeline says of a wait that has a stack, in the middle of it. */
static enum wait_kind sleep_kind_at(const struct hot_sleep *sleep, const struct stack_wait *wait)
{
	uint64_t at_ns = wait->begin_ns + (wait->end_ns - wait->begin_ns) / 2;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_thread(&iter, sleep->run->timeline, sleep->slot, at_ns, at_ns + 1);
	if (!tl_iter_next(&iter, &in) || word_wib(in.word) != WIB_BLOCKED)
		return WAIT_FOR_UNKNOWN;
	return sleep_kind(sleep, in.word);
}

/* Up to 'ns' of what is left of that kind; returns how much that was. */
static uint64_t sleep_take(struct hot_sleep *sleep, const struct stack_wait *wait,
			   enum wait_kind kind, uint64_t ns)
{
	if (ns > sleep->left_ns[kind])
		ns = sleep->left_ns[kind];
	sleep->left_ns[kind] -= ns;
	if (ns)
		sleep_tell(sleep, wait, kind, ns);
	return ns;
}

/* What else it stands for may have been for something else. */
static void sleep_short(struct hot_sleep *sleep, const struct stack_wait *wait)
{
	enum wait_kind own = sleep_kind_at(sleep, wait);
	uint64_t ns = wait->slept_ns - sleep_take(sleep, wait, own, wait->slept_ns);

	for (uint32_t kind = 0; kind < WAIT_KIND_COUNT && ns; kind++)
		ns -= sleep_take(sleep, wait, (enum wait_kind)kind, ns);
}

static void sleep_shorts(struct hot_sleep *sleep)
{
	const struct hot_run *run = sleep->run;
	const struct stacks *stacks = run->stacks;
	size_t at = stacks_first_wait(stacks, sleep->tid, run->opts->start_ns);

	for (; at < stacks->wait_count && stacks->waits[at].tid == sleep->tid &&
	       stacks->waits[at].begin_ns < run->opts->end_ns;
	     at++) {
		const struct stack_wait *wait = &stacks->waits[at];

		if (wait->is_short &&
		    timeline_find_thread(run->timeline, sleep->tid, wait->end_ns) == sleep->slot)
			sleep_short(sleep, wait);
	}
}

static void sleep_rest(const struct hot_sleep *sleep)
{
	for (uint32_t kind = 0; kind < WAIT_KIND_COUNT; kind++)
		hot_tell(sleep->run, &(struct hot_part){ .slot = sleep->slot,
							 .stack = STACK_NONE,
							 .ns = sleep->left_ns[kind],
							 .kind = (enum wait_kind)kind });
}

void hot_waits(struct hot_run *run)
{
	for (size_t i = 0; i < run->opts->slot_count; i++) {
		uint32_t slot = run->opts->slots[i];
		struct hot_sleep sleep = { .run = run,
					   .index = i,
					   .slot = slot,
					   .tid = run->timeline->threads[slot]->tid };

		if (!run->threads[i].ns)
			continue;
		sleep_waits(&sleep);
		sleep_shorts(&sleep);
		if (run->opts->by < HOT_PROCESS)
			sleep_rest(&sleep);
	}
}

/* hot.c - see hot.h: what was in which state for how long, and the samples of it. */
#include "analyse/profile/hot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/profile/hot_int.h"
#include "analyse/profile/hot_tree.h"
#include "analyse/profile/sampled.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "timeline/timeline.h"

#define SAMPLES_ENOUGH 20 /* of a thread that stands for itself */

uint32_t hot_state(uint32_t word)
{
	switch (word_kind(word)) {
	case WORD_IRQ:
	case WORD_VECTOR:
	case WORD_SOFTIRQ:
		return HOT_IRQ;
	case WORD_USER:
	case WORD_RUN: /* where the kernel's part is not known */
		return HOT_USER;
	default:
		return word_wib(word) == WIB_WORKING ? HOT_SYSCALL : 0;
	}
}

void hot_tell(struct hot_run *run, const struct hot_part *part)
{
	if (!part->ns && !part->count)
		return;
	if (part->stack == STACK_NONE)
		hot_rows_unseen(&run->rows, part->ns);
	else
		hot_rows_stack(&run->rows, part->stack, part->ns, part->count);
	if (run->opts->each)
		run->opts->each(run->opts->context, part);
}

static void hot_tell_unseen(struct hot_run *run, size_t i, uint64_t ns)
{
	hot_tell(run,
		 &(struct hot_part){ .slot = run->opts->slots[i], .stack = STACK_NONE, .ns = ns });
}

/* ------------------------------------------------------------------ spans of a thread */

struct piece {
	uint64_t start_ns, end_ns;
};

/* The next span of the thread that is meant, cut to the window; '*at' begins with 0. */
static bool next_piece(const struct hot_run *run, uint32_t slot, size_t *at,
		       struct piece *out_piece)
{
	const struct hot_opts *opts = run->opts;
	const struct why_work *path = opts->path;

	if (!path) {
		*out_piece = (struct piece){ opts->start_ns, opts->end_ns };
		return (*at)++ == 0;
	}
	if (*at == 0)
		*at = why_work_find(path, slot, opts->start_ns);
	for (; *at < path->count && path->at[*at].slot == slot; (*at)++) {
		const struct why_work_span *span = &path->at[*at];
		uint64_t start = span->start_ns > opts->start_ns ? span->start_ns : opts->start_ns;
		uint64_t end = span->end_ns < opts->end_ns ? span->end_ns : opts->end_ns;

		if (start >= end)
			continue;
		*out_piece = (struct piece){ start, end };
		(*at)++;
		return true;
	}
	return false;
}

static uint64_t piece_ns(const struct hot_run *run, uint32_t slot, const struct piece *piece)
{
	struct tl_interval in;
	struct tl_iter iter;
	uint64_t ns = 0;

	tl_iter_thread(&iter, run->timeline, slot, piece->start_ns, piece->end_ns);
	while (tl_iter_next(&iter, &in)) {
		bool is_meant = run->opts->waits ? word_wib(in.word) == WIB_BLOCKED
						 : hot_state(in.word) & run->opts->states;

		ns += is_meant ? in.end_ns - in.start_ns : 0;
	}
	return ns;
}

/* ------------------------------------------------------------------ samples */

/* A thread and its samples. */
struct sampled_thread {
	struct hot_run *run;
	uint32_t slot;
};

static void take_sample(void *context, const struct sampled_moment *moment, uint32_t stack)
{
	const struct sampled_thread *thread = context;
	struct hot_run *run = thread->run;
	int32_t tid = run->timeline->threads[thread->slot]->tid;
	uint32_t state = hot_state(moment->word);

	/* Of a number that was given again, the threads share the samples out by time. */
	if (timeline_find_thread(run->timeline, tid, moment->ns) != thread->slot)
		return;
	if (!state)
		run->hot->doubtful++;
	if (!(state & run->opts->states))
		return;
	run->samples =
		vec_room(run->samples, run->sample_count, &run->sample_cap, sizeof(*run->samples));
	run->samples[run->sample_count++] = (struct hot_sample){ stack, state };
}

static void measure_thread(struct hot_run *run, size_t i)
{
	struct hot_thread *thread = &run->threads[i];
	uint32_t slot = run->opts->slots[i];
	struct sampled_thread sampled = { run, slot };
	struct piece piece;
	size_t at = 0;

	thread->first = run->sample_count;
	while (next_piece(run, slot, &at, &piece)) {
		thread->ns += piece_ns(run, slot, &piece);
		if (!run->opts->waits)
			sampled_each(run->timeline, run->stacks, slot, piece.start_ns, piece.end_ns,
				     take_sample, &sampled);
	}
	thread->count = run->sample_count - thread->first;
}

/* Spread time over samples, so that it adds up; begins at '*done' of 'all' samples. */
static void spread(struct hot_run *run, size_t index, uint64_t ns, size_t all, size_t *done)
{
	const struct hot_thread *thread = &run->threads[index];

	for (size_t i = 0; i < thread->count; i++, (*done)++) {
		__uint128_t before = (__uint128_t)ns * *done / all;
		__uint128_t after = (__uint128_t)ns * (*done + 1) / all;
		const struct hot_sample *sample = &run->samples[thread->first + i];

		hot_tell(run, &(struct hot_part){ .slot = run->opts->slots[index],
						  .stack = sample->stack,
						  .ns = (uint64_t)(after - before),
						  .count = 1,
						  .state = sample->state });
	}
}

/* ------------------------------------------------------------------ threads of few samples */

struct few {
	uint64_t ns;
	size_t samples, done;
};

static bool is_few(const struct hot_thread *thread)
{
	return thread->count < SAMPLES_ENOUGH;
}

static void spread_few(struct hot_run *run)
{
	AUTO_FREE struct few *few = xcalloc(run->opts->slot_count + 1, sizeof(*few));
	AUTO_FREE size_t *of = xcalloc(run->opts->slot_count + 1, sizeof(*of));
	struct map names = { 0 }; /* of a thread's name -> index into 'few' */
	size_t count = 0;

	for (size_t i = 0; i < run->opts->slot_count; i++) {
		uint32_t comm = run->timeline->threads[run->opts->slots[i]]->comm;
		bool is_new;
		uint64_t *index = map_add(&names, comm + UINT64_C(1), &is_new);

		if (is_new)
			*index = count++;
		of[i] = *index;
		if (!is_few(&run->threads[i]))
			continue;
		few[*index].ns += run->threads[i].ns;
		few[*index].samples += run->threads[i].count;
	}
	for (size_t i = 0; i < run->opts->slot_count; i++) {
		struct few *group = &few[of[i]];

		if (!is_few(&run->threads[i]))
			continue;
		if (group->samples)
			spread(run, i, group->ns, group->samples, &group->done);
		else
			hot_tell_unseen(run, i, run->threads[i].ns);
	}
	map_fini(&names);
}

static void run_work(struct hot_run *run)
{
	for (size_t i = 0; i < run->opts->slot_count; i++) {
		size_t done = 0;

		if (!is_few(&run->threads[i]))
			spread(run, i, run->threads[i].ns, run->threads[i].count, &done);
	}
	spread_few(run);
}

/* ------------------------------------------------------------------ all of it */

static void run_threads(struct hot_run *run)
{
	for (size_t i = 0; i < run->opts->slot_count; i++) {
		const struct hot_thread *thread = &run->threads[i];

		if (thread->ns || thread->count)
			hot_rows_thread(&run->rows, run->opts->slots[i], thread->ns, thread->count);
	}
}

static int check_data(const struct facts *facts, const struct hot_opts *opts, struct err *err)
{
	const struct stacks *stacks = facts->stacks;

	if (opts->waits)
		return stacks && stacks->stack_count
			       ? 0
			       : err_set(err, -ENODATA,
					 "the trace has no stacks of waits; record without "
					 "--stack-min off");
	return stacks && stacks->sampling.period_ns
		       ? 0
		       : err_set(err, -ENODATA,
				 "the trace has no samples; record without --sample off");
}

int hot_run(const struct timeline *timeline, const struct facts *facts, const struct hot_opts *opts,
	    struct hot *out_hot, struct err *err)
{
	struct hot hot = { .start_ns = opts->start_ns, .end_ns = opts->end_ns };
	struct hot_run run = { .timeline = timeline, .opts = opts, .hot = &hot };
	int rc = check_data(facts, opts, err);

	if (rc < 0)
		return rc;
	run.stacks = facts->stacks;
	run.rows = (struct hot_rows){ .timeline = timeline,
				      .stacks = run.stacks,
				      .by = opts->by,
				      .waits = opts->waits,
				      .native = opts->native };
	if (opts->tree && opts->by < HOT_PROCESS)
		run.rows.tree = hot_tree_new(run.stacks, opts->by, opts->tree);
	run.threads = xcalloc(opts->slot_count + 1, sizeof(*run.threads));
	for (size_t i = 0; i < opts->slot_count; i++)
		measure_thread(&run, i);
	hot.samples = run.sample_count;
	if (!opts->waits) {
		hot.period_ns = run.stacks->sampling.period_ns;
		hot.lost = run.stacks->sampling.lost;
	}
	if (opts->waits)
		hot_waits(&run);
	else if (opts->by < HOT_PROCESS)
		run_work(&run);
	if (opts->by >= HOT_PROCESS)
		run_threads(&run);
	hot_rows_end(&run.rows, &hot);
	for (size_t i = 0; i < hot.row_count; i++)
		hot.total_ns += hot.rows[i].self_ns;
	free(run.threads);
	free(run.samples);
	*out_hot = hot;
	return 0;
}

void hot_fini(struct hot *hot)
{
	free(hot->rows);
	free(hot->nodes);
	*hot = (struct hot){ 0 };
}

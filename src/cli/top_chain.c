/* top_chain.c - see top_chain.h. */
#include "cli/top_chain.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/top_record.h"
#include "report/stuck.h"
#include "stuck/stuck.h"
#include "tui/top_draw.h"
#include "tui/top_model.h"

#define TASKS_MAX 256u /* of a page, or of a frame of text */
#define SHARE	  20u  /* of the time of a CPU may be spent on looks: one part in so many */

struct page {
	const struct top_task *tasks[TASKS_MAX];
	int32_t tgids[TASKS_MAX];
	size_t count, tgid_count;
};

static void take_page(const struct top_model *model, struct page *out_page)
{
	struct map seen = { 0 };
	size_t last = model->first + model->page;

	*out_page = (struct page){ 0 };
	for (size_t i = model->first; i < model->line_count && i < last; i++) {
		const struct top_line *line = &model->lines[i];
		bool is_new = false;

		if (line->is_group || out_page->count >= TASKS_MAX)
			continue;
		out_page->tasks[out_page->count++] = line->task;
		(void)map_add(&seen, (uint32_t)line->task->tgid, &is_new);
		if (is_new)
			out_page->tgids[out_page->tgid_count++] = line->task->tgid;
	}
	map_fini(&seen);
}

/* Whose wait is told of a process: a deadlock first, then who waits longest for somebody, then its main thread. */
static uint32_t rank_of(const struct stuck_thread *thread)
{
	if (thread->root == STUCK_ROOT_DEADLOCK)
		return 4;
	if (thread->root == STUCK_ROOT_VICTIM || thread->root == STUCK_ROOT_INSIDE)
		return 3;
	if (thread->edge_count)
		return 2;
	return thread->kind == STUCK_KERNEL || thread->tid == thread->tgid;
}

static bool top_chain_is_before(const struct stuck_thread *thread, const struct stuck_thread *best)
{
	if (!best || rank_of(thread) != rank_of(best))
		return !best || rank_of(thread) > rank_of(best);
	if (!thread->since_ns || !best->since_ns)
		return thread->since_ns && !best->since_ns;
	return thread->since_ns < best->since_ns;
}

static const struct stuck_thread *top_stuck_thread(const struct stuck *stuck,
						   const struct top_task *task)
{
	const struct stuck_thread *best = NULL, *thread;

	if (!task->is_process)
		return stuck_find(stuck, task->tid);
	thread = stuck_find(stuck, task->tgid);
	for (; thread && thread < stuck->threads + stuck->count && thread->tgid == task->tgid;
	     thread++) {
		if (top_chain_is_before(thread, best))
			best = thread;
	}
	return best;
}

static void top_waits_put_text(struct top_waits *waits, const struct stuck *stuck,
			       const struct top_task *task)
{
	const struct stuck_thread *thread = top_stuck_thread(stuck, task);
	bool is_named = thread && thread->tid != task->tid;
	AUTO_FREE char *chain = thread ? report_stuck_chain(stuck, thread) : NULL;
	AUTO_FREE char *text = NULL;

	if (!chain || !chain[0])
		return;
	if (is_named)
		text = xasprintf("%s[%d]: %s", thread->comm, thread->tid, chain);
	top_waits_put(waits, task, thread->root == STUCK_ROOT_DEADLOCK, text ? text : chain);
}

void top_chain_look(void *context, struct top_view *view)
{
	struct top_chain *chain = context;
	uint64_t begun_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID), cost_ns;
	struct stuck_select select = { .may_be_gone = true };
	struct stuck *stuck;
	struct page page;

	if (clock_now_ns() < chain->next_ns)
		return;
	take_page(&view->model, &page);
	top_waits_clear(&view->waits);
	select.tgids = page.tgids;
	select.count = page.tgid_count;
	/* Whoever may not be looked at has no text. */
	if (page.tgid_count && stuck_look(&select, &stuck, NULL) == 0) {
		for (size_t i = 0; i < page.count; i++)
			top_waits_put_text(&view->waits, stuck, page.tasks[i]);
		stuck_free(stuck);
	}
	cost_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - begun_ns;
	chain->next_ns = clock_now_ns() + cost_ns * (SHARE - 1);
	view->waits.every_ns = cost_ns * SHARE;
}

static void print_stuck(void *context, FILE *out)
{
	const struct top_task *task = context;
	const struct stuck_select select = { .tgids = &task->tgid, .count = 1 };
	struct report_stuck report = { .all = true };
	struct err err = { 0 };
	struct stuck *stuck;

	if (stuck_look(&select, &stuck, &err) < 0) {
		fprintf(out, "holdup stuck: %s\n", err.text);
		return;
	}
	report.stuck = stuck;
	report_stuck_text(out, &report);
	stuck_free(stuck);
}

void top_chain_show(const struct top_task *task)
{
	struct top_task copy = *task;

	top_show(print_stuck, &copy);
}

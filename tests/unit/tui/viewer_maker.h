/* viewer_maker.h - a viewer over a small trace that is checked by hand. */
#ifndef VIEWER_MAKER_H
#define VIEWER_MAKER_H

#include <string.h>

#define verdict_of told_verdict_of /* view/verdict.h has another one */
#include "told.h"
#undef verdict_of
#include "ask/loaded.h"
#include "tui/grid.h"
#include "tui/viewer_draw.h"
#include "tui/viewer_keys.h"
#include "tui/viewer_model.h"
#include "view/answer.h"

/*
 * main: own code, from 100 on in futex(), blocked from 200 to 600 until helper woke it, without a CPU to 700, then
 * in futex() again. helper worked all the time, idler slept.
 */
#define VIEWER_TRACE                     \
	"facts last 1000\n"              \
	"thread 7 7 1 R main\n"          \
	"thread 8 8 1 R helper\n"        \
	"thread 9 9 1 S idler\n"         \
	"0 cpu0 switch 0(runnable) 7\n"  \
	"0 cpu1 switch 0(runnable) 8\n"  \
	"100 cpu0 enter futex 64 0\n"    \
	"200 cpu0 switch 7(blocked) 0\n" \
	"600 cpu1 waking 7 cpu 0\n"      \
	"700 cpu0 switch 0(runnable) 7\n"

struct viewing {
	struct told *told;
	struct loaded loaded;
	struct view view;
	struct viewer viewer;
	struct grid grid;
};

static inline void viewing_of(struct viewing *viewing, struct told *told, int32_t target)
{
	struct err err = { 0 };

	*viewing = (struct viewing){ .told = told };
	told->trace->facts.target_tid = target;
	viewing->loaded = (struct loaded){ .timeline = told->tl, .facts = &told->trace->facts };
	viewing->view = (struct view){ .path = "a.holdup", .loaded = &viewing->loaded };
	if (viewer_begin(&viewing->viewer, &viewing->view, &err) < 0)
		fail_msg("%s", err.text);
}

static inline void viewing_begin(struct viewing *viewing, const char *trace)
{
	viewing_of(viewing, replayed(trace), 7);
}

static inline void viewing_end(struct viewing *viewing)
{
	viewer_fini(&viewing->viewer);
	grid_fini(&viewing->grid);
	told_free(viewing->told);
}

static inline void viewing_draw(struct viewing *viewing, int rows, int columns)
{
	grid_reset(&viewing->grid, rows, columns);
	viewer_draw(&viewing->viewer, &viewing->grid);
}

static inline void viewing_keys(struct viewing *viewing, const char *keys)
{
	for (; *keys; keys++) {
		if (viewer_key_press(&viewing->viewer, *keys) == VIEWER_EXPLAIN)
			viewer_key_explain(&viewing->viewer);
	}
}

/* The rows as "main[7]: 1 thread" of headings, "7" of threads, "c0" of CPUs; ">" before the selected one. */
static inline const char *viewing_rows(struct viewing *viewing)
{
	const struct viewer *viewer = &viewing->viewer;
	char *text = NULL;

	for (size_t i = 0; i < viewer->row_count; i++) {
		const struct viewer_row *row = &viewer->rows[i];

		told_add(&text, "%s%s", i ? " " : "", i == viewer->row ? ">" : "");
		if (row->kind == VIEWER_PROCESS)
			told_add(&text, "%c%d-%u/%u", row->open ? '-' : '+',
				 viewer->processes.at[row->index].tgid, row->hidden, row->idle);
		else if (row->kind == VIEWER_THREAD)
			told_add(&text, "%d", viewer->timeline->threads[row->index]->tid);
		else if (row->kind == VIEWER_CPUS)
			told_add(&text, "%ccpus", row->open ? '-' : '+');
		else
			told_add(&text, "c%u", row->index);
	}
	return told_keep(viewing->told, text);
}

#endif

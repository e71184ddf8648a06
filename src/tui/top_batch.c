/* top_batch.c - holdup top without a terminal: frames of text. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "tui/grid.h"
#include "tui/top_draw.h"
#include "tui/top_screen.h"
#include "tui/top_source.h"

static void print_frame(struct top_view *view, const struct top_screen_opts *opts)
{
	struct grid grid = { 0 };

	top_pressure_read(view->pressure);
	grid_reset(&grid, top_draw_head(view) + (int)view->model.line_count, opts->columns);
	top_model_set_page(&view->model, top_draw_page(view, grid.rows));
	view->model.first = 0;
	if (view->waits.is_shown && opts->on_waits)
		opts->on_waits(opts->context, view);
	top_draw(view, &grid);
	for (int row = 0; row < grid.rows; row++) {
		AUTO_FREE char *text = grid_text(&grid, row);

		puts(text);
	}
	puts("");
	fflush(stdout);
	grid_fini(&grid);
}

int top_batch_run(struct top_view *view, struct top_source *source,
		  const struct top_screen_opts *opts, struct err *err)
{
	struct timespec next;

	view->batch = true;
	top_own_look(&view->own);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (uint64_t i = 0; (!opts->count || i < opts->count) && !ferror(stdout); i++) {
		uint64_t ns = (uint64_t)next.tv_nsec + opts->interval_ns;
		int rc;

		next.tv_sec += (time_t)(ns / 1000000000);
		next.tv_nsec = (long)(ns % 1000000000);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			;
		rc = top_source_feed(source, &view->model, err);
		if (rc < 0)
			return rc;
		top_own_look(&view->own);
		view->note = top_source_note(source);
		print_frame(view, opts);
	}
	return 0;
}

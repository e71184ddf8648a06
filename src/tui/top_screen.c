/* top_screen.c - holdup top on the terminal: intervals, keys, cells. */
#include "tui/top_screen.h"

#include "accounts/proc.h"
#include "base/err.h"
#include "tui/grid.h"
#include "tui/screen.h"
#include "tui/top_draw.h"
#include "tui/top_keys.h"
#include "tui/top_source.h"

#define NS_PER_MS	1000000u
#define FIRST_NS	(300u * NS_PER_MS) /* the first interval is short, so that there is something */
#define DOUBLE_CLICK_NS (400u * NS_PER_MS)
#define WHEEL_LINES	3

struct top_screen {
	struct top_view *view;
	struct top_source *source;
	const struct top_screen_opts *opts;
	struct screen terminal; /* owned */
	struct grid grid;	/* owned */
	uint64_t next_ns;
	uint64_t click_ns;
	int click_row;
	uint64_t shown; /* intervals */
};

static uint64_t first_ns(const struct top_screen_opts *opts)
{
	return opts->interval_ns < FIRST_NS ? opts->interval_ns : FIRST_NS;
}

/* --------------------------------------------------------------------- drawing */

static void draw(struct top_screen *screen)
{
	struct top_view *view = screen->view;

	view->note = top_source_note(screen->source);
	grid_reset(&screen->grid, screen->terminal.rows, screen->terminal.columns);
	top_model_set_page(&view->model, top_draw_page(view, screen->terminal.rows));
	if (view->mode == TOP_FOLLOWING && !view->model.followed_ended && !view->paused)
		top_details_read(view->model.followed.tgid, view->model.followed.tid,
				 &view->details);
	top_draw(view, &screen->grid);
	screen_show(&screen->terminal, &screen->grid);
}

/* Returns false when it is to end. */
static bool show_one(struct top_screen *screen, void (*show)(const struct top_task *task))
{
	const struct top_view *view = screen->view;
	const struct top_line *line = top_model_selected(&view->model);
	struct top_task task;

	if (view->mode == TOP_FOLLOWING)
		task = view->model.followed;
	else if (line)
		task = *line->task;
	else
		return true;
	screen_leave(&screen->terminal);
	show(&task);
	screen_return(&screen->terminal);
	return screen_drop_signals(&screen->terminal);
}

/* ------------------------------------------------------------------------ keys */

static enum top_action press_mouse(struct top_screen *screen, const struct screen_click *at)
{
	struct top_click click = { .row = at->row,
				   .column = at->column,
				   .rows = screen->terminal.rows,
				   .columns = screen->terminal.columns };
	uint64_t now_ns = delays_now_ns();

	if (at->wheel) {
		top_model_move(&screen->view->model, at->wheel * WHEEL_LINES);
		return TOP_REDRAW;
	}
	click.twice = at->row == screen->click_row && now_ns - screen->click_ns < DOUBLE_CLICK_NS;
	screen->click_row = at->row;
	screen->click_ns = now_ns;
	return top_mouse_click(screen->view, &click);
}

/* What does not work now will not work at the next interval either, and is told then. */
static void sample_threads(struct top_screen *screen)
{
	(void)top_source_feed(screen->source, &screen->view->model, NULL);
	screen->next_ns = delays_now_ns() + first_ns(screen->opts);
}

static void look_at_waits(struct top_screen *screen)
{
	struct top_view *view = screen->view;

	if (view->waits.is_shown && screen->opts->on_waits)
		screen->opts->on_waits(screen->opts->context, view);
}

/* Returns false when it is to end. */
static bool take_keys(struct top_screen *screen)
{
	struct screen_click click;
	int key;

	while ((key = screen_key(&click)) != SCREEN_NO_KEY) {
		enum top_action action = key == SCREEN_MOUSE ? press_mouse(screen, &click)
							     : top_key_press(screen->view, key);

		if (action == TOP_QUIT)
			return false;
		if (action == TOP_CGROUPS)
			top_source_fill_cgroups(&screen->view->model);
		if (action == TOP_SAMPLE)
			sample_threads(screen);
		if (action == TOP_WAITS)
			look_at_waits(screen);
		if (action == TOP_RECORD && !show_one(screen, screen->opts->on_record))
			return false;
		if (action == TOP_STUCK && !show_one(screen, screen->opts->on_stuck))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------ loop */

static int sample(struct top_screen *screen, struct err *err)
{
	uint64_t now_ns = delays_now_ns();
	int rc;

	if (now_ns < screen->next_ns)
		return 0;
	screen->next_ns += screen->opts->interval_ns;
	if (screen->next_ns < now_ns)
		screen->next_ns = now_ns + screen->opts->interval_ns; /* late: do not hurry */
	if (screen->view->paused)
		return 0;
	top_pressure_read(screen->view->pressure);
	top_own_look(&screen->view->own);
	rc = top_source_feed(screen->source, &screen->view->model, err);
	top_model_set_page(&screen->view->model,
			   top_draw_page(screen->view, screen->terminal.rows));
	look_at_waits(screen);
	screen->shown++;
	return rc;
}

static bool wait_for_more(const struct top_screen *screen)
{
	uint64_t now_ns = delays_now_ns();
	bool is_quiet;

	return screen_wait(&screen->terminal,
			   screen->next_ns > now_ns ? screen->next_ns - now_ns : 0, &is_quiet);
}

static int run(struct top_screen *screen, struct err *err)
{
	bool go_on = true;

	while (go_on) {
		int rc = sample(screen, err);

		if (rc < 0)
			return rc;
		if (screen->opts->count && screen->shown >= screen->opts->count)
			return 0;
		draw(screen);
		go_on = wait_for_more(screen) && screen_signals(&screen->terminal) &&
			take_keys(screen);
	}
	return 0;
}

int top_screen_run(struct top_view *view, struct top_source *source,
		   const struct top_screen_opts *opts, struct err *err)
{
	struct top_screen screen = { .view = view, .source = source, .opts = opts };
	int rc = screen_open(&screen.terminal, "use --batch", err);

	view->ascii = screen.terminal.ascii;
	screen.next_ns = delays_now_ns() + first_ns(opts);
	top_own_look(&view->own);
	if (rc == 0)
		rc = run(&screen, err);
	screen_close(&screen.terminal);
	grid_fini(&screen.grid);
	return rc;
}

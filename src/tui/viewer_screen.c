/* viewer_screen.c - holdup view --tui on the terminal: keys in, cells out, and nothing that anybody decides. */
#include "tui/viewer_screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/loaded.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "tui/grid.h"
#include "tui/key.h"
#include "tui/screen.h"
#include "tui/viewer_asker.h"
#include "tui/viewer_draw.h"
#include "tui/viewer_keys.h"
#include "tui/viewer_live.h"
#include "tui/viewer_model.h"
#include "tui/viewer_others.h"
#include "view/answer.h"
#include "view/live.h"

#define INSTEAD	  "use holdup why, or holdup view in a browser"
#define SETTLE_NS UINT64_C(80000000)  /* a cursor that rests so long is explained */
#define AGAIN_NS  UINT64_C(200000000) /* how far the reading is */
#define SOON_NS \
	UINT64_C(250000000) /* the answer is awaited so long, before anything else is drawn */

struct viewer_screen {
	struct viewer *viewer;
	struct screen terminal;
	struct grid grid; /* owned */
	struct viewer_asker
		*asker; /* owned; NULL = the trace can be opened once: keys wait for answers */
	bool has_first; /* answer */
};

int viewer_screen_check(struct err *err)
{
	const char *kind = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, -ENOTTY, "not a terminal; " INSTEAD);
	if (!kind || !*kind || strcmp(kind, "dumb") == 0)
		return err_set(err, -ENOTTY,
			       "this terminal cannot move its cursor (TERM=%s); " INSTEAD,
			       kind ? kind : "");
	return 0;
}

static void draw(struct viewer_screen *screen)
{
	grid_reset(&screen->grid, screen->terminal.rows, screen->terminal.columns);
	viewer_draw(screen->viewer, &screen->grid);
	screen_show(&screen->terminal, &screen->grid);
}

static void click(struct viewer_screen *screen, const struct screen_click *at)
{
	struct viewer *viewer = screen->viewer;
	struct viewer_layout layout;

	if (!viewer_layout(viewer, screen->terminal.rows, screen->terminal.columns, &layout) ||
	    viewer->mode != VIEWER_LOOKING)
		return;
	if (at->wheel)
		viewer_zoom(viewer, at->wheel < 0);
	else
		viewer_draw_click(viewer, &layout, at->row, at->column);
}

static void viewer_screen_explain(struct viewer_screen *screen)
{
	struct viewer *viewer = screen->viewer;

	if (screen->asker) {
		viewer->is_asking = true;
		viewer_asker_ask(screen->asker, VIEWER_FOR_ANSWER, &viewer->wanted, NULL);
		return;
	}
	snprintf(viewer->message, sizeof(viewer->message), "Explaining ...");
	draw(screen);
	viewer->message[0] = '\0';
	viewer_key_explain(viewer);
}

/* What the cursor rests on. */
static void settle(struct viewer_screen *screen)
{
	struct verdict_ask ask;
	struct viewer_spot spot;

	if (!screen->asker)
		(void)viewer_settle(screen->viewer);
	else if (viewer_settle_ask(screen->viewer, &ask, &spot))
		viewer_asker_ask(screen->asker, VIEWER_FOR_CHARGE, &ask, &spot);
}

/* Answers that came. The first one must be one. */
static int take_told(struct viewer_screen *screen, struct err *err)
{
	struct viewer *viewer = screen->viewer;
	struct viewer_told told;
	int rc = 0;

	while (rc == 0 && screen->asker && viewer_asker_take(screen->asker, &told)) {
		if (told.purpose == VIEWER_FOR_CHARGE) {
			viewer_settle_take(viewer, &told.spot, &told.answer);
			continue;
		}
		viewer->is_asking = false;
		if (screen->has_first)
			viewer_key_explained(viewer, &told.ask, told.rc, &told.answer, &told.err);
		else
			rc = viewer_take_first(viewer, &told.ask, told.rc, &told.answer, &told.err);
		screen->has_first = true;
		if (rc < 0)
			*err = told.err;
	}
	return rc;
}

/* Returns false when it is to end. */
static bool take_keys(struct viewer_screen *screen)
{
	struct screen_click at;
	int key;

	while ((key = screen_key(&at)) != SCREEN_NO_KEY) {
		enum viewer_action action = VIEWER_REDRAW;

		if (key == SCREEN_MOUSE)
			click(screen, &at);
		else
			action = viewer_key_press(screen->viewer, key);
		if (action == VIEWER_QUIT)
			return false;
		if (action == VIEWER_EXPLAIN)
			viewer_screen_explain(screen);
	}
	return true;
}

/* What was read of a damaged index may be wrong: it is not shown on. */
static int check_damage(const struct viewer *viewer, struct err *err)
{
	const char *damage = timeline_damage(viewer->timeline);

	return damage ? err_set(err, -EIO,
				"the index is damaged, \"holdup index --force\" rebuilds it: %s",
				damage)
		      : 0;
}

static int run(struct viewer_screen *screen, struct err *err)
{
	int fd = screen->asker ? viewer_asker_fd(screen->asker) : -1, rc = 0;
	bool go_on = true, rests = false;

	while (go_on && rc == 0) {
		uint64_t left_ns = viewer_others_await(screen->viewer) ? AGAIN_NS : UINT64_MAX;

		draw(screen);
		if (!screen_wait_for(&screen->terminal, fd, rests ? left_ns : SETTLE_NS, &rests))
			break;
		if (rests)
			settle(screen);
		rc = take_told(screen, err);
		go_on = screen_signals(&screen->terminal) && take_keys(screen);
		if (rc == 0)
			rc = check_damage(screen->viewer, err);
	}
	return rc;
}

/* By a thread where the trace can be opened twice: a short time it is worth to wait for. */
static int begin(struct viewer_screen *screen, const struct view *view, struct err *err)
{
	struct viewer *viewer = screen->viewer;
	struct err alone = { 0 };
	bool is_quiet;
	int rc;

	if (viewer_asker_new(view, &screen->asker, &alone) < 0)
		return viewer_begin(viewer, view, err);
	rc = viewer_begin_early(viewer, view, err);
	if (rc < 0)
		return rc;
	viewer->is_asking = viewer->asks_later = true;
	viewer_asker_ask(screen->asker, VIEWER_FOR_ANSWER, &viewer->ask, NULL);
	(void)screen_wait_for(&screen->terminal, viewer_asker_fd(screen->asker), SOON_NS,
			      &is_quiet);
	return take_told(screen, err);
}

int viewer_screen_open(struct viewer_screen **out_screen, struct err *err)
{
	struct viewer_screen *screen = xcalloc(1, sizeof(*screen));

	*out_screen = screen;
	return screen_open(&screen->terminal, INSTEAD, err);
}

void viewer_screen_close(struct viewer_screen *screen)
{
	if (!screen)
		return;
	screen_close(&screen->terminal);
	grid_fini(&screen->grid);
	free(screen);
}

int viewer_screen_show(struct viewer_screen *screen, const struct view *view, struct err *err)
{
	int rc;

	screen->viewer = xcalloc(1, sizeof(*screen->viewer));
	rc = begin(screen, view, err);
	screen->viewer->ascii = screen->terminal.ascii;
	if (rc == 0)
		rc = run(screen, err);
	viewer_asker_end(screen->asker);
	screen->asker = NULL;
	viewer_fini(screen->viewer);
	free(screen->viewer);
	screen->viewer = NULL;
	return rc;
}

int viewer_screen_run(const struct view *view, struct err *err)
{
	struct viewer_screen *screen = NULL;
	int rc = viewer_screen_open(&screen, err);

	if (rc == 0)
		rc = viewer_screen_show(screen, view, err);
	viewer_screen_close(screen);
	return rc;
}

/* ------------------------------------------------------- while it is recorded */

struct live_screen {
	struct viewer_screen *screen;
	struct view_live *live;
	struct viewer_live_picture picture, next;
	size_t bytes; /* of the picture; 0 = there is none yet */
	uint32_t count;
	uint32_t ends;	     /* keys that want the end */
	uint32_t interrupts; /* Ctrl-C, of which the recorder hears by itself */
	uint64_t since_ns;
	struct viewer_live_look look;
};

static void draw_live(struct live_screen *live)
{
	struct viewer_screen *screen = live->screen;
	const struct screen *terminal = &screen->terminal;
	size_t bytes = view_live_take(live->live, &live->next, sizeof(live->next));

	if (bytes) {
		live->picture = live->next;
		live->bytes = bytes;
	}
	view_live_want(live->live, viewer_live_width(terminal->columns), live->ends);
	live->look.seconds = (double)(clock_now_ns() - live->since_ns) / 1e9;
	live->look.is_ending = live->ends || live->interrupts;
	live->look.ascii = terminal->ascii;
	grid_reset(&screen->grid, terminal->rows, terminal->columns);
	live->count = viewer_live_draw(&live->picture, live->bytes, &live->look, &screen->grid);
	screen_show(terminal, &screen->grid);
}

static void take_live_key(struct live_screen *live, int key)
{
	int by = key == TUI_KEY_DOWN || key == 'j' ? 1
		 : key == TUI_KEY_UP || key == 'k' ? -1
		 : key == TUI_KEY_PAGE_DOWN	   ? 10
		 : key == TUI_KEY_PAGE_UP	   ? -10
						   : 0;
	int64_t first = (int64_t)live->look.first + by;

	live->ends += key == 'q' || key == TUI_KEY_F10;
	if (first >= 0 && first < live->count)
		live->look.first = (uint32_t)first;
}

int viewer_screen_live(struct viewer_screen *screen, struct view_live *live_of, struct err *err)
{
	struct live_screen *live = xcalloc(1, sizeof(*live));
	struct screen_click click;
	bool is_quiet, go_on = true;
	int rc = 1, key;

	*live = (struct live_screen){ .screen = screen,
				      .live = live_of,
				      .since_ns = clock_now_ns() };
	while (go_on && rc > 0) {
		draw_live(live);
		go_on = screen_wait(&screen->terminal, AGAIN_NS, &is_quiet) &&
			screen_interrupts(&screen->terminal, &live->interrupts);
		while (go_on && (key = screen_key(&click)) != SCREEN_NO_KEY)
			take_live_key(live, key);
		rc = view_live_check(live_of, err);
	}
	free(live);
	return go_on || rc < 0 ? rc : err_set(err, -EINTR, "the terminal has gone");
}

void viewer_screen_say_read(struct viewer_screen *screen, uint64_t done_ns, uint64_t whole_ns)
{
	const struct screen *terminal = &screen->terminal;

	grid_reset(&screen->grid, terminal->rows, terminal->columns);
	grid_printf(&screen->grid, 0, 0, GRID_BAR, " Building the index of the recording ... %s",
		    whole_ns ? text_percent(done_ns, whole_ns).s : "");
	grid_paint(&screen->grid, 0, GRID_BAR);
	screen_show(terminal, &screen->grid);
}

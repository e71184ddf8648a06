/* viewer_screen.c - holdup view --tui on the terminal: keys in, cells out, and nothing that anybody decides. */
#include "tui/viewer_screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/loaded.h"
#include "base/err.h"
#include "tui/grid.h"
#include "tui/screen.h"
#include "tui/viewer_draw.h"
#include "tui/viewer_keys.h"
#include "tui/viewer_model.h"
#include "view/answer.h"

#define INSTEAD	  "use holdup why, or holdup view in a browser"
#define SETTLE_NS UINT64_C(80000000) /* a cursor that rests so long is explained */

struct viewer_screen {
	struct viewer *viewer;
	struct screen terminal;
	struct grid grid; /* owned */
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

static void explain(struct viewer_screen *screen)
{
	snprintf(screen->viewer->message, sizeof(screen->viewer->message), "Explaining ...");
	draw(screen);
	screen->viewer->message[0] = '\0';
	viewer_key_explain(screen->viewer);
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
			explain(screen);
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
	bool go_on = true, rests = false;
	int rc = 0;

	while (go_on && rc == 0) {
		draw(screen);
		if (!screen_wait(&screen->terminal, rests ? UINT64_MAX : SETTLE_NS, &rests))
			break;
		if (rests)
			(void)viewer_settle(screen->viewer);
		go_on = screen_signals(&screen->terminal) && take_keys(screen);
		rc = check_damage(screen->viewer, err);
	}
	return rc;
}

int viewer_screen_run(const struct view *view, struct err *err)
{
	struct viewer viewer;
	struct viewer_screen screen = { .viewer = &viewer };
	int rc = viewer_begin(&viewer, view, err);

	if (rc < 0)
		return rc;
	rc = screen_open(&screen.terminal, INSTEAD, err);
	viewer.ascii = screen.terminal.ascii;
	if (rc == 0)
		rc = run(&screen, err);
	screen_close(&screen.terminal);
	grid_fini(&screen.grid);
	viewer_fini(&viewer);
	return rc;
}

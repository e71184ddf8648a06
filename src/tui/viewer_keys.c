/* viewer_keys.c - keys as a table. Those that move in time are as on the page. */
#include "tui/viewer_keys.h"

#include <stdio.h>
#include <string.h>

#include "analyse/why/why.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "tui/viewer_model.h"
#include "tui/viewer_others.h"
#include "view/answer.h"

struct binding {
	int key;
	enum viewer_action (*run)(struct viewer *viewer, int argument);
	int argument;
};

static enum viewer_action quit(struct viewer *viewer, int unused)
{
	(void)viewer;
	(void)unused;
	return VIEWER_QUIT;
}

static enum viewer_action set_mode(struct viewer *viewer, int mode)
{
	viewer->mode = (enum viewer_mode)mode;
	if (mode == VIEWER_SEARCHING)
		viewer->input[0] = '\0';
	return VIEWER_REDRAW;
}

/* --------------------------------------------------------------------- in time */

static enum viewer_action zoom(struct viewer *viewer, int in)
{
	viewer_zoom(viewer, in != 0);
	return VIEWER_REDRAW;
}

static enum viewer_action pan(struct viewer *viewer, int fifths)
{
	viewer_pan(viewer, fifths);
	return VIEWER_REDRAW;
}

static enum viewer_action fit(struct viewer *viewer, int all)
{
	if (all)
		viewer_look_at_all(viewer);
	else
		viewer_fit(viewer);
	return VIEWER_REDRAW;
}

static enum viewer_action move_cursor(struct viewer *viewer, int columns)
{
	viewer_move_cursor(viewer, columns);
	return VIEWER_REDRAW;
}

static enum viewer_action step_span(struct viewer *viewer, int by)
{
	viewer_step_span(viewer, by);
	return VIEWER_REDRAW;
}

/* ------------------------------------------------------------- causes and lanes */

static size_t moved(size_t at, long by, size_t count)
{
	if (by < 0)
		return at > (size_t)-by ? at - (size_t)-by : 0;
	return at + (size_t)by < count ? at + (size_t)by : count ? count - 1 : 0;
}

static enum viewer_action move(struct viewer *viewer, int by)
{
	const struct why *why = viewer_why(viewer);

	if (viewer->focus == VIEWER_LANES)
		viewer_select_row(viewer, moved(viewer->row, by, viewer->row_count));
	else if (why)
		viewer_select_cause(viewer, moved(viewer->cause, by, why->root_count));
	return VIEWER_REDRAW;
}

static enum viewer_action move_pages(struct viewer *viewer, int pages)
{
	size_t page = viewer->focus == VIEWER_LANES ? viewer->rows_page : viewer->causes_page;

	return move(viewer, pages * (page > 1 ? (int)page - 1 : 1));
}

static enum viewer_action move_to_end(struct viewer *viewer, int direction)
{
	return move(viewer, direction * 1000000);
}

static enum viewer_action other_focus(struct viewer *viewer, int unused)
{
	(void)unused;
	if (viewer->focus == VIEWER_LANES && !viewer_why(viewer))
		return VIEWER_NOTHING;
	viewer->focus = viewer->focus == VIEWER_LANES ? VIEWER_CAUSES : VIEWER_LANES;
	return VIEWER_REDRAW;
}

/* On a heading: fold. On a cause: to where it was. */
static enum viewer_action enter(struct viewer *viewer, int unused)
{
	const struct viewer_row *row = viewer_row(viewer);

	if (viewer->focus == VIEWER_CAUSES) {
		viewer_select_cause(viewer, viewer->cause);
		return other_focus(viewer, unused);
	}
	if (row && !viewer_lane(row).kind) {
		viewer_toggle_row(viewer);
		return VIEWER_REDRAW;
	}
	return other_focus(viewer, unused);
}

static enum viewer_action toggle_all(struct viewer *viewer, int unused)
{
	(void)unused;
	viewer->all = !viewer->all;
	viewer_rows_build(viewer);
	return VIEWER_REDRAW;
}

static enum viewer_action toggle_others(struct viewer *viewer, int unused)
{
	(void)unused;
	viewer_others_toggle(viewer);
	return VIEWER_REDRAW;
}

/* ---------------------------------------------------------------- chain, search */

static enum viewer_action toggle_chain(struct viewer *viewer, int unused)
{
	(void)unused;
	if (viewer->chain.shown)
		viewer_chain_hide(viewer);
	else
		viewer_chain_show(viewer);
	return VIEWER_REDRAW;
}

static enum viewer_action step_chain(struct viewer *viewer, int by)
{
	viewer_chain_step(viewer, by);
	return VIEWER_REDRAW;
}

static enum viewer_action step_wait(struct viewer *viewer, int by)
{
	viewer_chain_wait(viewer, by);
	return VIEWER_REDRAW;
}

static enum viewer_action step_found(struct viewer *viewer, int by)
{
	viewer_find_step(viewer, by);
	return VIEWER_REDRAW;
}

static enum viewer_action escape(struct viewer *viewer, int unused)
{
	(void)unused;
	viewer_chain_hide(viewer);
	return VIEWER_REDRAW;
}

/* ---------------------------------------------------------------------- explain */

static enum viewer_action explain(struct viewer *viewer, int of_command)
{
	if (!of_command && viewer_lane(viewer_row(viewer)).kind != 't') {
		snprintf(viewer->message, sizeof(viewer->message),
			 "select the lane of a thread first");
		return VIEWER_REDRAW;
	}
	viewer->wanted = (struct verdict_ask){ viewer->view->from_ns, viewer->view->to_ns, 0 };
	if (!of_command)
		viewer->wanted = (struct verdict_ask){ viewer->from_ns, viewer->to_ns,
						       viewer_row(viewer)->index + 1 };
	return VIEWER_EXPLAIN;
}

void viewer_key_explained(struct viewer *viewer, const struct verdict_ask *ask, int rc,
			  const struct explanation *answer, const struct err *err)
{
	if (viewer_take_answer(viewer, ask, rc, answer, err) < 0) {
		AUTO_FREE char *safe = text_escaped(err->text);

		snprintf(viewer->message, sizeof(viewer->message), "%.180s", safe);
		return;
	}
	viewer->focus = viewer_why(viewer) ? VIEWER_CAUSES : VIEWER_LANES;
	viewer_select_cause(viewer, 0);
}

void viewer_key_explain(struct viewer *viewer)
{
	struct explanation answer = { 0 };
	struct err err = { 0 };
	int rc = verdict_of(viewer->view, &viewer->wanted, &answer, &err);

	viewer_key_explained(viewer, &viewer->wanted, rc, &answer, &err);
}

static const struct binding bindings[] = {
	{ 'w', zoom, 1 },
	{ '+', zoom, 1 },
	{ '=', zoom, 1 },
	{ 's', zoom, 0 },
	{ '-', zoom, 0 },
	{ 'a', pan, -1 },
	{ TUI_KEY_LEFT, pan, -1 },
	{ 'd', pan, 1 },
	{ TUI_KEY_RIGHT, pan, 1 },
	{ 'f', fit, 0 },
	{ '0', fit, 1 },
	{ 'h', move_cursor, -1 },
	{ 'l', move_cursor, 1 },
	{ ',', step_span, -1 },
	{ '.', step_span, 1 },
	{ TUI_KEY_UP, move, -1 },
	{ 'k', move, -1 },
	{ TUI_KEY_DOWN, move, 1 },
	{ 'j', move, 1 },
	{ TUI_KEY_PAGE_UP, move_pages, -1 },
	{ TUI_KEY_PAGE_DOWN, move_pages, 1 },
	{ TUI_KEY_HOME, move_to_end, -1 },
	{ TUI_KEY_END, move_to_end, 1 },
	{ TUI_KEY_TAB, other_focus },
	{ TUI_KEY_ENTER, enter },
	{ 'u', toggle_all },
	{ 'o', toggle_others },
	{ 'c', toggle_chain },
	{ '[', step_chain, -1 },
	{ ']', step_chain, 1 },
	{ '{', step_wait, -1 },
	{ '}', step_wait, 1 },
	{ TUI_KEY_ESCAPE, escape },
	{ 'e', explain, 0 },
	{ 'E', explain, 1 },
	{ '/', set_mode, VIEWER_SEARCHING },
	{ 'n', step_found, 1 },
	{ 'N', step_found, -1 },
	{ 'p', step_found, -1 },
	{ '?', set_mode, VIEWER_HELPING },
	{ TUI_KEY_F1, set_mode, VIEWER_HELPING },
	{ 'q', quit },
	{ TUI_KEY_F10, quit },
};

static enum viewer_action press(struct viewer *viewer, int key)
{
	for (size_t i = 0; i < ARRAY_LEN(bindings); i++) {
		if (bindings[i].key == key)
			return bindings[i].run(viewer, bindings[i].argument);
	}
	return VIEWER_NOTHING;
}

static enum viewer_action type_search(struct viewer *viewer, int key)
{
	if (key == TUI_KEY_ESCAPE)
		viewer->input[0] = '\0';
	if (key == TUI_KEY_ESCAPE || key == TUI_KEY_ENTER)
		viewer->mode = VIEWER_LOOKING;
	else
		return tui_key_edit(viewer->input, sizeof(viewer->input), key) ? VIEWER_REDRAW
									       : VIEWER_NOTHING;
	if (key == TUI_KEY_ENTER)
		viewer_find(viewer);
	return VIEWER_REDRAW;
}

enum viewer_action viewer_key_press(struct viewer *viewer, int key)
{
	viewer->message[0] = '\0';
	viewer->is_touched = true;
	if (viewer->mode == VIEWER_HELPING)
		return set_mode(viewer, VIEWER_LOOKING);
	return viewer->mode == VIEWER_SEARCHING ? type_search(viewer, key) : press(viewer, key);
}

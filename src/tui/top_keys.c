/* top_keys.c - keys as tables, one for each screen. */
#include "tui/top_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tui/top_draw.h"
#include "tui/top_model.h"

struct binding {
	int key;
	enum top_action (*run)(struct top_view *view, int argument);
	int argument;
};

static enum top_action quit(struct top_view *view, int unused)
{
	(void)view;
	(void)unused;
	return TOP_QUIT;
}

static enum top_action set_mode(struct top_view *view, int mode)
{
	view->mode = (enum top_mode)mode;
	view->input[0] = '\0';
	view->menu_at = view->model.sort;
	return TOP_REDRAW;
}

/* -------------------------------------------------------------------- the list */

static enum top_action move(struct top_view *view, int lines)
{
	top_model_move(&view->model, lines);
	return TOP_REDRAW;
}

static enum top_action move_pages(struct top_view *view, int pages)
{
	long page = view->model.page > 1 ? (long)view->model.page : 1;

	top_model_move(&view->model, pages * page);
	return TOP_REDRAW;
}

static enum top_action move_to_end(struct top_view *view, int direction)
{
	top_model_move(&view->model, direction * (long)view->model.line_count);
	return TOP_REDRAW;
}

static enum top_action sort_by(struct top_view *view, int sort)
{
	view->model.sort = (enum top_sort)sort;
	top_model_rebuild(&view->model);
	return TOP_REDRAW;
}

static enum top_action toggle(struct top_view *view, int key)
{
	struct top_model *model = &view->model;
	bool *what = key == 't'	  ? &model->tree
		     : key == 'H' ? &model->threads
		     : key == 'c' ? &model->cgroups
		     : key == 'I' ? &model->backwards
				  : &view->paused;

	*what = !*what;
	if (key == 't' && model->tree)
		model->cgroups = false;
	top_model_rebuild(model);
	if (key == 'H')
		return TOP_SAMPLE;
	return key == 'c' && model->cgroups ? TOP_CGROUPS : TOP_REDRAW;
}

static enum top_action fold(struct top_view *view, int unused)
{
	(void)unused;
	top_model_fold(&view->model);
	return TOP_REDRAW;
}

static enum top_action follow(struct top_view *view, int unused)
{
	const struct top_line *line = top_model_selected(&view->model);

	(void)unused;
	if (line && line->is_group)
		return fold(view, 0);
	if (!top_model_follow(&view->model))
		return TOP_NOTHING;
	return set_mode(view, TOP_FOLLOWING);
}

static enum top_action ask_of_one(struct top_view *view, int action)
{
	const struct top_line *line = top_model_selected(&view->model);

	if (view->mode == TOP_FOLLOWING && !view->model.followed_ended)
		return (enum top_action)action;
	if (view->mode == TOP_LISTING && line && !line->is_group)
		return (enum top_action)action;
	snprintf(view->message, sizeof(view->message), "no living task is selected");
	return TOP_REDRAW;
}

static enum top_action show_waits(struct top_view *view, int unused)
{
	(void)unused;
	view->waits.is_shown = !view->waits.is_shown;
	return view->waits.is_shown ? TOP_WAITS : TOP_REDRAW;
}

static enum top_action find_next(struct top_view *view, int unused)
{
	(void)unused;
	if (!top_model_find(&view->model, view->input, true))
		snprintf(view->message, sizeof(view->message), "not found");
	return TOP_REDRAW;
}

static const struct binding list_keys[] = {
	{ TUI_KEY_UP, move, -1 },
	{ TUI_KEY_DOWN, move, 1 },
	{ TUI_KEY_PAGE_UP, move_pages, -1 },
	{ TUI_KEY_PAGE_DOWN, move_pages, 1 },
	{ TUI_KEY_HOME, move_to_end, -1 },
	{ TUI_KEY_END, move_to_end, 1 },
	{ TUI_KEY_ENTER, follow },
	{ TUI_KEY_F1, set_mode, TOP_HELPING },
	{ 'h', set_mode, TOP_HELPING },
	{ '?', set_mode, TOP_HELPING },
	{ TUI_KEY_F3, set_mode, TOP_SEARCHING },
	{ '/', set_mode, TOP_SEARCHING },
	{ 'n', find_next },
	{ TUI_KEY_F4, set_mode, TOP_FILTERING },
	{ '\\', set_mode, TOP_FILTERING },
	{ TUI_KEY_F5, toggle, 't' },
	{ 't', toggle, 't' },
	{ TUI_KEY_F6, set_mode, TOP_SORTING },
	{ '<', set_mode, TOP_SORTING },
	{ '>', set_mode, TOP_SORTING },
	{ '+', fold },
	{ '-', fold },
	{ 'H', toggle, 'H' },
	{ 'c', toggle, 'c' },
	{ 'I', toggle, 'I' },
	{ 'p', toggle, 'p' },
	{ ' ', toggle, 'p' },
	{ 'W', sort_by, TOP_SORT_WAITED },
	{ 'P', sort_by, TOP_SORT_RUN },
	{ 'C', sort_by, TOP_SORT_CPU },
	{ 'D', sort_by, TOP_SORT_DISK },
	{ 'M', sort_by, TOP_SORT_MEMORY },
	{ 'N', sort_by, TOP_SORT_PID },
	{ 'w', show_waits },
	{ 's', ask_of_one, TOP_STUCK },
	{ 'r', ask_of_one, TOP_RECORD },
	{ 'q', quit },
	{ TUI_KEY_F10, quit },
};

/* ----------------------------------------------------------- the other screens */

static enum top_action unfollow(struct top_view *view, int unused)
{
	(void)unused;
	top_model_unfollow(&view->model);
	return set_mode(view, TOP_LISTING);
}

static const struct binding followed_keys[] = {
	{ TUI_KEY_ESCAPE, unfollow },
	{ TUI_KEY_ENTER, unfollow },
	{ 'r', ask_of_one, TOP_RECORD },
	{ 's', ask_of_one, TOP_STUCK },
	{ 'p', toggle, 'p' },
	{ ' ', toggle, 'p' },
	{ 'q', quit },
	{ TUI_KEY_F10, quit },
};

static enum top_action move_menu(struct top_view *view, int by)
{
	view->menu_at = (view->menu_at + TOP_SORTS + (size_t)by) % TOP_SORTS;
	return TOP_REDRAW;
}

static enum top_action choose(struct top_view *view, int unused)
{
	(void)unused;
	view->mode = TOP_LISTING;
	return sort_by(view, (int)view->menu_at);
}

static const struct binding menu_keys[] = {
	{ TUI_KEY_UP, move_menu, TOP_SORTS - 1 },
	{ TUI_KEY_DOWN, move_menu, 1 },
	{ TUI_KEY_ENTER, choose },
	{ TUI_KEY_ESCAPE, set_mode, TOP_LISTING },
	{ 'q', set_mode, TOP_LISTING },
};

static enum top_action press(const struct binding *keys, size_t count, struct top_view *view,
			     int key)
{
	for (size_t i = 0; i < count; i++) {
		if (keys[i].key == key)
			return keys[i].run(view, keys[i].argument);
	}
	return TOP_NOTHING;
}

/* ---------------------------------------------------------------------- typing */

static enum top_action type_filter(struct top_view *view, int key)
{
	if (key == TUI_KEY_ESCAPE)
		view->model.filter[0] = '\0';
	if (key == TUI_KEY_ESCAPE || key == TUI_KEY_ENTER)
		view->mode = TOP_LISTING;
	else if (!tui_key_edit(view->model.filter, TOP_TEXT_BYTES, key))
		return TOP_NOTHING;
	top_model_rebuild(&view->model);
	return TOP_REDRAW;
}

static enum top_action type_search(struct top_view *view, int key)
{
	bool again = key == TUI_KEY_F3 || key == TUI_KEY_DOWN;

	if (key == TUI_KEY_ESCAPE || key == TUI_KEY_ENTER) {
		view->mode = TOP_LISTING;
		return TOP_REDRAW;
	}
	if (!again && !tui_key_edit(view->input, TOP_TEXT_BYTES, key))
		return TOP_NOTHING;
	if (!top_model_find(&view->model, view->input, again) && view->input[0])
		snprintf(view->message, sizeof(view->message), "not found");
	return TOP_REDRAW;
}

enum top_action top_key_press(struct top_view *view, int key)
{
	view->message[0] = '\0';
	switch (view->mode) {
	case TOP_HELPING:
		return set_mode(view, TOP_LISTING);
	case TOP_SORTING:
		return press(menu_keys, ARRAY_LEN(menu_keys), view, key);
	case TOP_SEARCHING:
		return type_search(view, key);
	case TOP_FILTERING:
		return type_filter(view, key);
	case TOP_FOLLOWING:
		return press(followed_keys, ARRAY_LEN(followed_keys), view, key);
	default:
		return press(list_keys, ARRAY_LEN(list_keys), view, key);
	}
}

/* ----------------------------------------------------------------------- mouse */

static enum top_action click_menu(struct top_view *view, size_t line)
{
	if (line < TOP_SORTS) {
		view->menu_at = line;
		return choose(view, 0);
	}
	return set_mode(view, TOP_LISTING);
}

/* Again on the same title: the other way. */
static enum top_action click_title(struct top_view *view, const struct top_click *click)
{
	enum top_sort sort;

	if (!top_draw_sort_at(view, click->columns, click->column, &sort))
		return TOP_NOTHING;
	if (sort == view->model.sort)
		return toggle(view, 'I');
	view->model.backwards = false;
	return sort_by(view, (int)sort);
}

enum top_action top_mouse_click(struct top_view *view, const struct top_click *click)
{
	int head = top_draw_head(view);
	size_t line = (size_t)(click->row >= head ? click->row - head : 0);

	if (view->mode == TOP_HELPING)
		return set_mode(view, TOP_LISTING);
	if (view->mode == TOP_SORTING && click->row >= head)
		return click_menu(view, line);
	if (view->mode != TOP_LISTING)
		return TOP_NOTHING;
	if (click->row == click->rows - 1)
		return top_key_press(view, top_draw_key_at(click->column));
	if (click->row == head - 1)
		return click_title(view, click);
	if (click->row < head)
		return TOP_NOTHING;
	line += view->model.first;
	top_model_select(&view->model, line);
	return click->twice && line < view->model.line_count ? follow(view, 0) : TOP_REDRAW;
}

/* top_draw.c - the head, the list and the keys; the other screens are in top_pages.c. */
#include "tui/top_draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "tui/grid.h"
#include "tui/top_keys.h"
#include "tui/top_pages.h"

#define BAR_CELLS  20
#define OWN_ROW	   3  /* of the program's own cost */
#define NAME_CELLS 11 /* of a name in a tree, with the sign before it */

enum column_kind {
	COLUMN_PID,
	COLUMN_THREADS,
	COLUMN_SHARE, /* + enum top_time in 'time' */
	COLUMN_READ,
	COLUMN_WRITE,
	COLUMN_SWITCHES,
	COLUMN_BAR,
	COLUMN_COMMAND,
	COLUMN_WAITS, /* where it is asked for */
};

#define WAITS_CELLS   60 /* that others then leave to it */
#define COMMAND_CELLS 18 /* beside it */

/* Right-aligned in their width, but for the last four. */
struct column {
	enum column_kind kind;
	const char *title;
	int width;
	int from_columns; /* shown on screens of at least so many columns */
	enum top_sort sort;
	enum top_time time;
};

static const struct column columns[] = {
	{ COLUMN_PID, "PID", 7, 0, TOP_SORT_PID },
	{ COLUMN_THREADS, "THR", 5, 58, TOP_SORT_THREADS },
	{ COLUMN_SHARE, "RUN%", 6, 0, TOP_SORT_RUN, TOP_RUN },
	{ COLUMN_SHARE, "CPU%", 6, 0, TOP_SORT_CPU, TOP_CPU },
	{ COLUMN_SHARE, "DISK%", 6, 0, TOP_SORT_DISK, TOP_DISK },
	{ COLUMN_SHARE, "MEM%", 6, 46, TOP_SORT_MEMORY, TOP_MEMORY },
	{ COLUMN_SHARE, "ELSE%", 6, 52, TOP_SORT_OTHER, TOP_OTHER },
	{ COLUMN_READ, "READ/s", 10, 76, TOP_SORT_READ },
	{ COLUMN_WRITE, "WRITE/s", 10, 76, TOP_SORT_WRITE },
	{ COLUMN_SWITCHES, "SWITCH/s", 10, 100, TOP_SORT_SWITCHES },
	{ COLUMN_BAR, "RAN, WAITED", BAR_CELLS + 1, 130, TOP_SORT_WAITED },
	{ COLUMN_COMMAND, "COMMAND", 0, 0, TOP_SORT_COMMAND },
	{ COLUMN_WAITS, "WAITS FOR", 0, 0, TOP_SORT_WAITED },
};

struct foot_key {
	const char *key;
	const char *what;
	int code;
};

static const struct foot_key foot_keys[] = {
	{ "F1", "Help", TUI_KEY_F1 },	{ "F3", "Find", TUI_KEY_F3 },
	{ "F4", "Filter", TUI_KEY_F4 }, { "t", "Tree", 't' },
	{ "F6", "Sort", TUI_KEY_F6 },	{ "H", "Threads", 'H' },
	{ "c", "Group", 'c' },		{ "Enter", "One", TUI_KEY_ENTER },
	{ "w", "Chain", 'w' },		{ "r", "Why", 'r' },
	{ "q", "Quit", 'q' },
};

/* ------------------------------------------------------------------------ head */

static void draw_title(const struct top_view *view, struct grid *grid)
{
	const struct top_model *model = &view->model;
	AUTO_FREE char *filter = text_escaped(model->filter);
	int at = grid_printf(grid, 0, 0, GRID_BOLD, "holdup top");

	at = grid_printf(grid, 0, at, GRID_PLAIN, " - %zu processes", model->process_count);
	if (model->threads && model->task_count > model->process_count)
		at = grid_printf(grid, 0, at, GRID_PLAIN, ", %zu threads",
				 model->task_count - model->process_count);
	at = grid_printf(grid, 0, at, GRID_PLAIN, ", every %.3g s, by %s%s%s", view->interval_s,
			 top_sort_name(model->sort), model->backwards ? ", smallest first" : "",
			 view->paused ? ", PAUSED" : "");
	if (view->waits.is_shown && (double)view->waits.every_ns > view->interval_s * 1e9)
		at = grid_printf(grid, 0, at, GRID_PLAIN, ", chains every %s",
				 text_duration(view->waits.every_ns).s);
	if (model->filter[0])
		grid_printf(grid, 0, at, GRID_BOLD, ", only \"%s\"", filter);
}

static void draw_averages(const struct top_view *view, struct grid *grid)
{
	const double *average = view->model.average;

	if (!view->model.span_ns) {
		grid_put(grid, 1, 0, GRID_PLAIN, "Threads: measuring ...");
		return;
	}
	grid_printf(grid, 1, 0, GRID_PLAIN,
		    "Threads: %.2f running, %.2f waiting for a CPU, %.2f for disk, %.2f for memory",
		    average[TOP_RUN], average[TOP_CPU], average[TOP_DISK], average[TOP_MEMORY]);
}

/* Some held up, and all held up. */
static int draw_pressure(const struct top_pressure *pressure, const char *name, int at,
			 struct grid *grid)
{
	if (!pressure->is_there)
		return grid_printf(grid, 2, at, GRID_DIM, "  %s -", name);
	at = grid_printf(grid, 2, at, GRID_PLAIN, "  %s %.1f", name, pressure->some);
	if (pressure->full >= 0)
		at = grid_printf(grid, 2, at, GRID_PLAIN, "/%.1f", pressure->full);
	return at;
}

static void draw_pressures(const struct top_view *view, struct grid *grid)
{
	static const char *const names[] = { "cpu", "io", "memory" };
	bool is_any = false;
	int at;

	for (int i = 0; i < TOP_PRESSURES; i++)
		is_any = is_any || view->pressure[i].is_there;
	if (!is_any) {
		grid_put(grid, 2, 0, GRID_DIM, "PSI: this kernel has no /proc/pressure");
		return;
	}
	at = grid_put(grid, 2, 0, GRID_PLAIN, "PSI, % of 10 s, some/full:");
	for (int i = 0; i < TOP_PRESSURES; i++)
		at = draw_pressure(&view->pressure[i], names[i], at, grid);
}

static void draw_own(const struct top_view *view, struct grid *grid)
{
	const struct top_own *own = &view->own;

	if (!own->span_ns)
		grid_put(grid, OWN_ROW, 0, GRID_PLAIN, "Top itself: measuring ...");
	else
		grid_printf(grid, OWN_ROW, 0, GRID_PLAIN, "Top itself: %.1f %% of a CPU",
			    100 * (double)own->used_ns / (double)own->span_ns);
}

int top_draw_head(const struct top_view *view)
{
	return OWN_ROW + (view->note && view->note[0] ? 3 : 2);
}

size_t top_draw_page(const struct top_view *view, int rows)
{
	int page = rows - top_draw_head(view) - !view->batch;

	return page > 0 ? (size_t)page : 0;
}

static int width_of(const struct top_view *view, const struct column *column, int screen, int at)
{
	bool waits = view->waits.is_shown;
	int left = screen > at ? screen - at : 0;

	if (column->kind == COLUMN_WAITS)
		return waits ? left : 0;
	if (column->kind == COLUMN_COMMAND)
		return waits && left > COMMAND_CELLS ? COMMAND_CELLS : left;
	if (column->from_columns && screen < column->from_columns + (waits ? WAITS_CELLS : 0))
		return 0;
	return column->width;
}

static bool is_left(const struct column *column)
{
	return column->kind >= COLUMN_BAR;
}

static void draw_titles(const struct top_view *view, struct grid *grid)
{
	int row = top_draw_head(view) - 1, at = 0;

	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		const struct column *column = &columns[i];
		int width = width_of(view, column, grid->columns, at);

		if (width > 0 && is_left(column))
			grid_put(grid, row, at + 1, GRID_BAR, column->title);
		else if (width > 0)
			grid_printf(grid, row, at, GRID_BAR, "%*s", width, column->title);
		at += width;
	}
	grid_paint(grid, row, GRID_BAR);
}

bool top_draw_sort_at(const struct top_view *view, int screen, int column, enum top_sort *out_sort)
{
	int at = 0;

	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		int width = width_of(view, &columns[i], screen, at);

		if (column >= at && column < at + width) {
			*out_sort = columns[i].sort;
			return true;
		}
		at += width;
	}
	return false;
}

/* ----------------------------------------------------------------------- lines */

/* What all cells of a line need. */
struct drawn {
	const struct top_line *line;
	uint64_t permille[TOP_TIMES];
	uint64_t span_ns;
};

static void format_rate(char *text, size_t bytes, uint64_t count, uint64_t span_ns)
{
	double rate = span_ns ? (double)count * 1e9 / (double)span_ns : 0;
	uint64_t each_s = rate < 0x1p64 ? (uint64_t)rate : UINT64_MAX;

	snprintf(text, bytes, "%s", each_s ? text_size(each_s).s : count ? "<1 B" : "0");
}

/* In four columns. */
static void format_count(char *text, size_t bytes, uint32_t count)
{
	if (count < 10000)
		snprintf(text, bytes, "%u", count);
	else if (count < 1000000)
		snprintf(text, bytes, "%uk", count / 1000);
	else
		snprintf(text, bytes, "%uM", count / 1000000);
}

static void format_cell(const struct column *column, const struct drawn *drawn, char *text,
			size_t bytes)
{
	const struct top_task *task = drawn->line->task;
	uint64_t span_ns = drawn->span_ns;

	snprintf(text, bytes, "-");
	if (column->kind == COLUMN_PID && task->tid)
		snprintf(text, bytes, "%d", task->tid);
	else if (column->kind == COLUMN_PID)
		text[0] = '\0';
	else if (column->kind == COLUMN_THREADS && (task->is_process || drawn->line->is_group))
		format_count(text, bytes, task->threads);
	else if (column->kind == COLUMN_SHARE && task->known & 1u << column->time)
		snprintf(text, bytes, "%.1f", (double)drawn->permille[column->time] / 10);
	else if (column->kind == COLUMN_READ && task->has_io)
		format_rate(text, bytes, task->read_bytes, span_ns);
	else if (column->kind == COLUMN_WRITE && task->has_io)
		format_rate(text, bytes, task->write_bytes, span_ns);
	else if (column->kind == COLUMN_SWITCHES && span_ns)
		snprintf(text, bytes, "%.0f", (double)task->switches * 1e9 / (double)span_ns);
}

static void draw_bar(struct grid *grid, int row, int at, const struct drawn *drawn)
{
	static const char *const letters[TOP_TIMES] = { "R", "C", "D", "M", "." };
	uint64_t cells[TOP_TIMES];

	text_apportion(drawn->permille, TOP_TIMES, BAR_CELLS, cells);
	at++;
	for (int time = 0; time < TOP_TIMES; time++) {
		for (uint64_t i = 0; i < cells[time]; i++)
			at = grid_put(grid, row, at, (enum grid_style)(GRID_TIMES + time),
				      letters[time]);
	}
}

/* Up to column 'end'. */
static void draw_command(struct grid *grid, int row, int at, int end, const struct top_line *line)
{
	const struct top_task *task = line->task;
	const char *plain = line->is_group && !task->cgroup[0] ? "(cgroup unknown)"
			    : line->is_group		       ? task->cgroup
							       : task->name;
	AUTO_FREE char *name = text_escaped(plain);
	int depth = line->depth < 30 ? (int)line->depth : 30;
	int room = end - at - 1 - NAME_CELLS;
	const char *sign = !line->below ? "" : line->folded ? "+ " : "- ";

	/* A name is worth more than how deep it is. */
	if (2 * depth > room)
		depth = room > 0 ? room / 2 : 0;
	at += 1 + 2 * depth;
	at = grid_put(grid, row, at, GRID_PLAIN, sign);
	at = grid_put(grid, row, at, line->is_group ? GRID_BOLD : GRID_PLAIN, name);
	if (line->is_group || line->folded)
		grid_printf(grid, row, at, GRID_PLAIN, " (%u)", line->below);
}

/* Over what is left of a long name. */
static void draw_waits(const struct top_view *view, struct grid *grid, int row, int at,
		       const struct top_task *task)
{
	const struct top_wait *wait = top_waits_of(&view->waits, task);
	AUTO_FREE char *text = text_escaped(wait ? wait->text : "");

	for (int column = at; column < grid->columns; column++)
		grid_put(grid, row, column, GRID_PLAIN, " ");
	grid_put(grid, row, at + 1, wait && wait->is_deadlock ? GRID_WARNING : GRID_PLAIN, text);
}

static enum grid_style style_of(const struct column *column, const struct drawn *drawn)
{
	if (column->kind != COLUMN_SHARE)
		return GRID_PLAIN;
	return drawn->permille[column->time] ? (enum grid_style)(GRID_TIMES + column->time)
					     : GRID_DIM;
}

static void draw_line(const struct top_view *view, struct grid *grid, int row,
		      const struct top_line *line)
{
	struct drawn drawn = { .line = line, .span_ns = view->model.span_ns };
	int at = 0;

	top_task_shares(line->task, drawn.permille);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		const struct column *column = &columns[i];
		int width = width_of(view, column, grid->columns, at);
		char text[48];

		if (width > 0 && column->kind == COLUMN_BAR) {
			draw_bar(grid, row, at, &drawn);
		} else if (width > 0 && column->kind == COLUMN_COMMAND) {
			draw_command(grid, row, at, at + width, line);
		} else if (width > 0 && column->kind == COLUMN_WAITS) {
			draw_waits(view, grid, row, at, line->task);
		} else if (width > 0) {
			format_cell(column, &drawn, text, sizeof(text));
			grid_printf(grid, row, at, style_of(column, &drawn), "%*s", width, text);
		}
		at += width;
	}
}

static void draw_lines(const struct top_view *view, struct grid *grid)
{
	const struct top_model *model = &view->model;
	size_t page = top_draw_page(view, grid->rows);
	int row = top_draw_head(view);

	for (size_t i = model->first; i < model->line_count && i < model->first + page; i++) {
		draw_line(view, grid, row, &model->lines[i]);
		if (i == model->selected && !view->batch)
			grid_paint(grid, row, GRID_SELECTED);
		row++;
	}
	if (model->line_count == 0 && model->span_ns && page)
		grid_put(grid, row, 1, GRID_DIM,
			 model->threads && !model->filter[0] ? "measuring ..." : "nothing to show");
}

/* ------------------------------------------------------------------------ keys */

int top_draw_key_at(int column)
{
	int at = 0;

	for (size_t i = 0; i < ARRAY_LEN(foot_keys); i++) {
		int end = at + (int)strlen(foot_keys[i].key) + (int)strlen(foot_keys[i].what) + 1;

		if (column >= at && column < end)
			return foot_keys[i].code;
		at = end;
	}
	return 0;
}

static void draw_keys(struct grid *grid, int row)
{
	int at = 0;

	grid_paint(grid, row, GRID_BAR);
	for (size_t i = 0; i < ARRAY_LEN(foot_keys); i++) {
		at = grid_put(grid, row, at, GRID_BOLD, foot_keys[i].key);
		at = grid_printf(grid, row, at, GRID_BAR, "%s ", foot_keys[i].what);
	}
}

static void draw_foot(const struct top_view *view, struct grid *grid)
{
	const char *text = view->mode == TOP_FILTERING ? view->model.filter : view->input;
	AUTO_FREE char *typed = text_escaped(text);
	int row = grid->rows - 1;

	switch (view->mode) {
	case TOP_SEARCHING:
	case TOP_FILTERING:
		grid_printf(grid, row, 0, GRID_BOLD, "%s: %s_   Enter: done  Esc: none  %s",
			    view->mode == TOP_FILTERING ? "Filter" : "Find (F3: next)", typed,
			    view->message);
		break;
	case TOP_HELPING:
		grid_put(grid, row, 0, GRID_BOLD, "any key: back");
		break;
	case TOP_SORTING:
		grid_put(grid, row, 0, GRID_BOLD, "Enter: sort by this  Esc: back");
		break;
	case TOP_FOLLOWING:
		grid_printf(grid, row, 0, GRID_BOLD,
			    "s: stuck  r: record and explain  Esc: back  q: quit  %s",
			    view->message);
		break;
	default:
		if (view->message[0])
			grid_put(grid, row, 0, GRID_WARNING, view->message);
		else
			draw_keys(grid, row);
	}
}

void top_draw(const struct top_view *view, struct grid *grid)
{
	draw_title(view, grid);
	draw_averages(view, grid);
	draw_pressures(view, grid);
	draw_own(view, grid);
	if (view->note && view->note[0])
		grid_put(grid, OWN_ROW + 1, 0, GRID_WARNING, view->note);
	if (view->mode == TOP_HELPING) {
		top_draw_help(view, grid);
	} else if (view->mode == TOP_FOLLOWING) {
		top_draw_followed(view, grid);
	} else {
		draw_titles(view, grid);
		draw_lines(view, grid);
	}
	if (view->mode == TOP_SORTING)
		top_draw_menu(view, grid);
	if (view->batch)
		return;
	for (int i = 0; i < grid->columns; i++)
		grid_put(grid, grid->rows - 1, i, GRID_PLAIN, " ");
	draw_foot(view, grid);
}

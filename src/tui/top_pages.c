/* top_pages.c - help, the menu of orders, one task. */
#include "tui/top_pages.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "tui/grid.h"
#include "tui/top_draw.h"

#define LABEL_COLUMNS 15
#define SPARK_COLUMN  26

static const char *const help_lines[] = {
	"RUN%    share of the last interval on a CPU; of a process: over all its threads",
	"CPU%    runnable, waiting for a CPU",
	"DISK%   blocked for a disk",
	"MEM%    swap-in, thrashing, reclaim, compaction of memory",
	"ELSE%   the rest: asleep, or blocked for anything else;   - is not counted",
	"",
	"Up Down PgUp PgDn Home End    select a task; the mouse and its wheel also work",
	"Enter   show the task: current wait and times as lines; on a group: fold",
	"w       column: what the task waits for, and whom     s    stuck: details now",
	"r       record the system for 5 s, then explain the task's waits (needs root)",
	"F3 /    find     F4 \\    filter     n    find the next",
	"F5 t    tree     + -     unfold, fold a subtree",
	"F6 < >  menu of sort orders; or click on a title",
	"P C D M N  sort by run, CPU, disk, memory, ID;  W: waited;  I: reverse order",
	"H       threads instead of processes",
	"c       by cgroup",
	"p Space pause, resume    q F10   quit",
};

void top_draw_help(const struct top_view *view, struct grid *grid)
{
	int row = top_draw_head(view);

	for (size_t i = 0; i < ARRAY_LEN(help_lines); i++)
		grid_put(grid, row + (int)i, 0, GRID_PLAIN, help_lines[i]);
}

void top_draw_menu(const struct top_view *view, struct grid *grid)
{
	int row = top_draw_head(view);

	grid_printf(grid, row - 1, 0, GRID_BOLD, " %-12s", "Sort by");
	for (size_t i = 0; i < TOP_SORTS; i++)
		grid_printf(grid, row + (int)i, 0, i == view->menu_at ? GRID_SELECTED : GRID_BAR,
			    " %-12s", top_sort_name((enum top_sort)i));
}

/* ------------------------------------------------------------------- followed */

static int draw_fact(struct grid *grid, int row, const char *label, const char *text)
{
	AUTO_FREE char *safe = text_escaped(text);

	grid_put(grid, row, 1, GRID_DIM, label);
	grid_put(grid, row, LABEL_COLUMNS, GRID_PLAIN, safe);
	return row + 1;
}

static const char *spark(uint8_t percent, bool ascii)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const letters[] = { " ", ".", ".", ":", "-", "=", "+", "*", "#" };
	size_t level = percent >= 100 ? 8 : percent == 0 ? 0 : 1 + percent * 8u / 101;

	return ascii ? letters[level] : blocks[level];
}

static void draw_spark(const struct top_view *view, struct grid *grid, int row, enum top_time time)
{
	static const char *const labels[TOP_TIMES] = {
		"ran", "waited for CPU", "for disk", "for memory", "else",
	};
	const struct top_task *task = &view->model.followed;
	enum grid_style style = (enum grid_style)(GRID_TIMES + time);
	uint32_t room = grid->columns > SPARK_COLUMN ? (uint32_t)(grid->columns - SPARK_COLUMN) : 0;
	const struct top_history *history = &view->model.followed_history;
	uint32_t first = history->count > room ? history->count - room : 0;
	uint64_t permille[TOP_TIMES];
	int at = SPARK_COLUMN;

	top_task_shares(task, permille);
	grid_put(grid, row, 1, GRID_DIM, labels[time]);
	if (task->known & 1u << time)
		grid_printf(grid, row, 16, style, "%6.1f %%", (double)permille[time] / 10);
	else
		grid_put(grid, row, 16, GRID_DIM, "     -");
	for (uint32_t i = first; i < history->count && room; i++)
		at = grid_put(grid, row, at, style,
			      spark(top_history_at(history, i)[time], view->ascii));
}

static void draw_rates(const struct top_view *view, struct grid *grid, int row)
{
	const struct top_task *task = &view->model.followed;
	double span_s = (double)view->model.span_ns / 1e9;

	if (span_s <= 0)
		return;
	grid_put(grid, row, 1, GRID_DIM, "each second");
	if (task->has_io)
		grid_printf(grid, row, LABEL_COLUMNS, GRID_PLAIN,
			    "%s read, %s written, %.0f switches",
			    text_size((uint64_t)((double)task->read_bytes / span_s)).s,
			    text_size((uint64_t)((double)task->write_bytes / span_s)).s,
			    (double)task->switches / span_s);
	else
		grid_printf(grid, row, LABEL_COLUMNS, GRID_PLAIN, "I/O not counted, %.0f switches",
			    (double)task->switches / span_s);
}

void top_draw_followed(const struct top_view *view, struct grid *grid)
{
	const struct top_task *task = &view->model.followed;
	const struct top_details *details = &view->details;
	AUTO_FREE char *name = text_escaped(task->name);
	int row = top_draw_head(view) - 1;

	grid_printf(grid, row, 0, GRID_BAR, " %s, %s %d of %u thread%s%s", name,
		    task->is_process ? "process" : "thread", task->tid, task->threads,
		    task->threads == 1 ? "" : "s",
		    view->model.followed_ended ? " - HAS ENDED" : "");
	grid_paint(grid, row++, GRID_BAR);
	row = draw_fact(grid, row, "command", details->command);
	row = draw_fact(grid, row, "cgroup", details->cgroup[0] ? details->cgroup : "(unknown)");
	row = draw_fact(grid, row, "state", details->state);
	row = draw_fact(grid, row, "waits in", details->wchan);
	row = draw_fact(grid, row, "system call", details->syscall);
	row = draw_fact(grid, row, "its file", details->file[0] ? details->file : "-");
	row++;
	for (int time = 0; time < TOP_TIMES; time++)
		draw_spark(view, grid, row++, (enum top_time)time);
	draw_rates(view, grid, row + 1);
}

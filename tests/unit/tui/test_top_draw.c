/* Whole screens of holdup top as text, from a model with known numbers, and its keys. */
#include "tui/top_draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "top_maker.h"
#include "tui/grid.h"
#include "tui/top_keys.h"

struct shown {
	struct top_view view;
	struct grid grid;
};

static void begin(struct shown *shown, int rows, int columns)
{
	struct top_task tasks[] = { make_task(1, 0, 0, 0), make_task(22, 1, 25, 75),
				    make_task(333, 1, 50, 0) };

	*shown = (struct shown){ .view = { .interval_s = 1 } };
	top_model_init(&shown->view.model);
	tasks[2].ns[TOP_DISK] = 10 * SECOND / 100;
	tasks[2].read_bytes = 3 << 20;
	tasks[0].known = 1u << TOP_RUN | 1u << TOP_CPU | 1u << TOP_OTHER;
	top_task_charge(&tasks[2]);
	top_model_feed(&shown->view.model, tasks, 3, SECOND);
	grid_reset(&shown->grid, rows, columns);
}

static void end(struct shown *shown)
{
	top_model_fini(&shown->view.model);
	grid_fini(&shown->grid);
}

static void draw(struct shown *shown)
{
	grid_reset(&shown->grid, shown->grid.rows, shown->grid.columns);
	top_model_set_page(&shown->view.model, top_draw_page(&shown->view, shown->grid.rows));
	top_draw(&shown->view, &shown->grid);
}

static void assert_row(const struct shown *shown, int row, const char *expected)
{
	AUTO_FREE char *text = grid_text(&shown->grid, row);

	assert_string_equal(text, expected);
}

static bool has_text(const struct shown *shown, const char *what)
{
	for (int row = 0; row < shown->grid.rows; row++) {
		AUTO_FREE char *text = grid_text(&shown->grid, row);

		if (strstr(text, what))
			return true;
	}
	return false;
}

static void the_list_at_80_columns(void **unused)
{
	struct shown shown;

	begin(&shown, 24, 80);
	draw(&shown);
	assert_row(&shown, 0, "holdup top - 3 processes, every 1 s, by waited");
	assert_row(&shown, 1,
		   "Threads: 0.75 running, 0.75 waiting for a CPU, 0.10 for disk, 0.00 for memory");
	assert_row(&shown, 2, "PSI: this kernel has no /proc/pressure");
	assert_row(&shown, 3, "Top itself: measuring ...");
	assert_row(&shown, 4,
		   "    PID  THR  RUN%  CPU% DISK%  MEM% ELSE%    READ/s   WRITE/s COMMAND");
	assert_row(&shown, 5,
		   "     22    1  25.0  75.0   0.0   0.0   0.0         0         0 job22");
	assert_row(&shown, 6,
		   "    333    1  50.0   0.0  10.0   0.0  40.0     3 MiB         0 job333");
	assert_row(&shown, 7,
		   "      1    1   0.0   0.0     -     - 100.0         0         0 job1");
	assert_row(&shown, 8, "");
	assert_row(
		&shown, 23,
		"F1Help F3Find F4Filter tTree F6Sort HThreads cGroup EnterOne wChain rWhy qQuit");
	end(&shown);
}

static void the_tree_at_200_columns(void **unused)
{
	struct shown shown;

	begin(&shown, 50, 200);
	shown.view.pressure[TOP_PRESSURE_IO] = (struct top_pressure){ true, 12.5, 3 };
	shown.view.note = "a note";
	shown.view.own = (struct top_own){ .used_ns = SECOND / 8, .span_ns = 10 * SECOND };
	top_key_press(&shown.view, 't');
	draw(&shown);
	assert_row(&shown, 2, "PSI, % of 10 s, some/full:  cpu -  io 12.5/3.0  memory -");
	assert_row(&shown, 3, "Top itself: 1.2 % of a CPU");
	assert_row(&shown, 4, "a note");
	assert_row(&shown, 6,
		   "      1    1   0.0   0.0     -     - 100.0         0         0         0 "
		   ".................... - job1");
	assert_row(&shown, 7,
		   "     22    1  25.0  75.0   0.0   0.0   0.0         0         0         0 "
		   "RRRRRCCCCCCCCCCCCCCC   job22");
	end(&shown);
}

/* What there is no room for goes first: the name stays. */
static void the_list_at_40_columns(void **unused)
{
	struct shown shown;

	begin(&shown, 10, 40);
	draw(&shown);
	assert_row(&shown, 0, "holdup top - 3 processes, every 1 s, by");
	assert_row(&shown, 4, "    PID  RUN%  CPU% DISK% COMMAND");
	assert_row(&shown, 5, "     22  25.0  75.0   0.0 job22");
	assert_row(&shown, 9, "F1Help F3Find F4Filter tTree F6Sort HThr");
	grid_reset(&shown.grid, 10, 52);
	draw(&shown);
	assert_row(&shown, 4, "    PID  RUN%  CPU% DISK%  MEM% ELSE% COMMAND");
	assert_row(&shown, 7, "      1   0.0   0.0     -     - 100.0 job1");
	end(&shown);
}

/* The largest numbers that there are, a name of 15 bytes, one that is no ASCII. */
static void wide_numbers_keep_their_columns(void **unused)
{
	struct top_task tasks[] = { make_task(4194303, 1, 0, 0), make_task(4194302, 1, 100, 0),
				    make_task(7, 1, 0, 100) };
	struct shown shown;

	begin(&shown, 24, 80);
	tasks[0].threads = 4321987;
	tasks[1].threads = 54321;
	tasks[1].read_bytes = (uint64_t)1023 << 50;
	tasks[1].write_bytes = UINT64_MAX;
	tasks[2].threads = 9999;
	strcpy(tasks[0].name, "fifteen_letters");
	strcpy(tasks[1].name, "jöb\tstraße");
	strcpy(tasks[2].name, "作業a");
	shown.view.model.sort = TOP_SORT_THREADS;
	top_model_feed(&shown.view.model, tasks, 3, SECOND);
	draw(&shown);
	assert_row(
		&shown, 5,
		"4194303   4M   0.0   0.0   0.0   0.0 100.0         0         0 fifteen_letters");
	assert_row(&shown, 6,
		   "4194302  54k 100.0   0.0   0.0   0.0   0.0  1.00 EiB  16.0 EiB jöb\\tstraße");
	assert_row(&shown, 7, "      7 9999   0.0 100.0   0.0   0.0   0.0         0         0 ??a");
	end(&shown);
}

/* However deep the tree is, its names can be read. */
static void a_deep_tree_shows_its_names(void **unused)
{
	struct top_task tasks[25];
	struct shown shown;

	begin(&shown, 40, 80);
	for (int i = 0; i < 25; i++)
		tasks[i] = make_task(1000 + i, i ? 999 + i : 0, 0, 0);
	top_key_press(&shown.view, 't');
	top_model_feed(&shown.view.model, tasks, 25, SECOND);
	draw(&shown);
	assert_row(&shown, 5,
		   "   1000    1   0.0   0.0   0.0   0.0 100.0         0         0 - job1000");
	assert_row(&shown, 6,
		   "   1001    1   0.0   0.0   0.0   0.0 100.0         0         0   - job1001");
	assert_row(&shown, 29,
		   "   1024    1   0.0   0.0   0.0   0.0 100.0         0         0       job1024");
	assert_row(
		&shown, 28,
		"   1023    1   0.0   0.0   0.0   0.0 100.0         0         0       - job1023");
	end(&shown);
}

static void groups_and_threads_are_counted(void **unused)
{
	struct top_task tasks[] = { make_task(1, 0, 10, 10), make_task(1, 0, 10, 10),
				    make_task(2, 0, 0, 0) };
	struct shown shown;

	begin(&shown, 24, 80);
	tasks[1].is_process = false;
	top_key_press(&shown.view, 'c');
	top_model_feed(&shown.view.model, tasks, 3, SECOND);
	draw(&shown);
	assert_row(&shown, 0, "holdup top - 2 processes, every 1 s, by waited");
	assert_row(&shown, 5,
		   "           1  10.0  10.0   0.0   0.0  80.0         0         0 - /odd (1)");
	assert_row(&shown, 6,
		   "      1    1  10.0  10.0   0.0   0.0  80.0         0         0   job1");
	top_key_press(&shown.view, 'H');
	draw(&shown);
	assert_row(&shown, 0, "holdup top - 2 processes, 1 threads, every 1 s, by waited");
	end(&shown);
}

static void one_task_with_its_times(void **unused)
{
	struct shown shown;

	begin(&shown, 24, 80);
	assert_int_equal(top_key_press(&shown.view, TUI_KEY_ENTER), TOP_REDRAW);
	strcpy(shown.view.details.syscall, "read(3, ...)");
	strcpy(shown.view.details.file, "/tmp/\033[2Jx");
	draw(&shown);
	assert_row(&shown, 4, " job22, process 22 of 1 thread");
	assert_row(&shown, 9, " system call   read(3, ...)");
	assert_row(&shown, 10, " its file      /tmp/\\x1b[2Jx");
	assert_row(&shown, 12, " ran              25.0 %  ▂");
	assert_row(&shown, 13, " waited for CPU   75.0 %  ▆");
	top_model_feed(&shown.view.model, NULL, 0, SECOND);
	draw(&shown);
	assert_true(has_text(&shown, "HAS ENDED"));
	assert_int_equal(top_key_press(&shown.view, 'r'), TOP_REDRAW); /* nothing to record */
	assert_int_equal(top_key_press(&shown.view, TUI_KEY_ESCAPE), TOP_REDRAW);
	draw(&shown);
	assert_true(has_text(&shown, "nothing to show"));
	end(&shown);
}

static void what_is_typed_filters(void **unused)
{
	struct shown shown;

	begin(&shown, 24, 80);
	top_key_press(&shown.view, TUI_KEY_F4);
	for (const char *at = "job3x"; *at; at++)
		top_key_press(&shown.view, *at);
	assert_int_equal(shown.view.model.line_count, 0);
	top_key_press(&shown.view, TUI_KEY_BACKSPACE);
	top_key_press(&shown.view, TUI_KEY_ENTER);
	draw(&shown);
	assert_true(has_text(&shown, "only \"job3\""));
	assert_true(has_text(&shown, "job333"));
	assert_false(has_text(&shown, "job22"));
	end(&shown);
}

static void the_menu_and_the_mouse_choose_an_order(void **unused)
{
	struct top_click click = { .row = 4, .column = 27, .rows = 24, .columns = 80 };
	struct shown shown;

	begin(&shown, 24, 80);
	top_key_press(&shown.view, '>');
	top_key_press(&shown.view, TUI_KEY_DOWN);
	draw(&shown);
	assert_true(has_text(&shown, "Sort by"));
	top_key_press(&shown.view, TUI_KEY_ENTER);
	assert_int_equal(shown.view.model.sort, TOP_SORT_RUN);
	top_mouse_click(&shown.view, &click);
	assert_int_equal(shown.view.model.sort, TOP_SORT_DISK);
	click.row = 6;
	top_mouse_click(&shown.view, &click);
	assert_int_equal(shown.view.model.selected, 1);
	click.row = 23;
	click.column = 1;
	top_mouse_click(&shown.view, &click);
	assert_int_equal(shown.view.mode, TOP_HELPING);
	end(&shown);
}

static void what_tasks_wait_for_has_a_column_of_its_own(void **unused)
{
	struct shown shown;
	struct top_click title = { 4, 50, 24, 80, false };

	begin(&shown, 24, 80);
	assert_int_equal(top_key_press(&shown.view, 'w'), TOP_WAITS);
	top_waits_put(&shown.view.waits, shown.view.model.lines[0].task, false, "futex > old");
	top_waits_put(&shown.view.waits, shown.view.model.lines[0].task, false,
		      "futex > b[7]: runs");
	top_waits_put(&shown.view.waits, shown.view.model.lines[1].task, true,
		      "DEADLOCK: \033[31m > and more than there is room for");
	draw(&shown);
	assert_row(&shown, 4, "    PID  RUN%  CPU% DISK% COMMAND           WAITS FOR");
	assert_row(&shown, 5, "     22  25.0  75.0   0.0 job22             futex > b[7]: runs");
	assert_row(
		&shown, 6,
		"    333  50.0   0.0  10.0 job333            DEADLOCK: \\x1b[31m > and more than t");
	assert_row(&shown, 7, "      1   0.0   0.0     - job1");
	assert_int_equal(top_mouse_click(&shown.view, &title), TOP_REDRAW);
	assert_int_equal(shown.view.model.sort, TOP_SORT_WAITED);
	shown.view.waits.every_ns = 3 * SECOND;
	draw(&shown);
	assert_true(has_text(&shown, ", chains every 3"));
	assert_int_equal(top_key_press(&shown.view, 'w'), TOP_REDRAW);
	draw(&shown);
	assert_false(has_text(&shown, "WAITS FOR"));
	assert_int_equal(top_key_press(&shown.view, 's'), TOP_STUCK);
	top_waits_clear(&shown.view.waits);
	end(&shown);
}

static void help_fits_into_80_by_24(void **unused)
{
	struct shown wide, narrow;

	begin(&wide, 60, 300);
	begin(&narrow, 24, 80);
	wide.view.mode = narrow.view.mode = TOP_HELPING;
	draw(&wide);
	draw(&narrow);
	for (int row = 0; row < 59; row++) {
		AUTO_FREE char *text = grid_text(&wide.grid, row);

		assert_true(text_columns(text) <= 80);
		if (row < 23)
			assert_row(&narrow, row, text);
		else
			assert_string_equal(text, "");
	}
	end(&wide);
	end(&narrow);
}

static const int some_keys[] = {
	TUI_KEY_UP,
	TUI_KEY_DOWN,
	TUI_KEY_PAGE_UP,
	TUI_KEY_PAGE_DOWN,
	TUI_KEY_HOME,
	TUI_KEY_END,
	TUI_KEY_F1,
	TUI_KEY_F3,
	TUI_KEY_F4,
	TUI_KEY_F5,
	TUI_KEY_F6,
	TUI_KEY_ENTER,
	TUI_KEY_ESCAPE,
	TUI_KEY_BACKSPACE,
	't',
	'H',
	'c',
	'I',
	'p',
	'+',
	'n',
	'j',
	'1',
	0xc3,
	0xa4,
	'W',
	'w',
	'r',
	's',
	0,
	-1,
};

/* Random keys, clicks, tasks and sizes: no line is wider than the screen, nothing breaks. */
static void no_line_is_wider_than_the_screen(void **unused)
{
	struct top_task tasks[40];
	struct shown shown;

	srand(11);
	begin(&shown, 24, 80);
	for (int round = 0; round < 4000; round++) {
		struct top_click click = { rand() % 60, rand() % 210, 0, 0, rand() % 2 };
		size_t count = (size_t)rand() % 40;

		for (size_t i = 0; i < count; i++) {
			tasks[i] = make_task((int)i + 1, (int)i / 2, rand() % 50, rand() % 50);
			tasks[i].read_bytes = (uint64_t)rand() << (rand() % 33);
			for (size_t c = 0; c + 1 < sizeof(tasks[i].name) && rand() % 3 == 0; c++)
				tasks[i].name[c] = (char)(1 + rand() % 255);
		}
		top_key_press(&shown.view, some_keys[(size_t)rand() % ARRAY_LEN(some_keys)]);
		grid_reset(&shown.grid, 1 + rand() % 60, 1 + rand() % 210);
		click.rows = shown.grid.rows;
		click.columns = shown.grid.columns;
		if (rand() % 4 == 0)
			top_mouse_click(&shown.view, &click);
		top_model_feed(&shown.view.model, tasks, count, SECOND);
		draw(&shown);
		for (int row = 0; row < shown.grid.rows; row++) {
			AUTO_FREE char *text = grid_text(&shown.grid, row);

			assert_true(text_columns(text) <= (size_t)shown.grid.columns);
			for (const char *at = text; *at; at++)
				assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
		}
	}
	end(&shown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_at_80_columns),
		cmocka_unit_test(the_tree_at_200_columns),
		cmocka_unit_test(the_list_at_40_columns),
		cmocka_unit_test(wide_numbers_keep_their_columns),
		cmocka_unit_test(a_deep_tree_shows_its_names),
		cmocka_unit_test(groups_and_threads_are_counted),
		cmocka_unit_test(one_task_with_its_times),
		cmocka_unit_test(what_is_typed_filters),
		cmocka_unit_test(the_menu_and_the_mouse_choose_an_order),
		cmocka_unit_test(what_tasks_wait_for_has_a_column_of_its_own),
		cmocka_unit_test(help_fits_into_80_by_24),
		cmocka_unit_test(no_line_is_wider_than_the_screen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

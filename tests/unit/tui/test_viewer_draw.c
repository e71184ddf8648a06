/* The viewer in the terminal as text: whole screens, and that a cell is what took most of its time. */
#include "ask/other_lanes.h"
#include "tui/viewer_live.h"
#include "tui/viewer_others.h"
#include "view/others.h"

#include "lane_sums.h"
#include "random_trace.h"
#include "viewer_maker.h"

static const char *line(struct viewing *viewing, int row)
{
	return told_keep(viewing->told, grid_text(&viewing->grid, row));
}

static const char *line_with(struct viewing *viewing, const char *text)
{
	for (int row = 0; row < viewing->grid.rows; row++) {
		if (strstr(line(viewing, row), text))
			return line(viewing, row);
	}
	fail_msg("nowhere: %s", text);
	return NULL;
}

/* 1000 ns on 60 columns: 6 are 100 ns. */
static void the_lanes_at_80_columns(void **unused)
{
	struct viewing viewing;

	viewing_begin(&viewing, VIEWER_TRACE);
	viewing_keys(&viewing, "0");
	viewing_draw(&viewing, 24, 80);
	assert_string_equal(line_with(&viewing, " main[7]  "),
			    ">* main[7]          ██████▓▓▓▓▓▓TTTTTTTTTTTTTTTTTTTTTTTT▒▒▒▒▒▒▓▓▓▓▓▓▓▓"
			    "▓▓▓▓▓▓▓▓▓▓");
	assert_string_equal(
		line_with(&viewing, " helper[8]  "),
		"   helper[8]        ██████████████████████████████████████████████████████"
		"██████");
	assert_string_equal(line_with(&viewing, " ▾ main[7]"), "  ▾ main[7]: 1 thread");
	assert_string_equal(line_with(&viewing, "LANES"),
			    " LANES  +0.00000000 s to +0.00000100 s: 1.00 us");
	viewing_end(&viewing);
}

static void the_answer_is_on_top(void **unused)
{
	struct viewing viewing;

	viewing_begin(&viewing, VIEWER_TRACE);
	viewing_draw(&viewing, 24, 80);
	assert_memory_equal(line(&viewing, 0), "main[7]", 7);
	assert_string_equal(line(&viewing, 2), ">  SHARE      TIME CAUSE, 1 of 3");
	assert_string_equal(line(&viewing, 3),
			    "> 50.0 %    500 ns working itself: futex 80 %, running 20 % (3 x, "
			    "longest 300 n>");
	assert_memory_equal(line(&viewing, 4), "  40.0 %    400 ns helper[8]", 28);
	assert_memory_equal(line(&viewing, 5), "  10.0 %    100 ns ", 19);
	viewing_end(&viewing);
}

static void where_a_cause_was_stands_above_the_lanes(void **unused)
{
	struct viewing viewing;

	viewing_begin(&viewing, VIEWER_TRACE);
	viewing_keys(&viewing, "0");
	viewer_select_cause(&viewing.viewer, 1);
	viewing_draw(&viewing, 24, 80);
	assert_string_equal(line_with(&viewing, "the cause"),
			    "  the cause                     vvvvvvvvvvvvXvvvvvvvvvvv");
	viewing_keys(&viewing, "c");
	viewing_draw(&viewing, 24, 80);
	assert_string_equal(line_with(&viewing, "the chain"),
			    "  the chain                     vvvvvvvvvvvvXvvvvvvvvvvv");
	(void)line_with(&viewing, "> 400 ns: main[7] waited in futex");
	viewing_end(&viewing);
}

/* helper wakes main at 600 ns, in column 36. */
static void an_arrow_leads_from_who_woke_to_who_was_woken(void **unused)
{
	struct viewing viewing;

	viewing_begin(&viewing, VIEWER_TRACE);
	viewing_keys(&viewing, "0");
	viewer_select_cause(&viewing.viewer, 1);
	viewing_draw(&viewing, 24, 80);
	assert_null(strstr(line_with(&viewing, " main[7]  "), "▲"));
	viewing_keys(&viewing, "c");
	viewing_draw(&viewing, 24, 80);
	assert_string_equal(line_with(&viewing, " main[7]  "),
			    ">* main[7]          ██████▓▓▓▓▓▓TTTTTTTTTTTTTTTTTTTTTTTT▲▒▒▒▒▒▓▓▓▓▓▓▓▓"
			    "▓▓▓▓▓▓▓▓▓▓");
	assert_string_equal(line_with(&viewing, " ▾ helper[8]"),
			    "  ▾ helper[8]: 1 thread                                 │");
	assert_string_equal(
		line_with(&viewing, " helper[8]  "),
		"   helper[8]        ████████████████████████████████████┴█████████████████"
		"██████");
	viewing.viewer.ascii = true;
	viewing_draw(&viewing, 24, 80);
	assert_non_null(strstr(line_with(&viewing, " main[7]  "), "TT^=="));
	assert_non_null(strstr(line_with(&viewing, " helper[8]  "), "#+#"));
	viewing_end(&viewing);
}

static void the_wait_at_the_cursor_is_told(void **unused)
{
	struct viewing viewing;

	viewing_begin(&viewing, VIEWER_TRACE);
	viewing_keys(&viewing, "0");
	viewer_select_cause(&viewing.viewer, 1);
	viewing_draw(&viewing, 24, 80); /* before it rests there */
	(void)viewer_settle(&viewing.viewer);
	viewing_draw(&viewing, 24, 80);
	(void)line_with(&viewing, ": blocked: futex, from +0.00000020 s for 400 ns");
	(void)line_with(&viewing, "charged to: 100 % helper[8]");
	(void)line_with(&viewing, "woken by helper[8]");
	viewing_end(&viewing);
}

static void no_two_states_look_alike(void **unused)
{
	for (enum lane_state i = 0; i < LANE_STATE_COUNT; i++) {
		assert_int_equal(strlen(viewer_glyph(i, true)), 1);
		for (enum lane_state k = 0; k < i; k++) {
			assert_string_not_equal(viewer_glyph(i, false), viewer_glyph(k, false));
			assert_string_not_equal(viewer_glyph(i, true), viewer_glyph(k, true));
		}
	}
}

/* Column by column; of a column without a ns nothing is known. */
static void check_cells(struct viewing *viewing, const struct viewer_cell *cells, uint32_t slot)
{
	const struct lane_window window = viewer_window(&viewing->viewer);

	for (uint32_t i = 0; i < window.width; i++) {
		uint64_t start_ns = lane_column_ns(&window, i);
		uint64_t end_ns = lane_column_ns(&window, i + 1);
		const struct lane_shares sums =
			lane_sums(viewing->told->tl, slot, start_ns, end_ns);
		enum lane_state state = cells[i].state;

		if (end_ns > start_ns && state == LANE_ABSENT)
			assert_int_equal(sums.ns[LANE_ABSENT], end_ns - start_ns);
		for (enum lane_state k = 0; k < LANE_ABSENT && end_ns > start_ns; k++) {
			if (sums.ns[k] > sums.ns[state])
				fail_msg("slot %u, column %u: %s, not %s", slot, i,
					 lane_look(state)->name, lane_look(k)->name);
		}
	}
}

static void cells_of_random_traces_are_what_took_most(void **unused)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct viewing viewing;
		struct viewer_cell cells[97];
		struct lane_shares sum;

		viewing_of(&viewing, told_trace(random_trace(seed, 400, false, false)), 0);
		viewer_look_at_all(&viewing.viewer);
		viewer_set_page(&viewing.viewer, 4, 7, ARRAY_LEN(cells));
		for (uint32_t slot = 0; slot < viewing.told->tl->thread_count; slot++) {
			viewer_cells(&viewing.viewer, (struct view_lane){ 't', slot }, cells, &sum);
			check_cells(&viewing, cells, slot);
		}
		viewing_end(&viewing);
	}
}

static void a_smaller_screen_is_refused_in_words(void **unused)
{
	static const struct {
		int rows, columns;
	} sizes[] = { { 23, 80 }, { 24, 79 }, { 1, 1 }, { 3, 200 } };
	struct viewing viewing;

	viewing_begin(&viewing, VIEWER_TRACE);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		viewing_draw(&viewing, sizes[i].rows, sizes[i].columns);
	assert_string_equal(line(&viewing, 1), "At least 80 x 24 are needed:");
	viewing_end(&viewing);
}

static void help_fits_on_the_smallest_screen(void **unused)
{
	struct viewing viewing;

	viewing_begin(&viewing, VIEWER_TRACE);
	viewing_keys(&viewing, "?");
	viewing_draw(&viewing, 24, 80);
	(void)line_with(&viewing, "L blocked: lock");
	(void)line_with(&viewing, "─ CPU: idle");
	assert_string_equal(line(&viewing, 23), "any key: back");
	viewing_keys(&viewing, "x");
	viewing_draw(&viewing, 24, 80);
	(void)line_with(&viewing, "CAUSE");
	viewing_end(&viewing);
}

/* Names from outside are text: also those that a terminal would obey, or show in two columns. */
static void no_name_commands_the_terminal(void **unused)
{
	struct viewing viewing;

	viewing_begin(&viewing, "facts last 1000\n"
				"thread 7 7 1 R a\033[2J\n"
				"thread 8 8 1 R \xe2\x80\xae\xff\xc2\x9b\xe6\xbc\xa2\n"
				"0 cpu0 switch 0(runnable) 7\n"
				"0 cpu1 switch 0(runnable) 8\n"
				"200 cpu0 switch 7(blocked) 0\n"
				"600 cpu1 waking 7 cpu 0\n");
	viewing_keys(&viewing, "u");
	for (int columns = 80; columns < 120; columns += 7) {
		viewing_draw(&viewing, 30, columns);
		for (int i = 0; i < viewing.grid.rows * viewing.grid.columns; i++) {
			uint32_t code = viewing.grid.cells[i].code;

			assert_true((code >= 0x20 && code < 0x7f) ||
				    (code > 0xa0 && code < 0x2600));
			assert_true(code < 0x2000 || code >= 0x2190);
		}
	}
	viewing_end(&viewing);
}

static void without_utf_8_all_is_ascii(void **unused)
{
	struct viewing viewing;

	viewing_begin(&viewing, VIEWER_TRACE);
	viewing.viewer.ascii = true;
	viewing_keys(&viewing, "0");
	viewing_draw(&viewing, 24, 80);
	assert_string_equal(
		line_with(&viewing, " main[7]  "),
		">* main[7]          ######%%%%%%TTTTTTTTTTTTTTTTTTTTTTTT======%%%%%%%%%%"
		"%%%%%%%%");
	viewing_end(&viewing);
}

static void feed(struct others *others, uint64_t time_ns, int type, uint32_t sector)
{
	struct event event = { .time_ns = time_ns,
			       .tid = 8,
			       .type = (uint8_t)type,
			       .block = { .sector = sector, .dev = 8 << 20, .bytes = 4096 } };

	if (type == EV_LOCK_BEGIN || type == EV_LOCK_END)
		event.lock = (struct ev_lock){ .address = 0x77 };
	others_feed(others, &event);
}

/* A request from 100 to 300, one from 200 to 300; helper waits for a lock from 500 to 700. */
static void locks_and_disks_are_rows_that_a_key_shows(void **unused)
{
	struct viewing viewing;
	struct viewer *viewer = &viewing.viewer;
	struct other_lanes lanes = { 0 };
	struct others_opts opts = { 0 };

	viewing_begin(&viewing, VIEWER_TRACE);
	opts.facts = viewing.loaded.facts;
	lanes.others = others_new(&opts);
	feed(lanes.others, 100, EV_BLOCK_ISSUE, 1);
	feed(lanes.others, 200, EV_BLOCK_ISSUE, 2);
	feed(lanes.others, 300, EV_BLOCK_COMPLETE, 1);
	feed(lanes.others, 300, EV_BLOCK_COMPLETE, 2);
	feed(lanes.others, 500, EV_LOCK_BEGIN, 0);
	feed(lanes.others, 700, EV_LOCK_END, 0);
	others_end(lanes.others, 1000);
	viewing.view.others = view_others_ready(&lanes);
	viewing_keys(&viewing, "0o");
	viewing_draw(&viewing, 24, 80);
	assert_string_equal(line_with(&viewing, "▾ Locks"), "> ▾ Locks: 1");
	assert_string_equal(line_with(&viewing, "   disk 8:0"),
			    "   disk 8:0               ▄▄▄▄▄▄██████");
	assert_string_equal(line_with(&viewing, "   kernel"),
			    "   kernel lock 0x77                               wwwwwwwwwwww");
	assert_non_null(line_with(&viewing, "w waited for; no holder is known"));
	viewing_keys(&viewing, "\tj");
	viewer->focus = VIEWER_LANES;
	viewer_select_row(viewer, viewer->row_count - 1);
	assert_int_equal(viewer_row(viewer)->kind, VIEWER_OTHER);
	viewer->cursor_ns = 250;
	viewing_draw(&viewing, 24, 80);
	assert_non_null(strstr(line_with(&viewing, "disk 8:0 at "),
			       "requests in flight: 2.00 on average, 2 at most"));
	assert_non_null(strstr(line_with(&viewing, "in this window: "),
			       "requests in flight: 0.30 on average, 2 at most"));
	assert_non_null(strstr(line_with(&viewing, "request "), "by helper[8]"));
	viewing_keys(&viewing, ",");
	assert_int_equal(viewer->cursor_ns, 200);
	viewing_keys(&viewing, ",");
	assert_int_equal(viewer->cursor_ns, 100);
	viewing_keys(&viewing, ".");
	assert_int_equal(viewer->cursor_ns, 200);
	viewing_keys(&viewing, "ec");
	assert_false(viewer->chain.shown); /* it is no thread */
	viewing_keys(&viewing, "k");
	viewing_keys(&viewing, "\n");
	viewing_draw(&viewing, 24, 80);
	assert_string_equal(line_with(&viewing, "▸ Disks"), "> ▸ Disks: 1");
	viewing_keys(&viewing, "o");
	viewing_draw(&viewing, 24, 80);
	for (int row = 0; row < 24; row++)
		assert_null(strstr(line(&viewing, row), "Disks"));
	view_others_end(viewing.view.others);
	others_free(lanes.others);
	viewing_end(&viewing);
}

/* Each cell of random changes against the integral, ns by ns. */
static void a_cell_of_a_level_is_its_mean(void **unused)
{
	uint32_t random = 7;

	for (int turn = 0; turn < 50; turn++) {
		struct other_lane lane = { .group = OTHER_DISKS,
					   .series = { .kind = SERIES_LEVEL } };
		struct lane_window window = { .start_ns = 50, .end_ns = 950, .width = 37 };
		uint32_t level[1000] = { 0 }, now = 0;
		uint8_t cells[37];
		double most = 0;

		for (uint64_t ns = 0; ns < 1000; ns++) {
			random = random * 1103515245u + 12345u;
			if ((random >> 16) % 20 == 0)
				series_set(&lane.series, ns, now = (random >> 24) % 9);
			level[ns] = now;
			if (ns >= 50 && ns < 950)
				most = now > most ? now : most;
		}
		series_end(&lane.series, 1000);
		viewer_other_cells(&lane, NULL, &window, cells);
		for (uint32_t i = 0; i < window.width; i++) {
			uint64_t from_ns = lane_column_ns(&window, i),
				 to_ns = lane_column_ns(&window, i + 1);
			double sum = 0;

			for (uint64_t ns = from_ns; ns < to_ns; ns++)
				sum += level[ns];
			sum /= (double)(to_ns - from_ns);
			if (sum == 0)
				assert_int_equal(cells[i], VIEWER_NO_MARK);
			else
				assert_true(sum / most * 8 > cells[i] - 1.51 &&
					    (sum / most * 8 < cells[i] + 0.51));
		}
		series_fini(&lane.series);
	}
	(void)unused;
}

/* What is drawn while recording goes on is what the viewer draws of the same window; the command is the first lane. */
static void a_live_picture_has_the_cells_of_the_lanes(void **unused)
{
	const struct viewer_live_look look = { .seconds = 3.7 };
	struct viewer_live_picture *picture = xcalloc(1, sizeof(*picture));
	struct viewing viewing;
	const char *lane;
	size_t bytes;

	(void)unused;
	viewing_begin(&viewing, VIEWER_TRACE);
	viewing_keys(&viewing, "0");
	viewing_draw(&viewing, 24, 80);
	lane = line_with(&viewing, " main[7]  ");
	viewing.view.to_ns = 1000;
	bytes = viewer_live_make(&viewing.view, viewer_live_width(80), picture);
	assert_int_equal(picture->width, 60);
	grid_reset(&viewing.grid, 24, 80);
	assert_int_equal(viewer_live_draw(picture, bytes, &look, &viewing.grid), 5);
	assert_string_equal(line(&viewing, 0), " Recording, 4 s: the answer comes at the end");
	assert_true(strncmp(line(&viewing, 3), " main[7]", 8) == 0);
	assert_string_equal(strstr(line(&viewing, 3), "\u2588"), strstr(lane, "\u2588"));
	assert_non_null(line_with(&viewing, " CPU 1 "));
	free(picture);
	viewing_end(&viewing);
}

/* Whoever made it: nothing behind its end is read, and every screen can be drawn. */
static void a_live_picture_is_not_believed(void **unused)
{
	struct viewer_live_picture *picture = xcalloc(1, sizeof(*picture));
	struct viewer_live_look look = { 0 };
	struct grid grid = { 0 };
	uint32_t random = 3;

	(void)unused;
	for (int turn = 0; turn < 300; turn++) {
		uint8_t *bytes = (uint8_t *)picture;
		size_t count = (size_t)turn * 97 % sizeof(*picture);

		for (size_t i = 0; i < sizeof(*picture); i++) {
			random = random * 1103515245u + 12345u;
			bytes[i] = (uint8_t)(random >> 24);
		}
		if (turn % 2) {
			picture->from_ns = 0;
			picture->to_ns = UINT64_MAX;
		}
		look.first = random % 80;
		grid_reset(&grid, 24 + turn % 60, 80 + turn);
		assert_true(viewer_live_draw(picture, count, &look, &grid) <= VIEWER_LIVE_ROWS);
	}
	grid_fini(&grid);
	free(picture);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(locks_and_disks_are_rows_that_a_key_shows),
		cmocka_unit_test(a_cell_of_a_level_is_its_mean),
		cmocka_unit_test(a_live_picture_has_the_cells_of_the_lanes),
		cmocka_unit_test(a_live_picture_is_not_believed),
		cmocka_unit_test(the_lanes_at_80_columns),
		cmocka_unit_test(the_answer_is_on_top),
		cmocka_unit_test(where_a_cause_was_stands_above_the_lanes),
		cmocka_unit_test(an_arrow_leads_from_who_woke_to_who_was_woken),
		cmocka_unit_test(the_wait_at_the_cursor_is_told),
		cmocka_unit_test(no_two_states_look_alike),
		cmocka_unit_test(cells_of_random_traces_are_what_took_most),
		cmocka_unit_test(a_smaller_screen_is_refused_in_words),
		cmocka_unit_test(help_fits_on_the_smallest_screen),
		cmocka_unit_test(no_name_commands_the_terminal),
		cmocka_unit_test(without_utf_8_all_is_ascii),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

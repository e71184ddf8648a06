/* The viewer in the terminal without a terminal: keys in, model out. */
#include "viewer_maker.h"

static void begin(struct viewing *viewing)
{
	viewing_begin(viewing, VIEWER_TRACE);
	viewer_set_page(&viewing->viewer, 4, 7, 10);
	viewing_keys(viewing, "0");
}

static int32_t lane_tid(const struct viewer *viewer)
{
	const struct viewer_row *row = viewer_row(viewer);

	return row && row->kind == VIEWER_THREAD ? viewer->timeline->threads[row->index]->tid : 0;
}

static void it_opens_on_the_largest_cause_and_where_that_was(void **unused)
{
	struct viewing viewing;
	const struct viewer *viewer = &viewing.viewer;
	const struct why_root *cause;
	bool inside = false;

	begin(&viewing);
	cause = viewer_cause(viewer);
	assert_non_null(cause);
	assert_ptr_equal(cause, &viewer_why(viewer)->roots[0]);
	(void)explained(viewing.told, 7, 0, 0);
	assert_int_equal(viewer_why(viewer)->root_count, viewing.told->why.root_count);
	for (size_t i = 0; i < viewing.told->why.root_count; i++)
		assert_int_equal(viewer_why(viewer)->roots[i].ns, viewing.told->why.roots[i].ns);
	assert_int_equal(viewer->focus, VIEWER_CAUSES);
	assert_int_equal(lane_tid(viewer), 7);
	for (size_t i = 0; i < cause->span_count; i++)
		inside |= viewer->cursor_ns >= cause->spans[i].start_ns &&
			  viewer->cursor_ns < cause->spans[i].end_ns;
	assert_true(inside);
	viewing_end(&viewing);
}

static void zooming_keeps_the_cursor_and_ends_at_a_nanosecond_and_at_the_whole(void **unused)
{
	struct viewing viewing;
	struct viewer *viewer = &viewing.viewer;

	begin(&viewing);
	viewer->cursor_ns = 250;
	viewing_keys(&viewing, "w");
	assert_int_equal(viewer->to_ns - viewer->from_ns, 500);
	assert_int_equal(viewer->from_ns, 125);
	assert_int_equal(viewer->cursor_ns, 250);
	viewing_keys(&viewing, "wwwwwwwwwwwwww");
	assert_int_equal(viewer->to_ns - viewer->from_ns, 1);
	assert_int_equal(viewer->cursor_ns, 250);
	viewing_keys(&viewing, "ssssssssssssss");
	assert_int_equal(viewer->from_ns, 0);
	assert_int_equal(viewer->to_ns, 1000);
	assert_int_equal(viewer->cursor_ns, 250);
	viewing_end(&viewing);
}

static void moving_stops_at_the_ends_and_takes_the_cursor_along(void **unused)
{
	struct viewing viewing;
	struct viewer *viewer = &viewing.viewer;

	begin(&viewing);
	viewer->cursor_ns = 500;
	viewing_keys(&viewing, "w");
	viewing_keys(&viewing, "d");
	assert_int_equal(viewer->from_ns, 350);
	assert_int_equal(viewer->cursor_ns, 600);
	viewing_keys(&viewing, "dddd");
	assert_int_equal(viewer->to_ns, 1000);
	viewing_keys(&viewing, "aaaaaaaaa");
	assert_int_equal(viewer->from_ns, 0);
	viewing_keys(&viewing, "hhhhhhhhhhhhhhhh");
	assert_int_equal(viewer_column(viewer, viewer->cursor_ns),
			 1); /* a fifth of ten columns less one */
	viewing_keys(&viewing, "l");
	assert_int_equal(viewer_column(viewer, viewer->cursor_ns), 2);
	viewing_end(&viewing);
}

static void the_cursor_steps_from_span_to_span(void **unused)
{
	static const uint64_t begins[] = { 100, 200, 600, 700, 700 };
	struct viewing viewing;
	struct viewer *viewer = &viewing.viewer;

	begin(&viewing);
	viewing_keys(&viewing, "\t");
	viewer_select_thread(viewer, slot_of(viewing.told, 7));
	viewer->cursor_ns = 50;
	for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
		viewing_keys(&viewing, ".");
		assert_int_equal(viewer->cursor_ns, begins[i]);
		assert_int_equal(viewer_spot(viewer).is_wait, begins[i] == 200);
	}
	viewing_keys(&viewing, ",,");
	assert_int_equal(viewer->cursor_ns, 200);
	viewing_end(&viewing);
}

static void threads_stand_below_their_process_and_the_others_are_counted(void **unused)
{
	struct viewing viewing;

	begin(&viewing);
	assert_string_equal(viewing_rows(&viewing), "-7-0/0 >7 -8-0/0 8 +cpus");
	viewing_keys(&viewing, "u");
	assert_string_equal(viewing_rows(&viewing), "-7-0/0 >7 -8-0/0 8 +9-1/1 +cpus");
	viewer_select_row(&viewing.viewer, 4);
	viewing_keys(&viewing, "\t\n");
	assert_string_equal(viewing_rows(&viewing), "-7-0/0 7 -8-0/0 8 >-9-0/0 9 +cpus");
	viewing_keys(&viewing, "\n");
	assert_string_equal(viewing_rows(&viewing), "-7-0/0 7 -8-0/0 8 >+9-1/1 +cpus");
	viewer_select_row(&viewing.viewer, 5);
	viewing_keys(&viewing, "\n");
	assert_string_equal(viewing_rows(&viewing), "-7-0/0 7 -8-0/0 8 +9-1/1 >-cpus c0 c1");
	viewing_end(&viewing);
}

static void search_finds_threads_by_name_and_number(void **unused)
{
	struct viewing viewing;
	struct viewer *viewer = &viewing.viewer;

	begin(&viewing);
	viewing_keys(&viewing, "/IDL\n");
	assert_int_equal(lane_tid(viewer), 9);
	assert_int_equal(viewer->focus, VIEWER_LANES);
	assert_string_equal(viewer->message, "1 of 1 found: idler[9]");
	viewing_keys(&viewing, "/8\n");
	assert_int_equal(lane_tid(viewer), 8);
	viewing_keys(&viewing, "/e\n");
	assert_int_equal(viewer->found_count, 2);
	viewing_keys(&viewing, "n");
	assert_int_equal(lane_tid(viewer), 9);
	viewing_keys(&viewing, "n");
	assert_int_equal(lane_tid(viewer), 8);
	viewing_keys(&viewing, "N");
	assert_int_equal(lane_tid(viewer), 9);
	viewing_keys(&viewing, "/nobody\n");
	assert_string_equal(viewer->message, "no thread is named \"nobody\"");
	assert_int_equal(lane_tid(viewer), 9);
	viewing_end(&viewing);
}

static void the_chain_of_a_cause_leads_to_who_it_is(void **unused)
{
	struct viewing viewing;
	struct viewer *viewer = &viewing.viewer;
	bool columns[10];

	begin(&viewing);
	viewer_select_cause(viewer, 1); /* the largest is its own work */
	assert_int_equal(viewer_cause(viewer)->who.tid, 8);
	viewing_keys(&viewing, "c");
	assert_true(viewer->chain.shown);
	assert_int_equal(viewer->chain.wait_count, 1);
	assert_int_equal(viewer->chain.hop_count, 1);
	assert_int_equal(viewer->chain.hops[0].start_ns, 200);
	assert_int_equal(viewer->chain.hops[0].end_ns, 600);
	assert_non_null(strstr(viewer->chain.hops[0].words, "main[7] waited in futex"));
	assert_non_null(strstr(viewer->chain.hops[0].words, "woken by helper[8]"));
	viewing_keys(&viewing, "0");
	assert_true(viewer_mark_columns(viewer, slot_of(viewing.told, 7), columns));
	for (int i = 0; i < 10; i++)
		assert_int_equal(columns[i], i >= 2 && i < 6);
	assert_false(viewer_is_concerned(viewer, slot_of(viewing.told, 9)));
	viewing_keys(&viewing, "]");
	assert_string_equal(viewer->message, "this is the end of the chain");
	viewing_keys(&viewing, "c");
	assert_false(viewer->chain.shown);
	viewing_end(&viewing);
}

static void what_is_its_own_work_has_no_chain(void **unused)
{
	struct viewing viewing;

	begin(&viewing);
	viewing_keys(&viewing, "c[]{}");
	assert_true(viewing.viewer.chain.shown);
	assert_int_equal(viewing.viewer.chain.hop_count, 0);
	viewing_end(&viewing);
}

static void a_wait_in_a_lane_has_its_chain_and_what_it_was_charged_to(void **unused)
{
	struct viewing viewing;
	struct viewer *viewer = &viewing.viewer;

	begin(&viewing);
	viewing_keys(&viewing, "\t");
	viewer_select_thread(viewer, slot_of(viewing.told, 7));
	viewer->cursor_ns = 300;
	assert_true(viewer_settle(viewer));
	assert_false(viewer_settle(viewer));
	assert_int_equal(viewer_charged(viewer)->class_ns, 400);
	assert_int_equal(viewer_charged(viewer)->roots[0].who.tid, 8);
	viewing_keys(&viewing, "c");
	assert_int_equal(viewer->chain.hop_count, 1);
	viewing_keys(&viewing, "c");
	viewer->cursor_ns = 50;
	viewing_keys(&viewing, "c");
	assert_false(viewer->chain.shown);
	assert_non_null(strstr(viewer->message, "no wait is at the cursor"));
	viewing_end(&viewing);
}

/* What takes long comes later: keys go on meanwhile, and an answer to what is looked at no more is dropped. */
static void an_answer_may_come_later(void **unused)
{
	struct viewing viewing;
	struct viewer *viewer = &viewing.viewer;
	struct viewer_spot spot, late_spot;
	struct verdict_ask ask, late_ask;
	struct explanation answer = { 0 };
	struct err err = { 0 };

	begin(&viewing);
	viewer->asks_later = true;
	viewing_keys(&viewing, "\t");
	viewer_select_thread(viewer, slot_of(viewing.told, 7));
	viewer->cursor_ns = 300;
	viewing_keys(&viewing, "c");
	assert_true(viewer->chain.shown);
	assert_int_equal(viewer->chain.hop_count, 0);
	assert_true(viewer_settle_ask(viewer, &late_ask, &late_spot));
	assert_false(viewer_settle_ask(viewer, &ask, &spot)); /* once */
	assert_int_equal(verdict_of(viewer->view, &late_ask, &answer, &err), 0);
	viewer_settle_take(viewer, &late_spot, &answer);
	assert_int_equal(viewer->chain.hop_count, 1);
	assert_int_equal(viewer_charged(viewer)->class_ns, 400);
	assert_int_equal(verdict_of(viewer->view, &late_ask, &answer, &err), 0);
	late_spot.start_ns++;
	viewer_settle_take(viewer, &late_spot, &answer); /* of a wait that is not looked at */
	assert_int_equal(viewer_charged(viewer)->class_ns, 400);
	viewing_end(&viewing);
}

/* Without its answer the busiest are shown; it comes, and what it is about is shown but to who moved already. */
static void the_first_answer_comes_later_too(void **unused)
{
	for (int touched = 0; touched < 2; touched++) {
		struct viewing viewing;
		struct viewer *viewer = &viewing.viewer;
		struct explanation answer = { 0 };
		struct viewer early;
		struct err err = { 0 };
		uint64_t from_ns;

		begin(&viewing);
		assert_int_equal(viewer_begin_early(&early, viewer->view, &err), 0);
		assert_null(viewer_why(&early));
		assert_true(early.row_count > 0);
		assert_int_equal(early.to_ns - early.from_ns, 1000);
		viewer_set_page(&early, 4, 10, 100);
		if (touched)
			(void)viewer_key_press(&early, 'w');
		from_ns = early.from_ns;
		assert_int_equal(verdict_of(early.view, &early.ask, &answer, &err), 0);
		assert_int_equal(viewer_take_first(&early, &early.ask, 0, &answer, &err), 0);
		assert_int_equal(viewer_why(&early)->target.tid, viewer_why(viewer)->target.tid);
		if (touched)
			assert_int_equal(early.from_ns, from_ns);
		assert_int_equal(early.focus, touched ? VIEWER_LANES : VIEWER_CAUSES);
		viewer_fini(&early);
		viewing_end(&viewing);
	}
}

static void another_thread_can_be_explained_and_the_command_again(void **unused)
{
	struct viewing viewing;
	struct viewer *viewer = &viewing.viewer;

	begin(&viewing);
	viewing_keys(&viewing, "/helper\ne");
	assert_int_equal(viewer_why(viewer)->target.tid, 8);
	assert_int_equal(viewer->from_ns, 0);
	viewing_keys(&viewing, "E");
	assert_int_equal(viewer_why(viewer)->target.tid, 7);
	viewing_end(&viewing);
}

static void without_a_command_the_busiest_threads_are_shown(void **unused)
{
	struct viewing viewing;

	viewing_of(&viewing, replayed(VIEWER_TRACE), 0);
	assert_null(viewer_why(&viewing.viewer));
	assert_non_null(viewing.viewer.why_not);
	assert_int_equal(viewing.viewer.focus, VIEWER_LANES);
	assert_string_equal(viewing_rows(&viewing), ">-7-0/0 7 -8-0/0 8 -9-0/0 9 +cpus");
	viewing_keys(&viewing, "\tc[]{}f");
	assert_null(viewer_why(&viewing.viewer));
	viewing_end(&viewing);
}

/* Whatever is typed, what is looked at lies within the recording, and every screen can be drawn. */
static void no_keys_lead_astray(void **unused)
{
	static const int special[] = { TUI_KEY_UP,	TUI_KEY_DOWN,	   TUI_KEY_LEFT,
				       TUI_KEY_RIGHT,	TUI_KEY_HOME,	   TUI_KEY_END,
				       TUI_KEY_PAGE_UP, TUI_KEY_PAGE_DOWN, TUI_KEY_F1,
				       TUI_KEY_ESCAPE,	TUI_KEY_BACKSPACE };
	struct viewing viewing;
	const struct viewer *viewer = &viewing.viewer;
	uint32_t random = 1;

	begin(&viewing);
	for (int i = 0; i < 4000; i++) {
		int key;

		random = random * 1103515245u + 12345u;
		key = (int)(random >> 16) % 140;
		key = key < 128 ? key : special[key % (int)ARRAY_LEN(special)];
		if (viewer_key_press(&viewing.viewer, key) == VIEWER_EXPLAIN)
			viewer_key_explain(&viewing.viewer);
		(void)viewer_settle(&viewing.viewer);
		if (i % 8 == 0)
			viewing_draw(&viewing, 24 + i % 40, 80 + i % 300);
		assert_true(viewer->from_ns < viewer->to_ns && viewer->to_ns <= 1000);
		assert_true(viewer->cursor_ns >= viewer->from_ns &&
			    viewer->cursor_ns < viewer->to_ns);
		assert_true(viewer->row < viewer->row_count);
	}
	viewing_end(&viewing);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_opens_on_the_largest_cause_and_where_that_was),
		cmocka_unit_test(
			zooming_keeps_the_cursor_and_ends_at_a_nanosecond_and_at_the_whole),
		cmocka_unit_test(moving_stops_at_the_ends_and_takes_the_cursor_along),
		cmocka_unit_test(the_cursor_steps_from_span_to_span),
		cmocka_unit_test(threads_stand_below_their_process_and_the_others_are_counted),
		cmocka_unit_test(search_finds_threads_by_name_and_number),
		cmocka_unit_test(the_chain_of_a_cause_leads_to_who_it_is),
		cmocka_unit_test(what_is_its_own_work_has_no_chain),
		cmocka_unit_test(a_wait_in_a_lane_has_its_chain_and_what_it_was_charged_to),
		cmocka_unit_test(an_answer_may_come_later),
		cmocka_unit_test(the_first_answer_comes_later_too),
		cmocka_unit_test(another_thread_can_be_explained_and_the_command_again),
		cmocka_unit_test(without_a_command_the_busiest_threads_are_shown),
		cmocka_unit_test(no_keys_lead_astray),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

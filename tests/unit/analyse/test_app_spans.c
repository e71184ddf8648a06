/* test_app_spans.c - what threads said at known points, as spans. */
#include "analyse/why/app_spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define WAIT 1u << APP_WAIT
#define WORK 1u << APP_WORK
#define HOLD 1u << APP_HOLD

enum point {
	LOCK,
	UNLOCK,
	LATCH,
	UNLATCH,
	SQL,
	SQL_END,
	LOAD,
	LOAD_END,
};

static const char text[] = "app a a\n"
			   "span lock wait\nspan latch wait\nspan sql work\nspan load work nests\n"
			   "begin lock event p:lock : x\nend lock event p:unlock\n"
			   "begin latch event p:latch : x\nend latch event p:unlatch\n"
			   "begin sql event p:sql : x\nend sql event p:done\n"
			   "begin load event p:load : x\nend load event p:loaded\n";

struct told {
	struct app_table table;
	struct app_spans *spans;
};

static struct told told_new(void)
{
	struct told told = { 0 };

	app_table_read(&told.table, text, strlen(text), "t");
	assert_int_equal(told.table.fault_count, 0);
	return told;
}

static void feed(struct told *told, uint64_t time, int32_t tid, enum point point, const char *words)
{
	if (!told->spans)
		told->spans = app_spans_new(&told->table);
	app_spans_feed(told->spans, time, tid, point, words);
}

static void expect(struct told *told, int32_t tid, uint64_t from, uint64_t to, uint32_t kinds,
		   const char *words)
{
	struct app_told got;
	bool any = app_spans_find(told->spans, tid, from, to, kinds, &got);

	assert_int_equal(any, words != NULL);
	if (words)
		assert_string_equal(got.words, words);
}

static void told_fini(struct told *told)
{
	app_spans_free(told->spans);
	app_table_fini(&told->table);
}

static void a_span_is_between_its_points_and_its_threads(void **unused)
{
	struct told told = told_new();

	feed(&told, 10, 7, LOCK, "one");
	feed(&told, 20, 7, UNLOCK, "");
	feed(&told, 30, 7, LOCK, "two");
	feed(&told, 35, 8, UNLOCK, "");
	feed(&told, 40, 7, UNLOCK, "");
	feed(&told, 50, 7, LOCK, "three");
	app_spans_end(told.spans);
	expect(&told, 7, 12, 18, WAIT, "one");
	expect(&told, 7, 10, 20, WAIT, "one");
	expect(&told, 7, 9, 18, WAIT, NULL);
	expect(&told, 7, 12, 21, WAIT, NULL);
	expect(&told, 7, 22, 28, WAIT, NULL);
	expect(&told, 7, 31, 39, WAIT, "two");
	expect(&told, 7, 31, 39, WORK, NULL);
	expect(&told, 8, 31, 39, WAIT, NULL);
	expect(&told, 7, 60, 1000, WAIT, "three"); /* it had not ended */
	told_fini(&told);
}

static void an_end_alone_says_nothing(void **unused)
{
	struct told told = told_new();

	feed(&told, 20, 7, UNLOCK, "");
	app_spans_end(told.spans);
	expect(&told, 7, 10, 15, WAIT, NULL);
	expect(&told, 7, 25, 26, WAIT, NULL);
	told_fini(&told);
}

static void an_end_that_says_what_it_was_tells_of_a_begin_unseen(void **unused)
{
	struct told told = told_new();

	feed(&told, 20, 7, UNLOCK, "from before");
	feed(&told, 30, 7, UNLOCK, "nothing was seen to begin");
	feed(&told, 40, 7, LOCK, "seen");
	feed(&told, 50, 7, UNLOCK, "not asked");
	app_spans_lost(told.spans, 60);
	feed(&told, 70, 7, UNLOCK, "from the hole");
	app_spans_exit(told.spans, 80, 8);
	feed(&told, 90, 8, UNLOCK, "of the second 8");
	app_spans_end(told.spans);
	expect(&told, 7, 0, 15, WAIT, "from before");
	expect(&told, 7, 22, 28, WAIT, NULL);
	expect(&told, 7, 42, 48, WAIT, "seen");
	expect(&told, 7, 52, 58, WAIT, NULL);
	expect(&told, 7, 58, 65, WAIT, NULL);
	expect(&told, 7, 62, 68, WAIT, "from the hole");
	expect(&told, 8, 62, 68, WAIT, NULL);
	expect(&told, 8, 82, 88, WAIT, "of the second 8");
	told_fini(&told);
}

static void of_waits_the_outer_is_told_of_work_the_inner(void **unused)
{
	struct told told = told_new();

	feed(&told, 10, 7, LATCH, "latch");
	feed(&told, 12, 7, LOCK, "lock");
	feed(&told, 13, 7, SQL, "sql");
	feed(&told, 14, 7, LOAD, "load");
	app_spans_end(told.spans);
	expect(&told, 7, 20, 30, WAIT, "latch");
	expect(&told, 7, 20, 30, WORK, "load");
	told_fini(&told);
}

static void a_second_begin_ends_the_first_unless_it_nests(void **unused)
{
	struct told told = told_new();

	feed(&told, 10, 7, SQL, "one");
	feed(&told, 20, 7, SQL, "two");
	feed(&told, 30, 7, SQL_END, "");
	feed(&told, 40, 7, LOAD, "outer");
	feed(&told, 50, 7, LOAD, "inner");
	feed(&told, 60, 7, LOAD_END, "");
	feed(&told, 70, 7, LOAD_END, "");
	app_spans_end(told.spans);
	expect(&told, 7, 12, 18, WORK, "one");
	expect(&told, 7, 22, 28, WORK, "two");
	expect(&told, 7, 31, 32, WORK, NULL);
	expect(&told, 7, 52, 68, WORK, "outer");
	expect(&told, 7, 71, 72, WORK, NULL);
	told_fini(&told);
}

static void what_ends_with_the_thread_or_in_a_hole_goes_on_no_further(void **unused)
{
	struct told told = told_new();

	feed(&told, 10, 7, SQL, "seven");
	feed(&told, 10, 8, SQL, "eight");
	app_spans_exit(told.spans, 20, 7);
	app_spans_lost(told.spans, 30);
	app_spans_end(told.spans);
	expect(&told, 7, 12, 18, WORK, "seven");
	expect(&told, 7, 18, 22, WORK, NULL);
	expect(&told, 8, 18, 22, WORK, "eight");
	expect(&told, 8, 29, 31, WORK, NULL);
	told_fini(&told);
}

static void most_of_a_time_is_told_with_how_much(void **unused)
{
	struct told told = told_new();
	struct app_told got;
	uint64_t ns;

	feed(&told, 10, 7, SQL, "short");
	feed(&told, 20, 7, SQL_END, "");
	feed(&told, 30, 7, SQL, "long");
	feed(&told, 60, 7, SQL_END, "");
	app_spans_end(told.spans);
	assert_true(app_spans_most(told.spans, 7, 0, 50, WORK, &got, &ns));
	assert_string_equal(got.words, "long");
	assert_int_equal(ns, 20);
	assert_true(app_spans_most(told.spans, 7, 0, 35, WORK, &got, &ns));
	assert_string_equal(got.words, "short");
	assert_int_equal(ns, 10);
	assert_false(app_spans_most(told.spans, 7, 20, 30, WORK, &got, &ns));
	assert_false(app_spans_most(told.spans, 7, 0, 50, HOLD, &got, &ns));
	told_fini(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_is_between_its_points_and_its_threads),
		cmocka_unit_test(an_end_alone_says_nothing),
		cmocka_unit_test(an_end_that_says_what_it_was_tells_of_a_begin_unseen),
		cmocka_unit_test(of_waits_the_outer_is_told_of_work_the_inner),
		cmocka_unit_test(a_second_begin_ends_the_first_unless_it_nests),
		cmocka_unit_test(what_ends_with_the_thread_or_in_a_hole_goes_on_no_further),
		cmocka_unit_test(most_of_a_time_is_told_with_how_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_why_told.c - what threads said at known points stands beside what the kernel saw, and changes no sum. */
#include "told.h"

#include "analyse/why/app_spans.h"

enum point {
	LOCK,
	UNLOCK,
	SQL,
	SQL_END,
	BEGIN,
	COMMIT,
	RELEASE,
};

static const char text[] = "app shop a\n"
			   "span lock wait\nspan sql work\nspan transaction hold\n"
			   "begin lock event p:lock : x\nend lock event p:unlock\n"
			   "begin sql event p:sql : x\nend sql event p:done\n"
			   "begin transaction event p:begin : x\nend transaction event p:commit\n"
			   "span release mark\nbegin release event p:release : x\n";

/* 7 waits for 9, which works; once more, and a third time. */
static const char trace[] = "  0us cpu0 switch 0(runnable) 7\n"
			    "  0us cpu1 switch 0(runnable) 9\n"
			    " 10us cpu0 enter futex 0x7f0010 128 2\n"
			    " 11us cpu0 switch 7(blocked) 0\n"
			    " 50us cpu1 waking 7 cpu 0\n"
			    " 50us cpu0 switch 0(runnable) 7\n"
			    " 51us cpu0 leave futex 0\n"
			    " 60us cpu0 enter futex 0x7f0010 128 2\n"
			    " 61us cpu0 switch 7(blocked) 0\n"
			    " 80us cpu1 waking 7 cpu 0\n"
			    " 80us cpu0 switch 0(runnable) 7\n"
			    " 81us cpu0 leave futex 0\n"
			    " 90us cpu0 switch 7(blocked) 0\n";

struct case_of {
	struct told *told;
	struct app_table table;
	struct app_spans *spans;
};

static struct case_of begun(void)
{
	struct case_of test = { .told = replayed(trace) };

	app_table_read(&test.table, text, strlen(text), "t");
	assert_int_equal(test.table.fault_count, 0);
	return test;
}

static void says(struct case_of *test, unsigned int us, int32_t tid, enum point point,
		 const char *words)
{
	if (!test->spans)
		test->spans = app_spans_new(&test->table);
	app_spans_feed(test->spans, us * 1000u, tid, point, words);
}

static const struct why *asked(struct case_of *test, bool tells)
{
	struct why_opts opts = { .slot = slot_of(test->told, 7),
				 .end_ns = 90000,
				 .want_waits = true,
				 .told = tells ? test->spans : NULL };
	struct err err = { 0 };

	app_spans_end(test->spans);
	if (test->told->has_why)
		why_fini(&test->told->why);
	if (why_run(test->told->tl, &test->told->trace->facts, &opts, &test->told->why, &err) < 0)
		fail_msg("%s", err.text);
	test->told->has_why = true;
	return &test->told->why;
}

static void ended(struct case_of *test)
{
	told_free(test->told);
	app_spans_free(test->spans);
	app_table_fini(&test->table);
}

static const struct why_root *root_of(const struct why *why, enum why_kind kind)
{
	for (size_t i = 0; i < why->root_count; i++) {
		if (why->roots[i].kind == kind)
			return &why->roots[i];
	}
	fail_msg("no such root");
	return NULL;
}

static void a_wait_between_two_points_has_their_words(void **unused)
{
	struct case_of test = begun();
	const struct why *why;

	says(&test, 5, 7, LOCK, "waits for order 1");
	says(&test, 55, 7, UNLOCK, "");
	says(&test, 8, 9, SQL, "SQL: one");
	says(&test, 40, 9, SQL_END, "");
	why = asked(&test, true);
	assert_int_equal(why->wait_count, 2);
	assert_string_equal(why->waits[0].told, "waits for order 1");
	assert_null(why->waits[1].told);
	assert_string_equal(why->chain[0].told, "waits for order 1");
	assert_int_equal(why->chain[0].told_count, 1);
	assert_int_equal(why->chain[0].count, 2);
	/* Of the 58 us that 9 worked in the way, it said of 11 to 40 what it did. */
	assert_string_equal(root_of(why, WHY_LOCK)->told, "SQL: one");
	assert_int_equal(root_of(why, WHY_LOCK)->told_ns, 29000);
	assert_int_equal(root_of(why, WHY_LOCK)->ns, 58000);
	ended(&test);
}

static void points_that_do_not_hold_the_whole_wait_say_nothing_of_it(void **unused)
{
	struct case_of test = begun();
	const struct why *why;

	says(&test, 12, 7, LOCK, "late");
	says(&test, 55, 7, UNLOCK, "");
	says(&test, 58, 7, LOCK, "early");
	says(&test, 70, 7, UNLOCK, "");
	why = asked(&test, true);
	assert_null(why->waits[0].told);
	assert_null(why->waits[1].told);
	assert_null(why->chain[0].told);
	ended(&test);
}

static void work_is_told_beside_the_wait_and_what_it_has_where_nothing_else_is(void **unused)
{
	struct case_of test = begun();
	const struct why *why;

	says(&test, 1, 7, BEGIN, "idle in transaction");
	says(&test, 2, 7, SQL, "SQL: two");
	says(&test, 5, 7, LOCK, "waits for a row");
	says(&test, 52, 7, UNLOCK, "");
	says(&test, 53, 7, SQL_END, "");
	why = asked(&test, true);
	assert_string_equal(why->waits[0].told, "waits for a row; SQL: two");
	assert_string_equal(why->waits[1].told, "idle in transaction");
	ended(&test);
}

static void who_ends_a_wait_says_how_just_before(void **unused)
{
	struct case_of test = begun();
	const struct why *why;

	says(&test, 5, 9, RELEASE, "before the wait");
	says(&test, 49, 9, RELEASE, "SQL: commit");
	says(&test, 55, 9, RELEASE, "between");
	says(&test, 82, 9, RELEASE, "behind");
	why = asked(&test, true);
	assert_string_equal(why->chain[0].waker_told, "SQL: commit");
	assert_null(why->chain[0].told);
	assert_null(why->chain[1].waker_told);
	ended(&test);
}

static void it_changes_no_sum(void **unused)
{
	struct case_of test = begun();
	uint64_t ns[8] = { 0 };
	const struct why *why;

	says(&test, 5, 7, LOCK, "a");
	says(&test, 8, 9, SQL, "b");
	says(&test, 58, 7, LOCK, "c");
	says(&test, 62, 9, SQL, "d");
	why = asked(&test, false);
	assert_true(why->root_count < ARRAY_LEN(ns));
	for (size_t i = 0; i < why->root_count; i++)
		ns[i] = why->roots[i].ns;
	assert_null(why->chain[0].told);
	why = asked(&test, true);
	for (size_t i = 0; i < why->root_count; i++)
		assert_int_equal(why->roots[i].ns, ns[i]);
	assert_int_equal(ns[why->root_count], 0);
	/* Two words: that of most of it. */
	assert_string_equal(root_of(why, WHY_LOCK)->told, "b");
	ended(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_between_two_points_has_their_words),
		cmocka_unit_test(points_that_do_not_hold_the_whole_wait_say_nothing_of_it),
		cmocka_unit_test(
			work_is_told_beside_the_wait_and_what_it_has_where_nothing_else_is),
		cmocka_unit_test(who_ends_a_wait_says_how_just_before),
		cmocka_unit_test(it_changes_no_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

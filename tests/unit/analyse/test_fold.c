/* test_fold.c - the code of roots that are one row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/fold.h"

/* A worker that slept, and where, while the target waited at another place. */
static struct why_root sleeper(int32_t tid, uint64_t ns, uint32_t stack)
{
	return (struct why_root){
		.ns = ns,
		.kind = WHY_TIMER,
		.class = WHY_HELD_UP,
		.who = { tid, tid, "worker" },
		.what = "clock_nanosleep",
		.object = "",
		.count = 1,
		.waited = { .at = { { 1, stack + 10, 0, ns } }, .count = 1, .seen_ns = ns },
		.code = { .at = { { 2, stack, 0, ns } }, .count = 1, .seen_ns = ns },
	};
}

static void the_stack_of_a_place_is_of_who_was_there_for_longest(void **unused)
{
	struct why_root roots[] = { sleeper(13, 300, 5), sleeper(12, 200, 4), sleeper(11, 100, 3) };
	const struct why why = {
		.end_ns = 600, .target = { 7, 7, "main" }, .roots = roots, .root_count = 3
	};
	struct why_rows rows;

	why_fold(&why, 1, &rows);
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.at[0].threads, 3);
	assert_int_equal(rows.at[0].sum.code.at[0].ns, 600);
	assert_int_equal(rows.at[0].sum.code.at[0].stack, 5);
	assert_int_equal(rows.at[0].sum.waited.at[0].ns, 600);
	assert_int_equal(rows.at[0].sum.waited.at[0].stack, 15);
	why_rows_fini(&rows);
}

static struct why_root disk(const char *what, const char *object, uint64_t ns)
{
	return (struct why_root){
		.ns = ns,
		.kind = WHY_DISK,
		.class = WHY_HELD_UP,
		.who = { 7, 7, "main" },
		.what = what,
		.object = object,
		.count = 2,
	};
}

/* As O_DSYNC has it: that makes two requests of one call. */
static void writes_and_flushes_of_a_file_are_one_row(void **unused)
{
	struct why_root roots[] = { disk("vda write", "f", 300), disk("vda flush", "f", 200),
				    disk("vdb flush", "f", 100), disk("vda read", "f", 90),
				    disk("vda flush", "g", 80) };
	static const struct {
		const char *what;
		uint64_t ns;
	} expected[] = { { "vda write and flush", 500 },
			 { "vdb flush", 100 },
			 { "vda read", 90 },
			 { "vda flush", 80 } };
	const struct why why = {
		.end_ns = 770, .target = { 7, 7, "main" }, .roots = roots, .root_count = 5
	};
	struct why_rows rows;

	why_fold(&why, 10, &rows);
	assert_int_equal(rows.count, 4);
	for (size_t i = 0; i < rows.count; i++) {
		assert_string_equal(rows.at[i].sum.what, expected[i].what);
		assert_int_equal(rows.at[i].sum.ns, expected[i].ns);
		assert_false(rows.at[i].many_whats);
	}
	why_rows_fini(&rows);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stack_of_a_place_is_of_who_was_there_for_longest),
		cmocka_unit_test(writes_and_flushes_of_a_file_are_one_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_window.c - moments as the user names them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "ask/window.h"
#include "base/err.h"
#include "event/facts.h"

#define S 1000000000ll

/* Recording began at 100 s of the trace clock, on 2026-01-02 at 23:59:50 UTC. */
static const struct facts facts = {
	.first_ns = 100 * S,
	.last_ns = 200 * S,
	.realtime_offset_ns = 1767398390 * S - 100 * S,
};

static void assert_at(const char *text, uint64_t expected_ns)
{
	struct err err = { 0 };
	struct when when;
	uint64_t ns = 0;

	assert_int_equal(when_parse(text, false, &when, &err), 0);
	assert_int_equal(when_resolve(&when, &facts, &ns, &err), 0);
	assert_string_equal(err.text, "");
	assert_int_equal(ns, expected_ns);
}

static void plain_seconds_are_on_the_trace_clock(void **unused)
{
	assert_at("12.345", 12345000000);
	assert_at("120s", 120 * S);
}

static void a_plus_counts_from_the_start(void **unused)
{
	assert_at("+1.2s", 101200000000);
	assert_at("+300ms", 100300000000);
	assert_at("+2", 102 * S);
}

static void wall_clock_is_on_the_day_of_the_recording(void **unused)
{
	assert_at("23:59:52.5", 102 * S + 500000000);
	assert_at("2026-01-02T23:59:52", 102 * S);
	assert_at("2026-01-02 23:59:52.25", 102 * S + 250000000);
}

static void wall_clock_may_be_past_midnight(void **unused)
{
	assert_at("00:00:05", 115 * S);
	assert_at("2026-01-03T00:00:05", 115 * S);
}

static void all_else_is_an_event(void **unused)
{
	struct when when;

	assert_int_equal(when_parse("sys_enter:id == 257", false, &when, NULL), 0);
	assert_int_equal(when.kind, WHEN_EVENT);
	assert_string_equal(when.event, "sys_enter:id == 257");
	assert_false(when.last);
	assert_int_equal(when_parse("sched_switch", true, &when, NULL), 0);
	assert_true(when.last);
	assert_int_equal(when_parse("first:sched_switch", true, &when, NULL), 0);
	assert_false(when.last);
	assert_string_equal(when.event, "sched_switch");
	assert_int_equal(when_parse("last:sched_switch", false, &when, NULL), 0);
	assert_true(when.last);
	assert_int_equal(when_parse(NULL, false, &when, NULL), 0);
	assert_int_equal(when.kind, WHEN_NONE);
}

static void what_looks_like_a_time_must_be_one(void **unused)
{
	static const char *const wrong[] = { "1.2.3",	 "25:00:00",	"12:60:00",
					     "12:00",	 "+",		"+1.2x",
					     "-5",	 "2026-01-02",	"2026-13-02T00:00:00",
					     "-1:00:00", "00:00:00.5.5" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct err err = { 0 };
		struct when when;

		if (when_parse(wrong[i], false, &when, &err) == 0)
			fail_msg("\"%s\" was taken for a moment", wrong[i]);
		assert_non_null(strstr(err.text, "is not a time"));
	}
}

static void without_a_clock_there_is_no_wall_clock(void **unused)
{
	static const struct facts dark = { .first_ns = 5 };
	struct err err = { 0 };
	struct when when;
	uint64_t ns = 7;

	assert_int_equal(when_parse("12:00:00", false, &when, &err), 0);
	assert_true(when_resolve(&when, &dark, &ns, &err) < 0);
	assert_string_equal(err.text, "the recording has no wall clock");
	assert_int_equal(ns, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_seconds_are_on_the_trace_clock),
		cmocka_unit_test(a_plus_counts_from_the_start),
		cmocka_unit_test(wall_clock_is_on_the_day_of_the_recording),
		cmocka_unit_test(wall_clock_may_be_past_midnight),
		cmocka_unit_test(all_else_is_an_event),
		cmocka_unit_test(what_looks_like_a_time_must_be_one),
		cmocka_unit_test(without_a_clock_there_is_no_wall_clock),
	};

	(void)setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

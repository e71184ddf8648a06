/* test_clock.c - raw clock to ns, against division in 128 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/facts.h"
#include "read/clock.h"

static const char sync_text[] = "1000000 5000 900000005000\n"
				"2300001000 1000005437 900001005437\n"
				"4600000777 2000005001 900002005001\n";

/* The slow and obvious twin. */
static uint64_t twin(uint64_t raw)
{
	static const uint64_t points[3][2] = { { 1000000, 5000 },
					       { 2300001000, 1000005437 },
					       { 4600000777, 2000005001 } };
	int i = raw >= points[1][0];
	__int128 units = (__int128)raw - (__int128)points[i][0];
	__int128 span_ns = points[i + 1][1] - points[i][1];
	__int128 span = points[i + 1][0] - points[i][0];

	return (uint64_t)((__int128)points[i][1] + units * span_ns / span);
}

static struct clock made(const char *name, const char *sync, size_t *out_notes)
{
	struct facts facts = { 0 };
	struct clock clock;

	clock_init(&clock, name, sync, &facts);
	*out_notes = facts.damage_count;
	facts_fini(&facts);
	return clock;
}

static void lines_between_triples_are_exact(void **unused)
{
	size_t notes, hint = 0;
	struct clock clock = made("x86-tsc", sync_text, &notes);
	uint64_t before = 0;

	assert_int_equal(notes, 0);
	for (uint64_t raw = 1000000; raw < 4600000777; raw += 7654321) {
		uint64_t ns = clock_ns(&clock, &hint, raw);

		assert_int_equal(ns, twin(raw));
		assert_true(ns >= before);
		before = ns;
	}
	assert_int_equal(clock_ns(&clock, &hint, 2300001000), 1000005437);
	assert_int_equal(clock_ns(&clock, &hint, 4600000777), 2000005001);
	clock_fini(&clock);
}

static void time_goes_on_outside_and_never_back(void **unused)
{
	size_t notes, hint = 0;
	struct clock clock = made("x86-tsc", sync_text, &notes);

	assert_int_equal(clock_ns(&clock, &hint, 4600000777 + 2299999777), UINT64_C(3000004565));
	assert_int_equal(clock_ns(&clock, &hint, 1000000 - 2300), 5000 - 1000);
	assert_int_equal(clock_ns(&clock, &hint, 0), 0);
	assert_int_equal(clock_ns(&clock, &hint, UINT64_MAX), CLOCK_MAX_NS);
	assert_int_equal(clock.realtime_offset_ns, 900000000000);
	assert_int_equal(clock.last_ns, 2000005001);
	clock_fini(&clock);
}

static void neighbouring_units_are_monotone_across_a_triple(void **unused)
{
	size_t notes, hint = 0;
	struct clock clock = made("x86-tsc", sync_text, &notes);
	uint64_t before = 0;

	for (uint64_t raw = 2300001000 - 5000; raw < 2300001000 + 5000; raw++) {
		uint64_t ns = clock_ns(&clock, &hint, raw);

		assert_true(before == 0 || ns == before || ns == before + 1);
		before = ns;
	}
	clock_fini(&clock);
}

static void mono_is_already_ns(void **unused)
{
	size_t notes, hint = 0;
	struct clock clock = made("mono", "5 5 100\n", &notes);

	assert_int_equal(notes, 0);
	assert_int_equal(clock_ns(&clock, &hint, 12345), 12345);
	assert_int_equal(clock_ns(&clock, &hint, UINT64_MAX), CLOCK_MAX_NS);
	assert_int_equal(clock.realtime_offset_ns, 95);
	clock_fini(&clock);
}

static void a_triple_out_of_order_is_left_out(void **unused)
{
	size_t notes, hint = 0;
	struct clock clock = made("x86-tsc",
				  "1000 1000 1\n"
				  "9000000 2000 1\n" /* a bit turned: too far ahead */
				  "3000 3000 1\n"
				  "4000 4000 1\n"
				  "17 4500 1\n" /* and one too far back */
				  "5000 5000 1\n",
				  &notes);

	assert_int_equal(notes, 1);
	assert_int_equal(clock_ns(&clock, &hint, 2000), 2000);
	assert_int_equal(clock_ns(&clock, &hint, 4500), 4500);
	clock_fini(&clock);
}

static void lines_that_are_no_triples_are_left_out(void **unused)
{
	size_t notes, hint = 0;
	struct clock clock = made("x86-tsc",
				  "1000 1000 1\nhello\n99999999999999999999999 1 1\n-1 5 5\n"
				  "3000 2000 1\n4000 4000",
				  &notes);

	assert_int_equal(notes, 1);
	assert_int_equal(clock_ns(&clock, &hint, 2000), 1500);
	clock_fini(&clock);
}

static void too_few_triples_are_said(void **unused)
{
	size_t notes, hint = 0;
	struct clock clock = made("x86-tsc", NULL, &notes);

	assert_int_equal(notes, 1);
	assert_int_equal(clock_ns(&clock, &hint, 7), 7);
	clock_fini(&clock);

	clock = made("x86-tsc", "1000 5000 1\n", &notes);
	assert_int_equal(notes, 1);
	assert_int_equal(clock_ns(&clock, &hint, 1007), 5007);
	clock_fini(&clock);

	clock = made("boot", "1000 5000 1\n", &notes);
	assert_int_equal(notes, 0);
	assert_int_equal(clock_ns(&clock, &hint, 993), 4993);
	clock_fini(&clock);
}

static void check_spans(const struct clock *clock)
{
	struct clock_span span = { 0 };
	uint64_t random = 7, changes = 0, ns;
	size_t hint = 0;

	for (int i = 0; i < 100000; i++) {
		uint64_t raw;

		random = random * 6364136223846793005u + 1442695040888963407u;
		raw = random >> (1 + i % 40);
		if (!clock_span_ns(&span, raw, &ns)) {
			span = clock_span_at(clock, raw);
			changes++;
			if (!clock_span_ns(&span, raw, &ns))
				continue; /* before the first triple, or far away */
		}
		assert_int_equal(ns, clock_ns(clock, &hint, raw));
	}
	assert_true(changes < 100000);
}

static void a_span_says_what_the_clock_says(void **unused)
{
	size_t notes;
	struct clock tsc = made("x86-tsc", sync_text, &notes);
	struct clock mono = made("mono", NULL, &notes);
	struct clock one = made("local", "1000000 5000 900000005000\n", &notes);
	struct clock_span span = clock_span_at(&tsc, 2300001000 - 1);
	uint64_t ns;

	check_spans(&tsc);
	check_spans(&mono);
	check_spans(&one);
	/* It ends where the next line begins. */
	assert_true(clock_span_ns(&span, 2300001000 - 1, &ns));
	assert_false(clock_span_ns(&span, 2300001000, &ns));
	clock_fini(&tsc);
	clock_fini(&mono);
	clock_fini(&one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_between_triples_are_exact),
		cmocka_unit_test(time_goes_on_outside_and_never_back),
		cmocka_unit_test(neighbouring_units_are_monotone_across_a_triple),
		cmocka_unit_test(mono_is_already_ns),
		cmocka_unit_test(a_triple_out_of_order_is_left_out),
		cmocka_unit_test(lines_that_are_no_triples_are_left_out),
		cmocka_unit_test(too_few_triples_are_said),
		cmocka_unit_test(a_span_says_what_the_clock_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

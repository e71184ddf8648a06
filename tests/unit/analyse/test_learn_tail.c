/*
 * Limits from few values hold for ten times as many further ones, whatever they are distributed
 * like, and are not larger than they must be. Random numbers from fixed seeds.
 */
#include "analyse/check/learn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define CONSTRAINTS 40
#define TRIALS	    40 /* models learned; each has CONSTRAINTS limits of this kind */

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)((seed >> 11) + 1) / 9007199254740993.0;
}

static double flat(void)
{
	return 1 + uniform();
}

static double normal(void)
{
	return 10 + sqrt(-2 * log(uniform())) * cos(6.283185307 * uniform());
}

static double exponential(void)
{
	return 1 - log(uniform());
}

static double pareto(void)
{
	return pow(uniform(), -1.0 / 4);
}

/* One in fifty is four times as long: a turn of another thread. */
static double spiky(void)
{
	return (uniform() < 0.02 ? 4 : 1) + 0.1 * uniform();
}

static const struct {
	const char *name;
	double (*draw)(void);
	int from;	 /* so many values tell what they are like */
	double most;	 /* the limit is at most so many times the largest value seen */
	double too_many; /* false alarms of a model; heavier tails than exponential have a price */
} kinds[] = {
	{ "flat", flat, 20, 8, 0.1 },
	{ "normal", normal, 20, 6, 0.1 },
	{ "exponential", exponential, 20, 20, 0.5 },
	{ "pareto", pareto, 100, 20, 6 },
	{ "spiky", spiky, 1000, 20, 0.5 },
};

static void fill(struct learn_value *value, double (*draw)(void), int count)
{
	for (int i = 0; i < count; i++)
		learn_value_add(value, draw());
}

/* One limit for values of this kind, tried on ten times as many. Adds how many were above. */
static double try_limit(double (*draw)(void), int count, double margin, int *out_above)
{
	struct learn_value value = { 0 };
	double limit, most;

	fill(&value, draw, count);
	limit = learn_tail(value.top, value.top_count, value.stats.count, CONSTRAINTS);
	most = value.stats.max;
	limit = (limit > most ? limit : most) * (1 + margin);
	for (int i = 0; i < LEARN_HORIZON * count; i++)
		*out_above += draw() > limit;
	learn_value_fini(&value);
	return limit / most;
}

static void limits_hold_for_ten_times_as_many_values(void **unused)
{
	static const int counts[] = { 20, 100, 1000 };

	for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++) {
		for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
			double largest = 0;
			int above = 0;

			seed = kind * 10 + i + 1;
			for (int trial = 0; trial < TRIALS * CONSTRAINTS; trial++) {
				double ratio = try_limit(kinds[kind].draw, counts[i], 0.25, &above);

				largest = ratio > largest ? ratio : largest;
			}
			print_message("# %s, %d values: %d false alarms in %d models, limit at "
				      "most %.1f times the largest\n",
				      kinds[kind].name, counts[i], above, TRIALS, largest);
			if (counts[i] < kinds[kind].from)
				continue;
			assert_true(above <= kinds[kind].too_many * TRIALS);
			assert_true(largest <= kinds[kind].most);
		}
	}
}

static void the_same_value_always_is_its_own_limit(void **unused)
{
	struct learn_value value = { 0 };

	for (int i = 0; i < 100; i++)
		learn_value_add(&value, 7);
	assert_true(learn_tail(value.top, value.top_count, 100, CONSTRAINTS) == 7);
	learn_value_fini(&value);
}

static void one_value_is_trusted_least(void **unused)
{
	double one = 10;

	assert_true(learn_tail(&one, 1, 1, CONSTRAINTS) > 50);
	assert_true(learn_tail(NULL, 0, 0, CONSTRAINTS) == 0);
}

static void the_largest_values_are_kept_in_order(void **unused)
{
	struct learn_value value = { 0 };

	for (int i = 0; i < 1000; i++)
		learn_value_add(&value, (i * 37) % 1000);
	assert_int_equal(value.top_count, LEARN_TOP);
	for (uint32_t i = 0; i < LEARN_TOP; i++)
		assert_int_equal((int)value.top[i], 999 - (int)i);
	learn_value_fini(&value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_hold_for_ten_times_as_many_values),
		cmocka_unit_test(the_same_value_always_is_its_own_limit),
		cmocka_unit_test(one_value_is_trusted_least),
		cmocka_unit_test(the_largest_values_are_kept_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

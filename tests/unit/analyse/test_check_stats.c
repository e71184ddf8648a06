/* Percentiles of values one by one and in classes, against a sorted list. */
#include "analyse/check/check_stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT 50000u

static int by_size(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* From 0 to 2^40, each power of 2 as often. */
static double *random_values(uint64_t seed)
{
	double *values = calloc(COUNT, sizeof(*values));

	assert_non_null(values);
	for (uint32_t i = 0; i < COUNT; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		values[i] = (double)((seed >> 20) & ((UINT64_C(1) << (seed >> 58) % 41) - 1));
	}
	return values;
}

static void compare(uint32_t count, uint32_t exact_max, double within)
{
	static const uint32_t permilles[] = { 1, 10, 250, 500, 900, 990, 999, 1000 };
	struct check_stats stats = { .exact_max = exact_max };
	double *values = random_values(count);

	for (uint32_t i = 0; i < count; i++)
		check_stats_add(&stats, values[i]);
	qsort(values, count, sizeof(*values), by_size);
	assert_int_equal(check_stats_is_exact(&stats), within == 0);
	for (size_t i = 0; i < sizeof(permilles) / sizeof(permilles[0]); i++) {
		double want = values[(count * (uint64_t)permilles[i] + 999) / 1000 - 1];
		double got = check_stats_quantile(&stats, permilles[i]);

		if (fabs(got - want) > want * within)
			fail_msg("%u of 1000 of %u values: %g, not %g", permilles[i], count, got,
				 want);
	}
	assert_true(stats.min == values[0] && stats.max == values[count - 1]);
	check_stats_fini(&stats);
	free(values);
}

static void few_values_are_kept_one_by_one(void **unused)
{
	compare(1, 0, 0);
	compare(1000, 0, 0);
	compare(CHECK_STATS_EXACT, 0, 0);
	compare(64, 64, 0);
}

static void many_values_are_right_within_a_class(void **unused)
{
	compare(COUNT, 0, 0.008);
	compare(65, 64, 0.008);
	compare(5000, 64, 0.008);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_values_are_kept_one_by_one),
		cmocka_unit_test(many_values_are_right_within_a_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

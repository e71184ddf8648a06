/* test_series.c - columns of what changes, against a slow and obvious look at each nanosecond. */
#include "analyse/others/series.h"

#include <stdbool.h>
#include <string.h>

#include "told.h"

#define NS	400u
#define CHANGES 60u

/* What was at each nanosecond. */
struct obvious {
	uint32_t values[NS];
	uint64_t counts[NS], amounts[NS];
};

static uint32_t random_below(uint32_t *seed, uint32_t limit)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % limit;
}

static void make(uint32_t *seed, struct series *series, struct obvious *obvious)
{
	uint64_t time_ns = 0;

	memset(obvious, 0, sizeof(*obvious));
	for (uint32_t i = 0; i < CHANGES; i++) {
		uint32_t value = random_below(seed, series->kind == SERIES_STATES ? 4 : 9);

		time_ns += random_below(seed, 2 * NS / CHANGES);
		if (time_ns >= NS)
			break;
		if (series->kind == SERIES_AMOUNT) {
			series_add(series, time_ns, value);
			obvious->counts[time_ns]++;
			obvious->amounts[time_ns] += value;
			continue;
		}
		series_set(series, time_ns, value);
		for (uint64_t ns = time_ns; ns < NS; ns++)
			obvious->values[ns] = value;
	}
	series_end(series, NS);
}

static struct series_column look(const struct obvious *obvious, enum series_kind kind,
				 uint64_t from_ns, uint64_t to_ns)
{
	struct series_column column = { 0 };

	for (uint64_t ns = from_ns; ns < to_ns; ns++) {
		uint32_t value = obvious->values[ns];

		if (kind == SERIES_AMOUNT) {
			column.sums[0] += obvious->counts[ns];
			column.sums[1] += obvious->amounts[ns];
		} else if (kind == SERIES_LEVEL) {
			column.sums[0] += value;
			column.most = value > column.most ? value : column.most;
		} else if (value) {
			column.sums[value - 1]++;
		}
	}
	return column;
}

struct checked {
	const struct obvious *obvious;
	enum series_kind kind;
	uint64_t from_ns, length_ns;
	uint32_t width, at;
};

static void check_column(void *context, uint32_t columns, const struct series_column *column)
{
	struct checked *checked = context;

	for (uint32_t i = 0; i < columns; i++, checked->at++) {
		uint64_t from_ns =
			checked->from_ns + checked->length_ns * checked->at / checked->width;
		uint64_t to_ns =
			checked->from_ns + checked->length_ns * (checked->at + 1) / checked->width;
		struct series_column expected =
			look(checked->obvious, checked->kind, from_ns, to_ns);

		if (to_ns > from_ns && memcmp(&expected, column, sizeof(expected)) != 0)
			fail_msg("kind %d, [%d, %d): %d %d %d, most %d; not %d %d %d, most %d",
				 checked->kind, (int)from_ns, (int)to_ns, (int)column->sums[0],
				 (int)column->sums[1], (int)column->sums[2], (int)column->most,
				 (int)expected.sums[0], (int)expected.sums[1],
				 (int)expected.sums[2], (int)expected.most);
	}
}

static void columns_are_what_each_nanosecond_was(void **unused)
{
	uint32_t seed = 7;

	(void)unused;
	for (uint32_t i = 0; i < 300; i++) {
		struct series series = { .kind = (enum series_kind)(i % 3) };
		struct obvious obvious;
		uint64_t from_ns = random_below(&seed, NS - 1),
			 to_ns = from_ns + 1 + random_below(&seed, (uint32_t)(NS - from_ns));
		struct checked checked = { .obvious = &obvious,
					   .kind = series.kind,
					   .from_ns = from_ns,
					   .length_ns = to_ns - from_ns,
					   .width = 1 + random_below(&seed, 90) };
		struct series_column sum, expected;

		make(&seed, &series, &obvious);
		series_columns(&series, from_ns, to_ns, checked.width, check_column, &checked,
			       &sum);
		expected = look(&obvious, series.kind, from_ns, to_ns);
		assert_int_equal(checked.at, checked.width);
		assert_memory_equal(&sum, &expected, sizeof(sum));
		series_fini(&series);
	}
}

static void ignore_columns(void *context, uint32_t columns, const struct series_column *column)
{
	(void)context;
	(void)columns;
	(void)column;
}

/* Places between are rounded, sums are not, and no level is above the highest one. */
static void joined_changes_keep_the_sums(void **unused)
{
	uint32_t seed = 11;

	(void)unused;
	for (uint32_t i = 0; i < 60; i++) {
		struct series series = { .kind = (enum series_kind)(i % 3) };
		struct obvious obvious;
		struct series_column sum, expected;
		size_t before;

		make(&seed, &series, &obvious);
		before = series.count;
		series_thin(&series, 8);
		assert_true(series.count <= 8 && series.joined_ns > 0 && before > 8);
		series_columns(&series, 0, NS + 1, 1, ignore_columns, NULL, &sum);
		expected = look(&obvious, series.kind, 0, NS);
		if (memcmp(sum.sums, expected.sums, sizeof(sum.sums)) != 0)
			fail_msg("kind %d: %d %d, not %d %d", series.kind, (int)sum.sums[0],
				 (int)sum.sums[1], (int)expected.sums[0], (int)expected.sums[1]);
		assert_int_equal(sum.most, series.kind == SERIES_LEVEL ? expected.most : 0);
		series_fini(&series);
	}
}

static void nothing_is_known_before_the_first_change(void **unused)
{
	struct series series = { .kind = SERIES_LEVEL };
	struct series_column sum;

	(void)unused;
	series_columns(&series, 0, 10, 5, ignore_columns, NULL, &sum);
	assert_int_equal(sum.sums[0], 0);
	series_set(&series, 100, 2);
	series_end(&series, 200);
	series_columns(&series, 0, 300, 5, ignore_columns, NULL, &sum);
	assert_int_equal(sum.sums[0], 200);
	series_fini(&series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_what_each_nanosecond_was),
		cmocka_unit_test(joined_changes_keep_the_sums),
		cmocka_unit_test(nothing_is_known_before_the_first_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

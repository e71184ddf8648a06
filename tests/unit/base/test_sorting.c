/* test_sorting.c - orders by several fields, and searches in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/sorting.h"

struct row {
	uint32_t group;
	int64_t size;
	const char *name;
};

ORDER_FUNCTION(by_size, struct row, ORDER_DOWN(size));
ORDER_FUNCTION(by_group, struct row, ORDER_UP(group), ORDER_DOWN(size), ORDER_TEXT(name));

static struct row rows[] = {
	{ 2, -1, "b" }, { 1, 5, "a" },		{ 2, 7, "c" },
	{ 1, 5, "A" },	{ UINT32_MAX, 0, "z" }, { 2, INT64_MIN, "d" },
};

static void the_first_field_that_differs_decides(void **unused)
{
	static const char *const names[] = { "A", "a", "c", "b", "d", "z" };

	qsort(rows, ARRAY_LEN(rows), sizeof(*rows), by_group);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(rows[i].name, names[i]);
}

static void the_largest_is_first_where_it_goes_down(void **unused)
{
	qsort(rows, ARRAY_LEN(rows), sizeof(*rows), by_size);
	assert_string_equal(rows[0].name, "c");
	assert_string_equal(rows[ARRAY_LEN(rows) - 1].name, "d");
	assert_int_equal(by_size(&rows[1], &rows[2]), 0);
}

/* As one that looks at each. */
static void a_search_by_two_fields_finds_the_first_that_is_not_before(void **unused)
{
	struct row sorted[100];

	for (uint32_t i = 0; i < ARRAY_LEN(sorted); i++)
		sorted[i] = (struct row){ i / 7, i % 7 * 2, "" };
	for (uint32_t group = 0; group < 17; group++) {
		for (int64_t size = -1; size < 14; size++) {
			size_t want = 0, got;

			while (want < ARRAY_LEN(sorted) &&
			       (sorted[want].group < group ||
				(sorted[want].group == group && sorted[want].size < size)))
				want++;
			got = SEARCH_ITEM(sorted, ARRAY_LEN(sorted), row,
					  row->group < group ||
						  (row->group == group && row->size < size));
			assert_int_equal(got, want);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_field_that_differs_decides),
		cmocka_unit_test(the_largest_is_first_where_it_goes_down),
		cmocka_unit_test(a_search_by_two_fields_finds_the_first_that_is_not_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_python_lines.c - lines of CPython's instructions, from tables as CPython makes them, and from nonsense. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbol/python_lines.h"

/* The first byte of an entry. */
#define ENTRY(kind, units) (0x80 | (kind) << 3 | ((units)-1))

static void each_kind_of_entry_moves_the_line(void **unused)
{
	static const uint8_t table[] = {
		ENTRY(0, 1),  0x00,		   /* same line: unit 0 */
		ENTRY(11, 2), 0x04, 0x10,	   /* the next line: 1, 2 */
		ENTRY(12, 1), 0x04, 0x10,	   /* two lines on: 3 */
		ENTRY(13, 1), 0x03,		   /* one line back, no columns: 4 */
		ENTRY(15, 2),			   /* no line: 5, 6 */
		ENTRY(14, 8), 0x48, 0x03, 0, 1, 1, /* 2 * 100 = 8 + 3 * 64: 100 lines on: 7 to 14 */
	};
	static const uint32_t wanted[] = { 10, 11, 11, 13, 12, 0, 0, 112, 112 };

	for (uint32_t unit = 0; unit < sizeof(wanted) / sizeof(wanted[0]); unit++)
		assert_int_equal(python_line(table, sizeof(table), 10, unit), wanted[unit]);
	assert_int_equal(python_line(table, sizeof(table), 10, 14), 112);
	assert_int_equal(python_line(table, sizeof(table), 10, 15), 0);
}

static void a_table_that_is_cut_ends_there(void **unused)
{
	static const uint8_t table[] = { ENTRY(11, 2), 0x04, 0x10, ENTRY(14, 1), 0x7f };

	assert_int_equal(python_line(table, 1, 5, 0), 6);
	assert_int_equal(python_line(table, 3, 5, 2), 0);
	assert_int_equal(python_line(table, 0, 5, 0), 0);
	(void)python_line(table, sizeof(table), 5, 2);
}

static void nonsense_is_no_line(void **unused)
{
	static const uint8_t no_start[] = { 0x01, 0x02 };
	static const uint8_t far[] = { ENTRY(13, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f };

	assert_int_equal(python_line(no_start, sizeof(no_start), 1, 0), 0);
	assert_int_equal(python_line(far, sizeof(far), 1, 0), 0); /* before the first line */
	assert_int_equal(python_line(far, sizeof(far), UINT32_MAX, 0), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_entry_moves_the_line),
		cmocka_unit_test(a_table_that_is_cut_ends_there),
		cmocka_unit_test(nonsense_is_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

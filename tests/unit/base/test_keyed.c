/* test_keyed.c - lines of a key and its value. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/keyed.h"

static void a_value_is_all_behind_the_first_blank(void **state)
{
	char value[16];

	(void)state;
	assert_true(keyed_find("a 1\nwhy by  hand \nab 2\n", "why", value, sizeof(value)));
	assert_string_equal(value, "by  hand ");
}

static void a_key_is_a_whole_word_at_the_start_of_a_line(void **state)
{
	char value[16] = "old";

	(void)state;
	assert_false(keyed_find("xa 1\nab 2\n a 3\n", "a", value, sizeof(value)));
	assert_string_equal(value, "old");
}

static void a_value_that_is_cut_empty_or_too_long_is_none(void **state)
{
	char value[4];

	(void)state;
	assert_false(keyed_find("a 1", "a", value, sizeof(value)));
	assert_false(keyed_find("a \n", "a", value, sizeof(value)));
	assert_false(keyed_find("a 1234\n", "a", value, sizeof(value)));
	assert_true(keyed_find("a 123\n", "a", value, sizeof(value)));
	assert_false(keyed_find("", "a", value, sizeof(value)));
}

static void a_number_is_digits_that_fit(void **state)
{
	uint64_t number = 7;

	(void)state;
	assert_false(keyed_find_u64("a -1\n", "a", &number));
	assert_false(keyed_find_u64("a 18446744073709551616\n", "a", &number));
	assert_int_equal(number, 7);
	assert_true(keyed_find_u64("a 18446744073709551615\n", "a", &number));
	assert_true(number == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_is_all_behind_the_first_blank),
		cmocka_unit_test(a_key_is_a_whole_word_at_the_start_of_a_line),
		cmocka_unit_test(a_value_that_is_cut_empty_or_too_long_is_none),
		cmocka_unit_test(a_number_is_digits_that_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

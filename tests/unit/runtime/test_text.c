/* test_text.c - text in a buffer of fixed size. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/text.h"

static void numbers_are_written_to_their_last_digit(void **unused)
{
	char memory[128];
	struct text text;

	text_begin(&text, memory, sizeof(memory));
	text_number(&text, 0);
	text_add(&text, " ");
	text_number(&text, UINT64_MAX);
	text_add(&text, " ");
	text_signed(&text, INT64_MIN);
	text_add(&text, " ");
	text_signed(&text, -1);
	text_add(&text, " ");
	text_hex(&text, 0xbeef, 6);
	assert_string_equal(memory, "0 18446744073709551615 -9223372036854775808 -1 00beef");
	assert_false(text.cut);
	assert_int_equal(text.length, 53);
}

static void what_does_not_fit_is_left_out_whole(void **unused)
{
	char memory[6] = { 'x', 'x', 'x', 'x', 'x', '#' };
	struct text text;

	text_begin(&text, memory, 5);
	text_add(&text, "abcd");
	assert_false(text.cut);
	text_add(&text, "e");
	assert_true(text.cut);
	assert_string_equal(memory, "abcd");
	assert_int_equal(memory[5], '#');
	text_begin(&text, memory, 5);
	text_add(&text, "abcde");
	assert_true(text.cut);
	assert_string_equal(memory, "");
	text_begin(&text, memory, 0);
	text_add(&text, "");
	assert_true(text.cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_written_to_their_last_digit),
		cmocka_unit_test(what_does_not_fit_is_left_out_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

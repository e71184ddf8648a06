/* test_names.c - each distinct string once, under a number that never changes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/names.h"

static void the_same_text_has_the_same_number(void **unused)
{
	struct names names = { 0 };
	uint32_t bash = names_add(&names, "bash", 16);
	uint32_t make = names_add(&names, "make", 16);

	assert_int_equal(bash, 1);
	assert_int_equal(make, 2);
	assert_int_equal(names_add(&names, "bash", 16), bash);
	assert_string_equal(names_text(&names, bash), "bash");
	assert_string_equal(names_text(&names, make), "make");
	names_fini(&names);
}

static void the_empty_text_is_number_0(void **unused)
{
	struct names names = { 0 };

	assert_int_equal(names_add(&names, "", 16), 0);
	assert_int_equal(names_add(&names, "x", 0), 0);
	assert_string_equal(names_text(&names, 0), "");
	names_fini(&names);
}

static void a_number_never_given_is_the_empty_text(void **unused)
{
	struct names names = { 0 };

	assert_string_equal(names_text(&names, 0), "");
	assert_string_equal(names_text(&names, 1), "");
	names_add(&names, "one", 16);
	assert_string_equal(names_text(&names, 2), "");
	assert_string_equal(names_text(&names, UINT32_MAX), "");
	names_fini(&names);
}

static void bytes_past_the_maximum_are_not_looked_at(void **unused)
{
	const char unterminated[4] = { 'a', 'b', 'c', 'd' };
	struct names names = { 0 };
	uint32_t id = names_add(&names, unterminated, sizeof(unterminated));

	assert_string_equal(names_text(&names, id), "abcd");
	assert_int_not_equal(names_add(&names, unterminated, 3), id);
	assert_int_equal(names_add(&names, "abcdef", 4), id);
	names_fini(&names);
}

static void a_prefix_is_another_text(void **unused)
{
	struct names names = { 0 };
	uint32_t longer = names_add(&names, "kworker/0:1", 16);

	assert_int_not_equal(names_add(&names, "kworker", 16), longer);
	assert_int_not_equal(names_add(&names, "kworker/0:12", 16), longer);
	names_fini(&names);
}

static void many_texts_keep_their_numbers(void **unused)
{
	const uint32_t count = 20000;
	struct names names = { 0 };
	char text[32];

	for (uint32_t i = 1; i <= count; i++) {
		snprintf(text, sizeof(text), "/usr/lib/file-%u", i);
		assert_int_equal(names_add(&names, text, sizeof(text)), i);
	}
	for (uint32_t i = 1; i <= count; i++) {
		snprintf(text, sizeof(text), "/usr/lib/file-%u", i);
		assert_string_equal(names_text(&names, i), text);
		assert_int_equal(names_add(&names, text, sizeof(text)), i);
	}
	names_fini(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_text_has_the_same_number),
		cmocka_unit_test(the_empty_text_is_number_0),
		cmocka_unit_test(a_number_never_given_is_the_empty_text),
		cmocka_unit_test(bytes_past_the_maximum_are_not_looked_at),
		cmocka_unit_test(a_prefix_is_another_text),
		cmocka_unit_test(many_texts_keep_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_text.c - numbers as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"

static void a_duration_has_three_digits_and_its_unit(void **unused)
{
	assert_string_equal(text_duration(0).s, "0 ns");
	assert_string_equal(text_duration(90).s, "90 ns");
	assert_string_equal(text_duration(999).s, "999 ns");
	assert_string_equal(text_duration(1000).s, "1.00 us");
	assert_string_equal(text_duration(8204).s, "8.20 us");
	assert_string_equal(text_duration(12345678).s, "12.3 ms");
	assert_string_equal(text_duration(820000).s, "820 us");
	assert_string_equal(text_duration(200000000).s, "200 ms");
	assert_string_equal(text_duration(1281000000).s, "1.281 s");
	assert_string_equal(text_duration(4521123456789).s, "4521.123 s");
	assert_string_equal(text_duration(UINT64_MAX).s, "18446744073.710 s");
}

static void rounding_moves_a_duration_to_the_next_unit(void **unused)
{
	assert_string_equal(text_duration(9994).s, "9.99 us");
	assert_string_equal(text_duration(9995).s, "10.0 us");
	assert_string_equal(text_duration(99950).s, "100 us");
	assert_string_equal(text_duration(999499).s, "999 us");
	assert_string_equal(text_duration(999500).s, "1.00 ms");
	assert_string_equal(text_duration(999500000).s, "1.000 s");
}

static void a_column_has_one_unit(void **unused)
{
	assert_int_equal(text_unit_for(999999), TEXT_US);
	assert_int_equal(text_unit_for(1000000), TEXT_MS);
	assert_int_equal(text_unit_for(1000000000), TEXT_S);
	assert_string_equal(text_thousandths(11, TEXT_S).s, "0.011 s");
	assert_string_equal(text_thousandths(1281234, TEXT_MS).s, "1281.234 ms");
}

static void a_size_is_exact_or_has_three_digits(void **unused)
{
	assert_string_equal(text_size(0).s, "0 B");
	assert_string_equal(text_size(640).s, "640 B");
	assert_string_equal(text_size(65536).s, "64 KiB");
	assert_string_equal(text_size(12897484).s, "12.3 MiB");
	assert_string_equal(text_size(1u << 30).s, "1 GiB");
	assert_string_equal(text_size(1023u << 10).s, "1.00 MiB");
	assert_string_equal(text_size(UINT64_MAX).s, "16.0 EiB");
}

static void a_count_has_its_thousands_parted(void **unused)
{
	assert_string_equal(text_count(0).s, "0");
	assert_string_equal(text_count(999).s, "999");
	assert_string_equal(text_count(1000).s, "1,000");
	assert_string_equal(text_count(1234567).s, "1,234,567");
	assert_string_equal(text_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
}

static void a_small_share_is_not_nothing(void **unused)
{
	assert_string_equal(text_percent(0, 1000).s, "0 %");
	assert_string_equal(text_percent(1, 10000).s, "<0.1 %");
	assert_string_equal(text_percent(979, 1000).s, "97.9 %");
	assert_string_equal(text_percent(1000, 1000).s, "100 %");
	assert_string_equal(text_percent(5, 0).s, "-");
	assert_string_equal(text_percent(UINT64_MAX, UINT64_MAX).s, "100 %");
}

static void apportioned_parts_add_up(void **unused)
{
	uint64_t parts[] = { 1, 1, 1, 0 }, places[4];

	text_apportion(parts, 4, 1000, places);
	assert_int_equal(places[0], 334);
	assert_int_equal(places[1], 333);
	assert_int_equal(places[2], 333);
	assert_int_equal(places[3], 0);

	text_apportion((uint64_t[]){ 0, 0 }, 2, 1000, places);
	assert_int_equal(places[0] + places[1], 0);
}

static void apportioned_parts_add_up_for_any_parts(void **unused)
{
	uint64_t seed = 1;

	for (int round = 0; round < 2000; round++) {
		uint64_t parts[16], places[16], sum = 0, whole = 0;
		size_t count = 1 + (size_t)round % 16;

		for (size_t i = 0; i < count; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			parts[i] = (seed >> 33) >> (seed % 31);
			whole += parts[i];
		}
		text_apportion(parts, count, 1000, places);
		for (size_t i = 0; i < count; i++) {
			/* Never off by a whole place. */
			assert_true(!whole || places[i] * (unsigned __int128)whole <
						      (unsigned __int128)parts[i] * 1000 + whole);
			sum += places[i];
		}
		assert_int_equal(sum, whole ? 1000 : 0);
	}
}

static void assert_escaped(const char *text, const char *expected)
{
	AUTO_FREE char *escaped = text_escaped(text);

	assert_string_equal(escaped, expected);
}

static void foreign_text_cannot_drive_the_terminal(void **unused)
{
	assert_escaped("plain/path-1.txt", "plain/path-1.txt");
	assert_escaped("gr\xc3\xbc\xc3\x9f"
		       "e",
		       "gr\xc3\xbc\xc3\x9f"
		       "e");
	assert_escaped("a\033[2Jb\n", "a\\x1b[2Jb\\n");
	assert_escaped("\x7f", "\\x7f");
	assert_escaped("\xc2\x9b"
		       "31m",
		       "\\xc2\\x9b31m"); /* C1: one-byte CSI */
	assert_escaped("\xe2\x80\xae"
		       "txt",
		       "\\xe2\\x80\\xaetxt"); /* right-to-left override */
}

static void bytes_that_are_not_utf8_are_shown_as_bytes(void **unused)
{
	assert_escaped("\xff", "\\xff");
	assert_escaped("\xc0\xaf", "\\xc0\\xaf"); /* overlong */
	assert_escaped("\xe0\x80\xaf", "\\xe0\\x80\\xaf");
	assert_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80");	    /* surrogate */
	assert_escaped("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* past the end */
	assert_escaped("\xe2\x82", "\\xe2\\x82");		    /* cut */
	assert_escaped("\xf0\x9f\x98", "\\xf0\\x9f\\x98");
}

static void columns_are_characters(void **unused)
{
	assert_int_equal(text_columns(""), 0);
	assert_int_equal(text_columns("abc"), 3);
	assert_int_equal(text_columns("\xc3\xbc"), 1);
	assert_int_equal(text_columns("u\xcc\x88"), 1);	   /* combining */
	assert_int_equal(text_columns("\xe4\xb8\xad"), 2); /* wide */
}

static void assert_size(const char *text, bool good, uint64_t expected)
{
	uint64_t bytes = 0;

	assert_int_equal(text_parse_size(text, &bytes), good);
	assert_int_equal(bytes, expected);
}

static void sizes_are_read_with_their_suffix(void **unused)
{
	assert_size("4096", true, 4096);
	assert_size("64K", true, 65536);
	assert_size("64k", true, 65536);
	assert_size("1.5M", true, 1572864);
	assert_size("2GiB", true, 2147483648u);
	assert_size("12Q", false, 0);
	assert_size("", false, 0);
	assert_size(".", false, 0);
	assert_size("-1", false, 0);
	assert_size("1 K", false, 0);
	assert_size("99999999999999999999", false, 0);
	assert_size("99999999999T", false, 0);
}

static void assert_duration(const char *text, bool good, uint64_t expected)
{
	uint64_t ns = 0;

	assert_int_equal(text_parse_duration(text, &ns), good);
	assert_int_equal(ns, expected);
}

static void durations_are_read_exactly(void **unused)
{
	assert_duration("12.345", true, 12345000000);
	assert_duration("0.000000001", true, 1);
	assert_duration("300ms", true, 300000000);
	assert_duration("1.2s", true, 1200000000);
	assert_duration("5us", true, 5000);
	assert_duration("7ns", true, 7);
	assert_duration("2min", true, 120000000000);
	assert_duration("1h", true, 3600000000000);
	assert_duration("18446744073.709551615", true, UINT64_MAX);
	assert_duration("18446744073.709551616", false, 0);
	assert_duration("1.2.3", false, 0);
	assert_duration("1x", false, 0);
}

static void numbers_are_digits_only(void **unused)
{
	uint64_t value = 7;

	assert_true(text_parse_u64("18446744073709551615", &value));
	assert_int_equal(value, UINT64_MAX);
	value = 7;
	assert_false(text_parse_u64("18446744073709551616", &value));
	assert_false(text_parse_u64("+1", &value));
	assert_false(text_parse_u64("", &value));
	assert_false(text_parse_u64("1 ", &value));
	assert_int_equal(value, 7);
}

/* The definition, which takes exponential time. */
static size_t edits_by_definition(const char *a, const char *b)
{
	size_t least, other;

	if (!*a || !*b)
		return strlen(a) + strlen(b);
	if (*a == *b)
		return edits_by_definition(a + 1, b + 1);
	least = edits_by_definition(a + 1, b + 1);
	other = edits_by_definition(a + 1, b);
	least = other < least ? other : least;
	other = edits_by_definition(a, b + 1);
	return 1 + (other < least ? other : least);
}

static void edits_are_what_levenshtein_said(void **unused)
{
	static const char *const words[] = { "",       "a",	  "b",	 "ab",	 "ba",
					     "kitten", "sitting", "irq", "irqs", "sched" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		for (size_t j = 0; j < ARRAY_LEN(words); j++)
			assert_int_equal(text_edits(words[i], words[j]),
					 edits_by_definition(words[i], words[j]));
	}
}

static void a_long_word_is_compared_by_its_first_letters(void **unused)
{
	char text[4 * TEXT_EDITS_MAX];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(text_edits("", text), TEXT_EDITS_MAX);
	assert_int_equal(text_edits("xx", text), TEXT_EDITS_MAX - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_duration_has_three_digits_and_its_unit),
		cmocka_unit_test(rounding_moves_a_duration_to_the_next_unit),
		cmocka_unit_test(a_column_has_one_unit),
		cmocka_unit_test(a_size_is_exact_or_has_three_digits),
		cmocka_unit_test(a_count_has_its_thousands_parted),
		cmocka_unit_test(a_small_share_is_not_nothing),
		cmocka_unit_test(apportioned_parts_add_up),
		cmocka_unit_test(apportioned_parts_add_up_for_any_parts),
		cmocka_unit_test(foreign_text_cannot_drive_the_terminal),
		cmocka_unit_test(bytes_that_are_not_utf8_are_shown_as_bytes),
		cmocka_unit_test(columns_are_characters),
		cmocka_unit_test(sizes_are_read_with_their_suffix),
		cmocka_unit_test(durations_are_read_exactly),
		cmocka_unit_test(numbers_are_digits_only),
		cmocka_unit_test(edits_are_what_levenshtein_said),
		cmocka_unit_test(a_long_word_is_compared_by_its_first_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

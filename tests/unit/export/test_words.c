/* test_words.c - text as UTF-8, against a decoder of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/facts.h"
#include "export/words.h"

static void assert_becomes(const char *text, size_t max, const char *want)
{
	char *room = NULL;

	assert_string_equal(export_utf8(text, max, &room), want);
	free(room);
}

static void what_is_valid_is_not_copied(void **unused)
{
	static const char text[] = "plain, \xc3\xa4, \xe2\x82\xac, \xf0\x9f\x98\x80";
	char *room = NULL;

	assert_ptr_equal(export_utf8(text, SIZE_MAX / 4, &room), text);
	assert_null(room);
	assert_ptr_equal(export_utf8("", 10, &room)[0] ? text : NULL, NULL);
}

static void each_byte_that_is_none_is_replaced(void **unused)
{
	assert_becomes("a\xff"
		       "b",
		       100,
		       "a\xef\xbf\xbd"
		       "b");
	assert_becomes("\xc3", 100, "\xef\xbf\xbd");		     /* cut */
	assert_becomes("\xc0\x80", 100, "\xef\xbf\xbd\xef\xbf\xbd"); /* an overlong NUL */
	assert_becomes("\xed\xa0\x80", 100,
		       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* half a pair */
	assert_becomes("\xf4\x90\x80\x80", 100,
		       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* behind the last */
}

static void a_text_is_cut_between_characters_or_says_so(void **unused)
{
	assert_becomes("abc", 2, "ab");
	assert_becomes("a\xc3\xa4", 3, "a\xc3\xa4");
	assert_becomes("a\xc3\xa4", 2, "a\xef\xbf\xbd");
	assert_becomes("abc", 0, "");
}

/* By RFC 3629, written down a second time: where the first character ends; 0 = it is none. */
static size_t slow_character(const unsigned char *at, size_t left)
{
	size_t bytes = at[0] < 0x80		? 1
		       : (at[0] & 0xe0) == 0xc0 ? 2
		       : (at[0] & 0xf0) == 0xe0 ? 3
		       : (at[0] & 0xf8) == 0xf0 ? 4
						: 0;
	uint32_t code = bytes == 1 ? at[0] : bytes ? at[0] & (0x7fu >> bytes) : 0;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	if (bytes == 0 || bytes > left)
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3fu);
	}
	return code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0
											   : bytes;
}

static void any_bytes_become_the_same_characters_and_nothing_else(void **unused)
{
	uint32_t dice = 7;

	for (int round = 0; round < 20000; round++) {
		unsigned char text[16] = { 0 };
		char want[64] = "", *room = NULL;
		size_t bytes;

		for (size_t i = 0; i < 12; i++) {
			dice = dice * 1664525 + 1013904223;
			/* Mostly bytes that begin or go on with a character. */
			text[i] = (unsigned char)(dice >> 24 | (dice >> 8 & 0x80));
		}
		bytes = strlen((char *)text);
		for (size_t at = 0; at < bytes;) {
			size_t step = slow_character(text + at, bytes - at);

			strncat(want, step ? (char *)text + at : "\xef\xbf\xbd", step ? step : 3);
			at += step ? step : 1;
		}
		assert_string_equal(export_utf8((char *)text, SIZE_MAX / 4, &room), want);
		free(room);
	}
}

static void calls_have_a_name_or_a_number(void **unused)
{
	const struct facts facts = { .arch = "x86_64" };
	char buffer[EXPORT_NAME_BYTES];

	assert_string_equal(export_call_name(&facts, 0, false, buffer), "read");
	assert_string_equal(export_call_name(&facts, 0, true, buffer), "restart_syscall");
	assert_string_equal(export_call_name(&facts, 99999, false, buffer), "system call 99999");
	assert_string_equal(export_call_name(&facts, -1, false, buffer), "system call -1");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_valid_is_not_copied),
		cmocka_unit_test(each_byte_that_is_none_is_replaced),
		cmocka_unit_test(a_text_is_cut_between_characters_or_says_so),
		cmocka_unit_test(any_bytes_become_the_same_characters_and_nothing_else),
		cmocka_unit_test(calls_have_a_name_or_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

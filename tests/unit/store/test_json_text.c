/* test_json_text.c - any bytes come back from JSON; every JSON is the same in ASCII. */
#include "store/json_text.h"

#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"

/* Each of 1 to 3 pieces, so that whatever may lie beside each other does. */
static const char *const pieces[] = {
	"",	 "a",	     "\\",
	"x",	 "\\x41",    "\\x5c",
	"\\xff", "5c",	     "\xff",
	"\xc3",	 "\xc3\xbc", "\xe2\x82\xac",
	"\x80",	 "\x1b[1m",  "\xf0\x9f\x98\x80",
};

static void check_comes_back(const char *bytes)
{
	AUTO_FREE char *coded = json_text_coded(bytes), *back = json_text_bytes(coded);
	uint32_t code;

	for (const char *at = coded; *at; at += text_utf8(at, &code))
		assert_int_not_equal(text_utf8(at, &code), 0);
	assert_string_equal(back, bytes);
}

static void what_is_coded_comes_back_whatever_the_bytes(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		for (size_t j = 0; j < ARRAY_LEN(pieces); j++) {
			for (size_t k = 0; k < ARRAY_LEN(pieces); k++) {
				AUTO_FREE char *bytes =
					xasprintf("%s%s%s", pieces[i], pieces[j], pieces[k]);

				check_comes_back(bytes);
			}
		}
	}
}

static void characters_stay_readable(void **unused)
{
	AUTO_FREE char *name = json_text_coded("gr\xc3\xbc\xc3\x9f"
					       "e");
	AUTO_FREE char *bad = json_text_coded("a\xff"
					      "b\\n");

	assert_string_equal(name, "gr\xc3\xbc\xc3\x9f"
				  "e");
	assert_string_equal(bad, "a\\xffb\\n");
}

static void in_ascii_it_is_the_same_json(void **unused)
{
	static const char json[] = "{\"k\xc3\xbc\": \"\xe2\x82\xac \xf0\x9f\x98\x80 \\u00fc\"}";
	size_t bytes, bad;
	AUTO_FREE char *ascii = json_text_ascii(json, strlen(json), &bytes, &bad);
	json_object *root = json_tokener_parse(ascii), *value = NULL;

	assert_int_equal(bytes, strlen(ascii));
	for (size_t i = 0; i < bytes; i++)
		assert_in_range(ascii[i], 1, 0x7f);
	assert_true(json_object_object_get_ex(root, "k\xc3\xbc", &value));
	assert_string_equal(json_object_get_string(value),
			    "\xe2\x82\xac \xf0\x9f\x98\x80 \xc3\xbc");
	json_object_put(root);
}

static void what_is_no_utf8_has_its_place(void **unused)
{
	size_t bytes, bad = 0;

	assert_null(json_text_ascii("ab\xc3\xbc\xc3", 5, &bytes, &bad));
	assert_int_equal(bad, 4);
	/* Cut by its length, though the bytes behind would complete it. */
	assert_null(json_text_ascii("ab\xe2\x82\xac", 4, &bytes, &bad));
	assert_int_equal(bad, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_coded_comes_back_whatever_the_bytes),
		cmocka_unit_test(characters_stay_readable),
		cmocka_unit_test(in_ascii_it_is_the_same_json),
		cmocka_unit_test(what_is_no_utf8_has_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_rules.c - patterns of events: which are on, and how lists of them grow. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "runtime/rules.h"

static void the_last_pattern_that_fits_decides(void **unused)
{
	static const struct {
		const char *rules, *major, *name;
		bool on;
	} cases[] = {
		{ "", "shop", "paid", false },
		{ "all", "shop", "paid", true },
		{ "shop", "shop", "paid", true },
		{ "shop", "shopping", "paid", false },
		{ "shop*", "shopping", "paid", true },
		{ "shop:p?id", "shop", "paid", true },
		{ "shop:p?id", "shop", "pid", false },
		{ "shop,-shop:tick", "shop", "tick", false },
		{ "-shop:tick,shop", "shop", "tick", true },
		{ "net:rx*,-net:*x", "net", "rx", false },
		{ "net:rx*,-net:*x", "net", "rxd", true },
		{ " , shop ,,", "shop", "x", true },
		{ "a*b*c:x", "aXbbYc", "x", true },
		{ "a*b*c:x", "aXbbYcd", "x", false },
		{ "*:*", "", "", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (rules_allow(cases[i].rules, cases[i].major, cases[i].name) != cases[i].on)
			fail_msg("\"%s\" of %s:%s", cases[i].rules, cases[i].major, cases[i].name);
	}
}

static void what_makes_no_sense_is_refused(void **unused)
{
	char rules[64] = "shop";
	char longest[300];

	memset(longest, 'a', sizeof(longest));
	longest[255] = '\0';
	assert_true(rules_are_sane(longest));
	longest[255] = 'a';
	longest[256] = '\0';
	assert_false(rules_are_sane(longest));
	assert_false(rules_are_sane("a:b:c"));
	assert_false(rules_are_sane(":b"));
	assert_false(rules_are_sane("a/b"));
	assert_false(rules_are_sane("a,-"));
	assert_false(rules_are_sane("caf\xc3\xa9"));
	assert_int_equal(rules_add(rules, sizeof(rules), "good,b@d", false), -EINVAL);
	assert_string_equal(rules, "shop");
}

static void patterns_that_come_again_move_to_the_end(void **unused)
{
	char rules[64] = "";

	assert_int_equal(rules_add(rules, sizeof(rules), "shop,net", false), 0);
	assert_string_equal(rules, "shop,net");
	assert_int_equal(rules_add(rules, sizeof(rules), "shop", true), 0);
	assert_string_equal(rules, "net,-shop");
	assert_int_equal(rules_add(rules, sizeof(rules), "-shop", true), 0);
	assert_string_equal(rules, "net,shop");
	assert_int_equal(rules_add(rules, sizeof(rules), "", true), 0);
	assert_string_equal(rules, "net,shop");
}

static void what_does_not_fit_changes_nothing(void **unused)
{
	char rules[12] = "shop";

	assert_int_equal(rules_add(rules, sizeof(rules), "1234567", false), -E2BIG);
	assert_string_equal(rules, "shop");
	assert_int_equal(rules_add(rules, sizeof(rules), "123456", false), 0);
	assert_string_equal(rules, "shop,123456");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_pattern_that_fits_decides),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(patterns_that_come_again_move_to_the_end),
		cmocka_unit_test(what_does_not_fit_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

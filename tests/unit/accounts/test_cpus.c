#include "accounts/cpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void lists_are_read_and_written(void **unused)
{
	struct delays_cpus cpus;
	char *text;

	assert_int_equal(delays_cpus_parse("8,0-2,2-3,1000\n", &cpus, NULL), 0);
	assert_int_equal(cpus.count, 6);
	assert_int_equal(cpus.cpus[5], 1000);
	text = delays_cpus_text(&cpus, 0, cpus.count);
	assert_string_equal(text, "0-3,8,1000");
	free(text);
	text = delays_cpus_text(&cpus, 3, 2);
	assert_string_equal(text, "3,8");
	free(text);
	delays_cpus_fini(&cpus);
}

static void a_thousand_cpus_are_one_range(void **unused)
{
	struct delays_cpus cpus;
	char *text;

	assert_int_equal(delays_cpus_parse("0-1023", &cpus, NULL), 0);
	text = delays_cpus_text(&cpus, 16, 16);
	assert_string_equal(text, "16-31");
	free(text);
	delays_cpus_fini(&cpus);
}

static void what_is_no_list_is_refused(void **unused)
{
	static const char *const bad[] = {
		"", "a", "1,", "3-1", "1-", "-1", "1,,2", "0-65536", "99999999999999999999", "1 2"
	};
	struct delays_cpus cpus;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(delays_cpus_parse(bad[i], &cpus, NULL) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_read_and_written),
		cmocka_unit_test(a_thousand_cpus_are_one_range),
		cmocka_unit_test(what_is_no_list_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

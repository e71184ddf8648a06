/* test_window.c - which reason is told for a window with nothing in it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/window.h"

#define S 1000000000ull

static void the_reason_is_the_one_that_helps(void **unused)
{
	static const struct {
		uint64_t start_ns, end_ns;
		const char *says;
	} cases[] = {
		{ 5 * S, 15 * S, "it ends at 15.000000000 on the trace clock" },
		{ 90 * S, 95 * S, "it begins at 90.000000000 on the trace clock" },
		{ 90 * S, 80 * S, "it begins at 90.000000000 on the trace clock" },
		{ 43 * S, 42 * S + 1, "begins at 43.000000000 and ends at 42.000000001" },
		{ 43 * S, 43 * S, "begins at 43.000000000 and ends at 43.000000000" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct err err = { 0 };

		assert_int_equal(window_refuse(&err, -ERANGE, cases[i].start_ns, cases[i].end_ns,
					       40 * S, 80 * S),
				 -ERANGE);
		if (!strstr(err.text, cases[i].says))
			fail_msg("\"%s\" is missing in: %s", cases[i].says, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reason_is_the_one_that_helps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

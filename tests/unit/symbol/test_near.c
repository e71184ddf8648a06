/* test_near.c - the names most like a wanted one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "symbol/near.h"

static void check(const char *wanted, bool takes_any, const char *names, const char *expected)
{
	struct near near = { .wanted = wanted, .takes_any = takes_any };
	char copy[256], *rest = copy, *name;

	strcpy(copy, names);
	while ((name = strsep(&rest, " ")))
		near_offer(&near, name);
	assert_string_equal(near_text(&near).s, expected);
}

static void the_most_similar_come_first(void **state)
{
	check("wrok", false, "main work wrk quite", "wrk, work");
	check("malloc", false, "malloc_info calloc free mallo", "calloc, mallo, malloc_info");
	check("aaaa", false, "aaab aaba abaa baaa aaaa", "aaaa, aaab, aaba, abaa");
}

static void each_is_named_once_and_others_not_at_all(void **state)
{
	check("work", false, "work work xyz", "work");
	check("f", false, "g h", "");
	check("a:b", true, "demo:start demo:end", "demo:start, demo:end");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_similar_come_first),
		cmocka_unit_test(each_is_named_once_and_others_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

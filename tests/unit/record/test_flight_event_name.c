/* test_flight_event_name.c - the thread of the kernel's line, and what it is called. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/flight_event_name.h"

static void the_thread_stands_behind_a_name_of_any_letters(void **state)
{
	(void)state;
	assert_int_equal(flight_event_tid("            true-4711    [000] d..2."), 4711);
	assert_int_equal(flight_event_tid("  a-1 [000] -2 b-4711    [000] d..2."), 4711);
	assert_int_equal(flight_event_tid("           <...>-1234567 [001] d..2."), 1234567);
	assert_int_equal(flight_event_tid("          <idle>-0       [001] d..2."), 0);
	assert_int_equal(flight_event_tid("CPU:1 [LOST 12 EVENTS]"), 0);
	assert_int_equal(flight_event_tid("            true-"), 0);
	assert_int_equal(flight_event_tid("            true-99999999999 [001]"), 0);
	assert_int_equal(flight_event_tid(""), 0);
}

static void one_that_is_here_has_its_name_of_now(void **state)
{
	AUTO_FREE char *line =
		xasprintf("%16s-%-7d [000] .....  1.5: e: x", "old name", (int)getpid());
	AUTO_FREE char *expected = xasprintf("re named-%-7d [000] .....  1.5: e: x", (int)getpid());
	AUTO_FREE char *renamed = NULL;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "re named"), 0);
	renamed = flight_event_rename(line, -1);
	assert_string_equal(renamed, expected);
}

static void one_that_is_gone_has_the_name_that_was_noted(void **state)
{
	AUTO_FREE char *name = flight_event_saved("12 a\n4711 re named\n47 b", 4711);
	AUTO_FREE char *last = flight_event_saved("12 a\n4711 re named\n47 b", 47);

	(void)state;
	assert_string_equal(name, "re named");
	assert_string_equal(last, "b");
	assert_null(flight_event_saved("12 a\n4711 b\n", 471));
	assert_null(flight_event_saved("", 1));
}

static void what_is_no_line_of_a_thread_stays(void **state)
{
	AUTO_FREE char *same = flight_event_rename("          <idle>-0       [001] d..2.", -1);
	AUTO_FREE char *gone = flight_event_rename("           <...>-2147483647 [001]", -1);

	(void)state;
	assert_string_equal(same, "          <idle>-0       [001] d..2.");
	assert_string_equal(gone, "           <...>-2147483647 [001]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_thread_stands_behind_a_name_of_any_letters),
		cmocka_unit_test(one_that_is_here_has_its_name_of_now),
		cmocka_unit_test(one_that_is_gone_has_the_name_that_was_noted),
		cmocka_unit_test(what_is_no_line_of_a_thread_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

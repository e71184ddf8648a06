/* test_flight_state.c - what a killed flight recorder says of its rings. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "record/flight_state.h"

static const char whole[] = "instance holdup-12-3456\nevents core\nbuffer 1048576\non 77\nomits 1\n"
			    "sync 1 2 3\n";

static void all_lines_are_read(void **state)
{
	struct flight_state found;

	(void)state;
	assert_true(flight_parse_state(whole, &found));
	assert_string_equal(found.instance, "holdup-12-3456");
	assert_string_equal(found.events, "core");
	assert_int_equal(found.cpu_bytes, 1048576);
	assert_int_equal(found.on_ns, 77);
	assert_true(found.omits_idle_switches);
}

/* A kill may cut it anywhere: then nothing is believed, until the line that is needed last is whole. */
static void a_cut_one_is_none(void **state)
{
	size_t needed = sizeof(whole) - 1 - strlen("sync 1 2 3\n");
	struct flight_state found;

	(void)state;
	for (size_t bytes = 0; bytes < sizeof(whole); bytes++) {
		AUTO_FREE char *cut = xstrndup(whole, bytes);

		if (flight_parse_state(cut, &found) != (bytes >= needed))
			fail_msg("wrong of the first %zu bytes", bytes);
	}
}

static void nonsense_is_none(void **state)
{
	static const char *const texts[] = {
		"instance \nevents core\nbuffer 1\non 1\nomits 0\n",
		"instance a\nevents core\nbuffer x\non 1\nomits 0\n",
		"instance a\nevents core\nbuffer 99999999999999999999999\non 1\nomits 0\n",
		"instance 0123456789012345678901234567890123456789012345678901234567890123456789\n"
		"events core\nbuffer 1\non 1\nomits 0\n",
		"xinstance a\nevents core\nbuffer 1\non 1\nomits 0\n",
	};
	struct flight_state found;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_false(flight_parse_state(texts[i], &found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_lines_are_read),
		cmocka_unit_test(a_cut_one_is_none),
		cmocka_unit_test(nonsense_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

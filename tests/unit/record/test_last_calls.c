/* test_last_calls.c - the last call of each thread, and none where a later one may be lost. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/last_calls.h"

static void put(struct last_calls *last, int32_t tid, uint64_t mono_ns, uint16_t nr, uint16_t flags)
{
	last_calls_put(last, &(struct wire_call){
				     .tid = tid, .mono_ns = mono_ns, .nr = nr, .flags = flags });
}

/* CPUs are handed on one after the other: time may go back from one record to the next. */
static void the_latest_by_its_time(void **state)
{
	struct last_calls last = { 0 };

	(void)state;
	put(&last, 7, 100, 1, 0);
	put(&last, 7, 300, 3, 0);
	put(&last, 7, 200, 2, 0);
	put(&last, 8, 50, 9, 0);
	assert_int_equal(last_calls_find(&last, 7)->nr, 3);
	assert_int_equal(last_calls_find(&last, 8)->nr, 9);
	assert_null(last_calls_find(&last, 9));
	last_calls_fini(&last);
}

static void before_a_loss_nothing_is_known(void **state)
{
	struct last_calls last = { 0 }, copy = { 0 };

	(void)state;
	put(&last, 7, 100, 1, 0);
	put(&last, 8, 200, 2, WIRE_CALL_LOSS);
	put(&last, 9, 300, 3, 0);
	assert_null(last_calls_find(&last, 7));
	assert_int_equal(last_calls_find(&last, 8)->nr, 2);
	last_calls_copy(&copy, &last);
	assert_null(last_calls_find(&copy, 7));
	assert_int_equal(last_calls_find(&copy, 9)->nr, 3);
	last_calls_fini(&last);
	last_calls_fini(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_latest_by_its_time),
		cmocka_unit_test(before_a_loss_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_blocked_calls.c - calls that threads block in are joined to their switches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "read/kernel/blocked_calls.h"
#include "wire/wire.h"

#define MS UINT64_C(1000000)

/* A file of records "time thread call flags", and a reader of it. */
static struct blocked_calls *calls_of(const struct wire_call *records, size_t count)
{
	char path[] = "/tmp/holdup-test-calls-XXXXXX";
	int fd = mkstemp(path);
	struct blocked_calls *calls;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, records, count * sizeof(*records)), count * sizeof(*records));
	close(fd);
	calls = blocked_calls_open(path, false);
	assert_non_null(calls);
	(void)unlink(path);
	return calls;
}

/* The call of that switch; -1 = none. */
static int taken(struct blocked_calls *calls, int32_t tid, uint64_t time_ns)
{
	struct wire_call call;

	return blocked_calls_take(calls, tid, time_ns, &call) ? call.nr : -1;
}

static void order_joins_them_whatever_the_clocks_say(void **unused)
{
	static const struct wire_call records[] = {
		{ 1000, 7, 1, 0, { 0 } }, { 3000, 7, 2, 0, { 0 } }, { 5000, 8, 3, 0, { 0 } },
		{ 7000, 7, 4, 0, { 0 } }, { 9000, 7, 5, 0, { 0 } },
	};
	struct blocked_calls *calls = calls_of(records, ARRAY_LEN(records));

	/* The switches are 2.5 us later: nearer to the next record than to their own. */
	assert_int_equal(taken(calls, 7, 3500), 1);
	assert_int_equal(taken(calls, 7, 5500), 2);
	assert_int_equal(taken(calls, 8, 7500), 3);
	assert_int_equal(taken(calls, 7, 9500), 4);
	assert_int_equal(taken(calls, 7, 11500), 5);
	assert_int_equal(taken(calls, 7, 13500), -1);
	blocked_calls_close(calls);
}

static void a_switch_without_a_record_has_no_call(void **unused)
{
	static const struct wire_call records[] = { { 1000, 7, 1, 0, { 0 } },
						    { 5 * MS, 7, 2, 0, { 0 } } };
	struct blocked_calls *calls = calls_of(records, ARRAY_LEN(records));

	assert_int_equal(taken(calls, 9, 900), -1); /* a thread of the kernel */
	assert_int_equal(taken(calls, 7, 1100), 1);
	assert_int_equal(taken(calls, 7, 2 * MS), -1);
	assert_int_equal(taken(calls, 7, 5 * MS), 2);
	blocked_calls_close(calls);
}

static void a_record_whose_switch_was_lost_is_left_out(void **unused)
{
	static const struct wire_call records[] = { { 1000, 7, 1, 0, { 0 } },
						    { 2000, 8, 2, 0, { 0 } },
						    { 3 * MS, 7, 3, 0, { 0 } } };
	struct blocked_calls *calls = calls_of(records, ARRAY_LEN(records));

	assert_int_equal(taken(calls, 8, 2000), 2); /* behind that of 7 */
	assert_int_equal(taken(calls, 7, 3 * MS), 3);
	blocked_calls_close(calls);
}

/* The first one of 7 found no room: the second one is not taken for it. */
static void behind_a_loss_only_what_is_near_is_taken(void **unused)
{
	static const struct wire_call records[] = {
		{ 300000, 7, 2, WIRE_CALL_LOSS, { 0 } },
		{ 301000, 8, 3, 0, { 0 } },
	};
	struct blocked_calls *calls = calls_of(records, ARRAY_LEN(records));

	assert_int_equal(taken(calls, 7, 1000), -1);
	assert_int_equal(taken(calls, 7, 300100), 2);
	assert_int_equal(taken(calls, 8, 301000), 3);
	blocked_calls_close(calls);
}

static void seeking_finds_them_again(void **unused)
{
	struct wire_call records[2000] = { 0 };
	struct blocked_calls *calls;

	for (size_t i = 0; i < ARRAY_LEN(records); i++)
		records[i] = (struct wire_call){ (i + 1) * MS, 7, (uint16_t)(i + 1), 0, { 0 } };
	calls = calls_of(records, ARRAY_LEN(records));
	for (size_t at = 1900; at > 100; at -= 300) {
		blocked_calls_seek(calls, at * MS);
		/* That of the switch before may still be there: it is too old, or it is its own. */
		assert_int_equal(taken(calls, 7, at * MS + MS / 2), at);
		assert_int_equal(taken(calls, 7, (at + 1) * MS + MS / 2), at + 1);
	}
	blocked_calls_close(calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_joins_them_whatever_the_clocks_say),
		cmocka_unit_test(a_switch_without_a_record_has_no_call),
		cmocka_unit_test(a_record_whose_switch_was_lost_is_left_out),
		cmocka_unit_test(behind_a_loss_only_what_is_near_is_taken),
		cmocka_unit_test(seeking_finds_them_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

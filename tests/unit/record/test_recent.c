/* test_recent.c - the newest pieces stay, and who asks is told of each that goes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/recent.h"

struct gone {
	size_t count;
	uint64_t last; /* that a piece began with */
};

static void note_gone(void *context, const struct recent_piece *piece)
{
	struct gone *gone = context;

	gone->count++;
	gone->last = *(const uint64_t *)piece->data;
}

static void add(struct recent *recent, uint64_t number)
{
	const uint64_t piece[16] = { number };

	recent_add(recent, piece, sizeof(piece), number);
}

static uint64_t number_at(const struct recent *recent, size_t index)
{
	return *(const uint64_t *)recent_at(recent, index)->data;
}

static void the_oldest_go_when_there_is_no_room(void **state)
{
	struct gone gone = { 0 };
	struct recent *recent = recent_new(4096, note_gone, &gone);
	size_t count = 0;

	(void)state;
	for (uint64_t i = 1; i <= 1000; i++) {
		add(recent, i);
		assert_true(recent_bytes(recent) <= 4096);
	}
	while (recent_at(recent, count))
		count++;
	assert_in_range(count, 16, 32);
	assert_int_equal(gone.count + count, 1000);
	assert_int_equal(gone.last, 1000 - count);
	assert_int_equal(recent_gone_ns(recent), gone.last);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(number_at(recent, i), gone.last + 1 + i);
	recent_free(recent);
}

static void what_nobody_needs_goes_and_does_not_count_as_lost(void **state)
{
	struct gone gone = { 0 };
	struct recent *recent = recent_new(1 << 20, note_gone, &gone);

	(void)state;
	for (uint64_t i = 1; i <= 40; i++)
		add(recent, i);
	recent_forget(recent, 31);
	assert_int_equal(number_at(recent, 0), 31);
	assert_int_equal(gone.count, 30);
	assert_int_equal(recent_gone_ns(recent), 0);
	recent_forget(recent, UINT64_MAX);
	assert_null(recent_at(recent, 0));
	assert_int_equal(recent_bytes(recent), 0);
	add(recent, 99);
	assert_int_equal(number_at(recent, 0), 99);
	recent_free(recent);
	recent_free(NULL);
}

static void a_piece_that_is_too_large_is_lost(void **state)
{
	struct recent *recent = recent_new(64, NULL, NULL);

	(void)state;
	add(recent, 7);
	assert_null(recent_at(recent, 0));
	assert_int_equal(recent_gone_ns(recent), 7);
	recent_free(recent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_go_when_there_is_no_room),
		cmocka_unit_test(what_nobody_needs_goes_and_does_not_count_as_lost),
		cmocka_unit_test(a_piece_that_is_too_large_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_pages.c - the walk over one page, on pages made byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "read/page_maker.h"
#include "read/kernel/pages.h"

static struct page_layout layout_for(uint32_t long_bytes, bool big_endian)
{
	struct page_layout layout;

	assert_int_equal(
		page_layout_init(&layout, NULL, MADE_PAGE_BYTES, long_bytes, big_endian, NULL), 0);
	return layout;
}

/* The times of all records; returns how many, or -1 when the page ends in damage. */
static int times_of(const struct made_page *made, uint64_t *times, int max)
{
	struct page_layout layout = layout_for(made->head - 8, made->big_endian);
	struct page_cursor cursor;
	struct record record;
	struct page page;
	int count = 0, rc;

	assert_true(page_open(&layout, made->bytes, &page));
	page_begin(&page, made->big_endian, &cursor);
	while ((rc = page_next(&cursor, &record)) > 0 && count < max)
		times[count++] = record.time;
	return rc < 0 ? -1 : count;
}

static void deltas_add_up_in_every_layout(void **unused)
{
	for (int variant = 0; variant < 4; variant++) {
		struct made_page page = page_made(1000, variant & 1 ? 4 : 8, variant & 2);
		uint64_t times[4];

		made_event(&page, 0, 7, 1, 0);
		made_event(&page, 5, 7, 1, 0);
		made_event(&page, (1u << 27) - 1, 7, 1, 0);
		assert_int_equal(times_of(&page, times, 4), 3);
		assert_int_equal(times[0], 1000);
		assert_int_equal(times[1], 1005);
		assert_int_equal(times[2], 1005 + (1u << 27) - 1);
	}
}

static void a_record_is_what_lies_behind_its_header(void **unused)
{
	struct page_layout layout = layout_for(8, false);
	struct made_page made = page_made(1, 8, false);
	struct page_cursor cursor;
	struct record record;
	struct page page;

	made_event(&made, 0, 7, 42, 0x11223344);
	assert_true(page_open(&layout, made.bytes, &page));
	page_begin(&page, false, &cursor);
	assert_int_equal(page_next(&cursor, &record), 1);
	assert_int_equal(record.bytes, 12);
	assert_int_equal(page_word(record.data + 8, false), 0x11223344);
	assert_int_equal(page_next(&cursor, &record), 0);
}

static void a_time_extend_adds_and_a_stamp_sets(void **unused)
{
	struct made_page page = page_made(1000, 8, false);
	uint64_t times[4];

	made_extend(&page, 30, UINT64_C(1) << 40);
	made_event(&page, 0, 7, 1, 0);
	made_extend(&page, 31, (UINT64_C(1) << 41) + 7);
	made_event(&page, 3, 7, 1, 0);
	assert_int_equal(times_of(&page, times, 4), 2);
	assert_int_equal(times[0], 1000 + (UINT64_C(1) << 40));
	assert_int_equal(times[1], (UINT64_C(1) << 41) + 10);
}

static void a_stamp_takes_its_upper_bits_from_the_time_before(void **unused)
{
	const uint64_t top = UINT64_C(0xa8) << 56; /* 5 upper bits */
	const uint64_t low = (UINT64_C(1) << 59) - 1;
	struct made_page page = page_made(top | 1000, 8, false);
	uint64_t times[4];

	made_extend(&page, 31, 2000);
	made_event(&page, 0, 7, 1, 0);
	made_extend(&page, 31, 5); /* the lower 59 bits went round */
	made_event(&page, 0, 7, 1, 0);
	assert_int_equal(times_of(&page, times, 4), 2);
	assert_int_equal(times[0], top | 2000);
	assert_int_equal(times[1], (top | 5) + low + 1);
}

static void padding_in_the_middle_is_stepped_over(void **unused)
{
	struct made_page page = page_made(1000, 8, false);
	uint64_t times[4];

	made_event(&page, 0, 7, 1, 0);
	made_word(&page, 29, 4); /* a discarded event: 12 bytes follow */
	made_body(&page, 12, 4);
	made_body(&page, 0, 8);
	made_event(&page, 6, 7, 1, 0);
	assert_int_equal(times_of(&page, times, 4), 2);
	assert_int_equal(times[1], 1010);
}

static void padding_without_time_ends_the_page(void **unused)
{
	struct made_page page = page_made(1000, 8, false);
	uint64_t times[4];

	made_event(&page, 0, 7, 1, 0);
	made_word(&page, 29, 0);
	made_event(&page, 6, 7, 1, 0);
	assert_int_equal(times_of(&page, times, 4), 1);
}

static void a_large_record_has_its_length_in_front(void **unused)
{
	struct page_layout layout = layout_for(8, false);
	struct made_page made = page_made(1000, 8, false);
	struct page_cursor cursor;
	struct record record;
	struct page page;

	made_word(&made, 0, 1);
	made_body(&made, 4 + 120, 4);
	for (int i = 0; i < 15; i++)
		made_body(&made, 0, 8);
	made_event(&made, 2, 7, 1, 0);
	assert_true(page_open(&layout, made.bytes, &page));
	page_begin(&page, false, &cursor);
	assert_int_equal(page_next(&cursor, &record), 1);
	assert_int_equal(record.bytes, 120);
	assert_int_equal(page_next(&cursor, &record), 1);
	assert_int_equal(record.time, 1003);
}

static void lengths_that_leave_the_page_are_damage(void **unused)
{
	static const struct {
		uint32_t type, delta, body;
	} bad[] = { { 28, 0, 0 },    { 0, 0, 4096 }, { 0, 0, 0 },  { 0, 0, 0xffffffff },
		    { 29, 1, 4096 }, { 29, 1, 0 },   { 29, 1, 6 }, { 0, 0, 9 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct made_page page = page_made(1000, 8, false);
		uint64_t times[4];

		made_event(&page, 0, 7, 1, 0);
		made_word(&page, bad[i].type, bad[i].delta);
		made_body(&page, bad[i].body, 4);
		assert_int_equal(times_of(&page, times, 4), -1);
	}
}

static void a_header_cut_at_the_end_is_damage(void **unused)
{
	struct made_page page = page_made(1000, 8, false);
	uint64_t times[4];

	made_event(&page, 0, 7, 1, 0);
	made_word(&page, 30, 1); /* and no body */
	assert_int_equal(times_of(&page, times, 4), -1);
}

static void lost_events_are_told_with_and_without_a_number(void **unused)
{
	for (int variant = 0; variant < 4; variant++) {
		bool big_endian = variant & 2;
		uint32_t long_bytes = variant & 1 ? 4 : 8;
		struct page_layout layout = layout_for(long_bytes, big_endian);
		struct made_page made = page_made(1000, long_bytes, big_endian);
		struct page page;

		made_event(&made, 0, 7, 1, 0);
		assert_true(page_open(&layout, made.bytes, &page));
		assert_false(page.lost);
		made_lost(&made, 0);
		assert_true(page_open(&layout, made.bytes, &page));
		assert_true(page.lost);
		assert_int_equal(page.lost_count, 0);
		made_lost(&made, 77);
		assert_true(page_open(&layout, made.bytes, &page));
		assert_int_equal(page.bytes, 16);
		assert_int_equal(page.lost_count, 77);
	}
}

static void a_page_that_claims_more_than_it_holds_is_refused(void **unused)
{
	struct page_layout layout = layout_for(8, false);
	struct made_page made = page_made(1000, 8, false);
	struct page page;

	made_number(&made, 8, MADE_PAGE_BYTES - 16, 8);
	assert_true(page_open(&layout, made.bytes, &page));
	made_number(&made, 8, MADE_PAGE_BYTES - 15, 8);
	assert_false(page_open(&layout, made.bytes, &page));
}

static void the_layout_comes_from_the_header_text(void **unused)
{
	static const char text[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				   "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
				   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				   "\tfield: char data;\toffset:12;\tsize:4084;\tsigned:0;\n";
	struct page_layout layout;
	struct err err;

	assert_int_equal(page_layout_init(&layout, text, 4096, 4, false, &err), 0);
	assert_int_equal(layout.commit_bytes, 4);
	assert_int_equal(layout.data_offset, 12);
	assert_true(page_layout_init(&layout, "nothing", 4096, 4, false, &err) < 0);
	assert_true(page_layout_init(&layout, NULL, 16, 4, false, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deltas_add_up_in_every_layout),
		cmocka_unit_test(a_record_is_what_lies_behind_its_header),
		cmocka_unit_test(a_time_extend_adds_and_a_stamp_sets),
		cmocka_unit_test(a_stamp_takes_its_upper_bits_from_the_time_before),
		cmocka_unit_test(padding_in_the_middle_is_stepped_over),
		cmocka_unit_test(padding_without_time_ends_the_page),
		cmocka_unit_test(a_large_record_has_its_length_in_front),
		cmocka_unit_test(lengths_that_leave_the_page_are_damage),
		cmocka_unit_test(a_header_cut_at_the_end_is_damage),
		cmocka_unit_test(lost_events_are_told_with_and_without_a_number),
		cmocka_unit_test(a_page_that_claims_more_than_it_holds_is_refused),
		cmocka_unit_test(the_layout_comes_from_the_header_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_ctf_layout.c - records of the kernel as structs of CTF, against texts and bytes by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "export/ctf_layout.h"
#include "read/format_text.h"
#include "fields/print.h"
#include "read/read.h"

#define COMMON                                                                                 \
	{ .name = "common_type", .offset = 0, .bytes = 2, .element_bytes = 2, .count = 1 },    \
		{ .name = "common_flags",                                                      \
		  .offset = 2,                                                                 \
		  .bytes = 1,                                                                  \
		  .element_bytes = 1,                                                          \
		  .count = 1 },                                                                \
		{ .name = "common_preempt_count",                                              \
		  .offset = 3,                                                                 \
		  .bytes = 1,                                                                  \
		  .element_bytes = 1,                                                          \
		  .count = 1 },                                                                \
	{                                                                                      \
		.name = "common_pid", .offset = 4, .bytes = 4, .element_bytes = 4, .count = 1, \
		.is_signed = true                                                              \
	}
#define NUMBER(text, at, size)                                                               \
	{                                                                                    \
		.name = text, .offset = at, .bytes = size, .element_bytes = size, .count = 1 \
	}
#define LOCATED(text, at, size, how, chars)                                                 \
	{                                                                                   \
		.name = text, .offset = at, .bytes = 4, .element_bytes = size, .kind = how, \
		.is_text = chars, .is_array = true                                          \
	}
#define KIND(of)                                                 \
	{                                                        \
		.system = "sched", .name = "kind", .fields = of, \
		.field_count = sizeof(of) / sizeof((of)[0])      \
	}

static void assert_tsdl(const struct ctf_layout *layout, const char *want)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	ctf_layout_print(layout, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, want);
	free(text);
}

#define U(bits, align) "\t\tinteger { size = " #bits "; align = " #align "; signed = false; }"

static void a_gap_is_alignment_or_bytes_that_are_no_field(void **unused)
{
	struct print_field fields[] = { COMMON, NUMBER("a", 8, 1), NUMBER("b", 12, 4),
					NUMBER("c", 16, 1), NUMBER("d", 32, 8) };
	const struct print_event kind = KIND(fields);
	struct ctf_layout *layout = ctf_layout_new(&kind, false);

	assert_tsdl(layout, U(8, 8) " _a;\n" U(32, 32) " _b;\n" U(8, 8) " _c;\n" U(
				    8, 8) " _pad_17[15];\n" U(64, 8) " _d;\n");
	ctf_layout_free(layout);
}

static void names_are_told_apart_and_what_overlaps_is_left_out(void **unused)
{
	struct print_field fields[] = { COMMON, NUMBER("x", 12, 4), NUMBER("x", 8, 4),
					NUMBER("inside", 14, 2), NUMBER("", 16, 4) };
	const struct print_event kind = KIND(fields);
	struct ctf_layout *layout = ctf_layout_new(&kind, false);

	assert_tsdl(layout, U(32, 8) " _x;\n" U(32, 8) " _x_;\n" U(32, 8) " _field;\n");
	ctf_layout_free(layout);
}

static void a_kind_without_the_kernel_s_head_has_no_layout(void **unused)
{
	struct print_field fields[] = { NUMBER("common_type", 0, 2), NUMBER("value", 8, 4) };
	struct print_field moved[] = { NUMBER("common_type", 2, 2), NUMBER("common_pid", 4, 4) };
	const struct print_event kind = KIND(fields), other = KIND(moved);

	assert_null(ctf_layout_new(&kind, false));
	assert_null(ctf_layout_new(&other, false));
	ctf_layout_free(NULL);
}

static void store32(uint8_t *at, uint32_t value, bool big_endian)
{
	for (unsigned i = 0; i < 4; i++)
		at[big_endian ? 3 - i : i] = (uint8_t)(value >> 8 * i);
}

static uint32_t load32(const uint8_t *at, bool big_endian)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < 4; i++)
		value |= (uint32_t)at[big_endian ? 3 - i : i] << 8 * i;
	return value;
}

/* What lies anywhere, in any order, lies behind the fixed part, in the order of the words. */
static void located(bool big_endian)
{
	struct print_field fields[] = { COMMON, LOCATED("text", 8, 1, FORMAT_DATA_LOC, true),
					LOCATED("numbers", 12, 4, FORMAT_DATA_LOC, false),
					LOCATED("near", 16, 1, FORMAT_REL_LOC, true) };
	const struct print_event kind = KIND(fields);
	struct ctf_layout *layout = ctf_layout_new(&kind, big_endian);
	uint8_t data[64] = { 0 }, *to = xcalloc(1, CTF_LAYOUT_MAX_BYTES);
	struct trace_record record = { .data = data, .bytes = sizeof(data) };
	uint32_t tail = 7, bytes;

	memcpy(data + 40, "text", 5);
	memcpy(data + 24, "12345678...", 10);
	memcpy(data + 50, "near", 5);
	store32(data + 8, 5u << 16 | 40, big_endian);
	store32(data + 12, 10u << 16 | 24, big_endian); /* two elements, and half of one */
	store32(data + 16, 5u << 16 | (50 - 20), big_endian);
	bytes = ctf_layout_put(layout, &record, to, &tail);
	assert_int_equal(bytes, 20 + 5 + 8 + 5);
	assert_int_equal(tail, 0);
	assert_memory_equal(to + 20,
			    "text\0"
			    "12345678"
			    "near",
			    bytes - 20);
	assert_int_equal(load32(to + 8, big_endian), 5u << 16 | 20);
	assert_int_equal(load32(to + 12, big_endian), 8u << 16 | 25);
	assert_int_equal(load32(to + 16, big_endian), 5u << 16 | (33 - 20));
	ctf_layout_free(layout);
	free(to);
}

static void what_words_locate_is_moved_behind_the_fixed_part(void **unused)
{
	located(false);
	located(true);
}

static void a_word_that_points_out_of_the_record_locates_nothing(void **unused)
{
	static const uint32_t words[] = { 5u << 16 | 60, 65535u << 16 | 0, 1u << 16 | 65535,
					  65535u << 16 | 65535 };
	struct print_field fields[] = { COMMON, LOCATED("text", 8, 1, FORMAT_DATA_LOC, true),
					LOCATED("near", 12, 8, FORMAT_REL_LOC, false) };
	const struct print_event kind = KIND(fields);
	struct ctf_layout *layout = ctf_layout_new(&kind, false);
	uint8_t *data = xcalloc(1, 64), *to = xcalloc(1, CTF_LAYOUT_MAX_BYTES);
	struct trace_record record = { .data = data, .bytes = 64 };
	uint32_t tail;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		store32(data + 8, words[i], false);
		store32(data + 12, words[i], false);
		assert_int_equal(ctf_layout_put(layout, &record, to, &tail), 16);
		assert_int_equal(load32(to + 8, false), 16);
		assert_int_equal(load32(to + 12, false), 0);
	}
	ctf_layout_free(layout);
	free(data);
	free(to);
}

static void a_record_that_ends_too_early_is_filled_with_zeros(void **unused)
{
	struct print_field fields[] = { COMMON, NUMBER("a", 8, 4), NUMBER("b", 12, 4) };
	const struct print_event kind = KIND(fields);
	struct ctf_layout *layout = ctf_layout_new(&kind, false);
	uint8_t *data = xcalloc(1, 10), *to = xcalloc(1, CTF_LAYOUT_MAX_BYTES);
	const struct trace_record record = { .data = data, .bytes = 10 };
	uint32_t tail;

	memset(data, 0x11, 10);
	memset(to, 0xff, 16);
	assert_int_equal(ctf_layout_put(layout, &record, to, &tail), 16);
	assert_memory_equal(to, "\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\0\0\0\0\0\0", 16);
	ctf_layout_free(layout);
	free(data);
	free(to);
}

static void an_array_up_to_the_end_counts_its_elements(void **unused)
{
	struct print_field fields[] = {
		COMMON,
		NUMBER("size", 8, 4),
		{ .name = "stack", .offset = 16, .element_bytes = 8, .count = 1, .is_array = true }
	};
	const struct print_event kind = KIND(fields);
	struct ctf_layout *layout = ctf_layout_new(&kind, false);
	uint8_t data[16 + 8 * 3 + 5] = { 0 }, *to = xcalloc(1, CTF_LAYOUT_MAX_BYTES);
	struct trace_record record = { .data = data, .bytes = sizeof(data) };
	uint32_t tail;

	assert_tsdl(layout, U(32, 8) " _size;\n" U(8, 8) " _pad_12[4];\n" U(
				    64, 8) " _stack[stream.event.context.tail_count];\n");
	for (unsigned i = 16; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	assert_int_equal(ctf_layout_put(layout, &record, to, &tail), 16 + 24);
	assert_int_equal(tail, 3);
	assert_memory_equal(to + 16, data + 16, 24);
	record.bytes = 16;
	assert_int_equal(ctf_layout_put(layout, &record, to, &tail), 16);
	assert_int_equal(tail, 0);
	ctf_layout_free(layout);
	free(to);
}

static void the_largest_record_has_room(void **unused)
{
	struct print_field fields[] = { COMMON, LOCATED("a", 8, 1, FORMAT_DATA_LOC, true),
					LOCATED("b", 12, 1, FORMAT_DATA_LOC, true) };
	const struct print_event kind = KIND(fields);
	struct ctf_layout *layout = ctf_layout_new(&kind, false);
	uint8_t *data = xcalloc(1, 65535), *to = xcalloc(1, CTF_LAYOUT_MAX_BYTES);
	const struct trace_record record = { .data = data, .bytes = 65535 };
	uint32_t tail;

	/* Both locate the same 60,000 bytes: the second one has no room. */
	store32(data + 8, 60000u << 16 | 100, false);
	store32(data + 12, 60000u << 16 | 100, false);
	assert_int_equal(ctf_layout_put(layout, &record, to, &tail), 16 + 60000);
	assert_int_equal(load32(to + 8, false), 60000u << 16 | 16);
	assert_int_equal(load32(to + 12, false), 60016);
	ctf_layout_free(layout);
	free(data);
	free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_is_alignment_or_bytes_that_are_no_field),
		cmocka_unit_test(names_are_told_apart_and_what_overlaps_is_left_out),
		cmocka_unit_test(a_kind_without_the_kernel_s_head_has_no_layout),
		cmocka_unit_test(what_words_locate_is_moved_behind_the_fixed_part),
		cmocka_unit_test(a_word_that_points_out_of_the_record_locates_nothing),
		cmocka_unit_test(a_record_that_ends_too_early_is_filled_with_zeros),
		cmocka_unit_test(an_array_up_to_the_end_counts_its_elements),
		cmocka_unit_test(the_largest_record_has_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_python_offsets.c - what CPython publishes of its layout: of real builds, of later ones, and what lies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "python_told.h"
#include "symbol/python_offsets.h"

#define VERSION_3_16 UINT64_C(0x031000f0)

static const uint64_t told_3_13[TOLD_WORDS] = { TOLD_WORDS_3_13 };
static const uint64_t told_3_14[TOLD_WORDS] = { TOLD_WORDS_3_14 };
static const uint64_t told_3_15[TOLD_WORDS] = { TOLD_WORDS_3_15 };

static enum python_offsets_told read_words(const uint64_t *words, uint64_t version,
					   struct python_offsets *out_offsets)
{
	return python_offsets_read(words, TOLD_WORDS * sizeof(*words), version, out_offsets);
}

static void check(const uint64_t *words, uint64_t version, const struct python_offsets *wanted)
{
	struct python_offsets offsets = { 0 };

	assert_int_equal(read_words(words, version, &offsets), PYTHON_OFFSETS_KNOWN);
	assert_memory_equal(&offsets, wanted, sizeof(offsets));
}

/* By offsetof() of the headers of each. */
static void three_versions_are_read(void **unused)
{
	struct python_offsets wanted = {
		.runtime_head = 632,
		.interpreter_next = 7264,
		.interpreter_threads = 7344,
		.thread_next = 8,
		.thread_frame = 72,
		.thread_self = 152,
		.thread_number = 160,
		.frame_previous = 8,
		.frame_instruction = 56,
		.frame_locals = 72,
		.frame_owner = 70,
		.code_file = 112,
		.code_name = 128,
		.code_table = 136,
		.code_line = 68,
		.code_locals = 72,
		.code_start = 200,
		.text_ascii = 40,
		.text_wide = 56,
	};

	check(told_3_13, TOLD_3_13, &wanted);
	wanted.runtime_head = 808;
	wanted.interpreter_next = 7272;
	wanted.frame_locals = 80;
	wanted.frame_owner = 74;
	wanted.code_start = 208;
	check(told_3_14, TOLD_3_14, &wanted);
	wanted.runtime_head = 936;
	wanted.interpreter_next = 7264;
	wanted.interpreter_threads = 7336;
	wanted.thread_self = 176;
	wanted.thread_number = 184;
	check(told_3_15, TOLD_3_15, &wanted);
}

static void a_later_version_is_read_where_it_proves_itself(void **unused)
{
	struct python_offsets offsets, wanted;
	uint64_t words[TOLD_WORDS];

	memcpy(words, told_3_15, sizeof(words));
	words[1] = VERSION_3_16;
	assert_int_equal(read_words(words, VERSION_3_16, &offsets), PYTHON_OFFSETS_KNOWN);
	assert_int_equal(read_words(told_3_15, TOLD_3_15, &wanted), PYTHON_OFFSETS_KNOWN);
	assert_memory_equal(&offsets, &wanted, sizeof(offsets));

	/* One more offset, wherever it was put in: behind all that is read, or nothing is believed. */
	for (size_t at = 3; at < TOLD_WORDS; at++) {
		memcpy(words, told_3_15, at * sizeof(*words));
		words[1] = VERSION_3_16;
		words[at] = 96;
		memcpy(words + at + 1, told_3_15 + at, (TOLD_WORDS - 1 - at) * sizeof(*words));
		if (read_words(words, VERSION_3_16, &offsets) == PYTHON_OFFSETS_KNOWN)
			assert_memory_equal(&offsets, &wanted, sizeof(offsets));
	}
}

static void an_order_of_another_version_is_refused(void **unused)
{
	static const uint64_t *const all[] = { told_3_13, told_3_14, told_3_15 };
	struct python_offsets offsets;

	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < 3; k++) {
			uint64_t words[TOLD_WORDS], version = all[k][1];

			memcpy(words, all[i], sizeof(words));
			words[1] = version;
			assert_int_equal(read_words(words, version, &offsets),
					 i == k ? PYTHON_OFFSETS_KNOWN : PYTHON_OFFSETS_NONE);
		}
	}
}

static void what_is_no_table_is_refused(void **unused)
{
	struct python_offsets offsets;
	uint64_t words[TOLD_WORDS];

	assert_int_equal(read_words(told_3_14, TOLD_3_14 + 1, &offsets), PYTHON_OFFSETS_NONE);
	assert_int_equal(python_offsets_read(told_3_14, sizeof(told_3_14) - 1, TOLD_3_14, &offsets),
			 PYTHON_OFFSETS_NONE);
	memcpy(words, told_3_14, sizeof(words));
	words[0] ^= 1;
	assert_int_equal(read_words(words, TOLD_3_14, &offsets), PYTHON_OFFSETS_NONE);
	words[0] ^= 1;
	words[1] = UINT64_C(0x030c00f0); /* 3.12 publishes none */
	assert_int_equal(read_words(words, words[1], &offsets), PYTHON_OFFSETS_NONE);
	words[1] = UINT64_C(0x041000f0);
	assert_int_equal(read_words(words, words[1], &offsets), PYTHON_OFFSETS_NONE);
	words[1] = UINT64_C(0x1030e00f0);
	assert_int_equal(read_words(words, words[1], &offsets), PYTHON_OFFSETS_NONE);
}

static void a_build_without_the_gil_is_told_as_one(void **unused)
{
	struct python_offsets offsets;
	uint64_t words[TOLD_WORDS];

	memcpy(words, told_3_14, sizeof(words));
	words[2] = 1;
	assert_int_equal(read_words(words, TOLD_3_14, &offsets), PYTHON_OFFSETS_NO_GIL);
	words[2] = 2;
	assert_int_equal(read_words(words, TOLD_3_14, &offsets), PYTHON_OFFSETS_NONE);
}

static void no_field_lies_outside_its_object(void **unused)
{
	static const uint64_t lies[] = { 0,
					 1,
					 7,
					 65529,
					 UINT32_MAX,
					 UINT64_MAX,
					 UINT64_MAX - 7,
					 UINT64_MAX / 2,
					 UINT64_C(1) << 32 };
	uint64_t words[TOLD_WORDS];

	for (size_t at = 3; at < TOLD_WORDS; at++) {
		for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
			struct python_offsets offsets;

			memcpy(words, told_3_15, sizeof(words));
			words[at] = lies[i];
			if (read_words(words, TOLD_3_15, &offsets) != PYTHON_OFFSETS_KNOWN)
				continue;
			assert_true(offsets.thread_number < PYTHON_OFFSETS_MAX);
			assert_true(offsets.code_start < PYTHON_OFFSETS_MAX);
			assert_true(offsets.frame_locals < PYTHON_OFFSETS_MAX);
			assert_true(offsets.interpreter_threads < words[6]);
			assert_true(offsets.runtime_head < words[3]);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_versions_are_read),
		cmocka_unit_test(a_later_version_is_read_where_it_proves_itself),
		cmocka_unit_test(an_order_of_another_version_is_refused),
		cmocka_unit_test(what_is_no_table_is_refused),
		cmocka_unit_test(a_build_without_the_gil_is_told_as_one),
		cmocka_unit_test(no_field_lies_outside_its_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

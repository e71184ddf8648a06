/* test_digits.c - numbers as text are what printf() makes of them. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/digits.h"

#define RANDOM_NUMBERS 200000

static void check(uint64_t value)
{
	char made[64], expected[64];

	*digits_u64(made, value) = '\0';
	snprintf(expected, sizeof(expected), "%" PRIu64, value);
	assert_string_equal(made, expected);
	assert_int_equal(digits_count(value), strlen(expected));
	*digits_i64(made, (int64_t)value) = '\0';
	snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)value);
	assert_string_equal(made, expected);
	*digits_hex(made, value) = '\0';
	snprintf(expected, sizeof(expected), "%" PRIx64, value);
	assert_string_equal(made, expected);
	*digits_u32(made, (uint32_t)value) = '\0';
	snprintf(expected, sizeof(expected), "%" PRIu32, (uint32_t)value);
	assert_string_equal(made, expected);
}

static void small_numbers_are_as_printf_writes_them(void **unused)
{
	(void)unused;
	for (uint64_t value = 0; value < 20000; value++)
		check(value);
}

static void numbers_around_each_power_are_as_printf_writes_them(void **unused)
{
	uint64_t ten = 1;

	(void)unused;
	for (int bit = 0; bit < 64; bit++) {
		check((UINT64_C(1) << bit) - 1);
		check(UINT64_C(1) << bit);
		check((UINT64_C(1) << bit) + 1);
	}
	for (int power = 0; power < 20; power++, ten *= 10) {
		check(ten - 1);
		check(ten);
		check(ten + 1);
	}
	check(UINT64_MAX);
	check((uint64_t)INT64_MIN);
}

static void numbers_of_any_length_are_as_printf_writes_them(void **unused)
{
	(void)unused;
	srandom(1);
	for (int i = 0; i < RANDOM_NUMBERS; i++) {
		uint64_t value =
			(uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();

		check(value >> (random() % 64));
	}
}

static void a_fixed_number_of_digits_has_zeros_in_front(void **unused)
{
	char made[16], expected[16];

	(void)unused;
	for (int value = 0; value < 1000; value++) {
		snprintf(expected, sizeof(expected), "%03d", value);
		*digits_three(made, (uint32_t)value) = '\0';
		assert_string_equal(made, expected);
		*digits_fixed(made, (uint64_t)value, 3) = '\0';
		assert_string_equal(made, expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_numbers_are_as_printf_writes_them),
		cmocka_unit_test(numbers_around_each_power_are_as_printf_writes_them),
		cmocka_unit_test(numbers_of_any_length_are_as_printf_writes_them),
		cmocka_unit_test(a_fixed_number_of_digits_has_zeros_in_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

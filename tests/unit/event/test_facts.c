/* test_facts.c - look-ups in the facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/facts.h"

static void a_symbol_covers_what_follows_it(void **unused)
{
	struct fact_symbol symbols[] = { { 0x1000, "a" }, { 0x2000, "b" }, { 0x9000, "c" } };
	struct facts facts = { .symbols = symbols, .symbol_count = 3 };

	assert_null(facts_symbol(&facts, 0));
	assert_null(facts_symbol(&facts, 0xfff));
	assert_string_equal(facts_symbol(&facts, 0x1000), "a");
	assert_string_equal(facts_symbol(&facts, 0x1fff), "a");
	assert_string_equal(facts_symbol(&facts, 0x2000), "b");
	assert_string_equal(facts_symbol(&facts, 0x9abc), "c");
	assert_null(facts_symbol(&facts, UINT64_MAX));
	assert_null(facts_symbol(&(struct facts){ 0 }, 0x1000));
}

static void system_calls_have_the_names_of_their_architecture(void **unused)
{
	static const struct {
		const char *arch;
		int64_t nr;
		bool compat;
		const char *name;
	} cases[] = {
		{ "x86_64", 0, false, "read" },
		{ "x86_64", 257, false, "openat" },
		{ "x86_64", 1, true, "exit" },
		{ "x86_64", 462, false, "mseal" },
		{ "x86_64", -1, false, NULL },
		{ "x86_64", 100000, false, NULL },
		{ "x86_64", 340, false, NULL },
		{ "i686", 5, false, "open" },
		{ "aarch64", 63, false, "read" },
		{ "aarch64", 3, true, "read" },
		{ "aarch64", 98, false, "futex" },
		{ "armv7l", 3, false, "read" },
		{ "riscv64", 57, false, "close" },
		{ "vax", 1, false, NULL },
		{ "", 1, false, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct facts facts = { .arch = cases[i].arch };
		const char *name = facts_syscall(&facts, cases[i].nr, cases[i].compat);

		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
	}
	assert_null(facts_syscall(&(struct facts){ 0 }, 1, false));
}

static void devices_are_found_by_number(void **unused)
{
	struct fact_name devices[] = { { 254 << 20, "vda" }, { 254 << 20 | 1, "vda1" } };
	struct facts facts = { .devices = devices, .device_count = 2 };

	assert_string_equal(facts_device(&facts, 254 << 20 | 1), "vda1");
	assert_null(facts_device(&facts, 7));
}

static void calls_that_no_table_has_get_numbers_above_all_tables(void **unused)
{
	struct facts facts = { .arch = "x86_64" };
	char name[16];
	int64_t nr = facts_name_call(&facts, "select_of_old");

	assert_true(nr > 600 && nr < FACTS_CALLS_MAX);
	assert_int_equal(facts_name_call(&facts, "select_of_old"), nr);
	assert_string_equal(facts_syscall(&facts, nr, false), "select_of_old");
	assert_null(facts_syscall(&facts, nr, true));
	assert_string_equal(facts_syscall(&facts, 0, false), "read");
	for (int i = 0; i < 2 * FACTS_CALLS_MAX; i++) {
		snprintf(name, sizeof(name), "call %d", i);
		nr = facts_name_call(&facts, name);
		if (nr < 0)
			break;
		assert_string_equal(facts_syscall(&facts, nr, false), name);
	}
	assert_int_equal(nr, -1); /* no number of the tables is given away */
	assert_string_equal(facts_syscall(&facts, 0, false), "read");
	facts_fini(&facts);
}

static void kept_strings_are_copies(void **unused)
{
	struct facts facts = { 0 };
	char text[] = "changes";
	const char *kept = facts_keep(&facts, text);

	text[0] = 'X';
	assert_string_equal(kept, "changes");
	assert_string_equal(facts_keep(&facts, NULL), "");
	facts_fini(&facts);
}

static void notes_of_damage_are_bounded(void **unused)
{
	struct facts facts = { 0 };

	for (int i = 0; i < 1000; i++)
		facts_note_damage(&facts, "place %d", i);
	assert_int_equal(facts.damage_count, FACTS_MAX_NOTES + 1);
	assert_string_equal(facts.damage[0], "place 0");
	assert_string_equal(facts.damage[FACTS_MAX_NOTES], "more damage than is listed here");
	facts_fini(&facts);
}

static void damage_is_noted_once_however_often_events_are_read(void **unused)
{
	struct facts facts = { 0 };

	for (int i = 0; i < 6; i++)
		facts_note_damage(&facts, "place %d", i % 3);
	assert_int_equal(facts.damage_count, 3);
	assert_string_equal(facts.damage[2], "place 2");
	facts_fini(&facts);
}

/* Nor does it become more damage than there is room for. */
static void as_much_as_is_listed_stays_that(void **unused)
{
	struct facts facts = { 0 };

	for (int i = 0; i < 2 * FACTS_MAX_NOTES; i++)
		facts_note_damage(&facts, "place %d", i % FACTS_MAX_NOTES);
	assert_int_equal(facts.damage_count, FACTS_MAX_NOTES);
	facts_fini(&facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_much_as_is_listed_stays_that),
		cmocka_unit_test(a_symbol_covers_what_follows_it),
		cmocka_unit_test(system_calls_have_the_names_of_their_architecture),
		cmocka_unit_test(devices_are_found_by_number),
		cmocka_unit_test(calls_that_no_table_has_get_numbers_above_all_tables),
		cmocka_unit_test(kept_strings_are_copies),
		cmocka_unit_test(notes_of_damage_are_bounded),
		cmocka_unit_test(damage_is_noted_once_however_often_events_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

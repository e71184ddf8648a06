/* test_stack_futex.c - words of futex(2) by name: the right process, the right program of it, the right words. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "event/stacks.h"

/* 7 runs one program, then another at 100; 8 is its child, with the same addresses. */
static void fill(struct stacks *stacks)
{
	const struct stack_futex futexes[] = {
		{ 8, 0x1000, 50, UINT64_MAX, STACK_FUTEX_GIL, NULL, NULL, 0 },
		{ 7, 0x1000, 100, UINT64_MAX, STACK_FUTEX_VARIABLE, "cache+0x8", "second", 0 },
		{ 7, 0x1000, 10, 100, STACK_FUTEX_VARIABLE, "ledger_lock", "planted", 0 },
		{ 7, 0x1000, 10, 100, STACK_FUTEX_PLACE, NULL, NULL, 0 },
		{ 7, 0x2000, 0, 80, STACK_FUTEX_PLACE, NULL, NULL, 0 },
		{ 7, 0x3000, 0, 80, STACK_FUTEX_ARENA, NULL, NULL, 0 },
		{ 7, 0x4000, 0, 80, STACK_FUTEX_PLACE, NULL, NULL, 1 },
		{ 7, 0x6000, 0, 80, STACK_FUTEX_SHARED, "/dev/shm/x+0x40", NULL, 0 },
	};

	stacks_add_frame(stacks,
			 &(struct stack_frame){ .function = "futex_wait", .module = "libc.so.6" });
	stacks_add_frame(stacks, &(struct stack_frame){ .function = "pay", .module = "bank" });
	assert_true(stacks_add_stack(stacks, (uint32_t[]){ 0, 1 }, 2, NULL));
	assert_true(stacks_add_stack(stacks, (uint32_t[]){ 0 }, 1, NULL));
	for (size_t i = 0; i < sizeof(futexes) / sizeof(futexes[0]); i++)
		stacks_add_futex(stacks, &futexes[i]);
	stacks_finish(stacks);
}

static void says(const struct stacks *stacks, int32_t tgid, const char *object, uint64_t time_ns,
		 const char *wanted)
{
	const struct stack_futex *futex = stacks_named_futex(stacks, tgid, object, time_ns);
	char *text = futex ? stack_futex_text(stacks, futex, "futex") : NULL;

	if (wanted)
		assert_string_equal(text ? text : "-", wanted);
	else
		assert_null(text);
	free(text);
}

static void a_word_has_the_name_of_the_program_that_ran_then(void **unused)
{
	struct stacks stacks = { 0 };

	fill(&stacks);
	says(&stacks, 7, "futex 0x1000", 9, NULL);
	says(&stacks, 7, "futex 0x1000", 10, "futex of ledger_lock (planted)");
	says(&stacks, 7, "futex 0x1000", 99, "futex of ledger_lock (planted)");
	says(&stacks, 7, "futex 0x1000", 100, "futex of cache+0x8 (second)");
	says(&stacks, 8, "futex 0x1000", 99, "Python's GIL");
	says(&stacks, 7, "futex 0x6000", 79, "futex in /dev/shm/x+0x40");
	says(&stacks, 9, "futex 0x1000", 99, NULL);
	stacks_fini(&stacks);
}

static void a_word_in_no_variable_says_where_it_was_seen(void **unused)
{
	struct stacks stacks = { 0 };

	fill(&stacks);
	says(&stacks, 7, "futex 0x2000", 20, "futex 0x2000, first seen in pay");
	says(&stacks, 7, "futex 0x3000", 20, "malloc arena");
	says(&stacks, 7, "futex 0x4000", 20, "futex 0x4000"); /* of the C library alone */
	says(&stacks, 7, "futex 0x5000", 20, NULL);
	says(&stacks, 7, "futex 0x2000 ", 20, NULL);
	says(&stacks, 7, "pipe:[8192]", 20, NULL);
	stacks_fini(&stacks);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_has_the_name_of_the_program_that_ran_then),
		cmocka_unit_test(a_word_in_no_variable_says_where_it_was_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

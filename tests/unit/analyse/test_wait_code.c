/* test_wait_code.c - the code of a single wait, and of who ended it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "analyse/why/wait_code.h"
#include "analyse/why/why.h"
#include "event/stacks.h"

/* Stacks: 0 = load(), 1 = parse(), 2 = other code of parse(), 3 = idle() */
static void fill(struct stacks *stacks)
{
	static const char *const names[] = { "load", "parse", "parse", "idle" };

	for (uint32_t i = 0; i < 4; i++) {
		stacks_add_frame(stacks, &(struct stack_frame){ .function = names[i],
								.module = "prog",
								.offset = 0x1000 + i });
		assert_true(stacks_add_stack(stacks, &i, 1, NULL));
	}
	stacks->sampling.period_ns = 5;
	stacks_add_wait(stacks, &(struct stack_wait){ 7, 0, 100, 200, 100, false, false });
	stacks_add_sample(stacks, &(struct stack_sample){ 95, 8, 3 });
	stacks_add_sample(stacks, &(struct stack_sample){ 110, 8, 3 });
	stacks_add_sample(stacks, &(struct stack_sample){ 120, 8, 1 });
	stacks_add_sample(stacks, &(struct stack_sample){ 130, 8, 2 });
	stacks_add_sample(stacks, &(struct stack_sample){ 150, 9, 3 });
	stacks_add_sample(stacks, &(struct stack_sample){ 200, 8, 3 });
	stacks_finish(stacks);
}

static void a_wait_has_its_place_and_its_wakers_work(void **unused)
{
	const struct why_wait wait = {
		.start_ns = 100, .end_ns = 200, .who = { .tid = 7 }, .woken_by = { .tid = 8 }
	};
	struct stacks stacks = { 0 };
	struct why_codes codes;

	fill(&stacks);
	wait_code(&stacks, &wait, &codes);
	assert_int_equal(codes.count, 1);
	assert_int_equal(codes.at[0].stack, 0);
	assert_int_equal(codes.at[0].ns, 100);
	assert_false(codes.at[0].is_work);
	wait_waker_code(&stacks, &wait, &codes);
	assert_int_equal(codes.count, 2); /* parse() twice, idle() once: the end is not in it */
	assert_int_equal(codes.at[0].stack, 1);
	assert_int_equal(codes.at[0].ns, 10);
	assert_int_equal(codes.at[1].stack, 3);
	assert_int_equal(codes.seen_ns, 15);
	assert_true(codes.at[0].is_work);
	stacks_fini(&stacks);
}

static void what_is_not_known_is_empty(void **unused)
{
	const struct why_wait other = { .start_ns = 300, .end_ns = 400, .who = { .tid = 7 } };
	struct stacks stacks = { 0 };
	struct why_codes codes;

	fill(&stacks);
	wait_code(&stacks, &other, &codes);
	assert_int_equal(codes.count, 0);
	wait_waker_code(&stacks, &other, &codes); /* a timer */
	assert_int_equal(codes.count, 0);
	wait_code(NULL, &other, &codes);
	assert_int_equal(codes.count, 0);
	wait_waker_code(NULL, &other, &codes);
	assert_int_equal(codes.count, 0);
	stacks_fini(&stacks);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_has_its_place_and_its_wakers_work),
		cmocka_unit_test(what_is_not_known_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

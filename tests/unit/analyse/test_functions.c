/* test_functions.c - time by function, at work and waiting, by a trace to check by hand. */
#include "told.h"

#include <errno.h>

#include "analyse/profile/functions.h"
#include "event/stacks.h"

/*
 * 7 works 0-10, waits 10-40, 50-53, 55-60 and 65-80 for 8, works between these, and waits from 90 on for
 * what does not come.
 */
static const char trace[] = "thread 7 7 1 R first\n"
			    "thread 8 8 1 R second\n"
			    "  0 cpu0 switch 0(runnable) 7\n"
			    "  0 cpu1 switch 0(runnable) 8\n"
			    "  0 cpu0 enter read 3\n"
			    " 10 cpu0 switch 7(blocked) 0\n"
			    " 40 cpu1 waking 7 cpu 0\n"
			    " 40 cpu0 switch 0(runnable) 7\n"
			    " 50 cpu0 switch 7(blocked) 0\n"
			    " 53 cpu1 waking 7 cpu 0\n"
			    " 53 cpu0 switch 0(runnable) 7\n"
			    " 55 cpu0 switch 7(blocked) 0\n"
			    " 60 cpu1 waking 7 cpu 0\n"
			    " 60 cpu0 switch 0(runnable) 7\n"
			    " 65 cpu0 switch 7(blocked) 0\n"
			    " 80 cpu1 waking 7 cpu 0\n"
			    " 80 cpu0 switch 0(runnable) 7\n"
			    " 90 cpu0 switch 7(blocked) 0\n"
			    "100 cpu1 switch 8(blocked) 0\n";

/* Stacks: 0 = read() of libc under load(), 1 = compute(), 2 = sum(). */
static struct told *told_functions(bool has_samples)
{
	struct told *told = replayed(trace);
	struct stacks *stacks = xcalloc(1, sizeof(*stacks));

	stacks_add_frame(stacks,
			 &(struct stack_frame){ .function = "read", .module = "libc.so.6" });
	stacks_add_frame(stacks, &(struct stack_frame){ .function = "load", .module = "prog" });
	stacks_add_frame(stacks, &(struct stack_frame){ .function = "compute", .module = "prog" });
	stacks_add_frame(stacks, &(struct stack_frame){ .function = "sum", .module = "prog" });
	assert_true(stacks_add_stack(stacks, (uint32_t[]){ 0, 1 }, 2, NULL));
	assert_true(stacks_add_stack(stacks, (uint32_t[]){ 2 }, 1, NULL));
	assert_true(stacks_add_stack(stacks, (uint32_t[]){ 3 }, 1, NULL));
	/* By another clock's reading, a little off. */
	stacks_add_wait(stacks, &(struct stack_wait){ 7, 0, 11, 41, 30, false, false });
	/* It stands for 100 ns, more than there is left. */
	stacks_add_wait(stacks, &(struct stack_wait){ 7, 1, 55, 60, 100, true, false });
	if (has_samples) {
		stacks->sampling.period_ns = 20;
		stacks_add_sample(stacks, &(struct stack_sample){ 5, 7, 1 });
		stacks_add_sample(stacks, &(struct stack_sample){ 45, 7, 2 });
	}
	stacks_finish(stacks);
	told->trace->facts.stacks = stacks;
	return told;
}

/* Each row as "NAME WORKING (SAMPLES) BLOCKED (WAITS) = THREAD + UNKNOWN". */
static const char *functions_of(struct told *told, enum functions_sort sort, uint64_t end_ns,
				struct functions *out_functions)
{
	const uint32_t slot = slot_of(told, 7);
	const struct functions_opts opts = {
		.end_ns = end_ns, .slots = &slot, .slot_count = 1, .sort = sort
	};
	struct functions functions;
	struct err err = { 0 };
	char *text = NULL;

	if (functions_run(told->tl, &told->trace->facts, &opts, &functions, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < functions.row_count; i++) {
		const struct function_row *row = &functions.rows[i];

		told_add(&text,
			 "%s%s %" PRIu64 " (%" PRIu64 ") %" PRIu64 " (%" PRIu64 ") = %" PRIu64
			 " + %" PRIu64,
			 i ? "; " : "", row->frame ? row->frame->function : "?",
			 row->sums.working_ns, row->sums.samples, row->sums.blocked_ns,
			 row->sums.waits, row->sums.kind_ns[WAIT_FOR_THREAD],
			 row->sums.kind_ns[WAIT_FOR_UNKNOWN]);
	}
	*out_functions = functions;
	free(functions.rows); /* the sums are looked at */
	return told_keep(told, text);
}

static void a_function_has_its_work_and_its_waits(void **unused)
{
	struct told *told = told_functions(true);
	struct functions functions;

	/* Up to 50: 20 ns of two samples, and the whole wait at its place, behind the C library. */
	assert_string_equal(functions_of(told, FUNCTIONS_BY_TOTAL, 50, &functions),
			    "load 0 (0) 30 (1) = 30 + 0; compute 10 (1) 0 (0) = 0 + 0; "
			    "sum 10 (1) 0 (0) = 0 + 0");
	assert_int_equal(functions.life_ns, 50);
	assert_int_equal(functions.all.working_ns, 20);
	assert_int_equal(functions.all.blocked_ns, 30);
	assert_int_equal(functions.all.waits, 1);
	assert_int_equal(functions.all.samples, 2);
	told_free(told);
}

static void a_short_wait_stands_for_no_more_than_is_left(void **unused)
{
	struct told *told = told_functions(true);
	struct functions functions;

	/* 63 ns of waits: 30 have a stack, and the short one takes the other 33. */
	assert_string_equal(functions_of(told, FUNCTIONS_BY_BLOCKED, 100, &functions),
			    "compute 18 (1) 33 (1) = 23 + 10; load 0 (0) 30 (1) = 30 + 0; "
			    "sum 19 (1) 0 (0) = 0 + 0");
	assert_int_equal(functions.all.blocked_ns, 63);
	assert_int_equal(functions.all.kind_ns[WAIT_FOR_THREAD], 53);
	assert_int_equal(functions.all.kind_ns[WAIT_FOR_UNKNOWN], 10);
	told_free(told);
}

static void what_has_no_stack_is_a_row(void **unused)
{
	struct told *told = told_functions(false);
	struct functions functions;

	assert_string_equal(functions_of(told, FUNCTIONS_BY_NAME, 54, &functions),
			    "? 21 (0) 3 (0) = 3 + 0; load 0 (0) 30 (1) = 30 + 0");
	assert_int_equal(functions.period_ns, 0);
	told_free(told);
}

static void a_trace_without_both_is_refused(void **unused)
{
	struct told *told = replayed(trace);
	const uint32_t slot = slot_of(told, 7);
	const struct functions_opts opts = { .end_ns = 50, .slots = &slot, .slot_count = 1 };
	struct functions functions;
	struct err err = { 0 };

	assert_int_equal(functions_run(told->tl, &told->trace->facts, &opts, &functions, &err),
			 -ENODATA);
	assert_non_null(strstr(err.text, "--stack-min off"));
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_has_its_work_and_its_waits),
		cmocka_unit_test(a_short_wait_stands_for_no_more_than_is_left),
		cmocka_unit_test(what_has_no_stack_is_a_row),
		cmocka_unit_test(a_trace_without_both_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

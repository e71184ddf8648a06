/* test_hot.c - which code had the CPU: time of the timeline spread over samples, by traces to check by hand. */
#include "told.h"

#include "analyse/profile/hot.h"
#include "event/stacks.h"

/* 7 works 0-100, interrupted 60-70 by the timer that looks at it; 8 waits for it and works 100-140. */
static const char two[] = "thread 7 7 1 R first\n"
			  "thread 8 8 1 R second\n"
			  "  0 cpu0 switch 0(runnable) 7\n"
			  "  0 cpu1 switch 0(runnable) 8\n"
			  "  1 cpu1 enter read 3\n"
			  "  2 cpu1 switch 8(blocked) 0\n"
			  " 10 cpu0 enter write 1\n"
			  " 40 cpu0 leave write 1\n"
			  " 60 cpu0 vector local_timer\n"
			  " 70 cpu0 vectorexit local_timer\n"
			  "100 cpu0 waking 8 cpu 1\n"
			  "100 cpu1 switch 0(runnable) 8\n"
			  "101 cpu0 switch 7(blocked) 0\n"
			  "141 cpu1 switch 8(blocked) 0\n";

/* Stacks: 0 = leaf() under work() under main(), 1 = work() under main(), 2 = the kernel under main(). */
static void add_stacks(struct told *told)
{
	struct stacks *stacks = xcalloc(1, sizeof(*stacks));
	static const char *const names[] = { "leaf", "work", "main" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		stacks_add_frame(stacks, &(struct stack_frame){ .function = names[i],
								.module = "prog",
								.offset = i + 1 });
	stacks_add_frame(stacks, &(struct stack_frame){ .function = "vfs_write",
							.module = "[kernel]",
							.offset = 9,
							.is_kernel = true });
	assert_true(stacks_add_stack(stacks, (uint32_t[]){ 0, 1, 1, 2 }, 4, NULL));
	assert_true(stacks_add_stack(stacks, (uint32_t[]){ 1, 2 }, 2, NULL));
	assert_true(stacks_add_stack(stacks, (uint32_t[]){ 3, 2 }, 2, NULL));
	stacks->sampling.period_ns = 20;
	told->trace->facts.stacks = stacks;
}

static void add_sample(struct told *told, int32_t tid, uint64_t time_ns, uint32_t stack)
{
	stacks_add_sample(told->trace->facts.stacks,
			  &(struct stack_sample){ .tid = tid, .time_ns = time_ns, .stack = stack });
}

/* Samples of 7: own code at 5, a call at 25, in the interrupt; of 8: one asleep, one at work. */
static struct told *sampled(void)
{
	struct told *told = replayed(two);

	add_stacks(told);
	add_sample(told, 7, 5, 0);
	add_sample(told, 7, 25, 2);
	add_sample(told, 7, 65, 1);
	add_sample(told, 8, 50, 1);
	add_sample(told, 8, 120, 0);
	stacks_finish(told->trace->facts.stacks);
	return told;
}

static const char *rows_of(struct told *told, struct hot_opts opts, struct hot *hot)
{
	uint32_t slots[] = { slot_of(told, 7), slot_of(told, 8) };
	struct err err = { 0 };
	char *text = NULL;

	opts.slots = slots;
	opts.slot_count = ARRAY_LEN(slots);
	opts.end_ns = opts.end_ns ? opts.end_ns : told->tl->end_ns;
	opts.states = opts.states ? opts.states : HOT_WORKING;
	if (hot_run(told->tl, &told->trace->facts, &opts, hot, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < hot->row_count; i++) {
		const struct hot_row *row = &hot->rows[i];
		const char *name = row->frame ? row->frame->function : row->who.comm;

		told_add(&text, "%s%s %" PRIu64 "/%" PRIu64 " %" PRIu64, i ? "; " : "",
			 name ? name : "?", row->self_ns, row->total_ns, row->samples);
	}
	free(hot->rows); /* the sums are looked at */
	free(hot->nodes);
	return told_keep(told, text);
}

/* Each node as "DEPTH NAME SELF/TOTAL SAMPLES". */
static const char *tree_of(struct told *told, enum hot_tree_kind kind)
{
	uint32_t slots[] = { slot_of(told, 7), slot_of(told, 8) };
	const struct hot_opts opts = { .end_ns = told->tl->end_ns,
				       .states = HOT_WORKING,
				       .slots = slots,
				       .slot_count = ARRAY_LEN(slots),
				       .tree = kind };
	struct err err = { 0 };
	struct hot hot;
	char *text = NULL;

	if (hot_run(told->tl, &told->trace->facts, &opts, &hot, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < hot.node_count; i++) {
		const struct hot_node *node = &hot.nodes[i];

		told_add(&text, "%s%u %s %" PRIu64 "/%" PRIu64 " %" PRIu64, i ? "; " : "",
			 node->depth, node->frame ? node->frame->function : "?", node->self_ns,
			 node->total_ns, node->samples);
	}
	hot_fini(&hot);
	return told_keep(told, text);
}

static void a_tree_has_the_same_time_by_who_called_whom(void **unused)
{
	struct told *told = sampled();

	assert_string_equal(tree_of(told, HOT_TREE_CALLEES),
			    "0 main 0/134 0; 1 work 31/104 1; 2 work 0/73 0; 3 leaf 73/73 2; "
			    "1 vfs_write 30/30 1");
	assert_string_equal(tree_of(told, HOT_TREE_CALLERS),
			    "0 leaf 73/73 2; 1 work 0/73 0; 2 work 0/73 0; 3 main 0/73 0; "
			    "0 work 31/31 1; 1 main 0/31 0; 0 vfs_write 30/30 1; 1 main 0/30 0");
	told_free(told);
}

static void each_thread_is_spread_over_its_samples(void **unused)
{
	struct told *told = sampled();
	struct hot hot;

	/* 7: 91 ns over three samples; 8: 43 ns, all of one. A function counts once a stack. */
	assert_string_equal(rows_of(told, (struct hot_opts){ 0 }, &hot),
			    "leaf 73/73 2; work 31/104 1; vfs_write 30/30 1; main 0/134 0");
	assert_int_equal(hot.samples, 4);
	assert_int_equal(hot.doubtful, 1);
	assert_int_equal(hot.total_ns, 134);
	told_free(told);
}

static void a_look_counts_for_what_it_interrupted(void **unused)
{
	struct told *told = sampled();
	struct hot hot;

	assert_string_equal(rows_of(told, (struct hot_opts){ .states = HOT_SYSCALL, .end_ns = 90 },
				    &hot),
			    "vfs_write 30/30 1; ? 1/1 0; main 0/30 0");
	assert_string_equal(
		rows_of(told, (struct hot_opts){ .start_ns = 41, .end_ns = 90, .states = HOT_USER },
			&hot),
		"work 39/39 1; main 0/39 0");
	told_free(told);
}

static void threads_have_their_own_time(void **unused)
{
	struct told *told = sampled();
	struct hot hot;

	assert_string_equal(rows_of(told, (struct hot_opts){ .by = HOT_THREAD }, &hot),
			    "first 91/91 3; second 43/43 1");
	told_free(told);
}

static void time_without_a_sample_is_nobodys(void **unused)
{
	struct told *told = sampled();
	struct hot hot;

	/* Up to 49 thread 8 works for 2 ns, and no sample met it. */
	assert_string_equal(rows_of(told, (struct hot_opts){ .end_ns = 49 }, &hot),
			    "vfs_write 25/25 1; leaf 24/24 1; ? 2/2 0; main 0/49 0; work 0/24 0");
	told_free(told);
}

static void of_the_verdict_is_what_it_charges(void **unused)
{
	struct told *told = sampled();
	struct why_work spans = { 0 };
	const struct why_opts why_opts = { .slot = slot_of(told, 8), .work = &spans };
	struct err err = { 0 };
	struct hot hot;

	assert_int_equal(why_run(told->tl, &told->trace->facts, &why_opts, &told->why, &err), 0);
	told->has_why = true;
	why_work_end(&spans);
	/* 7 from 2 on, when 8 sleeps, without the interrupt: 88 ns; and 8 itself: 43. */
	assert_string_equal(rows_of(told, (struct hot_opts){ .path = &spans }, &hot),
			    "leaf 72/72 2; work 30/102 1; vfs_write 29/29 1; main 0/131 0");
	why_work_fini(&spans);
	told_free(told);
}

static void a_row_says_in_which_code_its_work_was(void **unused)
{
	struct told *told = sampled();
	const struct why_opts why_opts = { .slot = slot_of(told, 8) };
	const struct why_root *root;
	struct err err = { 0 };

	assert_int_equal(why_run(told->tl, &told->trace->facts, &why_opts, &told->why, &err), 0);
	told->has_why = true;
	root = &told->why.roots[0];
	assert_int_equal(root->who.tid, 7);
	/* Three looks, 20 ns from one to the next: less than the time by more than chance. */
	assert_int_equal(root->code.count, 3);
	assert_int_equal(root->code.seen_ns, 60);
	assert_true(root->code.at[0].is_work);
	assert_int_equal(told->why.chain[0].waker_code->count, 3);
	told_free(told);
}

static void a_trace_without_samples_is_refused(void **unused)
{
	struct told *told = replayed(two);
	const struct hot_opts opts = { .end_ns = 100, .states = HOT_WORKING };
	struct err err = { 0 };
	struct hot hot;

	assert_int_equal(hot_run(told->tl, &told->trace->facts, &opts, &hot, &err), -ENODATA);
	assert_non_null(strstr(err.text, "--sample"));
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_is_spread_over_its_samples),
		cmocka_unit_test(a_tree_has_the_same_time_by_who_called_whom),
		cmocka_unit_test(a_look_counts_for_what_it_interrupted),
		cmocka_unit_test(threads_have_their_own_time),
		cmocka_unit_test(time_without_a_sample_is_nobodys),
		cmocka_unit_test(of_the_verdict_is_what_it_charges),
		cmocka_unit_test(a_row_says_in_which_code_its_work_was),
		cmocka_unit_test(a_trace_without_samples_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

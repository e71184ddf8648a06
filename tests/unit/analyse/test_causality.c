/* test_causality.c - the recursive blocking causality: who waited for whom, nested. */
#include "told.h"

/* 7 waits for 9 twice; in the first wait 9 waits for 11, which waits for a timer. */
static const char nested[] = "  0 cpu0 switch 0(runnable) 7\n"
			     "  0 cpu1 switch 0(runnable) 9\n"
			     "  0 cpu2 switch 0(runnable) 11\n"
			     "  5 cpu0 enter read 3\n"
			     " 10 cpu0 switch 7(blocked) 0\n"
			     " 20 cpu1 switch 9(blocked) 0\n"
			     " 25 cpu2 enter nanosleep\n"
			     " 30 cpu2 switch 11(blocked) 0\n"
			     " 48 cpu2 vector local_timer\n"
			     " 49 cpu2 hrtimer hrtimer_wakeup 1\n"
			     " 50 cpu2 waking 11\n"
			     " 51 cpu2 hrtimerdone\n"
			     " 52 cpu2 vectorexit local_timer\n"
			     " 55 cpu2 switch 0(runnable) 11\n"
			     " 60 cpu2 waking 9 cpu 1\n"
			     " 65 cpu1 switch 0(runnable) 9\n"
			     " 70 cpu1 waking 7 cpu 0\n"
			     " 75 cpu0 switch 0(runnable) 7\n"
			     " 80 cpu0 switch 7(blocked) 0\n"
			     " 84 cpu1 waking 7 cpu 0\n"
			     " 85 cpu0 switch 0(runnable) 7\n"
			     " 90 cpu0 switch 7(blocked) 0\n";

static const struct why *with(struct told *told, uint32_t depth, uint64_t min_ns)
{
	return why_of(told, &(struct why_opts){ .slot = slot_of(told, 7),
						.want_waits = true,
						.depth = depth,
						.min_ns = min_ns });
}

static void waits_nest_under_the_wait_they_held_up(void **unused)
{
	struct told *told = replayed(nested);
	const struct why *why = with(told, 0, 0);

	assert_string_equal(waits_text(told), "0:7 10-70 thread, 1:9 20-60 thread, "
					      "2:11 30-50 timer, 0:7 80-84 thread");
	assert_int_equal(why->waits[1].parent, 0);
	assert_int_equal(why->waits[2].parent, 1);
	assert_string_equal(why->waits[2].in, "nanosleep");
	assert_string_equal(why->waits[2].waker_name, "timer hrtimer_wakeup");
	assert_int_equal(why->waits_cut, 0);
	told_free(told);
}

static void a_node_says_what_the_waker_did_meanwhile(void **unused)
{
	struct told *told = replayed(nested);
	const struct why *why = with(told, 0, 0);

	/* 9 in 10-70: works 10-20 and 65-70, queued 60-65, blocked 20-60. */
	assert_int_equal(why->waits[0].working_ns, 15);
	assert_int_equal(why->waits[0].interrupted_ns, 5);
	assert_int_equal(why->waits[0].blocked_ns, 40);
	assert_int_equal(why->waits[0].uncertain_ns, 0);
	told_free(told);
}

static void a_bound_on_depth_cuts_and_counts(void **unused)
{
	struct told *told = replayed(nested);
	const struct why *why = with(told, 1, 0);

	assert_string_equal(waits_text(told), "0:7 10-70 thread, 0:7 80-84 thread");
	assert_int_equal(why->waits_cut, 1);
	assert_int_equal(why->waits_cut_ns, 0);
	told_free(told);
}

static void short_waits_are_cut_and_their_time_is_told(void **unused)
{
	struct told *told = replayed(nested);
	const struct why *why = with(told, 0, 30);

	assert_string_equal(waits_text(told), "0:7 10-70 thread, 1:9 20-60 thread");
	assert_int_equal(why->waits_cut, 2);
	assert_int_equal(why->waits_cut_ns, 4);
	told_free(told);
}

static void a_wait_that_has_not_ended_has_no_waker(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter read 3\n"
				     " 10 cpu0 switch 7(blocked) 8\n"
				     " 40 cpu0 switch 8(blocked) 0\n");

	(void)explained(told, 7, 0, 0);
	assert_string_equal(waits_text(told), "0:7 10-40 none");
	told_free(told);
}

static void a_window_cuts_the_waits(void **unused)
{
	struct told *told = replayed(nested);

	(void)explained(told, 7, 40, 82);
	assert_string_equal(waits_text(told), "0:7 40-70 thread, 1:9 40-60 thread, "
					      "2:11 40-50 timer, 0:7 80-82 thread");
	told_free(told);
}

static void the_wakers_stack_is_told(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     "  5 cpu0 enter recvfrom 3\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 15 cpu1 enter sendto 3\n"
				     " 20 cpu1 netrx 5 lo\n"
				     " 25 cpu1 softirq NET_RX\n"
				     " 26 cpu1 receive 5 lo\n"
				     " 40 cpu1 waking 7 cpu 0\n"
				     " 41 cpu1 softirqexit NET_RX\n"
				     " 45 cpu0 switch 0(runnable) 7\n"
				     " 50 cpu1 switch 9(blocked) 0\n");
	const struct why *why = explained(told, 7, 0, 0);

	assert_string_equal(why->waits[0].waker_state, "softirq NET_RX < sendto");
	assert_int_equal(why->waits[0].waker, WHY_WAKER_NETWORK);
	assert_int_equal(why->waits[0].woken_by.tid, 9);
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_nest_under_the_wait_they_held_up),
		cmocka_unit_test(a_node_says_what_the_waker_did_meanwhile),
		cmocka_unit_test(a_bound_on_depth_cuts_and_counts),
		cmocka_unit_test(short_waits_are_cut_and_their_time_is_told),
		cmocka_unit_test(a_wait_that_has_not_ended_has_no_waker),
		cmocka_unit_test(a_window_cuts_the_waits),
		cmocka_unit_test(the_wakers_stack_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_unsure.c - what is not known, and the events that make it known again. */
#include "told.h"

/* ------------------------------------------------------------- unknown starts */

static void a_thread_first_seen_being_woken_was_blocked_since_the_start(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 8\n"
				     " 40 cpu0 waking 7\n"
				     " 55 cpu0 switch 8(runnable) 7\n"
				     " 60 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(track_of(told, 7), "0 blocked, 40 queued/0, 55 running - 60");
	assert_string_equal(wait_text(told, 7, 0), "0-40 in none by thread 8");
	assert_true(wait_of(told, 7, 0)->flags & WAIT_START_UNKNOWN);
	told_free(told);
}

static void a_thread_first_seen_switched_in_waited_for_a_cpu_since_the_start(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 8\n"
				     " 55 cpu0 switch 8(runnable) 7\n"
				     " 60 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(track_of(told, 7), "0 queued/0, 55 running - 60");
	told_free(told);
}

static void a_thread_first_seen_switched_in_was_queued_on_that_cpu(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 9\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     " 55 cpu1 switch 8(runnable) 7\n"
				     " 60 cpu1 switch 7(blocked) 8\n");

	assert_string_equal(track_of(told, 7), "0 queued/1, 55 running - 60");
	told_free(told);
}

static void the_first_thread_seen_on_a_cpu_ran_there_since_the_start(void **unused)
{
	struct told *told = replayed(" 30 cpu0 by 7 enter write\n"
				     " 40 cpu0 leave write 1\n"
				     " 60 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(track_of(told, 7), "0 running, 30 write, 40 user - 60");
	assert_string_equal(cpu_of(told, 0), "0 7 - 60");
	told_free(told);
}

/* Where switches from idle are left out, it may have come onto the CPU at any time. */
static void with_omitted_switches_the_first_thread_on_a_cpu_is_uncertain_before(void **unused)
{
	struct told *told = replayed("facts omits_idle\n"
				     " 30 cpu0 by 7 enter write\n"
				     " 40 cpu0 leave write 1\n"
				     " 60 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(track_of(told, 7), "0 ?switch, 30 write, 40 user - 60");
	told_free(told);
}

static void a_thread_only_the_dump_knows_slept_all_the_time(void **unused)
{
	struct told *told = replayed("thread 7 7 1 S sleeper\n"
				     "thread 9 9 1 R runner\n"
				     "  0 cpu0 switch 0(runnable) 8\n"
				     " 60 cpu0 switch 8(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 blocked - 60");
	assert_int_equal(wait_of(told, 7, 0)->woken_ns, 0);
	assert_string_equal(track_of(told, 9), "0 ?start - 60");
	told_free(told);
}

/* In the hole it may have been woken and have gone back to sleep. */
static void a_thread_only_the_dump_knows_is_uncertain_after_a_hole(void **unused)
{
	struct told *told = replayed("thread 7 7 1 S sleeper\n"
				     "  0 cpu0 switch 0(runnable) 8\n"
				     " 30 cpu0 lost 20 5\n"
				     " 30 cpu0 by 8 enter write\n"
				     " 60 cpu0 switch 8(blocked) 0\n");

	assert_int_equal(spent_ns(told, 7, WIB_BLOCKED) + spent_ns(told, 7, WIB_UNCERTAIN), 60);
	assert_true(spent_ns(told, 7, WIB_UNCERTAIN) >= 10);
	told_free(told);
}

/* ---------------------------------------------------------------------- holes */

static void the_thread_on_a_cpu_is_uncertain_in_a_hole_until_proven(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 25 cpu0 lost 10 3\n"
				     " 40 cpu0 switch 7(blocked) 0\n"
				     " 50 cpu1 switch 9(blocked) 0\n");

	/* Nothing was lost from 25 on, and at 40 it is still there: it ran since 25. */
	assert_string_equal(track_of(told, 7), "0 running, 10 ?lost, 25 running, 40 blocked - 50");
	assert_string_equal(cpu_of(told, 0), "0 7, 10 ?, 25 7, 40 0 - 50");
	assert_int_equal(told->tl->lost_events, 3);
	told_free(told);
}

static void a_thread_that_turns_up_after_a_hole_is_proven_since_its_end(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 25 cpu0 lost 10 3\n"
				     " 40 cpu0 by 8 switch 8(blocked) 7\n"
				     " 50 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 8), "0 ?start, 25 running, 40 blocked - 50");
	assert_string_equal(track_of(told, 7), "0 running, 10 ?lost, 25 queued/0, 40 running - 50");
	told_free(told);
}

static void a_hole_on_another_cpu_leaves_the_thread_that_runs_alone(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     " 25 cpu1 lost 10 3\n"
				     " 40 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running - 40");
	told_free(told);
}

/* It may have been woken, have run on the other CPU and have slept again. */
static void a_sleeper_is_uncertain_in_a_hole_of_any_cpu(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     "  5 cpu0 switch 7(blocked) 9\n"
				     " 25 cpu1 lost 10 3\n"
				     " 25 cpu1 by 8 enter write\n"
				     " 30 cpu1 waking 7 cpu 0\n"
				     " 40 cpu0 switch 9(blocked) 7\n"
				     " 45 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(
		track_of(told, 7),
		"0 running, 5 blocked, 10 ?lost, 25 blocked, 30 queued/0, 40 running - 45");
	told_free(told);
}

static void a_sleeper_nobody_wakes_is_uncertain_from_the_hole_on(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     "  5 cpu0 switch 7(blocked) 9\n"
				     " 25 cpu1 lost 10 3\n"
				     " 25 cpu1 by 8 enter write\n"
				     " 45 cpu0 switch 9(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 5 blocked, 10 ?lost - 45");
	told_free(told);
}

static void holes_of_two_cpus_that_overlap_are_one_span_of_doubt(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     "  5 cpu0 switch 7(blocked) 9\n"
				     " 25 cpu1 lost 10 3\n"
				     " 25 cpu1 by 8 enter write\n"
				     " 35 cpu0 lost 15 3\n"
				     " 35 cpu0 by 9 enter write\n"
				     " 37 cpu1 waking 7 cpu 0\n"
				     " 40 cpu0 switch 9(blocked) 7\n"
				     " 45 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(
		track_of(told, 7),
		"0 running, 5 blocked, 10 ?lost, 35 blocked, 37 queued/0, 40 running - 45");
	told_free(told);
}

static void two_holes_one_after_the_other_both_count(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 15 cpu0 lost 10 1\n"
				     " 30 cpu0 lost 20 1\n"
				     " 40 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 10 ?lost, 30 running - 40");
	assert_int_equal(told->tl->lost_events, 2);
	told_free(told);
}

/* The exit of the interrupt may have been lost, or its entry. */
static void an_event_out_of_an_interrupt_after_a_hole_is_no_work(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 irq 24 eth0\n" /* opens the context in the text */
				     " 20 cpu0 irqexit 24\n"
				     " 60 cpu0 switch 7(blocked) 0\n");
	struct text_trace *trace = told->trace;

	told->trace = NULL;
	timeline_free(told->tl);
	free(told);
	/* The entry at 5 and more were lost; what is left of the interrupt is a waking and the exit. */
	trace->events[1] = (struct event){
		.type = EV_LOST, .time_ns = 10, .tid = -1, .lost = { .since_ns = 0, .count = 2 }
	};
	trace->events[2].time_ns = 20;
	trace->at = 0;
	text_trace_add(trace, "");
	told = told_trace(trace);
	/* From 10 to 20 it was inside the interrupt, for an unknown part of it: nothing is claimed. */
	assert_int_equal(spent_ns(told, 7, WIB_WORKING), 60 - 20);
	told_free(told);
}

/* --------------------------------------------------- switches not recorded */

static void an_event_of_another_thread_bounds_a_switch_that_was_not_recorded(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter write\n"
				     " 30 cpu0 by 8 enter read\n"
				     " 40 cpu0 switch 8(blocked) 7\n"
				     " 50 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 8), "0 queued/0, 5 ?switch, 30 read, 40 blocked - 50");
	assert_int_equal(told->tl->repairs, 1);
	assert_int_equal(told->tl->repairs_exact, 0);
	assert_string_equal(cpu_of(told, 0), "0 7, 5 ?, 30 8, 40 7 - 50");
	told_free(told);
}

static void runtime_places_the_switch_that_was_not_recorded(void **unused)
{
	struct told *told = replayed("facts omits_idle\n"
				     "  0 cpu0 switch 0(runnable) 8\n"
				     "  2 cpu0 switch 8(blocked) 0\n"
				     "  5 cpu0 vector local_timer\n"
				     " 10 cpu0 waking 8\n"
				     " 15 cpu0 vectorexit local_timer\n"
				     " 30 cpu0 by 8 enter read\n"
				     " 35 cpu0 runtime 8 12\n" /* it runs since 23 */
				     " 36 cpu0 switch 8(blocked) 0\n"
				     " 50 cpu0 other x\n");

	assert_string_equal(
		track_of(told, 8),
		"0 running, 2 blocked, 10 queued/0, 23 running, 30 read, 36 blocked - 50");
	assert_string_equal(cpu_of(told, 0), "0 8, 2 0, 23 8, 36 0 - 50");
	assert_int_equal(told->tl->repairs, 1);
	assert_int_equal(told->tl->repairs_exact, 1);
	told_free(told);
}

static void without_runtime_the_bound_stays_uncertain(void **unused)
{
	struct told *told = replayed("facts omits_idle\n"
				     "  0 cpu0 switch 0(runnable) 8\n"
				     "  2 cpu0 switch 8(blocked) 0\n"
				     "  5 cpu0 vector local_timer\n"
				     " 10 cpu0 waking 8\n"
				     " 15 cpu0 vectorexit local_timer\n"
				     " 30 cpu0 by 8 enter read\n"
				     " 36 cpu0 switch 8(blocked) 0\n");

	assert_string_equal(track_of(told, 8),
			    "0 running, 2 blocked, 10 queued/0, 15 ?switch, 30 read - 36");
	assert_int_equal(told->tl->repairs_exact, 0);
	told_free(told);
}

/* The second accounting counts from the first: it says nothing about the switch. */
static void only_the_first_runtime_after_a_switch_places_it(void **unused)
{
	struct told *told = replayed("facts omits_idle\n"
				     "  0 cpu0 switch 8(blocked) 0\n"
				     " 10 cpu0 waking 8\n"
				     " 30 cpu0 by 8 enter read\n"
				     " 35 cpu0 runtime 8 12\n"
				     " 40 cpu0 runtime 8 5\n"
				     " 45 cpu0 switch 8(blocked) 0\n");

	assert_string_equal(track_of(told, 8), "0 blocked, 10 queued/0, 23 running, 30 read - 45");
	told_free(told);
}

/* The kernel's clock of the accounting may begin a little before the last event. */
static void a_runtime_that_begins_before_the_bound_is_cut_to_it(void **unused)
{
	struct told *told = replayed("facts omits_idle\n"
				     "  0 cpu0 switch 8(blocked) 0\n"
				     " 10 cpu0 waking 8\n"
				     " 30 cpu0 by 8 enter read\n"
				     " 35 cpu0 runtime 8 27\n"
				     " 45 cpu0 switch 8(blocked) 0\n");

	assert_string_equal(track_of(told, 8), "0 blocked, 10 running, 30 read - 45");
	told_free(told);
}

static void a_thread_seen_on_a_second_cpu_left_the_first_unseen(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 enter write\n"
				     " 30 cpu1 by 7 enter read\n"
				     " 40 cpu1 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 10 ?switch, 30 read - 40");
	told_free(told);
}

/* No switch to the idle task was recorded: when 7 left is not known, nor that it stayed. */
static void an_idle_task_that_turns_up_leaves_a_bound_too(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 enter write\n"
				     " 30 cpu0 by 0 softirq RCU\n"
				     " 40 cpu0 softirqexit RCU\n");

	assert_string_equal(track_of(told, 7), "0 running, 10 ?switch - 40");
	assert_string_equal(cpu_of(told, 0), "0 7, 10 ?, 30 0 - 40");
	told_free(told);
}

/* A switch in of a thread that was thought to run elsewhere. */
static void a_switch_in_of_a_running_thread_contradicts(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 enter write\n"
				     " 30 cpu1 switch 0(runnable) 7\n"
				     " 40 cpu1 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 10 ?order, 30 running - 40");
	assert_string_equal(cpu_of(told, 0), "0 7, 10 ? - 40");
	assert_int_equal(told->tl->contradictions, 1);
	told_free(told);
}

/* The same where events of the first CPU were lost: they would have told. */
static void a_contradiction_in_a_hole_is_what_was_lost(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 enter write\n"
				     " 30 cpu1 switch 0(runnable) 7\n"
				     " 40 cpu1 switch 7(blocked) 0\n"
				     " 50 cpu0 lost 10 3\n");

	assert_string_equal(track_of(told, 7), "0 running, 10 ?lost, 30 running, 40 ?lost - 50");
	assert_int_equal(told->tl->contradictions, 0);
	told_free(told);
}

/* Nothing was lost: whoever recorded left it out. In a hole it may as well have been lost. */
static void a_sleeper_that_runs_again_without_a_waking_lacks_one(void **unused)
{
	static const char text[] = "  0 cpu0 switch 0(runnable) 7\n"
				   "  5 cpu0 waking 9 cpu 1\n"
				   " 10 cpu0 switch 7(blocked) 0\n"
				   " 30 cpu0 switch 0(runnable) 7\n"
				   " 40 cpu0 switch 7(stopped) 0\n";
	AUTO_FREE char *with_hole = xasprintf("%s 50 cpu1 lost 8 3\n", text);
	struct told *told = replayed(text);

	assert_string_equal(track_of(told, 7), "0 running, 10 ?waking, 30 running - 40");
	told_free(told);
	told = replayed(with_hole);
	assert_string_equal(track_of(told, 7), "0 running, 10 ?lost, 30 running, 40 ?lost - 50");
	told_free(told);
}

/* CPU 1 begins later, or its first events were lost: the kernel may well have recorded the switch. */
static void a_switch_before_the_stream_of_a_cpu_is_not_one_that_the_kernel_left_out(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 20 cpu0 waking 7 cpu 1\n"
				     " 50 cpu1 lost 0 0\n"
				     " 60 cpu1 by 7 other x\n"
				     " 70 cpu1 switch 7(blocked) 0\n");

	assert_int_equal(told->tl->repairs, 0);
	assert_string_equal(track_of(told, 7), "0 running, 10 ?lost, 50 ?switch, 60 running - 70");
	told_free(told);
}

/* perf begins to record switches of one CPU after another: the thread went from 1 to 0 before that. */
static void a_thread_that_left_a_cpu_before_its_switches_were_recorded_is_no_omission(void **unused)
{
	struct told *told = replayed("  0 cpu1 by 7 other fork\n"
				     " 10 cpu0 by 7 other x\n"
				     " 20 cpu0 switch 7(runnable) 18\n"
				     " 30 cpu0 migrate 7 0 1\n"
				     " 50 cpu1 by 7 other y\n"
				     " 60 cpu1 switch 7(blocked) 0\n");

	assert_int_equal(told->tl->repairs, 0);
	told_free(told);
}

static void events_that_go_back_in_time_are_counted_and_left_out(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 20 cpu0 enter write\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 30 cpu0 by 7 leave write 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 20 write - 30");
	assert_int_equal(told->tl->contradictions, 1);
	told_free(told);
}

/* In the hole it may have left a call and gone into another one. */
static void a_wait_of_before_a_hole_has_not_the_name_of_a_call_after_it(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 30 cpu0 lost 20 3\n"
				     " 32 cpu0 switch 0(runnable) 7\n"
				     " 35 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu0 waking 7\n"
				     " 41 cpu0 switch 0(runnable) 7\n"
				     " 42 cpu0 by 7 leave poll 1\n"
				     " 60 cpu0 switch 7(blocked) 0\n");
	size_t last = thread_of(told, 7)->wait_count - 1;

	assert_null(strstr(wait_text(told, 7, 0), "poll"));
	assert_non_null(strstr(wait_text(told, 7, last - 1), "poll"));
	told_free(told);
}

/* A BPF program at the switch has an interrupt sent. */
static void an_interrupt_sent_in_a_switch_is_of_who_leaves(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 enter futex 1 0\n"
				     " 20 cpu0 switch 7(blocked) 8\n"
				     " 21 cpu0 by 7 ipi\n"
				     " 22 cpu0 by 7 ipi\n"
				     " 30 cpu0 by 8 enter write\n"
				     " 40 cpu0 waking 7\n"
				     " 60 cpu0 switch 8(blocked) 7\n");

	assert_string_equal(track_of(told, 7), "0 running, 10 futex, 20 blocked, 40 queued/0 - 60");
	assert_string_equal(cpu_of(told, 0), "0 7, 20 8 - 60");
	told_free(told);
}

/* What it sends later shows that it came back unseen. */
static void an_interrupt_sent_later_is_a_proof(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 20 cpu0 switch 7(runnable) 8\n"
				     " 25 cpu0 by 8 enter write\n"
				     " 30 cpu0 by 7 ipi\n"
				     " 60 cpu0 switch 7(blocked) 8\n");

	assert_non_null(strstr(track_of(told, 7), "?switch"));
	told_free(told);
}

/* ftrace writes the stack of the program that leaves, and the kernel's. */
static void a_stack_behind_a_switch_is_of_who_leaves(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 20 cpu0 switch 7(blocked) 8\n"
				     " 21 cpu0 by 7 other user_stack ftrace\n"
				     " 29 cpu0 by 7 other kernel_stack ftrace\n"
				     " 30 cpu0 by 8 enter write\n"
				     " 40 cpu0 waking 7\n"
				     " 60 cpu0 switch 8(blocked) 7\n");

	assert_string_equal(track_of(told, 7), "0 running, 20 blocked, 40 queued/0 - 60");
	assert_string_equal(cpu_of(told, 0), "0 7, 20 8 - 60");
	told_free(told);
}

/* One later shows that it came back unseen, and so does what another tracer calls so. */
static void a_stack_later_is_a_proof(void **unused)
{
	static const char *const texts[] = { " 25 cpu0 by 8 enter write\n"
					     " 30 cpu0 by 7 other user_stack ftrace\n",
					     " 30 cpu0 by 7 other user_stack mine\n" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO_FREE char *text = xasprintf("  0 cpu0 switch 0(runnable) 7\n"
						 " 20 cpu0 switch 7(runnable) 8\n"
						 "%s 60 cpu0 switch 7(blocked) 8\n",
						 texts[i]);
		struct told *told = replayed(text);

		assert_non_null(strstr(track_of(told, 7), "?switch"));
		told_free(told);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_behind_a_switch_is_of_who_leaves),
		cmocka_unit_test(a_stack_later_is_a_proof),
		cmocka_unit_test(an_interrupt_sent_in_a_switch_is_of_who_leaves),
		cmocka_unit_test(an_interrupt_sent_later_is_a_proof),
		cmocka_unit_test(a_thread_first_seen_being_woken_was_blocked_since_the_start),
		cmocka_unit_test(a_thread_first_seen_switched_in_waited_for_a_cpu_since_the_start),
		cmocka_unit_test(a_thread_first_seen_switched_in_was_queued_on_that_cpu),
		cmocka_unit_test(the_first_thread_seen_on_a_cpu_ran_there_since_the_start),
		cmocka_unit_test(
			with_omitted_switches_the_first_thread_on_a_cpu_is_uncertain_before),
		cmocka_unit_test(a_thread_only_the_dump_knows_slept_all_the_time),
		cmocka_unit_test(a_thread_only_the_dump_knows_is_uncertain_after_a_hole),
		cmocka_unit_test(the_thread_on_a_cpu_is_uncertain_in_a_hole_until_proven),
		cmocka_unit_test(a_thread_that_turns_up_after_a_hole_is_proven_since_its_end),
		cmocka_unit_test(a_hole_on_another_cpu_leaves_the_thread_that_runs_alone),
		cmocka_unit_test(a_sleeper_is_uncertain_in_a_hole_of_any_cpu),
		cmocka_unit_test(a_sleeper_nobody_wakes_is_uncertain_from_the_hole_on),
		cmocka_unit_test(holes_of_two_cpus_that_overlap_are_one_span_of_doubt),
		cmocka_unit_test(two_holes_one_after_the_other_both_count),
		cmocka_unit_test(an_event_out_of_an_interrupt_after_a_hole_is_no_work),
		cmocka_unit_test(an_event_of_another_thread_bounds_a_switch_that_was_not_recorded),
		cmocka_unit_test(runtime_places_the_switch_that_was_not_recorded),
		cmocka_unit_test(without_runtime_the_bound_stays_uncertain),
		cmocka_unit_test(only_the_first_runtime_after_a_switch_places_it),
		cmocka_unit_test(a_runtime_that_begins_before_the_bound_is_cut_to_it),
		cmocka_unit_test(a_thread_seen_on_a_second_cpu_left_the_first_unseen),
		cmocka_unit_test(an_idle_task_that_turns_up_leaves_a_bound_too),
		cmocka_unit_test(a_switch_in_of_a_running_thread_contradicts),
		cmocka_unit_test(a_contradiction_in_a_hole_is_what_was_lost),
		cmocka_unit_test(a_sleeper_that_runs_again_without_a_waking_lacks_one),
		cmocka_unit_test(
			a_switch_before_the_stream_of_a_cpu_is_not_one_that_the_kernel_left_out),
		cmocka_unit_test(
			a_thread_that_left_a_cpu_before_its_switches_were_recorded_is_no_omission),
		cmocka_unit_test(events_that_go_back_in_time_are_counted_and_left_out),
		cmocka_unit_test(a_wait_of_before_a_hole_has_not_the_name_of_a_call_after_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

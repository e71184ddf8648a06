/* test_sched.c - who is on a CPU, who waits for one, who sleeps; births and ends. */
#include "told.h"

static void a_wait_is_blocked_until_the_waking_and_then_interrupted(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 switch 7(blocked) 8\n"
				     " 40 cpu0 waking 7\n"
				     " 55 cpu0 switch 8(runnable) 7\n"
				     " 60 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 10 blocked, 40 queued/0, 55 running - 60");
	assert_int_equal(spent_ns(told, 7, WIB_WORKING), 10 + 5);
	assert_int_equal(spent_ns(told, 7, WIB_BLOCKED), 30);
	assert_int_equal(spent_ns(told, 7, WIB_INTERRUPTED), 15);
	assert_string_equal(wait_text(told, 7, 0), "10-40 in running by thread 8");
	assert_string_equal(cpu_of(told, 0), "0 7, 10 8, 55 7 - 60");
	told_free(told);
}

static void a_thread_switched_out_runnable_is_preempted_until_it_is_back(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 switch 7(runnable) 8\n"
				     " 30 cpu0 switch 8(runnable) 7\n"
				     " 35 cpu0 switch 7(runnable) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 10 preempted/0, 30 running - 35");
	assert_int_equal(thread_of(told, 7)->wait_count, 0);
	told_free(told);
}

static void each_cpu_has_its_own_thread(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu1 switch 0(runnable) 8\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 20 cpu1 waking 7 cpu 0\n"
				     " 25 cpu0 switch 0(runnable) 7\n"
				     " 30 cpu1 switch 8(blocked) 0\n");

	assert_string_equal(cpu_of(told, 0), "0 7, 10 0, 25 7 - 30");
	assert_string_equal(cpu_of(told, 1), "0 0, 5 8 - 30");
	assert_string_equal(wait_text(told, 7, 0), "10-20 in running by thread 8");
	told_free(told);
}

static void a_waking_of_a_thread_that_runs_changes_nothing(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     " 10 cpu1 waking 7 cpu 0\n"
				     " 20 cpu0 switch 7(runnable) 0\n");

	assert_string_equal(track_of(told, 7), "0 running - 20");
	told_free(told);
}

static void a_second_waking_does_not_replace_the_first(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     "  0 cpu2 switch 0(runnable) 9\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 20 cpu1 waking 7 cpu 0\n"
				     " 25 cpu2 waking 7 cpu 0\n"
				     " 30 cpu0 switch 0(runnable) 7\n");

	assert_string_equal(wait_text(told, 7, 0), "10-20 in running by thread 8");
	assert_string_equal(track_of(told, 7), "0 running, 10 blocked, 20 queued/0 - 30");
	told_free(told);
}

/* The waker spins until the sleeper is off its CPU: sched_wakeup comes after the switch out. */
static void a_waking_just_before_the_switch_out_ends_the_wait_at_once(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     " 10 cpu1 waking 7 cpu 0\n"
				     " 11 cpu0 switch 7(blocked) 0\n"
				     " 12 cpu1 wakeup 7 cpu 0\n"
				     " 20 cpu0 switch 0(runnable) 7\n"
				     " 25 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 11 queued/0, 20 running - 25");
	assert_string_equal(wait_text(told, 7, 0), "11-11 in running by thread 8");
	told_free(told);
}

static void an_early_waking_without_a_wakeup_is_used_at_the_switch_in(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     " 10 cpu1 waking 7 cpu 0\n"
				     " 11 cpu0 switch 7(blocked) 0\n"
				     " 20 cpu0 switch 0(runnable) 7\n"
				     " 25 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 11 queued/0, 20 running - 25");
	told_free(told);
}

/* The early waking found it running after all: the later wait is another one. */
static void an_early_waking_does_not_end_a_wait_that_has_its_own(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     "  0 cpu2 switch 0(runnable) 9\n"
				     " 10 cpu1 waking 7 cpu 0\n"
				     " 30 cpu0 switch 7(blocked) 0\n"
				     " 50 cpu2 waking 7 cpu 0\n"
				     " 51 cpu2 wakeup 7 cpu 0\n"
				     " 60 cpu0 switch 0(runnable) 7\n"
				     " 65 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 30 blocked, 50 queued/0, 60 running - 65");
	assert_string_equal(wait_text(told, 7, 0), "30-50 in running by thread 9");
	told_free(told);
}

static void a_queued_thread_that_is_moved_waits_for_the_new_cpu(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     " 10 cpu0 switch 7(blocked) 9\n"
				     " 20 cpu1 waking 7 cpu 0\n"
				     " 30 cpu1 migrate 7 0 1\n"
				     " 50 cpu1 switch 8(blocked) 7\n"
				     " 60 cpu1 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 10 blocked, 20 queued/0, 30 queued/1, 50 running - 60");
	told_free(told);
}

static void a_preempted_thread_that_is_moved_stays_preempted(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 switch 7(runnable) 9\n"
				     " 30 cpu0 migrate 7 0 1\n"
				     " 50 cpu1 switch 0(runnable) 7\n"
				     " 60 cpu1 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 10 preempted/0, 30 preempted/1, 50 running - 60");
	told_free(told);
}

static void a_sleeper_that_is_moved_sleeps_on(void **unused)
{
	/* Linux 6.12 and later leave a sleeper in the queue for a while, and move it with it. */
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     " 10 cpu0 switch 7(blocked) 9\n"
				     " 30 cpu1 migrate 7 0 1\n"
				     " 40 cpu1 waking 7 cpu 1\n"
				     " 50 cpu1 switch 8(blocked) 7\n"
				     " 60 cpu1 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 10 blocked, 40 queued/1, 50 running - 60");
	assert_string_equal(wait_text(told, 7, 0), "10-40 in running by thread 8");
	told_free(told);
}

static void a_wakeup_says_where_the_thread_is_queued(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     " 10 cpu0 switch 7(blocked) 9\n"
				     " 20 cpu1 waking 7 cpu 0\n"
				     " 21 cpu1 wakeup 7 cpu 1\n"
				     " 50 cpu1 switch 8(blocked) 7\n"
				     " 60 cpu1 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 10 blocked, 20 queued/0, 21 queued/1, 50 running - 60");
	told_free(told);
}

/* ------------------------------------------------------------ births and ends */

static void a_forked_thread_lives_from_the_fork_to_its_last_switch_out(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7:make\n"
				     " 10 cpu0 enter clone\n"
				     " 20 cpu0 newtask 12:make\n"
				     " 21 cpu0 fork 12:make\n"
				     " 22 cpu0 wakeupnew 12 cpu 1\n"
				     " 25 cpu0 leave clone 12\n"
				     " 30 cpu1 switch 0(runnable) 12\n"
				     " 31 cpu1 leave clone 0\n"
				     " 40 cpu1 exit 12\n"
				     " 45 cpu1 switch 12(dead) 0\n"
				     " 50 cpu0 switch 7(blocked) 0\n");
	const struct tl_thread *child = thread_of(told, 12);

	assert_string_equal(track_of(told, 12), "20 queued/0, 22 queued/1, 30 clone, 31 user - 45");
	assert_true(child->born && child->died);
	assert_int_equal(child->tgid, 12);
	assert_int_equal(told->tl->threads[child->parent]->tid, 7);
	assert_string_equal(timeline_comm(told->tl, slot_of(told, 12)), "make");
	told_free(told);
}

/* In kernels before 4.14 what reads as parked is dead. */
static void nobody_parks_who_exits(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 switch 7(parked) 8\n"
				     " 20 cpu0 exit 8\n"
				     " 25 cpu0 switch 8(parked) 0\n"
				     " 50 cpu1 switch 0(runnable) 9\n");

	assert_false(thread_of(told, 7)->died);
	assert_true(thread_of(told, 8)->died);
	assert_string_equal(track_of(told, 8), "0 queued/0, 10 running - 25");
	told_free(told);
}

static void a_new_thread_belongs_to_the_process_of_its_maker(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R server\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     " 20 cpu0 newtask 12 thread\n"
				     " 21 cpu0 fork 12\n"
				     " 30 cpu0 newtask 13\n"
				     " 31 cpu0 fork 13\n"
				     " 50 cpu0 switch 7(blocked) 0\n");

	assert_int_equal(thread_of(told, 12)->tgid, 7);
	assert_int_equal(thread_of(told, 13)->tgid, 13);
	told_free(told);
}

/* LTTng has no task_newtask: its fork tells the process of the child. */
static void a_fork_that_tells_the_process_tells_a_thread_from_a_process(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R server\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     " 21 cpu0 fork 12 7\n"
				     " 31 cpu0 fork 13 13\n"
				     " 50 cpu0 switch 7(blocked) 0\n");

	assert_int_equal(thread_of(told, 12)->tgid, 7);
	assert_int_equal(thread_of(told, 13)->tgid, 13);
	told_free(told);
}

static void a_tid_that_is_used_again_is_another_thread(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 fork 12\n"
				     " 20 cpu0 switch 7(blocked) 12\n"
				     " 30 cpu0 switch 12(dead) 7\n"
				     " 40 cpu0 fork 12\n"
				     " 50 cpu0 switch 7(blocked) 12\n"
				     " 70 cpu0 switch 12(blocked) 0\n");
	uint32_t first = timeline_find_thread(told->tl, 12, 25);
	uint32_t second = timeline_find_thread(told->tl, 12, 60);

	assert_int_not_equal(first, second);
	assert_string_equal(track_of_slot(told, first), "10 queued/0, 20 running - 30");
	assert_string_equal(track_of_slot(told, second), "40 queued/0, 50 running - 70");
	told_free(told);
}

/* Its end was not recorded, yet the tid is given out again. */
static void a_birth_ends_the_life_of_the_thread_that_had_the_tid(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 12\n"
				     " 10 cpu0 switch 12(blocked) 7\n"
				     " 40 cpu0 fork 12\n"
				     " 50 cpu0 switch 7(blocked) 12\n"
				     " 70 cpu0 switch 12(blocked) 0\n");
	uint32_t first = timeline_find_thread(told->tl, 12, 5);

	assert_string_equal(track_of_slot(told, first), "0 running, 10 blocked - 40");
	assert_string_equal(track_of(told, 12), "40 queued/0, 50 running - 70");
	told_free(told);
}

static void a_tid_that_is_back_without_a_birth_was_born_after_the_death(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 12\n"
				     " 10 cpu0 switch 12(dead) 7\n"
				     " 40 cpu0 switch 7(blocked) 12\n"
				     " 70 cpu0 switch 12(blocked) 0\n");
	uint32_t first = timeline_find_thread(told->tl, 12, 5);

	assert_string_equal(track_of_slot(told, first), "0 running - 10");
	assert_int_equal(thread_of(told, 12)->birth_ns, 10);
	told_free(told);
}

static void a_thread_is_called_what_it_was_called_last(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R old\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 rename 7 newer\n"
				     " 20 cpu0 switch 7:newest(blocked) 8:other\n");

	assert_string_equal(timeline_comm(told->tl, slot_of(told, 7)), "newest");
	assert_string_equal(timeline_comm(told->tl, slot_of(told, 8)), "other");
	told_free(told);
}

static void exec_gives_the_thread_a_new_command_line(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 enter execve\n"
				     " 20 cpu0 rename 7 ls\n"
				     " 21 cpu0 exec 7 /bin/ls\n"
				     " 22 cpu0 leave execve 0\n"
				     " 30 cpu0 switch 7(blocked) 0\n");
	const struct tl_thread *thread = thread_of(told, 7);

	assert_string_equal(timeline_name(told->tl, thread->cmdline), "/bin/ls");
	assert_string_equal(timeline_comm(told->tl, slot_of(told, 7)), "ls");
	assert_string_equal(track_of(told, 7), "0 running, 10 execve, 22 user - 30");
	told_free(told);
}

/* Thread 12 of process 10 execs: from then on it is 10, and 12 is gone. */
static void a_thread_that_execs_takes_over_the_tid_of_its_process(void **unused)
{
	struct told *told = replayed("thread 10 10 1 S server\n"
				     "thread 12 10 1 R server\n"
				     "  0 cpu0 switch 0(runnable) 12\n"
				     " 10 cpu0 enter execve\n"
				     " 15 cpu1 switch 0(runnable) 10\n"
				     " 17 cpu1 exit 10\n"
				     " 18 cpu1 switch 10(dead) 0\n"
				     " 20 cpu0 by 10 exec 10 /bin/ls 12\n"
				     " 22 cpu0 leave execve 0\n"
				     " 30 cpu0 switch 10(blocked) 0\n");

	assert_string_equal(track_of_slot(told, timeline_find_thread(told->tl, 12, 0)),
			    "0 running - 18");
	assert_string_equal(track_of(told, 10), "18 running, 22 user - 30");
	assert_string_equal(cpu_of(told, 0), "0 12, 18 10 - 30");
	assert_int_equal(told->tl->repairs - told->tl->repairs_exact, 0);
	told_free(told);
}

static void the_idle_tasks_are_one_per_cpu(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 8(blocked) 0\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 20 cpu1 switch 0(runnable) 8\n");

	assert_string_equal(cpu_of(told, 0), "0 7, 10 0 - 20");
	assert_string_equal(cpu_of(told, 1), "0 0 - 20");
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_is_blocked_until_the_waking_and_then_interrupted),
		cmocka_unit_test(a_thread_switched_out_runnable_is_preempted_until_it_is_back),
		cmocka_unit_test(each_cpu_has_its_own_thread),
		cmocka_unit_test(a_waking_of_a_thread_that_runs_changes_nothing),
		cmocka_unit_test(a_second_waking_does_not_replace_the_first),
		cmocka_unit_test(a_waking_just_before_the_switch_out_ends_the_wait_at_once),
		cmocka_unit_test(an_early_waking_without_a_wakeup_is_used_at_the_switch_in),
		cmocka_unit_test(an_early_waking_does_not_end_a_wait_that_has_its_own),
		cmocka_unit_test(a_queued_thread_that_is_moved_waits_for_the_new_cpu),
		cmocka_unit_test(a_preempted_thread_that_is_moved_stays_preempted),
		cmocka_unit_test(a_sleeper_that_is_moved_sleeps_on),
		cmocka_unit_test(a_wakeup_says_where_the_thread_is_queued),
		cmocka_unit_test(a_forked_thread_lives_from_the_fork_to_its_last_switch_out),
		cmocka_unit_test(nobody_parks_who_exits),
		cmocka_unit_test(a_new_thread_belongs_to_the_process_of_its_maker),
		cmocka_unit_test(a_fork_that_tells_the_process_tells_a_thread_from_a_process),
		cmocka_unit_test(a_tid_that_is_used_again_is_another_thread),
		cmocka_unit_test(a_birth_ends_the_life_of_the_thread_that_had_the_tid),
		cmocka_unit_test(a_tid_that_is_back_without_a_birth_was_born_after_the_death),
		cmocka_unit_test(a_thread_is_called_what_it_was_called_last),
		cmocka_unit_test(exec_gives_the_thread_a_new_command_line),
		cmocka_unit_test(a_thread_that_execs_takes_over_the_tid_of_its_process),
		cmocka_unit_test(the_idle_tasks_are_one_per_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

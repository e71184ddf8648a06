/* The classes of delays from states: by hand, and that they always add up. */
#include "analyse/accounts/delays_trace.h"

#include <string.h>

#include "accounts/rank.h"
#include "random_trace.h"
#include "told.h"

static const struct delays_task *task_of(const struct delays_trace *trace, int32_t tid,
					 bool process)
{
	for (size_t i = 0; i < trace->sample.count; i++) {
		if (trace->sample.tasks[i].tid == tid &&
		    trace->sample.tasks[i].is_process == process)
			return &trace->sample.tasks[i];
	}
	fail_msg("no task %d", tid);
	return NULL;
}

/* 7 runs 0-20, sleeps, waits for a CPU 50-60, runs 60-70, is preempted 70-75, runs, sleeps. */
static const char two_threads[] = "facts last 100\n"
				  "thread 7 7 1 R prog\n"
				  "thread 8 7 1 R other\n"
				  "0 cpu0 switch 0(runnable) 7\n"
				  "0 cpu1 switch 0(runnable) 8\n"
				  "20 cpu0 switch 7(blocked) 0\n"
				  "50 cpu1 waking 7 cpu 0\n"
				  "60 cpu0 switch 0(runnable) 7\n"
				  "70 cpu0 switch 7(runnable) 0\n"
				  "75 cpu0 switch 0(runnable) 7\n"
				  "80 cpu0 switch 7(blocked) 0\n";

static void waits_are_counted_by_thread_and_by_process(void **unused)
{
	const struct delays_trace_opts opts = { .threads = true };
	struct told *told = replayed(two_threads);
	const struct delays_task *task;
	struct delays_trace trace;

	delays_trace_run(told->tl, &opts, &trace);
	assert_int_equal(trace.sample.count, 3);
	task = task_of(&trace, 7, false);
	assert_int_equal(task->stats.run_ns, 20 + 10 + 5);
	assert_int_equal(task->stats.delay[DELAYS_CPU].count, 2);
	assert_int_equal(task->stats.delay[DELAYS_CPU].total_ns, 10 + 5);
	assert_int_equal(task->stats.delay[DELAYS_CPU].min_ns, 5);
	assert_int_equal(task->stats.delay[DELAYS_CPU].max_ns, 10);
	assert_int_equal(task->stats.delay[DELAYS_DISK].count, 0);
	assert_false(delays_has_class(&task->stats, DELAYS_SWAPIN));
	task = task_of(&trace, 7, true);
	assert_int_equal(task->stats.run_ns, 35 + 100);
	assert_int_equal(task->threads, 2);
	assert_int_equal(task->wall_ns, 200);
	assert_string_equal(task->stats.name, "prog");
	delays_trace_fini(&trace);
	told_free(told);
}

static void an_uninterruptible_wait_that_a_request_ends_is_for_disk(void **unused)
{
	const struct delays_trace_opts opts = { 0 };
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 20 cpu1 issue vda 8 R\n"
				     " 25 cpu1 switch 9(disk) 0\n"
				     " 38 cpu1 irq 24 virtio0\n"
				     " 39 cpu1 complete vda 8\n"
				     " 40 cpu1 waking 9\n"
				     " 40 cpu1 irqexit 24\n"
				     " 40 cpu1 switch 0(runnable) 9\n"
				     " 60 cpu1 waking 7 cpu 0\n"
				     " 60 cpu0 switch 0(runnable) 7\n");
	struct delays_trace trace;

	delays_trace_run(told->tl, &opts, &trace);
	assert_int_equal(task_of(&trace, 9, true)->stats.delay[DELAYS_DISK].count, 1);
	assert_int_equal(task_of(&trace, 9, true)->stats.delay[DELAYS_DISK].total_ns, 15);
	assert_int_equal(task_of(&trace, 7, true)->stats.delay[DELAYS_DISK].count, 0);
	delays_trace_fini(&trace);
	told_free(told);
}

static void processes_are_chosen_by_number_and_name(void **unused)
{
	const int32_t pids[] = { 8 };
	struct delays_trace_opts opts = { .pids = pids, .pid_count = 1 };
	struct told *told = replayed(two_threads);
	struct delays_trace trace;

	delays_trace_run(told->tl, &opts, &trace);
	assert_int_equal(trace.sample.count, 1); /* its process, with what was chosen of it */
	assert_int_equal(trace.sample.tasks[0].stats.run_ns, 100);
	delays_trace_fini(&trace);
	opts = (struct delays_trace_opts){ .comm = "nobody" };
	delays_trace_run(told->tl, &opts, &trace);
	assert_int_equal(trace.sample.count, 0);
	delays_trace_fini(&trace);
	told_free(told);
}

/* Life = run + CPU + disk + what else it was blocked + uncertain, of every thread. */
static void on_random_traces_nothing_is_counted_twice(void **unused)
{
	const struct delays_trace_opts opts = { .threads = true };

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct told *told = told_trace(random_trace(seed, 300, false, seed % 2 == 0));
		uint64_t lives_ns = 0, known_ns = 0;
		struct delays_trace trace;

		delays_trace_run(told->tl, &opts, &trace);
		for (size_t i = 0; i < trace.sample.count; i++) {
			const struct delays_stats *stats = &trace.sample.tasks[i].stats;

			assert_true(stats->run_ns + stats->delay[DELAYS_CPU].total_ns +
					    stats->delay[DELAYS_DISK].total_ns <=
				    trace.sample.tasks[i].wall_ns);
			assert_true(stats->delay[DELAYS_IRQ].total_ns <= stats->run_ns);
			if (!trace.sample.tasks[i].is_process)
				known_ns += trace.sample.tasks[i].wall_ns;
		}
		for (uint32_t slot = 0; slot < told->tl->thread_count; slot++) {
			const struct tl_thread *thread = told->tl->threads[slot];

			if (thread->tid > 0)
				lives_ns += thread->death_ns - thread->birth_ns;
		}
		assert_int_equal(known_ns + trace.uncertain_ns, lives_ns);
		delays_trace_fini(&trace);
		told_free(told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_are_counted_by_thread_and_by_process),
		cmocka_unit_test(an_uninterruptible_wait_that_a_request_ends_is_for_disk),
		cmocka_unit_test(processes_are_chosen_by_number_and_name),
		cmocka_unit_test(on_random_traces_nothing_is_counted_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

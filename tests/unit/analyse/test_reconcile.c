/* Accounts and events of the same threads: spans, differences and their reasons, by hand. */
#include "analyse/accounts/reconcile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/accounts/memory_spans.h"
#include "analyse/why/sleeper_moves.h"
#include "event/source.h"
#include "told.h"

#define MS 1000000u

/* Times in ms: 7 runs 0-10, waits for a CPU 10-30, runs 30-40, sleeps 40-70, waits 70-90, runs. */
static const char one_thread[] = "facts last 200000000\n"
				 "thread 7 7 1 R prog\n"
				 "0 cpu0 switch 0(runnable) 7\n"
				 "10000000 cpu0 switch 7(runnable) 0\n"
				 "30000000 cpu0 switch 0(runnable) 7\n"
				 "40000000 cpu0 switch 7(blocked) 0\n"
				 "70000000 cpu1 waking 7 cpu 0\n"
				 "90000000 cpu0 switch 0(runnable) 7\n"
				 "200000000 cpu0 switch 7(blocked) 0\n";

static struct recorded_task account(enum recorded_when when, uint64_t at_ms, uint64_t life_ms,
				    uint64_t queued_ms, uint64_t run_ms)
{
	struct recorded_task task = { .when = when, .time_ns = at_ms * MS };

	task.stats.tid = task.stats.tgid = 7;
	task.stats.classes = (1u << DELAYS_CLASSES) - 1;
	task.stats.life_us = life_ms * 1000;
	task.stats.delay[DELAYS_CPU] = (struct delays_delay){ 2, queued_ms * MS, 0, 0 };
	task.stats.run_ns = run_ms * MS;
	strcpy(task.stats.name, "prog");
	return task;
}

static int run(const struct told *told, const struct memory_spans *memory,
	       const struct recorded *recorded, const struct reconcile_opts *opts,
	       struct reconcile *out_result, struct err *err)
{
	struct moved moved = { 0 };
	const struct reconcile_events events = { told->tl, &told->trace->facts, memory, &moved };
	struct source *source = &told->trace->source;
	struct event_run events_run;
	int rc;

	assert_int_equal(source_seek(source, 0, NULL), 0);
	while (source_next_run(source, &events_run, NULL) > 0) {
		for (size_t i = 0; i < events_run.count; i++)
			moved_feed(&moved, events_run.events[i]);
	}
	moved_end(&moved);
	rc = reconcile_run(&events, recorded, opts, out_result, err);
	moved_fini(&moved);
	return rc;
}

/* The one row of the result. */
static struct reconcile_task compared_on(const char *kernel, const char *text,
					 struct recorded_task *tasks, size_t count)
{
	const struct recorded recorded = { .state = DELAYS_ACCOUNT_ON,
					   .tasks = tasks,
					   .task_count = count,
					   .end_ns = 200 * MS,
					   .since_boot = true };
	const struct memory_spans memory = { .classes = 1u << DELAYS_RECLAIM };
	const struct reconcile_opts opts = { 0 };
	struct told *told = replayed(text);
	struct reconcile result;
	struct reconcile_task task;

	told->trace->facts.kernel = kernel;
	assert_int_equal(run(told, &memory, &recorded, &opts, &result, NULL), 0);
	assert_int_equal(result.count, 1);
	task = result.tasks[0];
	reconcile_fini(&result);
	told_free(told);
	return task;
}

static struct reconcile_task compared(const char *text, struct recorded_task *tasks, size_t count)
{
	return compared_on(NULL, text, tasks, count);
}

static void both_are_taken_over_the_same_span(void **unused)
{
	struct recorded_task tasks[] = { account(RECORDED_START, 20, 1020, 500, 10),
					 account(RECORDED_END, 80, 1080, 520, 20) };
	struct reconcile_task task = compared(one_thread, tasks, 2);

	assert_true(task.is_process);
	assert_int_equal(task.span_ns, 60 * MS);
	assert_int_equal(task.rows[DELAYS_CPU].kernel.ns, 20 * MS);
	assert_int_equal(task.rows[DELAYS_CPU].events.ns, 20 * MS); /* 20-30 and 70-80 */
	assert_true(reconcile_agrees(&task.rows[DELAYS_CPU]));
	assert_int_equal(task.rows[RECONCILE_RUN].kernel.ns, 10 * MS);
	assert_int_equal(task.rows[RECONCILE_RUN].events.ns, 10 * MS);
	assert_int_equal(task.rows[DELAYS_CPU].unexplained_ns, 0);
}

/* The wait that began at 10 is counted at 30, that of 70 not yet at 80: 20 as well as 30 can be. */
static void a_wait_under_way_is_counted_when_it_ends(void **unused)
{
	struct recorded_task tasks[] = { account(RECORDED_START, 20, 1020, 500, 10),
					 account(RECORDED_END, 80, 1080, 530, 20) };
	struct reconcile_task task = compared(one_thread, tasks, 2);
	const struct reconcile_class *row = &task.rows[DELAYS_CPU];

	assert_int_equal(reconcile_difference(row), 10 * MS);
	assert_false(reconcile_agrees(row));
	assert_true(row->whys & 1u << RECONCILE_OPEN);
	assert_int_equal(row->at_most_ns[RECONCILE_OPEN], 10 * MS);
	assert_int_equal(row->unexplained_ns, 0);
}

static void what_no_reason_covers_is_unexplained(void **unused)
{
	struct recorded_task tasks[] = { account(RECORDED_START, 20, 1020, 500, 10),
					 account(RECORDED_END, 80, 1080, 575, 20) };
	struct reconcile_task task = compared(one_thread, tasks, 2);
	const struct reconcile_class *row = &task.rows[DELAYS_CPU];
	uint64_t explained = 0;

	assert_int_equal(reconcile_difference(row), 55 * MS);
	for (size_t why = 0; why < RECONCILE_WHYS; why++)
		explained += row->at_most_ns[why];
	assert_int_equal(row->unexplained_ns, 55 * MS - explained);
	assert_in_range(row->unexplained_ns, 44 * MS, 45 * MS);
}

static void uncertain_time_explains_what_the_events_lack(void **unused)
{
	struct recorded_task tasks[] = { account(RECORDED_START, 5, 1000, 500, 10),
					 account(RECORDED_END, 195, 1190, 560, 20) };
	const char *text = "facts last 200000000\n"
			   "thread 7 7 1 R prog\n"
			   "0 cpu0 switch 0(runnable) 7\n"
			   "100000000 cpu0 lost 20000000 9\n"
			   "190000000 cpu0 by 7 switch 7(blocked) 0\n";
	struct reconcile_task task = compared(text, tasks, 2);
	const struct reconcile_class *row = &task.rows[DELAYS_CPU];

	assert_true(row->whys & 1u << RECONCILE_LOST);
	assert_in_range(row->at_most_ns[RECONCILE_LOST], 60 * MS, 190 * MS);
	assert_int_equal(row->unexplained_ns, 0);
}

/* 60 ms, of which it ran 10 and waited 20 for a CPU: 45 for disk cannot be, 15 are too many. */
static void what_exceeds_the_span_cannot_have_been(void **unused)
{
	struct recorded_task tasks[] = { account(RECORDED_START, 20, 1020, 500, 10),
					 account(RECORDED_END, 80, 1080, 520, 20) };
	struct reconcile_task task;
	const struct reconcile_class *row = &task.rows[DELAYS_DISK];

	tasks[1].stats.delay[DELAYS_DISK] = (struct delays_delay){ 9, 45 * MS, 0, 0 };
	task = compared_on("6.12.1", one_thread, tasks, 2);
	assert_int_equal(reconcile_difference(row), 45 * MS);
	assert_true(row->whys & 1u << RECONCILE_DELAYED);
	assert_in_range(row->at_most_ns[RECONCILE_DELAYED], 15 * MS - 1000, 15 * MS);
	assert_in_range(row->unexplained_ns, 29 * MS, 30 * MS);
	task = compared_on("6.11.9", one_thread, tasks, 2);
	assert_false(row->whys & 1u << RECONCILE_DELAYED);
	assert_in_range(row->unexplained_ns, 44 * MS, 45 * MS);
}

/* Disk from 10 to 30, then a queue up to 50; the kernel says that the disk took 15 more of that. */
static void what_disk_has_more_waiting_for_a_cpu_has_less(void **unused)
{
	const char *text = "facts last 200000000\n"
			   "thread 7 7 1 R prog\n"
			   "0 cpu1 switch 0(runnable) 7\n"
			   "9000000 cpu1 issue vda 8 R\n"
			   "10000000 cpu1 switch 7(disk) 0\n"
			   "29000000 cpu1 irq 24 virtio0\n"
			   "29000000 cpu1 complete vda 8\n"
			   "30000000 cpu1 waking 7\n"
			   "30000000 cpu1 irqexit 24\n"
			   "50000000 cpu1 switch 0(runnable) 7\n"
			   "100000000 cpu1 switch 7(blocked) 0\n";
	struct recorded_task tasks[] = { account(RECORDED_START, 5, 1005, 500, 10),
					 account(RECORDED_END, 150, 1150, 505, 65) };
	struct reconcile_task task;
	const struct reconcile_class *row = &task.rows[DELAYS_DISK];

	tasks[1].stats.delay[DELAYS_DISK] = (struct delays_delay){ 1, 35 * MS, 0, 0 };
	task = compared(text, tasks, 2);
	assert_int_equal(row->events.ns, 20 * MS);
	assert_true(row->whys & 1u << RECONCILE_QUEUED);
	assert_int_equal(row->at_most_ns[RECONCILE_QUEUED], 15 * MS);
	assert_int_equal(row->unexplained_ns, 0);
	/* If the wait for a CPU is what the events say, it was no queue. */
	tasks[1].stats.delay[DELAYS_CPU].total_ns = 520 * MS;
	task = compared(text, tasks, 2);
	assert_false(row->whys & 1u << RECONCILE_QUEUED);
	assert_in_range(row->unexplained_ns, 14 * MS, 15 * MS);
}

/* It sleeps from 40 to 70, and is moved at 50: from there on it waits, says the kernel from 6.12 on. */
static void a_sleeper_that_is_moved_is_counted_as_waiting(void **unused)
{
	const char *text = "facts last 200000000\n"
			   "thread 7 7 1 R prog\n"
			   "0 cpu0 switch 0(runnable) 7\n"
			   "40000000 cpu0 switch 7(blocked) 0\n"
			   "50000000 cpu1 migrate 7 0 1\n"
			   "70000000 cpu1 waking 7 cpu 1\n"
			   "70000000 cpu1 migrate 7 1 0\n"
			   "75000000 cpu0 switch 0(runnable) 7\n"
			   "100000000 cpu0 switch 7(blocked) 0\n";
	struct recorded_task tasks[] = { account(RECORDED_START, 5, 1005, 500, 10),
					 account(RECORDED_END, 150, 1150, 525, 70) };
	struct reconcile_task task = compared_on("6.18.44", text, tasks, 2);
	const struct reconcile_class *row = &task.rows[DELAYS_CPU];

	assert_int_equal(reconcile_difference(row), 20 * MS);
	assert_true(row->whys & 1u << RECONCILE_MOVED);
	assert_int_equal(row->at_most_ns[RECONCILE_MOVED], 20 * MS);
	assert_int_equal(row->unexplained_ns, 0);
	task = compared_on("6.1.0", text, tasks, 2);
	assert_false(row->whys & 1u << RECONCILE_MOVED);
	assert_in_range(row->unexplained_ns, 19 * MS, 20 * MS);
}

#define SWITCHERS 6u
#define SWITCHES  200u

/* Each runs 1 ms of 2 on a CPU of its own; the kernel counts 'more_ns' at each; of the last thread 'last_ns'. */
static struct reconcile_scale measured(uint32_t switchers, uint32_t more_ns, uint32_t last_ns)
{
	struct recorded_task tasks[2 * SWITCHERS];
	struct recorded recorded = { .state = DELAYS_ACCOUNT_ON,
				     .tasks = tasks,
				     .task_count = 2 * (size_t)switchers,
				     .end_ns = 1000 * MS,
				     .tick_ns = 4 * MS };
	const struct memory_spans memory = { 0 };
	const struct reconcile_opts opts = { 0 };
	struct reconcile_scale scale;
	struct reconcile result;
	struct told *told;
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	fputs("facts last 1000000000\n", out);
	for (uint32_t i = 0; i < switchers; i++) {
		fprintf(out, "thread %u %u 1 S prog\n", 7 + i, 7 + i);
		tasks[2 * i] = account(RECORDED_START, 1, 1000, 0, 0);
		tasks[2 * i + 1] = account(RECORDED_END, 900, 1899, 0, SWITCHES);
		tasks[2 * i + 1].stats.run_ns +=
			(uint64_t)(i + 1 < switchers ? more_ns : last_ns) * SWITCHES;
		tasks[2 * i].stats.delay[DELAYS_CPU].count = 0;
		tasks[2 * i + 1].stats.delay[DELAYS_CPU].count = SWITCHES;
		for (uint32_t k = 0; k < 2; k++)
			tasks[2 * i + k].stats.tid = tasks[2 * i + k].stats.tgid = (int32_t)(7 + i);
	}
	for (uint32_t k = 0; k < SWITCHES; k++) {
		uint64_t at = (2 + 2 * (uint64_t)k) * MS;

		for (uint32_t i = 0; i < switchers; i++)
			fprintf(out,
				"%" PRIu64 " cpu%u waking %u cpu %u\n%" PRIu64
				" cpu%u switch 0(runnable) %u\n",
				at, i, 7 + i, i, at, i, 7 + i);
		for (uint32_t i = 0; i < switchers; i++)
			fprintf(out, "%" PRIu64 " cpu%u switch %u(blocked) 0\n", at + MS, i, 7 + i);
	}
	fclose(out);
	told = replayed(text);
	assert_int_equal(run(told, &memory, &recorded, &opts, &result, NULL), 0);
	scale = result.scale;
	reconcile_fini(&result);
	told_free(told);
	free(text);
	return scale;
}

static void the_edge_at_a_switch_is_measured_with_threads_that_switch_often(void **unused)
{
	struct reconcile_scale scale = measured(SWITCHERS, 4000, 4000);

	assert_int_equal(scale.threads, SWITCHERS);
	assert_int_equal(scale.apart_ns, 4000);
	assert_int_equal(scale.edge_ns, 12000);
	assert_int_equal(scale.tick_ns, 4 * MS);
	scale = measured(SWITCHERS, 0, 0); /* no clock is that good */
	assert_int_equal(scale.apart_ns, 0);
	assert_int_equal(scale.edge_ns, 1000);
	scale = measured(SWITCHERS, 90000, 90000); /* that is not the edge of anything */
	assert_int_equal(scale.edge_ns, 100000);
	scale = measured(SWITCHERS, 4000, 20000); /* one in ten may be more */
	assert_int_equal(scale.apart_ns, 4000);
	assert_int_equal(scale.most_ns, 20000);
	assert_int_equal(scale.edge_ns, 20000);
	scale = measured(4, 4000, 4000); /* too few */
	assert_int_equal(scale.threads, 0);
	assert_int_equal(scale.edge_ns, 10000);
}

static void one_side_alone_has_its_reason(void **unused)
{
	struct recorded_task tasks[] = { account(RECORDED_START, 20, 1020, 500, 10),
					 account(RECORDED_END, 80, 1080, 520, 20) };
	struct reconcile_task task;

	tasks[1].stats.classes = tasks[0].stats.classes &= ~(1u << DELAYS_IRQ);
	task = compared(one_thread, tasks, 2);
	assert_false(task.rows[DELAYS_IRQ].kernel.known);
	assert_int_equal(task.rows[DELAYS_IRQ].whys, 1u << RECONCILE_NO_CLASS);
	assert_int_equal(task.rows[DELAYS_COW].whys, 1u << RECONCILE_UNTOLD);
	assert_int_equal(task.rows[DELAYS_COMPACTION].whys, 1u << RECONCILE_NO_EVENTS);
	assert_true(task.rows[DELAYS_RECLAIM].events.known);

	/* Its exit was not heard. */
	task = compared(one_thread, tasks, 1);
	assert_false(task.rows[DELAYS_CPU].kernel.known);
	assert_int_equal(task.rows[DELAYS_CPU].whys, 1u << RECONCILE_NO_END);
	/* It lived before, but was not asked. */
	task = compared(one_thread, tasks + 1, 1);
	assert_int_equal(task.rows[DELAYS_CPU].whys, 1u << RECONCILE_NO_START);
}

static void nobody_is_an_error(void **unused)
{
	struct recorded_task tasks[] = { account(RECORDED_END, 80, 1080, 520, 20) };
	const struct recorded recorded = { .tasks = tasks, .task_count = 1 };
	const struct memory_spans memory = { 0 };
	const int32_t other = 99;
	const struct reconcile_opts opts = { .pids = &other, .pid_count = 1 };
	struct told *told = replayed(one_thread);
	struct reconcile result;
	struct err err = { 0 };

	assert_int_equal(run(told, &memory, &recorded, &opts, &result, &err), -ESRCH);
	assert_true(err.text[0]);
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_are_taken_over_the_same_span),
		cmocka_unit_test(a_wait_under_way_is_counted_when_it_ends),
		cmocka_unit_test(what_no_reason_covers_is_unexplained),
		cmocka_unit_test(uncertain_time_explains_what_the_events_lack),
		cmocka_unit_test(what_exceeds_the_span_cannot_have_been),
		cmocka_unit_test(what_disk_has_more_waiting_for_a_cpu_has_less),
		cmocka_unit_test(the_edge_at_a_switch_is_measured_with_threads_that_switch_often),
		cmocka_unit_test(a_sleeper_that_is_moved_is_counted_as_waiting),
		cmocka_unit_test(one_side_alone_has_its_reason),
		cmocka_unit_test(nobody_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

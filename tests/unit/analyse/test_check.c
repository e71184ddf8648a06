/*
 * Models over small traces in text whose answers a reader can check by hand, and every metric
 * over random spans of random traces against slow ways to the same number.
 *

 */
#include "analyse/check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_run.h"
#include "random_trace.h"
#include "report/check.h"
#include "timeline/totals.h"

/* "valid uncertain invalid" of a constraint of the last transition. */
static const char *counts_of(struct run *run, uint32_t constraint)
{
	const struct check_result *result = check_result(run->check);
	const struct check_transition *last =
		&result->transitions[run->model->transition_count - 1];
	const uint64_t *count = last->constraints[constraint].count;

	return told_keep(run->told,
			 xasprintf("%d %d %d", (int)count[CHECK_VALID], (int)count[CHECK_UNCERTAIN],
				   (int)count[CHECK_INVALID]));
}

#define WORK(checks)                                                     \
	"model: work\ninitial: out\nstates:\n  out:\n    transitions:\n" \
	"      - { event: begin, to: in }\n  in:\n    transitions:\n"    \
	"      - event: end\n        to: out\n        check: [ " checks " ]\n"

/* 7 works 10, waits 20..50 for 8, gets a CPU at 60, works to 80. */
static const char a_wait[] = "facts last 100\n"
			     "thread 7 7 1 R prog\n"
			     "thread 8 8 1 R other\n"
			     "0 cpu0 switch 0(runnable) 7\n"
			     "0 cpu1 switch 0(runnable) 8\n"
			     "5 cpu0 leave write 1\n"
			     "8 cpu0 other begin/1\n"
			     "10 cpu0 enter read 3\n"
			     "20 cpu0 switch 7(blocked) 0\n"
			     "50 cpu1 waking 7 cpu 0\n"
			     "60 cpu0 switch 0(runnable) 7\n"
			     "70 cpu0 leave read 4\n"
			     "80 cpu0 other end/1\n"
			     "90 cpu0 switch 7(blocked) 0\n";

static void a_span_is_measured(void **unused)
{
	static const char *const exact[] = {
		"elapsed == 72ns",     "on_cpu == 32ns",	  "blocked == 30ns",
		"wait_cpu == 10ns",    "blocked(thread) == 30ns", "blocked(disk) == 0ns",
		"in_syscalls == 60ns", "syscalls == 1",		  "switches == 1",
		"preemptions == 0",    "migrations == 0",	  "wakeups == 1",
		"bytes_read == 4B",    "bytes_written == 0B",	  "user == 12ns",
		"system == 20ns",      "uncertain == 0ns",	  "in_syscalls(read) == 60ns",
		"syscalls(read) == 1", "syscalls(write) == 0",	  "n == 1",
	};

	for (size_t i = 0; i < ARRAY_LEN(exact); i++) {
		AUTO_FREE char *model = xasprintf(WORK("%s"), exact[i]);
		struct run run = { 0 };
		const struct check_result *result = checked(&run, a_wait, model);

		if (result->count[CHECK_VALID] != 1)
			fail_msg("%s: it is %g..%g: %s", exact[i], result->findings[0].left.low,
				 result->findings[0].left.high,
				 report_check_reason(result, &result->findings[0]));
		run_fini(&run);
	}
}

static void limits_shares_and_sums_decide(void **unused)
{
	struct run run = { 0 };
	const struct check_result *result =
		checked(&run, a_wait,
			WORK("elapsed < 72ns, elapsed <= 72ns, on_cpu >= 44%, on_cpu >= 45%, "
			     "'on_cpu + blocked + wait_cpu == elapsed', blocked / 3 > 10ns"));

	assert_string_equal(counts_of(&run, 0), "0 0 1");
	assert_string_equal(counts_of(&run, 1), "1 0 0");
	assert_string_equal(counts_of(&run, 2), "1 0 0");
	assert_string_equal(counts_of(&run, 3), "0 0 1");
	assert_string_equal(counts_of(&run, 4), "1 0 0");
	assert_string_equal(counts_of(&run, 5), "0 0 1");
	assert_int_equal(result->count[CHECK_INVALID], 1);
	assert_int_equal(result->status, CHECK_INVALID);
	assert_int_equal(result->finding_count, 3);
	assert_int_equal(result->findings[0].start_ns, 8);
	assert_int_equal(result->findings[0].end_ns, 80);
	run_fini(&run);
}

static void without_the_kernel_a_deadline_is_decided_and_the_rest_uncertain(void **unused)
{
	struct run run = { .is_deaf = true };
	const struct check_result *result =
		checked(&run, a_wait,
			WORK("deadline: 71ns, elapsed <= 72ns, blocked < 10ns, "
			     "preemptions == 0, on_cpu >= 0ns"));

	assert_string_equal(counts_of(&run, 0), "0 0 1");
	assert_string_equal(counts_of(&run, 1), "1 0 0");
	assert_string_equal(counts_of(&run, 2), "0 1 0");
	assert_string_equal(counts_of(&run, 3), "0 1 0");
	assert_int_equal(result->findings[1].reason.kind, REASON_DEAF);
	run_fini(&run);
}

/* The same with a hole on its CPU while it waited: what it did from 20 on is not known. */
static const char a_hole[] = "facts last 100\n"
			     "thread 7 7 1 R prog\n"
			     "0 cpu0 switch 0(runnable) 7\n"
			     "5 cpu0 leave write 1\n"
			     "8 cpu0 other begin/1\n"
			     "10 cpu0 enter read 3\n"
			     "40 cpu0 lost 20 5\n"
			     "60 cpu0 by 7 leave read 4\n"
			     "80 cpu0 other end/1\n";

static void a_hole_makes_uncertain_what_it_could_change(void **unused)
{
	struct run run = { 0 };
	const struct check_result *result =
		checked(&run, a_hole,
			WORK("deadline: 70ns, on_cpu >= 12ns, on_cpu >= 60ns, on_cpu > 73ns, "
			     "preemptions == 0, elapsed <= 72ns, blocked <= 72ns"));

	assert_string_equal(counts_of(&run, 0), "0 0 1"); /* missed whatever was lost */
	assert_string_equal(counts_of(&run, 1), "1 0 0");
	assert_string_equal(counts_of(&run, 2), "0 1 0");
	assert_string_equal(counts_of(&run, 3), "0 0 1");
	assert_string_equal(counts_of(&run, 4), "0 1 0");
	assert_string_equal(counts_of(&run, 5), "1 0 0");
	assert_string_equal(counts_of(&run, 6), "1 0 0");
	assert_int_equal(result->count[CHECK_INVALID], 1);
	run_fini(&run);
}

/* Two requests whose parts run in different threads. */
static const char across[] = "facts last 200\n"
			     "thread 7 7 1 R front\n"
			     "thread 8 8 1 R back\n"
			     "0 cpu0 switch 0(runnable) 7\n"
			     "0 cpu1 switch 0(runnable) 8\n"
			     "5 cpu0 leave write 1\n"
			     "5 cpu1 leave write 1\n"
			     "10 cpu0 other begin/1\n"
			     "20 cpu0 switch 7(blocked) 0\n"
			     "30 cpu1 other hand/1\n"
			     "40 cpu1 waking 7 cpu 0\n"
			     "50 cpu0 switch 0(runnable) 7\n"
			     "60 cpu1 other hand/2\n"
			     "70 cpu0 other begin/2\n"
			     "90 cpu1 other end/1\n"
			     "95 cpu1 switch 8(blocked) 0\n"
			     "100 cpu0 other end/2\n";

static void a_request_is_followed_across_threads(void **unused)
{
	struct run run = { 0 };
	const struct check_result *result = checked(
		&run, across,
		"model: m\nkey: n\ninitial: out\nvariables: { cpu_time: on_cpu, all: elapsed }\n"
		"states:\n  out:\n    transitions:\n"
		"      - { event: begin, to: front, start: [ cpu_time, all ] }\n"
		"  front:\n    transitions:\n      - { event: hand, to: back }\n"
		"      - { event: end, to: out }\n"
		"  back:\n    transitions:\n"
		"      - event: end\n        to: out\n        check:\n"
		"          - cpu_time == 70ns\n          - all == 80ns\n"
		"          - on_cpu == 60ns\n");

	/* 1: 10..30 in thread 7, on a CPU 10 of it; 30..90 in thread 8, all of it on a CPU */
	assert_string_equal(counts_of(&run, 0), "1 0 0");
	assert_string_equal(counts_of(&run, 1), "1 0 0");
	assert_string_equal(counts_of(&run, 2), "1 0 0");
	assert_int_equal(result->instances, 2);
	assert_int_equal(result->unexpected_count, 1); /* hand/2 before begin/2 */
	run_fini(&run);
}

static const char entries[] = "facts last 100\n"
			      "thread 7 7 1 R prog\n"
			      "0 cpu0 switch 0(runnable) 7\n"
			      "1 cpu0 other begin/1\n"
			      "3 cpu0 other begin/2\n"
			      "5 cpu0 other begin/3\n"
			      "7 cpu0 other end/3\n"
			      "9 cpu0 other begin/4\n";

static void one_instance_at_a_time_or_one_for_each_event(void **unused)
{
	struct run one = { 0 }, overlap = { 0 };
	const struct check_result *result = checked(&one, entries, WORK("elapsed == 6ns"));

	assert_int_equal(result->instances, 2);
	assert_int_equal(result->open, 1);
	assert_int_equal(result->unexpected[0].count, 2);
	assert_string_equal(counts_of(&one, 0), "1 0 0");
	result = checked(&overlap, entries, "instances: overlap\n" WORK("elapsed >= 2ns"));
	assert_int_equal(result->instances, 4);
	assert_int_equal(result->open, 1);
	assert_string_equal(counts_of(&overlap, 0), "3 0 0");
	run_fini(&one);
	run_fini(&overlap);
}

static void assert_reason(const struct check_result *result, size_t finding, const char *expected)
{
	AUTO_FREE char *reason = report_check_reason(result, &result->findings[finding]);

	assert_string_equal(reason, expected);
}

static void a_strict_model_takes_an_event_out_of_order_for_a_violation(void **unused)
{
	struct run run = { 0 };
	const struct check_result *result =
		checked(&run, entries, "strict: true\n" WORK("elapsed == 6ns"));

	assert_int_equal(result->count[CHECK_INVALID], 1);
	assert_int_equal(result->finding_count, 2);
	assert_reason(result, 0,
		      "unexpected event begin in state \"in\", which has no such transition");
	run_fini(&run);
}

static void a_deadline_that_is_missed_when_the_trace_ends_is_missed(void **unused)
{
	struct run run = { 0 }, soon = { 0 };
	const struct check_result *result = checked(&run, entries, WORK("deadline: 6ns"));

	assert_int_equal(result->open, 1);
	assert_int_equal(result->count[CHECK_INVALID], 1);
	assert_int_equal(result->findings[0].start_ns, 9);
	result = checked(&soon, entries, WORK("deadline: 91ns"));
	assert_int_equal(result->count[CHECK_INVALID], 0);
	run_fini(&run);
	run_fini(&soon);
}

static void values_are_set_from_events(void **unused)
{
	struct run run = { 0 };
	const struct check_result *result = checked(
		&run, entries,
		"model: m\ninitial: out\nstates:\n  out:\n    transitions:\n"
		"      - { event: begin, to: in, set: { first: n, at: time } }\n"
		"  in:\n    transitions:\n"
		"      - event: end\n        to: out\n        check:\n"
		"          - n - first == 2\n          - time - at == 6ns\n          - m == 1\n");

	assert_string_equal(counts_of(&run, 0), "1 0 0");
	assert_string_equal(counts_of(&run, 1), "1 0 0");
	assert_string_equal(counts_of(&run, 2), "0 1 0");
	assert_reason(result, 0, "the event has no field \"m\"");
	run_fini(&run);
}

static void too_many_open_instances_are_given_up_and_counted(void **unused)
{
	struct run run = { .told = replayed(entries),
			   .model = model_of("key: n\n" WORK("elapsed == 2ns")) };
	const struct check_result *result;

	run_on(&run, 1); /* room for one */
	result = check_result(run.check);
	assert_int_equal(result->instances, 4);
	assert_int_equal(result->dropped, 2);
	assert_int_equal(result->count[CHECK_UNCERTAIN], 2);
	assert_int_equal(result->count[CHECK_VALID], 2);
	assert_int_equal(result->list[0].end, CHECK_DROPPED);
	assert_int_equal(result->list[0].status, CHECK_UNCERTAIN);
	assert_int_equal(result->open, 1);
	assert_string_equal(counts_of(&run, 0), "1 0 0");
	assert_int_equal(result->status, CHECK_UNCERTAIN);
	run_fini(&run);
}

/* Threads 7 and 8 of one process, 9 of another; space 5 is the first one's, 6 the other one's. */
#define MEMORY                                                       \
	"facts last 200\nthread 7 7 1 R prog\nthread 8 7 1 R prog\n" \
	"thread 9 9 1 R other\n0 cpu0 switch 0(runnable) 7\n"        \
	"0 cpu1 switch 0(runnable) 8\n0 cpu2 switch 0(runnable) 9\n"

/* "LOW HIGH" of rss_grown where the model asks for it; and the reason. */
static const char *grown_in(struct run *run, const char *model, const char *events)
{
	AUTO_FREE char *trace = xasprintf(MEMORY "%s", events);
	const struct check_result *result = checked(run, trace, model);
	const struct check_finding *finding = &result->findings[0];
	AUTO_FREE char *reason = NULL;

	assert_int_equal(result->finding_count, 1);
	reason = report_check_reason(result, finding);
	return told_keep(run->told, xasprintf("%g %g%s%s", finding->left.low, finding->left.high,
					      reason[0] ? " " : "", reason));
}

static void assert_grown_of(const char *model, const char *events, const char *expected)
{
	struct run run = { 0 };

	assert_string_equal(grown_in(&run, model, events), expected);
	run_fini(&run);
}

/* Between the marks of 7. */
static void assert_grown(const char *events, const char *expected)
{
	assert_grown_of(WORK("rss_grown < -1GiB"), events, expected);
}

#define NOT_TOLD "-inf inf the memory size of the process at the start or the end is unknown"

static void memory_grows_and_shrinks_with_all_threads_of_the_process(void **unused)
{
	/* What others do to it is in; swapped out pages and other processes are not. */
	assert_grown("10 cpu0 other rss/5:1:1:8192\n12 cpu0 other rss/5:1:0:4096\n"
		     "13 cpu0 other rss/5:1:2:0\n20 cpu0 other begin\n"
		     "30 cpu1 other rss/5:1:1:40960\n40 cpu2 other rss/6:1:1:999424\n"
		     "50 cpu2 other rss/5:0:1:36864\n51 cpu2 other rss/5:0:2:4096\n"
		     "60 cpu0 other end\n",
		     "28672 28672");
	assert_grown("10 cpu0 other rss/5:1:0:4096\n11 cpu0 other rss/5:1:3:4096\n"
		     "20 cpu0 other begin\n30 cpu0 other rss/5:1:0:12288\n"
		     "31 cpu0 other rss/5:1:3:20480\n60 cpu0 other end\n",
		     "24576 24576");
	assert_grown("10 cpu0 other rss/5:1:1:8192\n20 cpu0 other begin\n"
		     "30 cpu1 other rss/5:1:1:4096\n60 cpu0 other end\n",
		     "-4096 -4096");
	assert_grown("20 cpu0 other begin\n30 cpu1 other rss/5:1:1:4096\n60 cpu0 other end\n",
		     NOT_TOLD);
	assert_grown("20 cpu0 other begin\n60 cpu0 other end\n", NOT_TOLD);
	/* Another program. */
	assert_grown("10 cpu0 other rss/5:1:1:8192\n11 cpu0 other rss/8:0:1:4096\n"
		     "20 cpu0 other begin\n30 cpu0 other rss/8:1:1:8192\n60 cpu0 other end\n",
		     NOT_TOLD);
}

static void memory_is_not_known_where_its_events_were_lost(void **unused)
{
	assert_grown("10 cpu0 other rss/5:1:1:8192\n20 cpu0 other begin\n"
		     "40 cpu1 lost 25 3\n60 cpu0 other end\n",
		     "-inf inf kernel events were lost in the span");
	/* Before it: the first event behind tells of changes of before, too. */
	assert_grown("10 cpu0 other rss/5:1:1:8192\n18 cpu1 lost 15 3\n20 cpu0 other begin\n"
		     "30 cpu0 other rss/5:1:1:12288\n60 cpu0 other end\n",
		     NOT_TOLD);
	assert_grown(
		"10 cpu0 other rss/5:1:1:8192\n18 cpu1 lost 15 3\n19 cpu0 other rss/5:1:1:4096\n"
		"20 cpu0 other begin\n30 cpu0 other rss/5:1:1:12288\n60 cpu0 other end\n",
		"8192 8192");
}

static void memory_is_not_known_from_where_a_process_tears_it_down(void **unused)
{
	/* An exec: what is filled is the new one; what goes is not by how much the process shrinks. */
#define EXEC                                                  \
	"10 cpu0 other rss/5:1:1:8192\n12 cpu0 other begin\n" \
	"20 cpu0 other rss/8:0:1:4096\n30 cpu0 other rss/5:0:1:0\n"

	assert_grown(EXEC "40 cpu0 other end\n", NOT_TOLD);
	assert_grown(EXEC "40 cpu0 other rss/8:1:1:8192\n50 cpu0 other end\n", NOT_TOLD);
#undef EXEC
	/* Behind it. */
	assert_grown("10 cpu0 other rss/5:1:1:8192\n20 cpu0 other rss/8:0:1:4096\n"
		     "30 cpu0 other rss/5:0:1:0\n40 cpu0 other rss/8:1:1:8192\n"
		     "50 cpu0 other begin\n55 cpu0 other rss/8:1:1:12288\n60 cpu0 other end\n",
		     "4096 4096");
	/* Others than its own threads do not have it torn down. */
	assert_grown("10 cpu0 other rss/5:1:1:8192\n20 cpu0 other begin\n"
		     "30 cpu2 other rss/5:0:1:4096\n60 cpu0 other end\n",
		     "-4096 -4096");
}

static void memory_of_one_of_whom_nothing_was_told_is_not_known_in_any_part(void **unused)
{
	static const char model[] =
		"model: m\nkey: all\ninitial: out\nvariables: { m: rss_grown }\nstates:\n"
		"  out:\n    transitions:\n      - { event: begin, to: first, start: [ m ] }\n"
		"  first:\n    transitions:\n      - { event: step, to: second }\n"
		"  second:\n    transitions:\n"
		"      - { event: end, to: out, check: [ m < -1GiB ] }\n";

	/* From 10 to 20 it is of 8, from there on of 7. */
	assert_grown_of(model,
			"5 cpu0 other rss/5:1:1:8192\n10 cpu1 other begin\n20 cpu0 other step\n"
			"30 cpu0 other rss/5:1:1:12288\n60 cpu0 other end\n",
			"4096 4096");
	assert_grown_of(model,
			"5 cpu0 other rss/5:1:1:8192\n10 cpu2 other begin\n20 cpu0 other step\n"
			"30 cpu0 other rss/5:1:1:12288\n60 cpu0 other end\n",
			NOT_TOLD);
}

static void an_invalid_span_is_explained(void **unused)
{
	struct run run = { 0 };
	const struct check_result *result = checked(&run, a_wait, WORK("elapsed < 50ns"));

	check_explain(run.check, run.told->tl, &run.told->trace->facts, NULL, 10);
	assert_non_null(result->findings[0].why);
	assert_int_equal(result->findings[0].why->end_ns - result->findings[0].why->start_ns, 72);
	run_fini(&run);
}

/* ------------------------------------------------------------------- the twin */

static const char *const timers[] = { "on_cpu",	 "user",   "system",	 "wait_cpu", "preempted",
				      "blocked", "in_irq", "in_softirq", "uncertain" };

/* Does an interval of this kind count for the timer? Written down once more. */
static bool counts_for(uint32_t timer, enum word_kind kind)
{
	static const char *const kinds[] = { "RUYTKWILVS", "U",	 "YTKW", "PQ", "P",
					     "B",	   "LV", "S",	 "?N" };
	static const char letters[] = {
		[WORD_NONE] = 'N',	[WORD_UNCERTAIN] = '?', [WORD_RUN] = 'R',
		[WORD_USER] = 'U',	[WORD_SYSCALL] = 'Y',	[WORD_TRAP] = 'T',
		[WORD_KERNEL] = 'K',	[WORD_WORK] = 'W',	[WORD_IDLE] = 'I',
		[WORD_IRQ] = 'L',	[WORD_VECTOR] = 'V',	[WORD_SOFTIRQ] = 'S',
		[WORD_PREEMPTED] = 'P', [WORD_WAIT_CPU] = 'Q',	[WORD_BLOCKED] = 'B',
		[WORD_CPU] = 'C'
	};

	return strchr(kinds[timer], letters[kind]);
}

/* Interval by interval. */
static uint64_t timer_of(const struct timeline *timeline, const struct check_finding *finding,
			 uint32_t timer)
{
	struct tl_iter iter;
	struct tl_interval in;
	uint64_t ns = 0;

	tl_iter_begin(&iter, timeline, &timeline->threads[finding->slot]->track, finding->start_ns,
		      finding->end_ns);
	while (tl_iter_next(&iter, &in))
		ns += counts_for(timer, word_kind(in.word)) ? in.end_ns - in.start_ns : 0;
	return ns;
}

static const struct {
	const char *name;
	enum total_kind kind;
	uint32_t a;
} counters[] = {
	{ "preemptions", TOTAL_COUNTER, COUNT_PREEMPTED },
	{ "switches", TOTAL_COUNTER, COUNT_WAITS },
	{ "migrations", TOTAL_COUNTER, COUNT_MIGRATIONS },
	{ "syscalls", TOTAL_CALL, UINT32_MAX },
};

/* From the totals of that window alone. */
static uint64_t counter_of(const struct timeline *timeline, const struct check_finding *finding,
			   uint32_t counter)
{
	struct totals totals = { 0 };
	uint64_t count = 0;

	timeline_totals(timeline, finding->slot, finding->start_ns, finding->end_ns, &totals);
	for (uint32_t i = 0; i < totals.count; i++) {
		const struct total *row = &totals.rows[i];

		if (total_kind(row->key) == counters[counter].kind &&
		    (counters[counter].a == UINT32_MAX || total_a(row->key) == counters[counter].a))
			count += row->count;
	}
	totals_fini(&totals);
	return count;
}

/* Event by event; those at the instants of the border are within when 'border' says so. */
static uint64_t wakeups_of(const struct text_trace *trace, const struct check_finding *finding,
			   bool border)
{
	uint64_t count = 0;

	for (size_t i = 0; i < trace->count; i++) {
		const struct event *event = &trace->events[i];

		if (event->type != EV_SCHED_WAKING || event->wake.tid != finding->tid)
			continue;
		if (event->time_ns == finding->start_ns || event->time_ns == finding->end_ns)
			count += border;
		else
			count += event->time_ns > finding->start_ns &&
				 event->time_ns < finding->end_ns;
	}
	return count;
}

static uint64_t slow_value(struct run *run, const struct check_finding *finding, uint32_t index)
{
	if (index < ARRAY_LEN(timers))
		return timer_of(run->told->tl, finding, index);
	if (index < ARRAY_LEN(timers) + ARRAY_LEN(counters))
		return counter_of(run->told->tl, finding, index - ARRAY_LEN(timers));
	return wakeups_of(run->told->trace, finding, false);
}

/* "user", "system" and "preempted": more may be of them than is of what is not known at all. */
static bool is_loose(uint32_t constraint)
{
	return constraint == 1 || constraint == 2 || constraint == 4;
}

static uint64_t blurred_of(const struct timeline *timeline, const struct check_finding *finding)
{
	struct tl_iter iter;
	struct tl_interval in;
	uint64_t ns = 0;

	tl_iter_begin(&iter, timeline, &timeline->threads[finding->slot]->track, finding->start_ns,
		      finding->end_ns);
	while (tl_iter_next(&iter, &in))
		ns += word_kind(in.word) == WORD_RUN ? in.end_ns - in.start_ns : 0;
	return ns;
}

/* Each span that any event of a thread ends gives a finding for each metric: it is below 0. */
static void compare(struct run *run)
{
	const struct check_result *result = check_result(run->check);

	for (size_t i = 0; i < result->finding_count; i++) {
		const struct check_finding *finding = &result->findings[i];
		uint64_t slow, unsure, blurred;
		bool is_range = finding->left.low != finding->left.high;

		if (finding->slot == SLOT_NONE || finding->constraint == UINT32_MAX)
			continue;
		slow = slow_value(run, finding, finding->constraint);
		unsure = timer_of(run->told->tl, finding, 8);
		if (finding->constraint == 13 && finding->left.low > (double)slow &&
		    finding->left.low <= (double)wakeups_of(run->told->trace, finding, true))
			continue; /* events of one instant: their order decides */
		/* Time on a CPU that is the program's or the kernel's may be of either. */
		blurred = finding->constraint == 1 || finding->constraint == 2
				  ? blurred_of(run->told->tl, finding)
				  : 0;
		if ((double)slow != finding->left.low ||
		    (finding->constraint < 8 && !is_loose(finding->constraint) &&
		     finding->left.high != (double)(slow + unsure)) ||
		    (is_loose(finding->constraint) &&
		     finding->left.high < (double)(slow + unsure + blurred)) ||
		    (is_range && !unsure && !blurred && !is_loose(finding->constraint) &&
		     finding->constraint < 13))
			fail_msg("metric %u over %llu-%llu of %d: %g..%g, slowly %llu (+%llu)",
				 finding->constraint, (unsigned long long)finding->start_ns,
				 (unsigned long long)finding->end_ns, finding->tid,
				 finding->left.low, finding->left.high, (unsigned long long)slow,
				 (unsigned long long)unsure);
	}
	assert_true(result->finding_count > 100);
}

static struct model *model_of_all(void)
{
	char *text = xstrdup("model: all\ninitial: out\nstates:\n  out:\n    transitions:\n"
			     "      - { event: any, to: in }\n  in:\n    transitions:\n"
			     "      - event: any\n        to: in\n        check:\n");
	struct model *model;

	for (size_t i = 0; i < ARRAY_LEN(timers) + ARRAY_LEN(counters) + 1; i++) {
		const char *name = i < ARRAY_LEN(timers) ? timers[i]
				   : i < ARRAY_LEN(timers) + ARRAY_LEN(counters)
					   ? counters[i - ARRAY_LEN(timers)].name
					   : "wakeups";
		char *longer = xasprintf("%s          - %s < 0\n", text, name);

		free(text);
		text = longer;
	}
	model = model_of(text);
	free(text);
	return model;
}

static void every_metric_is_what_a_slow_way_finds(void **unused)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct text_trace *trace = random_trace(seed, 300, seed % 3 == 0, seed % 2 == 0);
		struct run run = { .model = model_of_all() };

		for (uint64_t i = 0; i < seed % 4; i++)
			rt_lose(trace, (uint32_t)(i % RT_CPUS), 20 + seed * 7 % 50 + i * 9, 5);
		run.told = told_trace(trace);
		run_on(&run, 0);
		compare(&run);
		run_fini(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_is_measured),
		cmocka_unit_test(limits_shares_and_sums_decide),
		cmocka_unit_test(without_the_kernel_a_deadline_is_decided_and_the_rest_uncertain),
		cmocka_unit_test(a_hole_makes_uncertain_what_it_could_change),
		cmocka_unit_test(a_request_is_followed_across_threads),
		cmocka_unit_test(one_instance_at_a_time_or_one_for_each_event),
		cmocka_unit_test(a_strict_model_takes_an_event_out_of_order_for_a_violation),
		cmocka_unit_test(a_deadline_that_is_missed_when_the_trace_ends_is_missed),
		cmocka_unit_test(values_are_set_from_events),
		cmocka_unit_test(too_many_open_instances_are_given_up_and_counted),
		cmocka_unit_test(memory_grows_and_shrinks_with_all_threads_of_the_process),
		cmocka_unit_test(memory_is_not_known_where_its_events_were_lost),
		cmocka_unit_test(memory_is_not_known_from_where_a_process_tears_it_down),
		cmocka_unit_test(memory_of_one_of_whom_nothing_was_told_is_not_known_in_any_part),
		cmocka_unit_test(an_invalid_span_is_explained),
		cmocka_unit_test(every_metric_is_what_a_slow_way_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_others.c - lanes of locks, disks, network devices and programs, from traces that are checked by hand. */
#include "analyse/others/others.h"

#include <string.h>

#include "accounts/recorded.h"
#include "base/mem.h"
#include "event/stacks.h"

#include "told.h"

#define LOCK 0x1000
#define TOLD(time, thread, operation)                                                    \
	&(const struct event)                                                            \
	{                                                                                \
		.time_ns = (time), .tid = (thread), .type = EV_USER_LOCK, .user_lock = { \
			.op = USER_LOCK_##operation,                                     \
			.pid = 1,                                                        \
			.address = LOCK,                                                 \
			.path = "",                                                      \
			.kind = LOCK_KIND_MUTEX                                          \
		}                                                                        \
	}

static void ignore_columns(void *context, uint32_t columns, const struct series_column *column)
{
	(void)context;
	(void)columns;
	(void)column;
}

static struct series_column sum_of(const struct other_lane *lane, uint64_t from_ns, uint64_t to_ns)
{
	struct series_column sum;

	series_columns(&lane->series, from_ns, to_ns, 1, ignore_columns, NULL, &sum);
	return sum;
}

static struct others *others_of(const char *text, struct text_trace **out_trace,
				const struct others_opts *of)
{
	struct text_trace *trace = text_trace_of(text);
	struct others_opts opts = *of;
	const struct event *event;
	struct err err = { 0 };
	struct others *others;

	opts.facts = &trace->facts;
	others = others_new(&opts);
	while (source_next(&trace->source, &event, &err) > 0)
		others_feed(others, event);
	*out_trace = trace;
	return others;
}

static void requests_in_flight_are_counted(void **unused)
{
	const struct others_opts none = { 0 };
	struct text_trace *trace;
	struct others *others = others_of("  0 cpu0 switch 0(runnable) 7:dd\n"
					  " 10 cpu0 issue 8 100 W\n"
					  " 20 cpu0 issue 8 200 R\n"
					  " 40 cpu0 complete 8 100\n"
					  " 70 cpu0 complete 8 200\n"
					  " 80 cpu0 complete 8 999\n"
					  " 90 cpu0 issue 9 1 R\n",
					  &trace, &none);
	const struct other_lane *lane;

	(void)unused;
	others_end(others, 100);
	assert_int_equal(others_count(others), 2);
	lane = others_lane(others, 0);
	assert_int_equal(lane->group, OTHER_DISKS);
	assert_int_equal(sum_of(lane, 0, 100).sums[0], 10 + 2 * 20 + 30);
	assert_int_equal(sum_of(lane, 0, 100).most, 2);
	assert_int_equal(sum_of(lane, 25, 35).sums[0], 20);
	assert_int_equal(sum_of(lane, 50, 60).most, 1);
	assert_int_equal(lane->span_count, 2);
	assert_int_equal(lane->spans[1].start_ns, 20);
	assert_int_equal(lane->spans[1].end_ns, 70);
	assert_int_equal(lane->spans[1].tid, 7);
	assert_non_null(strstr(others_text(others, lane->spans[1].text), "R, "));
	assert_int_equal(sum_of(others_lane(others, 1), 0, 100).sums[0], 10);
	others_free(others);
	text_trace_free(trace);
}

/* A level from its first change; CPUs in the order of their numbers, whoever recorded the event. */
static void frequencies_are_levels(void **unused)
{
	const struct others_opts none = { 0 };
	struct text_trace *trace;
	struct others *others = others_of("  0 cpu0 switch 0(runnable) 7\n"
					  " 10 cpu0 frequency 10 1800000\n"
					  " 20 cpu0 frequency 2 3000400\n"
					  " 60 cpu0 frequency 2 1200600\n",
					  &trace, &none);
	const struct other_lane *lane;

	(void)unused;
	others_end(others, 100);
	assert_int_equal(others_count(others), 2);
	lane = others_lane(others, 0);
	assert_int_equal(lane->group, OTHER_FREQUENCY);
	assert_string_equal(lane->label, "frequency of CPU 2");
	assert_int_equal(sum_of(lane, 0, 100).sums[0], 40 * 3000 + 40 * 1201);
	assert_int_equal(sum_of(lane, 0, 20).sums[0], 0);
	assert_int_equal(sum_of(lane, 50, 70).most, 3000);
	assert_string_equal(others_lane(others, 1)->label, "frequency of CPU 10");
	others_free(others);
	text_trace_free(trace);
}

/* What ended in a hole is not in flight for ever. */
static void a_hole_ends_what_was_in_flight(void **unused)
{
	const struct others_opts none = { 0 };
	struct text_trace *trace;
	struct others *others = others_of("  0 cpu0 switch 0(runnable) 7\n"
					  " 10 cpu0 issue 8 100 W\n"
					  " 15 cpu0 lockbegin 0x77 4\n"
					  " 50 cpu0 lost 20 5\n"
					  " 60 cpu0 complete 8 100\n"
					  " 65 cpu0 lockend 0x77\n",
					  &trace, &none);

	(void)unused;
	others_end(others, 100);
	for (size_t i = 0; i < others_count(others); i++)
		assert_int_equal(sum_of(others_lane(others, i), 50, 100).sums[i ? 0 : 2], 0);
	others_free(others);
	text_trace_free(trace);
}

static void packets_are_told_by_device_and_direction(void **unused)
{
	const struct others_opts none = { 0 };
	struct text_trace *trace;
	struct others *others = others_of(" 10 cpu0 netqueue 1 eth0\n"
					  " 20 cpu0 netqueue 2 eth0\n"
					  " 30 cpu0 netrx 2 lo\n"
					  " 31 cpu0 receive 2 lo\n",
					  &trace, &none);

	(void)unused;
	others_end(others, 100);
	assert_int_equal(others_count(others), 2);
	assert_string_equal(others_lane(others, 0)->label, "eth0 sent");
	assert_int_equal(sum_of(others_lane(others, 0), 0, 100).sums[0], 2);
	assert_int_equal(sum_of(others_lane(others, 0), 0, 20).sums[0], 1);
	assert_string_equal(others_lane(others, 1)->label, "lo received");
	assert_int_equal(sum_of(others_lane(others, 1), 0, 100).sums[0], 1);
	others_free(others);
	text_trace_free(trace);
}

static void kernel_locks_are_named_with_who_had_them(void **unused)
{
	const struct others_opts none = { 0 };
	struct text_trace *trace;
	struct others *others =
		others_of("  0 cpu0 switch 0(runnable) 7\n"
			  "  0 cpu1 switch 0(runnable) 9\n"
			  "  9 cpu0 locktold 7 0x77 8 \"address space lock of prog[7]\"\n"
			  " 10 cpu0 lockbegin 0x77 4\n"
			  " 30 cpu1 lockbegin 0x77 4\n"
			  " 50 cpu0 lockend 0x77\n"
			  " 60 cpu1 lockend 0x77\n",
			  &trace, &none);
	const struct other_lane *lane;

	(void)unused;
	others_end(others, 100);
	assert_int_equal(others_count(others), 1);
	lane = others_lane(others, 0);
	assert_string_equal(lane->label, "address space lock of prog[7]");
	assert_int_equal(sum_of(lane, 0, 100).sums[OTHER_LOCK_WAITED - 1], 50);
	assert_int_equal(lane->weight, 40 + 30);
	assert_int_equal(lane->span_count, 2);
	assert_int_equal(lane->spans[0].tid, 7);
	assert_int_equal(lane->spans[0].other_tid, 8);
	assert_int_equal(lane->spans[1].other_tid, 0); /* of that wait it was not told */
	others_free(others);
	text_trace_free(trace);
}

static void a_lock_of_a_program_is_held_and_waited_for(void **unused)
{
	const struct others_opts none = { 0 };
	struct text_trace *trace;
	struct others *others = others_of("", &trace, &none);
	const struct event *const events[] = {
		TOLD(10, 7, ACQUIRED), TOLD(30, 8, WAIT_BEGIN), TOLD(50, 7, RELEASED),
		TOLD(55, 8, WAIT_END), TOLD(80, 8, RELEASED),
	};
	const struct other_lane *lane;
	struct series_column sum;

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		others_feed_lock(others, events[i]);
	others_end(others, 100);
	assert_int_equal(others_count(others), 1);
	lane = others_lane(others, 0);
	sum = sum_of(lane, 0, 100);
	assert_int_equal(sum.sums[OTHER_LOCK_HELD - 1], 20 + 25);
	assert_int_equal(sum.sums[OTHER_LOCK_CONTENDED - 1], 20);
	assert_int_equal(sum.sums[OTHER_LOCK_WAITED - 1], 5);
	assert_string_equal(lane->label, "mutex 0x1000 of process 1");
	assert_int_equal(lane->span_count, 3); /* two holds and a wait */
	assert_int_equal(lane->spans[1].what, OTHER_WAIT);
	assert_int_equal(lane->spans[1].tid, 8);
	assert_int_equal(lane->spans[1].other_tid, 7);
	others_free(others);
	text_trace_free(trace);
}

/* Where a program tells of waits alone, nobody is said to hold a lock afterwards. */
static void waits_alone_say_nothing_of_holders(void **unused)
{
	const struct others_opts none = { 0 };
	struct text_trace *trace;
	struct others *others = others_of("", &trace, &none);
	const struct event *const events[] = {
		TOLD(30, 8, WAIT_BEGIN),
		TOLD(55, 8, WAIT_END),
		TOLD(60, 9, WAIT_BEGIN),
		TOLD(70, 9, WAIT_END),
	};
	struct series_column sum;

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		others_feed_lock(others, events[i]);
	others_end(others, 100);
	sum = sum_of(others_lane(others, 0), 0, 100);
	assert_int_equal(sum.sums[OTHER_LOCK_HELD - 1], 0);
	assert_int_equal(sum.sums[OTHER_LOCK_CONTENDED - 1], 0);
	assert_int_equal(sum.sums[OTHER_LOCK_WAITED - 1], 25 + 10);
	others_free(others);
	text_trace_free(trace);
}

/* Little memory: the sums are the same, and the longest spans are there. */
static void what_is_kept_is_bounded(void **unused)
{
	const struct others_opts little = { .most_changes = 300, .most_spans = 200 };
	struct text_trace *trace;
	struct others *others = others_of("", &trace, &little);
	uint64_t sum_ns = 0;
	const struct other_lane *lane;

	(void)unused;
	for (uint32_t i = 0; i < 5000; i++) {
		struct event event = {
			.time_ns = 100 * i,
			.tid = 7,
			.type = EV_BLOCK_ISSUE,
			.block = { .sector = i, .dev = 8 },
		};

		others_feed(others, &event);
		event.type = EV_BLOCK_COMPLETE;
		event.time_ns += i % 2 ? 10 : 90;
		sum_ns += i % 2 ? 10 : 90;
		others_feed(others, &event);
	}
	others_end(others, 500000);
	lane = others_lane(others, 0);
	assert_true(lane->series.count <= 300 && lane->span_count <= 201);
	assert_true(lane->series.joined_ns > 0);
	assert_int_equal(lane->span_count + lane->spans_left_out, 5000);
	assert_int_equal(sum_of(lane, 0, 500000).sums[0], sum_ns);
	others_free(others);
	text_trace_free(trace);
}

/* Between two looks at the kernel's totals stalls grow evenly; totals that shrink are no totals. */
static void pressure_is_the_difference_of_totals(void **unused)
{
	struct recorded_pressure rows[] = {
		{ RECORDED_START, 100, "cpu", "", true, true, 5000, 0 },
		{ RECORDED_START, 100, "io", "", true, true, 70, 30 },
		{ RECORDED_START, 100, "io", "/a", true, true, 1, 1 },
		{ RECORDED_START, 100, "memory", "", true, true, 9, 0 },
		{ RECORDED_EXIT, 200, "io", "", true, true, 110, 60 },
		{ RECORDED_END, 300, "cpu", "", true, true, 5080, 0 },
		{ RECORDED_END, 300, "io", "", true, true, 130, 60 },
		{ RECORDED_END, 300, "memory", "", true, true, 8, 0 },
	};
	const struct recorded recorded = { .pressures = rows, .pressure_count = ARRAY_LEN(rows) };
	const struct others_opts none = { 0 };
	struct text_trace *trace;
	struct others *others = others_of("  0 cpu0 switch 0(runnable) 7\n", &trace, &none);

	(void)unused;
	others_add_pressure(others, &recorded);
	others_end(others, 400);
	assert_string_equal(others_lane(others, 0)->label, "CPU");
	assert_int_equal(sum_of(others_lane(others, 0), 0, 400).sums[0], 80);
	assert_int_equal(sum_of(others_lane(others, 0), 100, 200).sums[0], 40);
	assert_string_equal(others_lane(others, 1)->label, "I/O");
	assert_int_equal(sum_of(others_lane(others, 1), 100, 200).sums[0], 10);
	assert_int_equal(sum_of(others_lane(others, 1), 100, 200).sums[1], 30);
	assert_int_equal(sum_of(others_lane(others, 1), 200, 300).sums[0], 20);
	assert_int_equal(sum_of(others_lane(others, 1), 200, 300).sums[1], 0);
	assert_int_equal(others_lane(others, 1)->series.joined_ns, 100);
	assert_int_equal(others_count(others), 2);
	others_free(others);
	text_trace_free(trace);
}

/* Who looks while it goes on changes no sums, and sees what is in flight. */
static void lanes_can_be_looked_at_while_they_grow(void **unused)
{
	const struct others_opts opts = { .is_live = true };
	struct text_trace *trace;
	struct others *others = others_of("  0 cpu0 switch 0(runnable) 7:dd\n"
					  " 5 cpu0 lockbegin 0x77 4\n",
					  &trace, &opts);
	struct event event = { .time_ns = 10,
			       .tid = 7,
			       .type = EV_BLOCK_ISSUE,
			       .block = { .sector = 100, .dev = 8 } };

	(void)unused;
	others_feed(others, &event);
	others_look(others, 20);
	assert_int_equal(sum_of(others_lane(others, 1), 0, 20).sums[0], 10);
	assert_int_equal(sum_of(others_lane(others, 0), 0, 20).sums[OTHER_LOCK_WAITED - 1], 15);
	assert_non_null(strstr(others_lane(others, 0)->label, "0x77"));
	others_look(others, 30);
	assert_int_equal(sum_of(others_lane(others, 1), 20, 30).sums[0], 10);
	event.time_ns = 40;
	event.type = EV_BLOCK_COMPLETE;
	others_feed(others, &event);
	event = (struct event){ .time_ns = 50,
				.tid = 7,
				.type = EV_OTHER,
				.other = { .system = "shop", .name = "sold", .is_probe = true } };
	others_feed(others, &event);
	event.other.is_probe = false; /* the kernel's own */
	others_feed(others, &event);
	others_look(others, 60);
	assert_int_equal(sum_of(others_lane(others, 1), 0, 60).sums[0], 30);
	assert_int_equal(sum_of(others_lane(others, 2), 0, 60).sums[0], 1);
	assert_int_equal(others_lane(others, 1)->span_count, 1);
	assert_null(strstr(others_text(others, others_lane(others, 1)->spans[0].text), "sector"));
	assert_int_equal(others_lane(others, 2)->span_count, 1);
	assert_string_equal(others_text(others, others_lane(others, 2)->spans[0].text),
			    "shop:sold");
	assert_int_equal(others_lane(others, 2)->spans[0].start_ns, 50);
	others_free(others);
	text_trace_free(trace);
}

/* A program that tells much: the newest events are kept, and how many are not is told. */
static void of_many_live_events_the_last_ones_are_kept(void **unused)
{
	const struct others_opts opts = { .is_live = true, .most_spans = 128 };
	struct text_trace *trace;
	struct others *others = others_of("  0 cpu0 switch 0(runnable) 7\n", &trace, &opts);
	struct event event = { .tid = 7,
			       .type = EV_OTHER,
			       .other = { .system = "shop", .name = "sold", .is_probe = true } };
	const struct other_lane *lane;
	bool has_last = false;

	(void)unused;
	for (uint64_t i = 1; i <= 1000; i++) {
		event.time_ns = i;
		others_feed(others, &event);
	}
	others_look(others, 2000);
	lane = others_lane(others, 0);
	for (size_t i = 0; i < lane->span_count; i++) {
		has_last |= lane->spans[i].start_ns == 1000;
		assert_true(lane->spans[i].start_ns > 700);
	}
	assert_true(has_last);
	assert_true(lane->span_count <= 128);
	assert_int_equal(lane->span_count + lane->spans_left_out, 1000);
	assert_int_equal(sum_of(lane, 0, 2000).sums[0], 1000);
	others_free(others);
	text_trace_free(trace);
}

/* By process, where it is known; each with its innermost function; one at the very end is not left out. */
static void samples_of_code_at_work_are_lanes(void **unused)
{
	const struct others_opts none = { 0 };
	const uint32_t inner = 0;
	struct text_trace *trace;
	struct others *others = others_of("0 cpu0 switch 0(runnable) 7\n", &trace, &none);
	struct stacks *stacks = xcalloc(1, sizeof(*stacks));
	const struct other_lane *lane;

	(void)unused;
	trace->facts.stacks = stacks;
	stacks_add_frame(stacks, &(struct stack_frame){ .function = "burn", .module = "prog" });
	assert_true(stacks_add_stack(stacks, &inner, 1, NULL));
	stacks_add_sample(stacks, &(struct stack_sample){ 100, 7, 0 });
	stacks_add_sample(stacks, &(struct stack_sample){ 30, 7, 0 });
	stacks_add_sample(stacks, &(struct stack_sample){ 40, 8, STACK_NONE });
	stacks_finish(stacks);
	others_add_samples(others);
	others_end(others, 100);
	assert_int_equal(others_count(others), 2);
	lane = others_lane(others, 0);
	assert_int_equal(lane->group, OTHER_SAMPLES);
	assert_string_equal(lane->label, "samples of thread 7");
	assert_int_equal(sum_of(lane, 0, 100).sums[0], 2);
	assert_int_equal(sum_of(lane, 0, 50).sums[0], 1);
	assert_string_equal(others_text(others, lane->spans[0].text), "burn");
	assert_string_equal(others_text(others, others_lane(others, 1)->spans[0].text),
			    "a function without a name");
	others_free(others);
	text_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_in_flight_are_counted),
		cmocka_unit_test(frequencies_are_levels),
		cmocka_unit_test(a_hole_ends_what_was_in_flight),
		cmocka_unit_test(packets_are_told_by_device_and_direction),
		cmocka_unit_test(kernel_locks_are_named_with_who_had_them),
		cmocka_unit_test(a_lock_of_a_program_is_held_and_waited_for),
		cmocka_unit_test(waits_alone_say_nothing_of_holders),
		cmocka_unit_test(what_is_kept_is_bounded),
		cmocka_unit_test(pressure_is_the_difference_of_totals),
		cmocka_unit_test(lanes_can_be_looked_at_while_they_grow),
		cmocka_unit_test(samples_of_code_at_work_are_lanes),
		cmocka_unit_test(of_many_live_events_the_last_ones_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

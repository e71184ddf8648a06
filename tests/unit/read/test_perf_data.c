/* test_perf_data.c - perf.data files, written field by field, as events. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

#include "base/err.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "event/source.h"
#include "perf_maker.h"
#include "read/read.h"

static struct trace *opened(const struct made *made)
{
	struct trace *trace = NULL;
	struct err err = { 0 };

	if (read_open(made->path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	return trace;
}

static const struct event *next(struct trace *trace, uint8_t type, uint64_t time_ns)
{
	const struct event *event = NULL;
	struct err err = { 0 };

	assert_int_equal(source_next(trace_source(trace), &event, &err), 1);
	assert_int_equal(event->time_ns, time_ns);
	assert_int_equal(event->type, type);
	return event;
}

static void expect_end(struct trace *trace)
{
	const struct event *event;
	struct err err = { 0 };

	assert_int_equal(source_next(trace_source(trace), &event, &err), 0);
}

static void expect_switches(struct trace *trace)
{
	const struct event *event = next(trace, EV_SCHED_SWITCH, 1000);

	assert_int_equal(event->cpu, 0);
	assert_int_equal(event->tid, 7);
	assert_int_equal(event->sched_switch.prev_tid, 7);
	assert_int_equal(event->sched_switch.next_tid, 8);
	assert_int_equal(event->sched_switch.prev_state, TASK_STATE_SLEEPING);
	assert_string_equal(event->sched_switch.prev_comm, "one");
	assert_int_equal(event->context, EV_CTX_KNOWN);
	event = next(trace, EV_OTHER, 1500);
	assert_string_equal(event->other.name, "cpu-clock");
	assert_int_equal(event->tid, 9);
	event = next(trace, EV_SCHED_SWITCH, 2000);
	assert_int_equal(event->cpu, 1);
	assert_int_equal(event->sched_switch.next_tid, 0);
	expect_end(trace);
}

static void put_switches(struct made *made)
{
	put_switch(made, 1000, 0, 7, 8);
	put_switch(made, 2000, 1, 9, 0);
	put_clock(made, 1500, 1, 9);
}

static void records_are_read_in_either_byte_order(void **unused)
{
	for (int swap = 0; swap < 2; swap++) {
		struct made made;
		struct trace *trace;
		struct err err = { 0 };
		size_t data;

		made_init(&made, swap);
		data = begin_file(&made);
		put_switches(&made);
		made_save(&made, end_file(&made, data));
		trace = opened(&made);
		assert_int_equal(trace_facts(trace)->damage_count, 0);
		assert_true(trace_facts(trace)->complete);
		assert_string_equal(trace_facts(trace)->arch, "x86_64");
		assert_int_equal(trace_facts(trace)->first_ns, 1000);
		assert_int_equal(trace_facts(trace)->last_ns, 2000);
		expect_switches(trace);
		trace_keep_records(trace, true);
		assert_int_equal(source_seek(trace_source(trace), 0, &err), 0);
		expect_switches(trace);
		assert_int_equal(source_seek(trace_source(trace), 1001, &err), 0);
		(void)next(trace, EV_OTHER, 1500);
		trace_close(trace);
		made_fini(&made);
	}
}

static void files_of_version_1_are_read_in_either_byte_order(void **unused)
{
	for (int swap = 0; swap < 2; swap++) {
		struct made made;
		struct trace *trace;
		size_t data, bytes;

		made_init(&made, swap);
		made.is_old = true;
		data = begin_file(&made);
		put_switches(&made);
		bytes = end_file(&made, data);
		made_save(&made, bytes);
		trace = opened(&made);
		assert_int_equal(trace_facts(trace)->damage_count, 0);
		assert_string_equal(trace_facts(trace)->arch, "x86_64");
		expect_switches(trace);
		trace_close(trace);
		/* The first header had no features: what was recorded is not explained. */
		made.at = 8;
		put8(&made, 72);
		made_save(&made, bytes);
		trace = opened(&made);
		assert_int_equal(trace_facts(trace)->damage_count, 0);
		assert_null(trace_facts(trace)->arch);
		(void)next(trace, EV_OTHER, 1000);
		trace_close(trace);
		made.at = 16;
		put8(&made, 81);
		made_save(&made, bytes);
		assert_int_equal(read_open(made.path, &trace, &(struct err){ 0 }), -EBADMSG);
		made_fini(&made);
	}
}

static void put_tracing_record(struct made *made)
{
	size_t start = begin_record(made, PERF_HEADER_TRACING_DATA, 0), body;

	put4(made, 0);
	end_record(made, start);
	body = made->at;
	put_tracing(made);
	start = made->at;
	made->at = body - 4;
	put4(made, (uint32_t)(start - body));
	made->at = start;
}

static void put_pipe_head(struct made *made)
{
	size_t start;

	put8(made, PERF_MAGIC);
	put8(made, PERF_PIPE_HEADER);
	start = begin_record(made, PERF_HEADER_ATTR, 0);
	put_attr(made, PERF_KIND_TRACEPOINT, SWITCH_ID, SWITCH_HAS);
	put8(made, 100);
	put8(made, 101);
	end_record(made, start);
	start = begin_record(made, PERF_HEADER_ATTR, 0);
	put_attr(made, PERF_KIND_SOFTWARE, 0, CLOCK_HAS);
	put8(made, 200);
	end_record(made, start);
	put_tracing_record(made);
}

static void a_stream_tells_of_its_events_itself(void **unused)
{
	for (int swap = 0; swap < 2; swap++) {
		struct made made;
		struct trace *trace;

		made_init(&made, swap);
		put_pipe_head(&made);
		put_switches(&made);
		made_save(&made, made.at);
		trace = opened(&made);
		assert_int_equal(trace_facts(trace)->damage_count, 0);
		expect_switches(trace);
		trace_close(trace);
		made_fini(&made);
	}
}

/* Pieces of 50 bytes, so that records lie across them. */
static void compressed_records_are_read(void **unused)
{
	static uint8_t packed[4096];
	ZSTD_CStream *stream = ZSTD_createCStream();
	struct made made, inner;
	struct trace *trace;

	made_init(&made, false);
	made_init(&inner, false);
	put_pipe_head(&made);
	put_switches(&inner);
	for (size_t at = 0; at < inner.at; at += 50) {
		ZSTD_inBuffer in = { inner.bytes + at, inner.at - at < 50 ? inner.at - at : 50, 0 };
		ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
		uint32_t type = at % 100 ? PERF_COMPRESSED2 : PERF_COMPRESSED;
		size_t start;

		(void)ZSTD_compressStream(stream, &out, &in);
		assert_int_equal(ZSTD_flushStream(stream, &out), 0);
		start = begin_record(&made, type, 0);
		if (type == PERF_COMPRESSED2)
			put8(&made, out.pos);
		put_bytes(&made, packed, out.pos);
		made.at += type == PERF_COMPRESSED2 ? -made.at & 7 : 0;
		end_record(&made, start);
	}
	made_save(&made, made.at);
	trace = opened(&made);
	assert_int_equal(trace_facts(trace)->damage_count, 0);
	expect_switches(trace);
	trace_close(trace);
	ZSTD_freeCStream(stream);
	made_fini(&made);
	made_fini(&inner);
}

/* Runs of random length of three CPUs, and now and then a record that is late. */
static void any_order_of_runs_comes_out_in_order_of_time(void **unused)
{
	uint64_t cpu_ns[3] = { 1, 1, 1 }, sum = 0, got = 0, last_ns = 0, count = 0;
	const struct event *event;
	struct made made;
	struct trace *trace;
	struct err err = { 0 };
	size_t data;

	srand(5);
	made_init(&made, false);
	data = begin_file(&made);
	for (int run = 0; run < 2000; run++) {
		int cpu = rand() % 3;

		for (int i = rand() % 20; i >= 0; i--) {
			uint64_t ns = cpu_ns[cpu] += (uint64_t)(rand() % 100);

			ns -= rand() % 50 == 0 && ns > 60 ? 60 : 0;
			put_clock(&made, ns, (uint32_t)cpu, cpu);
			sum += ns * (uint64_t)(cpu + 1);
			count++;
		}
	}
	made_save(&made, end_file(&made, data));
	trace = opened(&made);
	while (source_next(trace_source(trace), &event, &err) > 0) {
		assert_true(event->time_ns >= last_ns);
		last_ns = event->time_ns;
		got += event->time_ns * (uint64_t)(event->cpu + 1);
		count--;
	}
	assert_int_equal(count, 0);
	assert_int_equal(got, sum);
	assert_int_equal(trace_facts(trace)->damage_count, 0);
	for (uint64_t ns = 0; ns < last_ns; ns += last_ns / 97) {
		assert_int_equal(source_seek(trace_source(trace), ns, &err), 0);
		assert_int_equal(source_next(trace_source(trace), &event, &err), 1);
		assert_true(event->time_ns >= ns && event->time_ns < ns + 200);
	}
	trace_close(trace);
	made_fini(&made);
}

static void a_lost_record_is_a_hole_since_the_last_event_of_its_cpu(void **unused)
{
	const struct event *event;
	struct made made;
	struct trace *trace;
	size_t data;

	made_init(&made, false);
	data = begin_file(&made);
	put_switch(&made, 1000, 0, 7, 8);
	put_lost(&made, 5000, 0, 33);
	put_switch(&made, 2000, 1, 9, 0);
	put_switch(&made, 6000, 1, 0, 9);
	made_save(&made, end_file(&made, data));
	trace = opened(&made);
	(void)next(trace, EV_SCHED_SWITCH, 1000);
	(void)next(trace, EV_SCHED_SWITCH, 2000);
	event = next(trace, EV_LOST, 5000);
	assert_int_equal(event->cpu, 0);
	assert_int_equal(event->lost.since_ns, 1000);
	assert_int_equal(event->lost.count, 33);
	(void)next(trace, EV_SCHED_SWITCH, 6000);
	expect_end(trace);
	assert_int_equal(trace_facts(trace)->cpus[0].lost, 33);
	trace_close(trace);
	made_fini(&made);
}

static void names_births_and_execs_become_events_and_those_before_are_facts(void **unused)
{
	const struct event *event;
	const struct facts *facts;
	struct made made;
	struct trace *trace;
	size_t data;

	made_init(&made, false);
	data = begin_file(&made);
	put_fork(&made, 0, (uint32_t[4]){ 50, 1, 50, 1 });
	put_comm(&made, 0, 50, "perf", false);
	put_fork(&made, 0, (uint32_t[4]){ 60, 50, 60, 50 });
	put_comm(&made, 100, 60, "work", true);
	put_fork(&made, 200, (uint32_t[4]){ 60, 60, 61, 60 });
	put_fork(&made, 300, (uint32_t[4]){ 62, 60, 62, 60 });
	made_save(&made, end_file(&made, data));
	trace = opened(&made);
	facts = trace_facts(trace);
	assert_int_equal(facts->thread_count, 2);
	assert_string_equal(facts->threads[0].comm, "perf");
	assert_int_equal(facts->threads[1].ppid, 50);
	assert_int_equal(facts->target_tid, 60);
	assert_int_equal(facts->target_start_ns, 100);
	assert_string_equal(facts->target_cmdline, "/bin/work now");
	assert_int_equal(facts->recorder_tid_count, 1);
	assert_int_equal(facts->recorder_tids[0], 50);
	event = next(trace, EV_TASK_RENAME, 100);
	assert_string_equal(event->task.comm, "work");
	event = next(trace, EV_SCHED_EXEC, 100);
	assert_int_equal(event->task.tid, 60);
	event = next(trace, EV_TASK_NEW, 200);
	assert_int_equal(event->task.tid, 61);
	assert_int_equal(event->task.clone_flags, 0x10000);
	event = next(trace, EV_TASK_NEW, 300);
	assert_int_equal(event->task.clone_flags, 0);
	expect_end(trace);
	trace_close(trace);
	made_fini(&made);
}

/* Each file is told to lack something, or cannot be opened at all. */
static void expect_told_where_cut(const struct made *made, size_t bytes, size_t from)
{
	for (size_t cut = from; cut < bytes; cut++) {
		struct trace *trace = NULL;
		struct err err = { 0 };

		made_save(made, cut);
		if (read_open(made->path, &trace, &err) < 0)
			continue;
		if (trace_facts(trace)->complete || !trace_facts(trace)->damage_count)
			fail_msg("cut at byte %zu of %zu, it is called whole", cut, bytes);
		trace_close(trace);
	}
}

static void a_file_that_is_cut_anywhere_is_not_called_whole(void **unused)
{
	struct made made;
	size_t data, bytes;

	made_init(&made, false);
	data = begin_file(&made);
	put_switches(&made);
	bytes = end_file(&made, data);
	expect_told_where_cut(&made, bytes, 0);
	/* The last section is one that nobody reads: BUILD_ID. */
	made.at = 0x48;
	put8(&made, 1u << 2 | 1u << PERF_FEATURE_TRACING_DATA | 1u << PERF_FEATURE_ARCH);
	expect_told_where_cut(&made, bytes, data);
	made_fini(&made);
}

/* Since perf writes FINISHED_INIT; older ones cannot be told from whole ones. */
static void a_stream_that_is_cut_within_a_round_is_not_called_whole(void **unused)
{
	struct made made;
	size_t start, from;
	struct trace *trace;

	made_init(&made, false);
	put_pipe_head(&made);
	end_record(&made, begin_record(&made, PERF_FINISHED_INIT, 0));
	from = made.at;
	put_switches(&made);
	start = begin_record(&made, PERF_FINISHED_ROUND, 0);
	end_record(&made, start);
	expect_told_where_cut(&made, made.at, from);
	made_save(&made, made.at);
	trace = opened(&made);
	assert_true(trace_facts(trace)->complete);
	trace_close(trace);
	made_fini(&made);
}

/* The tracepoint does not say which; the record of the same birth does. */
/* Linux makes them longer for each perf that records them, and what is too long is not set. */
static void records_that_grew_have_their_time_behind_their_fields(void **unused)
{
	for (uint32_t grown = 0; grown <= 80; grown += 40) {
		struct made made;
		struct trace *trace;
		size_t data, start;

		made_init(&made, false);
		data = begin_file(&made);
		put_switch(&made, 1000, 0, 7, 8);
		start = begin_record(&made, PERF_KSYMBOL, 0);
		put8(&made, 0xffffffffc0000000);
		put8(&made, 64);
		put_name(&made, "bpf_prog_1234567"); /* 16 bytes: its zero takes 8 more */
		put_tail(&made, 7, 1100, 1);
		memset(made.bytes + made.at, 0x17, grown);
		made.at += grown;
		end_record(&made, start);
		start = begin_record(&made, PERF_BPF_EVENT, 0);
		put8(&made, 1);
		put8(&made, 0x1234567);
		put_tail(&made, 8, 1200, 1);
		memset(made.bytes + made.at, 0x17, grown);
		made.at += grown;
		end_record(&made, start);
		put_switch(&made, 2000, 0, 8, 7);
		made_save(&made, end_file(&made, data));
		trace = opened(&made);
		assert_int_equal(trace_facts(trace)->damage_count, 0);
		(void)next(trace, EV_SCHED_SWITCH, 1000);
		assert_int_equal(next(trace, EV_OTHER, 1100)->cpu, 1);
		assert_int_equal(next(trace, EV_OTHER, 1200)->tid, 8);
		(void)next(trace, EV_SCHED_SWITCH, 2000);
		expect_end(trace);
		trace_close(trace);
		made_fini(&made);
	}
}

static void threads_and_processes_are_told_apart_beside_the_tracepoint(void **unused)
{
	const struct event *event;
	struct made made;
	struct trace *trace;
	size_t data;

	made_init(&made, false);
	made.has_forks = true;
	data = begin_file(&made);
	put_fork(&made, 200, (uint32_t[4]){ 60, 60, 61, 60 });
	put_fork(&made, 300, (uint32_t[4]){ 62, 60, 62, 60 });
	made_save(&made, end_file(&made, data));
	trace = opened(&made);
	event = next(trace, EV_TASK_NEW, 200);
	assert_int_equal(event->task.tid, 61);
	assert_int_equal(event->task.tgid, 60);
	assert_int_equal(event->task.clone_flags, 0x10000);
	event = next(trace, EV_TASK_NEW, 300);
	assert_int_equal(event->task.tgid, 62);
	assert_int_equal(event->task.clone_flags, 0);
	trace_close(trace);
	made_fini(&made);
}

static void the_call_chain_of_a_switch_is_the_stack_of_who_leaves(void **unused)
{
	for (int keep = 0; keep < 2; keep++) {
		const struct event *event;
		struct made made;
		struct trace *trace;
		struct err err = { 0 };
		uint64_t frame;
		size_t data;

		made_init(&made, false);
		made.more_has = PERF_HAS_CALLCHAIN;
		data = begin_file(&made);
		put_switch(&made, 1000, 0, 7, 8);
		made_save(&made, end_file(&made, data));
		trace = opened(&made);
		if (keep) {
			trace_keep_records(trace, true);
			assert_int_equal(source_seek(trace_source(trace), 0, &err), 0);
		}
		(void)next(trace, EV_SCHED_SWITCH, 1000);
		event = next(trace, EV_STACK, 1000);
		assert_int_equal(event->tid, 7);
		assert_int_equal(event->stack.count, 2);
		memcpy(&frame, (const uint8_t *)event->stack.frames + 8, 8);
		assert_true(frame == 0xffffffff81000020);
		expect_end(trace);
		trace_close(trace);
		made_fini(&made);
	}
}

static const struct stack_frame *frame_of_wait(const struct stacks *stacks, int32_t tid,
					       uint64_t begin_ns, uint64_t end_ns, size_t frame)
{
	uint32_t stack = stacks_find(stacks, tid, begin_ns, end_ns);

	assert_true(stack != STACK_NONE);
	assert_int_equal(stacks->stacks[stack].count, 3);
	return stacks_frame(stacks, stack, frame);
}

static void call_chains_are_stacks_in_the_files_of_their_process(void **unused)
{
	for (int swap = 0; swap < 2; swap++) {
		const struct stack_frame *frame;
		const struct stacks *stacks;
		struct made made;
		struct trace *trace;
		size_t data;

		made_init(&made, swap);
		made.more_has = PERF_HAS_CALLCHAIN;
		data = begin_file(&made);
		put_map(&made, 0, 7, 0x400000, "/bin/work", true);
		put_fork(&made, 500, (uint32_t[4]){ 8, 7, 8, 7 });
		put_switch(&made, 1000, 0, 7, 8);
		put_switch(&made, 3000, 0, 8, 7);
		put_comm(&made, 4000, 8, "other", true);
		put_switch(&made, 5000, 0, 7, 8);
		put_switch(&made, 6000, 0, 8, 7);
		made_save(&made, end_file(&made, data));
		trace = opened(&made);
		stacks = trace_facts(trace)->stacks;
		assert_non_null(stacks);
		assert_int_equal(stacks->wait_count, 4);
		frame = frame_of_wait(stacks, 7, 1000, 3000, 2);
		assert_string_equal(frame->path, "/bin/work");
		assert_string_equal(frame->module, "work");
		assert_string_equal(frame->build_id, "abcdef01");
		assert_true(frame->offset == 0x3000 && !frame->function && !frame->is_kernel);
		frame = frame_of_wait(stacks, 7, 1000, 3000, 1);
		assert_true(frame->is_kernel && frame->offset == 0xffffffff81000020);
		/* A child has what its parent had, up to its exec. */
		assert_string_equal(frame_of_wait(stacks, 8, 3000, 5000, 2)->module, "work");
		assert_null(frame_of_wait(stacks, 8, 6000, 6000, 2)->module);
		assert_int_equal(stacks_find(stacks, 8, 1000, 2000), STACK_NONE);
		/* What was not over is open. */
		assert_true(stacks->waits[3].is_open && stacks->waits[3].end_ns == 6000);
		trace_close(trace);
		made_fini(&made);
	}
}

/* Every length, records have 56 bytes: what is before the cut is read, and the cut is told. */
static void a_cut_file_is_read_up_to_the_cut(void **unused)
{
	const struct event *event;
	struct made made;
	struct trace *trace;
	struct err err = { 0 };
	size_t data, end;

	made_init(&made, false);
	data = begin_file(&made);
	for (uint64_t i = 0; i < 10; i++)
		put_clock(&made, 1000 + i, 0, 7);
	end = end_file(&made, data);
	for (size_t bytes = 8; bytes < end; bytes++) {
		uint64_t count = 0;

		made_save(&made, bytes);
		if (read_open(made.path, &trace, &err) < 0) {
			assert_true(bytes <= data && err.text[0]);
			continue;
		}
		assert_true(trace_facts(trace)->damage_count > 0);
		while (source_next(trace_source(trace), &event, &err) > 0)
			count += event->type == EV_OTHER;
		if (bytes >= data)
			assert_int_equal(count,
					 (bytes - data) / 56 < 10 ? (bytes - data) / 56 : 10);
		trace_close(trace);
	}
	made_fini(&made);
}

static void a_tracepoint_without_its_format_is_a_sample_as_any_other(void **unused)
{
	const struct event *event;
	struct made made;
	struct trace *trace;
	size_t data, records;

	made_init(&made, false);
	data = begin_file(&made);
	put_switches(&made);
	records = made.at;
	(void)end_file(&made, data);
	made_save(&made, records); /* the formats are behind the records */
	trace = opened(&made);
	event = next(trace, EV_OTHER, 1000);
	assert_string_equal(event->other.system, "perf");
	assert_string_equal(event->other.name, "type-2_config=0x174");
	assert_int_equal(event->tid, 7);
	(void)next(trace, EV_OTHER, 1500);
	event = next(trace, EV_OTHER, 2000);
	assert_string_equal(event->other.system, "perf");
	trace_close(trace);
	made_fini(&made);
}

static void a_record_without_a_length_ends_the_reading_with_a_reason(void **unused)
{
	struct made made;
	struct trace *trace;
	size_t data, wrong;

	made_init(&made, false);
	data = begin_file(&made);
	put_clock(&made, 1000, 0, 7);
	wrong = made.at;
	put_clock(&made, 2000, 0, 7);
	memset(made.bytes + wrong + 6, 0, 2);
	made_save(&made, end_file(&made, data));
	trace = opened(&made);
	assert_int_equal(trace_facts(trace)->damage_count, 1);
	assert_non_null(strstr(trace_facts(trace)->damage[0], "0 bytes"));
	assert_false(trace_facts(trace)->complete);
	(void)next(trace, EV_OTHER, 1000);
	expect_end(trace);
	trace_close(trace);
	made_fini(&made);
}

/* Each is an event, but for the number that is damaged. */
static void an_event_whose_record_is_damaged_is_told_to_be_missing(void **unused)
{
	enum {
		TYPE,
		ROUND,
		TIME,
		NOTHING,
		COUNT
	};

	for (int which = 0; which < COUNT; which++) {
		struct made made;
		struct trace *trace;
		size_t data, wrong;

		made_init(&made, false);
		data = begin_file(&made);
		put_clock(&made, 1000, 0, 7);
		wrong = made.at;
		put_comm(&made, 2000, 7, "name", 0);
		if (which == TYPE)
			made.bytes[wrong + 2] ^= 0x10;
		else if (which == ROUND)
			made.bytes[wrong] = PERF_FINISHED_ROUND;
		else if (which == TIME) /* it stands before the CPU and the identifier */
			made.bytes[made.at - 17] ^= 0x40;
		made_save(&made, end_file(&made, data));
		trace = opened(&made);
		assert_int_equal(trace_facts(trace)->damage_count, which != NOTHING);
		trace_close(trace);
		made_fini(&made);
	}
}

static void a_place_is_found_again(void **unused)
{
	struct trace_record record;
	struct made made;
	struct trace *trace;
	struct err err = { 0 };
	uint64_t ns;
	size_t data;

	made_init(&made, false);
	data = begin_file(&made);
	put_switches(&made);
	made_save(&made, end_file(&made, data));
	trace = opened(&made);
	trace_keep_records(trace, true);
	assert_int_equal(source_seek(trace_source(trace), 1600, &err), 0);
	(void)next(trace, EV_SCHED_SWITCH, 2000);
	assert_true(trace_record(trace, &record));
	assert_int_equal(trace_find_place(trace, 1, record.place, &ns, &err), 0);
	assert_int_equal(ns, 2000);
	assert_int_equal(trace_find_place(trace, 1, UINT64_MAX, &ns, &err), -ENOENT);
	trace_close(trace);
	made_fini(&made);
}

/* Many events that point at one list of ids: each id can be in the file only once. */
static void ids_that_events_share_are_read_once(void **unused)
{
	struct made made;
	struct trace *trace;
	size_t ids = PERF_FILE_HEADER, count = 1000, data;

	made_init(&made, false);
	made.at = ids;
	for (uint64_t i = 0; i < 10000; i++)
		put8(&made, i);
	for (size_t i = 0; i < count; i++) {
		put_attr(&made, PERF_KIND_SOFTWARE, 0, CLOCK_HAS);
		put8(&made, ids);
		put8(&made, 80000);
	}
	data = made.at;
	put_clock(&made, 1000, 0, 7);
	(void)end_file(&made, data);
	made.at = 24;
	put8(&made, ids + 80000);
	put8(&made, count * 80);
	made_save(&made, data + 56 + 4096);
	trace = opened(&made);
	assert_non_null(strstr(trace_facts(trace)->damage[0], "more than the file has"));
	trace_close(trace);
	made_fini(&made);
}

/* A hundred thousand names of one thread, packed in a few bytes. */
static void a_small_file_that_unpacks_to_a_large_one_is_not_kept_in_memory(void **unused)
{
	struct made made, inner;
	struct trace *trace;
	size_t bytes, start;
	bool told = false;

	made_init(&made, false);
	made_init(&inner, false);
	put_pipe_head(&made);
	for (uint32_t i = 0; inner.at + 200 < MADE_MAX; i++)
		put_comm(&inner, 0, 7, i % 2 ? "one" : "two", false);
	for (int i = 0; i < 6; i++) {
		uint8_t *packed = made.bytes + made.at + 8;

		bytes = ZSTD_compress(packed, 65000, inner.bytes, inner.at, 3);
		assert_false(ZSTD_isError(bytes));
		start = begin_record(&made, PERF_COMPRESSED, 0);
		made.at += bytes;
		end_record(&made, start);
	}
	made_save(&made, made.at);
	trace = opened(&made);
	for (size_t i = 0; i < trace_facts(trace)->damage_count; i++)
		told |= strstr(trace_facts(trace)->damage[i], "more entries than its size") != NULL;
	assert_true(told);
	trace_close(trace);
	made_fini(&made);
	made_fini(&inner);
}

/* Of samples whose CPU nothing tells, nothing is said of threads; and that is said. */
static void samples_without_a_cpu_say_nothing_of_threads(void **unused)
{
	uint64_t has = PERF_HAS_TID | PERF_HAS_TIME | PERF_HAS_RAW;
	const struct event *event;
	const struct facts *facts;
	struct made made;
	struct trace *trace;
	size_t start;
	bool told = false;

	made_init(&made, false);
	put8(&made, PERF_MAGIC);
	put8(&made, PERF_PIPE_HEADER);
	start = begin_record(&made, PERF_HEADER_ATTR, 0);
	put_attr(&made, PERF_KIND_TRACEPOINT, SWITCH_ID, has);
	end_record(&made, start);
	put_tracing_record(&made);
	start = begin_record(&made, PERF_SAMPLE, 1);
	put4(&made, 7);
	put4(&made, 7);
	put8(&made, 1000);
	put_switch_body(&made, 7, 8);
	end_record(&made, start);
	made_save(&made, made.at);
	trace = opened(&made);
	facts = trace_facts(trace);
	for (size_t i = 0; i < facts->missing_count; i++)
		told |= strcmp(facts->missing[i].what, "CPUs") == 0;
	assert_true(told);
	event = next(trace, EV_OTHER, 1000);
	assert_int_equal(event->tid, 7);
	assert_string_equal(event->other.name, "sched:sched_switch");
	expect_end(trace);
	trace_close(trace);
	made_fini(&made);
}

/* perf record without -a: an id is of an event of one thread. */
static void what_other_threads_did_is_missing_when_perf_recorded_some_alone(void **unused)
{
	for (uint64_t tid = 7; tid != UINT64_MAX - 1;
	     tid = tid == 7 ? UINT64_MAX : UINT64_MAX - 1) {
		const struct facts *facts;
		struct made made;
		struct trace *trace;
		size_t start;
		bool told = false;

		made_init(&made, false);
		put_pipe_head(&made);
		start = begin_record(&made, PERF_ID_INDEX, 0);
		put8(&made, 1);
		put8(&made, 5);
		put8(&made, 0);
		put8(&made, 0);
		put8(&made, tid);
		end_record(&made, start);
		put_switches(&made);
		made_save(&made, made.at);
		trace = opened(&made);
		facts = trace_facts(trace);
		for (size_t i = 0; i < facts->missing_count; i++)
			told |= strcmp(facts->missing[i].what, "what other threads did") == 0;
		assert_int_equal(told, tid == 7);
		expect_switches(trace);
		trace_close(trace);
		made_fini(&made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_read_in_either_byte_order),
		cmocka_unit_test(files_of_version_1_are_read_in_either_byte_order),
		cmocka_unit_test(a_stream_tells_of_its_events_itself),
		cmocka_unit_test(compressed_records_are_read),
		cmocka_unit_test(any_order_of_runs_comes_out_in_order_of_time),
		cmocka_unit_test(a_lost_record_is_a_hole_since_the_last_event_of_its_cpu),
		cmocka_unit_test(names_births_and_execs_become_events_and_those_before_are_facts),
		cmocka_unit_test(a_file_that_is_cut_anywhere_is_not_called_whole),
		cmocka_unit_test(a_stream_that_is_cut_within_a_round_is_not_called_whole),
		cmocka_unit_test(records_that_grew_have_their_time_behind_their_fields),
		cmocka_unit_test(threads_and_processes_are_told_apart_beside_the_tracepoint),
		cmocka_unit_test(the_call_chain_of_a_switch_is_the_stack_of_who_leaves),
		cmocka_unit_test(call_chains_are_stacks_in_the_files_of_their_process),
		cmocka_unit_test(a_cut_file_is_read_up_to_the_cut),
		cmocka_unit_test(a_tracepoint_without_its_format_is_a_sample_as_any_other),
		cmocka_unit_test(a_record_without_a_length_ends_the_reading_with_a_reason),
		cmocka_unit_test(an_event_whose_record_is_damaged_is_told_to_be_missing),
		cmocka_unit_test(a_place_is_found_again),
		cmocka_unit_test(ids_that_events_share_are_read_once),
		cmocka_unit_test(a_small_file_that_unpacks_to_a_large_one_is_not_kept_in_memory),
		cmocka_unit_test(samples_without_a_cpu_say_nothing_of_threads),
		cmocka_unit_test(what_other_threads_did_is_missing_when_perf_recorded_some_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

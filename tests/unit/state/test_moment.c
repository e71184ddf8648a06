/*
 * test_moment.c - a moment that is saved and loaded is the same moment, and lines that nobody wrote
 * do no harm. What cuts of real recordings say is in tests/library/cut.py.
 */
#include "told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/facts.h"
#include "state/moment.h"
#include "state/state.h"
#include "text_trace.h"

static const char trace_text[] = "thread 7 7 1 S reader\n"
				 "thread 8 8 1 R writer\n"
				 "fd 7 3 pipe pipe:[5]\n"
				 " 0 cpu0 switch 0(runnable) 7:reader\n"
				 " 0 cpu1 switch 0(runnable) 8:writer\n"
				 "10 cpu0 enter read 3\n"
				 "20 cpu0 switch 7(blocked) 0\n"
				 "25 cpu1 enter write 4\n"
				 "30 cpu1 irq 24 disk\n"
				 "60 cpu1 irqexit 24\n"
				 "70 cpu1 waking 7 cpu 0\n"
				 "75 cpu0 switch 0(runnable) 7:reader\n"
				 "80 cpu1 leave write 1\n"
				 "90 cpu0 leave read 1\n"
				 "95 cpu0 switch 7(blocked) 0\n"
				 "99 cpu1 enter write 4\n";

/* What an engine that was fed all before 'from_ns' knows. */
static void save_at(struct text_trace *trace, uint64_t from_ns, struct facts *out_facts)
{
	struct state *state = state_new(&trace->facts);

	*out_facts = (struct facts){ .arch = "x86_64", .has_syscalls = true, .first_ns = from_ns };
	for (size_t i = 0; i < trace->count && trace->events[i].time_ns < from_ns; i++)
		state_feed(state, &trace->events[i]);
	state_snapshot(state, out_facts);
	moment_save(state, NULL, out_facts);
	timeline_free(state_finish(state));
}

/* An engine that begins with it, and is fed the rest. */
static struct timeline *go_on(const struct text_trace *trace, const struct facts *facts)
{
	struct state *state = state_new(facts);

	for (size_t i = 0; i < trace->count; i++) {
		if (trace->events[i].time_ns >= facts->first_ns)
			state_feed(state, &trace->events[i]);
	}
	return state_finish(state);
}

static void check_moment(uint64_t from_ns)
{
	struct told *whole = replayed(trace_text);
	struct facts facts;
	struct timeline *part;
	char text[FAULT_BYTES];

	save_at(whole->trace, from_ns, &facts);
	part = go_on(whole->trace, &facts);
	assert_null(timeline_fault(part, text));
	for (int32_t tid = 7; tid <= 8; tid++) {
		uint32_t a = timeline_find_thread(whole->tl, tid, UINT64_MAX);
		uint32_t b = timeline_find_thread(part, tid, UINT64_MAX);

		for (uint64_t at = from_ns; at < 99; at++) {
			uint32_t ours = timeline_state_at(whole->tl, a, at);
			uint32_t theirs = timeline_state_at(part, b, at);
			struct wait wait, same;

			assert_int_equal(word_kind(theirs), word_kind(ours));
			if (word_kind(ours) != WORD_BLOCKED)
				continue;
			timeline_wait(whole->tl, a, word_arg(ours), &wait);
			timeline_wait(part, b, word_arg(theirs), &same);
			assert_int_equal(same.begin_ns, wait.begin_ns);
			assert_int_equal(same.woken_ns, wait.woken_ns);
			assert_int_equal(same.fd, wait.fd);
			assert_string_equal(timeline_name(part, same.object),
					    timeline_name(whole->tl, wait.object));
		}
	}
	timeline_free(part);
	facts_fini(&facts);
	told_free(whole);
}

static void every_moment_goes_on_as_it_was(void **unused)
{
	for (uint64_t from_ns = 1; from_ns < 99; from_ns++)
		check_moment(from_ns);
}

static void a_wait_that_began_before_has_its_beginning_and_its_call(void **unused)
{
	struct text_trace *trace = text_trace_of(trace_text);
	struct facts facts;
	struct timeline *part;
	uint32_t slot;
	struct wait wait;

	save_at(trace, 50, &facts);
	part = go_on(trace, &facts);
	slot = timeline_find_thread(part, 7, UINT64_MAX);
	timeline_wait(part, slot, word_arg(timeline_state_at(part, slot, 50)), &wait);
	assert_int_equal(wait.begin_ns, 20);
	assert_int_equal(wait.woken_ns, 70);
	assert_int_equal(word_kind(wait.in), WORD_SYSCALL);
	assert_string_equal(timeline_name(part, wait.object), "pipe:[5]");
	assert_int_equal(part->threads[wait.waker.slot]->tid, 8);
	/* The interrupt goes on, too. */
	slot = timeline_find_thread(part, 8, UINT64_MAX);
	assert_int_equal(word_kind(timeline_state_at(part, slot, 50)), WORD_IRQ);
	timeline_free(part);
	facts_fini(&facts);
	text_trace_free(trace);
}

/* Thread 9 sleeps from before the recording on, in the call that the dump saw at 60. */
static void what_the_dump_saw_later_is_known_in_a_cut(void **unused)
{
	struct text_trace *trace = text_trace_of("thread 9 9 1 S sleeper\n"
						 "thread 8 8 1 R writer\n"
						 "fd 9 3 pipe pipe:[6]\n"
						 " 0 cpu1 switch 0(runnable) 8:writer\n"
						 "97 cpu1 waking 9 cpu 0\n");
	struct facts facts;
	struct timeline *part;
	uint32_t slot;
	struct wait wait;

	trace->facts.threads[0].arg0 = 3;
	trace->facts.threads[0].call_ns = 60;
	save_at(trace, 50, &facts);
	part = go_on(trace, &facts);
	slot = timeline_find_thread(part, 9, UINT64_MAX);
	timeline_wait(part, slot, word_arg(timeline_state_at(part, slot, 55)), &wait);
	assert_int_equal(word_kind(wait.in), WORD_SYSCALL);
	assert_string_equal(timeline_name(part, wait.object), "pipe:[6]");
	timeline_free(part);
	facts_fini(&facts);
	text_trace_free(trace);
}

/* Behind the end of the cut, at 50, the return tells which call it was. */
static void a_call_that_its_end_tells_is_known_in_a_cut(void **unused)
{
	struct told *whole = replayed("thread 7 7 1 S reader\n"
				      "thread 8 8 1 R writer\n"
				      " 0 cpu1 switch 0(runnable) 8:writer\n"
				      "20 cpu1 waking 7 cpu 0\n"
				      "90 cpu0 switch 0(runnable) 7:reader\n"
				      "95 cpu0 leave read 1\n");
	struct state *state;
	struct facts facts;
	struct timeline *part;
	uint32_t slot;
	struct wait wait;

	save_at(whole->trace, 1, &facts);
	moment_save_end(whole->tl, 50, NULL, &facts);
	facts.last_ns = 50;
	state = state_new(&facts);
	state_feed(state, &whole->trace->events[1]);
	part = state_finish(state);
	slot = timeline_find_thread(part, 7, UINT64_MAX);
	timeline_wait(part, slot, word_arg(timeline_state_at(part, slot, 10)), &wait);
	assert_int_equal(word_kind(wait.in), WORD_SYSCALL);
	timeline_free(part);
	facts_fini(&facts);
	told_free(whole);
}

/* Thread 10 began while the dump was made, which saw it in a cgroup of its own. */
static void the_dump_knows_who_began_meanwhile(void **unused)
{
	struct text_trace *trace = text_trace_of("thread 7 7 1 R parent\n"
						 "thread 10 10 7 S child\n"
						 " 0 cpu0 switch 0(runnable) 7:parent\n"
						 " 5 cpu0 fork 10:child\n");
	struct facts facts;

	trace->facts.threads[0].cgroup = "/parents";
	trace->facts.threads[1].cgroup = "/own";
	trace->facts.threads[1].seen_ns = 50;
	save_at(trace, 60, &facts);
	for (size_t i = 0; i < facts.thread_count; i++) {
		if (facts.threads[i].tid == 10)
			assert_string_equal(facts.threads[i].cgroup, "/own");
	}
	facts_fini(&facts);
	text_trace_free(trace);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Bytes of a line are changed, or a piece of it becomes that of another line. */
static void spoil(struct facts *facts, uint32_t *seed)
{
	static const char bytes[] = "0123456789-=. ,%abz";

	for (size_t i = 0; i < facts->moment_count; i++) {
		char *line = (char *)(uintptr_t)facts->moments[i].text;
		size_t length = strlen(line);

		if (next_random(seed) % 2)
			continue;
		for (uint32_t n = next_random(seed) % 4; n > 0 && length; n--)
			line[next_random(seed) % length] =
				bytes[next_random(seed) % (sizeof(bytes) - 1)];
	}
}

static void spoilt_lines_do_no_harm(void **unused)
{
	struct text_trace *trace = text_trace_of(trace_text);
	uint32_t seed = 1;

	for (uint32_t round = 0; round < 3000; round++) {
		struct facts facts;
		struct timeline *part;

		save_at(trace, 1 + next_random(&seed) % 98, &facts);
		spoil(&facts, &seed);
		part = go_on(trace, &facts);
		assert_true(part->thread_count < 100);
		timeline_free(part);
		facts_fini(&facts);
	}
	text_trace_free(trace);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_moment_goes_on_as_it_was),
		cmocka_unit_test(a_wait_that_began_before_has_its_beginning_and_its_call),
		cmocka_unit_test(what_the_dump_saw_later_is_known_in_a_cut),
		cmocka_unit_test(a_call_that_its_end_tells_is_known_in_a_cut),
		cmocka_unit_test(the_dump_knows_who_began_meanwhile),
		cmocka_unit_test(spoilt_lines_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

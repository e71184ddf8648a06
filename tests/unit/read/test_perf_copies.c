/* test_perf_copies.c - copies of stacks in a perf.data, told to a walker that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "perf_maker.h"
#include "read/read.h"
#include "read/stack_walk.h"

#define HAS	 (PERF_HAS_CALLCHAIN | PERF_HAS_REGS_USER | PERF_HAS_STACK_USER)
#define ALL_REGS UINT64_C(0xff0fff) /* of x86-64: what perf asks for */
#define IP_BIT	 8
#define SP_BIT	 7
#define HIGH_SP	 20000

/* What the walker was told, and what it tells. */
struct seen {
	size_t entered, walked;
	size_t high; /* of these that have their stack at HIGH_SP or above */
	struct walk_map maps[4];
	size_t map_count;
	struct walk_dump dump;
	uint8_t first, last; /* of the stack */
	struct walk_frame frames[WALK_FRAMES_MAX];
	size_t count;
	const char *end;
};

static void enter(void *context, const struct walk_map *maps, size_t count)
{
	struct seen *seen = context;

	seen->entered++;
	seen->map_count = count;
	memcpy(seen->maps, maps, (count < 4 ? count : 4) * sizeof(*maps));
}

static size_t walk(void *context, const struct walk_dump *dump, struct walk_frame *out_frames,
		   const char **out_end)
{
	struct seen *seen = context;

	seen->walked++;
	seen->high += dump->stack_at >= HIGH_SP;
	seen->dump = *dump;
	if (dump->stack_bytes) {
		seen->first = dump->stack[0];
		seen->last = dump->stack[dump->stack_bytes - 1];
	}
	memcpy(out_frames, seen->frames, seen->count * sizeof(*out_frames));
	*out_end = seen->end;
	return seen->count;
}

static void walk_all(struct trace *trace, struct seen *seen)
{
	trace_walk_stacks(trace, &(struct stack_walker){ enter, walk, seen });
}

/* Each register has its bit, and more than 32 bits. */
static size_t begin_copies(struct made *made, uint64_t regs_user, uint64_t abi, bool swap)
{
	made_init(made, swap);
	made->more_has = HAS;
	made->copy = (struct made_copy){
		.regs_user = regs_user, .abi = abi, .room = 64, .used = 24, .fill = 0xab
	};
	for (int i = 0; i < 24; i++)
		made->copy.regs[i] = UINT64_C(0x700000000) + (uint64_t)i;
	made->copy.regs[IP_BIT] = 0x400123;
	return begin_file(made);
}

static struct trace *end_copies(struct made *made, size_t data)
{
	struct trace *trace = NULL;
	struct err err = { 0 };

	made_save(made, end_file(made, data));
	if (read_open(made->path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(trace_facts(trace)->damage_count, 0);
	return trace;
}

static const struct stack *stack_of(struct trace *trace, int32_t tid, uint64_t ns)
{
	const struct stacks *stacks = trace_facts(trace)->stacks;
	uint32_t number = stacks_find(stacks, tid, ns, ns);

	assert_true(number != STACK_NONE);
	return &stacks->stacks[number];
}

static const struct stack_frame *frame_at(struct trace *trace, int32_t tid, uint64_t ns, size_t i)
{
	const struct stacks *stacks = trace_facts(trace)->stacks;

	assert_true(i < stack_of(trace, tid, ns)->count);
	return stacks_frame(stacks, stacks_find(stacks, tid, ns, ns), i);
}

static void by_itself_a_copy_tells_where_the_program_was(void **unused)
{
	for (int swap = 0; swap < 2; swap++) {
		struct seen seen = { 0 };
		struct made made;
		size_t data = begin_copies(&made, ALL_REGS, 2, swap);
		struct trace *trace;

		put_map(&made, 0, 7, 0x400000, "/bin/work", true);
		put_switch(&made, 1000, 0, 7, 8);
		put_switch(&made, 2000, 0, 8, 7);
		trace = end_copies(&made, data);
		assert_int_equal(stack_of(trace, 7, 1500)->count, 3);
		assert_true(frame_at(trace, 7, 1500, 1)->is_kernel);
		assert_string_equal(frame_at(trace, 7, 1500, 2)->module, "work");
		assert_true(frame_at(trace, 7, 1500, 2)->offset == 0x3123);
		assert_non_null(strstr(stack_of(trace, 7, 1500)->end, "not unwound"));
		walk_all(trace, &seen);
		/* Words of the stack are of another byte order. */
		assert_int_equal(seen.walked, swap ? 0 : 2);
		trace_close(trace);
		made_fini(&made);
	}
}

static void registers_have_the_numbers_of_dwarf(void **unused)
{
	static const uint8_t bits_64[17] = { 0,	 3,  2,	 1,  4,	 5,  6,	 7,	16,
					     17, 18, 19, 20, 21, 22, 23, IP_BIT };
	static const uint8_t bits_32[9] = { 0, 2, 3, 1, 7, 6, 4, 5, IP_BIT };

	for (uint64_t abi = 1; abi <= 2; abi++) {
		const uint8_t *bits = abi == 2 ? bits_64 : bits_32;
		uint64_t mask = abi == 2 ? UINT64_MAX : UINT32_MAX;
		struct seen seen = { 0 };
		struct made made;
		size_t data = begin_copies(&made, ALL_REGS, abi, false);
		struct trace *trace;

		put_switch(&made, 1000, 0, 7, 8);
		trace = end_copies(&made, data);
		walk_all(trace, &seen);
		assert_int_equal(seen.walked, 1);
		assert_int_equal(seen.dump.machine, abi == 2 ? WALK_X86_64 : WALK_I386);
		assert_int_equal(seen.dump.reg_count, abi == 2 ? 17 : 9);
		assert_int_equal(seen.dump.absent, 0);
		for (size_t i = 0; i < seen.dump.reg_count; i++)
			assert_true(seen.dump.regs[i] == (made.copy.regs[bits[i]] & mask));
		assert_true(seen.dump.stack_at == (made.copy.regs[SP_BIT] & mask));
		assert_int_equal(seen.dump.stack_bytes, 24);
		assert_int_equal(seen.first, 0xab);
		trace_close(trace);
		made_fini(&made);
	}
}

static void what_was_not_copied_is_not_there(void **unused)
{
	const uint64_t ip_sp = 1 << IP_BIT | 1 << SP_BIT;
	/* Room, of it used, what of it counts. */
	static const uint32_t sizes[][3] = { { 64, 0, 0 }, { 64, 100, 64 }, { 0, 0, 0 } };
	struct seen seen = { 0 };

	for (size_t i = 0; i < 3; i++) {
		struct made made;
		size_t data = begin_copies(&made, ip_sp, 2, false);
		struct trace *trace;

		made.copy.room = sizes[i][0];
		made.copy.used = sizes[i][1];
		put_switch(&made, 1000, 0, 7, 8);
		trace = end_copies(&made, data);
		walk_all(trace, &seen);
		assert_int_equal(seen.walked, i + 1);
		assert_true(seen.dump.absent == (0x1ffff & ~(1 << 7 | 1 << 16)));
		assert_int_equal(seen.dump.stack_bytes, sizes[i][2]);
		trace_close(trace);
		made_fini(&made);
	}
	/* Without the stack pointer, or without where it was, there is nothing to walk. */
	for (int bit = SP_BIT; bit <= IP_BIT; bit++) {
		struct made made;
		size_t data = begin_copies(&made, ALL_REGS & ~(UINT64_C(1) << bit), 2, false);
		struct trace *trace;

		put_switch(&made, 1000, 0, 7, 8);
		trace = end_copies(&made, data);
		walk_all(trace, &seen);
		assert_int_equal(seen.walked, 3);
		assert_int_equal(stack_of(trace, 7, 1000)->count, 2);
		assert_non_null(strstr(stack_of(trace, 7, 1000)->end, "no registers"));
		trace_close(trace);
		made_fini(&made);
	}
}

static void what_a_walker_tells_becomes_the_stack(void **unused)
{
	struct seen seen = { .count = 2, .frames = { { 0x400123, 0 }, { 0x999, WALK_NO_MAP } } };
	struct made made;
	size_t data = begin_copies(&made, ALL_REGS, 2, false);
	struct trace *trace;

	put_map(&made, 0, 7, 0x400000, "/bin/old", true);
	put_map(&made, 10, 7, 0x400800, "/bin/work", true);
	put_map(&made, 10, 7, 0x800000, "/lib/later", false);
	put_switch(&made, 1000, 0, 7, 0);
	put_clock(&made, 1500, 0, 7);
	put_switch(&made, 2000, 0, 7, 0);
	put_comm(&made, 2500, 7, "other", true);
	put_map(&made, 2600, 7, 0x400000, "/bin/other", true);
	put_switch(&made, 3000, 0, 7, 0);
	put_switch(&made, 4000, 0, 7, 0);
	trace = end_copies(&made, data);
	walk_all(trace, &seen);
	/* The same copy is walked once for each program. Where one file took another's place there is the new one. */
	assert_int_equal(seen.entered, 2);
	assert_int_equal(seen.walked, 3);
	assert_int_equal(seen.map_count, 1);
	assert_string_equal(seen.maps[0].path, "/bin/other");
	assert_string_equal(seen.maps[0].build_id, "abcdef01");
	assert_int_equal(stack_of(trace, 7, 1200)->count, 4);
	assert_null(stack_of(trace, 7, 1200)->end);
	assert_true(stack_of(trace, 7, 1200) == stack_of(trace, 7, 2200));
	assert_string_equal(frame_at(trace, 7, 1200, 2)->module, "later");
	assert_string_equal(frame_at(trace, 7, 3500, 2)->module, "other");
	assert_null(frame_at(trace, 7, 1200, 3)->module);
	assert_int_equal(trace_facts(trace)->stacks->sample_count, 1);
	assert_int_equal(trace_facts(trace)->stacks->wait_count, 4);
	for (size_t i = 0; i < trace_facts(trace)->missing_count; i++)
		assert_string_not_equal(trace_facts(trace)->missing[i].what, "some callers");
	trace_close(trace);
	made_fini(&made);
}

static void threads_of_the_kernel_have_no_registers(void **unused)
{
	struct seen seen = { 0 };
	struct made made;
	size_t data = begin_copies(&made, ALL_REGS, 0, false);
	struct trace *trace;

	put_fork(&made, 500, (uint32_t[4]){ 9, 2, 9, 2 });
	put_switch(&made, 1000, 0, 9, 8);
	put_switch(&made, 2000, 0, 8, 9);
	trace = end_copies(&made, data);
	walk_all(trace, &seen);
	assert_int_equal(seen.walked, 0);
	assert_int_equal(stack_of(trace, 9, 1500)->count, 2);
	assert_null(stack_of(trace, 9, 1500)->end);
	/* Of what is none nothing is known. */
	assert_non_null(stack_of(trace, 8, 2000)->end);
	trace_close(trace);
	made_fini(&made);
}

/* So many that not all can be walked: those of the longest waits are, and what is left is told. */
static void too_many_copies_are_left_out_and_counted(void **unused)
{
	const int count = 21000;
	struct seen seen = { .count = WALK_FRAMES_MAX };
	struct made made;
	size_t data = begin_copies(&made, 1 << IP_BIT | 1 << SP_BIT, 2, false);
	const char *why = NULL;
	uint64_t ns = 1000;
	struct trace *trace;
	unsigned int left = 0, all = 0;

	made.at = 0;
	made.more_has = HAS & ~PERF_HAS_CALLCHAIN;
	data = begin_file(&made);
	made.copy.room = 8;
	made.copy.used = 8;
	for (int i = 0; i < count; i++) {
		made.copy.regs[SP_BIT] = (uint64_t)i;
		put_switch(&made, ns, 0, 7, 0);
		ns += i < HIGH_SP ? 10 : 1000;
	}
	trace = end_copies(&made, data);
	walk_all(trace, &seen);
	for (size_t i = 0; i < trace_facts(trace)->missing_count; i++) {
		if (strcmp(trace_facts(trace)->missing[i].what, "some callers") == 0)
			why = trace_facts(trace)->missing[i].why;
	}
	assert_non_null(why);
	assert_int_equal(sscanf(why, "%u of %u", &left, &all), 2);
	assert_int_equal(all, count);
	assert_true(left && left + seen.walked == (size_t)count);
	assert_int_equal(seen.high, count - HIGH_SP - 1); /* the last is open, and has no time */
	assert_int_equal(trace_facts(trace)->stacks->wait_count, count);
	trace_close(trace);
	made_fini(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_itself_a_copy_tells_where_the_program_was),
		cmocka_unit_test(registers_have_the_numbers_of_dwarf),
		cmocka_unit_test(what_was_not_copied_is_not_there),
		cmocka_unit_test(what_a_walker_tells_becomes_the_stack),
		cmocka_unit_test(threads_of_the_kernel_have_no_registers),
		cmocka_unit_test(too_many_copies_are_left_out_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

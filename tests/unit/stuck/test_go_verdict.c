/* test_go_verdict.c - when goroutines wait for each other alone: whoever else could end a wait makes it none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "stuck/go_int.h"

#define TEXT 0x400000u

/* Two goroutines that wait, one of the runtime, a thread that waits for work, and a processor without timers. */
struct situation {
	struct goroutine all[3];
	struct go_thread thread;
	uint64_t heap[3];
	uint64_t processors[1];
	uint64_t list[3];
	struct go_layout layout;
	struct go_target target;
	struct go_reader reader;
	size_t left_out;
};

static void begin(struct situation *now)
{
	*now = (struct situation){
		.all = { { .state = GO_WAITS },
			 { .state = GO_WAITS },
			 { .state = GO_OTHER, .is_runtime = true } },
		.thread = { .tid = 1, .pc = TEXT, .runs = 1, .is_in_runtime = true }
	};
	now->processors[0] = (uint64_t)(uintptr_t)now->heap;
	now->list[0] = (uint64_t)(uintptr_t)now->processors;
	now->list[1] = 1;
	now->layout.variables[GO_ALL_PS] = (uint64_t)(uintptr_t)now->list;
	now->layout.has_variables[GO_ALL_PS] = now->layout.has[GO_P_TIMERS] = true;
}

static bool is_deadlock(struct situation *now)
{
	const char *why;
	bool found;

	now->target = (struct go_target){
		.tgid = getpid(), .layout = &now->layout, .threads = &now->thread, .thread_count = 1
	};
	now->reader = (struct go_reader){ .target = &now->target,
					  .memory = { .tgid = getpid() },
					  .code = { .text = TEXT, .text_end = TEXT + 1 },
					  .all = now->all,
					  .count = 3,
					  .left_out = now->left_out };
	found = go_verdict(&now->reader, &why);
	go_memory_fini(&now->reader.memory);
	assert_true(found == !why);
	return found;
}

static void goroutines_that_all_wait_are_a_deadlock(void **unused)
{
	struct situation now;

	begin(&now);
	assert_true(is_deadlock(&now));
}

static void one_that_can_go_on_makes_it_none(void **unused)
{
	static const enum go_state states[] = { GO_IO,	 GO_SLEEPS,  GO_CALLS,
						GO_RUNS, GO_CHANGES, GO_OTHER };
	struct situation now;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		begin(&now);
		now.all[1].state = states[i];
		assert_false(is_deadlock(&now));
	}
	begin(&now);
	now.all[1].is_signalled = true;
	assert_false(is_deadlock(&now));
	begin(&now);
	now.all[1].is_timed = true;
	assert_false(is_deadlock(&now));
}

static void of_the_runtime_only_one_that_runs_does(void **unused)
{
	struct situation now;

	begin(&now);
	now.all[2].state = GO_CALLS; /* it hears of signals */
	assert_true(is_deadlock(&now));
	now.all[2].state = GO_RUNS;
	assert_false(is_deadlock(&now));
}

static void a_timer_makes_it_none(void **unused)
{
	struct situation now;

	begin(&now);
	now.heap[1] = 1;
	assert_false(is_deadlock(&now));
	begin(&now);
	now.layout.has[GO_P_TIMERS] = false;
	assert_false(is_deadlock(&now));
	begin(&now);
	now.list[1] = 0;
	assert_false(is_deadlock(&now));
	/* Those that were stopped are still there. */
	begin(&now);
	now.layout.has[GO_P_DELETED] = true;
	now.layout.at[GO_P_DELETED] = 2 * sizeof(now.heap[0]);
	now.heap[1] = now.heap[2] = 2;
	assert_true(is_deadlock(&now));
	now.heap[2] = 1;
	assert_false(is_deadlock(&now));
	/* Since 1.23 they are in a structure of their own. */
	begin(&now);
	now.layout.has[GO_TIMERS_HEAP] = true;
	now.layout.at[GO_TIMERS_HEAP] = sizeof(now.heap[0]);
	assert_true(is_deadlock(&now));
	now.heap[2] = 1;
	assert_false(is_deadlock(&now));
}

static void a_thread_elsewhere_makes_it_none(void **unused)
{
	struct situation now;

	begin(&now);
	now.thread.pc = TEXT + 1; /* of C */
	assert_false(is_deadlock(&now));
	begin(&now);
	now.thread.is_in_runtime = false;
	assert_false(is_deadlock(&now));
}

static void what_is_not_known_could_go_on(void **unused)
{
	struct situation now;

	begin(&now);
	now.left_out = 1;
	assert_false(is_deadlock(&now));
	begin(&now);
	now.all[0].is_runtime = now.all[1].is_runtime = true; /* nobody is left who waits */
	assert_false(is_deadlock(&now));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goroutines_that_all_wait_are_a_deadlock),
		cmocka_unit_test(one_that_can_go_on_makes_it_none),
		cmocka_unit_test(of_the_runtime_only_one_that_runs_does),
		cmocka_unit_test(a_timer_makes_it_none),
		cmocka_unit_test(a_thread_elsewhere_makes_it_none),
		cmocka_unit_test(what_is_not_known_could_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

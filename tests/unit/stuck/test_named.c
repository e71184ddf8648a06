/* test_named.c - what a thread waits for, by its stack and by the variable that the word lies in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/stacks.h"
#include "stuck/named.h"
#include "stuck/stuck.h"

#define WORD	   0x7f00u
#define FRAMES_MAX 4

/* Thread 1, which waits for the word in 'before'. */
static struct stuck_thread waiting(const char *before)
{
	struct stuck_thread thread = {
		.tid = 1, .tgid = 1, .kind = STUCK_UNOWNED, .futex = WORD, .is_timed = true
	};

	(void)snprintf(thread.object, sizeof(thread.object), "%s 0x7f00", before);
	thread.which = (struct stuck_which){ (uint16_t)strlen(before), 7 };
	return thread;
}

/* What it is called by the functions, innermost first, and by the variable; NULL = it lies in none. */
static struct stuck_thread named(const char *before, const char *const functions[FRAMES_MAX],
				 const char *variable)
{
	struct stuck_thread thread = waiting(before);
	struct stuck stuck = { .threads = &thread, .count = 1 };
	struct stacks stacks = { 0 };
	uint32_t frames[FRAMES_MAX];
	size_t count = 0;

	for (; count < FRAMES_MAX && functions[count]; count++) {
		const struct stack_frame frame = { .function = functions[count],
						   .module = "program",
						   .offset = count + 1 };

		stacks_add_frame(&stacks, &frame);
		frames[count] = (uint32_t)count;
	}
	assert_true(stacks_add_stack(&stacks, frames, count, NULL));
	stacks_add_wait(&stacks, &(struct stack_wait){ .tid = 1, .begin_ns = 1, .end_ns = 2 });
	if (variable)
		stacks_add_futex(&stacks, &(struct stack_futex){ .tgid = 1,
								 .address = WORD,
								 .until_ns = 9,
								 .kind = STACK_FUTEX_VARIABLE,
								 .name = variable,
								 .module = "program" });
	stacks_finish(&stacks);
	stuck_name_futexes(&stuck, &stacks);
	stacks_fini(&stacks);
	return thread;
}

static void a_word_is_called_by_its_variable(void **unused)
{
	const char *const functions[FRAMES_MAX] = { "syscall", "std::atomic<int>::wait", "main" };
	struct stuck_thread thread = named("futex", functions, "ready");

	assert_string_equal(thread.object, "std::atomic of ready (program)");
	assert_int_equal(thread.kind, STUCK_UNOWNED);
}

static void a_word_that_many_objects_share_names_none(void **unused)
{
	const char *const functions[FRAMES_MAX] = { "syscall", "std::__tree_barrier<int>::wait",
						    "main" };
	struct stuck_thread thread =
		named("futex", functions,
		      "std::__detail::__waiter_pool_base::_S_for(void const*)::__w[14]");

	assert_string_equal(thread.object, "std::barrier 0x7f00");
}

static void who_sleeps_waits_for_a_time(void **unused)
{
	const char *const functions[FRAMES_MAX] = { "pthread_cond_timedwait",
						    "os::PlatformEvent::park", "JavaThread::sleep",
						    "JVM_Sleep" };
	struct stuck_thread thread = named("condition variable (by its layout)", functions, NULL);

	assert_string_equal(thread.object, "Thread.sleep of Java 0x7f00");
	assert_int_equal(thread.kind, STUCK_TIMER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_is_called_by_its_variable),
		cmocka_unit_test(a_word_that_many_objects_share_names_none),
		cmocka_unit_test(who_sleeps_waits_for_a_time),
	};

	return cmocka_run_group_tests_name("stuck/named", tests, NULL, NULL);
}

/* test_waited_kind.c - stacks of waits, as programs of GCC 12 and Rust 1.95 have them, and what they wait for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/stacks.h"
#include "stuck/waited_kind.h"

#define FRAMES_MAX 8

/* Innermost first; "" = without a name. */
static const char *kind_of(const char *const *functions)
{
	struct stacks stacks = { 0 };
	uint32_t frames[FRAMES_MAX];
	const char *kind;
	size_t count = 0;

	for (; count < FRAMES_MAX && functions[count]; count++) {
		const struct stack_frame frame = {
			.function = functions[count][0] ? functions[count] : NULL,
			.module = "program",
			.offset = count + 1,
		};

		stacks_add_frame(&stacks, &frame);
		frames[count] = (uint32_t)count;
	}
	assert_true(stacks_add_stack(&stacks, frames, count, NULL));
	kind = waited_kind(&stacks, 0);
	stacks_fini(&stacks);
	return kind;
}

#define ASSERT_KIND(kind, ...)                                             \
	do {                                                               \
		const char *const functions[FRAMES_MAX] = { __VA_ARGS__ }; \
		const char *found = kind_of(functions);                    \
                                                                           \
		assert_string_equal(found ? found : "nothing", kind);      \
	} while (0)

static void the_outermost_function_that_waits_tells(void **unused)
{
	ASSERT_KIND("pthread_once", "futex_wait", "futex_wait_simple", "__pthread_once_slow",
		    "__pthread_once_slow", "main");
	ASSERT_KIND("initialization of a static variable", "syscall", "__cxa_guard_acquire",
		    "table");
	ASSERT_KIND("std::future", "syscall",
		    "std::__atomic_futex_unsigned_base::_M_futex_wait_until",
		    "std::__atomic_futex_unsigned<2147483648u>::_M_load_when_equal",
		    "std::__future_base::_State_baseV2::wait", "main");
	ASSERT_KIND("Rust Mutex", "syscall", "std::sys::pal::unix::futex::futex_wait",
		    "<std::sys::sync::mutex::futex::Mutex>::lock_contended", "bank::pay");
	ASSERT_KIND(
		"Rust Barrier", "syscall", "std::sys::pal::unix::futex::futex_wait",
		"<std::sys::sync::condvar::futex::Condvar>::wait",
		"<std::sync::nonpoison::condvar::Condvar>::wait::<std::sync::barrier::BarrierState>",
		"<std::sync::barrier::Barrier>::wait", "bank::pay");
	ASSERT_KIND("metadata lock of MariaDB", "__futex_abstimed_wait_common64",
		    "__pthread_cond_wait_common", "pthread_cond_timedwait", "MDL_wait::timed_wait",
		    "MDL_context::acquire_lock");
}

static void a_runtime_tells_what_its_language_waits_for(void **unused)
{
	ASSERT_KIND("Thread.sleep of Java", "__futex_abstimed_wait_common64",
		    "pthread_cond_timedwait", "os::PlatformEvent::park_nanos", "JavaThread::sleep",
		    "JVM_Sleep");
	ASSERT_KIND("LockSupport.park of Java", "__futex_abstimed_wait_common64",
		    "pthread_cond_wait", "Parker::park", "Unsafe_Park");
	ASSERT_KIND("nothing", "pthread_cond_wait", "os::PlatformEvent::park",
		    "ObjectMonitor::EnterI");
	ASSERT_KIND("Atomics.wait of V8", "pthread_cond_wait", "v8::base::ConditionVariable::Wait",
		    "v8::internal::FutexEmulation::WaitSync<int>",
		    "v8::internal::FutexEmulation::WaitJs32");
	ASSERT_KIND("nothing", "pthread_cond_wait", "uv_cond_wait", "PlatformWorkerThread");
}

static void a_template_names_what_was_put_into_it(void **unused)
{
	ASSERT_KIND(
		"std::latch", "syscall", "std::__detail::__platform_wait<int>",
		"std::__detail::__waiter<true>::_M_do_wait<std::latch::wait() const::{lambda()#1}>",
		"");
	ASSERT_KIND(
		"std::counting_semaphore", "syscall", "std::__detail::__platform_wait<int>",
		"std::__atomic_wait_address_bare<std::__atomic_semaphore::_M_acquire()::{lambda()#1}>",
		"");
}

static void what_runs_inside_of_a_wait_is_not_that_wait(void **unused)
{
	/* The function that pthread_once() calls waits for something else. */
	ASSERT_KIND("nothing", "futex_wait", "__lll_lock_wait", "pthread_mutex_lock", "set_up",
		    "__pthread_once_slow");
	ASSERT_KIND("Rust Mutex", "syscall",
		    "<std::sys::sync::mutex::futex::Mutex>::lock_contended", "bank::open",
		    "<std::sys::sync::once::futex::Once>::call");
}

static void a_program_names_its_own_functions_as_it_likes(void **unused)
{
	ASSERT_KIND("nothing", "syscall", "bank::std::latch::wait", "main");
	ASSERT_KIND("Rust thread::park", "syscall",
		    "<std::sys::sync::thread_parking::futex::Parker>::park",
		    "<std::sync::mpsc::Receiver<u8> as bank::Waits>::long", "main");
	ASSERT_KIND("nothing", "", "__pthread_once_slow");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_outermost_function_that_waits_tells),
		cmocka_unit_test(a_runtime_tells_what_its_language_waits_for),
		cmocka_unit_test(a_template_names_what_was_put_into_it),
		cmocka_unit_test(what_runs_inside_of_a_wait_is_not_that_wait),
		cmocka_unit_test(a_program_names_its_own_functions_as_it_likes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

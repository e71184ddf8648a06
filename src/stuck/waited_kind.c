/*
 * waited_kind.c - see waited_kind.h.
 *
 * The stack is gone through from the innermost function on, as long as all are of those that only wait. The
 * outermost of them that has a name for what it waits for tells: Barrier::wait() waits in a Condvar.
 */
#include "stuck/waited_kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "event/stacks.h"

struct wait_function {
	const char *start; /* of the function's name, behind a "<" */
	const char *part;  /* and what else is in it; NULL = anything */
	const char *kind;  /* NULL = it waits for others */
};

/* The first that fits counts. */
static const struct wait_function wait_functions[] = {
	/* glibc and libstdc++: std::latch::wait() may be seen as an argument of a template alone. */
	{ "__pthread_once_slow", NULL, "pthread_once" },
	{ "__cxa_guard_acquire", NULL, "initialization of a static variable" },
	{ "std::__detail::__", "<std::latch::wait", "std::latch" },
	{ "std::__detail::__", "<std::__tree_barrier<", "std::barrier" },
	{ "std::__detail::__", "<std::__atomic_semaphore::", "std::counting_semaphore" },
	{ "std::__detail::__", "std::__atomic_base<", "std::atomic" },
	{ "std::__detail::__", NULL, NULL },
	{ "std::__atomic_wait_address", "<std::__atomic_semaphore::", "std::counting_semaphore" },
	{ "std::__atomic_wait_address", NULL, NULL },
	{ "std::latch::", NULL, "std::latch" },
	{ "std::__tree_barrier<", NULL, "std::barrier" },
	{ "std::barrier<", NULL, "std::barrier" },
	{ "std::__atomic_semaphore::", NULL, "std::counting_semaphore" },
	{ "std::counting_semaphore<", NULL, "std::counting_semaphore" },
	{ "std::__future_base::", NULL, "std::future" },
	{ "std::__atomic_futex_unsigned", NULL, "std::future" },
	{ "std::__atomic_base<", NULL, "std::atomic" },
	{ "std::atomic<", NULL, "std::atomic" },
	{ "std::atomic_flag::", NULL, "std::atomic" },
	/* Rust since 1.67 */
	{ "std::", "mutex::futex::Mutex", "Rust Mutex" },
	{ "std::", "futex_mutex::Mutex", "Rust Mutex" },
	{ "std::", "rwlock::futex::RwLock", "Rust RwLock" },
	{ "std::", "futex_rwlock::RwLock", "Rust RwLock" },
	{ "std::", "once::futex::Once", "Rust Once" },
	{ "std::sync::", "Barrier>::wait", "Rust Barrier" },
	{ "std::sync::barrier::Barrier::", NULL, "Rust Barrier" },
	{ "std::", "condvar::futex::Condvar", "Rust Condvar" },
	{ "std::", "futex_condvar::Condvar", "Rust Condvar" },
	{ "std::sync::mpmc::", NULL, "Rust channel" },
	{ "std::sync::mpsc::", NULL, "Rust channel" },
	{ "std::", "thread_parking::futex::Parker", "Rust thread::park" },
	{ "std::sync::", "condvar::Condvar", NULL },
	{ "std::thread::", "::park", NULL },
	{ "std::sys", "futex::futex_wait", NULL },
	/* V8, in a condition variable: a "v8::" alone is any of its threads that wait for work */
	{ "v8::internal::FutexEmulation::Wait", NULL, "Atomics.wait of V8" },
	{ "v8::base::ConditionVariable::Wait", NULL, NULL },
	{ "uv_cond_", NULL, NULL },
	/* HotSpot, where what it waits for is not read from its memory */
	{ "Unsafe_Park", NULL, "LockSupport.park of Java" },
	{ "Parker::park", NULL, NULL },
	{ "JavaThread::sleep", NULL, WAITED_SLEEP },
	{ "os::PlatformEvent::park", NULL, NULL },
	/* MariaDB, in a condition variable */
	{ "MDL_wait::timed_wait", NULL, "metadata lock of MariaDB" },
	{ "inline_mysql_cond_", NULL, NULL },
	{ "safe_cond_", NULL, NULL },
	{ "psi_cond_", NULL, NULL },
	{ "pthread_cond_", NULL, NULL },
	{ "__pthread_cond_", NULL, NULL },
	/* how all of them wait */
	{ "futex_wait", NULL, NULL },
	{ "__futex_abstimed_wait", NULL, NULL },
	{ "syscall", NULL, NULL },
};

/* NULL = it is another function, also where it is the program's own for a type of the library. */
static const struct wait_function *find_function(const char *name)
{
	if (strstr(name, " as "))
		return NULL;
	name += *name == '<';
	for (size_t i = 0; i < ARRAY_LEN(wait_functions); i++) {
		const struct wait_function *function = &wait_functions[i];

		if (strncmp(name, function->start, strlen(function->start)) == 0 &&
		    (!function->part || strstr(name, function->part)))
			return function;
	}
	return NULL;
}

const char *waited_kind(const struct stacks *stacks, uint32_t number)
{
	const struct stack *stack = &stacks->stacks[number];
	const char *kind = NULL;

	for (uint32_t i = 0; i < stack->count; i++) {
		const struct stack_frame *frame = stacks_frame(stacks, number, i);
		const struct wait_function *function;

		if (frame->is_kernel)
			continue;
		function = frame->function && !frame->is_script ? find_function(frame->function)
								: NULL;
		if (!function)
			break;
		if (function->kind)
			kind = function->kind;
	}
	return kind;
}

/* test_idle_table.c - which stacks are those of threads that wait for work. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "event/idle_known.h"
#include "event/idle_table.h"
#include "event/stacks.h"

static void every_line_of_the_built_in_table_is_one(void **unused)
{
	uint32_t faulty = 99;

	idle_table_free(idle_table_new((const char *)idle_known, idle_known_bytes, &faulty));
	assert_int_equal(faulty, 0);
}

static uint32_t faulty_line(const char *text)
{
	uint32_t faulty = 99;

	idle_table_free(idle_table_new(text, strlen(text), &faulty));
	return faulty;
}

static void a_line_that_is_none_is_told_and_left_out(void **unused)
{
	assert_int_equal(faulty_line(""), 0);
	assert_int_equal(faulty_line("# a\n\nprogram x\nidle f\nidle f < g\nlock l"), 0);
	assert_int_equal(faulty_line("idle f\n"), 1); /* of no program */
	assert_int_equal(faulty_line("program x\nwaits f\n"), 2);
	assert_int_equal(faulty_line("program x\nidle f g\n"), 2);
	assert_int_equal(faulty_line("program x\nidle f <\n"), 2);
	assert_int_equal(faulty_line("program x\nidle\n"), 2);
	assert_int_equal(faulty_line("program\nidle f\n"), 1);
	assert_int_equal(faulty_line("lock\n"), 1);
	assert_int_equal(faulty_line("program x\nidle a < b < c < d < e\n"), 2);
}

/* "function:module", innermost first; of a script "function:/its/path". How it is idle, as stacks_finish() has it. */
static struct stack stack_of(const char *const *frames)
{
	struct stacks stacks = { 0 };
	struct stack stack;
	uint32_t ids[16], count = 0;

	for (; frames[count]; count++) {
		const char *colon = strrchr(frames[count], ':');
		AUTO_FREE char *function = xstrndup(frames[count], (size_t)(colon - frames[count]));
		bool is_script = colon[1] == '/';

		ids[count] = count;
		stacks_add_frame(&stacks,
				 &(struct stack_frame){
					 .function = *function ? function : NULL,
					 .module = is_script ? strrchr(colon, '/') + 1 : colon + 1,
					 .path = colon + 1,
					 .offset = 0x1000 + count,
					 .is_kernel = strcmp(colon + 1, "[kernel]") == 0,
					 .is_script = is_script,
				 });
	}
	assert_true(stacks_add_stack(&stacks, ids, count, NULL));
	stacks_finish(&stacks);
	stack = stacks.stacks[0];
	stacks_fini(&stacks);
	return stack;
}

#define STACK_OF(...) stack_of((const char *const[]){ __VA_ARGS__, NULL })
#define IDLE_OF(...)  STACK_OF(__VA_ARGS__).idle

static void a_worker_is_known_by_the_function_that_it_waits_in(void **unused)
{
	assert_int_equal(IDLE_OF("futex_wait:[kernel]", "pthread_cond_wait:libc.so.6",
				 "tpool::thread_pool_generic::wait_for_tasks:mariadbd",
				 "tpool::thread_pool_generic::worker_main:mariadbd"),
			 STACK_IDLE);
	/* It is at work, and waits for something else. */
	assert_int_equal(IDLE_OF("pthread_cond_wait:libc.so.6", "lock_wait:mariadbd",
				 "tpool::thread_pool_generic::wait_for_tasks:mariadbd"),
			 STACK_NOT_IDLE);
	/* So it is where nobody says what that is. */
	assert_int_equal(IDLE_OF("pthread_cond_wait:libc.so.6", ":mariadbd",
				 "tpool::thread_pool_generic::wait_for_tasks:mariadbd"),
			 STACK_NOT_IDLE);
	/* Another program's function of this name. */
	assert_int_equal(IDLE_OF("pthread_cond_wait:libc.so.6", "handle_manager:mariadbd"),
			 STACK_IDLE);
	assert_int_equal(IDLE_OF("pthread_cond_wait:libc.so.6", "handle_manager:other"),
			 STACK_NOT_IDLE);
}

static void a_lock_is_not_awaited_for_work(void **unused)
{
	assert_int_equal(IDLE_OF("futex_wait:[kernel]", "__lll_lock_wait:libc.so.6",
				 "___pthread_mutex_lock:libc.so.6", "handle_manager:mariadbd"),
			 STACK_NOT_IDLE);
	assert_int_equal(IDLE_OF("pthread_cond_timedwait:libc.so.6", "take_gil:python3.11",
				 "_worker:/usr/lib/python3.11/concurrent/futures/thread.py"),
			 STACK_NOT_IDLE);
}

static void functions_that_wait_for_anybody_are_left_out(void **unused)
{
	assert_int_equal(IDLE_OF("pthread_cond_wait:libc.so.6",
				 "os::PlatformMonitor::wait:libjvm.so", "Monitor::wait:libjvm.so",
				 "CompileQueue::get:libjvm.so",
				 "CompileBroker::compiler_thread_loop:libjvm.so"),
			 STACK_IDLE);
	assert_int_equal(IDLE_OF("pthread_cond_wait:libc.so.6",
				 "os::PlatformMonitor::wait:libjvm.so",
				 "VM_Operation::evaluate:libjvm.so"),
			 STACK_NOT_IDLE);
	assert_int_equal(IDLE_OF("pthread_cond_wait:libc.so.6", "uv_cond_wait:node",
				 "node::(anonymous namespace)::PlatformWorkerThread:node"),
			 STACK_IDLE);
}

static void who_called_counts_where_the_table_says_so(void **unused)
{
	assert_int_equal(
		IDLE_OF("epoll_pwait:libc.so.6", "uv__io_poll:node", "uv_run:node",
			"node::WorkerThreadsTaskRunner::DelayedTaskScheduler::Start()::{lambda(void*)#1}::_FUN:node"),
		STACK_IDLE);
	assert_int_equal(IDLE_OF("epoll_pwait:libc.so.6", "uv__io_poll:node", "uv_run:node",
				 "node::SpinEventLoopInternal:node"),
			 STACK_NOT_IDLE);
}

static void of_a_script_its_own_functions_count(void **unused)
{
	assert_int_equal(IDLE_OF("sem_wait:libc.so.6", "PyThread_acquire_lock_timed:python3.11",
				 "_worker:/usr/lib/python3.11/concurrent/futures/thread.py",
				 "_PyEval_EvalFrame:python3.11",
				 "Thread.run:/usr/lib/python3.11/threading.py"),
			 STACK_IDLE);
	assert_int_equal(IDLE_OF("sem_wait:libc.so.6", "PyThread_acquire_lock_timed:python3.11",
				 "work:/srv/prog.py",
				 "_worker:/usr/lib/python3.11/concurrent/futures/thread.py"),
			 STACK_NOT_IDLE);
	assert_int_equal(IDLE_OF("sem_wait:libc.so.6", "_worker:/srv/thread.py"), STACK_NOT_IDLE);
}

static void a_scheduler_with_nothing_to_run_is_told_apart(void **unused)
{
	assert_int_equal(IDLE_OF("runtime.futex.abi0:x", "runtime.futexsleep:x",
				 "runtime.notesleep:x", "runtime.mPark:x", "runtime.stopm:x",
				 "runtime.findRunnable:x", "runtime.schedule:x"),
			 STACK_PARKED);
	assert_int_equal(IDLE_OF("runtime.epollwait.abi0:x", "runtime.netpoll:x",
				 "runtime.findRunnable:x", "runtime.schedule:x"),
			 STACK_POLLS);
	assert_int_equal(IDLE_OF("__pthread_clockjoin_ex:libc.so.6",
				 "CallJavaMainInNewThread:libjli.so"),
			 STACK_LAUNCHED);
	/* It needs a processor to go on. */
	assert_int_equal(IDLE_OF("runtime.futex.abi0:x", "runtime.futexsleep:x",
				 "runtime.notesleep:x", "runtime.mPark:x", "runtime.stopm:x",
				 "runtime.exitsyscall0:x"),
			 STACK_NOT_IDLE);
}

static void who_waits_for_workers_is_not_idle(void **unused)
{
	assert_int_equal(IDLE_OF("sem_wait:libc.so.6",
				 "Condition.wait:/usr/lib/python3.11/threading.py",
				 "Future.result:/usr/lib/python3.11/concurrent/futures/_base.py",
				 "<module>:/srv/prog.py"),
			 STACK_AWAITS);
	assert_int_equal(IDLE_OF("epoll_pwait:libc.so.6", "uv__io_poll:node", "uv_run:node",
				 "node::SyncProcessRunner::Run:node"),
			 STACK_AWAITS);
	assert_true(STACK_OF("read:libc.so.6", "job:/srv/prog.py",
			     "worker:/usr/lib/python3.11/multiprocessing/pool.py")
			    .in_task);
	/* It calls what is not in the script at once. */
	assert_true(STACK_OF("clock_nanosleep:libc.so.6",
			     "_process_worker:/usr/lib/python3.11/concurrent/futures/process.py")
			    .in_task);
	assert_false(STACK_OF("read:libc.so.6", "job:/srv/prog.py").in_task);
}

static void who_was_asked_to_sleep_is_known_by_that(void **unused)
{
	assert_int_equal(IDLE_OF("epoll_wait:libc.so.6", "WaitEventSetWait:postgres",
				 "WaitLatch:postgres", "pg_sleep:postgres",
				 "ExecInterpExpr:postgres"),
			 STACK_SLEEPS);
	assert_int_equal(IDLE_OF("pthread_cond_timedwait:libc.so.6",
				 "os::PlatformEvent::park:libjvm.so", "JavaThread::sleep:libjvm.so",
				 "JVM_Sleep:libjvm.so"),
			 STACK_SLEEPS);
	/* Of another program. */
	assert_int_equal(IDLE_OF("epoll_wait:libc.so.6", "pg_sleep:other"), STACK_NOT_IDLE);
	/* HotSpot's own thread, of another version. */
	assert_int_equal(
		IDLE_OF("pthread_cond_timedwait:libc.so.6", "os::PlatformMonitor::wait:libjvm.so",
			"Monitor::wait_without_safepoint_check:libjvm.so",
			"VMThread::wait_for_operation:libjvm.so", "VMThread::run:libjvm.so"),
		STACK_IDLE);
}

static void own_frames_say_how_deep_it_waits(void **unused)
{
	struct stack stack =
		STACK_OF("futex_wait:[kernel]", ":libc.so.6", "pthread_cond_wait:libc.so.6",
			 ":prog", "std::x:libstdc++.so.6", ":prog", "start_thread:libc.so.6");

	assert_int_equal(stack.depth, 2);
	assert_true(stack.at_condition);
	/* In a function of its own for that. */
	assert_true(
		STACK_OF("x:prog", "pthread_cond_timedwait:libc.so.6", "main:prog").at_condition);
	assert_false(STACK_OF("pthread_mutex_lock:libc.so.6", "main:prog").at_condition);
	assert_false(
		STACK_OF("pthread_mutex_lock:libc.so.6", "pthread_cond_wait:libc.so.6", "main:prog")
			.at_condition);
	assert_false(STACK_OF("sem_wait:libc.so.6", "main:prog").at_condition);
	stack = STACK_OF("sem_wait:libc.so.6", "PyThread_acquire_lock_timed:python3.11",
			 "_PyEval_EvalFrame:python3.11", "inner:/srv/prog.py",
			 "_PyEval_EvalFrame:python3.11", "outer:/srv/prog.py");
	assert_int_equal(stack.depth, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_of_the_built_in_table_is_one),
		cmocka_unit_test(a_line_that_is_none_is_told_and_left_out),
		cmocka_unit_test(a_worker_is_known_by_the_function_that_it_waits_in),
		cmocka_unit_test(a_lock_is_not_awaited_for_work),
		cmocka_unit_test(functions_that_wait_for_anybody_are_left_out),
		cmocka_unit_test(who_called_counts_where_the_table_says_so),
		cmocka_unit_test(of_a_script_its_own_functions_count),
		cmocka_unit_test(a_scheduler_with_nothing_to_run_is_told_apart),
		cmocka_unit_test(who_waits_for_workers_is_not_idle),
		cmocka_unit_test(who_was_asked_to_sleep_is_known_by_that),
		cmocka_unit_test(own_frames_say_how_deep_it_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

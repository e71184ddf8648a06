/* test_stacks.c - which stack a wait has, and which of its frames is the place that is told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "event/stacks.h"

static void add_frame(struct stacks *stacks, const char *function, const char *module)
{
	stacks_add_frame(stacks,
			 &(struct stack_frame){ .function = function,
						.module = module,
						.offset = 0x1000 + stacks->frame_count,
						.is_kernel = strcmp(module, "[kernel]") == 0 });
}

/* 0 kernel, 1 libc, 2 load(), 3 main(), 4 other code of load(), 5 no name, 6 C++ runtime */
static void fill(struct stacks *stacks)
{
	static const uint32_t of_load[] = { 0, 1, 2, 3 }, again[] = { 1, 4, 3 },
			      unnamed[] = { 1, 5 }, only_libc[] = { 0, 1 }, of_cpp[] = { 1, 6, 2 };

	add_frame(stacks, "schedule", "[kernel]");
	add_frame(stacks, "read", "libc.so.6");
	add_frame(stacks, "load", "prog");
	add_frame(stacks, "main", "prog");
	add_frame(stacks, "load", "prog");
	add_frame(stacks, NULL, "libx.so");
	add_frame(stacks, "std::condition_variable::wait", "libstdc++.so.6");
	assert_true(stacks_add_stack(stacks, of_load, 4, NULL));
	assert_true(stacks_add_stack(stacks, again, 3, NULL));
	assert_true(stacks_add_stack(stacks, unnamed, 2, "too short"));
	assert_true(stacks_add_stack(stacks, only_libc, 2, ""));
	assert_true(stacks_add_stack(stacks, of_cpp, 3, NULL));
	assert_false(stacks_add_stack(stacks, (uint32_t[]){ 7 }, 1, NULL)); /* no such frame */
}

static void add_script(struct stacks *stacks, const char *function, const char *path)
{
	stacks_add_frame(stacks, &(struct stack_frame){ .function = function,
							.module = strrchr(path, '/') + 1,
							.path = path,
							.is_script = true });
}

/* 0 libc, 1 and 2 no name, 3 exported, 4 no name, 5 who starts the program */
static void code_without_a_name_is_below_one_that_has(void **unused)
{
	static const uint32_t of_library[] = { 0, 1, 2, 3, 4, 5 }, of_program[] = { 0, 4, 5 };
	struct stacks stacks = { 0 };

	add_frame(&stacks, "poll", "libc.so.6");
	add_frame(&stacks, NULL, "libx.so");
	add_frame(&stacks, NULL, "libx.so");
	add_frame(&stacks, "x_perform", "libx.so");
	add_frame(&stacks, NULL, "prog");
	add_frame(&stacks, "__libc_start_call_main", "libc.so.6");
	assert_true(stacks_add_stack(&stacks, of_library, 6, NULL));
	assert_true(stacks_add_stack(&stacks, of_program, 3, NULL));
	stacks_finish(&stacks);
	assert_int_equal(stacks.stacks[0].place, 1);
	assert_int_equal(stacks_named_caller(&stacks, 0, 1), 3);
	assert_int_equal(stacks_named_caller(&stacks, 0, 3), FRAME_NONE); /* it has a name */
	assert_int_equal(stacks_named_caller(&stacks, 0, 4), FRAME_NONE);
	assert_int_equal(stacks_named_caller(&stacks, 1, 1), FRAME_NONE);
	assert_int_equal(stacks_named_caller(&stacks, 1, 9), FRAME_NONE);
	stacks_fini(&stacks);
	(void)unused;
}

/* 0 libc, 1 and 2 the interpreter, 3 Condition.wait(), 4 Queue.get(), 5 take(), 6 <module>, 7 no library's */
static void a_scripts_place_is_behind_its_own_library(void **unused)
{
	static const uint32_t of_queue[] = { 0, 1, 3, 4, 2, 5, 2, 6 },
			      of_lock[] = { 0, 1, 5, 2, 6 }, own_name[] = { 0, 7, 2 },
			      only_library[] = { 0, 3, 4 };
	struct stacks stacks = { 0 };

	add_frame(&stacks, "futex_wait", "libc.so.6");
	add_frame(&stacks, "lock_acquire", "python3.11");
	add_frame(&stacks, "_PyObject_Vectorcall", "python3.11");
	add_script(&stacks, "Condition.wait", "/usr/lib/python3.11/threading.py");
	add_script(&stacks, "Queue.get", "/usr/lib/python3.11/queue.py");
	add_script(&stacks, "take", "/srv/app.py");
	add_script(&stacks, "<module>", "/srv/app.py");
	add_script(&stacks, "wait", "/srv/threading.py");
	assert_true(stacks_add_stack(&stacks, of_queue, 8, NULL));
	assert_true(stacks_add_stack(&stacks, of_lock, 5, NULL));
	assert_true(stacks_add_stack(&stacks, own_name, 3, NULL));
	assert_true(stacks_add_stack(&stacks, only_library, 3, NULL));
	stacks_finish(&stacks);
	assert_int_equal(stacks.stacks[0].place, 5);
	assert_int_equal(stacks.stacks[0].caller, 7); /* the next one of the script */
	assert_int_equal(stacks.stacks[0].script, 2); /* which has the work */
	assert_int_equal(stacks.stacks[1].place, 2);
	assert_int_equal(stacks.stacks[1].alike, 0);
	assert_int_equal(stacks.stacks[2].place, 1);
	assert_int_equal(stacks.stacks[2].caller, 2); /* of no script: there is no other */
	assert_int_equal(stacks.stacks[3].place, 1);
	stacks_fini(&stacks);
}

static void the_place_is_behind_the_kernel_and_the_c_library(void **unused)
{
	struct stacks stacks = { 0 };

	fill(&stacks);
	stacks_finish(&stacks);
	assert_int_equal(stacks.stack_count, 5);
	assert_int_equal(stacks.stacks[0].place, 2);
	assert_int_equal(stacks.stacks[0].caller, 3);
	assert_string_equal(stacks_frame(&stacks, 0, 2)->function, "load");
	assert_int_equal(stacks.stacks[2].place, 1); /* without a name, and yet a place */
	assert_int_equal(stacks.stacks[2].caller, FRAME_NONE);
	assert_string_equal(stacks.stacks[2].end, "too short");
	assert_int_equal(stacks.stacks[3].place, FRAME_NONE);
	assert_null(stacks.stacks[3].end);
	assert_int_equal(stacks.stacks[4].place, 2); /* a runtime's own wait is skipped */
	stacks_fini(&stacks);
}

/* The place of a stack of these functions of "prog" or of libraries, innermost first. */
static uint32_t place_of(size_t count, const char *const frames[][2])
{
	struct stacks stacks = { 0 };
	uint32_t ids[8], place;

	for (uint32_t i = 0; i < count; i++) {
		add_frame(&stacks, frames[i][0], frames[i][1]);
		ids[i] = i;
	}
	assert_true(stacks_add_stack(&stacks, ids, count, NULL));
	stacks_finish(&stacks);
	place = stacks.stacks[0].place;
	stacks_fini(&stacks);
	return place;
}

static void a_program_may_name_its_functions_as_the_c_library_does(void **unused)
{
	static const char *const own[][2] = { { "clock_nanosleep", "libc.so.6" },
					      { "nanosleep", "libc.so.6" },
					      { "send", "prog" },
					      { "main", "prog" } };
	static const char *const pool[][2] = { { "__futex_abstimed_wait64", "libc.so.6" },
					       { "pthread_pool_wait", "prog" },
					       { "main", "prog" } };
	static const char *const before_it[][2] = { { "__lll_lock_wait", "libc.so.6" },
						    { "___pthread_mutex_lock", "libc.so.6" },
						    { "pthread_mutex_lock", "libwrap.so" },
						    { "add", "prog" } };
	static const char *const part_of_it[][2] = { { "__libc_read", "prog" },
						     { "read", "prog" },
						     { "load", "prog" } };

	assert_int_equal(place_of(4, own), 2);
	assert_int_equal(place_of(3, pool), 1);
	assert_int_equal(place_of(4, before_it), 3);
	assert_int_equal(place_of(3, part_of_it), 2);
}

static void the_place_is_behind_musl_in_a_static_program(void **unused)
{
	static const char *const read[][2] = { { "sccp", "prog" },
					       { "read", "prog" },
					       { "load", "prog" } };
	static const char *const own[][2] = { { "read", "prog" },
					      { "sccp", "prog" },
					      { "main", "prog" } };

	assert_int_equal(place_of(3, read), 2);
	/* A compiler has a pass of this name. */
	assert_int_equal(place_of(3, own), 1);
}

static void the_place_is_behind_the_languages_own_libraries(void **unused)
{
	static const char *const guard[][2] = { { "___pthread_mutex_lock", "libc.so.6" },
						{ "__gthread_mutex_lock", "prog" },
						{ "std::mutex::lock", "prog" },
						{ "std::lock_guard<std::mutex>::lock_guard",
						  "prog" },
						{ "Book::add", "prog" } };
	static const char *const stream[][2] = { { "read", "libc.so.6" },
						 { NULL, "libstdc++.so.6" },
						 { "std::getline<char>", "prog" },
						 { "main", "prog" } };
	static const char *const rust[][2] = {
		{ "read", "libc.so.6" },
		{ "<std::process::ChildStdout as std::io::Read>::read_buf", "prog" },
		{ "<std::io::buffered::BufReader<R> as std::io::Read>::read", "prog" },
		{ "<shop::Feed as std::io::Read>::read", "prog" },
		{ "shop::main", "prog" }
	};
	static const char *const other_trait[][2] = {
		{ "read", "libc.so.6" }, { "<std::fs::File as shop::Load>::load", "prog" }
	};
	static const char *const go[][2] = { { "runtime/internal/syscall.Syscall6", "prog" },
					     { "syscall.RawSyscall6", "prog" },
					     { "internal/poll.(*FD).Read", "prog" },
					     { "os.(*File).Read", "prog" },
					     { "main.load", "prog" } };
	static const char *const go_stack[][2] = { { "runtime.futexsleep", "prog" },
						   { "runtime.mcall", "prog" },
						   { NULL, "[jit]" } };
	static const char *const go_poll[][2] = {
		{ "runtime.epollwait", "prog" },    { "runtime.netpoll", "prog" },
		{ "runtime.findRunnable", "prog" }, { "runtime.schedule", "prog" },
		{ "runtime.mstart1", "prog" },	    { "runtime.mstart0", "prog" },
		{ "runtime/cgo(.text)", "prog" }
	};
	static const char *const made[][2] = { { "read", "libc.so.6" }, { NULL, "[jit]" } };
	/* What the thread was given to call is a part of who calls it. */
	static const char *const closure[][2] = {
		{ "nanosleep", "libc.so.6" },
		{ "std::thread::sleep", "prog" },
		{ "std::sys::backtrace::__rust_begin_short_backtrace::<shop::main::{closure#0}, ()>",
		  "prog" },
		{ "core::ops::function::FnOnce::call_once", "prog" },
		{ "start_thread", "libc.so.6" }
	};
	static const char *const nothing_else[][2] = { { "nanosleep", "libc.so.6" },
						       { "std::this_thread::sleep_for", "prog" },
						       { "std::__invoke", "prog" },
						       { NULL, "libstdc++.so.6" },
						       { "start_thread", "libc.so.6" } };

	static const char *const team[][2] = { { "syscall", "libc.so.6" },
					       { NULL, "libgomp.so.1.0.0" },
					       { "GOMP_parallel", "libgomp.so.1.0.0" },
					       { "solve", "prog" } };
	static const char *const fortran[][2] = { { "wait4", "libc.so.6" },
						  { NULL, "libgfortran.so.5.0.0" },
						  { "inner_wait.0", "prog" } };
	static const char *const idle_worker[][2] = { { "syscall", "libc.so.6" },
						      { NULL, "libgomp.so.1.0.0" },
						      { "start_thread", "libc.so.6" } };

	assert_int_equal(place_of(5, guard), 4);
	assert_int_equal(place_of(4, team), 3);
	assert_int_equal(place_of(3, fortran), 2);
	assert_int_equal(place_of(3, idle_worker), 1);
	assert_int_equal(place_of(4, stream), 3);
	assert_int_equal(place_of(5, rust), 3);
	assert_int_equal(place_of(2, other_trait), 1);
	assert_int_equal(place_of(5, go), 4);
	assert_int_equal(place_of(3, go_stack), 0);
	assert_int_equal(place_of(7, go_poll), 2);
	assert_int_equal(place_of(2, made), 1);
	assert_int_equal(place_of(5, closure), 2);
	assert_int_equal(place_of(5, nothing_else), 2);
}

static void places_in_one_function_are_alike(void **unused)
{
	struct stacks stacks = { 0 };

	fill(&stacks);
	stacks_finish(&stacks);
	assert_int_equal(stacks.stacks[0].alike, 0);
	assert_int_equal(stacks.stacks[1].alike, 0);
	assert_int_equal(stacks.stacks[2].alike, 2);
	assert_int_equal(stacks.stacks[3].alike, 3);
	assert_int_equal(stacks.stacks[4].alike, 0);
	stacks_fini(&stacks);
}

static void clones_of_a_function_of_the_kernel_are_alike(void **unused)
{
	struct stacks stacks = { 0 };

	for (uint32_t i = 0; i < 3; i++) {
		add_frame(&stacks, NULL, "[kernel]");
		assert_true(stacks_add_stack(&stacks, &i, 1, NULL));
	}
	stacks_finish(&stacks);
	stacks_name_frame(&stacks, 0, "finish_task_switch.isra.0");
	stacks_name_frame(&stacks, 1, "finish_task_switch.part.0.cold");
	stacks_name_frame(&stacks, 2, NULL);
	stacks_finish(&stacks);
	assert_string_equal(stacks.frames[0].function, "finish_task_switch");
	assert_string_equal(stacks.frames[0].signature, "finish_task_switch.isra.0");
	assert_null(stacks.frames[2].function);
	assert_int_equal(stacks.stacks[1].alike_leaf, 0);
	assert_int_equal(stacks.stacks[2].alike_leaf, 2);
	stacks_fini(&stacks);
}

static void a_wait_is_found_by_its_thread_and_its_middle(void **unused)
{
	struct stacks stacks = { 0 };

	fill(&stacks);
	stacks_add_wait(&stacks, &(struct stack_wait){ 7, 1, 500, 600, 100, false, false });
	stacks_add_wait(&stacks, &(struct stack_wait){ 7, 0, 100, 300, 200, false, false });
	stacks_add_wait(&stacks, &(struct stack_wait){ 8, 2, 0, 1000, 1000, false, true });
	stacks_finish(&stacks);
	assert_int_equal(stacks_find(&stacks, 7, 98, 303), 0);	/* clocks differ a little */
	assert_int_equal(stacks_find(&stacks, 7, 150, 180), 0); /* one of several in a call */
	assert_int_equal(stacks_find(&stacks, 7, 310, 480), STACK_NONE);
	assert_int_equal(stacks_find(&stacks, 7, 501, 599), 1);
	assert_int_equal(stacks_find(&stacks, 7, 700, 900), STACK_NONE);
	assert_int_equal(stacks_find(&stacks, 8, 700, 900), 2);
	assert_int_equal(stacks_find(&stacks, 6, 100, 300), STACK_NONE);
	assert_int_equal(stacks_find(&stacks, 9, 100, 300), STACK_NONE);
	stacks_fini(&stacks);
}

/* 0 __schedule, 1 schedule, 2 do_nanosleep, 3 ret_from_fork, 4 a function without a name, 5 an address, 6 main() */
static void of_the_kernel_alone_the_place_is_behind_the_scheduler(void **unused)
{
	static const uint32_t sleeps[] = { 0, 1, 2, 3 }, hidden[] = { 0, 4, 2 },
			      by_address[] = { 0, 1, 2, 5 }, idle[] = { 0, 1 },
			      of_program[] = { 0, 2, 5, 6 }, addresses[] = { 5, 5 };
	struct stacks stacks = { 0 };

	add_frame(&stacks, "__schedule", "[kernel]");
	add_frame(&stacks, "schedule", "[kernel]");
	add_frame(&stacks, "do_nanosleep", "[kernel]");
	add_frame(&stacks, "ret_from_fork", "[kernel]");
	add_frame(&stacks, NULL, "[kernel]");
	stacks_add_frame(&stacks, &(struct stack_frame){ .offset = 0x7f0000001000 });
	add_frame(&stacks, "main", "prog");
	assert_true(stacks_add_stack(&stacks, sleeps, 4, NULL));
	assert_true(stacks_add_stack(&stacks, hidden, 3, NULL));
	assert_true(stacks_add_stack(&stacks, by_address, 4, NULL));
	assert_true(stacks_add_stack(&stacks, idle, 2, NULL));
	assert_true(stacks_add_stack(&stacks, of_program, 4, NULL));
	assert_true(stacks_add_stack(&stacks, addresses, 2, NULL));
	stacks_finish(&stacks);
	assert_int_equal(stacks.stacks[0].place, 2);
	assert_int_equal(stacks.stacks[0].caller, 3);
	assert_int_equal(stacks.stacks[1].place, FRAME_NONE); /* it may be the scheduler's */
	assert_int_equal(stacks.stacks[2].place, 2); /* nobody says what is at the address */
	assert_int_equal(stacks.stacks[3].place, FRAME_NONE);
	assert_int_equal(stacks.stacks[4].place, 3);
	assert_int_equal(stacks.stacks[5].place, FRAME_NONE);
	stacks_fini(&stacks);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_place_is_behind_the_kernel_and_the_c_library),
		cmocka_unit_test(code_without_a_name_is_below_one_that_has),
		cmocka_unit_test(a_scripts_place_is_behind_its_own_library),
		cmocka_unit_test(a_program_may_name_its_functions_as_the_c_library_does),
		cmocka_unit_test(the_place_is_behind_musl_in_a_static_program),
		cmocka_unit_test(the_place_is_behind_the_languages_own_libraries),
		cmocka_unit_test(of_the_kernel_alone_the_place_is_behind_the_scheduler),
		cmocka_unit_test(places_in_one_function_are_alike),
		cmocka_unit_test(clones_of_a_function_of_the_kernel_are_alike),
		cmocka_unit_test(a_wait_is_found_by_its_thread_and_its_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

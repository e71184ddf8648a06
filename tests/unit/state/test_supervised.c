/* test_supervised.c - threads that are stopped for a tracer, or whose calls a supervisor answers. */
#include "told.h"

#define TWO                               \
	"thread 7 7 1 R traced\n"         \
	"thread 8 8 1 R tracer\n"         \
	"  0 cpu0 switch 0(runnable) 7\n" \
	"  0 cpu1 switch 0(runnable) 8\n"

static void a_tracer_lets_it_go_on(void **unused)
{
	struct told *told = replayed(TWO " 10 cpu0 switch 7(stopped) 0\n"
					 " 40 cpu1 enter ptrace 24 7\n"
					 " 41 cpu1 waking 7 cpu 0\n"
					 " 42 cpu1 leave ptrace 0\n"
					 " 43 cpu0 switch 0(runnable) 7\n"
					 " 50 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 41), "other_thread 8 31 running");
	assert_string_equal(told->why.chain[0].what, "stopped by its tracer");
	told_free(told);
}

/* Attached, or asked for by the thread itself: it is known who could let it go on. */
static void a_stop_without_end_is_the_tracers(void **unused)
{
	struct told *told = replayed(TWO "  1 cpu1 enter ptrace 16 7\n"
					 "  2 cpu1 leave ptrace 0\n"
					 " 10 cpu0 switch 7(stopped) 0\n"
					 " 60 cpu1 enter getpid\n");

	assert_string_equal(verdict_in(told, 7, 10, 60), "other_thread 8 50 own code");
	assert_int_equal(told->why.chain[0].expects.tid, 8);
	told_free(told);
}

static void who_was_let_go_of_is_stopped_by_a_signal(void **unused)
{
	struct told *told = replayed(TWO "  1 cpu1 enter ptrace 16 7\n"
					 "  2 cpu1 leave ptrace 0\n"
					 "  3 cpu1 enter ptrace 17 7\n"
					 "  4 cpu1 leave ptrace 0\n"
					 " 10 cpu0 switch 7(stopped) 0\n"
					 " 60 cpu1 enter getpid\n");

	assert_string_equal(verdict_in(told, 7, 10, 60),
			    "stopped 7 50 stopped: the recording ended");
	told_free(told);
}

/* A call is put to the supervisor before it begins; its end tells which it was. */
static void a_supervisor_answers_for_a_call(void **unused)
{
	struct told *told = replayed(TWO " 10 cpu0 switch 7(blocked) 0\n"
					 " 40 cpu1 enter ioctl 5 0xc0182101\n"
					 " 41 cpu1 waking 7 cpu 0\n"
					 " 42 cpu1 leave ioctl 0\n"
					 " 43 cpu0 switch 0(runnable) 7\n"
					 " 44 cpu0 leave mkdir 0\n"
					 " 50 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 41), "other_thread 8 31 running");
	assert_string_equal(told->why.chain[0].what, "mkdir");
	assert_string_equal(told->why.chain[0].object, "the answer of its supervisor (seccomp)");
	told_free(told);
}

/* Any other call of the same name does not. */
static void another_ioctl_is_no_answer(void **unused)
{
	struct told *told = replayed(TWO " 10 cpu0 switch 7(blocked) 0\n"
					 " 40 cpu1 enter ioctl 5 0xc0182100\n"
					 " 41 cpu1 waking 7 cpu 0\n"
					 " 43 cpu0 switch 0(runnable) 7\n"
					 " 50 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 41), "other_thread 8 31 running");
	assert_string_equal(told->why.chain[0].object, "");
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tracer_lets_it_go_on),
		cmocka_unit_test(a_stop_without_end_is_the_tracers),
		cmocka_unit_test(who_was_let_go_of_is_stopped_by_a_signal),
		cmocka_unit_test(a_supervisor_answers_for_a_call),
		cmocka_unit_test(another_ioctl_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

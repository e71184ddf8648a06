/*
 * test_expect_children.c - of a wait for children, or a tracer, that nobody ended it is told who was awaited.
 */
#include "expects.h"

static void the_child_that_was_asked_for_is_awaited(void **unused)
{
#define CHILDREN(CALL)                    \
	"thread 7 7 1 R parent\n"         \
	"thread 8 8 7 R child\n"          \
	"thread 9 9 7 R other\n"          \
	"  0 cpu0 switch 0(runnable) 7\n" \
	"  0 cpu1 switch 0(runnable) 8\n" \
	"  5 cpu0 enter " CALL "\n"       \
	" 10 cpu0 switch 7(blocked) 0\n"  \
	" 60 cpu1 leave getpid 8\n"
	says(CHILDREN("wait4 8"), "other_thread 8 50 running");
	says(CHILDREN("waitid 1 8"), "other_thread 8 50 running");
	says(CHILDREN("wait4 -1"),
	     "other_thread 8 25 running; unknown 9 25 no event was recorded yet");
	says(CHILDREN("wait4 -5"), "stuck 7 50 wait4: the recording ended [any child]");
}

/* dash waits so; another program, as a server's first process, waits for whoever sends it a signal. */
static void a_shell_that_suspends_itself_waits_for_its_children(void **unused)
{
#define SUSPENDS(COMM, OTHER)                                            \
	"thread 7 7 1 R " COMM "\n"                                      \
	"thread 8 8 7 R child\n" OTHER "  0 cpu0 switch 0(runnable) 7\n" \
	"  0 cpu1 switch 0(runnable) 8\n"                                \
	"  5 cpu0 enter rt_sigsuspend 0x1000 8\n"                        \
	" 10 cpu0 switch 7(blocked) 0\n"                                 \
	" 60 cpu1 leave getpid 8\n"
	says_inferred(SUSPENDS("sh", ""), "other_thread 8 50 running",
		      "shells, and timeout, suspend themselves until a child ends");
	says(SUSPENDS("dash", "thread 9 9 7 T other\n"),
	     "other_thread 8 25 running; stopped 9 25 stopped: the recording ended");
	says(SUSPENDS("nginx", ""), "stuck 7 50 rt_sigsuspend: the recording ended [a signal]");
}

/* The recorder reads the set of signals: SIGCHLD alone comes from children. */
static void who_waits_for_sigchld_waits_for_its_children(void **unused)
{
#define SIGNALLED(SEEN)                                                 \
	"thread 7 7 1 R supervisor\n"                                   \
	"thread 8 8 7 R child\n"                                        \
	"thread 9 9 7 T other\n" SEEN "  0 cpu0 switch 0(runnable) 7\n" \
	"  0 cpu1 switch 0(runnable) 8\n"                               \
	"  5 cpu0 enter rt_sigtimedwait 0x1000 0 0 8\n"                 \
	" 10 cpu0 switch 7(blocked) 0\n"                                \
	" 60 cpu1 leave getpid 8\n"
#define SEEN_CHILD(TID) "waits 30 7 rt_sigtimedwait \"SIGCHLD, a signal\" " TID " process child\n"
	says_inferred(SIGNALLED(SEEN_CHILD("8")), "other_thread 8 50 running",
		      "it is an awaited child");
	says(SIGNALLED(SEEN_CHILD("8") SEEN_CHILD("9")),
	     "other_thread 8 25 running; stopped 9 25 stopped: the recording ended");
	says(SIGNALLED(""), "stuck 7 50 rt_sigtimedwait: the recording ended [a signal]");
}

/* Its stop began before the recording, so that only the recorder saw who traces it. */
static void a_tracer_that_was_seen_is_awaited(void **unused)
{
#define TRACED(SEEN)                                                     \
	"thread 7 7 1 R traced\n"                                        \
	"thread 8 8 1 R tracer\n" SEEN "  0 cpu0 switch 0(runnable) 7\n" \
	"  0 cpu1 switch 0(runnable) 8\n"                                \
	" 10 cpu0 switch 7(stopped) 0\n"                                 \
	" 60 cpu1 leave getpid 8\n"
	struct told *told = replayed(TRACED("waits 30 7 - \"\" 8 process traces\n"));

	assert_string_equal(verdict_in(told, 7, 10, 60), "other_thread 8 50 running");
	assert_int_equal(told->why.roots[0].inferred, 0);
	told_free(told);
	says(TRACED(""), "stopped 7 50 stopped: the recording ended");
	says(TRACED("waits 9 7 - \"\" 8 process traces\n"),
	     "stopped 7 50 stopped: the recording ended");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_child_that_was_asked_for_is_awaited),
		cmocka_unit_test(a_shell_that_suspends_itself_waits_for_its_children),
		cmocka_unit_test(who_waits_for_sigchld_waits_for_its_children),
		cmocka_unit_test(a_tracer_that_was_seen_is_awaited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

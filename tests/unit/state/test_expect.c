/*
 * test_expect.c - of a wait that nobody ended it is told who was awaited, where that is known.
 */
#include "told.h"

/* 7 and 8 are processes that share a pipe: 7 has one end as 3, 8 the other one as 4. */
#define PIPE                                  \
	"thread 7 7 1 R reader\n"             \
	"thread 8 8 1 R writer\n"             \
	"thread 9 9 1 R other\n"              \
	"  0 cpu0 switch 0(runnable) 7\n"     \
	"  0 cpu1 switch 0(runnable) 8\n"     \
	"  1 cpu0 fdname 7 3 pipe:[5] pipe\n" \
	"  1 cpu1 fdname 8 4 pipe:[5] pipe\n"

#define READS                     \
	"  5 cpu0 enter read 3\n" \
	" 10 cpu0 switch 7(blocked) 0\n"

static void says(const char *text, const char *verdict)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_in(told, 7, 10, 60), verdict);
	told_free(told);
}

static void the_other_end_of_a_pipe_is_awaited(void **unused)
{
	struct told *told = replayed(PIPE READS " 60 cpu1 leave getpid 8\n");

	assert_string_equal(verdict_in(told, 7, 10, 60), "other_thread 8 50 running");
	assert_string_equal(chain_text(told), "7 read 50, 8 running 50");
	assert_string_equal(told->why.chain[0].instead, "the recording ended");
	assert_int_equal(told->why.chain[0].expects.tid, 8);
	told_free(told);
}

/* Before a fork() that both come from, one process had both ends. */
static void of_two_ends_in_a_process_its_own_is_none(void **unused)
{
	says("thread 7 7 1 R reader\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  1 cpu0 fdname 7 3 pipe:[5] pipe\n"
	     "  1 cpu0 fdname 7 4 pipe:[5] pipe\n" READS " 60 cpu1 switch 0(runnable) 9\n",
	     "stuck 7 50 read: the recording ended [fd 3 = pipe:[5]]");
	says("thread 7 7 1 R reader\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  1 cpu0 fdname 7 3 pipe:[5] pipe\n"
	     "  1 cpu0 fdname 7 4 pipe:[5] pipe\n"
	     "  2 cpu0 enter fork\n"
	     "  2 cpu0 newtask 8\n"
	     "  2 cpu0 leave fork 8\n"
	     "  3 cpu0 enter close 4\n"
	     "  3 cpu0 leave close 0\n" READS " 10 cpu1 switch 0(runnable) 8\n"
	     " 10 cpu1 leave fork 0\n"
	     " 60 cpu1 enter getpid\n",
	     "other_thread 8 50 own code");
}

/* Both have the same one; another one of that name is another thing. */
static void an_eventfd_is_shared_by_fork(void **unused)
{
	says("thread 7 7 1 R reader\n"
	     "thread 9 9 1 R other\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  1 cpu0 fdname 7 3 eventfd eventfd\n"
	     "  1 cpu0 fdname 9 3 eventfd eventfd\n"
	     "  2 cpu0 enter fork\n"
	     "  2 cpu0 newtask 8\n"
	     "  2 cpu0 leave fork 8\n" READS " 10 cpu1 switch 0(runnable) 8\n"
	     " 10 cpu1 leave fork 0\n"
	     " 60 cpu1 enter getpid\n",
	     "other_thread 8 50 own code");
}

static void one_of_several_is_not_guessed(void **unused)
{
	says(PIPE "  2 cpu0 fdname 9 5 pipe:[5] pipe\n" READS " 60 cpu1 leave getpid 8\n",
	     "stuck 7 50 read: the recording ended [fd 3 = pipe:[5]]");
	says(PIPE "  2 cpu0 fdname 9 5 pipe:[6] pipe\n" READS " 60 cpu1 leave getpid 8\n",
	     "other_thread 8 50 running");
}

/* Which of the threads of a process is known only when one has done it before. */
static void of_several_threads_it_is_the_one_that_did_before(void **unused)
{
	says("thread 10 8 1 R helper\n" PIPE READS " 60 cpu1 leave getpid 8\n",
	     "stuck 7 50 read: the recording ended [fd 3 = pipe:[5]]");
	says("thread 10 8 1 R helper\n" PIPE "  2 cpu0 enter read 3\n"
	     "  2 cpu0 switch 7(blocked) 0\n"
	     "  3 cpu1 waking 7 cpu 0\n"
	     "  3 cpu0 switch 0(runnable) 7\n"
	     "  3 cpu0 leave read 1\n" READS " 60 cpu1 leave getpid 8\n",
	     "other_thread 8 50 running");
}

static void a_connection_has_two_names(void **unused)
{
	says("thread 7 7 1 R client\n"
	     "thread 8 8 1 R server\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  0 cpu1 switch 0(runnable) 8\n"
	     "  1 cpu0 fdname 7 3 \"tcp 127.0.0.1:5->127.0.0.1:6\" connected\n"
	     "  1 cpu1 fdname 8 4 \"tcp 127.0.0.1:6->127.0.0.1:5\" accepted\n" READS
	     " 60 cpu1 leave getpid 8\n",
	     "other_thread 8 50 running");
	says("thread 7 7 1 R parent\n"
	     "thread 8 8 1 R child\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  0 cpu1 switch 0(runnable) 8\n"
	     "  1 cpu0 fdname 7 3 \"unix 11->12\" socket\n"
	     "  1 cpu1 fdname 8 4 \"unix 12->11\" socket\n" READS " 60 cpu1 leave getpid 8\n",
	     "other_thread 8 50 running");
	says("thread 7 7 1 R client\n"
	     "thread 8 8 1 R client2\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  0 cpu1 switch 0(runnable) 8\n"
	     "  1 cpu0 fdname 7 3 \"tcp 127.0.0.1:5->127.0.0.1:6\" connected\n"
	     "  1 cpu1 fdname 8 4 \"tcp 127.0.0.1:7->127.0.0.1:6\" connected\n" READS
	     " 60 cpu1 leave getpid 8\n",
	     "stuck 7 50 read: the recording ended [fd 3 = tcp 127.0.0.1:5->127.0.0.1:6]");
}

/* One call made both, a fork() shares them, and each closes one: their names are the same. */
static void of_two_pairs_of_sockets_the_other_end_is_known(void **unused)
{
	says("thread 7 7 1 R parent\n"
	     "thread 9 9 1 R other\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  1 cpu0 enter socketpair\n"
	     "  1 cpu0 fdname 7 3 \"unix peer 7\" socket\n"
	     "  1 cpu0 fdname 7 4 \"unix peer 7\" socket\n"
	     "  1 cpu0 leave socketpair 0\n"
	     "  2 cpu0 enter socketpair\n"
	     "  2 cpu0 fdname 7 5 \"unix peer 7\" socket\n"
	     "  2 cpu0 fdname 7 6 \"unix peer 7\" socket\n"
	     "  2 cpu0 leave socketpair 0\n"
	     "  3 cpu0 enter fork\n"
	     "  3 cpu0 newtask 8\n"
	     "  3 cpu0 leave fork 8\n"
	     "  4 cpu0 enter close 4\n"
	     "  4 cpu0 leave close 0\n"
	     "  4 cpu1 switch 0(runnable) 8\n"
	     "  4 cpu1 leave fork 0\n"
	     "  4 cpu1 enter close 3\n"
	     "  4 cpu1 leave close 0\n" READS " 60 cpu1 enter getpid\n",
	     "other_thread 8 50 own code");
}

static void the_peer_of_a_unix_socket_must_know_of_it(void **unused)
{
#define SOCKETS(PEER)                                                    \
	"thread 7 7 1 R client\n"                                        \
	"thread 8 8 1 R server\n"                                        \
	"  0 cpu0 switch 0(runnable) 7\n"                                \
	"  0 cpu1 switch 0(runnable) 8\n"                                \
	"  1 cpu0 fdname 7 3 \"unix /s peer 8\" connected\n"             \
	"  1 cpu1 fdname 8 4 \"unix /s peer " PEER "\" accepted\n" READS \
	" 60 cpu1 leave getpid 8\n"
	says(SOCKETS("7"), "other_thread 8 50 running");
	says(SOCKETS("9"), "stuck 7 50 read: the recording ended [fd 3 = unix /s peer 8]");
}

static void who_joins_a_thread_awaits_it(void **unused)
{
	static const char threads[] = "thread 7 7 1 R main\n"
				      "thread 8 7 1 R pool\n"
				      "thread 9 9 1 R other\n"
				      "  0 cpu0 switch 0(runnable) 7\n"
				      "  0 cpu1 switch 0(runnable) 8\n";
	static const char sleeps[] = " 10 cpu0 switch 7(blocked) 0\n"
				     " 60 cpu1 leave getpid 8\n";
	static const struct {
		const char *call, *verdict;
	} cases[] = {
		{ "futex 0x7f00 265 8", "other_thread 8 50 running" }, /* FUTEX_CLOCK_REALTIME */
		{ "futex 0x7f00 0 8", "other_thread 8 50 running" },
		{ "futex 0x7f00 0 9", "stuck 7 50 futex: the recording ended [futex 0x7f00]" },
		{ "futex 0x7f00 0 2", "stuck 7 50 futex: the recording ended [futex 0x7f00]" },
		{ "futex 0x7f00 128 8", "stuck 7 50 futex: the recording ended [futex 0x7f00]" },
		{ "futex 0x7f00 0 7", "stuck 7 50 futex: the recording ended [futex 0x7f00]" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *text =
			xasprintf("%s  5 cpu0 enter %s\n%s", threads, cases[i].call, sleeps);

		says(text, cases[i].verdict);
	}
}

/* Each waits for the other one: told once, and not followed for ever. */
static void a_circle_is_told_as_one(void **unused)
{
	struct told *told = replayed(PIPE "  4 cpu1 enter read 4\n"
					  "  5 cpu1 switch 8(blocked) 0\n" READS
					  " 60 cpu1 switch 0(runnable) 9\n");

	assert_string_equal(
		verdict_in(told, 7, 10, 60),
		"stuck 8 50 read: the recording ended, in a circle: reader[7], which it "
		"waits for, waits for it [fd 4 = pipe:[5]]");
	assert_int_equal(told->why.depth_limit_hits, 0);
	told_free(told);
}

/* The signal ends both, and the first one's end of the pipe is closed before the other one looks. */
static void who_was_awaited_before_a_signal_is_known(void **unused)
{
	struct told *told = replayed(PIPE READS " 40 cpu2 switch 0(runnable) 6:killer\n"
						" 40 cpu2 waking 7 cpu 0\n"
						" 40 cpu2 signal 15 7\n"
						" 41 cpu1 enter close 4\n"
						" 41 cpu1 leave close 0\n"
						" 42 cpu0 switch 0(runnable) 7\n"
						" 43 cpu0 leave read -512\n"
						" 44 cpu0 exit 7\n"
						" 45 cpu0 switch 7(dead) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40), "other_thread 8 30 running");
	assert_string_equal(told->why.chain[0].instead, "SIGTERM of killer[6] ended it");
	told_free(told);
}

static void who_has_ended_the_wait_is_followed_as_before(void **unused)
{
	says(PIPE "  2 cpu2 switch 0(runnable) 9\n" READS " 60 cpu2 waking 7 cpu 0\n"
		  " 61 cpu0 switch 0(runnable) 7\n",
	     "other_thread 9 50 running");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_other_end_of_a_pipe_is_awaited),
		cmocka_unit_test(of_two_ends_in_a_process_its_own_is_none),
		cmocka_unit_test(an_eventfd_is_shared_by_fork),
		cmocka_unit_test(one_of_several_is_not_guessed),
		cmocka_unit_test(of_several_threads_it_is_the_one_that_did_before),
		cmocka_unit_test(a_connection_has_two_names),
		cmocka_unit_test(of_two_pairs_of_sockets_the_other_end_is_known),
		cmocka_unit_test(the_peer_of_a_unix_socket_must_know_of_it),
		cmocka_unit_test(who_joins_a_thread_awaits_it),
		cmocka_unit_test(a_circle_is_told_as_one),
		cmocka_unit_test(who_was_awaited_before_a_signal_is_known),
		cmocka_unit_test(who_has_ended_the_wait_is_followed_as_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_expect.c - of a wait that nobody ended it is told who was awaited, where that is known.
 */
#include "expects.h"

static void the_other_end_of_a_pipe_is_awaited(void **unused)
{
	struct told *told = replayed(PIPE READS " 60 cpu1 leave getpid 8\n");

	assert_string_equal(verdict_in(told, 7, 10, 60), "other_thread 8 50 running");
	assert_string_equal(chain_text(told), "7 read 50, 8 running 50");
	assert_string_equal(told_reason(told->why.chain[0].instead), "the recording ended");
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
	     "stuck 7 50 read: the recording ended "
	     "[fd 3 = pipe:[5]; other end: writer[8], other[9]]");
	says(PIPE "  2 cpu0 fdname 9 5 pipe:[6] pipe\n" READS " 60 cpu1 leave getpid 8\n",
	     "other_thread 8 50 running");
}

/* Any of 8 and 9 could end it; 9 waits for 8, and so does 6, whoever writes. Two readers wait for the same one. */
static void where_all_lead_to_one_that_is_awaited(void **unused)
{
	struct told *told =
		replayed(PIPE "  2 cpu0 fdname 9 5 pipe:[5] pipe\n"
			      "  2 cpu1 fdname 8 6 pipe:[6] pipe\n"
			      "  3 cpu2 switch 0(runnable) 9\n"
			      "  3 cpu2 fdname 9 7 pipe:[6] pipe\n"
			      "  4 cpu2 enter read 7\n"
			      "  4 cpu2 switch 9(blocked) 0\n" READS " 60 cpu1 leave getpid 8\n");

	assert_string_equal(verdict_in(told, 7, 10, 60), "other_thread 8 50 running");
	assert_string_equal(chain_text(told), "7 read 50, 9 read 50, 8 running 50");
	assert_string_equal(told_reason(told->why.chain[0].expects_by),
			    "all who could end the wait wait for the same one, or for work");
	assert_non_null(told->why.roots[0].inferred);
	told_free(told);
	told = replayed(PIPE "  2 cpu0 fdname 9 5 pipe:[5] pipe\n"
			     "  3 cpu2 switch 0(runnable) 9\n"
			     "  4 cpu2 enter read 5\n"
			     "  4 cpu2 switch 9(blocked) 0\n" READS " 60 cpu1 leave getpid 8\n");
	assert_string_equal(verdict_in(told, 7, 10, 60), "other_thread 8 50 running");
	told_free(told);
}

/* 7 asked 6 and waits for its answer; 6 watches both 7 and 8: of these only 8 does not wait for it. */
#define BOTH_SIDES                                                             \
	"thread 6 6 1 R proxy\n"                                               \
	"waits 30 6 epoll_wait \"any of: fd 3, fd 4\" 7 process socket\n"      \
	"waits 30 6 epoll_wait \"any of: fd 3, fd 4\" 8 process socket\n" PIPE \
	"  1 cpu2 switch 0(runnable) 6\n"                                      \
	"  1 cpu2 fdname 6 3 \"unix 11->12\" socket\n"                         \
	"  1 cpu0 fdname 7 5 \"unix 12->11\" socket\n"                         \
	"  5 cpu2 enter epoll_wait 9 0 1 -1\n"                                 \
	"  6 cpu2 switch 6(blocked) 0\n"                                       \
	"  7 cpu0 enter read 5\n"                                              \
	" 10 cpu0 switch 7(blocked) 0\n"

static void of_several_who_wait_for_the_waiter_do_not_end_it(void **unused)
{
	struct told *told = replayed(BOTH_SIDES " 60 cpu1 leave getpid 8\n");

	assert_string_equal(verdict_in(told, 7, 10, 60), "other_thread 8 50 running");
	assert_string_equal(chain_text(told), "7 read 50, 6 epoll_wait 50, 8 running 50");
	assert_string_equal(told_reason(told->why.chain[1].expects_by),
			    "the others who could end the wait wait for the waiter");
	assert_non_null(told->why.roots[0].inferred);
	told_free(told);
	/* 8 waits for it, too: all of them wait for each other. */
	told = replayed(BOTH_SIDES "  2 cpu1 fdname 8 5 \"unix 12->11\" socket\n"
				   "  7 cpu1 enter read 5\n"
				   "  8 cpu1 switch 8(blocked) 0\n"
				   " 60 cpu1 switch 0(runnable) 9\n");
	assert_int_equal(told->why.root_count, 0);
	told_free(told);
}

/* Which of the threads answers is not known; each of them waits for the same one first. */
static void of_several_threads_that_wait_for_one_that_is_awaited(void **unused)
{
	struct told *told =
		replayed("thread 10 8 1 R helper\n" PIPE "  3 cpu2 switch 0(runnable) 10\n"
			 "  4 cpu2 enter futex 0x40 0 8\n"
			 "  5 cpu2 switch 10(blocked) 0\n" READS " 60 cpu1 leave getpid 8\n");

	assert_string_equal(verdict_in(told, 7, 10, 60), "other_thread 8 50 running");
	assert_string_equal(chain_text(told), "7 read 50, 10 futex 50, 8 running 50");
	assert_non_null(told->why.roots[0].inferred);
	told_free(told);
}

/* None of its threads can go on, so that its first one stands for all. */
static void of_a_process_that_is_stopped_it_is_the_first(void **unused)
{
	says("thread 10 8 1 T helper\n" PIPE READS " 12 cpu1 switch 8(stopped) 0\n"
	     " 60 cpu1 switch 0(runnable) 9\n",
	     "stopped 8 48 stopped: the recording ended; other_thread 8 2 running");
}

/* Which of the threads of a process is known only when one has done it before. */
static void of_several_threads_it_is_the_one_that_did_before(void **unused)
{
	says("thread 10 8 1 R helper\n" PIPE READS " 60 cpu1 leave getpid 8\n",
	     "stuck 7 50 read: the recording ended "
	     "[fd 3 = pipe:[5]; other end: writer[8] of 2 threads]");
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

/* All clients of a path have a socket of one name, as all are of who listened. 10, its child, accepted that of 7. */
static void a_connection_to_who_forks_ends_at_its_child(void **unused)
{
#define FORKED                                               \
	"thread 7 7 1 R client\n"                            \
	"thread 8 8 1 R master\n"                            \
	"thread 9 9 1 R client\n"                            \
	"thread 10 10 8 R worker\n"                          \
	"  0 cpu0 switch 0(runnable) 7\n"                    \
	"  0 cpu1 switch 0(runnable) 10\n"                   \
	"  1 cpu0 fdname 7 3 \"unix /s peer 8\" connected\n" \
	"  1 cpu0 fdname 8 3 \"unix listen /s\" listen\n"    \
	"  1 cpu0 fdname 9 3 \"unix /s peer 8\" connected\n"
	says(FORKED "  1 cpu0 fdname 10 4 \"unix /s peer 7\" accepted\n" READS
		    " 60 cpu1 leave getpid 8\n",
	     "other_thread 10 50 running");
	says(FORKED READS " 60 cpu1 leave getpid 8\n",
	     "stuck 7 50 read: the recording ended [fd 3 = unix /s peer 8]");
	/* And from there back: 7 serves, and is the child of 8. */
	says("thread 7 7 8 R worker\n"
	     "thread 8 8 1 R master\n"
	     "thread 10 10 1 R client\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  0 cpu1 switch 0(runnable) 10\n"
	     "  1 cpu0 fdname 7 3 \"unix /s peer 10\" socket\n"
	     "  1 cpu0 fdname 10 3 \"unix /s peer 8\" connected\n" READS
	     " 60 cpu1 leave getpid 8\n",
	     "other_thread 10 50 running");
}

/* 8 is a shell that has 9 inherit its end of the pipe, and waits for it. */
static void who_waits_for_another_one_of_them_is_not_who_is_awaited(void **unused)
{
#define SHELL(WAIT)                           \
	"thread 7 7 1 R reader\n"             \
	"thread 8 8 7 R sh\n"                 \
	"thread 9 9 8 R sleep\n"              \
	"  0 cpu0 switch 0(runnable) 7\n"     \
	"  0 cpu1 switch 0(runnable) 8\n"     \
	"  1 cpu0 fdname 7 3 pipe:[5] pipe\n" \
	"  1 cpu1 fdname 8 4 pipe:[5] pipe\n" \
	"  1 cpu1 fdname 9 4 pipe:[5] pipe\n" \
	"  2 cpu1 enter " WAIT "\n"           \
	"  2 cpu1 switch 8(blocked) 9\n" READS " 60 cpu1 leave getpid 9\n"
	says(SHELL("wait4 -1"), "other_thread 9 50 running");
	says(SHELL("wait4 9"), "other_thread 9 50 running");
	says(SHELL("read 0"), "stuck 7 50 read: the recording ended "
			      "[fd 3 = pipe:[5]; other end: sh[8], sleep[9]]");
	/* Another child of it may end first. */
	says("thread 11 11 8 S other\n" SHELL("wait4 -1"),
	     "stuck 7 50 read: the recording ended "
	     "[fd 3 = pipe:[5]; other end: sh[8], sleep[9]]");
}

static void who_joins_a_thread_awaits_it(void **unused)
{
	static const char threads[] = "thread 7 7 1 R main\n"
				      "thread 8 7 1 R pool\n"
				      "thread 6 7 1 R third\n"
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

/* Of several threads nobody tells which will write: the only one that used its end may. */
static void who_alone_used_the_other_end_is_inferred(void **unused)
{
	says_inferred("thread 10 8 1 R helper\n" PIPE "  3 cpu1 enter write 4\n"
		      "  4 cpu1 leave write 1\n" READS " 60 cpu1 enter getpid\n",
		      "other_thread 8 50 own code",
		      "of its threads only this one used its end lately");
}

static void the_other_end_of_a_terminal_is_awaited(void **unused)
{
#define TERMINAL(MINE, OTHER)                    \
	"thread 7 7 1 R one\n"                   \
	"thread 8 8 1 R other\n"                 \
	"  0 cpu0 switch 0(runnable) 7\n"        \
	"  0 cpu1 switch 0(runnable) 8\n"        \
	"  1 cpu0 fdname 7 3 \"" MINE "\" tty\n" \
	"  1 cpu1 fdname 8 4 \"" OTHER "\" tty\n" READS " 60 cpu1 leave getpid 8\n"
	says(TERMINAL("/dev/pts/5", "/dev/ptmx of /dev/pts/5"), "other_thread 8 50 running");
	says(TERMINAL("/dev/ptmx of /dev/pts/5", "/dev/pts/5"), "other_thread 8 50 running");
	says(TERMINAL("/dev/pts/5", "/dev/ptmx of /dev/pts/6"),
	     "stuck 7 50 read: the recording ended [fd 3 = /dev/pts/5]");
}

/* As with a pipe: what a program at the terminal writes is no work that somebody asks for. */
static void who_reads_what_programs_at_a_terminal_write_is_held_up(void **unused)
{
	static const struct {
		const char *mine, *other;
		uint64_t idle_ns;
	} cases[] = { { "/dev/ptmx of /dev/pts/5", "/dev/pts/5", 0 },
		      { "/dev/pts/5", "/dev/ptmx of /dev/pts/5", 50 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *text = xasprintf("thread 7 7 1 R one\n"
						 "thread 8 8 1 R other\n"
						 "  0 cpu0 switch 0(runnable) 7\n"
						 "  0 cpu1 switch 0(runnable) 8\n"
						 "  1 cpu0 fdname 7 3 \"%s\" tty\n"
						 "  1 cpu1 fdname 8 4 \"%s\" tty\n"
						 "  5 cpu0 enter read 3\n"
						 " 10 cpu0 switch 7(blocked) 0\n"
						 " 50 cpu1 enter write 4\n"
						 " 60 cpu1 waking 7 cpu 0\n"
						 " 60 cpu0 switch 0(runnable) 7\n"
						 " 61 cpu0 leave read 1\n",
						 cases[i].mine, cases[i].other);
		struct told *told = replayed(text);

		(void)verdict_in(told, 7, 10, 60);
		assert_int_equal(told->why.idle_ns, cases[i].idle_ns);
		told_free(told);
	}
}

static void the_owner_in_the_word_of_a_lock_is_inferred(void **unused)
{
	static const char start[] = "thread 7 7 1 R main\n"
				    "thread 8 7 1 R owner\n"
				    "thread 6 7 1 R third\n"
				    "thread 9 9 1 R other\n"
				    "  0 cpu0 switch 0(runnable) 7\n"
				    "  0 cpu1 switch 0(runnable) 8\n";
	static const char sleeps[] = " 10 cpu0 switch 7(blocked) 0\n"
				     " 60 cpu1 leave getpid 8\n";
	AUTO_FREE char *own =
		xasprintf("%s  5 cpu0 enter futex 0x7f00 128 0x80000008\n%s", start, sleeps);
	AUTO_FREE char *others =
		xasprintf("%s  5 cpu0 enter futex 0x7f00 128 0x80000009\n%s", start, sleeps);

	says_inferred(own, "lock 8 50 running [futex 0x7f00]",
		      "the word of the lock has its number");
	says(others, "stuck 7 50 futex: the recording ended [futex 0x7f00]");
}

/* The kernel's own word is known, what glibc keeps beside a mutex is inferred. */
static void the_owner_that_the_recorder_saw_is_awaited(void **unused)
{
#define OWNED(CALL, OWNER)                                 \
	"thread 7 7 1 R main\n"                            \
	"thread 8 7 1 R owner\n"                           \
	"thread 6 7 1 R third\n"                           \
	"thread 9 9 1 R other\n"                           \
	"  0 cpu0 switch 0(runnable) 7\n"                  \
	"  0 cpu1 switch 0(runnable) 8\n"                  \
	"  5 cpu0 enter futex 0x7f00 " CALL "\n"           \
	" 10 cpu0 switch 7(blocked) 0\n"                   \
	" 20 cpu1 fdname 7 -1 - unknown owner " OWNER "\n" \
	" 60 cpu1 leave getpid 8\n"
	says_inferred(OWNED("134 0", "8"), "lock 8 50 running [futex 0x7f00]", "");
	says_inferred(OWNED("128 2", "4294967304"), "lock 8 50 running [futex 0x7f00]",
		      "glibc keeps the owner of a lock there");
	says(OWNED("128 2", "4294967305"), "stuck 7 50 futex: the recording ended [futex 0x7f00]");
	says_inferred(OWNED("128 2", "4294967303"),
		      "stuck 7 50 futex: the recording ended, in a circle: main[7], which it "
		      "waits for, waits for it [futex 0x7f00]",
		      "glibc keeps the owner of a lock there");
}

/* A thread that ended with a lock of its process has it for ever; one of another process had something else. */
static void who_ended_with_a_lock_has_it_still(void **unused)
{
#define ENDED(TGID)                                         \
	"thread 7 7 1 R main\n"                             \
	"thread 8 " TGID " 1 R owner\n"                     \
	"  0 cpu0 switch 0(runnable) 7\n"                   \
	"  0 cpu1 switch 0(runnable) 8\n"                   \
	"  5 cpu0 enter futex 0x7f00 128 2\n"               \
	" 10 cpu0 switch 7(blocked) 0\n"                    \
	" 40 cpu1 exit 8\n"                                 \
	" 41 cpu1 switch 8(dead) 0\n"                       \
	" 50 cpu1 fdname 7 -1 - unknown owner 4294967304\n" \
	" 60 cpu1 switch 0(runnable) 9\n"
	struct told *told = replayed(ENDED("7"));

	assert_string_equal(
		verdict_in(told, 7, 10, 60),
		"lock 8 31 running [futex 0x7f00]; stuck 7 19 futex: the recording ended [futex 0x7f00]");
	assert_int_equal(told->why.chain[0].expects.tid, 8);
	assert_string_equal(told_reason(told->why.chain[0].expects_by),
			    "glibc keeps the owner of a lock there");
	told_free(told);
	says(ENDED("8"), "stuck 7 50 futex: the recording ended [futex 0x7f00; no thread of the "
			 "process is left that could end that, but for a signal]");
}

/* flock() is told by who took it: when that one is gone, who has the file open has it, most likely. */
static void a_lock_of_who_is_gone_is_inferred(void **unused)
{
#define LOCKED(BY)                                  \
	"thread 7 7 1 R asker\n"                    \
	"thread 8 8 1 R heir\n"                     \
	"  0 cpu0 switch 0(runnable) 7\n"           \
	"  0 cpu1 switch 0(runnable) 8\n"           \
	"  1 cpu0 fdname 7 3 /x file\n"             \
	"  1 cpu1 fdname 8 4 /x file\n"             \
	"  5 cpu0 enter flock 3\n"                  \
	" 10 cpu0 switch 7(blocked) 0\n"            \
	" 20 cpu1 fdname 7 3 /x file held " BY "\n" \
	" 60 cpu1 leave getpid 8\n"
	says_inferred(LOCKED("8"), "lock 8 50 running [fd 3 = /x]", "");
	says_inferred(LOCKED("99"), "lock 8 50 running [fd 3 = /x]",
		      "who took the lock is gone, and only it has the file open beside the asker");
}

/* Where a shell has taken it for what it runs: it itself, and not its child. Who asks by what it has from its parent asks not for that one's. */
static void a_lock_of_a_family_is_its_eldests(void **unused)
{
#define FAMILY(FD)                              \
	"thread 6 6 1 R shell\n"                \
	"thread 7 7 6 R asker\n"                \
	"thread 8 8 1 R heir\n"                 \
	"thread 9 9 8 R child\n"                \
	"  0 cpu0 switch 0(runnable) 7\n"       \
	"  0 cpu1 switch 0(runnable) 8\n"       \
	"  1 cpu0 fdname 7 3 /x file\n"         \
	"  1 cpu0 fdname 6 " FD " /x file\n"    \
	"  1 cpu1 fdname 9 4 /x file\n"         \
	"  1 cpu1 fdname 8 4 /x file\n"         \
	"  5 cpu0 enter flock 3\n"              \
	" 10 cpu0 switch 7(blocked) 0\n"        \
	" 20 cpu1 fdname 7 3 /x file held 99\n" \
	" 60 cpu1 leave getpid 8\n"
	says_inferred(
		FAMILY("3"), "lock 8 50 running [fd 3 = /x]",
		"who took the lock is gone, and only it and its children have the file open beside the asker");
	says(FAMILY("4"), "stuck 7 50 flock: the recording ended [fd 3 = /x]");
}

/* Nobody has a semaphore: who was let do something with it last is told as inferred. */
static void who_used_a_semaphore_last_is_inferred(void **unused)
{
#define SEMAPHORE(OTHERS)                                         \
	"thread 7 7 1 R asker\n"                                  \
	"thread 8 8 1 R owner\n"                                  \
	"  0 cpu0 switch 0(runnable) 7\n"                         \
	"  0 cpu1 switch 0(runnable) 8\n"                         \
	"  1 cpu1 enter semop " OTHERS "  5 cpu0 enter semop 4\n" \
	" 10 cpu0 switch 7(blocked) 0\n"                          \
	" 60 cpu1 enter getpid\n"
	says_inferred(SEMAPHORE("4\n  2 cpu1 leave semop 0\n"), "other_thread 8 50 own code",
		      "no other thread used it later");
	says(SEMAPHORE("4\n  2 cpu1 leave semop -11\n"),
	     "stuck 7 50 semop: the recording ended [System V semaphore 4]");
	says(SEMAPHORE("3\n  2 cpu1 leave semop 0\n"),
	     "stuck 7 50 semop: the recording ended [System V semaphore 4]");
}

/* All that the set watches ends at one process, so that one is awaited. */
static void of_many_that_end_at_one_that_is_awaited(void **unused)
{
#define WATCHES(LAST)                                     \
	PIPE "  2 cpu0 fdname 7 6 pipe:[9] pipe\n"        \
	     "  2 cpu1 fdname " LAST " 5 pipe:[9] pipe\n" \
	     "  3 cpu0 enter epoll_create1 0\n"           \
	     "  3 cpu0 leave epoll_create1 7\n"           \
	     "  4 cpu0 enter epoll_ctl 7 1 3\n"           \
	     "  4 cpu0 leave epoll_ctl 0\n"               \
	     "  4 cpu0 enter epoll_ctl 7 1 6\n"           \
	     "  4 cpu0 leave epoll_ctl 0\n"               \
	     "  5 cpu0 enter epoll_wait 7\n"              \
	     " 10 cpu0 switch 7(blocked) 0\n"             \
	     " 60 cpu1 leave getpid 8\n"
	says(WATCHES("8"), "other_thread 8 50 running");
	says(WATCHES("9"), "stuck 7 50 epoll_wait: the recording ended "
			   "[any of: fd 3 = pipe:[5], fd 6 = pipe:[9]]");
}

/* It waits until the one can take what is to be written, and looks at what may come from the other one. */
static void of_many_the_one_that_is_written_to_is_awaited(void **unused)
{
#define WRITES_TO(HOW) WATCHES("9") " 60 cpu0 fdname 7 3 pipe:[5] pipe " HOW "\n"
	says_inferred(WRITES_TO("room"), "other_thread 8 50 running",
		      "it takes what is to be written");
	says(WRITES_TO("watched"), "stuck 7 50 epoll_wait: the recording ended "
				   "[any of: fd 3 = pipe:[5], fd 6 = pipe:[9]]");
}

/* What has no other end at all is nobody's to end but its own, as long as it has one thread. */
static void of_many_its_own_do_not_count(void **unused)
{
#define HAS_OWN(THREADS) THREADS WATCHES("7")
	says(HAS_OWN(""), "other_thread 8 50 running");
	says(HAS_OWN("thread 10 7 1 R helper\n"), "stuck 7 50 epoll_wait: the recording ended "
						  "[any of: fd 3 = pipe:[5], fd 6 = pipe:[9]]");
}

static void who_listens_is_awaited_by_who_was_not_accepted(void **unused)
{
#define READS_FROM(NAME, ROLE)                        \
	"thread 7 7 1 R client\n"                     \
	"thread 8 8 1 R server\n"                     \
	"  0 cpu0 switch 0(runnable) 7\n"             \
	"  0 cpu1 switch 0(runnable) 8\n"             \
	"  1 cpu0 fdname 7 3 \"" NAME "\" " ROLE "\n" \
	"  1 cpu1 fdname 8 4 \"tcp listen *:6\" listen\n" READS " 60 cpu1 leave getpid 8\n"
	says_inferred(READS_FROM("tcp 127.0.0.1:5->127.0.0.1:6", "connected"),
		      "other_thread 8 50 running", "it listens there");
	says(READS_FROM("tcp 127.0.0.1:5->127.0.0.1:7", "connected"),
	     "stuck 7 50 read: the recording ended [fd 3 = tcp 127.0.0.1:5->127.0.0.1:7]");
}

static void who_listens_is_awaited_by_who_connects(void **unused)
{
#define CONNECTS(NAME, LISTENS)                        \
	"thread 7 7 1 R client\n"                      \
	"thread 8 8 1 R server\n"                      \
	"  0 cpu0 switch 0(runnable) 7\n"              \
	"  0 cpu1 switch 0(runnable) 8\n"              \
	"  1 cpu0 fdname 7 3 \"" NAME "\" connected\n" \
	"  1 cpu1 fdname 8 4 \"" LISTENS "\" listen\n" \
	"  5 cpu0 enter connect 3\n"                   \
	" 10 cpu0 switch 7(blocked) 0\n"               \
	" 60 cpu1 leave getpid 8\n"
	says_inferred(CONNECTS("tcp 127.0.0.1:5->127.0.0.1:6", "tcp listen *:6"),
		      "other_thread 8 50 running", "it listens there");
	says(CONNECTS("tcp 127.0.0.1:5->127.0.0.1:6", "tcp listen *:7"),
	     "stuck 7 50 connect: the recording ended [fd 3 = tcp 127.0.0.1:5->127.0.0.1:6]");
	says(CONNECTS("tcp 10.0.0.1:5->10.0.0.2:6", "tcp listen *:6"),
	     "stuck 7 50 connect: the recording ended [fd 3 = tcp 10.0.0.1:5->10.0.0.2:6]");
}

/* Its first request was dropped, and a timer of TCP's sent another one. */
static void who_asks_for_a_connection_again_found_no_room(void **unused)
{
#define ASKS_AGAIN(NAME, LISTENS, TIMER) ASKS_A_SERVER(NAME, LISTENS, "", TIMER)
#define ASKS_A_SERVER(NAME, LISTENS, SERVER, TIMER)                              \
	"thread 7 7 1 R client\n"                                                \
	"thread 8 8 1 R server\n"                                                \
	"  0 cpu0 switch 0(runnable) 7\n"                                        \
	"  1 cpu1 fdname 8 4 \"" LISTENS "\" listen\n"                           \
	"  5 cpu0 enter connect 3\n"                                             \
	" 10 cpu0 switch 7(blocked) 9\n" SERVER " 20000010 cpu0 softirq TIMER\n" \
	" 20000010 cpu0 hrtimer " TIMER "\n"                                     \
	" 20000010 cpu0 netrx 5 lo\n"                                            \
	" 20000010 cpu0 hrtimerdone\n"                                           \
	" 20000010 cpu0 softirqexit TIMER\n"                                     \
	" 20000010 cpu0 softirq NET_RX\n"                                        \
	" 20000010 cpu0 receive 5 lo\n"                                          \
	" 20000010 cpu0 waking 7 cpu 0\n"                                        \
	" 20000010 cpu0 softirqexit NET_RX\n"                                    \
	" 20000010 cpu0 switch 9(blocked) 7\n"                                   \
	" 20000011 cpu0 fdname 7 3 \"" NAME "\" connected\n"                     \
	" 20000012 cpu0 leave connect 0\n"
#define SENT_AGAIN SENT_AGAIN_NS("20000000")
#define SENT_AGAIN_NS(NS) \
	"network 7 " NS   \
	" packet on lo, sent when timer tcp_write_timer went off (TCP sent again) [fd 3 = tcp 127.0.0.1:5->127.0.0.1:6"
#define NO_ROOM                                                                  \
	"; not answered at first; inferred: the queue of connections was full; " \
	"listening there: server[8]"
	struct told *told;

	told = replayed(
		ASKS_AGAIN("tcp 127.0.0.1:5->127.0.0.1:6", "tcp listen *:6", "tcp_write_timer"));
	assert_string_equal(verdict_in(told, 7, 10, 20000010), SENT_AGAIN NO_ROOM "]");
	told_free(told);
	told = replayed(
		ASKS_AGAIN("tcp 127.0.0.1:5->127.0.0.1:6", "tcp listen *:7", "tcp_write_timer"));
	assert_string_equal(verdict_in(told, 7, 10, 20000010),
			    SENT_AGAIN "; not answered at first]");
	told_free(told);
	told = replayed(
		ASKS_AGAIN("tcp 127.0.0.1:5->127.0.0.1:6", "tcp listen *:6", "tcp_delack_timer"));
	assert_null(strstr(verdict_in(told, 7, 10, 20000010), "queue of connections"));
	told_free(told);
}

/* Up to when it accepted one the server was awaited, as is inferred; where it was in accept() its queue was not full. */
static void who_listens_is_awaited_until_it_accepts(void **unused)
{
#define SERVED(SERVER)                                                  \
	ASKS_A_SERVER("tcp 127.0.0.1:5->127.0.0.1:6", "tcp listen *:6", \
		      " 10 cpu1 switch 0(runnable) 8\n" SERVER, "tcp_write_timer")
	struct told *told = replayed(SERVED(" 10 cpu1 leave getpid 8\n"
					    " 12000010 cpu1 enter accept 4\n"
					    " 12000020 cpu1 leave accept 5\n"
					    " 13000010 cpu1 enter accept 4\n"
					    " 13000020 cpu1 leave accept 5\n"));

	assert_string_equal(verdict_in(told, 7, 10, 20000010),
			    "other_thread 8 12000000 own code; " SENT_AGAIN_NS("8000000") NO_ROOM
			    "]");
	assert_string_equal(told_reason(told->why.roots[0].inferred),
			    "its queue of connections was full until it accepted one");
	assert_int_equal(told->why.roots[1].inferred, 0);
	told_free(told);
	told = replayed(SERVED(" 10 cpu1 enter accept 4\n"
			       " 10 cpu1 switch 8(blocked) 0\n"
			       " 12000010 cpu1 waking 8 cpu 1\n"
			       " 12000010 cpu1 switch 0(runnable) 8\n"
			       " 12000020 cpu1 leave accept 5\n"
			       " 13000010 cpu1 enter accept 4\n"));
	assert_string_equal(verdict_in(told, 7, 10, 20000010), SENT_AGAIN NO_ROOM "]");
	told_free(told);
}

/* The kernel has nobody who connects to a unix socket wait for anything else. */
static void who_connects_to_a_unix_socket_waits_for_room(void **unused)
{
	says("thread 7 7 1 R client\n"
	     "thread 8 8 1 R server\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  1 cpu0 fdname 7 3 \"unix /s peer 8\" connected\n"
	     "  5 cpu0 enter connect 3\n"
	     " 10 cpu0 switch 7(blocked) 0\n"
	     " 60 cpu1 enter getpid 8\n",
	     "stuck 7 50 connect: the recording ended [fd 3 = unix /s peer 8; its queue of "
	     "connections was full]");
}

/* Each waits for the other one: told once, and not followed for ever. */
/* Connected datagrams come from one address alone: who is connected back has it, else who is bound there. */
static void datagrams_come_from_who_is_bound_there(void **unused)
{
#define DATAGRAMS(TO, NAME)                                           \
	"thread 7 7 1 R client\n"                                     \
	"thread 8 8 1 R server\n"                                     \
	"  0 cpu0 switch 0(runnable) 7\n"                             \
	"  0 cpu1 switch 0(runnable) 8\n"                             \
	"  1 cpu0 fdname 7 3 \"udp 127.0.0.1:5->" TO "\" connected\n" \
	"  1 cpu1 fdname 8 4 \"" NAME "\" socket\n" READS " 60 cpu1 leave getpid 8\n"
#define NO_ANSWER(TO) "stuck 7 50 read: the recording ended [fd 3 = udp 127.0.0.1:5->" TO "]"
	says(DATAGRAMS("127.0.0.1:6", "udp 127.0.0.1:6"), "other_thread 8 50 running");
	says(DATAGRAMS("127.0.0.1:6", "udp *:6"), "other_thread 8 50 running");
	says(DATAGRAMS("127.0.0.1:6", "udp 127.0.0.1:6->127.0.0.1:5"), "other_thread 8 50 running");
	says(DATAGRAMS("127.0.0.1:6", "udp 127.0.0.1:6->127.0.0.1:9"), NO_ANSWER("127.0.0.1:6"));
	says(DATAGRAMS("127.0.0.1:6", "tcp listen *:6"), NO_ANSWER("127.0.0.1:6"));
	says(DATAGRAMS("10.0.0.2:6", "udp *:6"), NO_ANSWER("10.0.0.2:6"));
}

#define PROXY                                                              \
	"thread 7 7 1 R proxy\n"                                           \
	"thread 8 8 1 R upstream\n"                                        \
	"thread 9 9 1 R client\n"                                          \
	"  0 cpu0 switch 0(runnable) 7\n"                                  \
	"  0 cpu1 switch 0(runnable) 8\n"                                  \
	"  1 cpu0 fdname 7 3 \"tcp 127.0.0.1:1->127.0.0.1:2\" accepted\n"  \
	"  1 cpu0 fdname 9 3 \"tcp 127.0.0.1:2->127.0.0.1:1\" connected\n" \
	"  1 cpu0 fdname 7 4 \"tcp 127.0.0.1:3->127.0.0.1:4\" connected\n" \
	"  1 cpu0 fdname 8 4 \"tcp 127.0.0.1:4->127.0.0.1:3\" accepted\n"  \
	"  1 cpu0 enter epoll_create1 0\n  1 cpu0 leave epoll_create1 7\n" \
	"  2 cpu0 enter epoll_ctl 7 1 3\n  2 cpu0 leave epoll_ctl 0\n"     \
	"  2 cpu0 enter epoll_ctl 7 1 4\n  2 cpu0 leave epoll_ctl 0\n"

#define MASTER "thread 1 1 0 S master\n"
#define CHANNEL(TO)                                         \
	"  3 cpu0 fdname 7 5 \"unix 11->12\" socket\n"      \
	"  3 cpu0 fdname " TO " 5 \"unix 12->11\" socket\n" \
	"  3 cpu0 enter epoll_ctl 7 1 5\n  3 cpu0 leave epoll_ctl 0\n"

#define WATCHES_BOTH                     \
	"  9 cpu0 enter epoll_wait 7\n"  \
	" 10 cpu0 switch 7(blocked) 0\n" \
	" 60 cpu1 leave getpid 8\n"

#define TAKES(AT, FD) AT " cpu0 enter read " FD "\n" AT " cpu0 leave read 9\n"
#define SENDS(AT, FD) AT " cpu0 enter write " FD "\n" AT " cpu0 leave write 9\n"

/* Who sits between a client and who shall answer waits for the latter, if it sent on what it read last. */
static void who_got_what_came_last_is_awaited(void **unused)
{
	static const char *const unknown[] = {
		PROXY WATCHES_BOTH,
		PROXY TAKES("3", "3") WATCHES_BOTH,
		PROXY SENDS("3", "4") WATCHES_BOTH,
		PROXY TAKES("3", "4") SENDS("4", "3") WATCHES_BOTH,
		PROXY TAKES("3", "3") SENDS("4", "4") TAKES("5", "4") WATCHES_BOTH,
		PROXY TAKES("3", "3") SENDS("4", "4") TAKES("5", "4") SENDS("6", "3") WATCHES_BOTH,
		PROXY TAKES("3", "3") SENDS("4", "4") TAKES("5", "4") SENDS("6", "3")
			TAKES("7", "4") SENDS("8", "3") WATCHES_BOTH,
		/* Of three it may be that another one waits for another answer. */
		PROXY "  3 cpu0 fdname 7 5 \"tcp 127.0.0.1:5->127.0.0.1:6\" connected\n"
		      "  3 cpu0 enter epoll_ctl 7 1 5\n  3 cpu0 leave epoll_ctl 0\n" TAKES("3", "3")
			      SENDS("4", "4") WATCHES_BOTH,
		MASTER PROXY CHANNEL("9") TAKES("3", "3") SENDS("4", "4") WATCHES_BOTH,
	};

	says_inferred(PROXY TAKES("3", "3") SENDS("4", "4") WATCHES_BOTH,
		      "other_thread 8 50 running",
		      "what had come last was sent on to it, and it has not answered since");
	/* Its parent's word may come, too. */
	says_inferred(MASTER PROXY CHANNEL("1") TAKES("3", "3") SENDS("4", "4") WATCHES_BOTH,
		      "other_thread 8 50 running",
		      "what had come last was sent on to it, and it has not answered since");
	for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
		struct told *told = replayed(unknown[i]);
		assert_memory_equal(verdict_in(told, 7, 10, 60), "stuck 7 50", 10);
		assert_int_equal(told->why.chain[0].expects.tid, 0);
		told_free(told);
	}
}

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
	assert_string_equal(told_reason(told->why.chain[0].instead),
			    "SIGTERM of killer[6] ended it");
	told_free(told);
}

/* All threads are woken, the last one right before the signal is told of; what was locked may be free by then. */
static void a_signal_that_ends_a_process_ends_the_waits_of_all_its_threads(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R main\n"
				     "thread 10 7 1 R joined\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 10\n"
				     "  2 cpu1 enter read 5\n"
				     "  3 cpu1 switch 10(blocked) 0\n"
				     "  5 cpu0 enter futex 0x7f00 265 10\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu2 switch 0(runnable) 6:killer\n"
				     " 41 cpu2 enter kill 7 9\n"
				     " 42 cpu2 waking 7 cpu 0\n"
				     " 43 cpu2 waking 10 cpu 1\n"
				     " 44 cpu2 signal 9 7\n"
				     " 45 cpu0 switch 0(runnable) 7\n"
				     " 46 cpu0 leave futex 0\n"
				     " 47 cpu0 exit 7\n"
				     " 48 cpu0 switch 7(dead) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 42),
			    "stuck 10 32 read: SIGKILL of killer[6] interrupted it [fd 5]");
	assert_string_equal(told_reason(told->why.chain[0].instead),
			    "SIGKILL of killer[6] ended it");
	told_free(told);
}

static void who_has_ended_the_wait_is_followed_as_before(void **unused)
{
	says(PIPE "  2 cpu2 switch 0(runnable) 9\n" READS " 60 cpu2 waking 7 cpu 0\n"
		  " 61 cpu0 switch 0(runnable) 7\n",
	     "other_thread 9 50 running");
}

/* A signal breaks the wait off, as one of a time-out; who had the lock is told as it does, or a moment later. */
static void who_had_the_lock_is_told_as_the_wait_is_broken_off(void **unused)
{
#define BROKEN_OFF(FIRST, THEN)             \
	"thread 7 7 1 R asker\n"            \
	"thread 8 8 1 R holder\n"           \
	"  0 cpu0 switch 0(runnable) 7\n"   \
	"  0 cpu1 switch 0(runnable) 8\n"   \
	"  1 cpu0 fdname 7 3 /x file\n"     \
	"  5 cpu0 enter flock 3\n"          \
	" 10 cpu0 switch 7(blocked) 0\n"    \
	" 60 cpu0 vector local_timer\n"     \
	" 60 cpu0 hrtimer it_real_fn\n"     \
	" 60 cpu0 waking 7 cpu 0\n"         \
	" 60 cpu0 signal 14 7\n"            \
	" 60 cpu0 hrtimerdone\n"            \
	" 60 cpu0 vectorexit local_timer\n" \
	" 61 cpu0 switch 0(runnable) 7\n" FIRST THEN " 70 cpu1 leave getpid 8\n"
#define HELD   " 62 cpu0 fdname 7 3 /x file held 8\n"
#define LEAVES " 62 cpu0 leave flock -512\n"
	says(BROKEN_OFF(HELD, LEAVES), "lock 8 50 running [fd 3 = /x]");
	says(BROKEN_OFF(LEAVES, HELD), "lock 8 50 running [fd 3 = /x]");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_other_end_of_a_pipe_is_awaited),
		cmocka_unit_test(of_two_ends_in_a_process_its_own_is_none),
		cmocka_unit_test(an_eventfd_is_shared_by_fork),
		cmocka_unit_test(one_of_several_is_not_guessed),
		cmocka_unit_test(where_all_lead_to_one_that_is_awaited),
		cmocka_unit_test(of_several_who_wait_for_the_waiter_do_not_end_it),
		cmocka_unit_test(of_several_threads_that_wait_for_one_that_is_awaited),
		cmocka_unit_test(of_a_process_that_is_stopped_it_is_the_first),
		cmocka_unit_test(of_several_threads_it_is_the_one_that_did_before),
		cmocka_unit_test(a_connection_has_two_names),
		cmocka_unit_test(of_two_pairs_of_sockets_the_other_end_is_known),
		cmocka_unit_test(the_peer_of_a_unix_socket_must_know_of_it),
		cmocka_unit_test(a_connection_to_who_forks_ends_at_its_child),
		cmocka_unit_test(who_waits_for_another_one_of_them_is_not_who_is_awaited),
		cmocka_unit_test(who_joins_a_thread_awaits_it),
		cmocka_unit_test(who_alone_used_the_other_end_is_inferred),
		cmocka_unit_test(the_other_end_of_a_terminal_is_awaited),
		cmocka_unit_test(who_reads_what_programs_at_a_terminal_write_is_held_up),
		cmocka_unit_test(the_owner_in_the_word_of_a_lock_is_inferred),
		cmocka_unit_test(the_owner_that_the_recorder_saw_is_awaited),
		cmocka_unit_test(who_ended_with_a_lock_has_it_still),
		cmocka_unit_test(a_lock_of_who_is_gone_is_inferred),
		cmocka_unit_test(a_lock_of_a_family_is_its_eldests),
		cmocka_unit_test(who_used_a_semaphore_last_is_inferred),
		cmocka_unit_test(of_many_that_end_at_one_that_is_awaited),
		cmocka_unit_test(of_many_the_one_that_is_written_to_is_awaited),
		cmocka_unit_test(of_many_its_own_do_not_count),
		cmocka_unit_test(who_listens_is_awaited_by_who_was_not_accepted),
		cmocka_unit_test(who_listens_is_awaited_by_who_connects),
		cmocka_unit_test(who_asks_for_a_connection_again_found_no_room),
		cmocka_unit_test(who_listens_is_awaited_until_it_accepts),
		cmocka_unit_test(who_connects_to_a_unix_socket_waits_for_room),
		cmocka_unit_test(datagrams_come_from_who_is_bound_there),
		cmocka_unit_test(who_got_what_came_last_is_awaited),
		cmocka_unit_test(a_circle_is_told_as_one),
		cmocka_unit_test(who_was_awaited_before_a_signal_is_known),
		cmocka_unit_test(a_signal_that_ends_a_process_ends_the_waits_of_all_its_threads),
		cmocka_unit_test(who_has_ended_the_wait_is_followed_as_before),
		cmocka_unit_test(who_had_the_lock_is_told_as_the_wait_is_broken_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

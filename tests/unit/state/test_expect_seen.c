/*
 * test_expect_seen.c - of a wait that nobody ended: what the recorder saw as it looked, and who alone is left to end it.
 */
#include "expects.h"

/*
 * At a futex of one process, without a time limit: only another thread of that, and only one that does not wait like
 * that itself.
 */
static void who_is_left_of_a_process_is_inferred(void **unused)
{
	static const struct {
		const char *call, *third, *verdict, *reason;
	} cases[] = {
#define LEFT	"other_thread 8 50 running", "no other thread of the process could end that"
#define UNKNOWN "stuck 7 50 futex: the recording ended [futex 0x7f00]", ""
		{ "128 2", "", LEFT },
		{ "137 2", "", LEFT }, /* FUTEX_WAIT_BITSET */
		{ "128 2", "  7 cpu2 enter futex 0x7f40 128 2\n  8 cpu2 switch 6(blocked) 0\n",
		  LEFT },
		{ "0 2", "", UNKNOWN },	    /* others may share it */
		{ "128 2 9", "", UNKNOWN }, /* a time limit */
		{ "128 2", "  8 cpu2 switch 6(runnable) 0\n", UNKNOWN },
		{ "128 2", "  7 cpu2 enter futex 0x7f40 128 2 9\n  8 cpu2 switch 6(blocked) 0\n",
		  UNKNOWN },
		{ "128 2", "  7 cpu2 enter futex 0x7f40 0 2\n  8 cpu2 switch 6(blocked) 0\n",
		  UNKNOWN },
		/* It joins the first thread, and that one has to end before it. */
		{ "128 2", "  7 cpu2 enter futex 0x7f40 0 7\n  8 cpu2 switch 6(blocked) 0\n",
		  LEFT },
		{ "128 2", "  7 cpu2 enter futex 0x7f40 0 7 9\n  8 cpu2 switch 6(blocked) 0\n",
		  UNKNOWN },
		{ "128 2", "  7 cpu2 enter read 3\n  8 cpu2 switch 6(blocked) 0\n", UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *text =
			xasprintf("thread 7 7 1 R main\n"
				  "thread 8 7 1 R worker\n%s"
				  "thread 9 9 1 R other\n"
				  "  0 cpu0 switch 0(runnable) 7\n"
				  "  0 cpu1 switch 0(runnable) 8\n%s"
				  "  5 cpu0 enter futex 0x7f00 %s\n%s"
				  " 10 cpu0 switch 7(blocked) 0\n"
				  " 60 cpu1 leave getpid 8\n",
				  *cases[i].third ? "thread 6 7 1 R third\n" : "",
				  *cases[i].third ? "  1 cpu2 switch 0(runnable) 6\n" : "",
				  cases[i].call, cases[i].third);

		says_inferred(text, cases[i].verdict, cases[i].reason);
	}
}

#define SEEN(LINES)                                                      \
	"thread 7 7 1 R main\n"                                          \
	"thread 8 7 1 R owner\n"                                         \
	"thread 6 7 1 R third\n"                                         \
	"thread 9 9 1 R other\n" LINES "  0 cpu0 switch 0(runnable) 7\n" \
	"  0 cpu1 switch 0(runnable) 8\n"                                \
	"  5 cpu0 enter futex 0x1000 128 0\n"                            \
	" 10 cpu0 switch 7(blocked) 0\n"                                 \
	" 60 cpu1 leave getpid 8\n"

/* It is of the wait that went on then, and of what was called then. */
static void what_was_seen_of_a_wait_is_believed(void **unused)
{
	static const char nobody[] = "stuck 7 50 futex: the recording ended [futex 0x1000]";

	says_inferred(SEEN("waits 30 7 futex \"Java monitor 0x7000\" 8 java_monitor\n"),
		      "lock 8 50 running [Java monitor 0x7000]",
		      "it owns the monitor: HotSpot's owner field");
	says(SEEN("waits 30 7 futex \"rwlock held by 2 readers 0x1000\" 0\n"),
	     "stuck 7 50 futex: the recording ended [futex 0x1000, rwlock held by 2 readers]");
	says(SEEN("waits 9 7 futex \"Java monitor 0x7000\" 8 java_monitor\n"), nobody);
	says(SEEN("waits 30 7 read \"Java monitor 0x7000\" 8 java_monitor\n"), nobody);
	says(SEEN("waits 30 9 futex \"Java monitor 0x7000\" 8 java_monitor\n"), nobody);
	says(SEEN("waits 30 7 futex \"futex 0x1000\" 99 java_monitor\n"), nobody);
	/* The later look counts. */
	says(SEEN("waits 20 7 futex \"futex 0x1000\" 8 java_lock\n"
		  "waits 30 7 futex \"futex 0x1000\" 0\n"),
	     nobody);
}

/* It is said once which descriptor that is. */
static void a_descriptor_that_has_no_name_has_that_which_was_seen(void **unused)
{
	static const char *const seen[][2] = {
		{ "read", "fd 3 = pipe:[5]" },
		{ "flock", "lock of fd 3 = /x" },
		{ "write", "fd 3: unix socket /s, whose queue is full" },
		{ "read", "fd 33 = pipe:[5]" }, /* not of this one */
	};
	static const char *const named[] = { "pipe:[5]", "/x",
					     "unix socket /s, whose queue is full",
					     "fd 33 = pipe:[5]" };

	for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
		AUTO_FREE char *text = xasprintf("thread 7 7 1 R main\nthread 9 9 1 R other\n"
						 "waits 30 7 %s \"%s\" 0\n"
						 "  0 cpu0 switch 0(runnable) 7\n"
						 "  5 cpu0 enter %s 3\n"
						 " 10 cpu0 switch 7(blocked) 0\n"
						 " 60 cpu1 switch 0(runnable) 9\n",
						 seen[i][0], seen[i][1], seen[i][0]);
		struct told *told = replayed(text);

		assert_string_equal(object_of(told, 7, 0), named[i]);
		told_free(told);
	}
}

/* 8 had the lock as the first slice was looked at; ENDS is how that one ended. */
#define SLICES(ENDS)                                                          \
	"thread 7 7 1 R main\n"                                               \
	"thread 8 7 1 R owner\n"                                              \
	"waits 20 7 futex \"mutex 0x1000\" 8 mutex\n"                         \
	"  0 cpu0 switch 0(runnable) 7\n"                                     \
	"  0 cpu1 switch 0(runnable) 8\n"                                     \
	"  5 cpu0 enter futex 0x1000 137 0 1\n"                               \
	" 10 cpu0 switch 7(blocked) 0\n" ENDS                                 \
	" 32 cpu0 switch 0(runnable) 7\n 33 cpu0 leave futex -110\n"          \
	" 34 cpu0 enter futex 0x1000 137 0 1\n 35 cpu0 switch 7(blocked) 0\n" \
	" 60 cpu1 leave getpid 8\n"

static void what_was_seen_of_a_slice_is_so_of_the_next_one(void **unused)
{
	struct told *told = replayed(SLICES(" 30 cpu0 vector local_timer\n"
					    " 30 cpu0 hrtimer hrtimer_wakeup\n"
					    " 30 cpu0 waking 7 cpu 0\n"
					    " 30 cpu0 hrtimerdone\n"
					    " 31 cpu0 vectorexit local_timer\n"));

	assert_int_equal(wait_of(told, 7, 1)->flags & WAIT_EXPECTS, WAIT_EXPECTS);
	assert_int_equal(told->tl->threads[wait_of(told, 7, 1)->origin.slot]->tid, 8);
	told_free(told);
	/* The lock may have another owner since. */
	told = replayed(SLICES(" 30 cpu1 waking 7 cpu 0\n"));
	assert_int_equal(wait_of(told, 7, 1)->flags & WAIT_EXPECTS, 0);
	told_free(told);
}

/* What is known of it is told once, in the words that say more. */
static void what_was_seen_says_more_of_what_is_opened(void **unused)
{
	says("thread 7 7 1 R main\nthread 9 9 1 R other\n"
	     "waits 30 7 openat \"FIFO /f, until the other end is opened\" 0\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  5 cpu0 enter openat 5 /f\n"
	     " 10 cpu0 switch 7(blocked) 0\n"
	     " 60 cpu1 switch 0(runnable) 9\n",
	     "stuck 7 50 openat: the recording ended [FIFO /f, until the other end is opened]");
}

/* The kernel takes a lease after some time: that is no time-out of who opens the file. */
static void who_has_a_lease_is_awaited_until_the_kernel_takes_it(void **unused)
{
#define OPENS                                  \
	"  0 cpu0 switch 0(runnable) 7\n"      \
	"  0 cpu1 switch 0(runnable) 8\n"      \
	"  5 cpu0 enter openat 5 /f\n"         \
	" 10 cpu0 switch 7(blocked) 0\n"       \
	" 60 cpu0 softirq TIMER\n"             \
	" 60 cpu0 hrtimer process_timeout 7\n" \
	" 60 cpu0 waking 7 cpu 0\n"            \
	" 61 cpu0 softirqexit TIMER\n"         \
	" 62 cpu0 switch 0(runnable) 7\n"      \
	" 63 cpu0 leave openat 3\n"            \
	" 70 cpu0 switch 7(blocked) 0\n"
	static const char threads[] = "thread 7 7 1 R main\nthread 8 8 1 R leaser\n";
	AUTO_FREE char *known =
		xasprintf("%swaits 30 7 openat \"a lease of the file, to be given up\" 8 process "
			  "lease\n" OPENS,
			  threads);
	AUTO_FREE char *unknown = xasprintf("%s" OPENS, threads);

	says_inferred(known, "other_thread 8 50 running", "it has a lease of the file");
	says(unknown, "timer 7 50 timer process_timeout [fd 3 = /f]");
}

static void of_several_that_were_seen_none_is_guessed(void **unused)
{
	says(SEEN("waits 30 7 futex \"futex 0x1000\" 8 process java_lock\n"
		  "waits 30 7 futex \"futex 0x1000\" 9 process java_lock\n"),
	     "stuck 7 50 futex: the recording ended "
	     "[futex 0x1000; could end it: main[7] of 3 threads, other[9]]");
}

/* What serves an event loop ends its wait when it was asked to: not while it waits for work itself. */
static void threads_of_its_own_that_are_idle_do_not_end_it(void **unused)
{
	says("thread 7 7 1 R main\nthread 8 7 1 R helper\nthread 9 9 1 R other\n"
	     "fd 7 4 listen \"unix listen /s\"\n"
	     "waits 30 7 read \"eventfd\" 8 process writes_eventfd\n"
	     "waits 30 7 read \"eventfd\" 9 process writes_eventfd\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  0 cpu1 switch 0(runnable) 8\n"
	     "  5 cpu0 enter read 3\n"
	     "  5 cpu1 enter accept 4\n"
	     "  6 cpu1 switch 8(blocked) 9\n"
	     " 10 cpu0 switch 7(blocked) 0\n"
	     " 60 cpu1 leave getpid 9\n",
	     "other_thread 9 50 running");
}

/* A look at the sleeper found those that have the other end of what it reads as well. */
static void who_could_end_it_is_told_once(void **unused)
{
	struct told *told = replayed("waits 30 7 read \"pipe:[5]\" 8 process writes_pipe\n"
				     "waits 30 7 read \"pipe:[5]\" 9 process writes_pipe\n" PIPE
				     "  2 cpu0 fdname 9 5 pipe:[5] pipe\n" READS
				     " 40 cpu2 switch 0(runnable) 6:killer\n"
				     " 40 cpu2 waking 7 cpu 0\n"
				     " 40 cpu2 signal 15 7\n"
				     " 42 cpu0 switch 0(runnable) 7\n"
				     " 43 cpu0 leave read -512\n"
				     " 44 cpu0 exit 7\n"
				     " 45 cpu0 switch 7(dead) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40),
			    "stuck 7 30 read: SIGTERM of killer[6] ended it "
			    "[fd 3 = pipe:[5]; other end: writer[8], other[9]]");
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_left_of_a_process_is_inferred),
		cmocka_unit_test(what_was_seen_of_a_wait_is_believed),
		cmocka_unit_test(a_descriptor_that_has_no_name_has_that_which_was_seen),
		cmocka_unit_test(what_was_seen_of_a_slice_is_so_of_the_next_one),
		cmocka_unit_test(what_was_seen_says_more_of_what_is_opened),
		cmocka_unit_test(who_has_a_lease_is_awaited_until_the_kernel_takes_it),
		cmocka_unit_test(of_several_that_were_seen_none_is_guessed),
		cmocka_unit_test(threads_of_its_own_that_are_idle_do_not_end_it),
		cmocka_unit_test(who_could_end_it_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

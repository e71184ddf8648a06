/*
 * test_expect_ends.c - of a wait at one end of something that nobody ended it is told who has the other end, and
 * only that.
 */
#include "told.h"

static void says(const char *text, const char *verdict)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_in(told, 7, 10, 60), verdict);
	told_free(told);
}

#define READS_ITS_PIPE                    \
	"  0 cpu0 switch 0(runnable) 7\n" \
	"  0 cpu1 switch 0(runnable) 9\n" \
	"  5 cpu0 enter read 3\n"         \
	" 10 cpu0 switch 7(blocked) 0\n"  \
	" 60 cpu1 leave getpid 9\n"

/* 9 got by fork what 7 has; 8 is another thread of 7's process, which may write as well. */
static void a_thread_of_its_own_may_be_who_is_awaited(void **unused)
{
#define FORKED(ROLE, NAME, MORE)                            \
	"thread 7 7 1 R main\n" MORE "thread 9 9 7 R kid\n" \
	"  0 cpu0 switch 0(runnable) 7\n"                   \
	"  1 cpu0 fdname 7 3 " NAME " " ROLE "\n"           \
	"  1 cpu0 fdname 7 4 " NAME " " ROLE "\n"           \
	"  2 cpu0 enter fork\n"                             \
	"  2 cpu0 newtask 10\n"                             \
	"  2 cpu0 leave fork 10\n"                          \
	"  5 cpu0 enter read 3\n"                           \
	" 10 cpu0 switch 7(blocked) 0\n"                    \
	" 10 cpu1 switch 0(runnable) 10\n"                  \
	" 10 cpu1 leave fork 0\n"                           \
	" 60 cpu1 enter getpid\n"
#define BOTH "; other end: main[10], main[7] of 2 threads]"
	says(FORKED("pipe", "pipe:[5]", ""), "other_thread 10 50 own code");
	says(FORKED("pipe", "pipe:[5]", "thread 8 7 1 R writer\n"),
	     "stuck 7 50 read: the recording ended [fd 3 = pipe:[5]" BOTH);
	says(FORKED("eventfd", "eventfd", ""), "other_thread 10 50 own code");
	says(FORKED("eventfd", "eventfd", "thread 8 7 1 R writer\n"),
	     "stuck 7 50 read: the recording ended [fd 3 = eventfd" BOTH);
}

/* 9 has the end to read from, too, and 10 the one to write to. */
static void who_has_the_same_end_is_not_awaited(void **unused)
{
#define ENDS(OF_7, OF_9, OF_10)          \
	"thread 7 7 1 R waiter\n"        \
	"thread 9 9 7 R kid\n"           \
	"thread 10 10 1 R other\n"       \
	"fd 7 3 pipe pipe:[5]" OF_7 "\n" \
	"fd 9 3 pipe pipe:[5]" OF_9 "\n" \
	"fd 10 4 pipe pipe:[5]" OF_10 "\n" READS_ITS_PIPE
#define ANY_OF \
	"stuck 7 50 read: the recording ended [fd 3 = pipe:[5]; other end: other[10], kid[9]]"
	says(ENDS("", "", ""), ANY_OF);
	says(ENDS(" reads", " reads", " writes"), "unknown 10 50 no event was recorded yet");
	says(ENDS(" reads", " writes", " reads"), "other_thread 9 50 running");
	/* It waits until there is room for more. */
	says(ENDS(" writes", " writes", " reads"), "unknown 10 50 no event was recorded yet");
	says(ENDS(" writes", " reads", " writes"), "other_thread 9 50 running");
	/* Nobody who reads is known: which ends these are is not, either. */
	says(ENDS(" writes", " writes", " writes"), ANY_OF);
}

/* What dup() makes is the same end. */
static void a_copy_of_an_end_is_the_same_end(void **unused)
{
#define COPIED(CALL)                      \
	"thread 7 7 1 R waiter\n"         \
	"thread 9 9 7 R kid\n"            \
	"fd 7 3 pipe pipe:[5] reads\n"    \
	"fd 9 5 pipe pipe:[5] " CALL "\n" \
	"  0 cpu1 switch 0(runnable) 9\n" \
	"  1 cpu1 enter dup 5\n"          \
	"  2 cpu1 leave dup 6\n"          \
	"  3 cpu1 enter close 5\n"        \
	"  4 cpu1 leave close 0\n" READS_ITS_PIPE
	says(COPIED("writes"), "other_thread 9 50 own code");
	says(COPIED("reads"), "stuck 7 50 read: the recording ended [fd 3 = pipe:[5]]");
}

static void a_process_is_awaited_at_its_pidfd(void **unused)
{
#define AT_PIDFD(NAME, CALL)                               \
	"thread 7 7 1 R parent\n"                          \
	"thread 9 9 7 R kid\n"                             \
	"  0 cpu0 switch 0(runnable) 7\n"                  \
	"  0 cpu1 switch 0(runnable) 9\n"                  \
	"  1 cpu0 fdname 7 3 \"" NAME "\" pidfd\n"         \
	"  5 cpu0 enter " CALL "\n"                        \
	" 10 cpu0 switch 7(blocked) 0\n"                   \
	" 20 cpu1 fdname 7 3 \"" NAME "\" pidfd watched\n" \
	" 60 cpu1 leave getpid 9\n"
	says(AT_PIDFD("pidfd 9", "poll 0x100 1 20"), "other_thread 9 50 running");
	says(AT_PIDFD("pidfd 5", "poll 0x100 1 20"),
	     "stuck 7 50 poll: the recording ended [fd 3 = pidfd 5]");
	says(AT_PIDFD("pidfd", "poll 0x100 1 20"),
	     "stuck 7 50 poll: the recording ended [fd 3 = pidfd]");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_of_its_own_may_be_who_is_awaited),
		cmocka_unit_test(who_has_the_same_end_is_not_awaited),
		cmocka_unit_test(a_copy_of_an_end_is_the_same_end),
		cmocka_unit_test(a_process_is_awaited_at_its_pidfd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_again.c - what was told of a call is so of the same call made again, when its time was up. */
#include "told.h"

/* 7 waits for a thread of its process, or for process 9 at the other end of a pipe. */
#define THREADS                               \
	"thread 7 7 1 R main\n"               \
	"thread 8 7 1 R owner\n"              \
	"thread 9 9 1 R writer\n"             \
	"thread 6 7 1 R third\n"              \
	"  0 cpu0 switch 0(runnable) 7\n"     \
	"  0 cpu1 switch 0(runnable) 8\n"     \
	"  0 cpu2 switch 0(runnable) 9\n"     \
	"  1 cpu0 fdname 7 3 pipe:[5] pipe\n" \
	"  1 cpu2 fdname 9 4 pipe:[5] pipe\n"

/* The call is looked at in its first slice, and returns; the last slice is never over. */
#define SLICES(FIRST, TOLD, LEAVES, LAST)                                             \
	THREADS "  5 cpu0 enter " FIRST "\n"                                          \
		" 10 cpu0 switch 7(blocked) 0\n" TOLD " 30 cpu0 vector local_timer\n" \
		" 30 cpu0 hrtimer hrtimer_wakeup\n"                                   \
		" 30 cpu0 waking 7 cpu 0\n"                                           \
		" 30 cpu0 hrtimerdone\n"                                              \
		" 30 cpu0 vectorexit local_timer\n"                                   \
		" 31 cpu0 switch 0(runnable) 7\n"                                     \
		" 32 cpu0 leave " LEAVES "\n"                                         \
		" 33 cpu0 enter " LAST "\n"                                           \
		" 34 cpu0 switch 7(blocked) 0\n"                                      \
		" 60 cpu1 leave getpid 8\n"

#define OWNER	" 20 cpu1 fdname 7 -1 - unknown owner 4294967304\n"
#define WATCHED " 20 cpu1 fdname 7 3 pipe:[5] pipe watched\n"
#define LOCK	"futex 0x7f00 128 2"
#define POLL	"poll 0x100 1 20"

static void awaited_by(const char *text, int32_t tid, const char *inferred)
{
	struct told *told = replayed(text);
	const struct wait *last = wait_of(told, 7, 1);

	assert_int_equal(last->flags & WAIT_EXPECTS ? told->tl->threads[last->origin.slot]->tid : 0,
			 tid);
	if (tid)
		assert_string_equal(timeline_name(told->tl, last->origin.name), inferred);
	told_free(told);
}

static void who_had_the_lock_has_it_still(void **unused)
{
	struct told *told = replayed(SLICES(LOCK, OWNER, "futex -110", LOCK));

	assert_string_equal(verdict_in(told, 7, 34, 60), "lock 8 26 running [futex 0x7f00]");
	assert_string_equal(told_reason(told->why.roots[0].inferred),
			    "glibc keeps the owner of a lock there");
	/* Both slices are one wait. */
	assert_int_equal(explained(told, 7, 10, 60)->roots[0].ns, 46);
	told_free(told);
	awaited_by(SLICES(LOCK, OWNER, "futex -110", LOCK), 8, BY_GLIBC_OWNER);
}

static void of_another_lock_nothing_is_known(void **unused)
{
	awaited_by(SLICES(LOCK, OWNER, "futex -110", "futex 0x8f00 128 2"), 0, NULL);
	/* It was let go of meanwhile. */
	awaited_by(SLICES(LOCK, OWNER, "futex 0", LOCK), 0, NULL);
	awaited_by(SLICES(LOCK, "", "futex -110", LOCK), 0, NULL);
}

static void what_it_watched_it_watches_still(void **unused)
{
	struct told *told = replayed(SLICES(POLL, WATCHED, "poll 0", POLL));

	assert_string_equal(verdict_in(told, 7, 34, 60), "other_thread 9 26 running");
	assert_string_equal(told_reason(told->why.roots[0].inferred),
			    "it was so when the same call was looked at before");
	told_free(told);
	awaited_by(SLICES(POLL, WATCHED, "poll 0", POLL), 9, BY_TOLD_BEFORE);
}

/* 8 is of the process of 7; 10 has the end of 9, too, so that either may write. */
static void who_could_end_it_is_named_as_before(void **unused)
{
	struct told *told = replayed("thread 10 10 1 R other\n" SLICES(
		POLL, " 19 cpu1 fdname 10 4 pipe:[5] pipe\n" WATCHED, "poll 0", POLL));

	assert_string_equal(
		verdict_in(told, 7, 34, 60),
		"stuck 7 26 poll: the recording ended [fd 3 = pipe:[5], as when it was looked at "
		"before; other end: other[10], writer[9]]");
	told_free(told);
	told = replayed(SLICES(POLL,
			       " 19 cpu1 fdname 7 6 \"tcp listen *:5\" listen\n" WATCHED
			       " 20 cpu1 fdname 7 6 \"tcp listen *:5\" listen watched\n",
			       "poll 0", POLL));
	assert_string_equal(verdict_in(told, 7, 34, 60),
			    "stuck 7 26 poll: the recording ended [any of: fd 3 = pipe:[5], fd 6 = "
			    "tcp listen *:5, as when it was looked at before]");
	told_free(told);
}

static void another_poll_watches_something_else(void **unused)
{
	awaited_by(SLICES(POLL, WATCHED, "poll 0", "poll 0x200 1 20"), 0, NULL);
	awaited_by(SLICES(POLL, WATCHED, "poll 0", "poll 0x100 2 20"), 0, NULL);
	awaited_by(SLICES(POLL, WATCHED, "poll 1", POLL), 0, NULL);
	/* What is told of this one counts. */
	awaited_by(SLICES(POLL, WATCHED, "poll 0", POLL) " 61 cpu1 fdname 7 9 db pipe watched\n", 0,
		   NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_had_the_lock_has_it_still),
		cmocka_unit_test(of_another_lock_nothing_is_known),
		cmocka_unit_test(what_it_watched_it_watches_still),
		cmocka_unit_test(who_could_end_it_is_named_as_before),
		cmocka_unit_test(another_poll_watches_something_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

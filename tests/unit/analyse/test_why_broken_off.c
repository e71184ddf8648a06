/* test_why_broken_off.c - waits that signals break off, which are taken up again: slices.c. */
#include "told.h"

static uint64_t charged_ns(struct told *told, int32_t tid)
{
	uint64_t ns = 0;

	(void)verdict_in(told, 7, 10, 5010);
	for (size_t i = 0; i < told->why.root_count; i++) {
		if (told->why.roots[i].kind == WHY_OTHER_THREAD &&
		    told->why.roots[i].who.tid == tid)
			ns += told->why.roots[i].ns;
	}
	return ns;
}

/* 8 ends, which has nothing to do with it: the handler asks for it, and reads on. */
#define BROKEN_OFF(AGAIN)                     \
	"thread 7 7 1 R shell\n"              \
	"thread 8 8 7 R job\n"                \
	"thread 9 9 7 R writer\n"             \
	"  0 cpu0 switch 0(runnable) 7\n"     \
	"  0 cpu1 switch 0(runnable) 8\n"     \
	"  0 cpu2 switch 0(runnable) 9\n"     \
	"  1 cpu0 fdname 7 3 pipe:[5] pipe\n" \
	"  5 cpu0 enter read 3\n"             \
	" 10 cpu0 switch 7(blocked) 0\n"      \
	" 2000 cpu1 exit 8\n"                 \
	" 2000 cpu1 waking 7 cpu 0\n"         \
	" 2000 cpu1 signal 17 7\n"            \
	" 2001 cpu1 switch 8(dead) 0\n"       \
	" 2010 cpu0 switch 0(runnable) 7\n"   \
	" 2011 cpu0 leave read -512\n"        \
	" 2012 cpu0 enter wait4 -1 0 1\n"     \
	" 2013 cpu0 leave wait4 8\n"          \
	" 2014 cpu0 enter rt_sigreturn\n"     \
	" 2015 cpu0 leave rt_sigreturn 0\n"   \
	" 2016 cpu0 enter " AGAIN "\n"        \
	" 2020 cpu0 switch 7(blocked) 0\n"    \
	" 5000 cpu2 enter write 4\n"          \
	" 5010 cpu2 waking 7 cpu 0\n"         \
	" 5020 cpu0 switch 0(runnable) 7\n"   \
	" 5030 cpu0 leave read 1\n"

static void a_wait_that_the_end_of_a_child_breaks_off_goes_on(void **unused)
{
	struct told *told = replayed(BROKEN_OFF("read 3"));

	assert_int_equal(charged_ns(told, 8), 0);
	assert_int_equal(charged_ns(told, 9), 4980);
	assert_int_equal(told->why.slice_count, 0);
	told_free(told);
	told = replayed(BROKEN_OFF("read 4"));
	assert_int_equal(charged_ns(told, 8), 1990);
	told_free(told);
}

/* Any other signal does the same. */
static void a_signal_that_is_handled_changes_nothing(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R reader\n"
				     "thread 8 8 1 R ticker\n"
				     "thread 9 9 1 R writer\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     "  0 cpu2 switch 0(runnable) 9\n"
				     "  1 cpu0 fdname 7 3 pipe:[5] pipe\n"
				     "  1 cpu0 fdname 8 4 pipe:[5] pipe\n"
				     "  1 cpu0 fdname 9 4 pipe:[5] pipe\n"
				     "  5 cpu0 enter read 3\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 1990 cpu1 enter kill 7 10\n"
				     " 2000 cpu1 waking 7 cpu 0\n"
				     " 2000 cpu1 signal 10 7\n"
				     " 2001 cpu1 leave kill 0\n"
				     " 2010 cpu0 switch 0(runnable) 7\n"
				     " 2011 cpu0 leave read -512\n"
				     " 2014 cpu0 enter rt_sigreturn\n"
				     " 2015 cpu0 leave rt_sigreturn 0\n"
				     " 2016 cpu0 enter read 3\n"
				     " 2020 cpu0 switch 7(blocked) 0\n"
				     " 5000 cpu2 enter write 4\n"
				     " 5010 cpu2 waking 7 cpu 0\n"
				     " 5020 cpu0 switch 0(runnable) 7\n"
				     " 5030 cpu0 leave read 1\n");

	assert_int_equal(charged_ns(told, 8), 0);
	assert_int_equal(charged_ns(told, 9), 4980);
	told_free(told);
}

/* bash opens a named pipe again; the call has a descriptor only where it goes well. */
static void a_call_that_opens_is_taken_up_again(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R shell\n"
				     "thread 8 8 7 R job\n"
				     "thread 9 9 7 R writer\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     "  0 cpu2 switch 0(runnable) 9\n"
				     "  5 cpu0 enter openat -100\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 2000 cpu1 exit 8\n"
				     " 2000 cpu1 waking 7 cpu 0\n"
				     " 2000 cpu1 signal 17 7\n"
				     " 2001 cpu1 switch 8(dead) 0\n"
				     " 2010 cpu0 switch 0(runnable) 7\n"
				     " 2011 cpu0 fdname 7 -1 /f1 unknown asked 4\n"
				     " 2011 cpu0 leave openat -4\n"
				     " 2016 cpu0 enter openat -100\n"
				     " 2020 cpu0 switch 7(blocked) 0\n"
				     " 5000 cpu2 enter openat -100\n"
				     " 5010 cpu2 waking 7 cpu 0\n"
				     " 5020 cpu0 switch 0(runnable) 7\n"
				     " 5025 cpu0 fdname 7 3 /f1 file\n"
				     " 5030 cpu0 leave openat 3\n");

	assert_int_equal(charged_ns(told, 8), 0);
	assert_int_equal(charged_ns(told, 9), 4980);
	told_free(told);
}

/* 7 waits for any signal, beside a timer of its own; 9 sends one at last, or 7 works first. */
static char *ticks(const char *between)
{
	char *text = xstrdup("thread 7 7 1 R waiter\nthread 9 9 7 R sender\n"
			     "  0 cpu0 switch 0(runnable) 7\n"
			     "  0 cpu2 switch 0(runnable) 9\n");
	unsigned at = 5;

	for (int i = 0; i < 3; i++, at += 1000) {
		told_add(&text, "%u cpu0 enter pause\n%u cpu0 switch 7(blocked) 0\n", at, at + 5);
		told_add(&text,
			 "%u cpu0 vector local_timer\n%u cpu0 hrtimer it_real_fn\n"
			 "%u cpu0 waking 7 cpu 0\n%u cpu0 signal 14 7\n%u cpu0 hrtimerdone\n"
			 "%u cpu0 vectorexit local_timer\n",
			 at + 980, at + 980, at + 980, at + 980, at + 980, at + 980);
		told_add(&text,
			 "%u cpu0 switch 0(runnable) 7\n%u cpu0 leave pause -514\n"
			 "%u cpu0 enter %s\n%u cpu0 leave %.*s 4\n",
			 at + 990, at + 991, at + 992, between, at + 993,
			 (int)strcspn(between, " "), between);
	}
	told_add(&text, "%u cpu0 enter pause\n%u cpu0 switch 7(blocked) 0\n", at, at + 5);
	told_add(&text, "%u cpu2 enter kill 7 10\n%u cpu2 waking 7 cpu 0\n", at + 400, at + 405);
	told_add(&text, "%u cpu2 signal 10 7\n%u cpu0 switch 0(runnable) 7\n", at + 405, at + 410);
	told_add(&text, "%u cpu0 leave pause -514\n%u cpu0 enter getpid\n", at + 411, at + 2100);
	return text;
}

static void a_timer_of_its_own_is_a_limit_to_a_wait_for_any_signal(void **unused)
{
	AUTO_FREE char *looks = ticks("rt_sigreturn"), *works = ticks("write 1");
	struct told *told = replayed(looks);

	assert_in_range(charged_ns(told, 9), 3200, 3400);
	told_free(told);
	told = replayed(works);
	assert_in_range(charged_ns(told, 9), 300, 420);
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_of_its_own_is_a_limit_to_a_wait_for_any_signal),
		cmocka_unit_test(a_wait_that_the_end_of_a_child_breaks_off_goes_on),
		cmocka_unit_test(a_signal_that_is_handled_changes_nothing),
		cmocka_unit_test(a_call_that_opens_is_taken_up_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

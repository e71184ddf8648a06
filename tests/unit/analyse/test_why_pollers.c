/*
 * test_why_pollers.c - threads of a process that wait by turns on one epoll set wait once.
 */
#include "told.h"

#define US 1000
#define MS (1000 * US)

/* Threads 7 and 8 of a process have turns on its set; 9 is another process, on another CPU. */
struct script {
	char *text; /* owned */
	int at_us;
};

static void says(struct script *script, int for_us, const char *line)
{
	char *more = xasprintf("%s%dus %s\n", script->text, script->at_us, line);

	free(script->text);
	script->text = more;
	script->at_us += for_us;
}

static struct script begun(void)
{
	struct script script = { xstrdup("  0 cpu0 switch 0(runnable) 7\n"
					 "  0 cpu1 switch 0(runnable) 9\n"
					 " 10us cpu0 enter clone3\n"
					 " 11us cpu0 newtask 8 thread\n"
					 " 12us cpu0 wakeupnew 8 cpu 0\n"
					 " 13us cpu0 leave clone3 8\n"
					 " 14us cpu0 enter getpid\n"
					 " 15us cpu0 leave getpid 7\n"),
				 1000 };

	return script;
}

#define LINE(script, for_us, ...)                              \
	do {                                                   \
		AUTO_FREE char *line = xasprintf(__VA_ARGS__); \
		says(script, for_us, line);                    \
	} while (0)

/* The other one has been parked since before, and is let run; 'tid' is parked. */
static void hands_over(struct script *script, int tid, int other)
{
	LINE(script, 1, "cpu0 enter futex 0x500%d 129 1", other);
	LINE(script, 1, "cpu0 waking %d cpu 0", other);
	LINE(script, 1, "cpu0 leave futex 1");
	LINE(script, 1, "cpu0 enter futex 0x500%d 128 0", tid);
	LINE(script, 1, "cpu0 switch %d(blocked) %d", tid, other);
	LINE(script, 1, "cpu0 leave futex 0");
}

static void sleeps(struct script *script, int tid, int set, int ms)
{
	LINE(script, 1, "cpu0 enter epoll_pwait %d", set);
	LINE(script, ms * 1000, "cpu0 switch %d(blocked) 0", tid);
}

static void times_out(struct script *script, int tid, int set, int ms)
{
	sleeps(script, tid, set, ms);
	says(script, 0, "cpu0 vector local_timer");
	says(script, 0, "cpu0 hrtimer hrtimer_wakeup");
	LINE(script, 0, "cpu0 waking %d cpu 0", tid);
	says(script, 0, "cpu0 hrtimerdone");
	says(script, 0, "cpu0 vectorexit local_timer");
	LINE(script, 1, "cpu0 switch 0(runnable) %d", tid);
	says(script, 1, "cpu0 leave epoll_pwait 0");
}

static void is_woken(struct script *script, int tid, int set, int ms)
{
	sleeps(script, tid, set, ms);
	LINE(script, 0, "cpu1 waking %d cpu 0", tid);
	LINE(script, 1, "cpu0 switch 0(runnable) %d", tid);
	says(script, 1, "cpu0 leave epoll_pwait 1");
}

static struct told *asked(struct script *script, int tid)
{
	struct told *told;

	LINE(script, 0, "cpu0 switch %d(blocked) 0", tid);
	told = replayed(script->text);
	free(script->text);
	(void)explained(told, 7, 1 * 1000 * US, (uint64_t)script->at_us * US);
	return told;
}

static uint64_t charged_ns(const struct told *told, enum why_kind kind, int32_t tid)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < told->why.root_count; i++) {
		if (told->why.roots[i].kind == kind && told->why.roots[i].who.tid == tid)
			ns += told->why.roots[i].ns;
	}
	return ns;
}

/* 8 is there, and parked. */
static void parks(struct script *script)
{
	says(script, 1, "cpu0 enter futex 0x5007 128 0");
	says(script, 1, "cpu0 switch 7(blocked) 8");
	hands_over(script, 8, 7);
}

static void turns_are_slices_of_one_wait(void **unused)
{
	struct script script = begun();
	struct told *told;

	parks(&script);
	times_out(&script, 7, 5, 99);
	hands_over(&script, 7, 8);
	times_out(&script, 8, 5, 99);
	times_out(&script, 8, 5, 1);
	hands_over(&script, 8, 7);
	is_woken(&script, 7, 5, 40);
	told = asked(&script, 7);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 0);
	assert_int_equal(charged_ns(told, WHY_TIMER, 8), 0);
	assert_true(charged_ns(told, WHY_OTHER_THREAD, 9) >= (99 + 99 + 1 + 40) * MS);
	told_free(told);
}

/* Memcached's threads have one each. */
static void another_set_is_another_wait(void **unused)
{
	struct script script = begun();
	struct told *told;

	parks(&script);
	times_out(&script, 7, 5, 99);
	hands_over(&script, 7, 8);
	is_woken(&script, 8, 6, 40);
	hands_over(&script, 8, 7);
	told = asked(&script, 7);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 99 * MS);
	told_free(told);
}

static void who_writes_in_between_does_more_than_look(void **unused)
{
	struct script script = begun();
	struct told *told;

	parks(&script);
	times_out(&script, 7, 5, 99);
	hands_over(&script, 7, 8);
	says(&script, 1, "cpu0 enter write 1");
	says(&script, 1, "cpu0 leave write 5");
	is_woken(&script, 8, 5, 40);
	hands_over(&script, 8, 7);
	told = asked(&script, 7);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 99 * MS);
	told_free(told);
}

/* The writer has the other one look again: that is no output. */
static void a_nudge_is_none(void **unused)
{
	struct script script = begun();
	struct told *told;

	parks(&script);
	times_out(&script, 7, 5, 99);
	hands_over(&script, 7, 8);
	LINE(&script, 1, "cpu0 enter epoll_pwait 5");
	says(&script, 1, "cpu0 switch 8(blocked) 0");
	says(&script, 1, "cpu0 waking 7 cpu 0");
	says(&script, 1, "cpu0 switch 0(runnable) 7");
	says(&script, 1, "cpu0 leave futex 0");
	says(&script, 1, "cpu0 enter write 7");
	says(&script, 1, "cpu0 waking 8 cpu 0");
	says(&script, 1, "cpu0 leave write 1");
	says(&script, 1, "cpu0 enter futex 0x5007 128 0");
	says(&script, 1, "cpu0 switch 7(blocked) 8");
	says(&script, 1, "cpu0 leave epoll_pwait 1");
	is_woken(&script, 8, 5, 40);
	hands_over(&script, 8, 7);
	told = asked(&script, 7);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 0);
	assert_true(charged_ns(told, WHY_OTHER_THREAD, 9) >= 139 * MS);
	told_free(told);
}

/* Another thread works all the time: what the sleeper waited for is not known. */
static void who_works_meanwhile_does_not_wait(void **unused)
{
	struct script script = begun();
	struct told *told;

	parks(&script);
	times_out(&script, 7, 5, 99);
	hands_over(&script, 7, 8);
	script.at_us += 20000;
	is_woken(&script, 8, 5, 40);
	hands_over(&script, 8, 7);
	told = asked(&script, 7);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 99 * MS);
	told_free(told);
}

/* Nothing ever came but their own time-outs. */
static void time_outs_that_nothing_follows_stay(void **unused)
{
	struct script script = begun();
	struct told *told;

	parks(&script);
	times_out(&script, 7, 5, 99);
	hands_over(&script, 7, 8);
	times_out(&script, 8, 5, 99);
	hands_over(&script, 8, 7);
	told = asked(&script, 7);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7) + charged_ns(told, WHY_TIMER, 8), 198 * MS);
	assert_int_equal(told->why.slice_count, 0);
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_are_slices_of_one_wait),
		cmocka_unit_test(another_set_is_another_wait),
		cmocka_unit_test(who_writes_in_between_does_more_than_look),
		cmocka_unit_test(a_nudge_is_none),
		cmocka_unit_test(who_works_meanwhile_does_not_wait),
		cmocka_unit_test(time_outs_that_nothing_follows_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_why_for_nothing.c - who is woken, and waits for the same again at once, may have been woken for nothing.
 */
#include "slices_script.h"

#define COND   "futex 0x7f0010 137"
#define ROUNDS 3

/* 9 tells 7 of something ROUNDS times, 40 ms each; in the end 8 does, on a third CPU, after 50 ms. 10 waits for 7. */
static struct script told_often(const char *object, const char *between, int us)
{
	struct script script = begun();
	AUTO_FREE char *enter = xasprintf("cpu0 enter %s", object);

	says(&script, "cpu2 switch 0(runnable) 10", 1);
	says(&script, "cpu2 enter futex 0x990000 137", 1);
	says(&script, "cpu2 switch 10(blocked) 0", 1);
	for (int i = 0; i < ROUNDS; i++) {
		woken_slice(&script, object, 40);
		if (between && strncmp(between, "cpu0", 4) == 0) {
			says(&script, between, 1);
			says(&script, "cpu2 switch 0(runnable) 10", 1);
			says(&script, "cpu2 switch 10(blocked) 0", 1);
		} else if (between) {
			call(&script, between, "5");
		}
		script.at_us += us;
	}
	says(&script, enter, 1);
	says(&script, "cpu0 switch 7(blocked) 0", 50000);
	says(&script, "cpu2 switch 0(runnable) 8", 1);
	says(&script, "cpu2 waking 7 cpu 0", 0);
	says(&script, "cpu0 switch 0(runnable) 7", 1);
	says(&script, "cpu0 leave futex 0", 1);
	script.at_us += 300;
	call(&script, "write 1", "5");
	return script;
}

/* Of what is charged to that thread, as inferred from that it waited again. */
static uint64_t again_ms(const struct told *told, int32_t tid, int32_t at_last)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < told->why.root_count; i++) {
		const struct why_root *root = &told->why.roots[i];

		if (root->who.tid != tid || !root->inferred)
			continue;
		assert_int_equal(root->inferred->kind, WHY_REASON_WAITED_AGAIN);
		assert_int_equal(root->inferred->who.tid, at_last);
		ns += root->ns;
	}
	return ns / MS;
}

static uint64_t again_of_9(const char *object, const char *between, int us)
{
	struct script script = told_often(object, between, us);
	struct told *told = asked(&script);
	uint64_t ms = again_ms(told, 9, 8);

	/* Known or not, it is the one that woke it. */
	assert_int_equal(charged_ns(told, WHY_OTHER_THREAD, 9) + charged_ns(told, WHY_LOCK, 9) +
					 500 * US >=
				 ROUNDS * 40ull * MS,
			 true);
	assert_int_equal(again_ms(told, 8, 0), 0);
	told_free(told);
	return ms;
}

static void who_waits_again_may_have_been_woken_for_nothing(void **unused)
{
	assert_in_range(again_of_9(COND, NULL, 0), ROUNDS * 40 - 1, ROUNDS * 40);
	/* Only a look. */
	assert_in_range(again_of_9(COND, NULL, 40), ROUNDS * 40 - 1, ROUNDS * 40);
}

static void who_works_or_says_something_was_not(void **unused)
{
	assert_int_equal(again_of_9(COND, NULL, 300), 0);
	assert_int_equal(again_of_9(COND, "write 1", 5), 0);
	/* As it tells another one. */
	assert_int_equal(again_of_9(COND, "cpu0 waking 10 cpu 2", 5), 0);
}

static void a_lock_is_let_go_of(void **unused)
{
	assert_int_equal(again_of_9("futex 0x7f0010 128 2", NULL, 0), 0);
}

/* To look it needs the lock of the condition, which 9 has still. */
static void a_look_takes_the_lock(void **unused)
{
	struct script script = begun();
	struct told *told;

	for (int i = 0; i < 5; i++) {
		woken_slice(&script, COND, 40);
		woken_slice(&script, "futex 0x7f0040 128 2", 1);
	}
	woken_slice(&script, COND, 40);
	script.at_us += 300;
	told = asked(&script);
	assert_in_range(again_ms(told, 9, 0), 6 * 40 - 1, 6 * 40);
	told_free(told);
}

/* Who had it go on each second time has work for it the other times, too: that takes no longer than a look. */
static void who_had_it_go_on_has_work_for_it(void **unused)
{
	struct script script = begun();
	struct told *told;

	for (int i = 0; i < 6; i++) {
		woken_slice(&script, COND, 40);
		script.at_us += i % 2 * 300;
	}
	told = asked(&script);
	assert_int_equal(again_ms(told, 9, 0), 0);
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_again_may_have_been_woken_for_nothing),
		cmocka_unit_test(who_works_or_says_something_was_not),
		cmocka_unit_test(a_lock_is_let_go_of),
		cmocka_unit_test(a_look_takes_the_lock),
		cmocka_unit_test(who_had_it_go_on_has_work_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

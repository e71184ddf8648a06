/*
 * test_why_slices_same.c - who gives up waiting for one thing, and waits for another one then, has timed out.
 */
#include "slices_script.h"

#include "event/stacks.h"

#define FIRST_MS 400
#define THEN_MS	 100

/* 7 waits in vain, and then for 9. Frames: 0 and 1 are two lines of a program, 2 and 3 of a script, 4 and 5 of HotSpot. */
static struct script gives_up(const char *first, const char *then)
{
	struct script script = begun();

	slice(&script, first, FIRST_MS);
	woken_slice(&script, then, THEN_MS);
	return script;
}

/* The first wait is at frame 'first', the other one at frame 'then'. */
static void tell_places(struct told *told, uint32_t first, uint32_t then)
{
	static const struct stack_frame frames[] = {
		{ .function = "run",
		  .module = "prog",
		  .build_id = "ab",
		  .offset = 0x100,
		  .line = 1 },
		{ .function = "run",
		  .module = "prog",
		  .build_id = "ab",
		  .offset = 0x140,
		  .line = 2 },
		{ .function = "main", .module = "a.py", .line = 1, .is_script = true },
		{ .function = "main", .module = "a.py", .line = 2, .is_script = true },
		{ .function = "Parker::park",
		  .module = "libjvm.so",
		  .build_id = "cd",
		  .offset = 1 },
		{ .function = "Parker::park",
		  .module = "libjvm.so",
		  .build_id = "cd",
		  .offset = 9 },
	};
	const uint32_t places[] = { first, then };
	struct stacks *stacks = told->trace->facts.stacks = xcalloc(1, sizeof(*stacks));

	for (size_t i = 0; i < ARRAY_LEN(frames); i++)
		stacks_add_frame(stacks, &frames[i]);
	for (uint32_t i = 0; i < ARRAY_LEN(frames); i++)
		assert_true(stacks_add_stack(stacks, &i, 1, NULL));
	for (uint32_t i = 0; i < ARRAY_LEN(places); i++) {
		const struct wait *wait = wait_of(told, 7, i);

		stacks_add_wait(stacks, &(struct stack_wait){ .tid = 7,
							      .stack = places[i],
							      .begin_ns = wait->begin_ns,
							      .end_ns = wait->woken_ns });
	}
	stacks_finish(stacks);
}

static uint64_t of_9_ms(struct script *script, uint32_t first, uint32_t then)
{
	struct told *told;
	uint64_t ns = 0;

	says(script, "cpu0 switch 7(blocked) 0", 0);
	told = replayed(script->text);
	free(script->text);
	if (first != then)
		tell_places(told, first, then);
	(void)explained(told, 7, 1 * MS, (uint64_t)script->at_us * US);
	for (size_t i = 0; i < told->why.root_count; i++)
		ns += told->why.roots[i].who.tid == 9 ? told->why.roots[i].ns : 0;
	told_free(told);
	return ns / MS;
}

static void a_futex_beside_is_another_one(void **unused)
{
	static const struct {
		const char *then;
		int ms;
	} words[] = {
		{ "futex 0x7f0010 128 2", FIRST_MS + THEN_MS },
		{ "futex 0x7f0014 128 2", FIRST_MS + THEN_MS }, /* of one condition */
		{ "futex 0x7f0030 128 2", THEN_MS },		/* the next semaphore */
		{ "futex 0x7f0038 128 2", THEN_MS },		/* lock */
		{ "futex 0x7f0040 128 2", THEN_MS },		/* condition */
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct script script = gives_up(LOCK, words[i].then);

		assert_int_equal(of_9_ms(&script, 0, 0), words[i].ms);
	}
}

/* What it polls may be told of the one whose time is up, and of the other one. */
static void a_poll_of_something_else_is_another_one(void **unused)
{
	static const struct {
		const char *then;
		uint32_t first_at, then_at;
		int ms;
	} polls[] = {
		{ "poll 0x100 1", 0, 0, FIRST_MS + THEN_MS },
		{ "poll 0x200 1", 0, 1, THEN_MS },
		{ "poll 0x200 1", 2, 3, THEN_MS },
		{ "rt_sigtimedwait 0x100", 0, 1, THEN_MS },
		{ "io_getevents 0x100", 0, 1, THEN_MS },
	};

	for (size_t i = 0; i < ARRAY_LEN(polls); i++) {
		AUTO_FREE char *first =
			xasprintf("%.*s 0x100 1", (int)strcspn(polls[i].then, " "), polls[i].then);
		struct script script = gives_up(first, polls[i].then);

		assert_int_equal(of_9_ms(&script, polls[i].first_at, polls[i].then_at),
				 polls[i].ms);
	}
}

/* It watches 'fd', and the time of the first one is up. */
static void polls(struct script *script, int fd, int ms, bool is_woken)
{
	AUTO_FREE char *told = xasprintf("cpu1 fdname 7 %d pipe:[%d] pipe watched", fd, fd);

	says(script, "cpu0 enter poll 0x100 1", 1);
	says(script, "cpu0 switch 7(blocked) 0", 1000);
	says(script, told, ms * 1000 - 1000);
	if (!is_woken) {
		says(script, "cpu0 vector local_timer", 0);
		says(script, "cpu0 hrtimer hrtimer_wakeup", 0);
	}
	says(script, is_woken ? "cpu1 waking 7 cpu 0" : "cpu0 waking 7 cpu 0", 0);
	if (!is_woken) {
		says(script, "cpu0 hrtimerdone", 0);
		says(script, "cpu0 vectorexit local_timer", 0);
	}
	says(script, "cpu0 switch 0(runnable) 7", 1);
	says(script, is_woken ? "cpu0 leave poll 1" : "cpu0 leave poll 0", 1);
}

static void a_poll_of_another_descriptor_is_another_one(void **unused)
{
	for (int fd = 3; fd <= 4; fd++) {
		struct script script = begun();
		char *text =
			xasprintf("thread 7 7 1 R main\nthread 9 9 1 R writer\n%s", script.text);

		free(script.text);
		script.text = text;
		says(&script, "cpu0 fdname 7 3 pipe:[3] pipe", 0);
		says(&script, "cpu0 fdname 7 4 pipe:[4] pipe", 0);
		polls(&script, 3, FIRST_MS, false);
		polls(&script, fd, THEN_MS, true);
		assert_int_equal(of_9_ms(&script, 0, 0), fd == 3 ? FIRST_MS + THEN_MS : THEN_MS);
	}
}

static void a_lock_of_a_script_may_be_a_new_one(void **unused)
{
	struct script script = gives_up(LOCK, LOCK);

	assert_int_equal(of_9_ms(&script, 2, 3), THEN_MS);
	/* To park with a limit, and without one. */
	script = gives_up(LOCK, LOCK);
	assert_int_equal(of_9_ms(&script, 4, 5), THEN_MS);
	/* One of a program is the same one. */
	script = gives_up(LOCK, LOCK);
	assert_int_equal(of_9_ms(&script, 0, 1), FIRST_MS + THEN_MS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_futex_beside_is_another_one),
		cmocka_unit_test(a_poll_of_something_else_is_another_one),
		cmocka_unit_test(a_poll_of_another_descriptor_is_another_one),
		cmocka_unit_test(a_lock_of_a_script_may_be_a_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_why_slices.c - a wait that is taken up again behind its time-outs is one wait, and other
 * time-outs stay what they are.
 */
#include "slices_script.h"

#include "event/stacks.h"

/* A lock of Java: longer and longer slices, until its owner lets go. */
static void slices_are_charged_to_what_ended_the_last(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, LOCK, 1);
	slice(&script, LOCK, 8);
	slice(&script, LOCK, 64);
	woken_slice(&script, LOCK, 20);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_LOCK, 9), (1 + 8 + 64 + 20) * MS);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 0);
	assert_int_equal(told->why.held_up_ns, (1 + 8 + 64 + 20) * MS);
	assert_int_equal(told->why.asked_ns, 0);
	assert_int_equal(told->why.slice_count, 3);
	assert_int_equal(told->why.slice_ns, 73 * MS);
	assert_int_equal(told->why.chain[0].count, 1);
	assert_int_equal(told->why.chain[0].slices, 3);
	told_free(told);
}

/* Between two slices 9 woke 7, which needed no more: what ended the last slice of 9 came later. */
static void what_ends_slices_later_is_no_cause(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     "  0 cpu2 switch 0(runnable) 11\n"
				     "  1 cpu0 enter futex 0x500 128 2\n"
				     "  2 cpu1 enter futex 0x900 128 2\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 11 cpu1 switch 9(blocked) 0\n"
				     "100 cpu1 vector local_timer\n"
				     "100 cpu1 hrtimer hrtimer_wakeup\n"
				     "100 cpu1 waking 9 cpu 1\n"
				     "100 cpu1 hrtimerdone\n"
				     "100 cpu1 vectorexit local_timer\n"
				     "101 cpu1 switch 0(runnable) 9\n"
				     "102 cpu1 leave futex -110\n"
				     "103 cpu1 enter futex 0x500 129 1\n"
				     "104 cpu1 waking 7 cpu 0\n"
				     "105 cpu1 leave futex 1\n"
				     "106 cpu0 switch 0(runnable) 7\n"
				     "107 cpu0 leave futex 0\n"
				     "108 cpu1 enter futex 0x900 128 2\n"
				     "110 cpu1 switch 9(blocked) 0\n"
				     "190 cpu2 waking 9 cpu 1\n"
				     "191 cpu1 switch 0(runnable) 9\n"
				     "192 cpu1 leave futex 0\n"
				     "200 cpu0 switch 7(blocked) 0\n");
	const struct why_root *first = &explained(told, 7, 10, 104)->roots[0];

	assert_int_equal(first->kind, WHY_TIMER);
	assert_int_equal(first->who.tid, 9);
	assert_int_equal(first->ns, 89);
	told_free(told);
}

/* Each wait is told as it was, and what the last slice was ended by. */
static void each_slice_is_told_with_the_end_of_the_last(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, LOCK, 5);
	woken_slice(&script, LOCK, 3);
	told = asked(&script);
	assert_int_equal(told->why.waits[0].waker, WHY_WAKER_TIMER);
	assert_true(told->why.waits[0].is_slice);
	assert_int_equal(told->why.waits[0].last_waker, WHY_WAKER_THREAD);
	assert_int_equal(told->why.waits[0].last_woken_by.tid, 9);
	assert_int_equal(told->why.waits[0].class, WHY_HELD_UP);
	assert_int_equal(told->why.waits[0].working_ns, 5 * MS);
	assert_false(told->why.waits[1].is_slice);
	told_free(told);
}

static void conditions_use_two_words_in_turn(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, "futex 0x5581f0 137", 50);
	slice(&script, "futex 0x5581f4 137", 50);
	woken_slice(&script, "futex 0x5581f0 137", 10);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_OTHER_THREAD, 9), 110 * MS);
	told_free(told);
}

/* The lock of a condition, or Python's GIL, is taken by all that wait: however long that takes. */
static void a_lock_in_between_does_not_end_it(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, LOCK, 30);
	slice(&script, "futex 0x7f8000 128 2", 5);
	woken_slice(&script, "futex 0x7f8000 128 2", 40);
	slice(&script, LOCK, 30);
	woken_slice(&script, "futex 0x7f8000 128 2", 40);
	woken_slice(&script, LOCK, 20);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_LOCK, 9), (30 + 5 + 40 + 30 + 40 + 20) * MS);
	assert_int_equal(told->why.slice_count, 3);
	told_free(told);
}

static void another_lock_is_another_wait(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, LOCK, 50);
	woken_slice(&script, "futex 0x990000 128 2", 10);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 50 * MS);
	assert_int_equal(charged_ns(told, WHY_LOCK, 9), 10 * MS);
	told_free(told);
}

static void to_look_is_to_ask_for_the_time_or_in_vain(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, "select 4", 500);
	call(&script, "clock_gettime", "0");
	call(&script, "uretprobe", "0"); /* of a point that is recorded */
	call(&script, "openat", "-2");
	slice(&script, "select 4", 500);
	says(&script, "cpu0 enter sched_yield", 150); /* and works, a little */
	says(&script, "cpu0 leave sched_yield 0", 1);
	woken_slice(&script, "select 4", 100);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_OTHER_THREAD, 9), 1100 * MS);
	told_free(told);
}

/* bash's read -t: what it closes is a copy of the file that it redirected for each look. */
static struct told *asked_with_close(const char *copies)
{
	struct script script = begun();
	char *text = xasprintf(
		"thread 7 7 1 R shell\nfd 7 0 file /tmp/in\nfd 7 7 pipe pipe:[1]\n%s", script.text);

	free(script.text);
	script.text = text;
	for (int i = 0; i < 3; i++) {
		slice(&script, LOCK, 5);
		call(&script, copies, "10");
		call(&script, "dup2 7 0", "0");
		call(&script, "dup2 10 0", "0");
		call(&script, "close 10", "0");
	}
	woken_slice(&script, LOCK, 10);
	return asked(&script);
}

static void a_shell_redirects_for_each_look(void **unused)
{
	struct told *told = asked_with_close("fcntl 0 0 10");

	assert_int_equal(told->why.slice_count, 3);
	told_free(told);
	told = asked_with_close("fcntl 0 1 0"); /* no copy is made: it closes something else */
	assert_int_equal(told->why.slice_count, 0);
	told_free(told);
}

/* 'calls' of 'result', up to an empty name, behind each of three slices of select(). */
static struct told *asked_with(const char *facts, const char *const (*calls)[2])
{
	struct script script = begun();
	char *text = xasprintf("thread 7 7 1 R server\n%s%s", facts, script.text);

	free(script.text);
	script.text = text;
	for (int i = 0; i < 3; i++) {
		slice(&script, "select 4", 100);
		for (int j = 0; calls[j][0]; j++)
			call(&script, calls[j][0], calls[j][1]);
	}
	woken_slice(&script, "select 4", 10);
	return asked(&script);
}

static void assert_slices(const char *facts, const char *const (*calls)[2], uint64_t count)
{
	struct told *told = asked_with(facts, calls);

	assert_int_equal(told->why.slice_count, count);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), (3 - count) * 100 * MS);
	told_free(told);
}

/* A handler of signals wakes the loop of its own thread, by a signal or a byte in a pipe: it found its own. */
static void what_it_sent_itself_is_nothing_new(void **unused)
{
	static const char pipes[] = "fd 7 3 pipe pipe:[5]\nfd 7 4 pipe pipe:[5]\n"
				    "fd 7 6 pipe pipe:[6]\n";

	assert_slices("",
		      (const char *const[][2]){ { "kill 7 23", "0" },
						{ "rt_sigreturn", "-4" },
						{ "select 4", "1" },
						{ "read 8", "128" },
						{ 0 } },
		      3);
	assert_slices(
		"", (const char *const[][2]){ { "select 4", "1" }, { "read 8", "128" }, { 0 } }, 0);
	assert_slices(
		"",
		(const char *const[][2]){
			{ "kill 9 23", "0" }, { "select 4", "1" }, { "read 8", "128" }, { 0 } },
		0);
	assert_slices(pipes,
		      (const char *const[][2]){ { "write 4", "1" },
						{ "select 4", "1" },
						{ "read 3", "1" },
						{ "read 3", "-11" },
						{ 0 } },
		      3);
	assert_slices(pipes,
		      (const char *const[][2]){
			      { "write 6", "1" }, { "select 4", "1" }, { "read 3", "1" }, { 0 } },
		      0);
	assert_slices(pipes, (const char *const[][2]){ { "write 4", "1" }, { 0 } }, 0);
}

/* A server that asks /proc for its own memory now and then has done nothing for what it waits for. */
static void a_file_that_is_read_is_a_look(void **unused)
{
	assert_slices("",
		      (const char *const[][2]){ { "openat -100 4096 0", "5" },
						{ "read 5", "320" },
						{ "close 5", "0" },
						{ 0 } },
		      3);
	assert_slices("",
		      (const char *const[][2]){
			      { "openat -100 4096 64", "5" }, { "close 5", "0" }, { 0 } },
		      0);
	assert_slices("", (const char *const[][2]){ { "close 5", "0" }, { 0 } }, 0);
	assert_slices("", (const char *const[][2]){ { "openat -100 4096 0", "5" }, { 0 } }, 0);
}

static uint64_t joined_with_sets(const char *const (*calls)[2])
{
	struct script script = begun();
	struct told *told;
	uint64_t count;

	for (int i = 0; i < 3; i++) {
		slice(&script, "epoll_wait 5", 100);
		for (int j = 0; calls[j][0]; j++)
			call(&script, calls[j][0], calls[j][1]);
	}
	woken_slice(&script, "epoll_wait 5", 10);
	told = asked(&script);
	count = told->why.slice_count;
	told_free(told);
	return count;
}

/* selectors.DefaultSelector() of Python in a loop. */
static void an_epoll_set_may_be_made_for_each_look(void **unused)
{
	assert_int_equal(joined_with_sets((const char *const[][2]){ { "close 5", "0" },
								    { "epoll_create1 0", "5" },
								    { "epoll_ctl 5 1 3", "0" },
								    { 0 } }),
			 3);
	assert_int_equal(joined_with_sets((const char *const[][2]){ { "close 9", "0" }, { 0 } }),
			 0);
	assert_int_equal(joined_with_sets((const char *const[][2]){ { "close 9", "0" },
								    { "close 5", "0" },
								    { "epoll_create1 0", "5" },
								    { 0 } }),
			 0);
}

static void who_writes_in_between_does_more_than_look(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, "select 4", 500);
	call(&script, "write 9", "5");
	slice(&script, "select 4", 500);
	call(&script, "write 9", "5");
	woken_slice(&script, "select 4", 100);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 1000 * MS);
	assert_int_equal(charged_ns(told, WHY_OTHER_THREAD, 9), 100 * MS);
	assert_int_equal(told->why.slice_count, 0);
	told_free(told);
}

/* It asks two sockets by turns, and 9 wakes it at the second one. */
static struct told *asked_by_turns(int rounds, const char *in_between, int last_ms)
{
	struct script script = begun();

	for (int i = 0; i < rounds; i++) {
		slice(&script, "recvfrom 5", 20);
		call(&script, in_between, "8");
		slice(&script, "recvfrom 6", i + 1 < rounds ? 20 : last_ms);
	}
	slice(&script, "recvfrom 5", 20);
	woken_slice(&script, "recvfrom 6", 10);
	return asked(&script);
}

static void several_things_by_turns_are_one_wait(void **unused)
{
	static const struct {
		int rounds, last_ms;
		const char *in_between;
		uint64_t slices;
	} cases[] = { { 3, 20, "getpid", 7 },	 /* the last: of what ended it */
		      { 1, 20, "getpid", 0 },	 /* may be chance */
		      { 3, 20, "write 1", 0 },	 /* it works each time */
		      { 3, 200, "getpid", 0 } }; /* another limit */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct told *told =
			asked_by_turns(cases[i].rounds, cases[i].in_between, cases[i].last_ms);
		uint64_t slices_ns = cases[i].slices * 20 * MS;

		assert_int_equal(told->why.slice_count, cases[i].slices);
		assert_int_equal(charged_ns(told, WHY_OTHER_THREAD, 9), slices_ns + 10 * MS);
		told_free(told);
	}
}

/* A client that says how far it is waits on: that only its output was written is how it is known, so it is inferred. */
static void who_only_writes_its_output_waits_on_as_inferred(void **unused)
{
	struct told *told = asked_with("", (const char *const[][2]){ { "write 2", "9" }, { 0 } });
	const struct why_root *first = &told->why.roots[0];

	assert_int_equal(first->who.tid, 9);
	assert_int_equal(first->ns, 300 * MS);
	assert_string_equal(
		told_reason(first->inferred),
		"select() was called again each time, with only output written in between");
	assert_int_equal(told->why.slice_count, 3);
	told_free(told);
	assert_slices("", (const char *const[][2]){ { "sendto 2", "9" }, { 0 } }, 0);
}

static void a_periodic_loop_works_each_time(void **unused)
{
	struct script script = begun();
	struct told *told;

	for (int i = 0; i < 5; i++) {
		slice(&script, LOCK, 50);
		script.at_us += 3000;
	}
	woken_slice(&script, LOCK, 10);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 250 * MS);
	assert_int_equal(charged_ns(told, WHY_LOCK, 9), 10 * MS);
	told_free(told);
}

/* A guest's CPU is taken away for a while, now and then: that looks like work. */
static void one_long_look_does_not_end_it(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, LOCK, 50);
	slice(&script, LOCK, 50);
	script.at_us += 3000;
	slice(&script, LOCK, 50);
	woken_slice(&script, LOCK, 10);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_LOCK, 9), 160 * MS);
	told_free(told);
}

/* For long at a time: all of them together are short. */
static void a_rare_look_may_take_long(void **unused)
{
	struct script script = begun();
	struct told *told;

	for (int i = 0; i < 8; i++) {
		slice(&script, LOCK, 50);
		script.at_us += i == 5 ? 6000 : 0;
	}
	woken_slice(&script, LOCK, 10);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_LOCK, 9), 410 * MS);
	told_free(told);
}

/* Nothing tells whether it would have been long the next time, too. */
static void a_long_look_before_the_end_ends_it(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, LOCK, 50);
	slice(&script, LOCK, 50);
	script.at_us += 3000;
	woken_slice(&script, LOCK, 10);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 100 * MS);
	assert_int_equal(charged_ns(told, WHY_LOCK, 9), 10 * MS);
	told_free(told);
}

/* Thread 8 of the process sleeps, and runs on CPU 1 when 7 looks. */
static struct script with_a_sleeper(void)
{
	struct script script = { xstrdup("  0 cpu0 switch 0(runnable) 7\n"
					 " 10us cpu0 enter clone3\n"
					 " 11us cpu0 newtask 8 thread\n"
					 " 12us cpu0 wakeupnew 8 cpu 1\n"
					 " 13us cpu0 leave clone3 8\n"
					 " 14us cpu1 switch 0(runnable) 8\n"
					 " 15us cpu1 leave clone3 0\n"
					 " 16us cpu1 enter clock_nanosleep\n"
					 " 17us cpu1 switch 8(blocked) 0\n"),
				 1000 };

	return script;
}

static void wakes_up(struct script *script)
{
	says(script, "cpu1 vector local_timer", 0);
	says(script, "cpu1 hrtimer hrtimer_wakeup", 0);
	says(script, "cpu1 waking 8 cpu 1", 0);
	says(script, "cpu1 hrtimerdone", 0);
	says(script, "cpu1 vectorexit local_timer", 0);
	says(script, "cpu1 switch 0(runnable) 8", 1);
	says(script, "cpu1 leave clock_nanosleep 0", 1);
}

/* The end of the last slice, but for its beginning. */
static void ends_itself(struct script *script)
{
	says(script, "cpu0 vector local_timer", 0);
	says(script, "cpu0 hrtimer hrtimer_wakeup", 0);
	says(script, "cpu0 waking 7 cpu 0", 0);
	says(script, "cpu0 hrtimerdone", 0);
	says(script, "cpu0 vectorexit local_timer", 0);
	says(script, "cpu0 switch 0(runnable) 7", 20);
	says(script, "cpu0 leave futex -110", 1);
}

/* Sleeps and time-outs are multiples of each other: what comes behind a time-out wakes nobody. */
static void who_woke_up_when_it_went_on_is_inferred(void **unused)
{
	struct script script = with_a_sleeper();
	struct told *told;

	slice(&script, LOCK, 50);
	slice(&script, LOCK, 50);
	says(&script, "cpu0 enter " LOCK, 1);
	says(&script, "cpu0 switch 7(blocked) 0", 49999);
	wakes_up(&script);
	ends_itself(&script);
	call(&script, "write 2", "9");
	told = asked(&script);
	assert_in_range(charged_ns(told, WHY_TIMER, 8), 149 * MS, 150 * MS);
	assert_int_equal(told->why.missed_count, 3);
	assert_int_equal(told->why.asked_ns, 2 * US);
	assert_int_equal(told->why.held_up_ns, told->why.missed_ns);
	assert_non_null(told->why.chain[0].inferred);
	told_free(told);
}

/* A shorter one is the rest of a longer time, which was up, or another sleep: who ran then did so by chance. */
static void behind_a_shorter_slice_it_is_chance(void **unused)
{
	struct script script = with_a_sleeper();
	struct told *told;

	slice(&script, LOCK, 80);
	says(&script, "cpu0 enter " LOCK, 1);
	says(&script, "cpu0 switch 7(blocked) 0", 49999);
	wakes_up(&script);
	ends_itself(&script);
	call(&script, "write 2", "9");
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 8), 0);
	assert_int_equal(told->why.missed_count, 0);
	told_free(told);
}

/* Behind a look the waiter wakes it: it has done nothing before. */
static void whom_it_woke_has_done_nothing(void **unused)
{
	struct script script = with_a_sleeper();
	struct told *told;

	slice(&script, LOCK, 50);
	slice(&script, LOCK, 50);
	slice(&script, LOCK, 50);
	says(&script, "cpu0 enter futex 0x7f0080 129 1", 1);
	says(&script, "cpu0 waking 8 cpu 1", 1);
	says(&script, "cpu0 leave futex 1", 1);
	says(&script, "cpu1 switch 0(runnable) 8", 1);
	says(&script, "cpu1 leave clock_nanosleep -4", 1);
	call(&script, "write 2", "9");
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 150 * MS);
	assert_int_equal(told->why.missed_count, 0);
	told_free(told);
}

/* The end of the program is how it went on. */
static void who_ends_behind_a_time_out_went_on(void **unused)
{
	struct script script = with_a_sleeper();
	struct told *told;

	slice(&script, LOCK, 50);
	slice(&script, LOCK, 50);
	says(&script, "cpu0 enter " LOCK, 1);
	says(&script, "cpu0 switch 7(blocked) 0", 49999);
	wakes_up(&script);
	ends_itself(&script);
	says(&script, "cpu0 enter exit_group", 5);
	says(&script, "cpu0 switch 7(dead) 0", 5);
	told = replayed(script.text);
	free(script.text);
	(void)explained(told, 7, 1 * 1000 * US, (uint64_t)script.at_us * US);
	assert_in_range(charged_ns(told, WHY_TIMER, 8), 149 * MS, 150 * MS);
	assert_int_equal(told->why.missed_count, 3);
	told_free(told);
}

/* What a program prints into a pipe nobody of it takes out: that is how it went on, and not its own signal. */
static void who_prints_into_a_pipe_and_ends_went_on(void **unused)
{
	struct script script = with_a_sleeper();
	AUTO_FREE char *text =
		xasprintf("thread 7 7 1 R waiter\nfd 7 1 pipe pipe:[5]\n%s", script.text);
	struct told *told;

	free(script.text);
	script.text = xstrdup(text);
	slice(&script, LOCK, 50);
	slice(&script, LOCK, 50);
	says(&script, "cpu0 enter " LOCK, 1);
	says(&script, "cpu0 switch 7(blocked) 0", 49999);
	wakes_up(&script);
	ends_itself(&script);
	call(&script, "write 1", "9");
	says(&script, "cpu0 enter futex 0x7f0800 128", 5);
	says(&script, "cpu0 switch 7(blocked) 0", 5000);
	says(&script, "cpu1 enter getpid", 1);
	told = replayed(script.text);
	free(script.text);
	(void)explained(told, 7, 1 * 1000 * US, (uint64_t)script.at_us * US);
	assert_in_range(charged_ns(told, WHY_TIMER, 8), 149 * MS, 150 * MS);
	assert_int_equal(told->why.missed_count, 3);
	told_free(told);
}

/* A thread with which a runtime serves itself does its housework between two slices: they are for who asks it. */
static void the_housework_of_a_runtime_is_no_end_of_its_wait(void **unused)
{
	for (int serves = 0; serves < 2; serves++) {
		struct script script = begun();
		AUTO_FREE char *text = xasprintf("thread 7 7 1 R %s\nthread 9 9 1 R asker\n%s",
						 serves ? "Finalizer" : "worker", script.text);
		struct told *told;

		free(script.text);
		script.text = xstrdup(text);
		slice(&script, LOCK, 50);
		call(&script, "write 2", "9");
		says(&script, "cpu0 enter clock_nanosleep", 1);
		says(&script, "cpu0 switch 7(blocked) 0", 9);
		says(&script, "cpu1 waking 7 cpu 0", 0);
		says(&script, "cpu0 switch 0(runnable) 7", 1);
		says(&script, "cpu0 leave clock_nanosleep 0", 2000);
		woken_slice(&script, LOCK, 50);
		told = asked(&script);
		assert_int_equal(charged_ns(told, WHY_TIMER, 7), serves ? 0 : 50 * MS);
		told_free(told);
	}
}

/* It was awake all the time, or only since the last slice but one: it may have done it, or not. */
static void who_woke_up_earlier_is_not(void **unused)
{
	struct script script = with_a_sleeper();
	struct told *told;

	slice(&script, LOCK, 50);
	says(&script, "cpu0 enter " LOCK, 1);
	says(&script, "cpu0 switch 7(blocked) 0", 20000);
	wakes_up(&script);
	ends_itself(&script);
	slice(&script, LOCK, 50);
	call(&script, "write 2", "9");
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 8), 0);
	assert_int_equal(told->why.missed_count, 0);
	told_free(told);
}

/* The last slice, whose time is up at its end: the call finds 'found' then, for 9 has made 'call' just before. */
static void too_late(struct script *script, const char *call, int found, int queued_us)
{
	AUTO_FREE char *enter = xasprintf("cpu0 enter %s", call);
	AUTO_FREE char *leave =
		xasprintf("cpu0 leave %.*s %d", (int)strcspn(call, " "), call, found);

	says(script, enter, 1);
	says(script, "cpu0 switch 7(blocked) 0", 50000);
	says(script, "cpu0 vector local_timer", 0);
	says(script, "cpu0 hrtimer hrtimer_wakeup", 0);
	says(script, "cpu0 waking 7 cpu 0", 0);
	says(script, "cpu0 hrtimerdone", 0);
	says(script, "cpu0 vectorexit local_timer", 1000);
	says(script, "cpu1 enter write 4", 1);
	says(script, "cpu1 leave write 1", queued_us);
	says(script, "cpu0 switch 0(runnable) 7", 1);
	says(script, leave, 1);
}

static void what_comes_when_the_time_is_up_ends_the_wait(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, "read 3", 50);
	slice(&script, "read 3", 50);
	too_late(&script, "read 3", 1, 1000);
	call(&script, "write 2", "9");
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 0);
	assert_in_range(charged_ns(told, WHY_OTHER_THREAD, 9), 150 * MS, 151 * MS);
	assert_int_equal(told->why.missed_count, 3);
	assert_string_equal(
		told_reason(told->why.chain[0].inferred),
		"it called write() when read() had timed out and still found something");
	told_free(told);
}

/* All waits of 7 are in that function. */
static void add_function(struct told *told, const char *module, const char *function)
{
	struct stacks *stacks = told->trace->facts.stacks = xcalloc(1, sizeof(*stacks));
	const uint32_t slot = slot_of(told, 7), frame = 0;
	struct wait wait;

	stacks_add_frame(stacks, &(struct stack_frame){ .function = function, .module = module });
	assert_true(stacks_add_stack(stacks, &frame, 1, NULL));
	for (uint32_t i = 0; i < told->tl->threads[slot]->wait_count; i++) {
		timeline_wait(told->tl, slot, i, &wait);
		stacks_add_wait(stacks,
				&(struct stack_wait){ .tid = 7,
						      .begin_ns = wait.begin_ns,
						      .end_ns = wait.woken_ns,
						      .slept_ns = wait.woken_ns - wait.begin_ns });
	}
	stacks_finish(stacks);
}

/* 9 is a stranger, and 7 gets a CPU that much after its time was up: it is known what it read, or it is not. */
static bool is_by_a_stranger(int queued_us, const char *in)
{
	struct script script = { xstrdup("thread 7 7 1 R asker\nthread 9 9 1 R doer\n"
					 "thread 5 5 1 R hog\n"
					 "  0 cpu0 switch 0(runnable) 7\n"
					 "  0 cpu1 switch 0(runnable) 9\n"),
				 1000 };
	struct told *told;
	bool is_by_it;

	slice(&script, "read 3", 50);
	slice(&script, "read 3", 50);
	too_late(&script, "read 3", 1, queued_us);
	call(&script, "write 2", "9");
	told = asked(&script);
	add_function(told, "postgres", in);
	(void)explained(told, 7, 0, 0);
	is_by_it = charged_ns(told, WHY_OTHER_THREAD, 9) > 100 * MS;
	assert_int_equal(charged_ns(told, WHY_TIMER, 7) > 0, !is_by_it);
	told_free(told);
	return is_by_it;
}

static void who_waits_for_a_cpu_meanwhile_is_not_held_up_by_a_stranger_that_writes(void **unused)
{
	assert_true(is_by_a_stranger(1000, "recv_message"));
	assert_false(is_by_a_stranger(30000, "recv_message"));
	assert_false(is_by_a_stranger(1000, "pg_sleep")); /* it waits for nobody */
}

/* Between two slices 9 writes to descriptor 4, and 8 to descriptor 5: the next call finds something, and does not sleep. */
static struct told *found_at_once(const char *call_name, const char *pipes)
{
	struct script script = {
		xasprintf("thread 7 7 1 R reader\nthread 9 9 7 R writer\nthread 8 8 7 R other\n"
			  "fd 7 3 pipe pipe:[5]\n%s"
			  "  0 cpu0 switch 0(runnable) 7\n  0 cpu1 switch 0(runnable) 9\n",
			  pipes),
		1000
	};
	bool reads = strncmp(call_name, "read", 4) == 0;

	slice(&script, call_name, 50);
	slice(&script, call_name, 50);
	says(&script, "cpu1 enter write 4", 1);
	says(&script, "cpu1 leave write 1", 1);
	says(&script, "cpu1 switch 9(runnable) 8", 1);
	says(&script, "cpu1 enter write 5", 1);
	says(&script, "cpu1 leave write 1", 1);
	call(&script, call_name, "1");
	if (!reads)
		call(&script, "read 3", "1");
	call(&script, "write 2", "9");
	return asked(&script);
}

static void what_the_next_call_finds_at_once_is_who_wrote_there(void **unused)
{
	const char *const pipes = "fd 9 4 pipe pipe:[5]\nfd 8 5 pipe pipe:[6]\n";
	const char *const calls[] = { "read 3", "poll 4096 1 50" };

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct told *told = found_at_once(calls[i], pipes);
		AUTO_FREE char *words =
			xasprintf("it called write() after %.4s() had timed out, and "
				  "the next %.4s() found something at once",
				  calls[i], calls[i]);

		assert_int_equal(charged_ns(told, WHY_TIMER, 7), 0);
		assert_int_equal(told->why.missed_count, 2);
		assert_in_range(charged_ns(told, WHY_OTHER_THREAD, 9), 99 * MS, 101 * MS);
		assert_string_equal(told_reason(told->why.chain[0].inferred), words);
		told_free(told);
	}
}

static void who_writes_elsewhere_meanwhile_is_not_told(void **unused)
{
	struct told *told = found_at_once("read 3", "fd 9 4 pipe pipe:[6]\nfd 8 5 pipe pipe:[7]\n");

	assert_int_equal(told->why.missed_count, 0);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 100 * MS);
	told_free(told);
}

/* Behind the last time-out 9, of the same process, wakes 'word', and nobody was woken by that. */
static struct told *asked_of_a_waker(const char *word, int how)
{
	AUTO_FREE char *wake = xasprintf("cpu1 enter futex %s %d 1", word, how);
	struct script script = { xstrdup("thread 7 7 1 R waiter\nthread 9 7 1 R waker\n"
					 "  0 cpu0 switch 0(runnable) 7\n"
					 "  0 cpu1 switch 0(runnable) 9\n"),
				 1000 };

	slice(&script, LOCK, 50);
	slice(&script, LOCK, 50);
	says(&script, wake, 1);
	says(&script, "cpu1 leave futex 0", 1);
	call(&script, "write 2", "9");
	return asked(&script);
}

static void who_woke_the_futex_too_late_is_inferred(void **unused)
{
	static const int hows[] = { 129, 135 }; /* FUTEX_WAKE, FUTEX_UNLOCK_PI, both private */
	struct told *told;

	for (size_t i = 0; i < ARRAY_LEN(hows); i++) {
		told = asked_of_a_waker("0x7f0014", hows[i]);
		assert_in_range(charged_ns(told, WHY_OTHER_THREAD, 9), 99 * MS, 100 * MS);
		assert_int_equal(told->why.missed_count, 2);
		told_free(told);
	}
	told = asked_of_a_waker("0x7f0024", 129);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 100 * MS);
	told_free(told);
}

/* It failed: nothing came, and who writes meanwhile has nothing to do with it. */
static void what_times_out_in_vain_is_not(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, "read 3", 50);
	slice(&script, "read 3", 50);
	too_late(&script, "read 3", -11, 1000);
	call(&script, "write 2", "9");
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 150 * MS);
	assert_int_equal(told->why.missed_count, 0);
	told_free(told);
}

/* Calls that end without an error when their time is up. */
static void a_slice_that_finds_nothing_is_no_act(void **unused)
{
	struct script script = begun();
	struct told *told;

	for (int i = 0; i < 2; i++) {
		says(&script, "cpu0 enter io_getevents 1", 1);
		says(&script, "cpu0 switch 7(blocked) 0", 50000);
		says(&script, "cpu0 vector local_timer", 0);
		says(&script, "cpu0 hrtimer hrtimer_wakeup", 0);
		says(&script, "cpu0 waking 7 cpu 0", 0);
		says(&script, "cpu0 hrtimerdone", 0);
		says(&script, "cpu0 vectorexit local_timer", 0);
		says(&script, "cpu0 switch 0(runnable) 7", 1);
		says(&script, "cpu0 leave io_getevents 0", 1);
	}
	woken_slice(&script, "io_getevents 1", 10);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 0);
	assert_int_equal(told->why.slice_count, 2);
	told_free(told);
}

/* One time-out is what was asked for, whoever wakes up then. */
static void one_time_out_is_one(void **unused)
{
	struct script script = with_a_sleeper();
	struct told *told;

	says(&script, "cpu0 enter " LOCK, 1);
	says(&script, "cpu0 switch 7(blocked) 0", 49999);
	wakes_up(&script);
	ends_itself(&script);
	call(&script, "write 2", "9");
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 8), 0);
	assert_int_equal(told->why.missed_count, 0);
	told_free(told);
}

/* It gave up: that is what the limit was for. */
static void a_time_out_that_is_acted_upon_stays_one(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, LOCK, 50);
	slice(&script, LOCK, 50);
	call(&script, "write 2", "9");
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 100 * MS);
	assert_int_equal(told->why.asked_ns, 100 * MS);
	told_free(told);
}

static void sleeps_are_no_slices(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, "nanosleep", 50);
	slice(&script, "nanosleep", 50);
	woken_slice(&script, "nanosleep", 10);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 100 * MS);
	told_free(told);
}

/* poll(NULL, 0, 50) */
static void a_poll_of_nothing_is_a_sleep(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, "poll 0 0 50", 50);
	slice(&script, "poll 0 0 50", 50);
	woken_slice(&script, "poll 0 0 50", 10);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 100 * MS);
	assert_int_equal(told->why.slice_count, 0);
	assert_false(told->why.roots[0].timed_out);
	told_free(told);
}

static void what_was_lost_in_between_may_have_been_more(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, LOCK, 50);
	says(&script, "cpu0 lost 51000us 5", 10);
	woken_slice(&script, LOCK, 10);
	told = asked(&script);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 50 * MS);
	told_free(told);
}

/* It never came: what it waited for in all slices is what it waits for in the last. */
static void slices_without_an_end_wait_for_what_did_not_come(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, LOCK, 50);
	slice(&script, LOCK, 50);
	says(&script, "cpu0 enter " LOCK, 1);
	says(&script, "cpu0 switch 7(blocked) 0", 20000);
	says(&script, "cpu1 enter getpid", 1);
	says(&script, "cpu1 leave getpid 9", 1);
	told = replayed(script.text);
	(void)explained(told, 7, 1 * 1000 * US, 0);
	free(script.text);
	assert_int_equal(charged_ns(told, WHY_TIMER, 7), 0);
	assert_in_range(charged_ns(told, WHY_STUCK, 7), 120 * MS, 121 * MS);
	told_free(told);
}

/* 8 waits in slices for 7 meanwhile, which waits in slices for 8. */
static void two_that_wait_for_each_other_end(void **unused)
{
	struct script script = begun();
	struct told *told;

	slice(&script, LOCK, 5);
	says(&script, "cpu1 enter " LOCK, 1);
	says(&script, "cpu1 switch 9(blocked) 0", 1);
	slice(&script, LOCK, 5);
	says(&script, "cpu0 enter " LOCK, 1);
	says(&script, "cpu0 waking 9 cpu 1", 0);
	says(&script, "cpu1 switch 0(runnable) 9", 1);
	says(&script, "cpu0 switch 7(blocked) 0", 1000);
	says(&script, "cpu1 waking 7 cpu 0", 0);
	says(&script, "cpu0 switch 0(runnable) 7", 1);
	told = asked(&script);
	assert_int_equal(told->why.depth_limit_hits, 0);
	assert_true(charged_ns(told, WHY_TIMER, 7) >= 4 * MS);
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_charged_to_what_ended_the_last),
		cmocka_unit_test(what_ends_slices_later_is_no_cause),
		cmocka_unit_test(each_slice_is_told_with_the_end_of_the_last),
		cmocka_unit_test(conditions_use_two_words_in_turn),
		cmocka_unit_test(a_lock_in_between_does_not_end_it),
		cmocka_unit_test(another_lock_is_another_wait),
		cmocka_unit_test(to_look_is_to_ask_for_the_time_or_in_vain),
		cmocka_unit_test(a_shell_redirects_for_each_look),
		cmocka_unit_test(what_it_sent_itself_is_nothing_new),
		cmocka_unit_test(a_file_that_is_read_is_a_look),
		cmocka_unit_test(who_writes_in_between_does_more_than_look),
		cmocka_unit_test(an_epoll_set_may_be_made_for_each_look),
		cmocka_unit_test(several_things_by_turns_are_one_wait),
		cmocka_unit_test(who_only_writes_its_output_waits_on_as_inferred),
		cmocka_unit_test(a_periodic_loop_works_each_time),
		cmocka_unit_test(one_long_look_does_not_end_it),
		cmocka_unit_test(a_rare_look_may_take_long),
		cmocka_unit_test(a_long_look_before_the_end_ends_it),
		cmocka_unit_test(who_woke_up_when_it_went_on_is_inferred),
		cmocka_unit_test(behind_a_shorter_slice_it_is_chance),
		cmocka_unit_test(whom_it_woke_has_done_nothing),
		cmocka_unit_test(who_ends_behind_a_time_out_went_on),
		cmocka_unit_test(who_prints_into_a_pipe_and_ends_went_on),
		cmocka_unit_test(the_housework_of_a_runtime_is_no_end_of_its_wait),
		cmocka_unit_test(who_woke_up_earlier_is_not),
		cmocka_unit_test(what_comes_when_the_time_is_up_ends_the_wait),
		cmocka_unit_test(
			who_waits_for_a_cpu_meanwhile_is_not_held_up_by_a_stranger_that_writes),
		cmocka_unit_test(what_the_next_call_finds_at_once_is_who_wrote_there),
		cmocka_unit_test(who_writes_elsewhere_meanwhile_is_not_told),
		cmocka_unit_test(who_woke_the_futex_too_late_is_inferred),
		cmocka_unit_test(what_times_out_in_vain_is_not),
		cmocka_unit_test(a_slice_that_finds_nothing_is_no_act),
		cmocka_unit_test(one_time_out_is_one),
		cmocka_unit_test(a_time_out_that_is_acted_upon_stays_one),
		cmocka_unit_test(sleeps_are_no_slices),
		cmocka_unit_test(a_poll_of_nothing_is_a_sleep),
		cmocka_unit_test(what_was_lost_in_between_may_have_been_more),
		cmocka_unit_test(slices_without_an_end_wait_for_what_did_not_come),
		cmocka_unit_test(two_that_wait_for_each_other_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

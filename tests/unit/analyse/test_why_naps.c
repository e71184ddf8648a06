/*
 * test_why_naps.c - sleeps with nothing in between are charged to who alone changed what it did as they ended.
 */
#include "event/stacks.h"
#include "told.h"

#define US 1000
#define MS (1000 * US)

/* Thread 7 sleeps again and again; 8, of the same process, is on CPU 1. */
struct script {
	char *text; /* owned */
	int at_us;
};

static void says(struct script *script, const char *line, int for_us)
{
	char *more = xasprintf("%s%dus %s\n", script->text, script->at_us, line);

	free(script->text);
	script->text = more;
	script->at_us += for_us;
}

static void by_timer_of(struct script *script, int cpu, int tid, const char *leaves)
{
	AUTO_FREE char *text =
		xasprintf("cpu%d vector local_timer\n%dus cpu%d hrtimer hrtimer_wakeup\n"
			  "%dus cpu%d waking %d cpu %d\n%dus cpu%d hrtimerdone\n"
			  "%dus cpu%d vectorexit local_timer\n%dus cpu%d switch 0(runnable) %d\n"
			  "%dus cpu%d leave %s",
			  cpu, script->at_us, cpu, script->at_us, cpu, tid, cpu, script->at_us, cpu,
			  script->at_us, cpu, script->at_us, cpu, tid, script->at_us + 1, cpu,
			  leaves);

	says(script, text, 3);
}

static void by_timer(struct script *script, int cpu, int tid)
{
	by_timer_of(script, cpu, tid, "clock_nanosleep 0");
}

static void sleep_begins(struct script *script)
{
	says(script, "cpu0 enter clock_nanosleep", 1);
	says(script, "cpu0 switch 7(blocked) 0", 0);
}

static void naps(struct script *script, int count, int ms)
{
	for (int i = 0; i < count; i++) {
		sleep_begins(script);
		script->at_us += ms * 1000;
		by_timer(script, 0, 7);
	}
}

/* In the last sleep, of 10 ms, 8 does 'line'. */
static void last_nap(struct script *script, const char *line)
{
	sleep_begins(script);
	script->at_us += 6000;
	if (line)
		says(script, line, 0);
	else
		by_timer(script, 1, 8);
	script->at_us += 4000;
	by_timer(script, 0, 7);
	says(script, "cpu0 enter write 1", 5);
	says(script, "cpu0 leave write 1", 5);
}

/* 8 sleeps, or works. */
static struct script begun(bool sleeps)
{
	struct script script = { xstrdup("thread 7 7 1 R waiter\nthread 8 7 1 R other\n"
					 "thread 10 7 1 R third\n"
					 "  0 cpu0 switch 0(runnable) 7\n"
					 "  0 cpu1 switch 0(runnable) 8\n"),
				 1000 };

	if (sleeps) {
		says(&script, "cpu1 enter clock_nanosleep", 1);
		says(&script, "cpu1 switch 8(blocked) 0", 1);
	}
	return script;
}

static struct told *asked(struct script *script)
{
	struct told *told;

	says(script, "cpu0 switch 7(blocked) 0", 0);
	told = replayed(script->text);
	free(script->text);
	(void)explained(told, 7, 1 * MS, (uint64_t)script->at_us * US);
	return told;
}

/* Of the time that it slept, what is not its own. */
static uint64_t inferred_ns(const struct told *told)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < told->why.root_count; i++) {
		if (told->why.roots[i].inferred && told->why.roots[i].who.tid == 8)
			ns += told->why.roots[i].ns;
	}
	assert_int_equal(ns, told->why.missed_ns);
	return ns;
}

static void inferred(struct script script, int from_ms, int to_ms)
{
	struct told *told = asked(&script);

	assert_in_range(inferred_ns(told), from_ms * MS, to_ms * MS);
	told_free(told);
}

static void who_woke_up_in_the_last_sleep_is_inferred(void **unused)
{
	struct script script = begun(true);
	struct told *told;

	naps(&script, 5, 10);
	last_nap(&script, NULL);
	told = asked(&script);
	assert_in_range(inferred_ns(told), 55 * MS, 57 * MS);
	assert_string_equal(told_reason(told->why.chain[0].inferred),
			    "it alone woke up as 6 equal sleeps in clock_nanosleep() ended, "
			    "between which nothing was done: what they were for is in memory, "
			    "and not recorded");
	told_free(told);
}

/* 8 sleeps as runtimes do, in futex() with a limit, and once more behind that: what it did in between is what 7 looked for. */
static void a_sleep_before_an_act_goes_no_further(void **unused)
{
	struct script script = begun(false);
	struct told *told;

	says(&script, "cpu1 enter futex 0x7000 128", 1);
	says(&script, "cpu1 switch 8(blocked) 0", 1);
	naps(&script, 5, 10);
	sleep_begins(&script);
	script.at_us += 6000;
	by_timer_of(&script, 1, 8, "futex -110");
	says(&script, "cpu1 enter futex 0x7000 128", 1);
	says(&script, "cpu1 switch 8(blocked) 0", 1);
	script.at_us += 4000;
	by_timer(&script, 0, 7);
	says(&script, "cpu0 enter write 1", 5);
	says(&script, "cpu0 leave write 1", 5);
	told = asked(&script);
	assert_in_range(inferred_ns(told), 55 * MS, 57 * MS);
	for (size_t i = 0; i < told->why.root_count; i++)
		assert_true(!told->why.roots[i].inferred || told->why.roots[i].kind == WHY_TIMER);
	told_free(told);
}

/* A thread with which the runtime serves itself wakes up now and then, for nothing that a program waits for. */
static void a_thread_of_the_runtimes_own_sets_nothing(void **unused)
{
	struct script script = begun(true);
	char *name = strstr(script.text, "other");

	char *text = xasprintf("%.*sFinalizer%s", (int)(name - script.text), script.text,
			       name + strlen("other"));

	free(script.text);
	script.text = text;
	naps(&script, 5, 10);
	last_nap(&script, NULL);
	inferred(script, 0, 0);
}

static void so_is_who_stopped_working_then(void **unused)
{
	struct script script = begun(false);

	naps(&script, 5, 10);
	last_nap(&script, "cpu1 switch 8(blocked) 0");
	inferred(script, 55, 57);
}

/* Java's sleep is a wait at a futex: its code says that it sleeps. */
static void a_sleep_in_another_call_is_one_as_well(void **unused)
{
	const struct tl_thread *waiter;
	struct script script = begun(false);
	const uint32_t frame = 0;
	struct stacks *stacks;
	struct told *told;
	struct wait wait;

	for (int i = 0; i < 6; i++) {
		says(&script, "cpu0 enter futex 0x7f0010 137 0", 1);
		says(&script, "cpu0 switch 7(blocked) 0", 6000);
		if (i == 5)
			says(&script, "cpu1 switch 8(blocked) 0", 0);
		script.at_us += 4000;
		by_timer_of(&script, 0, 7, "futex -110");
	}
	says(&script, "cpu0 enter write 1", 5);
	says(&script, "cpu0 leave write 1", 5);
	told = asked(&script);
	stacks = told->trace->facts.stacks = xcalloc(1, sizeof(*stacks));
	stacks_add_frame(stacks, &(struct stack_frame){ .function = "JavaThread::sleep",
							.module = "libjvm.so" });
	assert_true(stacks_add_stack(stacks, &frame, 1, NULL));
	waiter = told->tl->threads[slot_of(told, 7)];
	for (uint32_t i = 0; i < waiter->wait_count; i++) {
		timeline_wait(told->tl, slot_of(told, 7), i, &wait);
		stacks_add_wait(stacks,
				&(struct stack_wait){ .tid = 7,
						      .begin_ns = wait.begin_ns,
						      .end_ns = wait.woken_ns,
						      .slept_ns = wait.woken_ns - wait.begin_ns });
	}
	stacks_finish(stacks);
	(void)explained(told, 7, 1 * MS, (uint64_t)script.at_us * US);
	assert_in_range(inferred_ns(told), 55 * MS, 57 * MS);
	told_free(told);
}

/* In between it waits for locks with a limit, as Python does for its own: the sleeps are one loop all the same. */
static void waits_for_locks_in_between_do_not_split_the_loop(void **unused)
{
	struct script script = begun(true);
	struct told *told;

	for (int i = 0; i < 5; i++) {
		naps(&script, 1, 10);
		for (int lock = 0; lock < 5; lock++) {
			AUTO_FREE char *enter = xasprintf("cpu0 enter futex 0x7%d0000 128", lock);

			says(&script, enter, 1);
			says(&script, "cpu0 switch 7(blocked) 0", 1000);
			by_timer_of(&script, 0, 7, "futex -110");
		}
	}
	last_nap(&script, NULL);
	told = asked(&script);
	assert_in_range(inferred_ns(told), 55 * MS, 57 * MS);
	for (size_t i = 0; i < told->why.root_count; i++)
		assert_true(!told->why.roots[i].inferred ||
			    told->why.roots[i].inferred->number == 6);
	told_free(told);
}

/* What a program asks for as it begins is nothing that its first sleep is for. */
static void a_question_before_the_first_sleep_alone_is_another_one(void **unused)
{
	struct script script = begun(true);

	says(&script, "cpu0 enter access", 5);
	says(&script, "cpu0 leave access -2", 5);
	naps(&script, 5, 10);
	last_nap(&script, NULL);
	inferred(script, 55, 57);
}

/*
 * Stacks: burn() called by load(); the same by save(), and by load() further down. Looks at 8 every 3 ms: in the
 * stack 'before' up to 'until_ms', then in 'behind'.
 */
static void add_looks(struct told *told, uint32_t before, uint32_t behind, int until_ms)
{
	struct stacks *stacks = xcalloc(1, sizeof(*stacks));
	static const char *const names[] = { "burn", "load", "save", "load", "main" };

	for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
		stacks_add_frame(stacks, &(struct stack_frame){ .function = names[i],
								.module = "prog",
								.path = "/prog",
								.offset = 0x1000 + 16 * i });
	for (uint32_t i = 1; i < 4; i++)
		assert_true(stacks_add_stack(stacks, (uint32_t[]){ 0, i, 4 }, 3, NULL));
	for (int ms = 2; ms < 100; ms += 3)
		stacks_add_sample(stacks, &(struct stack_sample){
						  .tid = 8,
						  .time_ns = (uint64_t)ms * MS,
						  .stack = ms <= until_ms ? before : behind });
	stacks->sampling.period_ns = 3 * MS;
	stacks_finish(stacks);
	told->trace->facts.stacks = stacks;
}

/* 7 looks at memory up to 61 ms, and goes on; 8 works all the time. */
static struct told *worked_on(uint32_t before, uint32_t behind, int until_ms)
{
	struct script script = begun(false);
	struct told *told;

	naps(&script, 6, 10);
	says(&script, "cpu0 enter write 1", 5);
	says(&script, "cpu0 leave write 1", 40000);
	says(&script, "cpu0 switch 7(blocked) 0", 0);
	told = replayed(script.text);
	free(script.text);
	add_looks(told, before, behind, until_ms);
	(void)explained(told, 7, 1 * MS, (uint64_t)script.at_us * US);
	return told;
}

static void so_is_who_worked_on_in_other_code(void **unused)
{
	for (uint32_t behind = 1; behind < 3; behind++) {
		struct told *told = worked_on(0, behind, 55);

		assert_in_range(inferred_ns(told), 54 * MS, 56 * MS);
		assert_string_equal(
			told_reason(told->why.chain[0].inferred),
			"it alone went on in other code as 6 equal sleeps in clock_nanosleep() "
			"ended, between which nothing was done: what they were for is in memory, "
			"and not recorded");
		told_free(told);
	}
}

/* In the same code, or in other code only behind the last sleep: as 7 has it do. Or it was there before now and then. */
static void but_not_who_is_seen_there_too_late_or_too_early(void **unused)
{
	static const struct {
		uint32_t before, behind;
		int until_ms;
	} cases[] = { { 0, 0, 55 }, { 0, 1, 62 }, { 0, 1, 66 }, { 0, 1, 45 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct told *told = worked_on(cases[i].before, cases[i].behind, cases[i].until_ms);

		assert_int_equal(inferred_ns(told), 0);
		told_free(told);
	}
}

static void and_who_ended(void **unused)
{
	struct script script = begun(false);

	naps(&script, 5, 10);
	last_nap(&script, "cpu1 switch 8(dead) 0");
	inferred(script, 55, 57);
}

/* 7 sleeps for a while, and has 8 stop: what 8 does behind that it does because 7 went on. */
static void who_stops_or_ends_behind_it_did_not_set_it(void **unused)
{
	for (int ends = 0; ends < 2; ends++) {
		struct script script = begun(false);

		naps(&script, 6, 10);
		says(&script, "cpu0 enter getpid", 2);
		says(&script, "cpu0 leave getpid 7", 20);
		says(&script, ends ? "cpu1 enter exit" : "cpu1 enter futex 0x7000 128", 5);
		says(&script, ends ? "cpu1 switch 8(dead) 0" : "cpu1 switch 8(blocked) 0", 5);
		says(&script, "cpu0 enter write 1", 5);
		says(&script, "cpu0 leave write 1", 5);
		inferred(script, 0, 0);
	}
}

/* It had set it before, and makes the calls with which it ends. */
static void but_who_began_to_end_before_it(void **unused)
{
	struct script script = begun(false);

	naps(&script, 5, 10);
	sleep_begins(&script);
	script.at_us += 9990;
	says(&script, "cpu1 enter munmap", 5);
	by_timer(&script, 0, 7);
	says(&script, "cpu1 leave munmap 0", 20);
	says(&script, "cpu1 enter exit", 5);
	says(&script, "cpu1 switch 8(dead) 0", 5);
	says(&script, "cpu0 enter write 1", 5);
	says(&script, "cpu0 leave write 1", 5);
	inferred(script, 55, 61);
}

/* Thread 10 sleeps on CPU 2, and ends with its process: it did not end for that. */
static void who_slept_all_along_ended_for_nothing(void **unused)
{
	struct script script = begun(false);
	struct told *told;

	says(&script, "cpu2 switch 0(runnable) 10", 1);
	says(&script, "cpu2 enter futex 0x7000 128", 1);
	says(&script, "cpu2 switch 10(blocked) 0", 1);
	naps(&script, 5, 10);
	last_nap(&script, "cpu1 switch 8(blocked) 0");
	says(&script, "cpu0 waking 10 cpu 2", 1);
	says(&script, "cpu2 switch 0(runnable) 10", 1);
	says(&script, "cpu2 leave futex 0", 1);
	says(&script, "cpu2 enter exit", 1);
	says(&script, "cpu2 switch 10(dead) 0", 1);
	told = asked(&script);
	assert_in_range(inferred_ns(told), 55 * MS, 57 * MS);
	told_free(told);
}

/* Thread 10 wakes up every 35 ms on CPU 2, also in the last sleep, and 8 for the first time. */
static void who_changed_before_did_not_now(void **unused)
{
	struct script script = begun(true);
	struct told *told;

	says(&script, "cpu2 switch 0(runnable) 10", 1);
	for (int i = 0; i < 3; i++) {
		says(&script, "cpu2 enter clock_nanosleep", 1);
		says(&script, "cpu2 switch 10(blocked) 0", 1);
		naps(&script, 5, 10);
		if (i < 2)
			by_timer(&script, 2, 10);
	}
	sleep_begins(&script);
	script.at_us += 3000;
	by_timer(&script, 2, 10);
	by_timer(&script, 1, 8);
	script.at_us += 7000;
	by_timer(&script, 0, 7);
	says(&script, "cpu0 enter write 1", 5);
	says(&script, "cpu0 leave write 1", 5);
	told = asked(&script);
	assert_in_range(inferred_ns(told), 150 * MS, 160 * MS);
	told_free(told);
}

/* 10 slept before 7 did, and wakes up by chance; 8 is made for it, and slept since a moment later. */
static void who_came_a_moment_later_counts_as_well(void **unused)
{
	struct script script = begun(false);
	struct told *told;

	says(&script, "cpu2 switch 0(runnable) 10", 1);
	says(&script, "cpu2 enter clock_nanosleep", 1);
	says(&script, "cpu2 switch 10(blocked) 0", 1);
	sleep_begins(&script);
	says(&script, "cpu1 enter clock_nanosleep", 1);
	says(&script, "cpu1 switch 8(blocked) 0", 10000);
	by_timer(&script, 0, 7);
	naps(&script, 5, 10);
	sleep_begins(&script);
	script.at_us += 3000;
	by_timer(&script, 2, 10);
	by_timer(&script, 1, 8);
	script.at_us += 7000;
	by_timer(&script, 0, 7);
	says(&script, "cpu0 enter write 1", 5);
	says(&script, "cpu0 leave write 1", 5);
	told = asked(&script);
	assert_int_equal(told->why.missed_ns, 0);
	told_free(told);
}

/* 7 has forked 9, of another name by now, which works and ends; nothing is known of 8. */
static void a_fork_of_another_name_may_have_set_it(void **unused)
{
	for (int execs = 0; execs < 2; execs++) {
		struct script script = { xstrdup("thread 7 7 1 R waiter\n"
						 "  0 cpu0 switch 0(runnable) 7\n"
						 " 10us cpu0 enter clone\n"
						 " 11us cpu0 newtask 9\n"
						 " 12us cpu0 wakeupnew 9 cpu 1\n"
						 " 13us cpu0 leave clone 9\n"
						 " 14us cpu1 switch 0(runnable) 9\n"
						 " 15us cpu1 leave clone 0\n"
						 " 16us cpu1 rename 9 setter\n"),
					 1000 };
		struct told *told;
		uint64_t ns = 0;

		if (execs) {
			says(&script, "cpu1 enter execve", 1);
			says(&script, "cpu1 leave execve 0", 1);
		}
		naps(&script, 5, 10);
		last_nap(&script, "cpu1 switch 9(dead) 0");
		told = asked(&script);
		for (size_t i = 0; i < told->why.root_count; i++)
			ns += told->why.roots[i].inferred ? told->why.roots[i].ns : 0;
		assert_in_range(ns, execs ? 0 : 55 * MS, execs ? 0 : 57 * MS);
		told_free(told);
	}
}

static void who_works_on_changed_nothing(void **unused)
{
	struct script script = begun(false);

	naps(&script, 5, 10);
	last_nap(&script, "cpu1 enter getpid");
	inferred(script, 0, 0);
}

/* It woke up in an earlier one, and sleeps again. */
static void who_woke_up_before_is_not(void **unused)
{
	struct script script = begun(true);

	naps(&script, 3, 10);
	by_timer(&script, 1, 8);
	says(&script, "cpu1 enter clock_nanosleep", 1);
	says(&script, "cpu1 switch 8(blocked) 0", 1);
	naps(&script, 2, 10);
	last_nap(&script, NULL);
	inferred(script, 0, 0);
}

static void few_sleeps_may_be_chance(void **unused)
{
	struct script script = begun(true);

	naps(&script, 2, 10);
	last_nap(&script, NULL);
	inferred(script, 0, 0);
}

/* Who tries again waits longer each time. */
static void sleeps_that_grow_are_no_look_each(void **unused)
{
	struct script script = begun(true);

	for (int ms = 10; ms <= 160; ms *= 2)
		naps(&script, 1, ms);
	last_nap(&script, NULL);
	inferred(script, 0, 0);
}

/* Those before them are of another loop. */
static void sleeps_of_another_length_begin_anew(void **unused)
{
	struct script script = begun(true);

	naps(&script, 3, 50);
	naps(&script, 5, 10);
	last_nap(&script, NULL);
	inferred(script, 55, 57);
}

static void called_between(const char *call, const char *result)
{
	struct script script = begun(true);
	AUTO_FREE char *enter = xasprintf("cpu0 enter %s", call);
	AUTO_FREE char *leave =
		xasprintf("cpu0 leave %.*s %s", (int)strcspn(call, " "), call, result);

	for (int i = 0; i < 6; i++) {
		naps(&script, 1, 10);
		says(&script, enter, 1);
		says(&script, leave, 1);
	}
	last_nap(&script, NULL);
	inferred(script, 0, 0);
}

static void who_writes_or_reads_each_time_does_more_than_look(void **unused)
{
	called_between("write 1", "5");
	called_between("read 3", "5");
}

static void who_works_each_time_does_more_than_look(void **unused)
{
	struct script script = begun(true);

	for (int i = 0; i < 6; i++) {
		naps(&script, 1, 10);
		script.at_us += 3000;
	}
	last_nap(&script, NULL);
	inferred(script, 0, 0);
}

static void without_anybody_the_sleeps_are_told(void **unused)
{
	struct script script = begun(false);
	struct told *told;

	naps(&script, 5, 10);
	last_nap(&script, "cpu1 enter getpid");
	told = asked(&script);
	assert_int_equal(told->why.roots[0].kind, WHY_TIMER);
	assert_int_equal(told->why.roots[0].polls.bare, 5);
	assert_int_equal(told->why.roots[0].polls.sleeps, 6);
	assert_in_range(told->why.roots[0].polls.bare_ns, 10 * MS, 11 * MS);
	assert_null(told->why.roots[0].polls.call);
	told_free(told);
}

/* 8 is a child with a program of its own; both map the file at descriptor 3, 8 by 'map'. */
static struct script begun_with_file(const char *map)
{
	struct script script = { xstrdup("thread 7 7 1 R waiter\nthread 8 8 7 R other\n"
					 "fd 7 3 file /dev/shm/queue\nfd 8 3 file /dev/shm/queue\n"
					 "  0 cpu0 switch 0(runnable) 7\n"
					 "  0 cpu1 switch 0(runnable) 8\n"),
				 1000 };
	AUTO_FREE char *line = xasprintf("cpu1 enter %s", map);

	says(&script, "cpu0 enter mmap 0 4096 1 1 3 0", 1);
	says(&script, "cpu0 leave mmap 4096", 1);
	says(&script, line, 1);
	says(&script, "cpu1 leave mmap 4096", 1);
	return script;
}

static void memory_of_a_file_is_shared_by_programs(void **unused)
{
	struct script script = begun_with_file("mmap 0 4096 3 1 3 0");

	naps(&script, 5, 10);
	last_nap(&script, "cpu1 switch 8(blocked) 0");
	inferred(script, 50, 57);
	script = begun_with_file("mmap 0 4096 1 1 3 0");
	naps(&script, 5, 10);
	last_nap(&script, "cpu1 switch 8(blocked) 0");
	inferred(script, 0, 0);
}

/* It has no CPU for 20 ms behind one of its sleeps of 30 ms, and sleeps for so long then. */
static struct script had_no_cpu(int then_ms)
{
	struct script script = begun(true);
	const char *const timer[] = { "cpu0 vector local_timer", "cpu0 hrtimer hrtimer_wakeup",
				      "cpu0 waking 7 cpu 0", "cpu0 hrtimerdone",
				      "cpu0 vectorexit local_timer" };

	naps(&script, 3, 30);
	sleep_begins(&script);
	script.at_us += 30000;
	for (size_t i = 0; i < ARRAY_LEN(timer); i++)
		says(&script, timer[i], 0);
	script.at_us += 20000;
	says(&script, "cpu0 switch 0(runnable) 7", 1);
	says(&script, "cpu0 leave clock_nanosleep 0", 2);
	naps(&script, 1, then_ms);
	naps(&script, 2, 30);
	sleep_begins(&script);
	script.at_us += 20000;
	by_timer(&script, 1, 8);
	script.at_us += 10000;
	by_timer(&script, 0, 7);
	says(&script, "cpu0 enter write 1", 5);
	says(&script, "cpu0 leave write 1", 5);
	return script;
}

static void who_sleeps_until_a_point_in_time_may_sleep_for_less(void **unused)
{
	inferred(had_no_cpu(10), 208, 212);
	inferred(had_no_cpu(60), 0, 0);
}

/* io_uring_enter() says how much it handed in: that is nothing found. */
static void the_time_of_a_ring_may_be_a_sleep(void **unused)
{
	struct script script = begun(true);
	struct told *told;

	for (int i = 0; i < 6; i++) {
		says(&script, "cpu0 enter io_uring_enter 3 1 1 1", 1);
		says(&script, "cpu0 switch 7(blocked) 0", 6000);
		if (i == 5)
			by_timer(&script, 1, 8);
		script.at_us += 4000;
		by_timer_of(&script, 0, 7, "io_uring_enter 1");
	}
	says(&script, "cpu0 enter write 1", 5);
	says(&script, "cpu0 leave write 1", 5);
	told = asked(&script);
	assert_in_range(inferred_ns(told), 55 * MS, 57 * MS);
	assert_string_equal(told_reason(told->why.chain[0].inferred),
			    "it alone woke up as 6 equal time-outs in io_uring_enter() ended, "
			    "between which nothing was done: what they were for is in memory, "
			    "and not recorded");
	told_free(told);
}

static void who_writes_into_its_memory_by_a_call_is_inferred(void **unused)
{
	struct script script = begun_with_file("mmap 0 4096 3 2 3 0");

	naps(&script, 2, 10);
	sleep_begins(&script);
	script.at_us += 6000;
	says(&script, "cpu1 enter process_vm_writev 7 4096 1 4096 1 0", 5);
	says(&script, "cpu1 leave process_vm_writev 4", 5);
	script.at_us += 4000;
	by_timer(&script, 0, 7);
	says(&script, "cpu0 enter write 1", 5);
	says(&script, "cpu0 leave write 1", 5);
	inferred(script, 25, 27);
}

/* It says now and then how long it has slept. */
static void output_now_and_then_does_not_split_the_loop(void **unused)
{
	struct script script = begun(true);

	for (int i = 0; i < 6; i++) {
		naps(&script, 1, 10);
		if (i % 3 == 2) {
			says(&script, "cpu0 enter write 2", 5);
			says(&script, "cpu0 leave write 9", 5);
		}
	}
	last_nap(&script, NULL);
	inferred(script, 65, 68);
}

/* 8 works, and begins to wait in the last sleep: 7 or 10 has it go on behind that. */
static struct script waits_at_last(int waker)
{
	struct script script = begun(false);
	AUTO_FREE char *wakes = xasprintf("cpu%d waking 8 cpu 1", waker == 7 ? 0 : 2);

	says(&script, "cpu2 switch 0(runnable) 10", 1);
	naps(&script, 5, 10);
	last_nap(&script, "cpu1 switch 8(blocked) 0");
	says(&script, wakes, 10);
	says(&script, "cpu1 switch 0(runnable) 8", 10);
	return script;
}

/* 8 waits for a lock that 7 needs to look, as Python's GIL: as 7 wakes up, or earlier, too, for another thread's time with it. */
static void lock_is_taken(struct script *script, const char *wakes)
{
	says(script, "cpu1 enter futex 0x7f0010 128", 1);
	says(script, "cpu1 switch 8(blocked) 0", 500);
	says(script, wakes, 10);
	says(script, "cpu1 switch 0(runnable) 8", 1);
	says(script, "cpu1 leave futex 0", 1);
}

static struct script waits_for_a_lock(bool earlier)
{
	struct script script = begun(false);

	says(&script, "cpu2 switch 0(runnable) 10", 1);
	naps(&script, 4, 10);
	sleep_begins(&script);
	script.at_us += 2000;
	if (earlier)
		lock_is_taken(&script, "cpu2 waking 8 cpu 1");
	script.at_us += 7500;
	by_timer(&script, 0, 7);
	sleep_begins(&script);
	script.at_us += 6000;
	if (earlier) {
		says(&script, "cpu1 enter futex 0x7f0010 128", 1);
		says(&script, "cpu1 switch 8(blocked) 0", 1);
	}
	script.at_us += 4000;
	by_timer(&script, 0, 7);
	if (!earlier) {
		says(&script, "cpu1 enter futex 0x7f0010 128", 1);
		says(&script, "cpu1 switch 8(blocked) 0", 1);
	}
	says(&script, "cpu0 enter write 1", 5);
	says(&script, "cpu0 leave write 1", 5);
	says(&script, "cpu0 waking 8 cpu 1", 10);
	says(&script, "cpu1 switch 0(runnable) 8", 10);
	says(&script, "cpu1 leave futex 0", 10);
	return script;
}

static void who_waits_until_the_sleeper_goes_on_had_set_it(void **unused)
{
	inferred(waits_at_last(7), 55, 57);
	inferred(waits_at_last(10), 0, 0);
	inferred(waits_for_a_lock(false), 0, 0);
	inferred(waits_for_a_lock(true), 0, 0);
}

/* It sets that one sleep later than it wakes up: it has something to do before. */
static void woken_before(struct script script, int pause_us, int from_ms, int to_ms)
{
	naps(&script, 5, 10);
	sleep_begins(&script);
	script.at_us += 8000;
	by_timer(&script, 1, 8);
	if (pause_us) {
		says(&script, "cpu1 enter nanosleep", 1);
		says(&script, "cpu1 switch 8(blocked) 0", pause_us);
		by_timer_of(&script, 1, 8, "nanosleep 0");
	}
	script.at_us += 2000 - pause_us;
	by_timer(&script, 0, 7);
	last_nap(&script, "cpu1 enter getpid");
	inferred(script, from_ms, to_ms);
}

static void who_woke_up_just_before_and_is_at_it_still_is_inferred(void **unused)
{
	woken_before(begun(true), 0, 60, 71);
	woken_before(begun(true), 1000, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_woke_up_in_the_last_sleep_is_inferred),
		cmocka_unit_test(a_sleep_before_an_act_goes_no_further),
		cmocka_unit_test(a_thread_of_the_runtimes_own_sets_nothing),
		cmocka_unit_test(so_is_who_stopped_working_then),
		cmocka_unit_test(a_sleep_in_another_call_is_one_as_well),
		cmocka_unit_test(waits_for_locks_in_between_do_not_split_the_loop),
		cmocka_unit_test(a_question_before_the_first_sleep_alone_is_another_one),
		cmocka_unit_test(so_is_who_worked_on_in_other_code),
		cmocka_unit_test(but_not_who_is_seen_there_too_late_or_too_early),
		cmocka_unit_test(and_who_ended),
		cmocka_unit_test(who_stops_or_ends_behind_it_did_not_set_it),
		cmocka_unit_test(but_who_began_to_end_before_it),
		cmocka_unit_test(who_slept_all_along_ended_for_nothing),
		cmocka_unit_test(who_changed_before_did_not_now),
		cmocka_unit_test(who_came_a_moment_later_counts_as_well),
		cmocka_unit_test(a_fork_of_another_name_may_have_set_it),
		cmocka_unit_test(who_works_on_changed_nothing),
		cmocka_unit_test(who_woke_up_before_is_not),
		cmocka_unit_test(few_sleeps_may_be_chance),
		cmocka_unit_test(sleeps_that_grow_are_no_look_each),
		cmocka_unit_test(sleeps_of_another_length_begin_anew),
		cmocka_unit_test(who_writes_or_reads_each_time_does_more_than_look),
		cmocka_unit_test(who_works_each_time_does_more_than_look),
		cmocka_unit_test(memory_of_a_file_is_shared_by_programs),
		cmocka_unit_test(who_sleeps_until_a_point_in_time_may_sleep_for_less),
		cmocka_unit_test(the_time_of_a_ring_may_be_a_sleep),
		cmocka_unit_test(who_writes_into_its_memory_by_a_call_is_inferred),
		cmocka_unit_test(without_anybody_the_sleeps_are_told),
		cmocka_unit_test(output_now_and_then_does_not_split_the_loop),
		cmocka_unit_test(who_waits_until_the_sleeper_goes_on_had_set_it),
		cmocka_unit_test(who_woke_up_just_before_and_is_at_it_still_is_inferred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

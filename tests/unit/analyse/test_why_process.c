/* test_why_process.c - a process is the sum of its threads, but for those that only wait. */
#include "told.h"

#include "analyse/why/fold.h"
#include "analyse/why/process.h"
#include "analyse/why/worst.h"
#include "base/mem.h"
#include "event/stacks.h"
#include "random_trace.h"

#define SEEDS 300
#define STEPS 120

/* The answer for all threads of 'tgid' (0: all there are), in a window or for their lives. */
static struct why process_of(struct told *told, int32_t tgid, uint64_t start_ns, uint64_t end_ns)
{
	const struct timeline *tl = told->tl;
	AUTO_FREE struct why_part *parts = xcalloc(tl->thread_count, sizeof(*parts));
	const struct why_opts opts = { 0 };
	struct why why = { 0 };
	struct err err = { 0 };
	size_t count = 0;

	for (uint32_t i = 0; i < tl->thread_count; i++) {
		if (tl->threads[i]->tid && (!tgid || tl->threads[i]->tgid == tgid))
			parts[count++] = (struct why_part){ i, start_ns, end_ns };
	}
	if (why_process_run(tl, &told->trace->facts, &opts, parts[0].slot, parts, count, &why,
			    &err) < 0)
		fail_msg("%s", err.text);
	return why;
}

static const char *text_of(struct told *told, const struct why *why)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < why->root_count; i++) {
		const struct why_root *root = &why->roots[i];

		told_add(&text, "%s%s %d %llu", i ? "; " : "", why_kind_name(root->kind),
			 root->who.tid, (unsigned long long)root->ns);
	}
	return told_keep(told, text);
}

/* 7 works and ends a wait of 9; 8 waits for what never comes, for the whole recording. */
static const char three_threads[] = "thread 7 7 1 R prog\n"
				    "thread 8 7 1 S prog\n"
				    "thread 9 7 1 R prog\n"
				    "  0 cpu0 switch 0(runnable) 7\n"
				    "  0 cpu1 switch 0(runnable) 9\n"
				    " 10 cpu1 enter futex\n"
				    " 10 cpu1 switch 9(blocked) 0\n"
				    " 60 cpu0 waking 9\n"
				    " 60 cpu1 switch 0(runnable) 9\n"
				    "100 cpu0 switch 7(runnable) 0\n"
				    "100 cpu1 switch 9(runnable) 0\n";

static void work_of_one_is_a_cause_for_the_other_and_both_count(void **unused)
{
	struct told *told = replayed(three_threads);
	struct why why = process_of(told, 7, 0, 100);

	assert_non_null(why.process);
	assert_int_equal(why.process->threads, why.process->added + why.process->apart_count);
	assert_string_equal(text_of(told, &why), "working 7 100; working 9 50; other_thread 7 50");
	assert_int_equal(why.class_ns, 200);
	assert_int_equal(why.working_ns, 150);
	assert_int_equal(why.held_up_ns, 50);
	assert_int_equal(why.process->apart_count, 1);
	assert_int_equal(why.process->apart[0].who.tid, 8);
	assert_int_equal(why.process->apart_ns, 100);
	assert_int_equal(why.process->told.target.tid, 9); /* it was held up */
	why_fini(&why);
	told_free(told);
}

/*
 * 8 times out each 1000 us, then has no CPU for 'queued_us', and works for 'work_us'; 7 works all the time on another
 * CPU.
 */
static struct told *housekeeper(int queued_us, int work_us)
{
	AUTO_FREE char *text =
		xstrdup("thread 7 7 1 R prog\nthread 8 7 1 R prog\n"
			"thread 5 5 1 R hog\n"
			"0us cpu0 switch 0(runnable) 7\n0us cpu1 switch 0(runnable) 8\n");

	for (int i = 0, at = 1; i < 20; i++, at += 1000 + queued_us + work_us)
		told_add(&text,
			 "%dus cpu1 enter clock_nanosleep\n%dus cpu1 switch 8(blocked) 5\n"
			 "%dus cpu1 vector local_timer\n%dus cpu1 hrtimer hrtimer_wakeup\n"
			 "%dus cpu1 waking 8 cpu 1\n%dus cpu1 hrtimerdone\n"
			 "%dus cpu1 vectorexit local_timer\n%dus cpu1 switch 5(runnable) 8\n"
			 "%dus cpu1 leave clock_nanosleep 0\n",
			 at, at, at + 1000, at + 1000, at + 1000, at + 1000, at + 1000,
			 at + 1000 + queued_us, at + 1000 + queued_us);
	return replayed(text);
}

static size_t housekeepers_apart(int queued_us, int work_us)
{
	struct told *told = housekeeper(queued_us, work_us);
	struct why why = process_of(told, 7, 1000, 20000000);
	size_t apart = why.process->apart_count;

	assert_int_equal(why.process->threads, 2);
	why_fini(&why);
	told_free(told);
	return apart;
}

static void who_times_out_on_a_busy_machine_only_waited(void **unused)
{
	assert_int_equal(housekeepers_apart(1, 1), 1);
	assert_int_equal(housekeepers_apart(50, 1), 1);	 /* it waits for a CPU, no more */
	assert_int_equal(housekeepers_apart(1, 50), 0);	 /* it works */
	assert_int_equal(housekeepers_apart(300, 1), 0); /* it cannot go on */
}

/* 8 is given work by 7 each 1000 us, for 'work_us', and its name is that of a runtime's thread or is not. */
static size_t served_apart(const char *name, int work_us)
{
	AUTO_FREE char *text = xasprintf("thread 7 7 1 R java\nthread 8 7 1 S %s\n"
					 "0us cpu0 switch 0(runnable) 7\n",
					 name);
	struct told *told;
	struct why why;
	size_t apart;

	for (int i = 0, at = 1; i < 20; i++, at += 1000)
		told_add(&text,
			 "%dus cpu0 waking 8 cpu 1\n%dus cpu1 switch 0(runnable) 8\n"
			 "%dus cpu1 leave futex 0\n%dus cpu1 enter futex 4096 0\n"
			 "%dus cpu1 switch 8(blocked) 0\n",
			 at, at + 1, at + 1, at + work_us, at + work_us);
	told = replayed(text);
	why = process_of(told, 7, 2000, 19000000);
	apart = why.process->apart_count;
	why_fini(&why);
	told_free(told);
	return apart;
}

static void a_thread_with_which_a_runtime_serves_itself_is_apart_while_it_does_next_to_nothing(
	void **unused)
{
	assert_int_equal(served_apart("GC_Thread", 20), 0);
	assert_int_equal(served_apart("bio_aof", 20), 1);
	assert_int_equal(served_apart("bio_aof", 200), 0);
}

static void the_worst_moment_is_when_it_was_held_up(void **unused)
{
	struct told *told = replayed(three_threads);
	struct why why = process_of(told, 7, 0, 100);

	assert_non_null(why.worst);
	assert_int_equal(why.worst->start_ns, 10);
	assert_int_equal(why.worst->end_ns, 60);
	assert_int_equal(why.worst->held_ns, 50);
	assert_int_equal(why.roots[why.worst->cause].kind, WHY_OTHER_THREAD);
	assert_int_equal(why.worst->cause_ns, 50);
	assert_int_equal(why.roots[0].span_count, 0); /* kept for those only who ask */
	why_fini(&why);
	told_free(told);
}

/* 9 is held up, 7 and 10 work: the first row is work. */
static void a_thread_that_differs_is_named_with_its_part(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R prog\n"
				     "thread 9 7 1 R prog\n"
				     "thread 10 7 1 R prog\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     "  0 cpu2 switch 0(runnable) 10\n"
				     " 10 cpu1 enter futex\n"
				     " 10 cpu1 switch 9(blocked) 0\n"
				     " 90 cpu0 waking 9\n"
				     " 90 cpu1 switch 0(runnable) 9\n"
				     "100 cpu0 switch 7(runnable) 0\n"
				     "100 cpu1 switch 9(runnable) 0\n"
				     "100 cpu2 switch 10(runnable) 0\n");
	struct why why = process_of(told, 7, 0, 100);

	assert_int_equal(why.process->differs_count, 1);
	assert_int_equal(why.process->differs[0].who.tid, 9);
	assert_int_equal(why.process->differs[0].root.kind, WHY_OTHER_THREAD);
	assert_int_equal(why.process->differs[0].root.who.tid, 7);
	assert_int_equal(why.process->differs[0].root.ns, 80);
	why_fini(&why);
	told_free(told);
}

/* Waits of 'tid' from 'begin_ns' to 'end_ns' in stacks of the functions, innermost first, of prog. */
static void add_wait_in(struct told *told, const char *module, const char *function, int32_t tid,
			uint64_t begin_ns, uint64_t end_ns)
{
	struct stacks *stacks = told->trace->facts.stacks;
	uint32_t frame;

	if (!stacks)
		stacks = told->trace->facts.stacks = xcalloc(1, sizeof(*stacks));
	frame = (uint32_t)stacks->frame_count;
	stacks_add_frame(stacks, &(struct stack_frame){ .function = function,
							.module = module,
							.offset = 0x1000 + frame });
	assert_true(stacks_add_stack(stacks, &frame, 1, NULL));
	stacks_add_wait(stacks, &(struct stack_wait){ .tid = tid,
						      .stack = frame,
						      .begin_ns = begin_ns,
						      .end_ns = end_ns,
						      .slept_ns = end_ns - begin_ns });
	stacks_finish(stacks);
}

/* 8 waits for work, which 7 gives it; 9 waits for 7. */
static const char a_worker[] = "thread 7 7 1 R mariadbd\n"
			       "thread 8 7 1 R mariadbd\n"
			       "thread 9 7 1 R mariadbd\n"
			       "  0 cpu0 switch 0(runnable) 7\n"
			       "  0 cpu1 switch 0(runnable) 8\n"
			       "  1 cpu1 enter futex 4096 0\n"
			       "  1 cpu1 switch 8(blocked) 9\n"
			       " 10 cpu1 enter futex 8192 0\n"
			       " 10 cpu1 switch 9(blocked) 0\n"
			       " 40 cpu0 waking 9\n"
			       " 40 cpu1 switch 0(runnable) 9\n"
			       " 90 cpu0 waking 8\n"
			       " 90 cpu1 switch 9(blocked) 8\n"
			       "100 cpu0 switch 7(runnable) 0\n"
			       "100 cpu1 switch 8(runnable) 0\n";

static void who_waits_for_work_is_not_held_up_by_who_gives_it(void **unused)
{
	struct told *told = replayed(a_worker);
	struct why why;

	add_wait_in(told, "mariadbd", "handle_manager", 8, 1, 90);
	why = process_of(told, 7, 0, 100);
	assert_int_equal(why.idle_ns, 89);
	assert_int_equal(why.held_up_ns, 40);
	assert_string_equal(text_of(told, &why),
			    "working 7 100; working 9 59; other_thread 7 30; working 8 11; "
			    "stuck 9 10; stuck 8 89; cpu_queue 8 1");
	assert_int_equal(why.roots[5].class, WHY_IDLE);
	why_fini(&why);
	told_free(told);
}

static void without_a_stack_who_waits_for_work_is_held_up_as_all_are(void **unused)
{
	struct told *told = replayed(a_worker);
	struct why why = process_of(told, 7, 0, 100);

	assert_int_equal(why.idle_ns, 0);
	why_fini(&why);
	told_free(told);
}

/* 8 waits at the same word from 10 to 40 and from 50 to 60, at another one from 70 to 80; 7 ends all of it. */
static uint64_t idle_with_stacks(bool other)
{
	static const char text[] = "thread 7 7 1 R mariadbd\nthread 8 7 1 R mariadbd\n"
				   "  0 cpu0 switch 0(runnable) 7\n"
				   "  0 cpu1 switch 0(runnable) 8\n"
				   " 10 cpu1 enter futex 4096 0\n 10 cpu1 switch 8(blocked) 0\n"
				   " 40 cpu0 waking 8\n 40 cpu1 switch 0(runnable) 8\n"
				   " 41 cpu1 leave futex 0\n"
				   " 50 cpu1 enter futex 4096 0\n 50 cpu1 switch 8(blocked) 0\n"
				   " 60 cpu0 waking 8\n 60 cpu1 switch 0(runnable) 8\n"
				   " 61 cpu1 leave futex 0\n"
				   " 70 cpu1 enter futex 8192 0\n 70 cpu1 switch 8(blocked) 0\n"
				   " 80 cpu0 waking 8\n 80 cpu1 switch 0(runnable) 8\n"
				   " 81 cpu1 leave futex 0\n"
				   " 90 cpu1 enter futex 4096 0\n 90 cpu1 switch 8(blocked) 0\n"
				   " 95 cpu0 waking 8\n 95 cpu1 switch 0(runnable) 8\n"
				   " 96 cpu1 leave futex 0\n"
				   "100 cpu0 switch 7(runnable) 0\n"
				   "100 cpu1 switch 8(runnable) 0\n";
	struct told *told = replayed(text);
	uint64_t idle_ns;

	add_wait_in(told, "mariadbd", "handle_manager", 8, 10, 40);
	if (other)
		add_wait_in(told, "mariadbd", "lock_wait", 8, 90, 95);
	(void)why_of(told, &(struct why_opts){ .slot = slot_of(told, 8) });
	idle_ns = told->why.idle_ns;
	for (size_t i = 0; i < told->why.root_count; i++) {
		const struct why_root *root = &told->why.roots[i];

		/* What is known by a stack, and what by the word only. */
		if (root->class == WHY_IDLE)
			assert_int_equal(root->ns, root->why ? 15 : 30);
		if (root->class == WHY_IDLE && root->why)
			assert_int_equal(root->why->kind, WHY_REASON_WORD_FOR_WORK);
	}
	told_free(told);
	return idle_ns;
}

static void a_wait_without_a_stack_is_for_work_where_all_others_at_its_word_are(void **unused)
{
	assert_int_equal(idle_with_stacks(false), 30 + 10 + 5);
	assert_int_equal(idle_with_stacks(true), 30); /* the word is of something else, too */
}

/* A stack of 'own' frames of prog without names below those of 'call', of a wait of 'tid' that lasts. */
static void add_deep_wait(struct told *told, const char *call, uint32_t own, int32_t tid)
{
	struct stacks *stacks = told->trace->facts.stacks;
	uint32_t ids[32], count = 0, number;

	if (!stacks)
		stacks = told->trace->facts.stacks = xcalloc(1, sizeof(*stacks));
	number = (uint32_t)stacks->stack_count;
	for (uint32_t i = 0; i <= own; i++) {
		ids[count++] = (uint32_t)stacks->frame_count;
		stacks_add_frame(stacks,
				 &(struct stack_frame){ .function = i ? NULL : call,
							.module = i ? "prog" : "libc.so.6",
							.offset = 0x1000 + stacks->frame_count });
	}
	assert_true(stacks_add_stack(stacks, ids, count, NULL));
	stacks_add_wait(stacks, &(struct stack_wait){ .tid = tid,
						      .stack = number,
						      .begin_ns = 10,
						      .end_ns = 100,
						      .slept_ns = 90,
						      .is_open = true });
	stacks_finish(stacks);
}

/* 8, 9 and 10 wait for what never comes; 7 does so, too, or works. */
static struct told *in_vain(bool works)
{
	AUTO_FREE char *text = xasprintf(
		"thread 7 7 1 R prog\nthread 8 7 1 R prog\n"
		"thread 9 7 1 R prog\nthread 10 7 1 R prog\n"
		"  0 cpu0 switch 0(runnable) 7\n  0 cpu1 switch 0(runnable) 8\n"
		"  0 cpu2 switch 0(runnable) 9\n  0 cpu3 switch 0(runnable) 10\n"
		"%s"
		" 10 cpu1 enter futex 8192 0\n 10 cpu1 switch 8(blocked) 0\n"
		" 10 cpu2 enter futex 12288 0\n 10 cpu2 switch 9(blocked) 0\n"
		" 10 cpu3 enter futex 16384 0\n 10 cpu3 switch 10(blocked) 0\n"
		"100 cpu0 switch 11(runnable) 0\n",
		works ? "" : " 10 cpu0 enter futex 4096 0\n 10 cpu0 switch 7(blocked) 11\n");

	return replayed(text);
}

static void who_waits_in_the_outermost_code_of_its_thread_is_idle_as_inferred(void **unused)
{
	struct told *told = in_vain(false);
	struct why why;

	add_deep_wait(told, "pthread_cond_wait", 2, 8);
	add_deep_wait(told, "pthread_mutex_lock", 2, 9); /* a lock */
	add_deep_wait(told, "pthread_cond_wait", 6, 10); /* at something */
	why = process_of(told, 7, 10, 100);
	assert_int_equal(why.process->apart_count, 1);
	assert_int_equal(why.process->apart[0].who.tid, 8);
	assert_int_equal(why.process->apart[0].class, WHY_IDLE);
	assert_int_equal(why.process->apart[0].why->kind, WHY_REASON_OUTERMOST);
	assert_int_equal(why.idle_ns, 0);
	why_fini(&why);
	told_free(told);
}

static void who_waits_deep_in_its_code_is_not_told_apart(void **unused)
{
	struct told *told = in_vain(true);
	struct why why;

	add_deep_wait(told, "pthread_cond_wait", 2, 8);
	add_deep_wait(told, "pthread_cond_wait", 12, 9);
	add_deep_wait(told, "pthread_cond_wait", 6, 10);
	why = process_of(told, 7, 10, 100);
	assert_int_equal(why.process->added, 2); /* 7 and 9 */
	assert_int_equal(why.process->apart_count, 2);
	assert_int_equal(why.process->apart[0].class, WHY_IDLE);
	assert_int_equal(why.process->apart[1].class, WHY_HELD_UP);
	assert_int_equal(why.blocked_ns, why.held_up_ns);
	why_fini(&why);
	told_free(told);
}

/* What 8 waits for is an end of nobody else's, or of who may be anybody. */
static bool is_idle_at(const char *object)
{
	AUTO_FREE char *text = xasprintf("thread 7 7 1 R prog\nthread 8 7 1 R prog\nfd 7 4 %s\n"
					 "  0 cpu0 switch 0(runnable) 7\n"
					 "  0 cpu1 switch 0(runnable) 8\n"
					 " 10 cpu1 enter read 4\n 10 cpu1 switch 8(blocked) 0\n"
					 "100 cpu0 switch 11(runnable) 0\n",
					 object);
	struct told *told = replayed(text);
	struct why why;
	bool is_idle;

	add_deep_wait(told, "epoll_wait", 2, 8);
	why = process_of(told, 7, 10, 100);
	assert_int_equal(why.process->apart_count, 1);
	is_idle = why.process->apart[0].class == WHY_IDLE;
	why_fini(&why);
	told_free(told);
	return is_idle;
}

static void at_the_outermost_descriptors_of_its_own_count(void **unused)
{
	assert_true(is_idle_at("pipe pipe:[1]"));
	assert_false(is_idle_at("connected \"tcp 1.2.3.4:5->6.7.8.9:10\""));
}

/* A stack of a script, innermost first: "function@path"; of a wait of 'tid' that lasts. */
static void add_script_wait(struct told *told, int32_t tid, const char *const *functions)
{
	struct stacks *stacks = told->trace->facts.stacks;
	uint32_t ids[8], count = 0, number;

	if (!stacks)
		stacks = told->trace->facts.stacks = xcalloc(1, sizeof(*stacks));
	number = (uint32_t)stacks->stack_count;
	for (; functions[count]; count++) {
		const char *path = strchr(functions[count], '@') + 1;
		char *name = xstrndup(functions[count], (size_t)(path - 1 - functions[count]));

		ids[count] = (uint32_t)stacks->frame_count;
		stacks_add_frame(stacks,
				 &(struct stack_frame){ .function = told_keep(told, name),
							.path = path,
							.is_script = true,
							.offset = 0x1000 + stacks->frame_count });
	}
	assert_true(stacks_add_stack(stacks, ids, count, NULL));
	stacks_add_wait(stacks, &(struct stack_wait){ .tid = tid,
						      .stack = number,
						      .begin_ns = 10,
						      .end_ns = 100,
						      .slept_ns = 90,
						      .is_open = true });
	stacks_finish(stacks);
}

#define POOL "/usr/lib/python3.11/multiprocessing/pool.py"

/* 7 waits for its pool: 8 and 9 are children, 8 without work; 10 is a thread of 7 that hands out work. */
static void check_workers(bool both, enum why_reason_kind kind)
{
	static const char *const awaits[] = { "ApplyResult.wait@" POOL, "<module>@/p.py", NULL };
	static const char *const hands_out[] = { "Pool._handle_tasks@" POOL, NULL };
	static const char *const works[] = { "job@/p.py", "worker@" POOL, NULL };
	static const char *const idles[] = { "get@/usr/lib/python3.11/multiprocessing/queues.py",
					     "worker@" POOL, NULL };
	struct told *told =
		replayed("thread 7 7 1 R python3\nthread 8 8 7 R python3\n"
			 "thread 9 9 7 R python3\nthread 10 7 1 R python3\n"
			 "  0 cpu0 switch 0(runnable) 7\n  0 cpu1 switch 0(runnable) 8\n"
			 "  0 cpu2 switch 0(runnable) 9\n  0 cpu3 switch 0(runnable) 10\n"
			 " 10 cpu0 enter futex 4096 0\n 10 cpu0 switch 7(blocked) 0\n"
			 " 10 cpu1 enter read 3\n 10 cpu1 switch 8(blocked) 0\n"
			 " 10 cpu2 enter read 3\n 10 cpu2 switch 9(blocked) 0\n"
			 " 10 cpu3 enter futex 8192 0\n 10 cpu3 switch 10(blocked) 0\n"
			 "100 cpu0 switch 11(runnable) 0\n");
	const struct why_root *root = NULL;

	add_script_wait(told, 7, awaits);
	add_script_wait(told, 8, both ? works : idles);
	add_script_wait(told, 9, works);
	add_script_wait(told, 10, hands_out);
	(void)explained(told, 7, 10, 100);
	for (size_t i = 0; i < told->why.root_count; i++)
		root = root && root->ns > told->why.roots[i].ns ? root : &told->why.roots[i];
	assert_non_null(root);
	assert_int_equal(root->who.tid, both ? 8 : 9);
	assert_non_null(root->inferred);
	assert_int_equal(root->inferred->kind, kind);
	assert_int_equal(root->inferred->number, both ? 2 : 1);
	told_free(told);
}

static void who_waits_for_a_pool_is_held_up_by_who_is_not_idle_in_it(void **unused)
{
	check_workers(false, WHY_REASON_WORKER);
	check_workers(true, WHY_REASON_A_WORKER);
}

/* With the function that it waits in, and without. */
static void who_sleeps_with_a_futex_does_so_as_it_asked(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R java\nthread 8 7 1 R java\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     " 10 cpu1 enter futex 4096 0\n 10 cpu1 switch 8(blocked) 0\n"
				     "100 cpu0 switch 7(runnable) 0\n");

	(void)explained(told, 8, 10, 100);
	assert_int_equal(told->why.held_up_ns, 90);
	told_free(told);
	told = replayed("thread 7 7 1 R java\nthread 8 7 1 R java\n"
			"  0 cpu0 switch 0(runnable) 7\n"
			"  0 cpu1 switch 0(runnable) 8\n"
			" 10 cpu1 enter futex 4096 0\n 10 cpu1 switch 8(blocked) 0\n"
			"100 cpu0 switch 7(runnable) 0\n");
	add_wait_in(told, "libjvm.so", "JavaThread::sleep", 8, 10, 100);
	(void)explained(told, 8, 10, 100);
	assert_int_equal(told->why.asked_ns, 90);
	assert_int_equal(told->why.root_count, 1);
	assert_int_equal(told->why.roots[0].kind, WHY_TIMER);
	told_free(told);
}

/* 7 and 8 are Go's: 7 has nothing to run until 8 says so, which works. */
static void a_scheduler_has_nothing_to_run_only_where_all_threads_are_asked_about(void **unused)
{
	static const char text[] = "thread 7 7 1 R prog\nthread 8 7 1 R prog\n"
				   "  0 cpu0 switch 0(runnable) 7\n"
				   "  0 cpu1 switch 0(runnable) 8\n"
				   " 10 cpu0 enter futex 4096 0\n"
				   " 10 cpu0 switch 7(blocked) 0\n"
				   " 60 cpu1 waking 7\n"
				   " 60 cpu0 switch 0(runnable) 7\n"
				   "100 cpu0 switch 7(runnable) 0\n"
				   "100 cpu1 switch 8(runnable) 0\n";
	struct told *told = replayed(text);
	struct why why;

	add_wait_in(told, "prog", "runtime.findRunnable", 7, 10, 60);
	(void)why_of(told, &(struct why_opts){ .slot = slot_of(told, 7) });
	assert_int_equal(told->why.idle_ns, 0);
	assert_int_equal(told->why.held_up_ns, 50);
	why = process_of(told, 7, 0, 100);
	assert_int_equal(why.idle_ns, 50);
	why_fini(&why);
	told_free(told);
}

static void one_thread_is_answered_as_it_was(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R prog\n"
				     " 0 cpu0 switch 0(runnable) 7\n"
				     "10 cpu0 switch 7(blocked) 0\n"
				     "50 cpu0 waking 7\n"
				     "50 cpu0 switch 0(runnable) 7\n"
				     "60 cpu0 switch 7(runnable) 0\n");
	struct why why = process_of(told, 7, 0, 0);

	(void)why_of(told, &(struct why_opts){ .slot = slot_of(told, 7) });
	assert_null(why.process);
	assert_string_equal(text_of(told, &why), text_of(told, &told->why));
	assert_int_equal(why.line_count, told->why.line_count);
	why_fini(&why);
	told_free(told);
}

static uint64_t roots_ns(const struct why_root *roots, size_t count)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < count; i++)
		ns += roots[i].ns;
	return ns;
}

/* Against each thread asked by itself: the times of a kind, and of all, add up. */
static void compare_process(struct told *told, uint64_t seed)
{
	uint64_t whole = told->tl->end_ns - told->tl->origin_ns;
	uint64_t from = told->tl->origin_ns + seed * 7919 % (whole / 2);
	struct why why = process_of(told, 0, from, from + whole / 3);
	uint64_t kinds[WHY_KIND_COUNT] = { 0 }, lived = 0;
	struct why_rows rows;

	for (uint32_t slot = 0; slot < told->tl->thread_count; slot++) {
		const struct tl_thread *thread = told->tl->threads[slot];
		struct why_opts opts = { .slot = slot,
					 .start_ns = from,
					 .end_ns = from + whole / 3 };
		bool apart = false;

		if (opts.start_ns < thread->birth_ns)
			opts.start_ns = thread->birth_ns;
		if (!thread->tid || opts.start_ns >= opts.end_ns ||
		    opts.start_ns >= thread->death_ns)
			continue;
		(void)why_of(told, &opts);
		lived += told->why.end_ns - told->why.start_ns;
		for (size_t i = 0; why.process && i < why.process->apart_count; i++)
			apart |= why.process->apart[i].who.tid == thread->tid;
		for (size_t i = 0; i < told->why.root_count && !apart; i++)
			kinds[told->why.roots[i].kind] += told->why.roots[i].ns;
	}
	assert_non_null(why.process);
	why_fold(&why, 10, &rows);
	for (size_t kind = 0; kind < WHY_KIND_COUNT; kind++) {
		if (rows.ns[kind] != kinds[kind])
			fail_msg("seed %llu: %s is %llu, not %llu", (unsigned long long)seed,
				 why_kind_name((enum why_kind)kind),
				 (unsigned long long)rows.ns[kind],
				 (unsigned long long)kinds[kind]);
	}
	assert_int_equal(roots_ns(why.roots, why.root_count), why.class_ns);
	assert_int_equal(why.working_ns + why.interrupted_ns + why.blocked_ns + why.uncertain_ns,
			 why.class_ns);
	assert_int_equal(why.class_ns + why.process->apart_ns, lived);
	assert_int_equal(roots_ns(why.process->apart, why.process->apart_count),
			 why.process->apart_ns);
	why_rows_fini(&rows);
	why_fini(&why);
}

static void on_random_traces_the_sums_are_those_of_the_threads(void **unused)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct told *told = told_trace(random_trace(seed, STEPS, seed % 3 == 0, true));

		compare_process(told, seed);
		told_free(told);
	}
}

/* 8 works; 7 waits for what never comes, in slices of 1 ms or all at once. Returns how many are told apart. */
static size_t main_apart(bool in_slices)
{
	AUTO_FREE char *text =
		xstrdup("thread 7 7 1 R prog\nthread 8 7 1 R prog\n"
			"0us cpu0 switch 0(runnable) 8\n0us cpu1 switch 0(runnable) 7\n");
	struct told *told;
	struct why why;
	size_t apart;

	for (int i = 0, at = 1; i < 20 && in_slices; i++, at += 1003)
		told_add(&text,
			 "%dus cpu1 enter futex 0x7f0010 128 2\n%dus cpu1 switch 7(blocked) 0\n"
			 "%dus cpu1 vector local_timer\n%dus cpu1 hrtimer hrtimer_wakeup\n"
			 "%dus cpu1 waking 7 cpu 1\n%dus cpu1 hrtimerdone\n"
			 "%dus cpu1 vectorexit local_timer\n%dus cpu1 switch 0(runnable) 7\n"
			 "%dus cpu1 leave futex -110\n",
			 at, at, at + 1000, at + 1000, at + 1000, at + 1000, at + 1000, at + 1001,
			 at + 1002);
	told_add(&text,
		 "%dus cpu1 enter futex 0x7f0010 128 2\n%dus cpu1 switch 7(blocked) 0\n"
		 "21000us cpu0 enter getpid\n",
		 in_slices ? 20062 : 1, in_slices ? 20062 : 1);
	told = replayed(text);
	why = process_of(told, 7, 0, 21000000);
	apart = why.process->apart_count;
	why_fini(&why);
	told_free(told);
	return apart;
}

static void a_main_thread_that_looks_in_vain_is_part_of_the_sums(void **unused)
{
	assert_int_equal(main_apart(true), 0);
	assert_int_equal(main_apart(false), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_main_thread_that_looks_in_vain_is_part_of_the_sums),
		cmocka_unit_test(work_of_one_is_a_cause_for_the_other_and_both_count),
		cmocka_unit_test(who_times_out_on_a_busy_machine_only_waited),
		cmocka_unit_test(
			a_thread_with_which_a_runtime_serves_itself_is_apart_while_it_does_next_to_nothing),
		cmocka_unit_test(the_worst_moment_is_when_it_was_held_up),
		cmocka_unit_test(a_thread_that_differs_is_named_with_its_part),
		cmocka_unit_test(who_waits_for_work_is_not_held_up_by_who_gives_it),
		cmocka_unit_test(
			a_wait_without_a_stack_is_for_work_where_all_others_at_its_word_are),
		cmocka_unit_test(without_a_stack_who_waits_for_work_is_held_up_as_all_are),
		cmocka_unit_test(
			a_scheduler_has_nothing_to_run_only_where_all_threads_are_asked_about),
		cmocka_unit_test(who_waits_in_the_outermost_code_of_its_thread_is_idle_as_inferred),
		cmocka_unit_test(who_waits_deep_in_its_code_is_not_told_apart),
		cmocka_unit_test(who_sleeps_with_a_futex_does_so_as_it_asked),
		cmocka_unit_test(at_the_outermost_descriptors_of_its_own_count),
		cmocka_unit_test(who_waits_for_a_pool_is_held_up_by_who_is_not_idle_in_it),
		cmocka_unit_test(one_thread_is_answered_as_it_was),
		cmocka_unit_test(on_random_traces_the_sums_are_those_of_the_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_stuck.c - why a condition is met, in one line: what is inferred says so; who waits alike is one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/stacks.h"
#include "report/stuck.h"
#include "report/stuck_how.h"
#include "stuck/condition.h"
#include "stuck/goroutines.h"
#include "stuck/graph.h"
#include "stuck/stuck.h"

static void add(struct stuck *stuck, int32_t tid, int32_t for_tid, bool is_inferred)
{
	struct stuck_thread *thread = &stuck->threads[stuck->count];

	map_put(&stuck->by_tid, (uint64_t)tid, stuck->count++);
	*thread = (struct stuck_thread){
		.tid = tid, .tgid = 1, .kind = STUCK_TIMER, .is_complete = true
	};
	snprintf(thread->comm, sizeof(thread->comm), "t%d", tid);
	snprintf(thread->in, sizeof(thread->in), "read");
	if (!for_tid)
		return;
	thread->kind = STUCK_TASKS;
	thread->edges = xcalloc(1, sizeof(*thread->edges));
	thread->edges[thread->edge_count++] =
		(struct stuck_edge){ .tid = for_tid, .is_inferred = is_inferred };
}

/* Thread 1 waits for 2, and 2 for 3; one of the two is inferred, or none. */
static char *reason(int32_t inferred)
{
	struct stuck *stuck = xcalloc(1, sizeof(*stuck));
	const struct condition condition = { .kind = CONDITION_CHAIN, .text = "chain>1s" };
	int32_t tid = 1;
	const struct condition_met met = { .tid = 3, .tids = &tid, .count = 1 };
	char *text;

	stuck->threads = xcalloc(4, sizeof(*stuck->threads));
	add(stuck, 1, 2, inferred == 1);
	add(stuck, 2, 3, inferred == 2);
	add(stuck, 3, 0, false);
	graph_run(stuck);
	text = report_met_reason(&(struct report_met){ &condition, &met, 0 },
				 &(struct report_stuck){ .stuck = stuck });
	stuck_free(stuck);
	return text;
}

static void what_is_known_is_said(void **unused)
{
	AUTO_FREE char *text = reason(0);

	assert_string_equal(text, "long wait: t1[1] in read; t3[3] sleeps until a time (read)");
}

static void what_is_inferred_anywhere_says_so(void **unused)
{
	for (int32_t at = 1; at <= 2; at++) {
		AUTO_FREE char *text = reason(at);

		assert_string_equal(
			text,
			"long wait: t1[1] in read; inferred: t3[3] sleeps until a time (read)");
	}
}

/* Of 'count' threads, two in each process, which are 'root'; the first ones wait inside of theirs. */
static char *first_line(int32_t count, enum stuck_root root, int32_t inside)
{
	struct stuck *stuck = xcalloc(1, sizeof(*stuck));
	size_t bytes;
	char *text;
	FILE *out = open_memstream(&text, &bytes);

	stuck->threads = xcalloc((size_t)count, sizeof(*stuck->threads));
	for (int32_t tid = 1; tid <= count; tid++) {
		add(stuck, tid, 0, false);
		stuck->threads[tid - 1].tgid = (tid - 1) / 2 * 2 + 1;
		stuck->threads[tid - 1].root = root;
		stuck->threads[tid - 1].is_inside = tid <= inside;
	}
	report_stuck_text(out, &(struct report_stuck){ .stuck = stuck, .all = true });
	(void)fclose(out);
	*strchr(text, '\n') = '\0';
	stuck_free(stuck);
	return text;
}

static void a_process_that_cannot_go_on_is_in_the_first_line(void **unused)
{
	AUTO_FREE char *none = first_line(2, STUCK_ROOT_SELF, 0);
	AUTO_FREE char *one = first_line(2, STUCK_ROOT_INSIDE, 2);
	AUTO_FREE char *two = first_line(4, STUCK_ROOT_INSIDE, 4);
	AUTO_FREE char *behind = first_line(4, STUCK_ROOT_INSIDE, 2);

	assert_string_equal(strchr(none, ':'), ": no deadlock found");
	assert_string_equal(strchr(one, ':'),
			    ": no deadlock found, but only a signal can wake t1[1]");
	assert_string_equal(strchr(two, ':'),
			    ": no deadlock found, but only a signal can wake each of 2 processes");
	assert_string_equal(strchr(behind, ':'),
			    ": no deadlock found, but only a signal can wake t1[1]");
}

/* Threads 1 to 'count' wait for work in conditions of their own; 90 waits for 91, which sleeps. */
static char *idle_text_of(int32_t count, bool unfold, const struct stacks *stacks)
{
	struct stuck *stuck = xcalloc(1, sizeof(*stuck));
	size_t bytes;
	char *text;
	FILE *out = open_memstream(&text, &bytes);

	stuck->now_ns = 5000000000;
	stuck->threads = xcalloc((size_t)count + 3, sizeof(*stuck->threads));
	for (int32_t tid = 1; tid <= count; tid++) {
		struct stuck_thread *thread = &stuck->threads[stuck->count];

		add(stuck, tid, 0, false);
		thread->kind = STUCK_UNOWNED;
		thread->since_ns = 1000000000u * (uint64_t)tid;
		snprintf(thread->in, sizeof(thread->in), "futex");
		snprintf(thread->object, sizeof(thread->object),
			 tid % 2 ? "semaphore (by its layout) 0x7f0%d"
				 : "semaphore (by its layout) of queue+0x%d (server)",
			 tid);
		thread->which.at = strlen("semaphore (by its layout)");
		thread->which.bytes = (uint16_t)(strlen(thread->object) - thread->which.at);
	}
	add(stuck, 90, 91, false);
	add(stuck, 91, 0, false);
	graph_run(stuck);
	report_stuck_text(
		out, &(struct report_stuck){
			     .stuck = stuck, .stacks = stacks, .all = true, .unfold = unfold });
	(void)fclose(out);
	stuck_free(stuck);
	return text;
}

static char *idle_text(int32_t count, bool unfold)
{
	return idle_text_of(count, unfold, NULL);
}

static size_t lines_with(const char *text, const char *word)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, word)); at++)
		count++;
	return count;
}

/* Who writes waits for a reader, and not for input. */
static void output_is_no_input(void **unused)
{
	static const char *const calls[][2] = {
		{ "mq_timedsend", "waits until somebody outside takes its output" },
		{ "write", "waits until somebody outside takes its output" },
		{ "read", "waits for input from outside" },
		{ "accept4", "waits for input from outside" },
	};

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct stuck *stuck = xcalloc(1, sizeof(*stuck));
		AUTO_FREE char *text = NULL;
		size_t bytes;
		FILE *out = open_memstream(&text, &bytes);

		stuck->threads = xcalloc(1, sizeof(*stuck->threads));
		add(stuck, 1, 0, false);
		stuck->threads[0].kind = STUCK_OUTSIDE;
		snprintf(stuck->threads[0].in, sizeof(stuck->threads[0].in), "%s", calls[i][0]);
		graph_run(stuck);
		report_stuck_text(out, &(struct report_stuck){ .stuck = stuck, .all = true });
		(void)fclose(out);
		assert_non_null(strstr(text, calls[i][1]));
		stuck_free(stuck);
	}
}

/* Traces have the names: each is one, and has its words. */
static void each_how_has_a_name_and_words(void **unused)
{
	for (int how = STUCK_HOW_NONE + 1; how < STUCK_HOWS; how++) {
		const char *name = stuck_how_name((enum stuck_how)how);

		assert_true(*name);
		assert_int_equal(stuck_how_of(name), how);
		assert_string_not_equal(report_stuck_how_words((enum stuck_how)how),
					report_stuck_how_words(STUCK_HOW_NONE));
	}
	assert_string_equal(stuck_how_name(STUCK_HOW_NONE), "");
	assert_int_equal(stuck_how_of("telepathy"), STUCK_HOW_NONE);
	assert_int_equal(stuck_how_of(""), STUCK_HOW_NONE);
}

static void who_waits_alike_is_one_line(void **unused)
{
	AUTO_FREE char *text = idle_text(4, false);
	const char *folded =
		strstr(text, "4 threads wait for up to 4.000 s in futex: semaphore (by its "
			     "layout): t1[1], t2[2], t3[3], t4[4]\n");

	assert_non_null(folded);
	/* Chains stand before it. */
	assert_true(strstr(text, "t90[90] waits") < folded);
	assert_int_equal(lines_with(text, "semaphore"), 1);
}

/* Threads 1 to 3 wait in the first one, 4 in the second, and of 5 it is not known. */
static void add_stacks(struct stacks *stacks)
{
	static const char *const functions[] = { "take_job", "take_lock" };

	for (uint32_t i = 0; i < ARRAY_LEN(functions); i++) {
		stacks_add_frame(stacks, &(struct stack_frame){ .function = functions[i],
								.module = "server" });
		assert_true(stacks_add_stack(stacks, &i, 1, NULL));
	}
	for (int32_t tid = 1; tid <= 4; tid++)
		stacks_add_wait(stacks,
				&(struct stack_wait){ .tid = tid, .end_ns = 5, .stack = tid == 4 });
	stacks_finish(stacks);
}

static void one_line_has_the_places_of_all(void **unused)
{
	struct stacks stacks = { 0 };
	AUTO_FREE char *text = NULL;

	add_stacks(&stacks);
	text = idle_text_of(5, false, &stacks);
	assert_non_null(strstr(text, "5 threads wait"));
	assert_non_null(strstr(text, "t5[5]\n    at take_job (server): 3 of them\n"
				     "    at take_lock (server): t4[4]\n    ends in"));
	stacks_fini(&stacks);
}

/* Thread 4 is at something, deep in its own code; the others wait for work. */
static void who_waits_amid_its_work_stands_before_who_waits_for_work(void **unused)
{
	uint32_t frames[9] = { 0, 1, 2, 2, 2, 2, 2, 2, 2 };
	static const char *const functions[] = { "take_job", "lock_row", "run" };
	struct stacks stacks = { 0 };
	AUTO_FREE char *text = NULL;
	const char *alone;

	for (uint32_t i = 0; i < ARRAY_LEN(functions); i++)
		stacks_add_frame(&stacks, &(struct stack_frame){ .function = functions[i],
								 .module = "server" });
	assert_true(stacks_add_stack(&stacks, frames, 1, NULL));
	assert_true(stacks_add_stack(&stacks, frames + 1, 8, NULL));
	for (int32_t tid = 1; tid <= 5; tid++)
		stacks_add_wait(&stacks,
				&(struct stack_wait){ .tid = tid, .end_ns = 5, .stack = tid == 4 });
	stacks_finish(&stacks);
	text = idle_text_of(5, false, &stacks);
	alone = strstr(text, "\nt4[4] waits for ");
	assert_non_null(alone);
	assert_non_null(strstr(alone, "    at lock_row (server), called by run"));
	assert_non_null(strstr(alone, "4 threads wait for up to 4.000 s"));
	stacks_fini(&stacks);
}

static void two_alike_and_unfolded_ones_are_lines_of_their_own(void **unused)
{
	AUTO_FREE char *two = idle_text(2, false), *unfolded = idle_text(4, true);

	assert_int_equal(lines_with(two, "] waits for "), 2);
	assert_int_equal(lines_with(unfolded, "semaphore (by its layout) 0x7f0"), 2);
	assert_int_equal(lines_with(unfolded, "semaphore (by its layout) of queue"), 2);
}

/* Thread 1 waits for process 2, of which thread 2 waits for work and thread 3 runs; or for a signal. */
static void who_runs_of_several_is_said_and_that_others_could_end_it(void **unused)
{
	struct stuck *stuck = xcalloc(1, sizeof(*stuck));
	size_t bytes;
	AUTO_FREE char *text = NULL;
	FILE *out = open_memstream(&text, &bytes);

	stuck->threads = xcalloc(4, sizeof(*stuck->threads));
	add(stuck, 1, 2, false);
	stuck->threads[0].edges[0].is_process = true;
	stuck->threads[0].has_outside = true;
	add(stuck, 2, 0, false);
	add(stuck, 3, 0, false);
	stuck->threads[1].tgid = stuck->threads[2].tgid = 2;
	stuck->threads[1].kind = STUCK_UNOWNED;
	stuck->threads[2].kind = STUCK_RUNS;
	graph_run(stuck);
	report_stuck_text(out, &(struct report_stuck){ .stuck = stuck, .all = true });
	(void)fclose(out);
	stuck_free(stuck);
	assert_non_null(strstr(text, "  <- or from outside: a signal, a client, the network\n"));
	assert_non_null(
		strstr(text, "any thread of t2[2]; of these t3[3] runs, or waits for a CPU\n"));
}

static void what_is_known_of_an_end_has_words_of_its_own(void **unused)
{
	char *words[STUCK_HOWS];

	for (enum stuck_how how = STUCK_HOW_NONE; how < STUCK_HOWS; how++) {
		words[how] = report_stuck_how(&(struct stuck_edge){ .how = how, .mode = "m" });
		for (enum stuck_how other = STUCK_HOW_NONE; other < how; other++)
			assert_string_not_equal(words[how], words[other]);
	}
	for (enum stuck_how how = STUCK_HOW_NONE; how < STUCK_HOWS; how++)
		free(words[how]);
}

static void what_is_inferred_of_an_end_is_labelled(void **unused)
{
	AUTO_FREE char *fifo = report_stuck_how(
		&(struct stuck_edge){ .how = STUCK_HOW_READS_FIFO, .is_inferred = true });
	AUTO_FREE char *queued = report_stuck_how(&(struct stuck_edge){
		.how = STUCK_HOW_POSTGRES_QUEUED, .mode = "ShareLock", .is_inferred = true });

	assert_string_equal(fifo, "inferred: has a FIFO with that name open for reading");
	assert_string_equal(queued, "is before it in the queue, for ShareLock");
}

/* Two goroutines that wait alike, one in a system call, and one of the runtime. */
static char *text_of_goroutines(bool is_deadlock)
{
	struct stuck *stuck = xcalloc(1, sizeof(*stuck));
	int64_t ids[] = { 7, 8, 1, 2 };
	struct go_group groups[] = {
		{ .first = 0,
		  .count = 2,
		  .state = GO_WAITS,
		  .since_ns = 1000000000,
		  .frames = 2,
		  .place = 1,
		  .reason = "chan receive",
		  .object = "chan int 0xc0, unbuffered",
		  .stack = { { .function = "runtime.gopark", .is_library = true },
			     { .function = "main.work", .file = "/x/pool.go", .line = 33 } },
		  .created = { .function = "main.main", .file = "/x/pool.go", .line = 9 } },
		{ .first = 2,
		  .count = 1,
		  .state = GO_CALLS,
		  .tid = 1,
		  .reason = "system call or C" },
		{ .first = 3,
		  .count = 1,
		  .state = GO_OTHER,
		  .is_runtime = true,
		  .reason = "finalizer wait" },
	};
	struct go_process process = { .tgid = 1,
				      .groups = 3,
				      .count = 3,
				      .runtime = 1,
				      .is_still = true,
				      .is_deadlock = is_deadlock };
	struct goroutines goroutines = { .processes = &process,
					 .process_count = 1,
					 .groups = groups,
					 .group_count = 3,
					 .ids = ids,
					 .id_count = 4 };
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	snprintf(process.open, sizeof(process.open), "%s", is_deadlock ? "" : "a reason");
	stuck->now_ns = 3000000000;
	stuck->threads = xcalloc(1, sizeof(*stuck->threads));
	add(stuck, 1, 0, false);
	graph_run(stuck);
	report_stuck_text(out, &(struct report_stuck){
				       .stuck = stuck, .all = true, .goroutines = &goroutines });
	(void)fclose(out);
	stuck_free(stuck);
	return text;
}

static void goroutines_that_wait_alike_are_one_line(void **unused)
{
	AUTO_FREE char *text = text_of_goroutines(false);

	assert_non_null(strstr(text, ": no deadlock found\n"));
	assert_non_null(strstr(text,
			       "3 goroutines of t1[1], and 1 of Go's runtime\n"
			       "  2 goroutines wait for at least 2.000 s in chan receive: "
			       "chan int 0xc0, unbuffered: 7, 8\n"
			       "      at main.work (pool.go:33), begun by main.main (pool.go:9)\n"
			       "  goroutine 1 waits in system call or C, thread 1\n"
			       "  no deadlock of all of them: a reason\n"));
	assert_null(strstr(text, "finalizer wait"));
}

static void a_deadlock_of_goroutines_says_that_it_is_by_exclusion(void **unused)
{
	AUTO_FREE char *text = text_of_goroutines(true);

	assert_non_null(strstr(text,
			       ": a deadlock\nDEADLOCK: the 3 goroutines of t1[1] wait for "
			       "each other; nobody else can end their waits, but for a signal "
			       "or a finalizer\n  By exclusion, as Go notes no owners:"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_is_said),
		cmocka_unit_test(a_process_that_cannot_go_on_is_in_the_first_line),
		cmocka_unit_test(what_is_inferred_anywhere_says_so),
		cmocka_unit_test(output_is_no_input),
		cmocka_unit_test(each_how_has_a_name_and_words),
		cmocka_unit_test(who_waits_alike_is_one_line),
		cmocka_unit_test(one_line_has_the_places_of_all),
		cmocka_unit_test(who_runs_of_several_is_said_and_that_others_could_end_it),
		cmocka_unit_test(who_waits_amid_its_work_stands_before_who_waits_for_work),
		cmocka_unit_test(two_alike_and_unfolded_ones_are_lines_of_their_own),
		cmocka_unit_test(what_is_known_of_an_end_has_words_of_its_own),
		cmocka_unit_test(what_is_inferred_of_an_end_is_labelled),
		cmocka_unit_test(goroutines_that_wait_alike_are_one_line),
		cmocka_unit_test(a_deadlock_of_goroutines_says_that_it_is_by_exclusion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

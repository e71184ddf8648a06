/* test_graph.c - who is stuck for good, by threads and edges that a reader can follow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "stuck/graph.h"
#include "stuck/stuck.h"

#define THREADS_MAX 2000

/* Threads by tgid, tid; those with an edge wait. */
static struct stuck *stuck_new(void)
{
	struct stuck *stuck = xcalloc(1, sizeof(*stuck));

	stuck->threads = xcalloc(THREADS_MAX, sizeof(*stuck->threads));
	return stuck;
}

static struct stuck_thread *add(struct stuck *stuck, int32_t tgid, int32_t tid)
{
	struct stuck_thread *thread = &stuck->threads[stuck->count];

	map_put(&stuck->by_tid, (uint64_t)tid, stuck->count++);
	thread->tgid = tgid;
	thread->tid = tid;
	thread->is_complete = true;
	return thread;
}

static struct stuck_edge *wait_for(struct stuck_thread *thread, int32_t tid, bool is_process)
{
	struct stuck_edge *edge;

	thread->kind = STUCK_TASKS;
	thread->edges = xrealloc(thread->edges, thread->edge_count + 1, sizeof(*thread->edges));
	edge = &thread->edges[thread->edge_count++];
	*edge = (struct stuck_edge){ .tid = tid, .is_process = is_process };
	return edge;
}

static void two_that_wait_for_each_other_are_a_deadlock(void **unused)
{
	struct stuck *stuck = stuck_new();

	wait_for(add(stuck, 1, 1), 2, false);
	wait_for(add(stuck, 1, 2), 3, false);
	wait_for(add(stuck, 1, 3), 2, false);
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 1);
	assert_int_equal(stuck->cycles[0].count, 2);
	assert_int_equal(stuck->cycles[0].tids[0], 2);
	assert_int_equal(stuck->cycles[0].tids[1], 3);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_VICTIM);
	assert_int_equal(stuck->threads[1].root, STUCK_ROOT_DEADLOCK);
	stuck_free(stuck);
}

static void who_waits_for_itself_is_one(void **unused)
{
	struct stuck *stuck = stuck_new();

	wait_for(add(stuck, 1, 1), 1, false);
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 1);
	assert_int_equal(stuck->cycles[0].count, 1);
	stuck_free(stuck);
}

/* A ring of two, of which something could end the second wait. */
static struct stuck *ring(void)
{
	struct stuck *stuck = stuck_new();

	wait_for(add(stuck, 1, 1), 2, false);
	wait_for(add(stuck, 1, 2), 1, false);
	return stuck;
}

static void what_may_end_before_a_deadlock_is_no_part_of_a_ring(void **unused)
{
	struct stuck *stuck = stuck_new();

	wait_for(add(stuck, 1, 1), 2, false)->is_inferred = true;
	wait_for(add(stuck, 1, 2), 3, false);
	wait_for(add(stuck, 1, 3), 2, false);
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 1);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_BEFORE);
	assert_int_equal(stuck->threads[0].root_tid, 2);
	stuck_free(stuck);
}

static void assert_no_deadlock(struct stuck *stuck)
{
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 0);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_RING);
	stuck_free(stuck);
}

static void a_time_limit_is_no_deadlock(void **unused)
{
	struct stuck *stuck = ring();

	stuck->threads[1].is_timed = true;
	assert_no_deadlock(stuck);
}

/* Who is stopped by a tracer goes on when that one says so. */
static void a_tracer_that_waits_for_whom_it_stopped_is_a_deadlock(void **unused)
{
	struct stuck *stuck = ring();

	stuck->threads[1].kind = STUCK_TRACED;
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 1);
	assert_int_equal(stuck->cycles[0].count, 2);
	stuck_free(stuck);
}

/* What is written to a pipe of its own is not written by who reads from it. */
static void of_its_own_process_the_other_thread_is_awaited(void **unused)
{
	struct stuck *stuck = stuck_new();

	wait_for(add(stuck, 1, 1), 1, true);
	add(stuck, 1, 2)->kind = STUCK_TIMER;
	graph_run(stuck);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_TASK);
	assert_int_equal(stuck->threads[0].root_tid, 2);
	stuck_free(stuck);
}

static void a_signal_handler_could_be_that_thread(void **unused)
{
	struct stuck *stuck = stuck_new();

	wait_for(add(stuck, 1, 1), 1, true);
	add(stuck, 1, 2)->kind = STUCK_TIMER;
	stuck->threads[0].is_complete = false;
	graph_run(stuck);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_ANY);
	stuck_free(stuck);
}

static void what_is_inferred_is_no_deadlock(void **unused)
{
	struct stuck *stuck = ring();

	stuck->threads[1].edges[0].is_inferred = true;
	assert_no_deadlock(stuck);
}

static void who_may_be_unknown_is_no_deadlock(void **unused)
{
	struct stuck *stuck = ring();

	stuck->threads[1].is_complete = false;
	assert_no_deadlock(stuck);
}

static void one_of_several_that_runs_is_enough(void **unused)
{
	struct stuck *stuck = ring();

	wait_for(&stuck->threads[1], 3, false);
	add(stuck, 3, 3);
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 0);
	stuck_free(stuck);
}

/* Both hold a lock, one of them runs, and the other one waits for who wants it. */
static void one_of_several_who_are_all_needed_is_not_enough(void **unused)
{
	struct stuck *stuck = ring();

	stuck->threads[1].needs_all = true;
	add(stuck, 1, 3);
	wait_for(&stuck->threads[1], 3, false);
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 1);
	assert_int_equal(stuck->cycles[0].count, 2);
	stuck_free(stuck);
}

/* Of those who queued before it PostgreSQL can let it pass. */
static void who_queued_before_is_not_needed(void **unused)
{
	struct stuck *stuck = ring();

	stuck->threads[1].needs_all = true;
	stuck->threads[1].edges[0].is_inferred = true;
	add(stuck, 1, 3);
	wait_for(&stuck->threads[1], 3, false);
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 0);
	stuck_free(stuck);
}

static void any_thread_of_a_process_can_go_on_for_it(void **unused)
{
	struct stuck *stuck = stuck_new();

	wait_for(add(stuck, 1, 1), 2, true);
	wait_for(add(stuck, 2, 2), 1, true);
	wait_for(add(stuck, 2, 3), 1, true);
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 1);
	assert_int_equal(stuck->cycles[0].count, 3);
	stuck_free(stuck);

	stuck = stuck_new();
	wait_for(add(stuck, 1, 1), 2, true);
	wait_for(add(stuck, 2, 2), 1, true);
	add(stuck, 2, 3)->kind = STUCK_TIMER;
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 0);
	stuck_free(stuck);
}

static void a_process_that_was_stopped_as_a_whole_is_the_end(void **unused)
{
	struct stuck *stuck = stuck_new();

	wait_for(add(stuck, 1, 1), 2, true)->is_inferred = true;
	add(stuck, 2, 2)->kind = STUCK_STOPPED;
	add(stuck, 2, 3)->kind = STUCK_STOPPED;
	graph_run(stuck);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_TASK);
	assert_int_equal(stuck->threads[0].root_tid, 2);
	stuck_free(stuck);

	stuck = stuck_new();
	wait_for(add(stuck, 1, 1), 2, true)->is_inferred = true;
	add(stuck, 2, 2)->kind = STUCK_STOPPED;
	add(stuck, 2, 3)->kind = STUCK_OUTSIDE;
	graph_run(stuck);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_ANY);
	stuck_free(stuck);
}

static void a_chain_is_followed_to_its_end(void **unused)
{
	struct stuck *stuck = stuck_new();

	wait_for(add(stuck, 1, 1), 2, false);
	wait_for(add(stuck, 1, 2), 3, true);
	add(stuck, 3, 3)->kind = STUCK_TIMER;
	graph_run(stuck);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_TASK);
	assert_int_equal(stuck->threads[0].root_tid, 3);
	assert_int_equal(stuck->threads[2].root, STUCK_ROOT_SELF);
	stuck_free(stuck);
}

static void what_names_nobody_is_without_hope_when_all_of_a_process_sleep(void **unused)
{
	struct stuck *stuck = stuck_new();

	for (int32_t tid = 1; tid <= 2; tid++) {
		struct stuck_thread *thread = add(stuck, 1, tid);

		thread->kind = STUCK_UNOWNED;
		thread->is_inside = true;
		thread->is_complete = false;
	}
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 0);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_INSIDE);
	for (size_t i = 0; i < stuck->count; i++)
		stuck->threads[i].root = STUCK_ROOT_SELF;
	add(stuck, 1, 3)->kind = STUCK_OUTSIDE;
	graph_run(stuck);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_SELF);
	stuck_free(stuck);
}

/* Two of process 1 wait for what names nobody, and nobody else can end that. */
static struct stuck *closed_process(void)
{
	struct stuck *stuck = stuck_new();

	for (int32_t tid = 1; tid <= 2; tid++) {
		struct stuck_thread *thread = add(stuck, 1, tid);

		thread->kind = STUCK_UNOWNED;
		thread->is_inside = thread->is_closed = true;
		thread->is_complete = false;
	}
	return stuck;
}

static void what_only_sleepers_of_a_closed_process_could_end_is_a_deadlock(void **unused)
{
	struct stuck *stuck = closed_process();

	wait_for(add(stuck, 1, 3), 1, false);
	wait_for(add(stuck, 4, 4), 1, true);
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 1);
	assert_int_equal(stuck->cycles[0].count, 3);
	assert_true(stuck->cycles[0].is_closed);
	assert_int_equal(stuck->threads[2].root, STUCK_ROOT_DEADLOCK);
	assert_int_equal(stuck->threads[3].root, STUCK_ROOT_VICTIM);
	stuck_free(stuck);
}

static void one_that_can_go_on_opens_a_closed_process(void **unused)
{
	struct stuck *stuck = closed_process();

	add(stuck, 1, 3)->kind = STUCK_OUTSIDE;
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 0);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_SELF);
	stuck_free(stuck);
}

static void those_who_have_owners_are_the_deadlock_of_a_closed_process(void **unused)
{
	struct stuck *stuck = closed_process();

	wait_for(add(stuck, 1, 3), 4, false);
	wait_for(add(stuck, 1, 4), 3, false);
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 1);
	assert_int_equal(stuck->cycles[0].count, 2);
	assert_false(stuck->cycles[0].is_closed);
	assert_int_equal(stuck->threads[0].root, STUCK_ROOT_INSIDE);
	stuck_free(stuck);
}

static void many_behind_one_are_a_convoy(void **unused)
{
	struct stuck *stuck = stuck_new();

	add(stuck, 1, 1);
	for (int32_t tid = 2; tid < 2 + STUCK_CONVOY_MIN; tid++) {
		struct stuck_thread *thread = add(stuck, 1, tid);

		wait_for(thread, 1, false);
		strcpy(thread->object, "mutex 0x10");
	}
	graph_run(stuck);
	assert_int_equal(stuck->convoy_count, 1);
	assert_int_equal(stuck->convoys[0].tid, 1);
	assert_int_equal(stuck->convoys[0].count, STUCK_CONVOY_MIN);
	stuck_free(stuck);
}

/* One of whom it is known suffices. */
static void a_convoy_behind_whom_it_need_not_be_is_inferred(void **unused)
{
	for (int32_t known = 0; known < 2; known++) {
		struct stuck *stuck = stuck_new();

		add(stuck, 1, 1);
		for (int32_t tid = 2; tid < 2 + STUCK_CONVOY_MIN; tid++) {
			struct stuck_thread *thread = add(stuck, 1, tid);

			wait_for(thread, 1, false)->is_inferred = tid > 2 || !known;
			strcpy(thread->object, "mutex 0x10");
		}
		graph_run(stuck);
		assert_int_equal(stuck->convoy_count, 1);
		assert_int_equal(stuck->convoys[0].is_inferred, !known);
		stuck_free(stuck);
	}
}

/* The slow and obvious way: take away who can go on, until nobody is left who can. */
static bool can_all(const struct stuck_thread *thread, const bool *goes_on)
{
	bool can = true;

	for (size_t k = 0; k < thread->edge_count; k++)
		can &= thread->edges[k].is_inferred || goes_on[thread->edges[k].tid - 1];
	return can;
}

static void take_away(const struct stuck *stuck, bool *goes_on)
{
	bool is_changed = true;

	while (is_changed) {
		is_changed = false;
		for (size_t i = 0; i < stuck->count; i++) {
			const struct stuck_thread *thread = &stuck->threads[i];
			bool can = thread->kind != STUCK_TASKS;

			for (size_t k = 0; k < thread->edge_count && !thread->needs_all; k++)
				can |= goes_on[thread->edges[k].tid - 1];
			if (thread->needs_all)
				can |= can_all(thread, goes_on);
			is_changed |= can && !goes_on[i];
			goes_on[i] |= can;
		}
	}
}

/* Whether 'from' reaches 'to' through those that are stuck. */
static bool reaches(const struct stuck *stuck, const bool *goes_on, size_t from, size_t to)
{
	bool seen[16] = { false };
	size_t list[16], count = 0;

	list[count++] = from;
	for (size_t i = 0; i < count; i++) {
		const struct stuck_thread *thread = &stuck->threads[list[i]];

		for (size_t k = 0; k < thread->edge_count; k++) {
			size_t next = (size_t)thread->edges[k].tid - 1;

			if (thread->needs_all && thread->edges[k].is_inferred)
				continue;
			if (next == to)
				return true;
			if (!goes_on[next] && !seen[next]) {
				seen[next] = true;
				list[count++] = next;
			}
		}
	}
	return false;
}

static void random_graphs_have_the_deadlocks_of_the_slow_way(void **unused)
{
	srand(21);
	for (int round = 0; round < 3000; round++) {
		size_t count = 1 + (size_t)rand() % 12;
		struct stuck *stuck = stuck_new();
		bool goes_on[16] = { false };

		for (size_t i = 0; i < count; i++) {
			struct stuck_thread *thread = add(stuck, 1, (int32_t)i + 1);

			for (int edges = rand() % 3 + (rand() % 4 > 0); edges > 0; edges--)
				wait_for(thread, rand() % (int)count + 1, false);
			thread->needs_all = rand() % 2;
			for (size_t k = 0; k < thread->edge_count; k++)
				thread->edges[k].is_inferred = thread->needs_all && rand() % 4 == 0;
		}
		take_away(stuck, goes_on);
		graph_run(stuck);
		for (size_t i = 0; i < count; i++) {
			bool is_cycle = !goes_on[i] && reaches(stuck, goes_on, i, i);

			assert_int_equal(stuck->threads[i].root == STUCK_ROOT_DEADLOCK, is_cycle);
			assert_int_equal(stuck->threads[i].root == STUCK_ROOT_VICTIM,
					 !goes_on[i] && !is_cycle);
		}
		stuck_free(stuck);
	}
}

static void a_long_chain_takes_no_stack(void **unused)
{
	struct stuck *stuck = stuck_new();

	for (int32_t tid = 1; tid <= THREADS_MAX; tid++)
		wait_for(add(stuck, 1, tid), tid % THREADS_MAX + 1, false);
	graph_run(stuck);
	assert_int_equal(stuck->cycle_count, 1);
	assert_int_equal(stuck->cycles[0].count, THREADS_MAX);
	stuck_free(stuck);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_that_wait_for_each_other_are_a_deadlock),
		cmocka_unit_test(who_waits_for_itself_is_one),
		cmocka_unit_test(what_may_end_before_a_deadlock_is_no_part_of_a_ring),
		cmocka_unit_test(a_time_limit_is_no_deadlock),
		cmocka_unit_test(a_tracer_that_waits_for_whom_it_stopped_is_a_deadlock),
		cmocka_unit_test(of_its_own_process_the_other_thread_is_awaited),
		cmocka_unit_test(a_signal_handler_could_be_that_thread),
		cmocka_unit_test(what_is_inferred_is_no_deadlock),
		cmocka_unit_test(who_may_be_unknown_is_no_deadlock),
		cmocka_unit_test(one_of_several_that_runs_is_enough),
		cmocka_unit_test(one_of_several_who_are_all_needed_is_not_enough),
		cmocka_unit_test(who_queued_before_is_not_needed),
		cmocka_unit_test(any_thread_of_a_process_can_go_on_for_it),
		cmocka_unit_test(a_process_that_was_stopped_as_a_whole_is_the_end),
		cmocka_unit_test(a_chain_is_followed_to_its_end),
		cmocka_unit_test(what_names_nobody_is_without_hope_when_all_of_a_process_sleep),
		cmocka_unit_test(what_only_sleepers_of_a_closed_process_could_end_is_a_deadlock),
		cmocka_unit_test(one_that_can_go_on_opens_a_closed_process),
		cmocka_unit_test(those_who_have_owners_are_the_deadlock_of_a_closed_process),
		cmocka_unit_test(many_behind_one_are_a_convoy),
		cmocka_unit_test(a_convoy_behind_whom_it_need_not_be_is_inferred),
		cmocka_unit_test(random_graphs_have_the_deadlocks_of_the_slow_way),
		cmocka_unit_test(a_long_chain_takes_no_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_condition.c - conditions as they are written, and where they are met. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "stuck/condition.h"
#include "stuck/goroutines.h"
#include "stuck/graph.h"
#include "stuck/stuck.h"

#define SECOND UINT64_C(1000000000)
#define NOW    (100 * SECOND)

static struct condition parsed(const char *text)
{
	struct condition condition;
	struct err err = { 0 };

	assert_int_equal(condition_parse(text, &condition, &err), 0);
	return condition;
}

static void what_is_written_is_read(void **unused)
{
	static const char *const wrong[] = { "",       "dead",	  "deadlock>1s", "chain",
					     "chain>", "chain>x", "D>-1s",	 "convoy>1s",
					     "convoy", "d>1s",	  "chains>1s",	 "Chain>1s",
					     ">1s",    "D" };
	struct condition condition;
	struct err err = { 0 };

	assert_int_equal(parsed("deadlock").kind, CONDITION_DEADLOCK);
	assert_int_equal(parsed("chain>5s").kind, CONDITION_CHAIN);
	assert_int_equal(parsed("chain>5s").least_ns, 5 * SECOND);
	assert_int_equal(parsed("D>300ms").kind, CONDITION_D);
	assert_int_equal(parsed("D>300ms").least_ns, 3 * SECOND / 10);
	assert_int_equal(parsed("convoy>20").least_count, 20);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(condition_parse(wrong[i], &condition, &err), -EINVAL);
}

/* Thread 'tid' has slept for some seconds; it waits for another one when 'for_tid' is not 0. */
static struct stuck_thread *add(struct stuck *stuck, int32_t tid, uint64_t seconds, int32_t for_tid)
{
	struct stuck_thread *thread = &stuck->threads[stuck->count];

	map_put(&stuck->by_tid, (uint64_t)tid, stuck->count++);
	*thread = (struct stuck_thread){ .tid = tid,
					 .tgid = 1,
					 .state = 'S',
					 .kind = STUCK_TIMER,
					 .is_asked = true,
					 .is_complete = true,
					 .since_ns = seconds ? NOW - seconds * SECOND : 0 };
	if (!for_tid)
		return thread;
	thread->kind = STUCK_TASKS;
	thread->edges = xcalloc(1, sizeof(*thread->edges));
	thread->edges[0].tid = for_tid;
	thread->edge_count = 1;
	return thread;
}

static struct stuck *stuck_new(void)
{
	struct stuck *stuck = xcalloc(1, sizeof(*stuck));

	stuck->threads = xcalloc(16, sizeof(*stuck->threads));
	stuck->now_ns = NOW;
	return stuck;
}

static struct condition_list found(struct stuck *stuck, const char *text)
{
	struct condition condition = parsed(text);
	struct condition_list list;

	conditions_find(&condition, 1, stuck, NULL, &list);
	return list;
}

static void a_chain_is_as_long_as_its_waiters(void **unused)
{
	struct stuck *stuck = stuck_new();
	struct condition_list list;

	add(stuck, 1, 9, 0);
	add(stuck, 2, 3, 1);
	add(stuck, 3, 7, 2);
	add(stuck, 4, 1, 1);
	add(stuck, 5, 0, 1); /* it is not known since when */
	add(stuck, 6, 8, 1)->is_asked = false;
	graph_run(stuck);
	list = found(stuck, "chain>2s");
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].tid, 1);
	assert_int_equal(list.items[0].count, 2);
	assert_int_equal(list.items[0].tids[0], 3);
	assert_int_equal(list.items[0].tids[1], 2);
	assert_true(list.items[0].since_ns == NOW - 7 * SECOND);
	conditions_fini(&list);
	list = found(stuck, "chain>7s");
	assert_int_equal(list.count, 0);
	conditions_fini(&list);
	stuck_free(stuck);
}

static void only_sleep_in_d_counts_as_that(void **unused)
{
	struct stuck *stuck = stuck_new();
	struct condition_list list;

	add(stuck, 1, 50, 0);
	add(stuck, 2, 20, 0)->state = 'D';
	add(stuck, 3, 5, 0)->state = 'D';
	graph_run(stuck);
	list = found(stuck, "D>10s");
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].tid, 2);
	conditions_fini(&list);
	stuck_free(stuck);
}

static void two_in_a_ring_are_a_deadlock(void **unused)
{
	struct stuck *stuck = stuck_new();
	struct condition_list list;

	add(stuck, 1, 3, 2);
	add(stuck, 2, 4, 1);
	add(stuck, 3, 9, 1);
	graph_run(stuck);
	list = found(stuck, "deadlock");
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].count, 2);
	assert_true(list.items[0].since_ns == NOW - 4 * SECOND);
	conditions_fini(&list);
	stuck_free(stuck);
}

/* The process stands for its goroutines, and waits since its last thread had a CPU. */
static void goroutines_that_wait_for_each_other_are_one(void **unused)
{
	struct stuck *stuck = stuck_new();
	struct go_process processes[] = { { .tgid = 3 }, { .tgid = 5, .is_deadlock = true } };
	const struct goroutines goroutines = { .processes = processes, .process_count = 2 };
	struct condition condition = parsed("deadlock");
	struct condition_list list;

	add(stuck, 3, 9, 0)->tgid = 3;
	add(stuck, 4, 9, 0)->tgid = 5;
	add(stuck, 5, 2, 0)->tgid = 5;
	conditions_find(&condition, 1, stuck, &goroutines, &list);
	assert_int_equal(list.count, 1);
	assert_true(list.items[0].is_of_goroutines);
	assert_int_equal(list.items[0].tid, 5);
	assert_int_equal(list.items[0].count, 2);
	assert_int_equal(list.items[0].tids[0], 5);
	assert_int_equal(list.items[0].tids[1], 4);
	assert_true(list.items[0].since_ns == NOW - 2 * SECOND);
	conditions_fini(&list);
	condition = parsed("chain>1h");
	conditions_find(&condition, 1, stuck, &goroutines, &list);
	assert_int_equal(list.count, 0);
	conditions_fini(&list);
	stuck_free(stuck);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_chain_is_as_long_as_its_waiters),
		cmocka_unit_test(only_sleep_in_d_counts_as_that),
		cmocka_unit_test(two_in_a_ring_are_a_deadlock),
		cmocka_unit_test(goroutines_that_wait_for_each_other_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

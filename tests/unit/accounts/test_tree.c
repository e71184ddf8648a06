/* Exits in an order that a reader can follow by hand, and who gets the account. */
#include "accounts/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ROOT	 100
#define MS	 1000000ull
#define START_NS (1000 * MS)

/* Thread 'tid' of process 'tgid', child of 'ppid', that lived from birth to exit and ran 1 ns. */
struct exit_line {
	int32_t tid, tgid, ppid;
	uint64_t birth_ms, exit_ms;
	bool is_last;
};

static void feed(struct delays_tree *tree, const struct exit_line *line)
{
	struct delays_message exit = { .has_thread = true, .tid = line->tid };

	exit.thread = (struct delays_stats){
		.version = 16,
		.has = DELAYS_HAS_TGID,
		.tid = line->tid,
		.tgid = line->tgid,
		.ppid = line->ppid,
		.flags = line->is_last ? DELAYS_FLAG_LAST : 0,
		.run_ns = 1,
		.life_us = (line->exit_ms - line->birth_ms) * 1000,
	};
	(void)snprintf(exit.thread.name, sizeof(exit.thread.name), "p%d", line->tgid % 3);
	delays_tree_feed(tree, &exit, START_NS + line->exit_ms * MS);
}

static struct delays_group sum_of(struct delays_tree *tree)
{
	struct delays_group sum;

	delays_groups_sum(delays_tree_groups(tree), &sum);
	return sum;
}

#define FEED(tree, lines)                                                       \
	do {                                                                    \
		for (size_t i = 0; i < sizeof(lines) / sizeof((lines)[0]); i++) \
			feed(tree, &(lines)[i]);                                \
	} while (0)

static void a_tree_is_the_sum_of_all_its_threads(void **unused)
{
	static const struct exit_line lines[] = {
		{ 103, 103, 102, 5, 10, true },	 /* grandchild */
		{ 105, 102, 101, 6, 11, false }, /* a thread of the child */
		{ 900, 900, 1, 0, 12, true },	 /* a stranger */
		{ 102, 102, 101, 3, 20, true },	 { 101, 101, ROOT, 1, 30, true },
	};
	struct delays_tree *tree = delays_tree_new(ROOT);
	struct delays_group sum;

	FEED(tree, lines);
	sum = sum_of(tree);
	assert_int_equal(sum.threads, 4);
	assert_int_equal(sum.processes, 3);
	assert_int_equal(sum.stats.run_ns, 4);
	assert_int_equal(sum.stats.life_us, (5 + 5 + 17 + 29) * 1000);
	delays_tree_free(tree);
}

static void nothing_counts_before_its_parent_has_ended(void **unused)
{
	static const struct exit_line lines[] = { { 103, 103, 102, 5, 10, true } };
	struct delays_tree *tree = delays_tree_new(ROOT);

	FEED(tree, lines);
	assert_int_equal(sum_of(tree).threads, 0);
	delays_tree_add_living(tree, 102);
	assert_int_equal(sum_of(tree).threads, 1);
	delays_tree_free(tree);
}

static void a_daemon_comes_to_the_root(void **unused)
{
	static const struct exit_line lines[] = {
		{ 102, 102, 101, 2, 3, true },	 /* the one between */
		{ 104, 104, 103, 5, 6, true },	 /* child of the daemon */
		{ 103, 103, ROOT, 2, 50, true }, /* the daemon, adopted */
		{ 101, 101, ROOT, 1, 60, true },
	};
	struct delays_tree *tree = delays_tree_new(ROOT);

	FEED(tree, lines);
	assert_int_equal(sum_of(tree).processes, 4);
	delays_tree_free(tree);
}

static void a_child_that_is_heard_after_its_parent_still_counts(void **unused)
{
	static const struct exit_line lines[] = {
		{ 102, 102, 101, 2, 10, true },
		{ 101, 101, ROOT, 1, 11, true },
		{ 103, 103, 102, 5, 12, true }, /* read late: from another CPU */
	};
	struct delays_tree *tree = delays_tree_new(ROOT);

	FEED(tree, lines);
	assert_int_equal(sum_of(tree).processes, 3);
	delays_tree_free(tree);
}

static void a_number_that_was_taken_again_is_another_process(void **unused)
{
	static const struct exit_line lines[] = {
		{ 102, 102, ROOT, 2, 10, true },     /* ours */
		{ 300, 300, 102, 2000, 2010, true }, /* child of the stranger that is 102 now */
		{ 102, 102, 1, 1990, 2020, true },
	};
	struct delays_tree *tree = delays_tree_new(ROOT);

	FEED(tree, lines);
	assert_int_equal(sum_of(tree).processes, 1);
	delays_tree_free(tree);
}

static void without_a_root_all_is_added_up_by_name(void **unused)
{
	static const struct exit_line lines[] = {
		{ 3, 3, 1, 0, 1, true },
		{ 6, 6, 2, 0, 1, true },
		{ 4, 4, 3, 0, 1, true },
	};
	struct delays_tree *tree = delays_tree_new(0);
	const struct delays_groups *groups;

	FEED(tree, lines);
	groups = delays_tree_groups(tree);
	assert_int_equal(groups->count, 2);
	assert_string_equal(groups->groups[0].name, "p0");
	assert_int_equal(groups->groups[0].processes, 2);
	assert_string_equal(groups->groups[1].name, "p1");
	delays_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_is_the_sum_of_all_its_threads),
		cmocka_unit_test(nothing_counts_before_its_parent_has_ended),
		cmocka_unit_test(a_daemon_comes_to_the_root),
		cmocka_unit_test(a_child_that_is_heard_after_its_parent_still_counts),
		cmocka_unit_test(a_number_that_was_taken_again_is_another_process),
		cmocka_unit_test(without_a_root_all_is_added_up_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

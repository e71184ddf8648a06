/* Which rows holdup top shows, in which order, and where the selection stays. */
#include "tui/top_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "top_maker.h"

static void assert_pids(const struct top_model *model, const int *pids, size_t count)
{
	assert_int_equal(model->line_count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(model->lines[i].task->tid, pids[i]);
}

#define ASSERT_PIDS(model, ...)                                              \
	do {                                                                 \
		static const int pids_[] = { __VA_ARGS__ };                  \
		assert_pids(model, pids_, sizeof(pids_) / sizeof(pids_[0])); \
	} while (0)

static void the_one_that_waited_most_is_first(void **unused)
{
	struct top_task tasks[] = { make_task(1, 0, 0, 0), make_task(2, 1, 90, 5),
				    make_task(3, 1, 10, 60) };
	struct top_model model;

	top_model_init(&model);
	top_model_feed(&model, tasks, 3, SECOND);
	ASSERT_PIDS(&model, 3, 2, 1);
	model.sort = TOP_SORT_RUN;
	top_model_rebuild(&model);
	ASSERT_PIDS(&model, 2, 3, 1);
	model.backwards = true;
	top_model_rebuild(&model);
	ASSERT_PIDS(&model, 1, 3, 2);
	top_model_fini(&model);
}

static void shares_add_up_to_all(void **unused)
{
	struct top_task task = make_task(1, 0, 33, 33);
	uint64_t permille[TOP_TIMES], sum = 0;

	task.base_ns = 3;
	memset(task.ns, 0, sizeof(task.ns));
	task.ns[TOP_RUN] = task.ns[TOP_CPU] = task.ns[TOP_DISK] = 1;
	top_task_charge(&task);
	top_task_shares(&task, permille);
	for (int i = 0; i < TOP_TIMES; i++)
		sum += permille[i];
	assert_int_equal(sum, 1000);
	/* Threads that ended in the interval leave more than those that live could. */
	task.ns[TOP_RUN] = 5;
	top_task_charge(&task);
	assert_int_equal(task.base_ns, 7);
	assert_int_equal(task.ns[TOP_OTHER], 0);
}

static void the_selection_stays_on_its_task(void **unused)
{
	struct top_task one[] = { make_task(1, 0, 0, 50), make_task(2, 0, 0, 40),
				  make_task(3, 0, 0, 30) };
	struct top_task two[] = { make_task(1, 0, 0, 10), make_task(2, 0, 0, 20),
				  make_task(3, 0, 0, 30) };
	struct top_model model;

	top_model_init(&model);
	top_model_feed(&model, one, 3, SECOND);
	top_model_move(&model, 2);
	assert_int_equal(top_model_selected(&model)->task->tid, 3);
	top_model_feed(&model, two, 3, SECOND);
	assert_int_equal(model.selected, 0);
	assert_int_equal(top_model_selected(&model)->task->tid, 3);
	/* Its number is used again: another task. It stays at the place. */
	two[2].birth_ns += SECOND;
	two[2].ns[TOP_CPU] = 0;
	top_model_feed(&model, two, 3, SECOND);
	assert_int_equal(model.selected, 0);
	assert_int_equal(top_model_selected(&model)->task->tid, 2);
	top_model_fini(&model);
}

static void a_selection_that_nobody_made_stays_at_the_top(void **unused)
{
	struct top_task one[] = { make_task(1, 0, 0, 50), make_task(2, 0, 0, 40) };
	struct top_task two[] = { make_task(1, 0, 0, 10), make_task(2, 0, 0, 20) };
	struct top_model model;

	top_model_init(&model);
	top_model_feed(&model, one, 2, SECOND);
	top_model_feed(&model, two, 2, SECOND);
	assert_int_equal(top_model_selected(&model)->task->tid, 2);
	top_model_fini(&model);
}

static void the_tree_hangs_children_below_their_parents(void **unused)
{
	struct top_task tasks[] = { make_task(1, 0, 0, 0), make_task(2, 1, 0, 10),
				    make_task(3, 1, 0, 20), make_task(4, 2, 0, 90) };
	struct top_model model;

	top_model_init(&model);
	model.tree = true;
	top_model_feed(&model, tasks, 4, SECOND);
	ASSERT_PIDS(&model, 1, 3, 2, 4);
	assert_int_equal(model.lines[3].depth, 2);
	/* What is folded hides what is below. */
	top_model_select(&model, 2);
	top_model_fold(&model);
	ASSERT_PIDS(&model, 1, 3, 2);
	assert_true(model.lines[2].folded);
	top_model_fold(&model);
	ASSERT_PIDS(&model, 1, 3, 2, 4);
	/* An ancestor that is not shown is skipped. */
	strcpy(model.filter, "odd");
	strcpy(model.tasks[3].cgroup, "/odd");
	top_model_rebuild(&model);
	ASSERT_PIDS(&model, 1, 4, 3);
	assert_int_equal(model.lines[1].depth, 1);
	top_model_fini(&model);
}

static void a_circle_of_parents_loses_nobody(void **unused)
{
	struct top_task tasks[] = { make_task(1, 3, 0, 0), make_task(2, 1, 0, 0),
				    make_task(3, 2, 0, 0), make_task(4, 4, 0, 0) };
	struct top_model model;

	top_model_init(&model);
	model.tree = true;
	top_model_feed(&model, tasks, 4, SECOND);
	assert_int_equal(model.line_count, 4);
	top_model_fini(&model);
}

static void threads_replace_their_process(void **unused)
{
	struct top_task tasks[] = { make_task(5, 0, 10, 0), make_task(5, 0, 10, 0),
				    make_task(6, 0, 5, 0) };
	struct top_model model;

	tasks[0].threads = tasks[1].threads = tasks[2].threads = 2;
	tasks[1].is_process = tasks[2].is_process = false;
	tasks[2].tgid = 5;
	top_model_init(&model);
	top_model_feed(&model, tasks, 3, SECOND);
	ASSERT_PIDS(&model, 5);
	model.threads = true;
	top_model_rebuild(&model);
	ASSERT_PIDS(&model, 5, 6);
	assert_false(model.lines[0].task->is_process);
	model.tree = true;
	top_model_rebuild(&model);
	ASSERT_PIDS(&model, 5, 5, 6);
	assert_int_equal(model.lines[2].depth, 1);
	/* Only processes count in the averages, else threads would count twice. */
	assert_true(model.average[TOP_RUN] > 0.09 && model.average[TOP_RUN] < 0.11);
	top_model_fini(&model);
}

static void groups_are_sums_of_their_members(void **unused)
{
	struct top_task tasks[] = { make_task(1, 0, 10, 10), make_task(2, 0, 20, 0),
				    make_task(3, 0, 30, 50), make_task(4, 0, 40, 20) };
	struct top_model model;
	const struct top_line *odd;

	top_model_init(&model);
	model.cgroups = true;
	top_model_feed(&model, tasks, 4, SECOND);
	ASSERT_PIDS(&model, 0, 3, 1, 0, 4, 2);
	odd = &model.lines[0];
	assert_string_equal(odd->task->cgroup, "/odd");
	assert_int_equal(odd->below, 2);
	assert_int_equal(odd->task->ns[TOP_RUN], 40 * SECOND / 100);
	assert_int_equal(odd->task->base_ns, 2 * SECOND);
	top_model_fold(&model);
	ASSERT_PIDS(&model, 0, 0, 4, 2);
	assert_false(top_model_follow(&model));
	top_model_fini(&model);
}

static void what_is_followed_has_its_past_and_is_told_to_have_ended(void **unused)
{
	struct top_task tasks[] = { make_task(1, 0, 10, 0), make_task(2, 0, 0, 90) };
	const struct top_history *past;
	struct top_model model;

	top_model_init(&model);
	for (size_t i = 0; i < TOP_HISTORY + 5; i++)
		top_model_feed(&model, tasks, 2, SECOND);
	assert_true(top_model_follow(&model));
	assert_int_equal(model.followed.tid, 2);
	tasks[1] = make_task(2, 0, 50, 0);
	top_model_feed(&model, tasks, 2, SECOND);
	past = &model.followed_history;
	assert_int_equal(past->count, TOP_HISTORY);
	assert_int_equal(top_history_at(past, 0)[TOP_CPU], 90);
	assert_int_equal(top_history_at(past, TOP_HISTORY - 2)[TOP_CPU], 90);
	assert_int_equal(top_history_at(past, TOP_HISTORY - 1)[TOP_RUN], 50);
	top_model_feed(&model, tasks, 1, SECOND);
	assert_true(model.followed_ended);
	assert_int_equal(model.followed.tid, 2);
	top_model_fini(&model);
}

/* At random: the selected line is on the page, and the page is full when it can be. */
static void the_page_always_shows_the_selected_line(void **unused)
{
	struct top_task tasks[60];
	struct top_model model;

	srand(7);
	top_model_init(&model);
	for (int round = 0; round < 3000; round++) {
		size_t count = (size_t)rand() % 60;

		for (size_t i = 0; i < count; i++)
			tasks[i] = make_task((int)i + 1, rand() % 60, rand() % 50, rand() % 50);
		model.tree = rand() % 2;
		model.cgroups = rand() % 3 == 0;
		top_model_feed(&model, tasks, count, SECOND);
		top_model_set_page(&model, (size_t)rand() % 30);
		top_model_move(&model, rand() % 80 - 40);
		if (rand() % 9 == 0)
			top_model_fold(&model);
		if (!model.line_count)
			continue;
		assert_true(model.selected < model.line_count);
		assert_true(model.first <= model.selected);
		assert_true(!model.page || model.selected < model.first + model.page);
		assert_true(model.line_count < model.page || !model.page ||
			    model.first + model.page <= model.line_count);
	}
	top_model_fini(&model);
}

static void finding_goes_around(void **unused)
{
	struct top_task tasks[] = { make_task(11, 0, 0, 3), make_task(12, 0, 0, 2),
				    make_task(21, 0, 0, 1) };
	struct top_model model;

	top_model_init(&model);
	top_model_feed(&model, tasks, 3, SECOND);
	assert_true(top_model_find(&model, "JOB1", false));
	assert_int_equal(model.selected, 0);
	assert_true(top_model_find(&model, "job1", true));
	assert_int_equal(model.selected, 1);
	assert_true(top_model_find(&model, "job1", true));
	assert_int_equal(model.selected, 0);
	assert_false(top_model_find(&model, "nobody", true));
	top_model_fini(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_one_that_waited_most_is_first),
		cmocka_unit_test(shares_add_up_to_all),
		cmocka_unit_test(the_selection_stays_on_its_task),
		cmocka_unit_test(a_selection_that_nobody_made_stays_at_the_top),
		cmocka_unit_test(the_tree_hangs_children_below_their_parents),
		cmocka_unit_test(a_circle_of_parents_loses_nobody),
		cmocka_unit_test(threads_replace_their_process),
		cmocka_unit_test(groups_are_sums_of_their_members),
		cmocka_unit_test(what_is_followed_has_its_past_and_is_told_to_have_ended),
		cmocka_unit_test(the_page_always_shows_the_selected_line),
		cmocka_unit_test(finding_goes_around),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Who is of the recorded tree: told by events of the kernel, and by when a process began. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/watch_tree.h"
#include "event/event.h"

#define ROOT 4000000 /* a command that has ended: its number is nobody's */
#define S    1000000000u

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec;
}

/* A process that does nothing until it is killed. */
static pid_t child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void feed_fork(struct watch_tree *tree, int32_t parent, int32_t tid, uint64_t time_ns,
		      uint8_t context)
{
	const struct event event = { .time_ns = time_ns,
				     .tid = parent,
				     .type = EV_SCHED_FORK,
				     .context = context,
				     .task = { .tid = tid, .parent_tid = parent } };

	watch_tree_feed(tree, &event);
}

static struct watch_tree *with_command(void)
{
	struct watch_tree *tree = watch_tree_new(WATCH_COMMAND, NULL, 0);

	feed_fork(tree, 1, ROOT, now_ns(), EV_CTX_KNOWN);
	watch_tree_root(tree, ROOT);
	return tree;
}

static int is_proven(const struct watch_tree *tree, pid_t pid, uint64_t time_ns)
{
	struct watch_proven proven;

	watch_tree_open(tree, pid, time_ns, &proven);
	assert_int_equal(proven.pid_fd < 0, proven.why_not != NULL);
	assert_int_equal(proven.pid, proven.why_not ? -1 : pid);
	if (proven.pid_fd >= 0)
		close(proven.pid_fd);
	return !proven.why_not;
}

static void who_was_made_by_the_command_is_of_its_tree(void **unused)
{
	struct watch_tree *tree = with_command();
	pid_t pid = child();

	assert_false(is_proven(tree, pid, now_ns()));
	feed_fork(tree, ROOT, ROOT + 1, now_ns(), EV_CTX_KNOWN);
	feed_fork(tree, ROOT + 1, pid, now_ns(), EV_CTX_KNOWN);
	assert_true(is_proven(tree, pid, now_ns()));
	end(pid);
	assert_false(is_proven(tree, pid, now_ns()));
	watch_tree_free(tree);
}

static void what_a_program_says_of_forks_makes_nobody_a_member(void **unused)
{
	struct watch_tree *tree = with_command();
	pid_t pid = child();

	feed_fork(tree, ROOT, pid, now_ns(), EV_CTX_USER);
	feed_fork(tree, ROOT, pid, now_ns(), EV_CTX_USER | EV_CTX_VTID);
	assert_false(is_proven(tree, pid, now_ns()));
	end(pid);
	watch_tree_free(tree);
}

static void another_start_is_another_process(void **unused)
{
	struct watch_tree *tree = with_command();
	pid_t pid = child();

	feed_fork(tree, ROOT, pid, now_ns() - S, EV_CTX_KNOWN);
	assert_false(is_proven(tree, pid, now_ns())); /* it began later than the member */
	feed_fork(tree, ROOT, pid, now_ns() + S, EV_CTX_KNOWN);
	assert_false(is_proven(tree, pid, now_ns())); /* it is older than the member */
	end(pid);
	watch_tree_free(tree);
}

static void a_number_that_somebody_else_gives_is_no_member_any_more(void **unused)
{
	struct watch_tree *tree = with_command();
	pid_t pid = child();

	feed_fork(tree, ROOT, pid, now_ns(), EV_CTX_KNOWN);
	feed_fork(tree, 1, pid, now_ns(), EV_CTX_KNOWN);
	assert_false(is_proven(tree, pid, now_ns()));
	end(pid);
	watch_tree_free(tree);
}

static void who_came_after_the_event_is_not_meant_by_it(void **unused)
{
	struct watch_tree *tree = watch_tree_new(WATCH_ALL, NULL, 0);
	pid_t pid = child();

	assert_true(is_proven(tree, pid, now_ns()));
	assert_false(is_proven(tree, pid, now_ns() - 5 * (uint64_t)S));
	end(pid);
	watch_tree_free(tree);
}

static void processes_of_pid_are_members_and_others_are_not(void **unused)
{
	pid_t pid = child(), other = child();
	struct watch_tree *tree = watch_tree_new(WATCH_PIDS, &pid, 1);

	assert_true(is_proven(tree, pid, now_ns()));
	assert_false(is_proven(tree, other, now_ns()));
	feed_fork(tree, pid, other, now_ns(), EV_CTX_KNOWN);
	assert_true(is_proven(tree, other, now_ns()));
	end(pid);
	end(other);
	watch_tree_free(tree);
}

static void neither_the_first_process_nor_this_one_is_for_a_signal(void **unused)
{
	struct watch_tree *tree = watch_tree_new(WATCH_ALL, NULL, 0);

	assert_false(is_proven(tree, 1, now_ns()));
	assert_false(is_proven(tree, 2, now_ns()));
	assert_false(is_proven(tree, 0, now_ns()));
	assert_false(is_proven(tree, -1, now_ns()));
	assert_false(is_proven(tree, getpid(), now_ns()));
	watch_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_made_by_the_command_is_of_its_tree),
		cmocka_unit_test(what_a_program_says_of_forks_makes_nobody_a_member),
		cmocka_unit_test(another_start_is_another_process),
		cmocka_unit_test(a_number_that_somebody_else_gives_is_no_member_any_more),
		cmocka_unit_test(who_came_after_the_event_is_not_meant_by_it),
		cmocka_unit_test(processes_of_pid_are_members_and_others_are_not),
		cmocka_unit_test(neither_the_first_process_nor_this_one_is_for_a_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

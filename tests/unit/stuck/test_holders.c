/* test_holders.c - a made-up /proc, and who of it has which pipe. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "stuck/holders.h"
#include "stuck/worker.h"

#define PROCESSES   70
#define PATIENCE_MS 50
#define KEY(inode)  ((uint64_t)(inode) << 2)

struct tree {
	char path[32];
	int fd;
	struct worker *worker;
	struct holders holders;
};

static void make_folder(const struct tree *tree, const char *format, int number)
{
	char name[64];

	(void)snprintf(name, sizeof(name), format, number, number);
	assert_int_equal(mkdirat(tree->fd, name, 0700), 0);
}

/* The descriptor 3 of the process, and nothing else. */
static void add_process(const struct tree *tree, int number, const char *link)
{
	char name[64];

	make_folder(tree, "%d", number);
	make_folder(tree, "%d/task", number);
	make_folder(tree, "%d/task/%d", number);
	make_folder(tree, "%d/task/%d/fd", number);
	make_folder(tree, "%d/fdinfo", number);
	(void)snprintf(name, sizeof(name), "%d/task/%d/fd/3", number, number);
	assert_int_equal(symlinkat(link, tree->fd, name), 0);
}

/* Number 100 and on; each has the pipe of its number. */
static struct tree tree_new(void)
{
	struct tree tree = { .path = "/tmp/holdup-test-XXXXXX" };

	assert_non_null(mkdtemp(tree.path));
	tree.fd = open(tree.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree.fd >= 0);
	for (int i = 0; i < PROCESSES; i++) {
		AUTO_FREE char *link = xasprintf("pipe:[%d]", 100 + i);

		add_process(&tree, 100 + i, link);
	}
	tree.worker = worker_new(PATIENCE_MS);
	return tree;
}

static void tree_free(struct tree *tree)
{
	AUTO_FREE char *command = xasprintf("rm -r %s", tree->path);

	holders_fini(&tree->holders);
	if (worker_free(tree->worker))
		close(tree->fd);
	assert_int_equal(system(command), 0);
}

static int32_t only_holder(const struct tree *tree, int inode)
{
	size_t count;
	const struct holder *holder = holders_find(&tree->holders, KEY(inode), &count);

	return count == 1 ? holder->tgid : 0;
}

static void the_tables_of_all_processes_are_read(void **unused)
{
	struct tree tree = tree_new();

	holders_make(&tree.holders, tree.fd, tree.worker, UINT64_MAX);
	for (int i = 0; i < PROCESSES; i++)
		assert_int_equal(only_holder(&tree, 100 + i), 100 + i);
	assert_true(tree.holders.is_complete);
	tree_free(&tree);
}

/* To read what it says of an eventfd takes for ever: a FIFO without a writer. */
static void one_that_hangs_is_left_out_alone(void **unused)
{
	struct tree tree = tree_new();

	add_process(&tree, 50, "anon_inode:[eventfd]");
	assert_int_equal(mkfifoat(tree.fd, "50/fdinfo/3", 0600), 0);
	holders_make(&tree.holders, tree.fd, tree.worker, UINT64_MAX);
	for (int i = 0; i < PROCESSES; i++)
		assert_int_equal(only_holder(&tree, 100 + i), 100 + i);
	assert_int_equal(tree.holders.left_out, 1);
	assert_false(tree.holders.is_complete);
	close(openat(tree.fd, "50/fdinfo/3", O_RDWR | O_CLOEXEC)); /* they go on */
	tree_free(&tree);
}

static void behind_its_time_nothing_is_read(void **unused)
{
	struct tree tree = tree_new();

	holders_make(&tree.holders, tree.fd, tree.worker, 0);
	assert_int_equal(tree.holders.count, 0);
	assert_int_equal(tree.holders.left_out, PROCESSES);
	tree_free(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tables_of_all_processes_are_read),
		cmocka_unit_test(one_that_hangs_is_left_out_alone),
		cmocka_unit_test(behind_its_time_nothing_is_read),
	};

	return cmocka_run_group_tests_name("stuck/holders", tests, NULL, NULL);
}

/* test_flight_share.c - snapshots share what is the same, and each is whole. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/tree.h"
#include "cli/flight_share.h"
#include "cli/flight_store.h"
#include "report/flight.h"

#define SECOND UINT64_C(1000000000)
#define BYTES  200000

struct folder {
	char path[32];
	int fd;
};

static int set_up(void **state)
{
	struct folder *folder = xcalloc(1, sizeof(*folder));

	strcpy(folder->path, "/tmp/share-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder->fd >= 0);
	*state = folder;
	return 0;
}

static int tear_down(void **state)
{
	struct folder *folder = *state;

	tree_empty(folder->fd, NULL);
	close(folder->fd);
	(void)rmdir(folder->path);
	free(folder);
	return 0;
}

static char *symbols_of(const char *name)
{
	return xasprintf("%s" FLIGHT_TRACE "/kernel/kallsyms", name);
}

/* A snapshot whose symbols are one letter, but for the last byte. */
static char *add(const struct folder *folder, uint64_t real_ns, char last)
{
	struct flight_row row = { .name = flight_store_name(folder->fd, real_ns),
				  .real_ns = real_ns,
				  .why = (char *)"why",
				  .verdict = (char *)"" };
	AUTO_FREE char *trace = xasprintf("%s" FLIGHT_TRACE, row.name);
	AUTO_FREE char *kernel = xasprintf("%s/kernel", trace);
	AUTO_FREE char *file = symbols_of(row.name);
	AUTO_FREE char *bytes = xmalloc(BYTES);
	AUTO_CLOSE int fd = -1;
	struct err err = { 0 };

	assert_int_equal(mkdirat(folder->fd, trace, 0700), 0);
	assert_int_equal(mkdirat(folder->fd, kernel, 0700), 0);
	fd = openat(folder->fd, file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	memset(bytes, 'a', BYTES);
	bytes[BYTES - 1] = last;
	assert_int_equal(write(fd, bytes, BYTES), BYTES);
	assert_int_equal(fsync(fd), 0); /* its blocks are counted then */
	if (flight_store_note(folder->fd, &row, &err) < 0)
		fail_msg("%s", err.text);
	return row.name;
}

static struct stat stat_of(const struct folder *folder, const char *name)
{
	AUTO_FREE char *file = symbols_of(name);
	struct stat st;

	assert_int_equal(fstatat(folder->fd, file, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

static char last_of(const struct folder *folder, const char *name)
{
	AUTO_FREE char *file = symbols_of(name);
	AUTO_CLOSE int fd = openat(folder->fd, file, O_RDONLY | O_CLOEXEC);
	char last = 0;

	assert_int_equal(pread(fd, &last, 1, BYTES - 1), 1);
	return last;
}

static uint64_t all_bytes(const struct folder *folder)
{
	struct flight_list list;
	uint64_t bytes = 0;

	assert_int_equal(flight_store_list(folder->fd, &list), 0);
	for (size_t i = 0; i < list.count; i++)
		bytes += list.rows[i].bytes;
	flight_list_fini(&list);
	return bytes;
}

static void the_same_is_there_once(void **state)
{
	const struct folder *folder = *state;
	AUTO_FREE char *a = add(folder, 1000 * SECOND, 'x');
	AUTO_FREE char *b = add(folder, 2000 * SECOND, 'y');
	AUTO_FREE char *c = add(folder, 3000 * SECOND, 'x');
	uint64_t before = all_bytes(folder);

	flight_share_symbols(folder->fd, b);
	flight_share_symbols(folder->fd, c);
	assert_int_equal(stat_of(folder, a).st_ino, stat_of(folder, c).st_ino);
	assert_int_not_equal(stat_of(folder, b).st_ino, stat_of(folder, c).st_ino);
	assert_int_equal(stat_of(folder, b).st_nlink, 1);
	assert_true(all_bytes(folder) <= before - BYTES);
	/* And again: it is one already. */
	flight_share_symbols(folder->fd, c);
	assert_int_equal(stat_of(folder, c).st_nlink, 2);
}

static void one_that_is_left_is_whole(void **state)
{
	const struct folder *folder = *state;
	AUTO_FREE char *a = add(folder, 1000 * SECOND, 'x');
	AUTO_FREE char *b = add(folder, 2000 * SECOND, 'x');
	uint64_t one;

	flight_share_symbols(folder->fd, b);
	flight_store_remove(folder->fd, a);
	one = all_bytes(folder);
	assert_int_equal(stat_of(folder, b).st_size, BYTES);
	assert_int_equal(last_of(folder, b), 'x');
	assert_true(one >= BYTES);
}

/* Of three that share, all of the shared bytes count until the last one goes. */
static void a_bound_counts_what_is_left(void **state)
{
	const struct folder *folder = *state;
	AUTO_FREE char *a = add(folder, 1000 * SECOND, 'x');
	AUTO_FREE char *b = add(folder, 2000 * SECOND, 'x');
	AUTO_FREE char *c = add(folder, 3000 * SECOND, 'x');

	flight_share_symbols(folder->fd, b);
	flight_share_symbols(folder->fd, c);
	assert_int_equal(flight_store_bound(folder->fd, BYTES / 2, 0, c), 2);
	assert_int_equal(last_of(folder, c), 'x');
}

static void what_is_no_file_is_left_alone(void **state)
{
	const struct folder *folder = *state;
	AUTO_FREE char *a = add(folder, 1000 * SECOND, 'x');
	AUTO_FREE char *b = add(folder, 2000 * SECOND, 'x');
	AUTO_FREE char *file = symbols_of(a);

	assert_int_equal(unlinkat(folder->fd, file, 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", folder->fd, file), 0);
	flight_share_symbols(folder->fd, b);
	assert_int_equal(stat_of(folder, b).st_nlink, 1);
	flight_share_symbols(folder->fd, "20260101-000000-000");
	assert_int_equal(last_of(folder, b), 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_same_is_there_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_that_is_left_is_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_bound_counts_what_is_left, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_file_is_left_alone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_flight_store.c - snapshots on disk: listed whole, half ones swept, the oldest go. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/tree.h"
#include "cli/flight_store.h"
#include "report/flight.h"

#define SECOND UINT64_C(1000000000)
#define BYTES  65536

struct folder {
	char path[32];
	int fd;
};

static int set_up(void **state)
{
	struct folder *folder = xcalloc(1, sizeof(*folder));

	strcpy(folder->path, "/tmp/flight-XXXXXX");
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

static void make_trace(const struct folder *folder, const char *name)
{
	AUTO_FREE char *trace = xasprintf("%s" FLIGHT_TRACE, name);
	AUTO_FREE char *file = xasprintf("%s/ring", trace);
	AUTO_FREE char *bytes = xmalloc(BYTES);
	AUTO_CLOSE int fd = -1;

	assert_int_equal(mkdirat(folder->fd, trace, 0700), 0);
	fd = openat(folder->fd, file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	memset(bytes, 7, BYTES);
	assert_int_equal(write(fd, bytes, BYTES), BYTES);
	assert_int_equal(fsync(fd), 0); /* its blocks are counted then */
}

static char *add_numbered(const struct folder *folder, uint64_t number, uint64_t real_ns,
			  const char *why)
{
	struct flight_row row = { .name = flight_store_name(folder->fd, real_ns),
				  .number = number,
				  .real_ns = real_ns,
				  .begin_ns = 5,
				  .end_ns = 9,
				  .gap_ns = 1,
				  .why = (char *)why,
				  .verdict = "a\nb" };
	struct err err = { 0 };

	make_trace(folder, row.name);
	if (flight_store_note(folder->fd, &row, &err) < 0)
		fail_msg("%s", err.text);
	return row.name;
}

/* As older versions did: their order is that of the clock. */
static char *add(const struct folder *folder, uint64_t real_ns, const char *why)
{
	return add_numbered(folder, 0, real_ns, why);
}

static bool has(const struct folder *folder, const char *name, const char *ending)
{
	AUTO_FREE char *file = xasprintf("%s%s", name, ending);

	return faccessat(folder->fd, file, F_OK, 0) == 0;
}

static void names_are_in_order_of_time(void **state)
{
	const struct folder *folder = *state;
	AUTO_FREE char *first = flight_store_name(folder->fd, 999 * SECOND + 1000000);
	AUTO_FREE char *second = flight_store_name(folder->fd, 1000 * SECOND);

	assert_string_equal(first, "19700101-001639-001");
	assert_true(strcmp(first, second) < 0);
}

static void no_two_have_one_name(void **state)
{
	const struct folder *folder = *state;
	AUTO_FREE char *first = add(folder, 1000 * SECOND, "first");
	AUTO_FREE char *second = add(folder, 1000 * SECOND, "the clock was set back");

	assert_string_equal(first, "19700101-001640-000");
	assert_string_equal(second, "19700101-001640-001");
}

static void what_is_noted_is_listed(void **state)
{
	const struct folder *folder = *state;
	AUTO_FREE char *late = add(folder, 2000 * SECOND, "late");
	AUTO_FREE char *early = add(folder, 1000 * SECOND, "early\x1b[2J\nverdict none");
	struct flight_list list;

	assert_int_equal(flight_store_list(folder->fd, &list), 0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.rows[0].name, early);
	assert_string_equal(list.rows[1].name, late);
	assert_string_equal(list.rows[0].why, "early\\x1b[2J\\nverdict none");
	assert_string_equal(list.rows[0].verdict, "a\\nb");
	assert_int_equal(list.rows[0].real_ns, 1000 * SECOND);
	assert_int_equal(list.rows[0].end_ns, 9);
	assert_true(list.rows[0].bytes >= BYTES);
	flight_list_fini(&list);
}

static void half_a_snapshot_is_swept_and_nothing_else(void **state)
{
	const struct folder *folder = *state;
	AUTO_FREE char *whole = add(folder, 1000 * SECOND, "whole");
	AUTO_FREE char *half = flight_store_name(folder->fd, 2000 * SECOND);

	make_trace(folder, half);
	make_trace(folder, "mine");
	make_trace(folder, "20260101-000000-000-mine");
	flight_store_sweep(folder->fd);
	assert_true(has(folder, whole, FLIGHT_TRACE));
	assert_false(has(folder, half, FLIGHT_TRACE));
	assert_true(has(folder, "mine", FLIGHT_TRACE));
	assert_true(has(folder, "20260101-000000-000-mine", FLIGHT_TRACE));
}

static void the_oldest_go_until_the_rest_fits(void **state)
{
	const struct folder *folder = *state;
	AUTO_FREE char *a = add(folder, 1000 * SECOND, "a");
	AUTO_FREE char *b = add(folder, 2000 * SECOND, "b");
	AUTO_FREE char *c = add(folder, 3000 * SECOND, "c");

	assert_int_equal(flight_store_bound(folder->fd, UINT64_MAX, 0, NULL), 0);
	assert_int_equal(flight_store_bound(folder->fd, 3 * BYTES, 0, NULL), 1);
	assert_false(has(folder, a, FLIGHT_TRACE));
	assert_false(has(folder, a, FLIGHT_NOTE));
	assert_true(has(folder, b, FLIGHT_TRACE));
	assert_int_equal(flight_store_bound(folder->fd, 0, 0, c), 1);
	assert_false(has(folder, b, FLIGHT_TRACE));
	assert_true(has(folder, c, FLIGHT_TRACE));
}

static void the_oldest_goes_when_the_clock_was_set_back(void **state)
{
	const struct folder *folder = *state;
	AUTO_FREE char *unnumbered = add(folder, 5000 * SECOND, "of an older version");
	AUTO_FREE char *first = add_numbered(folder, 9, 3000 * SECOND, "first");
	AUTO_FREE char *second = add_numbered(folder, 10, 1000 * SECOND, "set back");
	struct flight_list list;

	assert_int_equal(flight_store_last(folder->fd), 10);
	assert_int_equal(flight_store_list(folder->fd, &list), 0);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.rows[0].name, unnumbered);
	assert_string_equal(list.rows[1].name, first);
	assert_string_equal(list.rows[2].name, second);
	flight_list_fini(&list);
	assert_int_equal(flight_store_bound(folder->fd, 2 * BYTES, 0, NULL), 2);
	assert_false(has(folder, first, FLIGHT_TRACE));
	assert_true(has(folder, second, FLIGHT_TRACE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_are_in_order_of_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_two_have_one_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_noted_is_listed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(half_a_snapshot_is_swept_and_nothing_else, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_oldest_go_until_the_rest_fits, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_oldest_goes_when_the_clock_was_set_back, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

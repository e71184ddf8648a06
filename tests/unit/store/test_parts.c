/* test_parts.c - the files of a trace directory, and how long they were. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"
#include "event/facts.h"
#include "store/manifest.h"
#include "store/parts.h"

struct fixture {
	char dir[64];
	int fd;
	struct manifest manifest;
	struct facts facts;
};

static void put_file(const struct fixture *fixture, const char *name, size_t bytes)
{
	AUTO_CLOSE int fd = openat(fixture->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
}

static int setup(void **state)
{
	static const char *const folders[] = { "kernel", "timeline", "user", "user/pid7",
					       "user/pid7/a-7" };
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	strcpy(fixture->dir, "/tmp/holdup-parts-XXXXXX");
	assert_non_null(mkdtemp(fixture->dir));
	fixture->fd = open(fixture->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		assert_int_equal(mkdirat(fixture->fd, folders[i], 0700), 0);
	put_file(fixture, "kernel/cpu0.ring", 4096);
	put_file(fixture, "kernel/names", 100);
	put_file(fixture, "user/pid7/a-7/.next0", 10);
	put_file(fixture, "user/pid7/a-7/cpu0-000001", 1000);
	put_file(fixture, "timeline/index", 7);
	parts_note(&fixture->manifest, fixture->fd);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	AUTO_FREE char *command = xasprintf("rm -rf '%s'", fixture->dir);

	manifest_fini(&fixture->manifest);
	facts_fini(&fixture->facts);
	close(fixture->fd);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

static void all_files_but_rings_are_noted(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(fixture->manifest.file_count, 2);
	assert_string_equal(fixture->manifest.files[0].name, "kernel/names");
	assert_int_equal(fixture->manifest.files[0].bytes, 100);
	assert_string_equal(fixture->manifest.files[1].name, "user/pid7/a-7/cpu0-000001");
	assert_int_equal(fixture->manifest.files[1].bytes, 1000);
}

static void a_cut_file_and_one_that_is_gone_are_damage(void **state)
{
	struct fixture *fixture = *state;

	parts_check(&fixture->manifest, fixture->dir, &fixture->facts);
	assert_int_equal(fixture->facts.damage_count, 0);
	put_file(fixture, "kernel/names", 99);
	assert_int_equal(unlinkat(fixture->fd, "user/pid7/a-7/cpu0-000001", 0), 0);
	parts_check(&fixture->manifest, fixture->dir, &fixture->facts);
	assert_int_equal(fixture->facts.damage_count, 2);
	assert_string_equal(fixture->facts.damage[0],
			    "kernel/names: cut, 99 of 100 bytes are there");
	assert_string_equal(fixture->facts.damage[1], "user/pid7/a-7/cpu0-000001: missing");
}

static void a_file_that_grew_is_whole(void **state)
{
	struct fixture *fixture = *state;

	put_file(fixture, "kernel/names", 5000);
	parts_check(&fixture->manifest, fixture->dir, &fixture->facts);
	assert_int_equal(fixture->facts.damage_count, 0);
}

static void nothing_outside_is_looked_at(void **state)
{
	struct fixture *fixture = *state;

	manifest_add_file(&fixture->manifest, "../x", 1);
	manifest_add_file(&fixture->manifest, "/etc/passwd", 1);
	manifest_add_file(&fixture->manifest, "kernel/../../x", 1);
	parts_check(&fixture->manifest, fixture->dir, &fixture->facts);
	assert_int_equal(fixture->facts.damage_count, 3);
	assert_string_equal(fixture->facts.damage[0], "trace.json: \"files\" names ../x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_files_but_rings_are_noted, setup, teardown),
		cmocka_unit_test_setup_teardown(a_cut_file_and_one_that_is_gone_are_damage, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_file_that_grew_is_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_outside_is_looked_at, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

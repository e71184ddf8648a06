/* test_debug_file.c - which file is taken for a debug file, and which is not even opened. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbol/debug_file.h"

#define CHECK	  "123456789"
#define CHECK_CRC 0xcbf43926u /* the check value of CRC-32 (ISO-HDLC) */

static char folder[] = "/tmp/holdup-test-debug-XXXXXX";

static void put(const char *name, const char *text)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make_folder(const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);

	assert_int_equal(mkdir(path, 0700), 0);
}

static void drop(const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);

	(void)unlink(path);
}

/* What is found, below the folder; NULL = nothing. */
static char *found(const char *link, uint32_t crc, const uint8_t *id, size_t id_bytes)
{
	AUTO_FREE char *root = xasprintf("%s/root", folder);
	AUTO_FREE char *program = xasprintf("%s/program", folder);
	const struct debug_wanted wanted = { .root = root,
					     .path = program,
					     .id = id,
					     .id_bytes = id_bytes,
					     .link = link,
					     .link_crc = crc };
	char *path = NULL, *below;
	int fd = debug_file_open(&wanted, &path);

	assert_int_equal(fd >= 0, path != NULL);
	mem_close_fd(&fd);
	below = path ? xstrdup(path + strlen(folder)) : NULL;
	free(path);
	return below;
}

static void expect(const char *link, uint32_t crc, const char *wanted)
{
	AUTO_FREE char *got = found(link, crc, NULL, 0);

	if (wanted)
		assert_string_equal(got ? got : "nothing", wanted);
	else
		assert_null(got);
}

static void by_name_and_checksum(void **state)
{
	AUTO_FREE char *below_root = xasprintf("root%s", folder);
	AUTO_FREE char *command = xasprintf("mkdir -p '%s/%s'", folder, below_root);
	AUTO_FREE char *third = xasprintf("%s/p.debug", below_root);
	AUTO_FREE char *third_path = xasprintf("/%s", third);

	(void)state;
	make_folder(".debug");
	assert_int_equal(system(command), 0);
	put(third, CHECK);
	expect("p.debug", CHECK_CRC, third_path);
	put(".debug/p.debug", CHECK);
	expect("p.debug", CHECK_CRC, "/.debug/p.debug");
	put("p.debug", "another one");
	expect("p.debug", CHECK_CRC, "/.debug/p.debug");
	put("p.debug", CHECK);
	expect("p.debug", CHECK_CRC, "/p.debug");
	expect("p.debug", CHECK_CRC + 1, NULL);
	expect(NULL, CHECK_CRC, NULL);
	expect("", CHECK_CRC, NULL);
}

static void only_plain_files_beside(void **state)
{
	AUTO_FREE char *pipe = xasprintf("%s/pipe", folder);
	AUTO_FREE char *link = xasprintf("%s/link", folder);
	AUTO_FREE char *program = xasprintf("%s/p.debug", folder);

	(void)state;
	put("p.debug", CHECK);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_int_equal(symlink(program, link), 0);
	expect("pipe", 0, NULL); /* and nobody waits for a writer */
	expect("link", CHECK_CRC, NULL);
	expect(".debug/p.debug", CHECK_CRC, NULL);
	expect("../p.debug", CHECK_CRC, NULL);
	expect(".", 0, NULL);
	expect("..", 0, NULL);
	drop("pipe");
	drop("link");
}

static void by_build_id(void **state)
{
	const uint8_t id[] = { 0xab, 0xcd, 0x01 };
	AUTO_FREE char *got = NULL, *short_one = NULL;

	(void)state;
	make_folder("root/.build-id");
	make_folder("root/.build-id/ab");
	put("root/.build-id/ab/cd01.debug", "any");
	got = found("p.debug", CHECK_CRC, id, sizeof(id));
	assert_string_equal(got, "/root/.build-id/ab/cd01.debug");
	short_one = found(NULL, 0, id, 1);
	assert_null(short_one);
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	AUTO_FREE char *command = xasprintf("rm -r '%s'", folder);

	(void)state;
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_name_and_checksum),
		cmocka_unit_test(only_plain_files_beside),
		cmocka_unit_test(by_build_id),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

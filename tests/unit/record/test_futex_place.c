/* test_futex_place.c - in which mapping a word lies: of a file, right behind one, or elsewhere. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/bpf/raw_futex.h"
#include "record/futex_place.h"

static const char *const lines[] = {
	"10000-20000 r-xp 00000000 08:01 7 /usr/bin/x\n",
	"30000-40000 rw-p 00020000 08:01 7 /usr/bin/x\n",
	"40000-50000 rw-p 00000000 00:00 0 \n",
	"50000-60000 rw-p 00000000 00:00 0 [heap]\n",
	"80000-90000 rw-s 00000000 00:01 9 /dev/shm/x\n",
	"90000-a0000 rw-p 00000000 00:00 0 \n",
	"a0000-b0000 rw-s 00002000 00:01 9 /a file that was/moved (deleted)\n",
};

static struct raw_futex place_of(uint64_t address)
{
	struct raw_futex futex = { .address = address };
	struct futex_map before = { 0 };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (futex_place_line(lines[i], &before, &futex))
			break;
	}
	return futex;
}

static void data_of_a_file_and_what_is_right_behind_are_told(void **unused)
{
	struct raw_futex futex = place_of(0x30010);

	assert_int_equal(futex.kind, RAW_FUTEX_FILE);
	assert_int_equal(futex.start, 0x30000);
	assert_int_equal(futex.page * (uint64_t)sysconf(_SC_PAGESIZE), 0x20000);
	futex = place_of(0x4fffc);
	assert_int_equal(futex.kind, RAW_FUTEX_FILE);
	assert_int_equal(futex.start, 0x30000);
}

static void what_is_elsewhere_is_in_no_file(void **unused)
{
	assert_int_equal(place_of(0x50000).kind, RAW_FUTEX_OTHER);   /* behind what is behind */
	assert_int_equal(place_of(0x90010).kind, RAW_FUTEX_OTHER);   /* behind shared memory */
	assert_int_equal(place_of(0x70000).kind, RAW_FUTEX_UNKNOWN); /* nothing is there */
}

static void of_shared_memory_the_file_is_told(void **unused)
{
	struct raw_futex futex = place_of(0x80010);

	assert_int_equal(futex.kind, RAW_FUTEX_SHARED);
	assert_int_equal(futex.start, 0x80000);
	assert_int_equal(futex.page, 0);
	assert_string_equal(futex.path, "/dev/shm/x");
	futex = place_of(0xa0000);
	assert_int_equal(futex.page * (uint64_t)sysconf(_SC_PAGESIZE), 0x2000);
	assert_string_equal(futex.path, "/a file that was/moved");
}

static void a_path_is_told_whole_or_not_at_all(void **unused)
{
	char line[1024], *path = line + sprintf(line, "80000-90000 rw-s 00000000 00:01 9 ");
	struct raw_futex futex = { .address = 0x80000 };
	struct futex_map before = { 0 };

	for (size_t bytes = RAW_FUTEX_PATH - 2; bytes <= RAW_FUTEX_PATH; bytes++) {
		memset(path, 'x', bytes);
		strcpy(path + bytes, "\n");
		assert_int_equal(futex_place_line(line, &before, &futex), 1);
		assert_int_equal(strlen(futex.path), bytes < RAW_FUTEX_PATH ? bytes : 0);
	}
}

static void the_last_part_of_a_path_becomes_the_path_while_that_is_mapped(void **unused)
{
	char name[] = "/tmp/test_futex_place.XXXXXX";
	int fd = mkstemp(name);
	long page = sysconf(_SC_PAGESIZE);
	struct raw_futex futex = { .kind = RAW_FUTEX_SHARED, .page = 1 }, other;
	void *memory;

	assert_int_equal(ftruncate(fd, 2 * page), 0);
	memory = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, page);
	assert_true(memory != MAP_FAILED);
	futex.address = (uintptr_t)memory + 64;
	futex.start = (uintptr_t)memory;
	strcpy(futex.path, name + sizeof("/tmp"));
	other = futex;
	futex_place_path(getpid(), &futex);
	assert_string_equal(futex.path, name);
	other.path[0]++; /* of another file that was there before */
	futex = other;
	futex_place_path(getpid(), &futex);
	assert_string_equal(futex.path, other.path);
	futex.path[0]--;
	futex.page = 0;
	futex_place_path(getpid(), &futex);
	assert_null(strchr(futex.path, '/'));
	munmap(memory, (size_t)page);
	unlink(name);
	close(fd);
}

static void of_a_process_that_is_gone_nothing_is_told(void **unused)
{
	static int word;
	int *heap = malloc(sizeof(*heap));
	struct raw_futex futex = { .address = (uintptr_t)&word };

	futex_place_read(INT32_MAX, &futex);
	assert_int_equal(futex.kind, RAW_FUTEX_UNKNOWN);
	futex_place_read(getpid(), &futex);
	assert_int_equal(futex.kind, RAW_FUTEX_FILE);
	futex = (struct raw_futex){ .address = (uintptr_t)heap };
	futex_place_read(getpid(), &futex);
	assert_int_equal(futex.kind, RAW_FUTEX_OTHER);
	free(heap);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_of_a_file_and_what_is_right_behind_are_told),
		cmocka_unit_test(what_is_elsewhere_is_in_no_file),
		cmocka_unit_test(of_shared_memory_the_file_is_told),
		cmocka_unit_test(a_path_is_told_whole_or_not_at_all),
		cmocka_unit_test(the_last_part_of_a_path_becomes_the_path_while_that_is_mapped),
		cmocka_unit_test(of_a_process_that_is_gone_nothing_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

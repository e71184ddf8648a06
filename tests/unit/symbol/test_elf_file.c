/* test_elf_file.c - symbols, segments and notes of this program itself, and of broken copies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "symbol/elf_file.h"

#if __has_include(<sys/sdt.h>)
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short test_provider_here_semaphore __attribute__((section(".probes")));
#endif

__attribute__((noinline)) int test_function_with_a_name(int number);
int test_function_with_a_name(int number)
{
	__asm__ volatile("");
	return number + 1;
}

int test_data_with_a_name = 5;

/* Where this program was loaded: what the loader says is the oracle. */
static int find_base(struct dl_phdr_info *info, size_t bytes, void *out_base)
{
	*(uint64_t *)out_base = info->dlpi_addr;
	return 1; /* the first is the program */
}

static struct elf_file *open_self(void)
{
	struct elf_file *file = NULL;
	struct err err = { 0 };

	if (elf_file_open("/proc/self/exe", &file, &err) < 0)
		fail_msg("%s", err.text);
	return file;
}

static void symbols_have_the_addresses_that_the_program_runs_with(void **state)
{
	struct elf_file *file = open_self();
	uint64_t base = 0, address = 0;

	dl_iterate_phdr(find_base, &base);
	assert_true(elf_file_has_symtab(file));
	assert_true(elf_file_find(file, "test_function_with_a_name", &address));
	assert_int_equal(address + base, (uint64_t)(uintptr_t)test_function_with_a_name);
	assert_true(elf_file_find(file, "test_data_with_a_name", &address));
	assert_int_equal(address + base, (uint64_t)(uintptr_t)&test_data_with_a_name);
	assert_false(elf_file_find(file, "there_is_no_such_name", &address));
	elf_file_close(file);
}

static void an_offset_is_where_the_bytes_are_in_the_file(void **state)
{
	struct elf_file *file = open_self();
	uint64_t address = 0, offset = 0;
	uint8_t bytes[8];
	FILE *self = fopen("/proc/self/exe", "rb");

	assert_non_null(self);
	assert_true(elf_file_find(file, "test_function_with_a_name", &address));
	assert_true(elf_file_offset(file, address, true, &offset));
	assert_int_equal(fseek(self, (long)offset, SEEK_SET), 0);
	assert_int_equal(fread(bytes, 1, sizeof(bytes), self), sizeof(bytes));
	assert_memory_equal(bytes, (const void *)(uintptr_t)test_function_with_a_name,
			    sizeof(bytes));
	assert_true(elf_file_find(file, "test_data_with_a_name", &address));
	assert_false(elf_file_offset(file, address, true, &offset));
	assert_true(elf_file_offset(file, address, false, &offset));
	assert_false(elf_file_offset(file, UINT64_MAX, false, &offset));
	fclose(self);
	elf_file_close(file);
}

static void imports_and_needed_libraries_are_told_apart(void **state)
{
	struct elf_file *file = open_self();
	size_t count, needed_count;
	const struct elf_symbol *symbols = elf_file_symbols(file, &count);
	const char *const *needed = elf_file_needed(file, &needed_count);
	bool imported = false, libc = false;

	for (size_t i = 0; i < count; i++)
		imported |= symbols[i].is_imported && !strcmp(symbols[i].name, "dl_iterate_phdr");
	for (size_t i = 0; i < needed_count; i++)
		libc |= !strncmp(needed[i], "libc.", 5);
	assert_true(imported);
	assert_true(libc);
	elf_file_close(file);
}

static void points_are_found_with_their_arguments(void **state)
{
#ifdef DTRACE_PROBE
	struct elf_file *file = open_self();
	size_t count;
	const struct elf_usdt *points = elf_file_usdt(file, &count);
	uint64_t base = 0, offset;

	DTRACE_PROBE2(test_provider, here, 7, -8);
	dl_iterate_phdr(find_base, &base);
	assert_int_equal(count, 1);
	assert_string_equal(points[0].provider, "test_provider");
	assert_string_equal(points[0].name, "here");
	assert_non_null(strstr(points[0].args, "-4@"));
	assert_int_equal(points[0].semaphore + base,
			 (uint64_t)(uintptr_t)&test_provider_here_semaphore);
	assert_true(elf_file_offset(file, points[0].address, true, &offset));
	elf_file_close(file);
#else
	skip();
#endif
}

static void what_is_no_program_is_refused(void **state)
{
	static const char *const paths[] = { "/dev/null", "/proc/self/cmdline", "/etc/passwd",
					     "/tmp" };
	struct elf_file *file = NULL;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_int_equal(elf_file_open(paths[i], &file, NULL), -ENOEXEC);
	assert_int_equal(elf_file_open("/nowhere/at/all", &file, NULL), -ENOENT);
}

/* Use all that a file gives. */
static void walk(struct elf_file *file)
{
	size_t count;
	uint64_t offset;
	volatile size_t sum = 0;
	const struct elf_symbol *symbols = elf_file_symbols(file, &count);
	const struct elf_usdt *points;
	const char *const *needed;

	for (size_t i = 0; i < count; i++) {
		sum += strlen(symbols[i].name);
		sum += symbols[i].version ? strlen(symbols[i].version) : 0;
		sum += elf_file_offset(file, symbols[i].address, true, &offset);
	}
	points = elf_file_usdt(file, &count);
	for (size_t i = 0; i < count; i++)
		sum += strlen(points[i].provider) + strlen(points[i].name) + strlen(points[i].args);
	needed = elf_file_needed(file, &count);
	for (size_t i = 0; i < count; i++)
		sum += strlen(needed[i]);
	(void)sum;
	elf_file_add_debug(file, "/nowhere");
}

static void try_bytes(int fd, const uint8_t *bytes, size_t count)
{
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", fd);
	struct elf_file *file;

	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, bytes, count, 0), (ssize_t)count);
	if (elf_file_open(path, &file, NULL) < 0)
		return;
	walk(file);
	elf_file_close(file);
}

/*
 * Copies of this program that are cut, or whose tables were written over: the heads,
 * and the sections that are read.
 */
static void broken_copies_do_no_harm(void **state)
{
	AUTO_CLOSE int fd = memfd_create("broken", MFD_CLOEXEC);
	AUTO_FILE FILE *self = fopen("/proc/self/exe", "rb");
	AUTO_FREE uint8_t *whole = NULL, *copy = NULL;
	unsigned int random = 3;
	Elf64_Ehdr header;
	struct stat st;
	size_t count;

	assert_true(fd >= 0 && self && fstat(fileno(self), &st) == 0);
	count = (size_t)st.st_size;
	whole = xmalloc(count);
	copy = xmalloc(count);
	assert_int_equal(fread(whole, 1, count, self), count);
	memcpy(&header, whole, sizeof(header));
	for (int i = 0; i < 60; i++)
		try_bytes(fd, whole, (size_t)rand_r(&random) % count);
	for (int round = 0; round < 500; round++) {
		size_t start = 0, span = sizeof(header);

		memcpy(copy, whole, count);
		if (round % 4 == 1) {
			start = header.e_phoff;
			span = (size_t)header.e_phnum * header.e_phentsize;
		} else if (round % 4 == 2) {
			start = header.e_shoff;
			span = (size_t)header.e_shnum * header.e_shentsize;
		} else if (round % 4 == 3) {
			span = 8192 < count ? 8192 : count; /* notes, dynamic symbols, versions */
		}
		for (int n = rand_r(&random) % 8; n >= 0; n--) {
			size_t at = start + (size_t)rand_r(&random) % span;

			if (round % 4 == 3 && at < 5)
				continue;
			copy[at] = (uint8_t)(rand_r(&random) & 1 ? rand_r(&random) : 0xff);
		}
		try_bytes(fd, copy, count);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_have_the_addresses_that_the_program_runs_with),
		cmocka_unit_test(an_offset_is_where_the_bytes_are_in_the_file),
		cmocka_unit_test(imports_and_needed_libraries_are_told_apart),
		cmocka_unit_test(points_are_found_with_their_arguments),
		cmocka_unit_test(what_is_no_program_is_refused),
		cmocka_unit_test(broken_copies_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_symbol_spans.c - what is remembered is what libdwfl would find again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <unistd.h>

#include "symbol/symbol_spans.h"

#define BIAS	  UINT64_C(0x10000000)
#define ADDRESSES 2500 /* of each file, at most */

static int find_no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		       char **file_name, Elf **elf)
{
	return -1;
}

static int find_no_debug(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			 const char *file_name, const char *link, GElf_Word checksum,
			 char **out_file_name)
{
	return -1;
}

static const Dwfl_Callbacks callbacks = { .find_elf = find_no_elf,
					  .find_debuginfo = find_no_debug };

static void check(struct symbol_spans *spans, Dwfl_Module *module, uint64_t address)
{
	GElf_Off offset = 0, ours = 0;
	GElf_Sym symbol = { 0 }, own = { 0 };
	const char *name =
		dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	const char *found = symbol_spans_find(spans, address, &ours, &own);

	if (!name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, name);
	assert_true(ours == offset && memcmp(&own, &symbol, sizeof(own)) == 0);
}

/* Around the beginnings and ends of symbols, and anywhere; each time another one. */
static void check_file(const char *path)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);
	int fd = open(path, O_RDONLY | O_CLOEXEC), count;
	struct symbol_spans *spans;
	Dwfl_Module *module;
	Dwarf_Addr low, high;

	assert_true(fd >= 0 && dwfl);
	dwfl_report_begin(dwfl);
	module = dwfl_report_elf(dwfl, path, path, fd, BIAS, true);
	assert_non_null(module);
	(void)dwfl_report_end(dwfl, NULL, NULL);
	(void)dwfl_module_info(module, NULL, &low, &high, NULL, NULL, NULL, NULL);
	count = dwfl_module_getsymtab(module);
	assert_true(count > 0);
	spans = symbol_spans_new(module);
	for (int i = 0; i < ADDRESSES; i++) {
		GElf_Sym symbol;
		GElf_Addr at;
		uint64_t mixed = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);

		check(spans, module, low + mixed % (high - low));
		if (!dwfl_module_getsym_info(module, (int)(mixed % (uint64_t)count), &symbol, &at,
					     NULL, NULL, NULL))
			continue;
		at += i & 1 ? symbol.st_size : 0;
		check(spans, module, at - 1 + (uint64_t)(i >> 1) % 3);
	}
	symbol_spans_free(spans);
	dwfl_end(dwfl);
}

static void each_address_has_the_symbol_that_libdwfl_finds(void **unused)
{
	static const char *const others[] = { "/lib/x86_64-linux-gnu/libc.so.6",
					      "/lib/aarch64-linux-gnu/libc.so.6" };

	check_file("/proc/self/exe");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (access(others[i], R_OK) == 0)
			check_file(others[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_address_has_the_symbol_that_libdwfl_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_lock_names.c - addresses of a program's own files, by the symbols that reach them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/locks/lock_names.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "symbol/elf_file.h"

#define SELF "/proc/self/exe"

/* Behind its end nothing is known to begin that may reach there. */
static bool ends_alone(const struct elf_symbol *symbols, size_t count, const struct elf_symbol *of)
{
	uint64_t behind = of->address + of->bytes + 1;

	for (size_t i = 0; i < count; i++) {
		uint64_t inside = behind - symbols[i].address;

		if (!symbols[i].is_imported && symbols[i].address <= behind &&
		    (symbols[i].bytes ? inside < symbols[i].bytes
				      : symbols[i].address > of->address))
			return false;
	}
	return true;
}

static void a_symbol_ends_where_its_size_ends(void **unused)
{
	const struct ev_user_lock module = { .mutex = UINT64_MAX, .path = SELF };
	struct lock_names *names = lock_names_new();
	const struct elf_symbol *symbols;
	struct elf_file *file;
	struct err err = { 0 };
	size_t count, inside = 0, between = 0;

	assert_int_equal(elf_file_open(SELF, &file, &err), 0);
	symbols = elf_file_symbols(file, &count);
	lock_names_add(names, 0, &module);
	for (size_t i = 0; i < count && (inside < 50 || between < 50); i++) {
		const struct elf_symbol *symbol = &symbols[i];
		AUTO_FREE char *last = NULL, *behind = NULL;

		if (symbol->is_imported || symbol->bytes < 2 || !symbol->address)
			continue;
		last = lock_names_find(names, 0, symbol->address + symbol->bytes - 1);
		assert_non_null(last);
		assert_true(last[0] != '+');
		inside++;
		/* What is laid out to a multiple of 16 leaves gaps. */
		if (!ends_alone(symbols, count, symbol))
			continue;
		behind = lock_names_find(names, 0, symbol->address + symbol->bytes + 1);
		assert_non_null(behind);
		assert_int_equal(behind[0], '+');
		between++;
	}
	assert_true(inside && between);
	lock_names_free(names);
	elf_file_close(file);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_symbol_ends_where_its_size_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

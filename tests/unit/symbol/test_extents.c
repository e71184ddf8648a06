/* test_extents.c - the table for exceptions of this test itself, beside its symbols. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/extents.h"

#define PATH "/proc/self/exe"

static Elf_Data *symbols_of(Elf *elf, GElf_Shdr *out_header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, out_header) && out_header->sh_type == SHT_SYMTAB)
			return elf_getdata(section, NULL);
	}
	return NULL;
}

/* What it tells is never wrong, and it tells of all that a compiler made. */
static void functions_begin_where_their_symbols_do(void **unused)
{
	int fd = open(PATH, O_RDONLY | O_CLOEXEC);
	Elf *elf = (elf_version(EV_CURRENT), elf_begin(fd, ELF_C_READ, NULL));
	struct extents *extents = extents_new(elf);
	GElf_Shdr header;
	Elf_Data *symbols = symbols_of(elf, &header);
	size_t found = 0;
	bool has_main = false;

	assert_non_null(extents);
	assert_non_null(symbols);
	for (size_t i = 0; i < symbols->d_size / header.sh_entsize; i++) {
		GElf_Sym symbol;
		uint64_t start;
		const char *name;

		assert_non_null(gelf_getsym(symbols, (int)i, &symbol));
		name = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size < 2 ||
		    !extents_find(extents, symbol.st_value + symbol.st_size - 1, &start))
			continue;
		assert_int_equal(start, symbol.st_value);
		assert_true(extents_find(extents, symbol.st_value, &start));
		assert_int_equal(start, symbol.st_value);
		has_main |= strcmp(name, "main") == 0;
		found++;
	}
	assert_true(has_main);
	assert_in_range(found, 10, SIZE_MAX);
	assert_false(extents_find(extents, 0, &(uint64_t){ 0 }));
	assert_false(extents_find(extents, UINT64_MAX, &(uint64_t){ 0 }));
	extents_free(extents);
	elf_end(elf);
	close(fd);
	(void)unused;
}

/* Each byte of the table is made another one in turn: nothing is read beyond it, nothing ends the test. */
static void a_damaged_table_does_no_harm(void **unused)
{
	int fd = open(PATH, O_RDONLY | O_CLOEXEC);
	off_t bytes = lseek(fd, 0, SEEK_END);
	char *image = malloc((size_t)bytes);
	Elf *elf;
	Elf_Scn *section = NULL;
	GElf_Shdr header, table = { 0 };
	size_t names;

	assert_non_null(image);
	assert_int_equal(pread(fd, image, (size_t)bytes, 0), bytes);
	elf = elf_memory(image, (size_t)bytes);
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section))) {
		assert_non_null(gelf_getshdr(section, &header));
		if (strcmp(elf_strptr(elf, names, header.sh_name), ".eh_frame") == 0)
			table = header;
	}
	elf_end(elf);
	assert_true(table.sh_size);
	for (size_t i = 0; i < table.sh_size && i < 400; i++) {
		char was = image[table.sh_offset + i];
		struct extents *extents;

		image[table.sh_offset + i] = (char)(was ^ (i & 1 ? 0x80 : 0xff));
		elf = elf_memory(image, (size_t)bytes);
		extents = extents_new(elf);
		if (extents)
			(void)extents_find(extents, 0x1000 + i, &(uint64_t){ 0 });
		extents_free(extents);
		elf_end(elf);
		image[table.sh_offset + i] = was;
	}
	free(image);
	close(fd);
	(void)unused;
}

static void a_file_without_a_table_has_none(void **unused)
{
	assert_null(extents_new(NULL));
	extents_free(NULL);
	(void)unused;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_begin_where_their_symbols_do),
		cmocka_unit_test(a_damaged_table_does_no_harm),
		cmocka_unit_test(a_file_without_a_table_has_none),
	};

	return cmocka_run_group_tests_name("extents", tests, NULL, NULL);
}

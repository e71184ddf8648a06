/* test_go_layout.c - whether Go's linker made a file, and that other files tell nothing of Go's runtime. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbol/go_layout.h"

/* A program of nothing but a header and a note. */
struct program {
	Elf64_Ehdr head;
	Elf64_Phdr part;
	Elf64_Nhdr note;
	char owner[4];
	char id[8];
};

static struct program noted(const char owner[4])
{
	struct program program = {
		.head = { .e_type = ET_EXEC,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = offsetof(struct program, part),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1 },
		.part = { .p_type = PT_NOTE,
			  .p_offset = offsetof(struct program, note),
			  .p_filesz = sizeof(struct program) - offsetof(struct program, note) },
		.note = { .n_namesz = 4, .n_descsz = 8, .n_type = 4 },
	};

	memcpy(program.head.e_ident, ELFMAG, SELFMAG);
	program.head.e_ident[EI_CLASS] = ELFCLASS64;
	program.head.e_ident[EI_DATA] = ELFDATA2LSB;
	program.head.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(program.owner, owner, sizeof(program.owner));
	return program;
}

static int file_of(const void *bytes, size_t count)
{
	int fd = memfd_create("go", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, count), count);
	return fd;
}

static bool is_go(const struct program *program, size_t bytes)
{
	int fd = file_of(program, bytes);
	bool found = go_layout_is_go(fd);

	close(fd);
	return found;
}

static void the_note_of_its_linker_tells_go(void **unused)
{
	struct program go = noted("Go\0"), gnu = noted("GNU");

	assert_true(is_go(&go, sizeof(go)));
	assert_false(is_go(&gnu, sizeof(gnu)));
}

static void a_damaged_header_tells_nothing(void **unused)
{
	struct program program = noted("Go\0");

	for (size_t bytes = 0; bytes < sizeof(program); bytes++)
		assert_false(is_go(&program, bytes));
	program.part.p_offset = UINT64_MAX;
	assert_false(is_go(&program, sizeof(program)));
	program = noted("Go\0");
	program.head.e_phoff = UINT64_MAX - 8;
	assert_false(is_go(&program, sizeof(program)));
	program = noted("Go\0");
	program.note.n_descsz = UINT32_MAX;
	assert_false(is_go(&program, sizeof(program)));
}

static void a_file_without_gos_symbols_says_why(void **unused)
{
	struct program program = noted("Go\0");
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int stripped = file_of(&program, sizeof(program));
	int none = file_of("text", 4);
	struct go_layout layout;

	assert_false(go_layout_is_go(self));
	assert_non_null(go_layout_read(self, &layout));
	assert_string_equal(go_layout_read(stripped, &layout),
			    "the program has no symbols (-ldflags=-s)");
	assert_non_null(go_layout_read(none, &layout));
	close(self);
	close(stripped);
	close(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_note_of_its_linker_tells_go),
		cmocka_unit_test(a_damaged_header_tells_nothing),
		cmocka_unit_test(a_file_without_gos_symbols_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

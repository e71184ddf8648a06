/* test_variables.c - variables of this very program by their addresses, and of copies whose symbols lie. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/unwind.h"
#include "symbol/variables.h"

#define COPY "test_variables.copy"

int planted_zero[4];
int planted_set[4] = { 1 };
static struct {
	int before[10];
	int word;
} planted_struct;

/* What /proc tells of an address of this program, as the recorder would. */
static bool here(const void *address, struct variable_at *out_at)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[1024], rights[8], path[512], own[512] = "";
	uint64_t start, end, offset, behind = 0, behind_start = 0, behind_offset = 0;
	bool is_found = false;

	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	*out_at = (struct variable_at){ .address = (uintptr_t)address };
	while (maps && fgets(line, sizeof(line), maps)) {
		path[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %511s", &start,
			   &end, rights, &offset, path) < 4)
			continue;
		if (!strcmp(path, own) && rights[2] == 'x') {
			out_at->code_start = start;
			out_at->code_offset = offset;
			out_at->code_bytes = end - start;
		}
		if (out_at->address >= start && out_at->address < end) {
			bool is_file = path[0] == '/', is_behind = !path[0] && behind == start;

			is_found = is_file || is_behind;
			out_at->start = is_file ? start : behind_start;
			out_at->offset = is_file ? offset : behind_offset;
		}
		if (path[0] == '/') {
			behind = end;
			behind_start = start;
			behind_offset = offset;
		}
	}
	assert_non_null(maps);
	fclose(maps);
	return is_found;
}

static struct unwind_names *open_names(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_names *names = unwind_names_new(fd, path);

	close(fd);
	assert_non_null(names);
	return names;
}

static const char *name_in(const char *path, const void *address, uint64_t *out_offset)
{
	static char text[256];
	struct unwind_names *names = open_names(path);
	struct variable variable;
	struct variable_at at;

	assert_true(here(address, &at));
	assert_true(variables_find(names, &at, &variable));
	snprintf(text, sizeof(text), "%s", variable.name ? variable.name : "-");
	*out_offset = variable.offset;
	unwind_names_free(names);
	return text;
}

static void a_variable_is_named_by_the_symbol_that_covers_the_address(void **unused)
{
	static int planted_local;
	uint64_t offset;

	assert_string_equal(name_in("/proc/self/exe", &planted_zero[0], &offset), "planted_zero");
	assert_int_equal(offset, 0);
	assert_string_equal(name_in("/proc/self/exe", &planted_zero[3], &offset), "planted_zero");
	assert_int_equal(offset, 12);
	assert_string_equal(name_in("/proc/self/exe", &planted_set[1], &offset), "planted_set");
	assert_string_equal(name_in("/proc/self/exe", &planted_struct.word, &offset),
			    "planted_struct");
	assert_int_equal(offset, 40);
	planted_local++;
	assert_string_equal(name_in("/proc/self/exe", &planted_local, &offset), "planted_local");
}

/* ------------------------------------------------------------------ members */

/* Stringised, an lvalue is what its address is to be called. */
static const char *member_in(const char *path, const void *address)
{
	static char text[256];
	struct unwind_names *names = open_names(path);
	struct variable variable = { 0 };
	struct variable_at at;
	bool is_told;

	assert_true(here(address, &at));
	assert_true(variables_find(names, &at, &variable));
	is_told = variable.name && variable.member;
	snprintf(text, sizeof(text), "%s%s", variable.name ? variable.name : "-",
		 is_told ? variable.member : "");
	if (is_told && variable.member_offset)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "+0x%" PRIx64,
			 variable.member_offset);
	unwind_names_free(names);
	return text;
}

/* This file is compiled with -g in every build. */
#define IS_CALLED_SO(lvalue) \
	assert_string_equal(member_in("/proc/self/exe", (const void *)&(lvalue)), #lvalue)

typedef struct planted_account {
	long sum;
	pthread_mutex_t lock;
	struct {
		sem_t unnamed;
	};
} planted_account_t;

struct planted_node {
	struct planted_node *next; /* a type that leads to itself */
	_Atomic int word;
};

static struct planted_bank {
	char letter;
	volatile planted_account_t accounts[3][4];
	pthread_cond_t condition;
	pthread_rwlock_t locks[5];
	const struct planted_node node;
	union {
		int one;
		long other;
	} either;
} planted_bank;

static struct planted_bank planted_banks[2] = { { .letter = 1 } };

static void a_member_is_called_as_the_source_calls_it(void **unused)
{
	IS_CALLED_SO(planted_struct.word);
	IS_CALLED_SO(planted_bank.letter);
	IS_CALLED_SO(planted_bank.accounts[0][0].sum);
	IS_CALLED_SO(planted_bank.accounts[2][1].lock);
	IS_CALLED_SO(planted_bank.accounts[1][3].unnamed);
	IS_CALLED_SO(planted_bank.condition);
	IS_CALLED_SO(planted_bank.locks[4]);
	IS_CALLED_SO(planted_bank.node.next);
	IS_CALLED_SO(planted_bank.node.word);
	IS_CALLED_SO(planted_bank.either);
	IS_CALLED_SO(planted_banks[1].accounts[2][3].lock);
	IS_CALLED_SO(planted_zero[3]);
}

static void a_lock_is_one_thing_and_padding_is_nobodys(void **unused)
{
	const char *in_lock = (const char *)&planted_bank.condition + 8,
		   *in_word = (const char *)&planted_zero[2] + 2,
		   *in_union = (const char *)&planted_bank.either + 4,
		   *padding = &planted_bank.letter + 3;

	assert_string_equal(member_in("/proc/self/exe", in_lock), "planted_bank.condition");
	assert_string_equal(member_in("/proc/self/exe", in_word), "planted_zero[2]+0x2");
	assert_string_equal(member_in("/proc/self/exe", in_union), "planted_bank.either+0x4");
	assert_string_equal(member_in("/proc/self/exe", padding), "planted_bank+0x3");
}

static void without_debug_information_there_is_no_member(void **unused)
{
	assert_int_equal(system("objcopy -g /proc/" /* as /proc/self would be objcopy */
				"$PPID/exe " COPY),
			 0);
	assert_string_equal(member_in(COPY, &planted_bank.node.word), "planted_bank");
	unlink(COPY);
}

static void what_begins_as_zero_is_told_from_what_does_not(void **unused)
{
	struct unwind_names *names = open_names("/proc/self/exe");
	struct variable variable;
	struct variable_at at;

	assert_true(here(planted_zero, &at) && variables_find(names, &at, &variable));
	assert_false(variable.is_initialised);
	assert_true(here(planted_set, &at) && variables_find(names, &at, &variable));
	assert_true(variable.is_initialised);
	unwind_names_free(names);
}

static void what_is_in_no_data_of_the_file_has_no_name(void **unused)
{
	struct unwind_names *names = open_names("/proc/self/exe");
	struct variable variable;
	struct variable_at at;
	int on_stack = 0;

	assert_false(here(&on_stack, &at));
	assert_false(variables_find(names, &at, &variable));
	assert_true(here(planted_zero, &at));
	at.offset += 4096; /* mappings that do not fit each other */
	assert_false(variables_find(names, &at, &variable));
	at.offset -= 4096;
	at.code_start += 4096;
	assert_false(variables_find(names, &at, &variable));
	at.code_start -= 4096;
	at.address += UINT64_C(1) << 40;
	assert_false(variables_find(names, &at, &variable));
	assert_true(here(name_in, &at)); /* code */
	assert_false(variables_find(names, &at, &variable));
	unwind_names_free(names);
}

/* ------------------------------------------------------------------ symbols that lie */

struct copy {
	uint8_t *bytes;
	size_t count;
	Elf64_Sym *symbols;
	size_t symbol_count;
	const char *texts;
};

static void copy_read(struct copy *copy)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const Elf64_Shdr *headers;
	Elf64_Ehdr head;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	copy->count = (size_t)st.st_size;
	copy->bytes = malloc(copy->count);
	assert_int_equal(read(fd, copy->bytes, copy->count), st.st_size);
	close(fd);
	memcpy(&head, copy->bytes, sizeof(head));
	headers = (const void *)(copy->bytes + head.e_shoff);
	for (size_t i = 0; i < head.e_shnum; i++) {
		if (headers[i].sh_type != SHT_SYMTAB)
			continue;
		copy->symbols = (void *)(copy->bytes + headers[i].sh_offset);
		copy->symbol_count = headers[i].sh_size / sizeof(Elf64_Sym);
		copy->texts = (const char *)copy->bytes + headers[headers[i].sh_link].sh_offset;
	}
	assert_non_null(copy->symbols);
}

static Elf64_Sym *copy_find(const struct copy *copy, const char *name)
{
	for (size_t i = 0; i < copy->symbol_count; i++) {
		if (strcmp(copy->texts + copy->symbols[i].st_name, name) == 0)
			return &copy->symbols[i];
	}
	fail_msg("no symbol %s", name);
	return NULL;
}

static void copy_write(struct copy *copy)
{
	FILE *out = fopen(COPY, "w");

	assert_int_equal(fwrite(copy->bytes, 1, copy->count, out), copy->count);
	fclose(out);
	free(copy->bytes);
}

static void of_symbols_that_overlap_the_smallest_names_it(void **unused)
{
	struct copy copy;
	Elf64_Sym *set, *zero;
	uint64_t offset;

	copy_read(&copy);
	set = copy_find(&copy, "planted_set");
	zero = copy_find(&copy, "planted_zero");
	set->st_value = zero->st_value - 4;
	set->st_size = 20;
	copy_write(&copy);
	assert_string_equal(name_in(COPY, &planted_zero[1], &offset), "planted_zero");
	assert_int_equal(offset, 4);
	assert_string_equal(name_in(COPY, &planted_set[0], &offset), "-"); /* nobody covers it */
	unlink(COPY);
}

static void a_symbol_without_an_end_names_nothing(void **unused)
{
	static const uint64_t sizes[] = { UINT64_MAX, UINT64_MAX / 2, UINT64_C(1) << 40, 0 };
	uint64_t offset;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct copy copy;

		copy_read(&copy);
		copy_find(&copy, "planted_zero")->st_size = sizes[i];
		copy_write(&copy);
		assert_string_equal(name_in(COPY, &planted_zero[1], &offset), "-");
	}
	unlink(COPY);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_variable_is_named_by_the_symbol_that_covers_the_address),
		cmocka_unit_test(what_begins_as_zero_is_told_from_what_does_not),
		cmocka_unit_test(what_is_in_no_data_of_the_file_has_no_name),
		cmocka_unit_test(a_member_is_called_as_the_source_calls_it),
		cmocka_unit_test(a_lock_is_one_thing_and_padding_is_nobodys),
		cmocka_unit_test(without_debug_information_there_is_no_member),
		cmocka_unit_test(of_symbols_that_overlap_the_smallest_names_it),
		cmocka_unit_test(a_symbol_without_an_end_names_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

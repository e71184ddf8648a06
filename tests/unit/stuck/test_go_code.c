/* test_go_code.c - functions, lines and inlined calls by Go's tables, which this process has in its own memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "stuck/go_code.h"
#include "stuck/go_memory.h"
#include "symbol/go_layout.h"

#define TEXT 0x400000u

/* One function of 0x100 bytes, into which another was inlined from 0x20 to 0x30, and the one that ends stacks. */
static const char names[] = "\0main.outer\0main.inner\0runtime.goexit";
static const char files[] = "/x/outer.go\0/y/inner.go";
static const uint32_t units[] = { 0, 12 };
static const uint8_t pcs[] = {
	0,
	/* 1: frames of 24 bytes */
	50,
	0x80,
	2,
	0,
	/* 5: files 0, 1, 0 */
	2,
	0x20,
	2,
	0x10,
	1,
	0xd0,
	1,
	0,
	/* 13: lines 10, 77, 12 */
	22,
	0x20,
	0x86,
	1,
	0x10,
	0x81,
	1,
	0xd0,
	1,
	0,
	/* 23: none, the first inlined one, none */
	0,
	0x20,
	2,
	0x10,
	1,
	0xd0,
	1,
	0,
};

struct function {
	uint32_t entry, name, sp, file, line, pcdata, unit;
	uint8_t funcdata, pad[3];
	uint32_t pcdatas[3], funcdatas[4];
};

static struct function functions[] = {
	{ 0, 1, 1, 5, 13, 3, 0, 4, { 0 }, { 0, 0, 23 }, { 0, 0, 0, 0 } },
	{ 0x100, 23, 1, 5, 13, 0, 0, 0, { 0 }, { 0 }, { 0 } },
};
static const uint32_t table[][2] = { { 0, 0 }, { 0x100, sizeof(struct function) }, { 0x120, 0 } };
static const uint32_t tree[][2] = { { 12, 0x10 } }; /* its name; called there */

static uint64_t module[25];

static void put_slice(struct go_layout *layout, enum go_field field, size_t at, const void *items,
		      uint64_t count)
{
	layout->at[field] = at * sizeof(module[0]);
	module[at] = (uint64_t)(uintptr_t)items;
	module[at + 1] = count;
}

static struct go_layout laid_out(void)
{
	struct go_layout layout = { .sizes = { [GO_SIZE_FUNC] = offsetof(struct function, pcdatas),
					       [GO_SIZE_INLINED] = sizeof(tree[0]) } };

	layout.variables[GO_FIRST_MODULE] = (uint64_t)(uintptr_t)module;
	put_slice(&layout, GO_MODULE_NAMES, 0, names, sizeof(names));
	put_slice(&layout, GO_MODULE_UNITS, 3, units, 2);
	put_slice(&layout, GO_MODULE_FILES, 6, files, sizeof(files));
	put_slice(&layout, GO_MODULE_PCS, 9, pcs, sizeof(pcs));
	put_slice(&layout, GO_MODULE_FUNCTIONS, 12, functions, sizeof(functions));
	put_slice(&layout, GO_MODULE_TABLE, 15, table, 3);
	put_slice(&layout, GO_MODULE_TEXTS, 18, NULL, 1);
	put_slice(&layout, GO_MODULE_DATA, 21, tree, 0);
	layout.at[GO_MODULE_TEXT] = 23 * sizeof(module[0]);
	layout.at[GO_MODULE_TEXT_END] = 24 * sizeof(module[0]);
	module[23] = TEXT;
	module[24] = TEXT + 0x120;
	layout.at[GO_FUNC_NAME] = offsetof(struct function, name);
	layout.at[GO_FUNC_SP] = offsetof(struct function, sp);
	layout.at[GO_FUNC_FILE] = offsetof(struct function, file);
	layout.at[GO_FUNC_LINE] = offsetof(struct function, line);
	layout.at[GO_FUNC_PCDATA] = offsetof(struct function, pcdata);
	layout.at[GO_FUNC_UNIT] = offsetof(struct function, unit);
	layout.at[GO_FUNC_FUNCDATA] = offsetof(struct function, funcdata);
	layout.at[GO_INLINED_PC] = sizeof(uint32_t);
	return layout;
}

static void assert_frame(const struct go_frame *frame, const char *function, const char *file,
			 uint32_t line)
{
	assert_string_equal(frame->function, function);
	assert_string_equal(frame->file, file);
	assert_int_equal(frame->line, line);
}

static void a_function_and_what_was_inlined_are_told(void **unused)
{
	struct go_layout layout = laid_out();
	struct go_memory memory = { .tgid = getpid() };
	struct go_code code;
	struct go_spot spot;

	assert_true(go_code_open(&code, &memory, &layout, 0));
	spot = go_code_spot(&code, TEXT + 0x29);
	assert_int_equal(spot.count, 2);
	assert_int_equal(spot.frame_bytes, 24);
	assert_false(spot.is_end);
	assert_frame(&code.frames[spot.first], "main.inner", "/y/inner.go", 77);
	assert_frame(&code.frames[spot.first + 1], "main.outer", "/x/outer.go", 10);
	/* The call is before what it returns to. */
	spot = go_code_spot(&code, TEXT + 0x20);
	assert_int_equal(spot.count, 1);
	assert_frame(&code.frames[spot.first], "main.outer", "/x/outer.go", 10);
	spot = go_code_spot(&code, TEXT + 0x40);
	assert_frame(&code.frames[spot.first], "main.outer", "/x/outer.go", 12);
	assert_true(go_code_spot(&code, TEXT + 0x110).is_end);
	go_code_fini(&code);
	go_memory_fini(&memory);
}

static void an_address_in_no_function_is_not_known(void **unused)
{
	struct go_layout layout = laid_out();
	struct go_memory memory = { .tgid = getpid() };
	struct go_code code;

	assert_true(go_code_open(&code, &memory, &layout, 0));
	assert_int_equal(go_code_spot(&code, TEXT - 1).count, 0);
	assert_int_equal(go_code_spot(&code, TEXT + 0x120).count, 0);
	assert_int_equal(go_code_spot(&code, 0).count, 0);
	go_code_fini(&code);
	go_memory_fini(&memory);
}

/* Offsets that lead nowhere, and a sequence that does not end. */
static void damaged_tables_tell_nothing(void **unused)
{
	static uint8_t endless[8192];
	struct go_layout layout = laid_out();
	struct go_memory memory = { .tgid = getpid() }, later = memory;
	const struct function before = functions[0];
	struct go_code code;

	memset(endless, 0x80, sizeof(endless));
	put_slice(&layout, GO_MODULE_PCS, 9, endless, UINT32_MAX);
	functions[0].name = UINT32_MAX;
	functions[0].unit = UINT32_MAX;
	assert_true(go_code_open(&code, &memory, &layout, 0));
	assert_int_equal(go_code_spot(&code, TEXT + 0x29).count, 0);
	functions[0].pcdata = UINT32_MAX;
	assert_int_equal(go_code_spot(&code, TEXT + 0x41).count, 0);
	functions[0] = before;
	go_code_fini(&code);
	module[15] = 0; /* no table */
	assert_false(go_code_open(&code, &later, &layout, 0));
	go_code_fini(&code);
	go_memory_fini(&later);
	go_memory_fini(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_and_what_was_inlined_are_told),
		cmocka_unit_test(an_address_in_no_function_is_not_known),
		cmocka_unit_test(damaged_tables_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

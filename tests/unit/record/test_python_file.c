/* test_python_file.c - this program passes for a CPython: it has the symbols, and a table in its _PyRuntime. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "python_told.h"
#include "record/python_file.h"

#define FILE_MAX (16u << 20)

/* In the file they are at one place each, by which it is found; nothing in it is ever run. */
extern uint64_t runtime[TOLD_WORDS], version, code_type, text_type;
extern int eval(void);
uint64_t runtime[TOLD_WORDS] __asm__("_PyRuntime") = { TOLD_WORDS_3_14 };
uint64_t version __asm__("Py_Version") = TOLD_3_14;
uint64_t code_type __asm__("PyCode_Type") = 1;
uint64_t text_type __asm__("PyUnicode_Type") = 1;
int eval(void) __asm__("_PyEval_EvalFrameDefault");

int eval(void)
{
	return runtime[0] && version && code_type && text_type;
}

/* This program with another table, and another version. */
static int python_of(const uint64_t words[TOLD_WORDS])
{
	static uint8_t bytes[FILE_MAX];
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd;
	ssize_t got = read(self, bytes, sizeof(bytes));
	uint8_t *at = memmem(bytes, (size_t)got, runtime, sizeof(runtime));

	assert_true(eval() && got > 0 && (size_t)got < sizeof(bytes));
	assert_non_null(at);
	memcpy(at, words, sizeof(runtime));
	/* The version is elsewhere in the same section: the only other word of that kind. */
	for (uint8_t *word = bytes; word + sizeof(version) <= bytes + got; word++) {
		if ((word < at || word >= at + sizeof(runtime)) &&
		    memcmp(word, &version, sizeof(version)) == 0)
			memcpy(word, &words[1], sizeof(version));
	}
	fd = memfd_create("python", MFD_CLOEXEC);
	assert_int_equal(write(fd, bytes, (size_t)got), got);
	(void)close(self);
	return fd;
}

static bool python_read(const uint64_t words[TOLD_WORDS], struct python_file *out_file)
{
	int fd = python_of(words);
	bool is_found = python_file_read(fd, "/usr/bin/python3", out_file);

	(void)close(fd);
	return is_found;
}

static void its_own_table_tells_the_layout(void **unused)
{
	static const uint64_t words[TOLD_WORDS] = { TOLD_WORDS_3_15 };
	struct python_file python;

	assert_true(python_read(runtime, &python));
	assert_int_equal(python.python.head % 4096, ((uintptr_t)runtime + 808) % 4096);
	assert_int_equal(python.python.at.code_start, 208);
	assert_int_equal(python.python.at.thread_number, 160);
	assert_int_equal(python.python.at.thread_cframe, 0);
	assert_true(python.eval_bytes > 0);
	assert_false(python.has_no_gil);
	assert_true(python_read(words, &python));
	assert_int_equal(python.python.at.thread_number, 184);
}

static void a_later_version_needs_no_table_of_ours(void **unused)
{
	uint64_t words[TOLD_WORDS] = { TOLD_WORDS_3_15 };
	struct python_file python;

	words[1] = UINT64_C(0x031200f0);
	assert_true(python_read(words, &python));
	assert_int_equal(python.python.at.thread_number, 184);
	words[31] += 8; /* thread_id and native_thread_id are not side by side */
	assert_false(python_read(words, &python));
	assert_false(python.has_no_gil);
}

static void one_without_the_gil_is_told_as_one(void **unused)
{
	uint64_t words[TOLD_WORDS] = { TOLD_WORDS_3_14 };
	struct python_file python;

	words[2] = 1;
	assert_false(python_read(words, &python));
	assert_true(python.has_no_gil);
	assert_int_equal(python.eval_bytes, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_own_table_tells_the_layout),
		cmocka_unit_test(a_later_version_needs_no_table_of_ours),
		cmocka_unit_test(one_without_the_gil_is_told_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_mem.c - memory that grows, and what is freed or closed by leaving a scope. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

static void an_array_grows_by_doubling_and_keeps_its_items(void **unused)
{
	uint32_t *items = NULL;
	size_t cap = 0;
	size_t moves = 0;

	for (uint32_t i = 0; i < 10000; i++) {
		size_t old_cap = cap;

		items = vec_room(items, i, &cap, sizeof(*items));
		items[i] = i;
		moves += cap != old_cap;
	}
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(items[i], i);
	assert_true(cap >= 10000 && cap < 2 * 10000 + 16);
	assert_true(moves < 12);
	free(items);
}

static void an_array_by_numbers_moves_seldom_and_begins_with_zeros(void **unused)
{
	uint32_t *items = NULL;
	size_t moves = 0, count = 0;

	for (size_t want = 1; want <= 10000; want += want % 7 == 0 ? 13 : 1) {
		uintptr_t before = (uintptr_t)items;

		items = vec_grow(items, count, want, sizeof(*items));
		moves += (uintptr_t)items != before;
		for (; count < want; count++) {
			assert_int_equal(items[count], 0);
			items[count] = (uint32_t)count + 1;
		}
	}
	for (size_t i = 0; i < count; i++)
		assert_int_equal(items[i], i + 1);
	assert_true(moves < 12);
	assert_ptr_equal(vec_grow(items, count, 5, sizeof(*items)), items);
	free(items);
}

static void a_text_is_formatted_whatever_its_length(void **unused)
{
	AUTO_FREE char *text = xasprintf("%0*d", 5000, 7);

	assert_int_equal(strlen(text), 5000);
	assert_int_equal(text[4999], '7');
}

static void a_copy_of_a_text_can_be_bounded(void **unused)
{
	AUTO_FREE char *whole = xstrdup("name");
	AUTO_FREE char *part = xstrndup("name", 2);

	assert_string_equal(whole, "name");
	assert_string_equal(part, "na");
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void a_descriptor_is_closed_when_its_scope_ends(void **unused)
{
	int number;

	{
		AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		number = fd;
		assert_true(is_open(number));
		errno = EXDEV;
	}
	assert_int_equal(errno, EXDEV);
	assert_false(is_open(number));
}

static void a_file_is_closed_when_its_scope_ends(void **unused)
{
	int number;

	{
		AUTO_FILE FILE *file = fopen("/dev/null", "re");

		number = fileno(file);
		assert_true(is_open(number));
	}
	assert_false(is_open(number));
}

static void what_was_never_opened_is_not_closed(void **unused)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FILE FILE *file = NULL;
	AUTO_FREE char *text = NULL;

	assert_true(fd < 0 && !file && !text);
}

/* Ask for what no machine has, in a child that may die of it. */
static int status_of_allocating(size_t bytes)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		const struct rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		free(xmalloc(bytes));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void no_memory_ends_the_program(void **unused)
{
	int status = status_of_allocating(SIZE_MAX / 2);

	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	status = status_of_allocating(64);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_grows_by_doubling_and_keeps_its_items),
		cmocka_unit_test(an_array_by_numbers_moves_seldom_and_begins_with_zeros),
		cmocka_unit_test(a_text_is_formatted_whatever_its_length),
		cmocka_unit_test(a_copy_of_a_text_can_be_bounded),
		cmocka_unit_test(a_descriptor_is_closed_when_its_scope_ends),
		cmocka_unit_test(a_file_is_closed_when_its_scope_ends),
		cmocka_unit_test(what_was_never_opened_is_not_closed),
		cmocka_unit_test(no_memory_ends_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

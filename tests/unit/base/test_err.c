/* test_err.c - errors read as one sentence, whatever is added to them. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void the_cause_comes_first_and_what_was_done_follows(void **unused)
{
	struct err err = { 0 };

	assert_int_equal(err_set(&err, -EBADMSG, "line %d is not an event", 2), -EBADMSG);
	assert_int_equal(err_wrap(&err, "reading %s", "a.txt"), -EBADMSG);
	assert_string_equal(err.text, "line 2 is not an event, while reading a.txt");
	assert_int_equal(err.code, -EBADMSG);
}

static void a_second_cause_replaces_the_first(void **unused)
{
	struct err err = { 0 };

	err_set(&err, -EIO, "first");
	err_wrap(&err, "trying");
	err_set(&err, -ENOENT, "second");
	assert_string_equal(err.text, "second");
	assert_int_equal(err.code, -ENOENT);
}

static void nobody_needs_to_want_the_text(void **unused)
{
	assert_int_equal(err_set(NULL, -EPERM, "unseen"), -EPERM);
	assert_true(err_wrap(NULL, "unseen") < 0);
}

static void a_long_text_is_cut_and_says_so(void **unused)
{
	struct err err = { 0 };
	char text[2 * sizeof(err.text)];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, -EIO, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_string_equal(err.text + sizeof(err.text) - 4, "...");
	assert_int_equal(err.code, -EIO);
}

static void adding_to_a_full_text_keeps_it_whole(void **unused)
{
	struct err err = { 0 };

	err_set(&err, -EIO, "start");
	for (int i = 0; i < 100; i++)
		assert_int_equal(err_wrap(&err, "doing step number %d", i), -EIO);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_memory_equal(err.text, "start, while doing step number 0", 32);
	assert_string_equal(err.text + sizeof(err.text) - 4, "...");
}

/* Every length around the end of the buffer: terminated, never longer than the buffer. */
static void a_text_of_any_length_is_terminated(void **unused)
{
	for (int length = 480; length < 540; length++) {
		struct err err = { 0 };

		err_set(&err, -EIO, "%*s", length, "");
		err_wrap(&err, "x");
		assert_true(strlen(err.text) < sizeof(err.text));
		assert_int_equal(err.code, -EIO);
	}
}

static void what_it_quotes_commands_no_terminal(void **unused)
{
	struct err err = { 0 };

	err_set(&err, -EIO, "\"%s\" is bad", "a\x1b[2J\n\xff");
	err_wrap(&err, "reading %s", "\xe2\x80\xae");
	assert_string_equal(err.text,
			    "\"a\\x1b[2J\\n\\xff\" is bad, while reading \\xe2\\x80\\xae");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cause_comes_first_and_what_was_done_follows),
		cmocka_unit_test(a_second_cause_replaces_the_first),
		cmocka_unit_test(nobody_needs_to_want_the_text),
		cmocka_unit_test(a_long_text_is_cut_and_says_so),
		cmocka_unit_test(adding_to_a_full_text_keeps_it_whole),
		cmocka_unit_test(a_text_of_any_length_is_terminated),
		cmocka_unit_test(what_it_quotes_commands_no_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

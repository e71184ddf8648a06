/* test_terminal.c - what leaves is text, wherever it is cut on its way. */
#include "base/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

struct pipe_ends {
	int read, write;
};

static struct pipe_ends new_pipe(void)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	return (struct pipe_ends){ fds[0], fds[1] };
}

/* All that is in the pipe, whose writing end was closed. */
static void assert_came(struct pipe_ends *ends, const char *wanted)
{
	char got[4096] = { 0 };
	size_t bytes = 0;
	ssize_t more;

	while ((more = read(ends->read, got + bytes, sizeof(got) - 1 - bytes)) > 0)
		bytes += (size_t)more;
	close(ends->read);
	assert_string_equal(got, wanted);
}

static const char input[] =
	"a\tb\n\x1b[2J gr\xc3\xbc\xc3\x9f \xe2\x82\xac\xf0\x9f\x98\x80 \x9b"
	"1m \xc2\x9b \xe2\x80\xae \xff\xfe \xed\xa0\x80 \x7f\r\xef\xbf\xbf\xe2\x82";
static const char output[] =
	"a\tb\n\\x1b[2J gr\xc3\xbc\xc3\x9f \xe2\x82\xac\xf0\x9f\x98\x80 \\x9b"
	"1m \\xc2\\x9b \\xe2\\x80\\xae \\xff\\xfe \\xed\\xa0\\x80 \\x7f\\x0d\\xef\\xbf\\xbf"
	"\\xe2\\x82";

static void text_leaves_the_same_wherever_it_is_cut(void **unused)
{
	size_t count = strlen(input);

	for (size_t first = 0; first <= count; first++) {
		for (size_t second = first; second <= count; second += 3) {
			struct pipe_ends ends = new_pipe();
			struct terminal terminal = { .fd = ends.write };

			assert_int_equal(terminal_put(&terminal, input, first), 0);
			assert_int_equal(terminal_put(&terminal, input + first, second - first), 0);
			assert_int_equal(terminal_put(&terminal, input + second, count - second),
					 0);
			assert_int_equal(terminal_end(&terminal), 0);
			close(ends.write);
			assert_came(&ends, output);
		}
	}
}

static void only_our_own_codes_pass_a_stream(void **unused)
{
	struct pipe_ends ends = new_pipe();
	FILE *out = terminal_open(ends.write);

	assert_non_null(out);
	fprintf(out, "%s", "\x1b[31m");
	terminal_codes(out, "\x1b[1m");
	fprintf(out, "x\x1b[0m");
	terminal_codes(out, "\x1b[0m");
	assert_int_equal(fclose(out), 0);
	assert_came(&ends, "\\x1b[31m\x1b[1mx\\x1b[0m\x1b[0m");
}

static void an_error_of_writing_is_one_of_the_stream(void **unused)
{
	FILE *full = fopen("/dev/full", "w");
	FILE *out;

	if (!full)
		skip();
	out = terminal_open(dup(fileno(full)));
	fclose(full);
	fputs("lost", out);
	assert_int_equal(fflush(out), EOF);
	assert_true(ferror(out));
	fclose(out);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_leaves_the_same_wherever_it_is_cut),
		cmocka_unit_test(only_our_own_codes_pass_a_stream),
		cmocka_unit_test(an_error_of_writing_is_one_of_the_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_table.c - alignment and wrapping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/table.h"

static char *printed(struct table *table)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	table_print(table, out);
	fclose(out);
	table_fini(table);
	return text;
}

static void numbers_line_up_on_the_right(void **unused)
{
	AUTO_FREE char *text = NULL;
	struct table table = { 0 };

	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "who", TABLE_LEFT);
	table_column(&table, "what", TABLE_TEXT);
	table_cell(&table, "%d ns", 5);
	table_cell(&table, "a");
	table_cell(&table, "x");
	table_cell(&table, "%d ns", 1234);
	table_cell(&table, "long");
	table_cell(&table, "y");
	table_rule(&table);
	table_cell(&table, "1239 ns");
	table_cell(&table, "%s", "");
	table_cell(&table, "%s", "");
	text = printed(&table);
	assert_string_equal(text, "     time  who   what\n"
				  "     5 ns  a     x\n"
				  "  1234 ns  long  y\n"
				  "  -------\n"
				  "  1239 ns\n");
}

static void no_titles_no_line_of_titles(void **unused)
{
	AUTO_FREE char *text = NULL;
	struct table table = { 0 };

	table_column(&table, "", TABLE_RIGHT);
	table_cell(&table, "1");
	text = printed(&table);
	assert_string_equal(text, "  1\n");
}

static void a_long_sentence_wraps_under_itself(void **unused)
{
	AUTO_FREE char *text = NULL;
	struct table table = { 0 };
	const char *line;
	size_t words = 0;

	table_column(&table, "n", TABLE_RIGHT);
	table_column(&table, "text", TABLE_TEXT);
	table_cell(&table, "1");
	table_cell(&table, "    %s",
		   "word word word word word word word word word word word word word "
		   "word word word word word word word word word word word word");
	text = printed(&table);
	for (line = text; *line; line = strchr(line, '\n') + 1)
		assert_true((size_t)(strchr(line, '\n') - line) <= REPORT_COLUMNS);
	for (line = strstr(text, "word"); line; line = strstr(line + 1, "word"))
		words++;
	assert_int_equal(words, 25);
	/* column 5, the blanks of the tree, and two more */
	assert_non_null(strstr(text, "\n           word"));
}

static void a_word_that_fits_nowhere_is_whole_all_the_same(void **unused)
{
	AUTO_FREE char *text = NULL;
	struct table table = { 0 };
	char word[301];

	memset(word, 'x', 300);
	word[300] = '\0';
	table_column(&table, "", TABLE_TEXT);
	table_cell(&table, "a %s b", word);
	text = printed(&table);
	assert_non_null(strstr(text, word));
}

static void cells_cannot_drive_the_terminal(void **unused)
{
	AUTO_FREE char *text = NULL;
	struct table table = { 0 };

	table_column(&table, "", TABLE_TEXT);
	table_cell(&table, "a\033[2Jb\nc");
	text = printed(&table);
	assert_string_equal(text, "  a\\x1b[2Jb\\nc\n");
}

static void width_counts_characters_not_bytes(void **unused)
{
	AUTO_FREE char *text = NULL;
	struct table table = { 0 };

	table_column(&table, "", TABLE_LEFT);
	table_column(&table, "", TABLE_TEXT);
	table_cell(&table, "gr\xc3\xbcn");
	table_cell(&table, "x");
	table_cell(&table, "blau");
	table_cell(&table, "y");
	text = printed(&table);
	assert_string_equal(text, "  gr\xc3\xbcn  x\n  blau  y\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_line_up_on_the_right),
		cmocka_unit_test(no_titles_no_line_of_titles),
		cmocka_unit_test(a_long_sentence_wraps_under_itself),
		cmocka_unit_test(a_word_that_fits_nowhere_is_whole_all_the_same),
		cmocka_unit_test(cells_cannot_drive_the_terminal),
		cmocka_unit_test(width_counts_characters_not_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

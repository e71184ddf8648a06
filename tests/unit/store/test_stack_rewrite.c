/* test_stack_rewrite.c - frames get names later: their numbers change, and what stacks say does not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/stacks.h"
#include "store/stack_file.h"
#include "store/stack_rewrite.h"

struct rewritten {
	struct stacks old, names;
	struct stack_groups groups;
	struct stack_renamed *renamed;
	char *text; /* the new file */
};

static void begin(struct rewritten *of, const char *text)
{
	AUTO_FREE char *copy = xstrdup(text);
	size_t bad;

	*of = (struct rewritten){ 0 };
	assert_int_equal(stack_file_parse(copy, &of->old, &bad), 0);
	stack_groups_find(&of->old, &of->groups);
	of->renamed = xcalloc(of->groups.count + 1, sizeof(*of->renamed));
}

/* The group becomes functions a, b ... of which all but the last are inlined. */
static void give_names(struct rewritten *of, size_t group, uint32_t count)
{
	of->renamed[group].first = (uint32_t)of->names.frame_count;
	of->renamed[group].count = count;
	for (uint32_t i = 0; i < count; i++)
		stacks_add_frame(&of->names,
				 &(struct stack_frame){ .function = (char[]){ (char)('a' + i), 0 },
							.module = "m",
							.is_inlined = i + 1 < count });
}

static int rewrite(struct rewritten *of, const char *text)
{
	const struct stack_rewriting from = { &of->old, &of->groups, &of->names, of->renamed };
	struct err err = { 0 };
	size_t bytes;
	FILE *out = open_memstream(&of->text, &bytes);
	int rc = stack_rewrite(text, &from, out, &err);

	assert_true(rc == 0 || err.text[0]);
	fclose(out);
	return rc;
}

static void end(struct rewritten *of)
{
	stacks_fini(&of->old);
	stacks_fini(&of->names);
	stack_groups_fini(&of->groups);
	free(of->renamed);
	free(of->text);
}

static void numbers_follow_the_frames(void **unused)
{
	static const char text[] = "holdup-stacks 4\n"
				   "F\tk\tffff\t0\t\t\t[kernel]\t\t\t\n"
				   "F\tu\t10\t0\t\t\tm\t/m\tab\t\n"
				   "F\t-\t20\t7\tkept\tkept(int)\tm\t/m\tab\tm.c\n"
				   "S\tend\t0\t1\t2\n"
				   "W\t5\t10\t30\t20\t-\t0\n"
				   "F\tu\t30\t0\t\t\tm\t/m\tab\t\n"
				   "S\t\t3\t2\t1\n"
				   "C\t5\t40\t1\n";
	struct rewritten of;

	begin(&of, text);
	assert_int_equal(of.groups.count, 4);
	give_names(&of, 1, 3);
	of.renamed[3].is_settled = true;
	assert_int_equal(rewrite(&of, text), 0);
	assert_string_equal(of.text, "holdup-stacks 5\n"
				     "F\tk\tffff\t0\t\t\t[kernel]\t\t\t\n"
				     "F\ti\t0\t0\ta\t\tm\t\t\t\n"
				     "F\ti\t0\t0\tb\t\tm\t\t\t\n"
				     "F\t-\t0\t0\tc\t\tm\t\t\t\n"
				     "F\t-\t20\t7\tkept\tkept(int)\tm\t/m\tab\tm.c\n"
				     "S\tend\t0\t1\t2\t3\t4\n"
				     "W\t5\t10\t30\t20\t-\t0\n"
				     "F\t-\t30\t0\t\t\tm\t/m\tab\t\n"
				     "S\t\t5\t4\t1\t2\t3\n"
				     "C\t5\t40\t1\n");
	end(&of);
}

static void a_group_is_replaced_as_a_whole(void **unused)
{
	static const char text[] = "holdup-stacks 5\n"
				   "F\ti\t10\t3\tinner\t\tm\t/m\tab\tm.c\n"
				   "F\t-\t10\t5\touter\t\tm\t/m\tab\tm.c\n"
				   "F\ti\t20\t3\talone\t\tm\t/m\tab\tm.c\n"
				   "F\t-\t30\t0\tother\t\tm\t/m\tab\t\n"
				   "S\t\t0\t1\t2\t3\n";
	struct rewritten of;

	begin(&of, text);
	assert_int_equal(of.groups.count, 3);
	assert_int_equal(of.groups.items[0].count, 2);
	give_names(&of, 0, 1);
	assert_int_equal(rewrite(&of, text), 0);
	assert_string_equal(of.text, "holdup-stacks 5\n"
				     "F\t-\t0\t0\ta\t\tm\t\t\t\n"
				     "F\ti\t20\t3\talone\t\tm\t/m\tab\tm.c\n"
				     "F\t-\t30\t0\tother\t\tm\t/m\tab\t\n"
				     "S\t\t0\t1\t2\n");
	end(&of);
}

/* No recorder writes that; a frame of it cannot go. */
static void a_group_of_which_a_stack_has_a_part_stays(void **unused)
{
	static const char text[] = "holdup-stacks 5\n"
				   "F\ti\t10\t3\tinner\t\tm\t/m\tab\tm.c\n"
				   "F\t-\t10\t5\touter\t\tm\t/m\tab\tm.c\n"
				   "F\tu\t20\t0\t\t\tm\t/m\tab\t\n"
				   "S\t\t2\t1\n"
				   "S\t\t1\t0\t2\n";
	struct rewritten of;

	begin(&of, text);
	assert_true(of.groups.items[0].is_broken);
	assert_false(of.groups.items[1].is_broken);
	give_names(&of, 0, 4);
	give_names(&of, 1, 2);
	assert_int_equal(rewrite(&of, text), 0);
	assert_non_null(strstr(of.text, "inner"));
	assert_non_null(strstr(of.text, "S\t\t2\t3\t1\nS\t\t1\t0\t2\t3\n"));
	end(&of);
}

/* With other numbers a stack that named a frame behind it would become one. */
static void damaged_lines_stay_damaged(void **unused)
{
	static const char text[] = "holdup-stacks 5\n"
				   "F\t-\tzz\t0\tbad\t\tm\t\t\t\n"
				   "F\tu\t10\t0\t\t\tm\t/m\tab\t\n"
				   "S\t\t2\n"
				   "S\t\t1\n"
				   "S\n"
				   "S\tno frames\n"
				   "a line of another kind\n"
				   "W\t1\t4\t5\t1\t-\t3\n"
				   "W\t1\t4\t5\t1\t-\t9\n"
				   "W\t1\t4";
	struct stacks new = { 0 };
	struct rewritten of;
	size_t bad;

	begin(&of, text);
	give_names(&of, 1, 2);
	assert_int_equal(rewrite(&of, text), 0);
	assert_string_equal(of.text, "holdup-stacks 5\n"
				     "F\t-\tzz\t0\tbad\t\tm\t\t\t\n"
				     "F\ti\t0\t0\ta\t\tm\t\t\t\n"
				     "F\t-\t0\t0\tb\t\tm\t\t\t\n"
				     "S\n"
				     "S\t\t1\t2\n"
				     "S\n"
				     "S\tno frames\n"
				     "a line of another kind\n"
				     "W\t1\t4\t5\t1\t-\t3\n"
				     "W\t1\t4\t5\t1\t-\t9\n"
				     "W\t1\t4");
	assert_int_equal(stack_file_parse(of.text, &new, &bad), 0);
	assert_int_equal(bad, 6);
	assert_int_equal(new.stack_count, 4);
	stacks_fini(&new);
	end(&of);
}

static void a_damaged_line_is_no_part_of_a_group(void **unused)
{
	static const char text[] = "holdup-stacks 5\n"
				   "F\ti\t0\t3\tinner\t\t\t\t\t\n"
				   "F\t-\tzz\t0\tbad\t\tm\t\t\t\n";
	struct rewritten of;

	begin(&of, text);
	assert_int_equal(of.groups.count, 2);
	assert_true(of.groups.items[0].is_broken && of.groups.items[1].is_broken);
	give_names(&of, 0, 2);
	give_names(&of, 1, 2);
	assert_int_equal(rewrite(&of, text), 0);
	assert_string_equal(of.text, text);
	end(&of);
}

/* Functions that were inlined into the outermost ones are left out: no function that was there is. */
static void a_stack_keeps_to_the_most_that_is_read(void **unused)
{
	AUTO_FREE char *text = NULL;
	struct stacks new = { 0 };
	struct rewritten of;
	size_t bytes, bad;
	FILE *out = open_memstream(&text, &bytes);

	fputs("holdup-stacks 5\nF\tu\t10\t0\t\t\tm\t/m\tab\t\nS\t", out);
	for (int i = 0; i < STACK_FILE_FRAMES_MAX - 3; i++)
		fputs("\t0", out);
	fputs("\n", out);
	fclose(out);
	begin(&of, text);
	give_names(&of, 0, 3);
	assert_int_equal(rewrite(&of, text), 0);
	assert_int_equal(stack_file_parse(of.text, &new, &bad), 0);
	assert_int_equal(bad, 0);
	assert_int_equal(new.stacks[0].count, STACK_FILE_FRAMES_MAX - 1);
	assert_string_equal(stacks_frame(&new, 0, 2)->function, "c");
	assert_string_equal(stacks_frame(&new, 0, 3)->function, "c");
	assert_string_equal(stacks_frame(&new, 0, STACK_FILE_FRAMES_MAX - 2)->function, "c");
	stacks_fini(&new);
	end(&of);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_follow_the_frames),
		cmocka_unit_test(a_group_is_replaced_as_a_whole),
		cmocka_unit_test(a_group_of_which_a_stack_has_a_part_stays),
		cmocka_unit_test(damaged_lines_stay_damaged),
		cmocka_unit_test(a_damaged_line_is_no_part_of_a_group),
		cmocka_unit_test(a_stack_keeps_to_the_most_that_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

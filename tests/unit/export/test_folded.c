/* test_folded.c - stacks, parsed back as flamegraph.pl does: frames, a blank, a number. */
#include "exporting.h"

struct stack {
	char *frames[20]; /* owned */
	size_t count;
	uint64_t ns;
};

static struct stack parse_line(const char *line, size_t bytes)
{
	AUTO_FREE char *copy = xstrndup(line, bytes);
	char *blank = strrchr(copy, ' '), *rest = copy, *end;
	struct stack stack = { 0 };

	assert_non_null(blank);
	*blank = '\0';
	stack.ns = strtoull(blank + 1, &end, 10);
	assert_true(end > blank + 1 && *end == '\0');
	for (char *frame; (frame = strsep(&rest, ";"));) {
		assert_true(*frame);
		assert_true(stack.count < 20);
		for (const char *at = frame; *at; at++)
			assert_true((unsigned char)*at >= ' ' && *at != 0x7f);
		stack.frames[stack.count++] = xstrdup(frame);
	}
	return stack;
}

/* The sum of all lines with a frame that begins so; "" = all. Each is looked at. */
static uint64_t sum_ns(struct exporting *ex, const char *prefix)
{
	const char *at = exported(ex, export_folded, NULL);
	uint64_t sum = 0;

	while (*at) {
		size_t bytes = strcspn(at, "\n");
		struct stack stack = parse_line(at, bytes);
		bool found = *prefix == '\0';

		assert_int_equal(at[bytes], '\n');
		assert_true(stack.count >= 3); /* process, thread, state */
		for (size_t i = 0; i < stack.count; i++) {
			found |= strncmp(stack.frames[i], prefix, strlen(prefix)) == 0;
			free(stack.frames[i]);
		}
		sum += found ? stack.ns : 0;
		at += bytes + 1;
	}
	return sum;
}

static void stacks_add_up_to_what_is_measured(void **unused)
{
	struct exporting *ex = exporting_of(two_threads);

	ex->job.measure = EXPORT_WALL;
	assert_int_equal(sum_ns(ex, ""), 200);
	/* Its own life, and it has the CPU for which the other waits from 0 to 20 and 60 to 90. */
	assert_int_equal(sum_ns(ex, "same[7]"), 100 + 50);
	/* 20 to 50 and 90 to 100; then 50 to 60, and 0 to 20 and 60 to 90 of the other. */
	ex->job.measure = EXPORT_BLOCKED;
	assert_int_equal(sum_ns(ex, ""), 30 + 10);
	ex->job.measure = EXPORT_WAITING;
	assert_int_equal(sum_ns(ex, ""), 30 + 10 + 10 + 20 + 30);
	exporting_free(ex);
}

static void a_wait_is_charged_to_who_ended_it(void **unused)
{
	struct exporting *ex = exporting_of(two_threads);

	ex->job.measure = EXPORT_BLOCKED;
	ex->job.end_ns = 60;
	assert_int_equal(sum_ns(ex, "same[8]: "), 30);
	assert_int_equal(sum_ns(ex, "read"), 30);
	exporting_free(ex);
}

/* What separates frames, and lines, cannot be in one. */
static void any_name_is_one_frame(void **unused)
{
	struct exporting *ex = exporting_hostile();

	ex->job.measure = EXPORT_WALL;
	assert_int_equal(sum_ns(ex, ""), 200);
	assert_int_equal(sum_ns(ex, "a\",,"), 100 + 50);
	exporting_free(ex);
}

static void a_trace_of_nothing_has_no_line(void **unused)
{
	struct exporting *ex = exporting_of("0 cpu0 switch 0(runnable) 0\n");

	assert_string_equal(exported(ex, export_folded, NULL), "");
	exporting_free(ex);
}

static void the_same_stack_comes_once(void **unused)
{
	struct exporting *ex = exporting_of("  0 cpu0 switch 0(runnable) 7\n"
					    " 10 cpu0 enter read 3\n"
					    " 20 cpu0 switch 7(blocked) 0\n"
					    " 30 cpu0 switch 0(runnable) 7\n"
					    " 40 cpu0 switch 7(blocked) 0\n"
					    " 50 cpu0 switch 0(runnable) 7\n"
					    " 60 cpu0 leave read 0\n"
					    " 70 cpu0 switch 7(blocked) 0\n");
	const char *text;

	ex->job.measure = EXPORT_WALL;
	text = exported(ex, export_folded, NULL);
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
		size_t stack = (size_t)((const char *)memrchr(at, ' ', strcspn(at, "\n")) - at);

		for (const char *next = at + strcspn(at, "\n") + 1; *next;
		     next += strcspn(next, "\n") + 1)
			assert_false(strncmp(at, next, stack + 1) == 0);
	}
	exporting_free(ex);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_add_up_to_what_is_measured),
		cmocka_unit_test(a_wait_is_charged_to_who_ended_it),
		cmocka_unit_test(any_name_is_one_frame),
		cmocka_unit_test(a_trace_of_nothing_has_no_line),
		cmocka_unit_test(the_same_stack_comes_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

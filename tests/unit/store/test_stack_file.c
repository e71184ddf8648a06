/* test_stack_file.c - kernel/stacks: what is written is read again; damage costs what is damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/stacks.h"
#include "store/stack_file.h"

#define PATH "test_stack_file.stacks"

static void write_text(const char *text)
{
	FILE *out = fopen(PATH, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void what_is_written_is_read(void **unused)
{
	const struct stack_frame frame = { .function = "load\tfile\n",
					   .signature = "load(char const*)",
					   .module = "prog",
					   .path = "/opt/my prog",
					   .file = "load.c",
					   .line = 12,
					   .offset = 0xabcdef };
	const struct stack_wait wait = { 5, 0, 10, 30, 20, true, false };
	struct stacks stacks = { 0 };
	struct err err = { 0 };
	FILE *out = fopen(PATH, "w");
	size_t bad;

	stack_file_begin(out);
	stack_file_frame(out, &frame);
	stack_file_frame(out, &(struct stack_frame){ .module = "[kernel]", .is_kernel = true });
	stack_file_stack(out, (uint32_t[]){ 1, 0 }, 2, "why");
	stack_file_wait(out, &wait);
	stack_file_sampling(out, &(struct stack_sampling){ 5025125, 3, true });
	stack_file_sample(out, &(struct stack_sample){ .tid = 5, .time_ns = 40 });
	stack_file_sample(out, &(struct stack_sample){ .tid = 4, .time_ns = 50 });
	stack_file_futex(out, &(struct stack_futex){ .tgid = 4,
						     .address = 0x7f00,
						     .from_ns = 10,
						     .until_ns = UINT64_MAX,
						     .kind = STACK_FUTEX_VARIABLE,
						     .name = "a\tb",
						     .module = "prog" });
	stack_file_futex(out, &(struct stack_futex){ .tgid = 4,
						     .address = 0x7e00,
						     .until_ns = 20,
						     .kind = STACK_FUTEX_ARENA });
	stack_file_futex(out, &(struct stack_futex){ .tgid = 5,
						     .until_ns = 20,
						     .kind = STACK_FUTEX_SHARED,
						     .name = "/dev/shm/x+0x40" });
	fclose(out);
	assert_int_equal(stack_file_read(PATH, &stacks, &bad, &err), 0);
	stacks_finish(&stacks);
	assert_int_equal(bad, 0);
	assert_int_equal(stacks.frame_count, 2);
	assert_string_equal(stacks.frames[0].function, "load?file?");
	assert_string_equal(stacks.frames[0].signature, "load(char const*)");
	assert_string_equal(stacks.frames[0].path, "/opt/my prog");
	assert_null(stacks.frames[0].build_id);
	assert_int_equal(stacks.frames[0].line, 12);
	assert_int_equal(stacks.frames[0].offset, 0xabcdef);
	assert_true(stacks.frames[1].is_kernel && !stacks.frames[0].is_kernel);
	assert_int_equal(stacks.stack_count, 1);
	assert_string_equal(stacks.stacks[0].end, "why");
	assert_int_equal(stacks.stacks[0].place, 1);
	assert_int_equal(stacks.wait_count, 1);
	assert_memory_equal(&stacks.waits[0].begin_ns, &wait.begin_ns, 3 * sizeof(uint64_t));
	assert_true(stacks.waits[0].is_short && !stacks.waits[0].is_open);
	assert_int_equal(stacks.sampling.period_ns, 5025125);
	assert_int_equal(stacks.sampling.lost, 3);
	assert_true(stacks.sampling.is_all);
	assert_int_equal(stacks.sample_count, 2);
	assert_int_equal(stacks.samples[0].tid, 4); /* sorted */
	assert_int_equal(stacks_first_sample(&stacks, 5, 40), 1);
	assert_int_equal(stacks_first_sample(&stacks, 5, 41), 2);
	assert_int_equal(stacks.futex_count, 3);
	assert_int_equal(stacks.futexes[2].kind, STACK_FUTEX_SHARED);
	assert_string_equal(stacks.futexes[2].name, "/dev/shm/x+0x40");
	assert_int_equal(stacks.futexes[0].address, 0x7e00); /* sorted */
	assert_int_equal(stacks.futexes[0].kind, STACK_FUTEX_ARENA);
	assert_null(stacks.futexes[0].name);
	assert_string_equal(stacks.futexes[1].name, "a?b");
	assert_string_equal(stacks.futexes[1].module, "prog");
	assert_int_equal(stacks.futexes[1].from_ns, 10);
	assert_true(stacks.futexes[1].until_ns == UINT64_MAX);
	stacks_fini(&stacks);
	assert_int_equal(unlink(PATH), 0);
}

static void a_damaged_line_moves_no_name_to_another_frame(void **unused)
{
	struct stacks stacks = { 0 };
	struct err err = { 0 };
	size_t bad;

	write_text("holdup-stacks 1\n"
		   "F\t-\tzz\t0\tbad\t\tm\t\t\t\n"
		   "F\t-\t10\t0\tgood\t\tm\t\t\t\n"
		   "S\t\t9\n"
		   "S\t\t1\n"
		   "W\t1\t5\t4\t1\t-\t1\n"
		   "W\t1\t4\t5\t1\t-\t7\n"
		   "W\t1\t4\t5\t1\t-\t1\n"
		   "C\t1\t4\t7\n"
		   "C\t1\t4\n"
		   "P\t1000000000001\t0\tall\n"
		   "L\t1\t7f00\t0\t9\tv\t\t\t0\n"
		   "L\t1\t7f00\t0\t9\tx\tname\tm\t0\n"
		   "L\t1\t7f00\t0\t9\tp\t\t\t7\n"
		   "L\t1\t7f00\t0\t9\tp\t\t\t1\n"
		   "W\t1\t4\t5");
	assert_int_equal(stack_file_read(PATH, &stacks, &bad, &err), 0);
	stacks_finish(&stacks);
	assert_int_equal(bad, 11);
	assert_int_equal(stacks.futex_count, 1);
	assert_int_equal(stacks.sample_count, 0);
	assert_int_equal(stacks.frame_count, 2);
	assert_null(stacks.frames[0].function);
	assert_int_equal(stacks.stack_count, 2);
	assert_int_equal(stacks.stacks[0].count, 0);
	assert_string_equal(stacks_frame(&stacks, stacks_find(&stacks, 1, 4, 5), 0)->function,
			    "good");
	assert_int_equal(stacks.wait_count, 1);
	stacks_fini(&stacks);
	assert_int_equal(unlink(PATH), 0);
}

static void names_that_are_left_to_later_are_counted(void **unused)
{
	AUTO_FREE char *text = NULL;
	struct stacks stacks = { 0 };
	size_t bytes, bad;
	FILE *out = open_memstream(&text, &bytes);

	stack_file_begin(out);
	stack_file_frame(out, &(struct stack_frame){ .module = "m", .is_unnamed = true });
	stack_file_frame(out, &(struct stack_frame){ .module = "m", .function = "f" });
	fclose(out);
	assert_non_null(strstr(text, "\nF\tu\t0\t"));
	assert_int_equal(stack_file_parse(text, &stacks, &bad), 0);
	assert_int_equal(bad, 0);
	assert_true(stacks.frames[0].is_unnamed && !stacks.frames[1].is_unnamed);
	assert_int_equal(stacks_unnamed(&stacks), 1);
	stacks_fini(&stacks);
}

static void a_function_without_a_name_keeps_its_beginning(void **unused)
{
	AUTO_FREE char *text = NULL;
	struct stacks stacks = { 0 };
	size_t bytes, bad;
	FILE *out = open_memstream(&text, &bytes);

	stack_file_begin(out);
	stack_file_frame(out, &(struct stack_frame){ .module = "m", .offset = 32, .start = 16 });
	stack_file_frame(out, &(struct stack_frame){ .module = "m", .offset = 40, .start = 16 });
	stack_file_frame(out, &(struct stack_frame){ .module = "m", .offset = 48 });
	for (uint32_t i = 0; i < 3; i++)
		stack_file_stack(out, &i, 1, NULL);
	fputs("F\t-\t30\t0\t\t\tm\t\t\t\tzz\n", out);
	fclose(out);
	assert_int_equal(stack_file_parse(text, &stacks, &bad), 0);
	assert_int_equal(bad, 1);
	assert_int_equal(stacks.frames[0].start, 16);
	assert_int_equal(stacks.frames[2].start, 0);
	stacks_finish(&stacks);
	assert_int_equal(stacks.stacks[1].alike, 0); /* the same function */
	assert_int_equal(stacks.stacks[2].alike, 2);
	stacks_fini(&stacks);
}

static void another_file_is_refused(void **unused)
{
	struct stacks stacks = { 0 };
	struct err err = { 0 };
	size_t bad;

	write_text("holdup-stacks 6\nF\n");
	assert_int_equal(stack_file_read(PATH, &stacks, &bad, &err), -EBADMSG);
	assert_non_null(strstr(err.text, PATH));
	assert_int_equal(unlink(PATH), 0);
	assert_int_equal(stack_file_read(PATH, &stacks, &bad, &err), -ENOENT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_damaged_line_moves_no_name_to_another_frame),
		cmocka_unit_test(names_that_are_left_to_later_are_counted),
		cmocka_unit_test(a_function_without_a_name_keeps_its_beginning),
		cmocka_unit_test(another_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

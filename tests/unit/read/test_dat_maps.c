/* test_dat_maps.c - what trace-cmd tells of files that a process had mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/event.h"
#include "event/stacks.h"
#include "read/tracedat/maps.h"

#define TEXT                                             \
	"a 4 /usr/bin/a b\n"                             \
	"7f0000001000 7f0000002000 /usr/lib/liba.so.1\n" \
	"7f0000002000 7f0000004000 /usr/lib/liba.so.1\n" \
	"7f0000004000 7f0000005000 /usr/lib/a name.so\n" \
	"7fff00000000 7fff00001000 [vdso]\n"

static bool found(struct dat_maps *maps, int32_t tgid, uint64_t time_ns, uint64_t address,
		  struct stack_frame *out_frame)
{
	*out_frame = (struct stack_frame){ .offset = address };
	return dat_maps_find(maps, tgid, time_ns, address, out_frame);
}

static void an_address_is_in_the_file_of_its_process(void **unused)
{
	const struct event exec = {
		.type = EV_SCHED_EXEC, .tid = 10, .time_ns = 500, .task.tid = 10
	};
	struct dat_maps maps = { 0 };
	struct stack_frame frame;

	assert_true(dat_maps_add(&maps, TEXT));
	assert_true(dat_maps_add(&maps, "b 0 /bin/none\n"));
	dat_maps_finish(&maps);
	assert_true(found(&maps, 10, 1, 0x7f0000003010, &frame));
	assert_string_equal(frame.module, "liba.so.1");
	assert_string_equal(frame.path, "/usr/lib/liba.so.1");
	assert_int_equal(frame.offset,
			 0x2010); /* from where the first mapping of the file begins */
	assert_true(found(&maps, 10, 1, 0x7f0000004000, &frame));
	assert_string_equal(frame.module, "a name.so");
	assert_int_equal(frame.offset, 0);
	assert_false(found(&maps, 10, 1, 0x7f0000005000, &frame));
	assert_false(found(&maps, 10, 1, 0x7f0000000fff, &frame));
	assert_false(found(&maps, 11, 1, 0x7f0000003010, &frame));
	/* Before it ran this program, it had others. */
	dat_maps_learn(&maps, &exec);
	assert_false(found(&maps, 10, 499, 0x7f0000003010, &frame));
	assert_true(found(&maps, 10, 500, 0x7f0000003010, &frame));
	dat_maps_fini(&maps);
}

static void a_list_that_is_none_is_refused(void **unused)
{
	static const char *const texts[] = { "x",
					     "a",
					     "a 1 b\n",
					     "a 1 b\n10 5 c\n",
					     "a 1 b\n10 20\n",
					     "ffffffff 0 b\n",
					     "a 1 b\n-1 20 c\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct dat_maps maps = { 0 };

		assert_false(dat_maps_add(&maps, texts[i]));
		dat_maps_fini(&maps);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_in_the_file_of_its_process),
		cmocka_unit_test(a_list_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Lines of /proc as words, and the kernel's classes as shares that count each moment once. */
#include "tui/top_proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "accounts/sample.h"
#include "base/clock.h"
#include "tui/top_model.h"
#include "tui/top_source.h"

static void system_calls_have_names_and_files(void **unused)
{
	char words[128];
	int fd;

	top_syscall_words("0 0x3 0x7ffe 0x10 0 0 0 0x7ffd00000000 0x7f01\n", "x86_64", words, &fd);
	assert_string_equal(words, "read(3, ...)");
	assert_int_equal(fd, 3);
	top_syscall_words("202 0x3 0x80 0 0 0 0 0x7ffd00000000 0x7f01\n", "x86_64", words, &fd);
	assert_string_equal(words, "futex(0x3, ...)");
	assert_int_equal(fd, -1);
	/* Below 4 GiB is the stack of a 32-bit program, whose numbers mean other calls. */
	top_syscall_words("3 0x4 0x7ffe 0x10 0 0 0 0xffd00000 0xf7f01000\n", "x86_64", words, &fd);
	assert_string_equal(words, "read(4, ...)");
	assert_int_equal(fd, 4);
	top_syscall_words("0 0xffffffff 0 0 0 0 0 0 0\n", "x86_64", words, &fd);
	assert_int_equal(fd, -1);
	top_syscall_words("running\n", "x86_64", words, &fd);
	assert_string_equal(words, "(running, or ready to)");
	top_syscall_words("-1 0x7ffd 0x7f01\n", "x86_64", words, &fd);
	assert_string_equal(words, "(blocked outside a system call)");
	top_syscall_words("", "x86_64", words, &fd);
	assert_int_equal(fd, -1);
}

static void the_own_cost_is_the_time_of_this_process(void **unused)
{
	struct top_own own = { 0 };
	uint64_t until_ns;

	top_own_look(&own);
	assert_true(own.looked_ns && own.cpu_ns && !own.span_ns);
	until_ns = own.cpu_ns + 5000000;
	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns)
		;
	top_own_look(&own);
	assert_true(own.used_ns >= 5000000 && own.span_ns >= own.used_ns);
}

static void pressure_is_some_and_perhaps_all(void **unused)
{
	struct top_pressure pressure;

	assert_true(top_pressure_parse("some avg10=1.50 avg60=0.00 avg300=0.00 total=1\n"
				       "full avg10=0.25 avg60=0.00 avg300=0.00 total=1\n",
				       &pressure));
	assert_true(pressure.some == 1.5 && pressure.full == 0.25);
	assert_true(top_pressure_parse("some avg10=1.50 avg60=0.00\n", &pressure));
	assert_true(pressure.full < 0);
	assert_false(top_pressure_parse("", &pressure));
}

/* 300 ms on a CPU, 100 of them freeing memory; 400 for disk, 250 of them for swapped pages. */
static void memory_is_taken_off_run_time_and_disk(void **unused)
{
	const struct delays_task from = { .tid = 1, .tgid = 1, .is_process = true, .threads = 1 };
	struct delays_change change = { .task = &from, .span_ns = 1000 };
	struct top_task task;

	change.stats.classes = (1u << DELAYS_CLASSES) - 1;
	change.stats.has = DELAYS_HAS_RUN;
	change.stats.run_ns = 300;
	change.stats.delay[DELAYS_DISK].total_ns = 400;
	change.stats.delay[DELAYS_SWAPIN].total_ns = 250;
	change.stats.delay[DELAYS_THRASHING].total_ns = 200;
	change.stats.delay[DELAYS_RECLAIM].total_ns = 100;
	top_task_of_change(&change, &task);
	top_task_charge(&task);
	assert_int_equal(task.ns[TOP_RUN], 200);
	assert_int_equal(task.ns[TOP_DISK], 150);
	assert_int_equal(task.ns[TOP_MEMORY], 350);
	assert_int_equal(task.ns[TOP_OTHER], 300);
	assert_int_equal(task.base_ns, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(system_calls_have_names_and_files),
		cmocka_unit_test(the_own_cost_is_the_time_of_this_process),
		cmocka_unit_test(pressure_is_some_and_perhaps_all),
		cmocka_unit_test(memory_is_taken_off_run_time_and_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

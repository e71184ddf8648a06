/* test_probe.c - finding out that a kernel leaves out switches. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/probe.h"

#define OUT(cpu)                                                                          \
	"  t-7  [" cpu "] d..2. 1.5: sched_switch: prev_comm=t prev_pid=7 prev_prio=120 " \
	"prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n"
#define OUT_TO_OTHER(cpu)                                                                 \
	"  t-7  [" cpu "] d..2. 1.5: sched_switch: prev_comm=t prev_pid=7 prev_prio=120 " \
	"prev_state=D ==> next_comm=migration/0 next_pid=15 next_prio=0\n"
#define BACK(cpu)                                                                      \
	"<idle>-0  [" cpu "] d..2. 1.6: sched_switch: prev_comm=swapper/0 prev_pid=0 " \
	"prev_prio=120 prev_state=R ==> next_comm=t next_pid=7 next_prio=120\n"

static void a_kernel_that_shows_all_omits_nothing(void **state)
{
	struct probe_counts counts;

	probe_count("# tracer: nop\n#\n" OUT("000") BACK("000") OUT("000") BACK("000")
			    OUT_TO_OTHER("000") BACK("001") OUT("001") BACK("001"),
		    7, &counts);
	assert_int_equal(counts.idle_cpus, 2);
	assert_int_equal(counts.omitted, 0);
}

static void leaving_twice_shows_an_omission(void **state)
{
	struct probe_counts counts;

	probe_count(OUT("000") BACK("000") OUT_TO_OTHER("000") OUT("001") OUT("001") OUT("001"), 7,
		    &counts);
	assert_int_equal(counts.idle_cpus, 2);
	assert_int_equal(counts.omitted, 3);
}

static void a_busy_cpu_tells_nothing(void **state)
{
	struct probe_counts counts;

	probe_count(OUT_TO_OTHER("000") BACK("000") OUT_TO_OTHER("000") BACK("000"), 7, &counts);
	assert_int_equal(counts.idle_cpus, 0);
	assert_int_equal(counts.omitted, 0);
}

static void other_threads_do_not_count(void **state)
{
	struct probe_counts counts;

	probe_count(OUT("000") OUT("000"), 77, &counts);
	assert_int_equal(counts.omitted, 0);
	probe_count("", 7, &counts);
	assert_int_equal(counts.idle_cpus, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_that_shows_all_omits_nothing),
		cmocka_unit_test(leaving_twice_shows_an_omission),
		cmocka_unit_test(a_busy_cpu_tells_nothing),
		cmocka_unit_test(other_threads_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

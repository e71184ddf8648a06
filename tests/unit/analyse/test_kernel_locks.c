/* test_kernel_locks.c - the kernel's locks, added up from small traces. */
#include "analyse/locks/kernel_locks.h"

#include <string.h>

#include "told.h"

static struct klocks_sum sum_of(struct text_trace **out_trace, const char *text,
				enum locks_sort sort)
{
	struct text_trace *trace = text_trace_of(text);
	struct klocks_sum sum;
	struct err err = { 0 };

	if (klocks_run(&trace->source, &trace->facts, sort, trace->facts.last_ns, &sum, &err) < 0)
		fail_msg("%s", err.text);
	*out_trace = trace;
	return sum;
}

#define THREADS                           \
	"thread 7 7 1 R prog\n"           \
	"thread 8 8 1 R holder\n"         \
	"  0 cpu0 switch 0(runnable) 7\n" \
	"  0 cpu1 switch 0(runnable) 8\n" \
	"  1 cpu1 enter munmap 0 0\n"     \
	"  2 cpu0 enter mmap 0 0\n"

static void a_wait_counts_from_begin_to_end(void **unused)
{
	struct text_trace *trace;
	struct klocks_sum sum = sum_of(&trace,
				       THREADS " 10 cpu0 lockbegin 0x77 4\n"
					       " 11 cpu0 switch 7(disk) 0\n"
					       " 40 cpu1 waking 7\n"
					       " 45 cpu0 switch 0(runnable) 7\n"
					       " 50 cpu0 lockend 0x77\n",
				       LOCKS_BY_WAIT);

	assert_int_equal(sum.count, 1);
	assert_string_equal(sum.rows[0].name, "kernel rw lock 0x77");
	assert_false(sum.rows[0].is_known);
	assert_int_equal(sum.rows[0].waits, 1);
	assert_int_equal(sum.rows[0].spins, 0);
	assert_int_equal(sum.rows[0].wait_ns, 40);
	assert_int_equal(sum.rows[0].owner_count, 1);
	assert_int_equal(sum.rows[0].owners[0].tid, 8);
	assert_false(sum.rows[0].owners[0].is_told);
	assert_string_equal(sum.rows[0].owners[0].in, "munmap");
	assert_string_equal(sum.rows[0].callers[0].call, "mmap");
	klocks_fini(&sum);
	text_trace_free(trace);
}

static void what_the_recorder_told_names_lock_and_owner(void **unused)
{
	struct text_trace *trace;
	struct klocks_sum sum =
		sum_of(&trace,
		       THREADS " 9 cpu0 locktold 7 0x77 8 \"address space lock of prog[7]\"\n"
			       " 10 cpu0 lockbegin 0x77 4\n"
			       " 11 cpu0 switch 7(disk) 0\n"
			       " 40 cpu1 waking 7\n"
			       " 45 cpu0 switch 0(runnable) 7\n"
			       " 50 cpu0 lockend 0x77\n"
			       " 60 cpu0 lockbegin 0x77 2\n"
			       " 65 cpu0 lockend 0x77\n",
		       LOCKS_BY_WAIT);

	assert_int_equal(sum.count, 1);
	assert_string_equal(sum.rows[0].name, "address space lock of prog[7]");
	assert_true(sum.rows[0].is_known);
	assert_int_equal(sum.rows[0].waits, 2);
	assert_int_equal(sum.rows[0].wait_ns, 45);
	assert_int_equal(sum.rows[0].wait_max_ns, 40);
	assert_true(sum.rows[0].owners[0].is_told);
	assert_string_equal(sum.rows[0].owners[0].comm, "holder");
	klocks_fini(&sum);
	text_trace_free(trace);
}

/* First it spins, then it sleeps, then it spins again: one wait. Another one only spins. */
static void spinning_is_counted_apart(void **unused)
{
	struct text_trace *trace;
	struct klocks_sum sum = sum_of(&trace,
				       THREADS " 10 cpu0 lockbegin 0x77 33\n"
					       " 15 cpu0 lockbegin 0x77 32\n"
					       " 16 cpu0 switch 7(disk) 0\n"
					       " 40 cpu1 waking 7\n"
					       " 45 cpu0 switch 0(runnable) 7\n"
					       " 46 cpu0 lockbegin 0x77 33\n"
					       " 50 cpu0 lockend 0x77\n"
					       " 60 cpu0 lockbegin 0x77 33\n"
					       " 63 cpu0 lockend 0x77\n",
				       LOCKS_BY_WAIT);

	assert_int_equal(sum.count, 1);
	assert_string_equal(sum.rows[0].name, "kernel mutex 0x77");
	assert_int_equal(sum.rows[0].waits, 2);
	assert_int_equal(sum.rows[0].spins, 1);
	assert_int_equal(sum.rows[0].wait_ns, 40 + 3);
	assert_int_equal(sum.rows[0].spin_ns, 5 + 4 + 3);
	klocks_fini(&sum);
	text_trace_free(trace);
}

static void waits_within_waits_are_kept_apart(void **unused)
{
	struct text_trace *trace;
	struct klocks_sum sum = sum_of(&trace,
				       THREADS " 10 cpu0 lockbegin 0x77 2\n"
					       " 12 cpu0 lockbegin 0x99 1\n"
					       " 17 cpu0 lockend 0x99\n"
					       " 20 cpu0 lockend 0x77\n"
					       " 21 cpu0 lockend 0x55\n",
				       LOCKS_BY_WAIT);

	assert_int_equal(sum.count, 2);
	assert_int_equal(sum.rows[0].wait_ns, 10);
	assert_int_equal(sum.rows[1].wait_ns, 5);
	assert_string_equal(sum.rows[1].name, "kernel spin lock 0x99");
	klocks_fini(&sum);
	text_trace_free(trace);
}

static void a_wait_that_goes_on_counts_to_the_end(void **unused)
{
	struct text_trace *trace;
	struct klocks_sum sum = sum_of(&trace,
				       "facts last 100\n" THREADS " 10 cpu0 lockbegin 0x77 4\n"
				       " 11 cpu0 switch 7(disk) 0\n",
				       LOCKS_BY_WAIT);

	assert_int_equal(sum.rows[0].waiting, 1);
	assert_int_equal(sum.rows[0].wait_ns, 90);
	klocks_fini(&sum);
	text_trace_free(trace);
}

/* 0x11: 3 waits of 10 ns that spin; 0x22: one of 20 ns; 0x33: two, of 19 ns together. */
static void every_column_sorts(void **unused)
{
	static const char three[] = THREADS " 10 cpu0 lockbegin 0x11 1\n 20 cpu0 lockend 0x11\n"
					    " 30 cpu0 lockbegin 0x11 1\n 40 cpu0 lockend 0x11\n"
					    " 50 cpu0 lockbegin 0x11 1\n 60 cpu0 lockend 0x11\n"
					    " 70 cpu0 lockbegin 0x22 4\n"
					    " 71 cpu0 switch 7(disk) 0\n 80 cpu1 waking 7\n"
					    " 85 cpu0 switch 0(runnable) 7\n 90 cpu0 lockend 0x22\n"
					    "100 cpu0 lockbegin 0x33 2\n118 cpu0 lockend 0x33\n"
					    "120 cpu0 lockbegin 0x33 2\n121 cpu0 lockend 0x33\n";
	static const struct {
		enum locks_sort sort;
		const char *first;
	} cases[] = {
		{ LOCKS_BY_WAIT, "kernel spin lock 0x11" },
		{ LOCKS_BY_LONGEST, "kernel rw lock 0x22" },
		{ LOCKS_BY_AVERAGE, "kernel rw lock 0x22" },
		{ LOCKS_BY_CONTENDED, "kernel spin lock 0x11" },
		{ LOCKS_BY_SPINS, "kernel spin lock 0x11" },
		{ LOCKS_BY_SPUN, "kernel spin lock 0x11" },
		{ LOCKS_BY_OWNER, "kernel rw lock 0x22" },
		{ LOCKS_BY_NAME, "kernel rw lock 0x22" },
		{ LOCKS_BY_CHAIN, "kernel spin lock 0x11" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text_trace *trace;
		struct klocks_sum sum = sum_of(&trace, three, cases[i].sort);

		assert_int_equal(sum.count, 3);
		assert_string_equal(sum.rows[0].name, cases[i].first);
		klocks_fini(&sum);
		text_trace_free(trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_counts_from_begin_to_end),
		cmocka_unit_test(what_the_recorder_told_names_lock_and_owner),
		cmocka_unit_test(spinning_is_counted_apart),
		cmocka_unit_test(waits_within_waits_are_kept_apart),
		cmocka_unit_test(a_wait_that_goes_on_counts_to_the_end),
		cmocka_unit_test(every_column_sorts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

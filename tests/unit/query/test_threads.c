/* Threads by index: found by number and time, with what is known of them. */
#include "asking.h"

/* 7 and its thread 71 live all along; 8 is born and dies, and another thread gets its number. */
static const char two_eights[] = "facts last 1000\n"
				 "thread 7 7 1 R prog\n"
				 "thread 71 7 1 S prog\n"
				 "thread 2 2 0 S kthreadd kernel\n"
				 "0 cpu0 switch 0(runnable) 7\n"
				 "10 cpu0 newtask 8:prog\n"
				 "10 cpu0 fork 8\n"
				 "11 cpu0 wakeup 8 cpu 1\n"
				 "20 cpu1 switch 0(runnable) 8\n"
				 "30 cpu1 newtask 81:prog thread\n"
				 "31 cpu1 wakeup 81 cpu 1\n"
				 "40 cpu1 exit 8\n"
				 "45 cpu1 switch 8(dead) 81\n"
				 "50 cpu1 exit 81\n"
				 "55 cpu1 switch 81(dead) 0\n"
				 "200 cpu0 newtask 8:other\n"
				 "200 cpu0 fork 8\n"
				 "210 cpu0 wakeup 8 cpu 1\n"
				 "220 cpu1 switch 0(runnable) 8\n"
				 "300 cpu0 enter read 0\n";

static struct asking begin(void)
{
	struct text_trace *text = text_trace_of(two_eights);

	text->facts.target_tid = 8;
	text->facts.target_start_ns = 15;
	return asking_text(text, 0);
}

static void a_number_means_the_thread_that_had_it_then(void **unused)
{
	struct asking asking = begin();
	struct hr_trace *trace = asking.trace;
	uint32_t first = hr_find_thread(trace, 8, 20), last = hr_find_thread(trace, 8, HR_LAST);

	assert_int_not_equal(first, HR_NONE);
	assert_int_not_equal(last, HR_NONE);
	assert_int_not_equal(first, last);
	assert_int_equal(hr_find_thread(trace, 8, 9), HR_NONE); /* not born */
	assert_int_equal(hr_find_thread(trace, 8, 10), first);
	assert_int_equal(hr_find_thread(trace, 8, 44), first);
	assert_int_equal(hr_find_thread(trace, 8, 45), HR_NONE); /* dead */
	assert_int_equal(hr_find_thread(trace, 8, 199), HR_NONE);
	assert_int_equal(hr_find_thread(trace, 8, 200), last);
	assert_int_equal(hr_find_thread(trace, 8, 1000), last);
	assert_int_equal(hr_find_thread(trace, 99, HR_LAST), HR_NONE);
	assert_int_equal(hr_find_thread(trace, 0, HR_LAST), HR_NONE);
	assert_int_equal(hr_find_thread(trace, -8, HR_LAST), HR_NONE);
	assert_int_equal(hr_command_thread(trace), first);
	asking_end(&asking);
}

static void a_thread_says_what_is_known_of_it(void **unused)
{
	struct asking asking = begin();
	struct hr_trace *trace = asking.trace;
	uint32_t prog = hr_find_thread(trace, 7, HR_LAST), first = hr_find_thread(trace, 8, 20);
	uint32_t last = hr_find_thread(trace, 8, HR_LAST), born = HR_THREAD_BORN;

	assert_int_equal(hr_thread_tid(trace, first), 8);
	assert_int_equal(hr_thread_tgid(trace, first), 8);
	assert_string_equal(hr_thread_comm(trace, first), "prog");
	assert_string_equal(hr_thread_comm(trace, last), "other");
	assert_int_equal(hr_thread_birth_ns(trace, first), 10);
	assert_int_equal(hr_thread_death_ns(trace, first), 45);
	assert_int_equal(hr_thread_flags(trace, first), born | HR_THREAD_DIED);
	assert_int_equal(hr_thread_flags(trace, last), born);
	assert_int_equal(hr_thread_death_ns(trace, last), 1000);
	assert_int_equal(hr_thread_flags(trace, prog), 0);
	assert_int_equal(hr_thread_birth_ns(trace, prog), 0);
	assert_int_equal(hr_thread_parent(trace, first), prog);
	assert_int_equal(hr_thread_flags(trace, hr_find_thread(trace, 2, HR_LAST)),
			 HR_THREAD_KERNEL);
	asking_end(&asking);
}

static void a_process_is_the_threads_of_one_leader(void **unused)
{
	struct asking asking = begin();
	struct hr_trace *trace = asking.trace;
	uint32_t prog = hr_find_thread(trace, 7, HR_LAST), first = hr_find_thread(trace, 8, 20);
	uint32_t second = hr_find_thread(trace, 81, HR_LAST), last = hr_find_thread(trace, 8, 500);
	struct hr_totals *totals;

	assert_int_equal(hr_thread_leader(trace, hr_find_thread(trace, 71, HR_LAST)), prog);
	assert_int_equal(hr_thread_leader(trace, prog), prog);
	assert_int_equal(hr_thread_leader(trace, second), first);
	assert_int_equal(hr_thread_leader(trace, last), last);
	/* 8 and 81 lived 35 and 25 ns; the later 8 is another process. */
	assert_int_equal(hr_process_totals(trace, second, 0, UINT64_MAX, &totals), 0);
	assert_int_equal(hr_totals_group_ns(totals, HR_GROUP_WORKING) +
				 hr_totals_group_ns(totals, HR_GROUP_INTERRUPTED),
			 35 + 25);
	assert_int_equal(hr_totals_group_ns(totals, HR_GROUP_NONE), 0);
	hr_totals_free(totals);
	assert_int_equal(hr_process_totals(trace, last, 0, UINT64_MAX, &totals), 0);
	assert_int_equal(hr_totals_group_ns(totals, HR_GROUP_WORKING) +
				 hr_totals_group_ns(totals, HR_GROUP_INTERRUPTED),
			 800);
	hr_totals_free(totals);
	asking_end(&asking);
}

static void each_cpu_has_its_idle_task(void **unused)
{
	struct asking asking = begin();
	struct hr_trace *trace = asking.trace;
	uint32_t idle[2] = { hr_idle_thread(trace, 0), hr_idle_thread(trace, 1) }, thread;

	assert_int_equal(hr_cpu_count(trace), 2);
	assert_int_not_equal(idle[1], HR_NONE);
	assert_int_equal(hr_thread_tid(trace, idle[1]), 0);
	assert_int_equal(hr_thread_flags(trace, idle[1]) & HR_THREAD_IDLE, HR_THREAD_IDLE);
	assert_int_equal(hr_running_at(trace, 1, 100, &thread), 0);
	assert_int_equal(thread, idle[1]);
	assert_int_equal(hr_thread_leader(trace, idle[1]), idle[1]);
	assert_int_equal(hr_idle_thread(trace, 2), HR_NONE);
	asking_end(&asking);
}

static void a_thread_that_does_not_exist_is_nothing(void **unused)
{
	struct asking asking = begin();
	struct hr_trace *trace = asking.trace;
	const uint32_t none[] = { hr_thread_count(trace), HR_NONE };

	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		assert_int_equal(hr_thread_tid(trace, none[i]), -1);
		assert_int_equal(hr_thread_tgid(trace, none[i]), -1);
		assert_string_equal(hr_thread_comm(trace, none[i]), "");
		assert_string_equal(hr_thread_cmdline(trace, none[i]), "");
		assert_int_equal(hr_thread_flags(trace, none[i]), 0);
		assert_int_equal(hr_thread_parent(trace, none[i]), HR_NONE);
		assert_int_equal(hr_thread_leader(trace, none[i]), HR_NONE);
		assert_int_equal(hr_thread_birth_ns(trace, none[i]), 0);
		assert_int_equal(hr_thread_death_ns(trace, none[i]), 0);
	}
	asking_end(&asking);
}

/* Whoever lives at a time has that number then, in random traces. */
static void every_thread_is_found_while_it_lives(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);

		assert_int_equal(hr_thread_count(asking.trace), asking_threads(&asking));
		for (uint32_t i = 0; i < asking_threads(&asking); i++) {
			const struct tl_thread *thread = asking.memory->threads[i];
			uint64_t middle =
				thread->birth_ns + (thread->death_ns - thread->birth_ns) / 2;

			assert_int_equal(hr_thread_tid(asking.trace, i), thread->tid);
			if (thread->tid == 0)
				assert_int_equal(hr_idle_thread(asking.trace, thread->idle_cpu), i);
			else if (thread->birth_ns < thread->death_ns)
				assert_int_equal(hr_find_thread(asking.trace, thread->tid, middle),
						 i);
		}
		asking_end(&asking);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_means_the_thread_that_had_it_then),
		cmocka_unit_test(a_thread_says_what_is_known_of_it),
		cmocka_unit_test(a_process_is_the_threads_of_one_leader),
		cmocka_unit_test(each_cpu_has_its_idle_task),
		cmocka_unit_test(a_thread_that_does_not_exist_is_nothing),
		cmocka_unit_test(every_thread_is_found_while_it_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_pressure.c - what limits of memory keep threads at. */
#include "told.h"

#define STARTS                   \
	"thread 7 7 1 R job\n"   \
	"thread 8 8 1 R other\n" \
	"  0 cpu0 switch 0(runnable) 7\n"

#define BEGIN "mm_vmscan_memcg_reclaim_begin\n"
#define END   "mm_vmscan_memcg_reclaim_end\n"

static void says(const char *text, uint64_t from, uint64_t to, const char *verdict)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_in(told, 7, from, to), verdict);
	assert_int_equal(told->why.working_ns + told->why.interrupted_ns + told->why.blocked_ns +
				 told->why.uncertain_ns,
			 to - from);
	told_free(told);
}

static void who_reclaims_works_for_the_limit(void **unused)
{
	says(STARTS " 10 cpu0 fdname 7 -5 limit unknown throttled\n"
		    " 11 cpu0 other " BEGIN " 30 cpu0 other " END " 60 cpu0 switch 7(blocked) 0\n",
	     0, 60, "working 7 41 running; throttled 7 19 limit");
}

/* The chain leads to the limit, too; who had the CPU meanwhile is none of it. */
static void what_it_waits_for_then_is_for_the_limit_as_well(void **unused)
{
	says(STARTS " 10 cpu0 fdname 7 -5 limit unknown throttled\n"
		    " 11 cpu0 other " BEGIN " 15 cpu0 switch 7(disk) 8\n"
		    " 25 cpu0 irq 24 vda\n"
		    " 25 cpu0 waking 7 cpu 0\n"
		    " 25 cpu0 irqexit 24\n"
		    " 28 cpu0 switch 8(runnable) 7\n"
		    " 40 cpu0 other " END " 60 cpu0 switch 7(blocked) 0\n",
	     0, 60, "working 7 31 running; throttled 7 26 limit; cpu_queue 8 3 ran instead");
}

static void whose_limit_it_is_may_not_be_known(void **unused)
{
	says(STARTS " 11 cpu0 other " BEGIN " 30 cpu0 other " END " 60 cpu0 switch 7(blocked) 0\n",
	     0, 60,
	     "working 7 41 running; throttled 7 19 reclaims memory at a limit of its cgroup; which one is not known");
}

static void the_machine_has_too_little(void **unused)
{
	says(STARTS " 10 cpu0 fdname 7 -5 limit unknown throttled\n"
		    " 11 cpu0 other mm_vmscan_direct_reclaim_begin\n"
		    " 30 cpu0 other mm_vmscan_direct_reclaim_end\n"
		    " 60 cpu0 switch 7(blocked) 0\n",
	     0, 60,
	     "working 7 41 running; throttled 7 19 reclaims memory: the machine has too little");
}

static void at_the_end_it_still_is_at_it(void **unused)
{
	says(STARTS " 10 cpu0 fdname 7 -5 limit unknown throttled\n"
		    " 11 cpu0 other " BEGIN " 60 cpu0 enter getpid\n",
	     0, 60, "throttled 7 49 limit; working 7 11 running");
}

/* Another one's events say nothing of it. */
static void events_were_lost_meanwhile(void **unused)
{
	says(STARTS " 11 cpu0 other " BEGIN " 20 cpu1 lost 15 3\n"
		    " 30 cpu0 other " END " 60 cpu0 switch 7(blocked) 0\n",
	     0, 60, "working 7 60 running");
}

#define WAKES                                     \
	" 70us cpu0 vector local_timer\n"         \
	" 70us cpu0 hrtimer process_timeout 77\n" \
	" 70us cpu0 waking 7 cpu 0\n"             \
	" 70us cpu0 hrtimerdone\n"                \
	" 70us cpu0 vectorexit local_timer\n"     \
	" 70us cpu0 switch 0(runnable) 7\n"       \
	" 80us cpu0 switch 7(blocked) 0\n"

#define HIGH                                                     \
	STARTS " 10us cpu0 fdname 7 -6 high unknown throttled\n" \
	       " 11us cpu0 other " BEGIN " 12us cpu0 other " END

static void a_penalty_is_for_the_limit(void **unused)
{
	says(HIGH " 14us cpu0 switch 7(disk) 0\n" WAKES, 10000, 80000,
	     "throttled 7 57000 high; working 7 13000 running");
}

/* On the way out of a page fault nothing else has it sleep by a timer: others may have run for long. */
static void a_late_penalty_of_a_page_fault_is_for_the_limit(void **unused)
{
	says(STARTS "  1us cpu0 enter getpid\n"
		    "  2us cpu0 leave getpid 7\n"
		    "  5us cpu0 fault 4096\n"
		    " 10us cpu0 fdname 7 -6 high unknown throttled\n"
		    " 11us cpu0 other " BEGIN " 12us cpu0 other " END " 5ms cpu0 switch 7(disk) 0\n"
		    " 9ms cpu0 vector local_timer\n"
		    " 9ms cpu0 hrtimer process_timeout 77\n"
		    " 9ms cpu0 waking 7 cpu 0\n"
		    " 9ms cpu0 hrtimerdone\n"
		    " 9ms cpu0 vectorexit local_timer\n"
		    " 9ms cpu0 switch 0(runnable) 7\n",
	     5000000, 9000000, "throttled 7 4000000 high");
}

static void what_else_it_waits_for_is_no_penalty(void **unused)
{
	says(HIGH " 14us cpu0 switch 7(disk) 0\n"
		  " 70us cpu0 irq 24 vda\n"
		  " 70us cpu0 complete vda 8\n"
		  " 70us cpu0 waking 7 cpu 0\n"
		  " 70us cpu0 irqexit 24\n"
		  " 70us cpu0 switch 0(runnable) 7\n"
		  " 80us cpu0 switch 7(blocked) 0\n",
	     20000, 80000, "disk 7 50000 vda read; working 7 10000 running");
}

static void a_sleep_of_its_own_is_no_penalty(void **unused)
{
	says(HIGH " 14us cpu0 switch 7(blocked) 0\n" WAKES, 20000, 80000,
	     "timer 7 50000 sleep; working 7 10000 running");
}

static void a_writer_pauses_for_dirty_pages(void **unused)
{
	says(STARTS " 10us cpu0 fdname 7 -7 dirty unknown throttled\n"
		    " 11us cpu0 other balance_dirty_pages\n"
		    " 14us cpu0 switch 7(disk) 0\n" WAKES,
	     10000, 80000, "throttled 7 56000 dirty; working 7 14000 running");
}

static void a_later_sleep_is_no_such_pause(void **unused)
{
	says(STARTS " 10us cpu0 other balance_dirty_pages\n"
		    " 3ms cpu0 switch 7(disk) 0\n"
		    " 4ms cpu0 vector local_timer\n"
		    " 4ms cpu0 hrtimer process_timeout 77\n"
		    " 4ms cpu0 waking 7 cpu 0\n"
		    " 4ms cpu0 hrtimerdone\n"
		    " 4ms cpu0 vectorexit local_timer\n"
		    " 4ms cpu0 switch 0(runnable) 7\n",
	     3000000, 4000000, "timer 7 1000000 uninterruptible sleep");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_reclaims_works_for_the_limit),
		cmocka_unit_test(what_it_waits_for_then_is_for_the_limit_as_well),
		cmocka_unit_test(whose_limit_it_is_may_not_be_known),
		cmocka_unit_test(the_machine_has_too_little),
		cmocka_unit_test(at_the_end_it_still_is_at_it),
		cmocka_unit_test(events_were_lost_meanwhile),
		cmocka_unit_test(a_penalty_is_for_the_limit),
		cmocka_unit_test(a_late_penalty_of_a_page_fault_is_for_the_limit),
		cmocka_unit_test(what_else_it_waits_for_is_no_penalty),
		cmocka_unit_test(a_sleep_of_its_own_is_no_penalty),
		cmocka_unit_test(a_writer_pauses_for_dirty_pages),
		cmocka_unit_test(a_later_sleep_is_no_such_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

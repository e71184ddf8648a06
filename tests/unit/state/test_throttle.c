/* test_throttle.c - who is held back by a limit of its cgroup, as the recorder tells. */
#include "told.h"

#define TWO                               \
	"thread 7 7 1 R held\n"           \
	"thread 8 8 1 R other\n"          \
	"  0 cpu0 switch 0(runnable) 7\n" \
	" 10 cpu0 switch 7(runnable) 8\n"

static void says(const char *text, uint64_t from, uint64_t to, const char *verdict)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_in(told, 7, from, to), verdict);
	assert_int_equal(told->why.working_ns + told->why.interrupted_ns + told->why.blocked_ns +
				 told->why.uncertain_ns,
			 to - from);
	told_free(told);
}

static void a_quota_holds_back_until_it_may_run_again(void **unused)
{
	says(TWO " 11 cpu0 fdname 7 -1 quota unknown throttled\n"
		 " 40 cpu0 fdname 7 -2 . unknown throttled\n"
		 " 45 cpu0 switch 8(runnable) 7\n"
		 " 60 cpu0 switch 7(blocked) 0\n",
	     5, 60, "throttled 7 30 quota; working 7 20 running; cpu_queue 8 5 ran instead");
}

/* The end was not told: it is where the thread comes onto a CPU. */
static void who_runs_is_not_held_back(void **unused)
{
	says(TWO " 11 cpu0 fdname 7 -1 quota unknown throttled\n"
		 " 45 cpu0 switch 8(runnable) 7\n"
		 " 60 cpu0 switch 7(blocked) 0\n",
	     10, 60, "throttled 7 35 quota; working 7 15 running");
}

static void at_the_end_it_still_is(void **unused)
{
	says(TWO " 11 cpu0 fdname 7 -1 quota unknown throttled\n"
		 " 60 cpu0 enter getpid\n",
	     10, 60, "throttled 7 50 quota");
}

static void without_a_quota_the_other_one_preempts(void **unused)
{
	says(TWO " 45 cpu0 switch 8(runnable) 7\n"
		 " 60 cpu0 switch 7(blocked) 0\n",
	     10, 60, "preempted 8 35 ran instead; working 7 15 running");
}

/* 7 may run, and is switched out for 8, of such priorities. */
static void gives_way(const char *call, const char *prio, const char *verdict)
{
	AUTO_FREE char *text = xasprintf("thread 7 7 1 R held\n"
					 "thread 8 8 1 R other\n"
					 "  0 cpu0 switch 0(runnable) 7\n"
					 "  9 cpu0 enter %s\n"
					 " 10 cpu0 switch 7(runnable) 8 prio %s\n"
					 " 45 cpu0 switch 8(runnable) 7\n"
					 " 60 cpu0 switch 7(blocked) 0\n",
					 call, prio);

	says(text, 10, 60, verdict);
}

static void real_time_may_be_used_up(void **unused)
{
	gives_way(
		"getpid", "-1 120",
		"throttled 7 35 runtime of its SCHED_DEADLINE; how much is not known; working 7 15 getpid");
	gives_way(
		"getpid", "-1 49",
		"throttled 7 35 runtime of its SCHED_DEADLINE; how much is not known; working 7 15 getpid");
	gives_way(
		"getpid", "49 120",
		"throttled 7 35 limit of real-time threads; whose it is, is not known; working 7 15 getpid");
}

/* It sleeps up to its next period, though it could run. */
static void who_yields_what_is_left_of_its_runtime_waits_for_its_next_period(void **unused)
{
	gives_way(
		"sched_yield", "-1 120",
		"throttled 7 35 sched_yield() up to the next period of its SCHED_DEADLINE; working 7 15 sched_yield");
}

/* What the recorder tells of it names it, before and as it is held back. */
static void real_time_says_whose_limit_it_is(void **unused)
{
	says(TWO " 11 cpu0 fdname 7 -1 a unknown throttled\n"
		 " 12 cpu0 fdname 7 -1 limit unknown throttled\n"
		 " 45 cpu0 switch 8(runnable) 7\n"
		 " 60 cpu0 switch 7(blocked) 0\n",
	     10, 60, "throttled 7 35 limit; working 7 15 running");
	says("thread 7 7 1 R held\n"
	     "thread 8 8 1 R other\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  9 cpu0 fdname 7 -9 runtime unknown throttled\n"
	     " 10 cpu0 switch 7(runnable) 8 prio -1 120\n"
	     " 45 cpu0 switch 8(runnable) 7\n"
	     " 60 cpu0 switch 7(blocked) 0\n",
	     10, 60, "throttled 7 35 runtime; working 7 15 running");
}

/* The last two: to the kernel's own thread that stops all others; of one that gives up what it has left. */
static void who_has_more_of_a_right_preempts(void **unused)
{
	gives_way("getpid", "120 49", "preempted 8 35 ran instead; working 7 15 getpid");
	gives_way("getpid", "120 120", "preempted 8 35 ran instead; working 7 15 getpid");
	gives_way("getpid", "49 20", "preempted 8 35 ran instead; working 7 15 getpid");
	gives_way("getpid", "49 -1", "preempted 8 35 ran instead; working 7 15 getpid");
	gives_way("getpid", "-1 0", "preempted 8 35 ran instead; working 7 15 getpid");
	gives_way("sched_yield", "49 120",
		  "cpu_queue 8 35 ran instead: after sched_yield(); working 7 15 sched_yield");
}

/* 7 gives way to 8, both of such priorities all the time; 'told' is said of them before. */
static void gives_way_to(const char *told, int prio, int next, const char *verdict)
{
	AUTO_FREE char *text = xasprintf("thread 7 7 1 R held\n"
					 "thread 8 8 1 R other\n"
					 "  0 cpu0 switch 0(runnable) 7 prio 120 %d\n%s"
					 " 10 cpu0 switch 7(runnable) 8 prio %d %d\n"
					 " 45 cpu0 switch 8(runnable) 7 prio %d %d\n"
					 " 60 cpu0 switch 7(blocked) 0 prio %d 120\n",
					 prio, told, prio, next, next, prio, prio);

	says(text, 10, 60, verdict);
}

static void how_both_are_scheduled_is_told_of_who_comes_first(void **unused)
{
	gives_way_to("", 139, 120,
		     "preempted 8 35 ran instead: with nice 0; who waited, with nice 19; "
		     "working 7 15 running");
	gives_way_to("", 120, 89,
		     "preempted 8 35 ran instead: with real-time priority 10; who waited, "
		     "with nice 0; working 7 15 running");
	gives_way_to("  5 cpu0 fdname 7 -10 SCHED_IDLE unknown throttled\n", 120, 139,
		     "preempted 8 35 ran instead: with nice 19; who waited, with "
		     "SCHED_IDLE; working 7 15 running");
}

/* The last one: by the kernel's own thread that stops all others. */
static void which_cpus_it_may_use_is_told(void **unused)
{
	static const char told[] = "preempted 8 35 ran instead: who waited may use CPU 0 only; "
				   "working 7 15 running";
	static const char not_told[] = "preempted 8 35 ran instead; working 7 15 running";

	gives_way_to("  5 cpu0 fdname 7 -11 \"CPU 0\" unknown throttled\n", 120, 120, told);
	gives_way_to("  5 cpu0 fdname 8 -11 \"CPU 0\" unknown throttled\n", 120, 120, not_told);
	gives_way_to("  4 cpu0 fdname 7 -11 \"CPU 0\" unknown throttled\n"
		     "  5 cpu0 fdname 7 -11 \"\" unknown throttled\n",
		     120, 120, not_told);
	gives_way_to("  5 cpu0 fdname 7 -11 \"CPU 0\" unknown throttled\n", 139, 120,
		     "preempted 8 35 ran instead: with nice 0; who waited, with nice 19; "
		     "working 7 15 running");
}

static void else_it_is_not_told(void **unused)
{
	gives_way_to("", 120, 120, "preempted 8 35 ran instead; working 7 15 running");
	gives_way_to("", 120, 139, "preempted 8 35 ran instead; working 7 15 running");
	gives_way_to("  4 cpu0 fdname 7 -10 SCHED_IDLE unknown throttled\n"
		     "  5 cpu0 fdname 7 -10 other unknown throttled\n",
		     120, 139, "preempted 8 35 ran instead; working 7 15 running");
	gives_way_to("", 120, 0, "preempted 8 35 ran instead; working 7 15 running");
}

/* Told of one that sleeps, or runs: it is not so. */
static void what_cannot_be_is_not_believed(void **unused)
{
	says("thread 7 7 1 R held\n"
	     "  0 cpu0 switch 0(runnable) 7\n"
	     "  5 cpu0 fdname 7 -1 quota unknown throttled\n"
	     " 10 cpu0 switch 7(blocked) 0\n"
	     " 12 cpu0 fdname 7 -1 quota unknown throttled\n"
	     " 14 cpu0 fdname 7 -2 . unknown throttled\n"
	     " 20 cpu0 irq 24 eth0\n"
	     " 20 cpu0 waking 7 cpu 0\n"
	     " 20 cpu0 irqexit 24\n"
	     " 30 cpu0 switch 0(runnable) 7\n",
	     0, 30,
	     "working 7 10 running; cpu_queue 0 10 wake-up of an idle CPU; irq 7 10 irq 24 eth0");
}

/* 9 is a kworker that issues the request of 7 when it may. */
#define REQUEST                           \
	"thread 7 7 1 R reader\n"         \
	"thread 9 9 2 S kworker\n"        \
	"  0 cpu0 switch 0(runnable) 7\n" \
	" 10 cpu0 switch 7(disk) 0\n"     \
	" 50 cpu0 switch 0(runnable) 9\n"

#define COMPLETES                         \
	" 60 cpu0 switch 9(blocked) 0\n"  \
	" 70 cpu0 irq 24 virtio0\n"       \
	" 70 cpu0 complete vda 8\n"       \
	" 70 cpu0 waking 7 cpu 0\n"       \
	" 70 cpu0 irqexit 24\n"           \
	" 70 cpu0 switch 0(runnable) 7\n" \
	" 80 cpu0 switch 7(blocked) 0\n"

static void a_request_is_held_back_until_it_is_issued(void **unused)
{
	says(REQUEST " 50 cpu0 work 5 blk_throtl_dispatch_work_fn\n"
		     " 55 cpu0 insert vda 8 R\n"
		     " 56 cpu0 fdname 9 -3 limit unknown throttled vda 8\n"
		     " 56 cpu0 issue vda 8 R\n"
		     " 57 cpu0 workdone 5\n" COMPLETES,
	     10, 70, "throttled 7 45 limit; disk 7 15 vda read");
}

static void whose_limit_it_is_may_not_be_known(void **unused)
{
	says(REQUEST " 50 cpu0 work 5 blk_throtl_dispatch_work_fn\n"
		     " 55 cpu0 issue vda 8 R\n"
		     " 57 cpu0 workdone 5\n" COMPLETES,
	     10, 70,
	     "throttled 7 45 I/O limit of a cgroup; which one is not known; disk 7 15 vda read");
}

static void other_work_holds_nothing_back(void **unused)
{
	says(REQUEST " 50 cpu0 work 5 blk_mq_run_work_fn\n"
		     " 55 cpu0 issue vda 8 R\n"
		     " 56 cpu0 fdname 9 -3 limit unknown throttled vda 8\n"
		     " 57 cpu0 workdone 5\n" COMPLETES,
	     10, 70, "disk 7 60 vda read");
}

/* ext4 ends writes in a kworker, which then wakes who waits in fsync(). */
static void the_end_of_a_request_may_be_work(void **unused)
{
	says(REQUEST " 50 cpu0 work 5 blk_throtl_dispatch_work_fn\n"
		     " 55 cpu0 issue vda 8 W\n"
		     " 56 cpu0 fdname 9 -3 limit unknown throttled vda 8\n"
		     " 57 cpu0 workdone 5\n"
		     " 60 cpu0 switch 9(blocked) 0\n"
		     " 70 cpu0 irq 24 virtio0\n"
		     " 70 cpu0 complete vda 8\n"
		     " 71 cpu0 queuework 77 ext4_end_io_rsv_work\n"
		     " 71 cpu0 waking 9 cpu 0\n"
		     " 72 cpu0 irqexit 24\n"
		     " 72 cpu0 switch 0(runnable) 9\n"
		     " 73 cpu0 work 77 ext4_end_io_rsv_work\n"
		     " 75 cpu0 waking 7 cpu 0\n"
		     " 76 cpu0 workdone 77\n"
		     " 77 cpu0 switch 9(blocked) 7\n"
		     " 80 cpu0 switch 7(blocked) 0\n",
	     10, 77,
	     "throttled 7 45 limit; disk 9 11 vda write; other_thread 9 8 running 50 %, "
	     "work blk_throtl_dispatch_work_fn 25 %, work ext4_end_io_rsv_work 25 %; "
	     "cpu_queue 9 2 ran instead; cpu_queue 0 1 wake-up of an idle CPU");
}

#define FLUSHED                                       \
	" 53 cpu0 queuework 77 blk_mq_requeue_work\n" \
	" 54 cpu0 workdone 5\n"                       \
	" 54 cpu0 work 77 blk_mq_requeue_work\n"      \
	" 55 cpu0 issue vda 0 FF\n"                   \
	" 57 cpu0 workdone 77\n"                      \
	" 60 cpu0 switch 9(blocked) 0\n"              \
	" 70 cpu0 irq 24 virtio0\n"                   \
	" 70 cpu0 complete vda " NOWHERE " FF 0\n"    \
	" 70 cpu0 complete vda 0 WS 0\n"              \
	" 70 cpu0 waking 7 cpu 0\n"                   \
	" 70 cpu0 irqexit 24\n"                       \
	" 70 cpu0 switch 0(runnable) 7\n"             \
	" 80 cpu0 switch 7(blocked) 0\n"

#define NOWHERE "18446744073709551615"

/* Another work issues it, and what is complete with it is a request of its own. */
static void a_flush_is_held_back_too(void **unused)
{
	says(REQUEST " 50 cpu0 work 5 blk_throtl_dispatch_work_fn\n"
		     " 52 cpu0 fdname 9 -3 limit unknown throttled vda 0\n" FLUSHED,
	     10, 70, "throttled 7 42 limit; disk 7 18 vda flush");
}

static void whose_limit_held_a_flush_back_may_not_be_known(void **unused)
{
	says(REQUEST " 50 cpu0 work 5 blk_throtl_dispatch_work_fn\n" FLUSHED, 10, 70,
	     "throttled 7 45 I/O limit of a cgroup; which one is not known; disk 7 15 vda flush");
}

static void a_flush_of_other_work_is_not_held_back(void **unused)
{
	says(REQUEST " 50 cpu0 work 5 blk_mq_run_work_fn\n" FLUSHED, 10, 70, "disk 7 60 vda flush");
}

/* The recorder saw that it sleeps for I/O, and that the disk knows of no such request. */
static void a_request_that_is_held_back_at_the_end_is_inferred(void **unused)
{
	struct told *told =
		replayed("thread 7 7 1 R held\n"
			 "thread 9 9 1 R other\n"
			 "waits 30 7 read \"I/O limit of cgroup /a (io.max rbps=1)\" 0 io_limit\n"
			 "  0 cpu0 switch 0(runnable) 7\n"
			 "  5 cpu0 enter read 3\n"
			 " 10 cpu0 switch 7(disk) 0\n"
			 " 60 cpu1 switch 0(runnable) 9\n");

	assert_string_equal(verdict_in(told, 7, 10, 60),
			    "throttled 7 50 I/O limit of cgroup /a (io.max rbps=1)");
	assert_string_equal(told_reason(told->why.roots[0].inferred),
			    "it was asleep for I/O, and no such request was with the disk");
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quota_holds_back_until_it_may_run_again),
		cmocka_unit_test(who_runs_is_not_held_back),
		cmocka_unit_test(at_the_end_it_still_is),
		cmocka_unit_test(without_a_quota_the_other_one_preempts),
		cmocka_unit_test(real_time_may_be_used_up),
		cmocka_unit_test(real_time_says_whose_limit_it_is),
		cmocka_unit_test(who_yields_what_is_left_of_its_runtime_waits_for_its_next_period),
		cmocka_unit_test(who_has_more_of_a_right_preempts),
		cmocka_unit_test(how_both_are_scheduled_is_told_of_who_comes_first),
		cmocka_unit_test(which_cpus_it_may_use_is_told),
		cmocka_unit_test(else_it_is_not_told),
		cmocka_unit_test(what_cannot_be_is_not_believed),
		cmocka_unit_test(a_request_is_held_back_until_it_is_issued),
		cmocka_unit_test(whose_limit_it_is_may_not_be_known),
		cmocka_unit_test(other_work_holds_nothing_back),
		cmocka_unit_test(the_end_of_a_request_may_be_work),
		cmocka_unit_test(a_flush_is_held_back_too),
		cmocka_unit_test(whose_limit_held_a_flush_back_may_not_be_known),
		cmocka_unit_test(a_flush_of_other_work_is_not_held_back),
		cmocka_unit_test(a_request_that_is_held_back_at_the_end_is_inferred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

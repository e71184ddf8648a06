/* test_uring.c - threads of io_uring: what their requests waited for, and what they are at. */
#include "told.h"

static void says(const char *text, const char *roots)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_of(told, 7), roots);
	told_free(told);
}

/* 7 waits for its ring, 9 polls for it, 8 writes. */
#define POLLED                                                                                      \
	"thread 7 7 1 R db\nthread 8 8 1 R peer\nthread 9 7 1 R iou-sqp-7\nfd 7 3 other io_uring\n" \
	"fd 7 5 file /db/data\n"                                                                    \
	" 0 cpu0 switch 0(runnable) 7\n"                                                            \
	" 0 cpu1 switch 0(runnable) 9\n"                                                            \
	" 0 cpu2 switch 0(runnable) 8\n"                                                            \
	" 1 cpu0 enter io_uring_enter 3\n"                                                          \
	"10 cpu0 switch 7(blocked) 0\n"

static void who_polls_is_not_waited_for(void **unused)
{
	says(POLLED "40 cpu2 ringready 100\n"
		    "48 cpu1 ringdone 100\n"
		    "50 cpu1 waking 7 cpu 0\n"
		    "50 cpu0 switch 0(runnable) 7\n"
		    "60 cpu0 leave io_uring_enter 1\n",
	     "other_thread 8 30 running; working 7 20 io_uring_enter; other_thread 9 10 running");
}

/* What became ready was another request, or nobody knows when. */
static void what_was_ready_must_be_what_is_done(void **unused)
{
	says(POLLED "40 cpu2 ringready 200\n"
		    "48 cpu1 ringdone 100\n"
		    "50 cpu1 waking 7 cpu 0\n"
		    "50 cpu0 switch 0(runnable) 7\n"
		    "60 cpu0 leave io_uring_enter 1\n",
	     "other_thread 9 40 running; working 7 20 io_uring_enter");
}

static void a_disk_is_waited_for_through_who_polls(void **unused)
{
	says(POLLED "12 cpu1 issue 1 8 R\n"
		    "40 cpu2 irq 24 vda\n"
		    "41 cpu2 complete 1 8\n"
		    "42 cpu2 irqexit 24\n"
		    "48 cpu1 ringdone 100\n"
		    "50 cpu1 waking 7 cpu 0\n"
		    "50 cpu0 switch 0(runnable) 7\n"
		    "60 cpu0 leave io_uring_enter 1\n",
	     "disk 7 31 1 read [fd 3 = io_uring]; working 7 20 io_uring_enter; other_thread 9 9 running");
}

/* It waits for the ring before its request is looked at: what the request is of is known at its end. */
static void who_polls_knows_the_file(void **unused)
{
	says(POLLED "11 cpu1 ringsubmit 100 22\n"
		    "11 cpu1 ringfile 100 5\n"
		    "12 cpu1 issue 1 8 R\n"
		    "40 cpu2 irq 24 vda\n"
		    "41 cpu2 complete 1 8\n"
		    "42 cpu2 irqexit 24\n"
		    "48 cpu1 ringdone 100\n"
		    "50 cpu1 waking 7 cpu 0\n"
		    "50 cpu0 switch 0(runnable) 7\n"
		    "60 cpu0 leave io_uring_enter 1\n",
	     "disk 7 31 1 read [fd 5 = /db/data]; working 7 20 io_uring_enter; other_thread 9 9 running");
}

/* 7 waits for its ring, 9 polls for it, and a limit holds its request back: 11 issues it. */
#define HELD                                                                      \
	"thread 7 7 1 R db\nthread 9 7 1 R iou-sqp-7\nthread 11 11 2 S kworker\n" \
	"thread 8 8 1 R other\nfd 7 3 other io_uring\nfd 7 5 file /db/data\n"     \
	" 0 cpu0 switch 0(runnable) 7\n"                                          \
	" 0 cpu1 switch 0(runnable) 9\n"                                          \
	" 0 cpu3 switch 0(runnable) 8\n"                                          \
	" 1 cpu0 enter io_uring_enter 3\n"                                        \
	"10 cpu0 switch 7(blocked) 0\n"                                           \
	"11 cpu1 ringsubmit 100 22\n"                                             \
	"11 cpu1 ringfile 100 5\n"
#define RELEASED(at, sector, limit)                                                           \
	at " cpu2 switch 0(runnable) 11\n" at " cpu2 work 5 blk_throtl_dispatch_work_fn\n" at \
	   " cpu2 issue 1 " sector " R\n" at " cpu2 fdname 11 -3 " limit                      \
	   " unknown throttled 1 " sector "\n" at " cpu2 workdone 5\n" at                     \
	   " cpu2 switch 11(blocked) 0\n"
#define DONE                             \
	"50 cpu1 waking 7 cpu 0\n"       \
	"50 cpu0 switch 0(runnable) 7\n" \
	"60 cpu0 leave io_uring_enter 1\n"
#define AND_THEN "; working 7 20 io_uring_enter; other_thread 9 14 running"

/* From what the largest root is inferred; "" = it is known. */
static void says_inferred(const char *text, const char *roots, const char *reason)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_of(told, 7), roots);
	assert_string_equal(told_reason(told->why.roots[0].inferred), reason);
	told_free(told);
}

#define BY_LOOKS                                                                         \
	"a request that the limit had held back ended right before iou-sqp-7[9], which " \
	"polls for io_uring, was done"

static void a_limit_is_waited_for_through_who_polls(void **unused)
{
	says_inferred(HELD RELEASED("36", "8", "limit") "40 cpu2 irq 24 vda\n"
							"41 cpu2 complete 1 8\n"
							"42 cpu2 irqexit 24\n"
							"48 cpu1 ringdone 100\n" DONE,
		      "throttled 7 26 limit" AND_THEN, BY_LOOKS);
}

/* It slept by then: that end woke it. */
static void a_limit_whose_end_wakes_who_polls_is_known(void **unused)
{
	says_inferred(
		HELD "20 cpu1 switch 9(blocked) 0\n" RELEASED(
			"36", "8", "limit") "40 cpu2 irq 24 vda\n"
					    "41 cpu2 complete 1 8\n"
					    "42 cpu2 waking 9 cpu 1\n"
					    "42 cpu2 irqexit 24\n"
					    "43 cpu1 switch 0(runnable) 9\n"
					    "48 cpu1 ringdone 100\n" DONE,
		"throttled 7 26 limit; working 7 20 io_uring_enter; other_thread 9 7 running; "
		"disk 9 6 1 read; cpu_queue 0 1 wake-up of an idle CPU",
		"");
}

/* It woke another thread: it was of that one. */
static void what_a_limit_held_back_for_others_is_not_for_who_polls(void **unused)
{
	says(HELD "20 cpu3 switch 8(disk) 0\n" RELEASED("36", "8",
							"limit") "40 cpu2 irq 24 vda\n"
								 "41 cpu2 complete 1 8\n"
								 "41 cpu2 waking 8 cpu 3\n"
								 "42 cpu2 irqexit 24\n"
								 "48 cpu1 ringdone 100\n" DONE,
	     "other_thread 9 40 running; working 7 20 io_uring_enter");
}

static void of_two_limits_either_may_be_it(void **unused)
{
	says_inferred(HELD RELEASED("30", "16", "another")
			      RELEASED("36", "8", "limit") "40 cpu2 irq 24 vda\n"
							   "41 cpu2 complete 1 16\n"
							   "41 cpu2 complete 1 8\n"
							   "42 cpu2 irqexit 24\n"
							   "48 cpu1 ringdone 100\n" DONE,
		      "throttled 7 26 I/O limit of a cgroup; which one is not known" AND_THEN,
		      BY_LOOKS);
}

/* It had looked meanwhile, and had found nothing: what is done now is something else. */
static void what_ended_long_before_is_not_what_is_done(void **unused)
{
	says(HELD RELEASED("36", "8", "limit") "40 cpu2 irq 24 vda\n"
					       "41 cpu2 complete 1 8\n"
					       "42 cpu2 irqexit 24\n"
					       "400048 cpu1 ringdone 100\n"
					       "400050 cpu1 waking 7 cpu 0\n"
					       "400050 cpu0 switch 0(runnable) 7\n"
					       "400060 cpu0 leave io_uring_enter 1\n",
	     "other_thread 9 400040 running; working 7 20 io_uring_enter");
}

#define WORKER                                                                                   \
	"thread 7 7 1 R db\nthread 8 8 1 R peer\nfd 7 0 file /dev/null\nfd 7 5 pipe pipe:[12]\n" \
	" 0 cpu0 switch 0(runnable) 7\n"                                                         \
	" 0 cpu1 switch 0(runnable) 8\n"                                                         \
	" 1 cpu0 enter io_uring_enter 3\n"                                                       \
	" 2 cpu0 ringqueue 100 30\n"                                                             \
	" 3 cpu0 newtask 9 thread\n"

static const char *first_wait_of(struct told *told, int32_t tid)
{
	(void)verdict_of(told, tid);
	for (size_t i = 0; i < told->why.wait_count; i++) {
		if (told->why.waits[i].who.tid == tid)
			return told_keep(told, xasprintf("%s, %s", told->why.waits[i].in,
							 told->why.waits[i].object));
	}
	return "none";
}

#define WORKS                            \
	"10 cpu2 switch 0(runnable) 9\n" \
	"11 cpu2 rename 9 iou-wrk-7\n"

static void a_worker_is_at_its_request(void **unused)
{
	struct told *told = replayed(WORKER WORKS "12 cpu2 ringfile 100 5\n"
						  "20 cpu2 switch 9(blocked) 0\n"
						  "40 cpu1 waking 9 cpu 2\n"
						  "41 cpu2 switch 0(runnable) 9\n"
						  "50 cpu2 ringdone 100\n");

	assert_string_equal(first_wait_of(told, 9), "work io_uring splice, fd 5 = pipe:[12]");
	told_free(told);
}

/* What it took itself: the operation was not told. */
static void of_a_request_that_was_not_given_only_its_file_is_told(void **unused)
{
	struct told *told = replayed(WORKER WORKS "12 cpu2 ringfile 300 5\n"
						  "20 cpu2 switch 9(blocked) 0\n"
						  "40 cpu1 waking 9 cpu 2\n"
						  "41 cpu2 switch 0(runnable) 9\n");

	assert_string_equal(first_wait_of(told, 9), "io_uring_enter, fd 5 = pipe:[12]");
	told_free(told);
}

/* It is done, and waits for the next. */
static void of_an_idle_worker_nothing_is_told(void **unused)
{
	struct told *told = replayed(WORKER WORKS "12 cpu2 ringfile 100 5\n"
						  "15 cpu2 ringdone 100\n"
						  "20 cpu2 switch 9(blocked) 0\n"
						  "40 cpu1 waking 9 cpu 2\n"
						  "41 cpu2 switch 0(runnable) 9\n");

	assert_string_equal(first_wait_of(told, 9), "io_uring_enter, ");
	told_free(told);
}

#define RING                                                                                       \
	"thread 7 7 1 R db\nfd 7 3 other io_uring\nfd 7 5 pipe pipe:[12]\nfd 7 6 pipe pipe:[13]\n" \
	" 0 cpu0 switch 0(runnable) 7\n"                                                           \
	" 1 cpu0 enter io_uring_enter 3\n"                                                         \
	" 2 cpu0 ringsubmit 100 22\n"                                                              \
	" 3 cpu0 ringfile 100 5\n"

#define SLEEPS "10 cpu0 switch 7(blocked) 0\n60 cpu0 waking 7 cpu 0\n61 cpu0 switch 0(runnable) 7\n"

static void waits_for(const char *text, const char *wait)
{
	struct told *told = replayed(text);

	assert_string_equal(first_wait_of(told, 7), wait);
	told_free(told);
}

static void a_ring_with_one_request_is_what_that_is_about(void **unused)
{
	waits_for(RING SLEEPS, "io_uring_enter, fd 5 = pipe:[12]");
}

static void of_several_requests_all_that_are_open_are_told(void **unused)
{
	const char *two = RING " 4 cpu0 ringsubmit 200 13\n 5 cpu0 ringfile 200 6\n";
	AUTO_FREE char *any = xasprintf("%s%s", two, SLEEPS);
	AUTO_FREE char *timed = xasprintf("%s 6 cpu0 ringsubmit 300 11\n%s", two, SLEEPS);
	AUTO_FREE char *one_left = xasprintf("%s 6 cpu0 ringdone 100\n%s", two, SLEEPS);

	waits_for(any,
		  "io_uring_enter, any of: read of fd 5 = pipe:[12], accept of fd 6 = pipe:[13]");
	waits_for(timed,
		  "io_uring_enter, any of: timeout, read of fd 5 = pipe:[12], accept of fd 6 = "
		  "pipe:[13]");
	waits_for(one_left, "io_uring_enter, fd 6 = pipe:[13]");
}

/* One whose descriptor was not told, one that is done, another ring. */
static void else_it_is_the_ring(void **unused)
{
	waits_for(RING " 4 cpu0 ringsubmit 200 22\n" SLEEPS, "io_uring_enter, fd 3 = io_uring");
	waits_for("fd 7 4 other io_uring\n" RING
		  " 4 cpu0 ringsubmit 200 22\n 5 cpu0 ringfile 200 6\n" SLEEPS,
		  "io_uring_enter, fd 3 = io_uring");
	waits_for(RING " 4 cpu0 ringdone 100\n" SLEEPS, "io_uring_enter, fd 3 = io_uring");
	waits_for(RING " 4 cpu0 ringdone 100\n 5 cpu0 ringsubmit 200 11\n" SLEEPS,
		  "io_uring_enter, fd 3 = io_uring");
	waits_for(
		RING
		" 4 cpu0 ringsubmit 200 22\n 5 cpu0 ringfile 200 6\n 6 cpu0 ringdone 200\n" SLEEPS,
		"io_uring_enter, fd 3 = io_uring");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_polls_is_not_waited_for),
		cmocka_unit_test(what_was_ready_must_be_what_is_done),
		cmocka_unit_test(a_disk_is_waited_for_through_who_polls),
		cmocka_unit_test(who_polls_knows_the_file),
		cmocka_unit_test(a_limit_is_waited_for_through_who_polls),
		cmocka_unit_test(a_limit_whose_end_wakes_who_polls_is_known),
		cmocka_unit_test(what_a_limit_held_back_for_others_is_not_for_who_polls),
		cmocka_unit_test(of_two_limits_either_may_be_it),
		cmocka_unit_test(what_ended_long_before_is_not_what_is_done),
		cmocka_unit_test(a_worker_is_at_its_request),
		cmocka_unit_test(of_a_request_that_was_not_given_only_its_file_is_told),
		cmocka_unit_test(of_an_idle_worker_nothing_is_told),
		cmocka_unit_test(a_ring_with_one_request_is_what_that_is_about),
		cmocka_unit_test(of_several_requests_all_that_are_open_are_told),
		cmocka_unit_test(else_it_is_the_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_charge.c - the verdict and the chain: each rule of charging by a trace to check by hand. */
#include "told.h"

static void work_is_charged_to_the_target(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 enter write\n"
				     " 40 cpu0 leave write 1\n"
				     " 50 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 1, 50),
			    "working 7 49 write 61 %, own code 20 %, running 18 %");
	assert_int_equal(told->why.chain_count, 0);
	told_free(told);
}

static void interrupts_are_charged_to_themselves(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 irq 24 eth0\n"
				     " 15 cpu0 irqexit 24\n"
				     " 15 cpu0 softirq NET_RX\n"
				     " 35 cpu0 softirqexit NET_RX\n"
				     " 70 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_of(told, 7),
			    "working 7 45 running; softirq 0 20 softirq NET_RX; "
			    "irq 0 5 irq 24 eth0");
	told_free(told);
}

static void preemption_is_charged_to_each_that_ran_instead(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 switch 7(runnable) 8\n"
				     " 30 cpu0 switch 8(runnable) 9\n"
				     " 35 cpu0 switch 9(runnable) 7\n"
				     " 40 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_of(told, 7),
			    "preempted 8 20 ran instead; working 7 15 running; "
			    "preempted 9 5 ran instead");
	told_free(told);
}

static void who_yields_is_not_preempted(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 enter sched_yield\n"
				     " 11 cpu0 switch 7(runnable) 8\n"
				     " 31 cpu0 switch 8(runnable) 9\n"
				     " 36 cpu0 switch 9(runnable) 7\n"
				     " 37 cpu0 leave sched_yield 0\n"
				     " 40 cpu0 switch 7(runnable) 8\n"
				     " 50 cpu0 switch 8(runnable) 7\n"
				     " 51 cpu0 enter sched_yield\n"
				     " 52 cpu0 leave sched_yield 0\n"
				     " 60 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_of(told, 7),
			    "working 7 25 own code 48 %, running 40 %, sched_yield 12 %; "
			    "cpu_queue 8 20 ran instead: after sched_yield(); "
			    "preempted 8 10 ran instead; "
			    "cpu_queue 9 5 ran instead: after sched_yield()");
	assert_int_equal(told->why.roots[1].why->kind, WHY_REASON_GAVE_WAY);
	assert_null(told->why.roots[2].why);
	told_free(told);
}

static void a_woken_thread_waits_for_the_queue(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     " 10 cpu0 switch 7(blocked) 8\n"
				     " 20 cpu1 waking 7 cpu 0\n"
				     " 50 cpu0 switch 8(blocked) 7\n"
				     " 55 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_of(told, 7),
			    "cpu_queue 8 30 ran instead; working 7 15 running; "
			    "other_thread 9 10 running");
	told_free(told);
}

/* 9 works 10-25, waits for the disk 25-40, works 40-60, wakes 7. */
static void a_wait_is_charged_to_what_the_waker_did_in_it(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     "  2 cpu0 enter read 3\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 20 cpu1 issue vda 8 R\n"
				     " 25 cpu1 switch 9(disk) 0\n"
				     " 38 cpu1 irq 24 virtio0\n"
				     " 39 cpu1 complete vda 8\n"
				     " 40 cpu1 waking 9\n"
				     " 40 cpu1 irqexit 24\n"
				     " 40 cpu1 switch 0(runnable) 9\n"
				     " 60 cpu1 waking 7 cpu 0\n"
				     " 60 cpu0 switch 0(runnable) 7\n"
				     " 65 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_of(told, 7),
			    "other_thread 9 35 running; working 7 15 read 87 %, "
			    "running 13 %; disk 9 15 vda read");
	told_free(told);
}

static void the_chain_goes_down_to_the_largest_root(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     "  2 cpu0 enter read 3\n"
				     "  5 cpu0 switch 7(blocked) 0\n"
				     "  6 cpu1 enter nanosleep\n"
				     "  8 cpu1 switch 9(blocked) 0\n"
				     " 88 cpu1 vector local_timer\n"
				     " 89 cpu1 hrtimer hrtimer_wakeup 1\n"
				     " 90 cpu1 waking 9\n"
				     " 91 cpu1 hrtimerdone\n"
				     " 91 cpu1 vectorexit local_timer\n"
				     " 92 cpu1 switch 0(runnable) 9\n"
				     " 95 cpu1 waking 7 cpu 0\n"
				     " 96 cpu0 switch 0(runnable) 7\n"
				     "100 cpu0 switch 7(blocked) 0\n");

	(void)explained(told, 7, 0, 0);
	assert_int_equal(told->why.roots[0].kind, WHY_TIMER);
	assert_int_equal(told->why.roots[0].ns, 90 - 8);
	assert_string_equal(chain_text(told), "7 read 82, 9 nanosleep 82, 9 nanosleep 82");
	told_free(told);
}

static void before_its_birth_the_waker_is_its_parent(void **unused)
{
	/* 9 works from 10 to 30, forks 12, which works from 40 to 60 and wakes 7. */
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 30 cpu1 fork 12\n"
				     " 40 cpu1 switch 9(blocked) 12\n"
				     " 60 cpu1 waking 7 cpu 0\n"
				     " 60 cpu0 switch 0(runnable) 7\n"
				     " 70 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_of(told, 7),
			    "working 7 20 running; other_thread 9 20 running; "
			    "other_thread 12 20 running; cpu_queue 9 10 ran instead");
	told_free(told);
}

static void before_its_birth_the_target_is_its_parent(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 9\n"
				     " 30 cpu0 fork 12\n"
				     " 40 cpu0 switch 9(blocked) 12\n"
				     " 60 cpu0 switch 12(blocked) 0\n");

	assert_string_equal(
		verdict_in(told, 12, 10, 60),
		"working 9 20 running; working 12 20 running; cpu_queue 9 10 ran instead");
	/* It lived in no part of the window. */
	(void)explained(told, 12, 10, 20);
	assert_int_equal(told->why.target.tid, 9);
	assert_int_equal(told->why.stood_in_for, 12);
	told_free(told);
}

/* A kworker wakes 7: until the work was queued, 8 was awaited; since then the kworker. */
static void work_is_charged_to_who_queued_it_until_then(void **unused)
{
	struct told *told = replayed("thread 50 50 2 I kworker kernel\n"
				     "  0 cpu0 switch 0(runnable) 8\n"
				     "  0 cpu1 switch 0(runnable) 7\n"
				     " 10 cpu1 switch 7(blocked) 0\n"
				     " 20 cpu0 queuework 5 flush_fn\n"
				     " 20 cpu0 waking 50 cpu 0\n"
				     " 25 cpu0 switch 8(blocked) 50\n"
				     " 25 cpu0 work 5 flush_fn\n"
				     " 40 cpu0 waking 7 cpu 1\n"
				     " 40 cpu1 switch 0(runnable) 7\n"
				     " 70 cpu1 switch 7(blocked) 0\n");

	assert_string_equal(verdict_of(told, 7),
			    "working 7 40 running; other_thread 50 15 work flush_fn; "
			    "other_thread 8 10 running; cpu_queue 8 5 ran instead");
	told_free(told);
}

/* Sent at 20 by 9, received at 40 out of the idle task: 9 does something else by then. */
static void a_sender_is_awaited_until_it_has_sent(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     "  5 cpu0 enter recvfrom 3\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 20 cpu1 netrx 5 lo\n"
				     " 22 cpu1 switch 9(blocked) 0\n"
				     " 35 cpu1 softirq NET_RX\n"
				     " 36 cpu1 receive 5 lo\n"
				     " 40 cpu1 waking 7 cpu 0\n"
				     " 41 cpu1 softirqexit NET_RX\n"
				     " 45 cpu0 switch 0(runnable) 7\n"
				     " 46 cpu0 waking 9 cpu 1\n" /* 9 waits for 7: no circle */
				     " 48 cpu1 switch 0(runnable) 9\n"
				     " 50 cpu1 switch 9(blocked) 0\n");

	(void)explained(told, 7, 10, 40);
	assert_string_equal(roots_text(told), "network 7 20 packet on lo [fd 3]; "
					      "other_thread 9 10 running");
	assert_int_equal(told->why.depth_limit_hits, 0);
	told_free(told);
}

static void a_sender_that_delivers_itself_is_awaited_to_the_end(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     "  5 cpu0 enter recvfrom 3\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 15 cpu1 enter sendto 3\n"
				     " 20 cpu1 netrx 5 lo\n"
				     " 25 cpu1 softirq NET_RX\n"
				     " 26 cpu1 receive 5 lo\n"
				     " 40 cpu1 waking 7 cpu 0\n"
				     " 41 cpu1 softirqexit NET_RX\n"
				     " 45 cpu0 switch 0(runnable) 7\n"
				     " 50 cpu1 switch 9(blocked) 0\n");

	assert_string_equal(
		verdict_in(told, 7, 10, 40),
		"softirq 0 15 softirq NET_RX; other_thread 9 15 sendto 67 %, running 33 %");
	told_free(told);
}

/* 7 waits for data that its peer held back until 7's side acknowledged what came before, late. */
static void a_packet_that_a_timer_let_go_names_the_timer(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter recvfrom 3\n"
				     " 10 cpu0 switch 7(blocked) 9\n"
				     " 40 cpu0 softirq TIMER\n"
				     " 40 cpu0 hrtimer tcp_delack_timer\n"
				     " 41 cpu0 netrx 5 lo\n"
				     " 42 cpu0 hrtimerdone\n"
				     " 43 cpu0 softirqexit TIMER\n"
				     " 44 cpu0 softirq NET_RX\n"
				     " 45 cpu0 receive 5 lo\n"
				     " 46 cpu0 netrx 6 lo\n"
				     " 47 cpu0 receive 6 lo\n"
				     " 50 cpu0 waking 7 cpu 0\n"
				     " 51 cpu0 softirqexit NET_RX\n"
				     " 60 cpu0 switch 9(blocked) 7\n");

	assert_string_equal(verdict_in(told, 7, 10, 50),
			    "network 7 40 packet on lo, sent when timer tcp_delack_timer went off "
			    "(TCP's delayed acknowledgement) [fd 3]");
	told_free(told);
}

/*
 * 7 cannot send more, as its peer 9 does not read: 9 does at last, and in the same softirq what 7's side had held back
 * goes out, comes in, and is acknowledged.
 */
static void a_packet_that_a_packet_let_go_is_of_who_sent_that(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     "  5 cpu0 enter sendto 3\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 30 cpu1 enter recvfrom 3\n"
				     " 31 cpu1 netrx 5 lo\n"
				     " 31 cpu1 softirq NET_RX\n"
				     " 32 cpu1 receive 5 lo\n"
				     " 33 cpu1 netrx 6 lo\n"
				     " 34 cpu1 receive 6 lo\n"
				     " 35 cpu1 netrx 7 lo\n"
				     " 36 cpu1 receive 7 lo\n"
				     " 40 cpu1 waking 7 cpu 0\n"
				     " 41 cpu1 softirqexit NET_RX\n"
				     " 45 cpu0 switch 0(runnable) 7\n"
				     " 50 cpu1 switch 9(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40),
			    "other_thread 9 21 running; softirq 0 9 softirq NET_RX");
	told_free(told);
}

/* The address of a packet is used again: that one comes from outside. */
static void a_packet_of_no_timer_names_none(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter recvfrom 3\n"
				     " 10 cpu0 switch 7(blocked) 9\n"
				     " 40 cpu0 softirq TIMER\n"
				     " 40 cpu0 hrtimer tcp_write_timer\n"
				     " 41 cpu0 netrx 5 lo\n"
				     " 42 cpu0 hrtimerdone\n"
				     " 43 cpu0 softirqexit TIMER\n"
				     " 44 cpu0 softirq NET_RX\n"
				     " 45 cpu0 receive 5 lo\n"
				     " 46 cpu0 softirqexit NET_RX\n"
				     " 47 cpu0 softirq NET_RX\n"
				     " 48 cpu0 receive 5 eth0\n"
				     " 50 cpu0 waking 7 cpu 0\n"
				     " 51 cpu0 softirqexit NET_RX\n"
				     " 60 cpu0 switch 9(blocked) 7\n");

	assert_string_equal(verdict_in(told, 7, 10, 50), "network 7 40 packet on eth0 [fd 3]");
	told_free(told);
}

static void work_under_a_lock_is_of_the_lock(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     "  5 cpu0 enter futex 0x7f00 128 2\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu1 waking 7 cpu 0\n"
				     " 40 cpu0 switch 0(runnable) 7\n"
				     " 45 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40), "lock 9 30 running [futex 0x7f00]");
	told_free(told);
}

static void a_signal_leads_to_its_sender(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     "  5 cpu0 enter pause\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu1 waking 7 cpu 0\n"
				     " 40 cpu1 signal 10 7\n"
				     " 40 cpu0 switch 0(runnable) 7\n"
				     " 45 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40), "other_thread 9 30 running");
	assert_int_equal(told->why.waits[0].waker, WHY_WAKER_SIGNAL);
	assert_string_equal(told->why.waits[0].waker_name, "SIGUSR1");
	told_free(told);
}

static void a_wait_that_nothing_ends_is_in_vain_unless_it_sleeps(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter read 3\n"
				     " 10 cpu0 switch 7(blocked) 8\n"
				     " 15 cpu0 enter nanosleep\n"
				     " 20 cpu0 switch 8(blocked) 0\n"
				     " 90 cpu0 switch 0(runnable) 9\n");

	assert_string_equal(verdict_in(told, 7, 10, 90),
			    "stuck 7 80 read: the recording ended [fd 3]");
	assert_string_equal(told_reason(told->why.chain[0].instead), "the recording ended");
	assert_string_equal(verdict_in(told, 7, 10, 40),
			    "stuck 7 30 read: the recording ended [fd 3]");
	assert_string_equal(verdict_in(told, 8, 20, 90), "timer 8 70 nanosleep");
	told_free(told);
}

/* 7 waits for 8, its only child, which hangs; then for one of two: each has its part. */
static void who_waits_for_a_child_that_hangs_hangs_there(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R sh\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  1 cpu0 enter fork\n"
				     "  2 cpu0 newtask 8\n"
				     "  3 cpu0 leave fork 8\n"
				     "  5 cpu0 enter wait4 -1\n"
				     " 10 cpu0 switch 7(blocked) 8\n"
				     " 15 cpu0 leave fork 0\n"
				     " 20 cpu0 enter read 3\n"
				     " 30 cpu0 switch 8(blocked) 9\n"
				     " 90 cpu0 switch 9(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 30, 90),
			    "stuck 8 60 read: the recording ended [fd 3]");
	assert_string_equal(chain_text(told), "7 wait4 60, 8 read 60, 8 read 60");
	assert_string_equal(told_reason(told->why.chain[0].instead), "the recording ended");
	told_free(told);
	told = replayed("thread 7 7 1 R sh\n"
			"thread 8 8 7 S one\n"
			"thread 9 9 7 S two\n"
			"  0 cpu0 switch 0(runnable) 7\n"
			"  5 cpu0 enter wait4 -1\n"
			" 10 cpu0 switch 7(blocked) 6\n"
			" 90 cpu0 switch 6(blocked) 0\n");
	assert_string_equal(verdict_in(told, 7, 30, 90),
			    "stuck 8 30 a wait that began unseen: the recording ended; "
			    "stuck 9 30 a wait that began unseen: the recording ended");
	assert_string_equal(
		told_reason(told->why.roots[0].inferred),
		"any of 2 children could end the wait; each is charged an equal part, which is not measured");
	told_free(told);
}

#define WAITS_AND_IS_SENT(SIGNAL)                \
	"  0 cpu0 switch 0(runnable) 7\n"        \
	"  0 cpu1 switch 0(runnable) 9:killer\n" \
	"  5 cpu0 enter read 3\n"                \
	" 10 cpu0 switch 7(blocked) 0\n"         \
	" 40 cpu1 waking 7 cpu 0\n"              \
	" 40 cpu1 signal " SIGNAL " 7\n"         \
	" 42 cpu0 switch 0(runnable) 7\n"        \
	" 43 cpu0 leave read -512\n"

/* 9 did nothing that 7 waited for: it ended it. */
static void who_ends_a_thread_is_not_what_it_waited_for(void **unused)
{
	struct told *told = replayed(WAITS_AND_IS_SENT("15") " 44 cpu0 exit 7\n"
							     " 45 cpu0 switch 7(dead) 0\n"
							     " 60 cpu1 switch 9(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40),
			    "stuck 7 30 read: SIGTERM of killer[9] ended it [fd 3]");
	assert_string_equal(chain_text(told), "7 read 30, 7 read 30");
	told_free(told);
}

/* A sleep is one, however it ended: until then it slept. */
static void who_ends_a_sleep_is_told_with_it(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9:killer\n"
				     "  5 cpu0 enter clock_nanosleep\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu1 waking 7 cpu 0\n"
				     " 40 cpu1 signal 9 7\n"
				     " 42 cpu0 switch 0(runnable) 7\n"
				     " 43 cpu0 leave clock_nanosleep -516\n"
				     " 44 cpu0 exit 7\n"
				     " 45 cpu0 switch 7(dead) 0\n"
				     " 60 cpu1 switch 9(blocked) 0\n");

	(void)verdict_in(told, 7, 10, 40);
	assert_int_equal(told->why.roots[0].kind, WHY_TIMER);
	assert_string_equal(told_reason(told->why.roots[0].why), "SIGKILL of killer[9] ended it");
	told_free(told);
}

#define HANDLES_IT                         \
	" 44 cpu0 enter rt_sigreturn\n"    \
	" 45 cpu0 leave rt_sigreturn -4\n" \
	" 46 cpu0 exit 7\n"                \
	" 47 cpu0 switch 7(dead) 0\n"      \
	" 60 cpu1 switch 9(blocked) 0\n"

static void a_signal_that_is_handled_is_what_ended_the_wait(void **unused)
{
	struct told *told = replayed(WAITS_AND_IS_SENT("10") HANDLES_IT);

	assert_string_equal(verdict_in(told, 7, 10, 40), "other_thread 9 30 running");
	told_free(told);
}

/* What the reader of a report does who has waited long enough. */
static void who_asks_a_thread_to_end_is_not_what_it_waited_for(void **unused)
{
	struct told *told = replayed(WAITS_AND_IS_SENT("2") HANDLES_IT);

	assert_string_equal(verdict_in(told, 7, 10, 40),
			    "stuck 7 30 read: SIGINT of killer[9] interrupted it [fd 3]");
	told_free(told);
	told = replayed("  0 cpu0 switch 0(runnable) 7\n"
			"  0 cpu1 switch 0(runnable) 9\n"
			"  5 cpu0 enter rt_sigsuspend\n"
			" 10 cpu0 switch 7(blocked) 0\n"
			" 40 cpu1 waking 7 cpu 0\n"
			" 40 cpu1 signal 2 7\n"
			" 40 cpu0 switch 0(runnable) 7\n"
			" 45 cpu0 switch 7(blocked) 0\n");
	assert_string_equal(verdict_in(told, 7, 10, 40), "other_thread 9 30 running");
	told_free(told);
}

/* The first wait was ended by 9, the second one was in vain. */
static void a_wait_that_went_on_after_a_signal_is_not_in_vain(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9:killer\n"
				     "  5 cpu0 enter read 3\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 20 cpu1 waking 7 cpu 0\n"
				     " 20 cpu0 switch 0(runnable) 7\n"
				     " 21 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu1 waking 7 cpu 0\n"
				     " 40 cpu1 signal 9 7\n"
				     " 40 cpu0 switch 0(runnable) 7\n"
				     " 41 cpu0 leave read -512\n"
				     " 42 cpu0 exit 7\n"
				     " 45 cpu0 switch 7(dead) 0\n"
				     " 60 cpu1 switch 9(blocked) 0\n");

	assert_string_equal(
		verdict_in(told, 7, 10, 40),
		"stuck 7 19 read: SIGKILL of killer[9] ended it [fd 3]; other_thread 9 10 running; working 7 1 read");
	told_free(told);
}

/* 8 is a thread of 7, which exits: no signal is recorded for 8. */
static void the_other_threads_of_what_ends_waited_in_vain(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R main\n"
				     "thread 8 7 1 R pool\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     "  5 cpu1 enter futex 0x7f00 137 2\n"
				     " 10 cpu1 switch 8(blocked) 0\n"
				     " 35 cpu0 enter exit_group\n"
				     " 40 cpu0 waking 8 cpu 1\n"
				     " 42 cpu1 switch 0(runnable) 8\n"
				     " 43 cpu1 leave futex -512\n"
				     " 44 cpu1 exit 8\n"
				     " 45 cpu1 switch 8(dead) 0\n"
				     " 60 cpu0 exit 7\n"
				     " 61 cpu0 switch 7(dead) 0\n");

	assert_string_equal(verdict_in(told, 8, 10, 40),
			    "stuck 8 30 futex: its process ended [futex 0x7f00]");
	told_free(told);
}

/* Where 8 ends the process, 7, its first thread, was held up by what 8 did: a task of Go goes on in any thread. */
static void the_first_thread_was_there_until_another_ended_the_process(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R main\n"
				     "thread 8 7 1 R pool\n"
				     "  0 cpu0 switch 0(runnable) 8\n"
				     "  0 cpu1 switch 0(runnable) 7\n"
				     "  5 cpu1 enter futex 0x7f00 137 2\n"
				     " 10 cpu1 switch 7(blocked) 0\n"
				     " 35 cpu0 enter exit_group\n"
				     " 40 cpu0 waking 7 cpu 1\n"
				     " 42 cpu1 switch 0(runnable) 7\n"
				     " 43 cpu1 leave futex -512\n"
				     " 44 cpu1 exit 7\n"
				     " 45 cpu1 switch 7(dead) 0\n"
				     " 60 cpu0 exit 8\n"
				     " 61 cpu0 switch 8(dead) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40),
			    "other_thread 8 30 running 83 %, exit_group 17 %");
	told_free(told);
}

/* 7 ends its process; chance has it that 8 is the last thread to go, and wakes who waits for all of that. */
static void until_it_ended_its_process_that_one_was_awaited(void **unused)
{
	struct told *told = replayed("thread 5 5 1 R parent\n"
				     "thread 7 7 5 R main\n"
				     "thread 8 7 5 R pool\n"
				     "  0 cpu0 switch 0(runnable) 5\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     "  1 cpu1 enter futex 0x7f00 137 2\n"
				     "  2 cpu1 switch 8(blocked) 0\n"
				     "  5 cpu0 enter wait4 7\n"
				     " 10 cpu0 switch 5(blocked) 7\n"
				     " 40 cpu0 enter exit_group\n"
				     " 41 cpu0 waking 8 cpu 1\n"
				     " 42 cpu0 exit 7\n"
				     " 43 cpu0 switch 7(dead) 0\n"
				     " 45 cpu1 switch 0(runnable) 8\n"
				     " 46 cpu1 leave futex -512\n"
				     " 47 cpu1 exit 8\n"
				     " 50 cpu1 waking 5 cpu 0\n"
				     " 51 cpu1 switch 8(dead) 0\n"
				     " 52 cpu0 switch 0(runnable) 5\n"
				     " 60 cpu0 switch 5(blocked) 0\n");
	const struct why_root *first;

	first = &explained(told, 5, 10, 50)->roots[0];
	assert_int_equal(first->kind, WHY_OTHER_THREAD);
	assert_int_equal(first->who.tid, 7);
	assert_int_equal(first->ns, 30);
	for (size_t i = 1; i < told->why.root_count; i++)
		assert_true(told->why.roots[i].kind != WHY_STUCK || told->why.roots[i].ns <= 1);
	told_free(told);
}

static void an_own_timer_that_sends_a_signal_is_a_time_out(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter read 3\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu0 vector local_timer\n"
				     " 40 cpu0 hrtimer it_real_fn\n"
				     " 40 cpu0 waking 7 cpu 0\n"
				     " 40 cpu0 signal 14 7\n"
				     " 40 cpu0 hrtimerdone\n"
				     " 41 cpu0 vectorexit local_timer\n"
				     " 42 cpu0 switch 0(runnable) 7\n"
				     " 43 cpu0 leave read -512\n"
				     " 44 cpu0 enter rt_sigreturn\n"
				     " 50 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40), "timer 7 30 read [fd 3]");
	assert_true(told->why.roots[0].timed_out);
	assert_int_equal(told->why.asked_ns, 30);
	assert_int_equal(told->why.held_up_ns, 0);
	told_free(told);
}

/* Its timers wake only who is to hear of that. */
static void a_connection_that_gives_up_is_the_network(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter connect 3\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu0 softirq TIMER\n"
				     " 40 cpu0 hrtimer tcp_write_timer\n"
				     " 40 cpu0 waking 7 cpu 0\n"
				     " 40 cpu0 hrtimerdone\n"
				     " 41 cpu0 softirqexit TIMER\n"
				     " 42 cpu0 switch 0(runnable) 7\n"
				     " 43 cpu0 leave connect -110\n"
				     " 50 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40),
			    "network 7 30 TCP gave up: the other end acknowledged nothing [fd 3]");
	assert_int_equal(told->why.held_up_ns, 30);
	assert_int_equal(told->why.asked_ns, 0);
	told_free(told);
}

static void a_limit_that_ran_out_is_no_sleep(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter poll 0x100 1 35\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu0 vector local_timer\n"
				     " 40 cpu0 hrtimer hrtimer_wakeup\n"
				     " 40 cpu0 waking 7 cpu 0\n"
				     " 40 cpu0 hrtimerdone\n"
				     " 41 cpu0 vectorexit local_timer\n"
				     " 42 cpu0 switch 0(runnable) 7\n"
				     " 43 cpu0 leave poll 0\n"
				     " 44 cpu0 enter nanosleep\n"
				     " 45 cpu0 switch 7(blocked) 0\n"
				     " 50 cpu0 vector local_timer\n"
				     " 50 cpu0 hrtimer hrtimer_wakeup\n"
				     " 50 cpu0 waking 7 cpu 0\n"
				     " 50 cpu0 hrtimerdone\n"
				     " 51 cpu0 vectorexit local_timer\n"
				     " 52 cpu0 switch 0(runnable) 7\n"
				     " 60 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40), "timer 7 30 poll");
	assert_true(told->why.roots[0].timed_out);
	assert_int_equal(told->why.asked_ns, 30);
	assert_string_equal(verdict_in(told, 7, 45, 50), "timer 7 5 nanosleep");
	assert_false(told->why.roots[0].timed_out);
	told_free(told);
}

/* Of several things that it watches, also where nobody has told which: no limit of a call has such a timer. */
static void a_timerfd_is_no_limit(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter epoll_wait 3\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu0 vector local_timer\n"
				     " 40 cpu0 hrtimer timerfd_tmrproc\n"
				     " 40 cpu0 waking 7 cpu 0\n"
				     " 40 cpu0 hrtimerdone\n"
				     " 41 cpu0 vectorexit local_timer\n"
				     " 42 cpu0 switch 0(runnable) 7\n"
				     " 60 cpu0 switch 7(blocked) 0\n");

	assert_int_equal(verdict_in(told, 7, 10, 40) != NULL, true);
	assert_int_equal(told->why.roots[0].kind, WHY_TIMER);
	assert_false(told->why.roots[0].timed_out);
	assert_int_equal(told->why.asked_ns, 30);
	told_free(told);
}

/* As work_under_a_lock_is_of_the_lock; 129 is FUTEX_WAKE_PRIVATE. */
static void who_wakes_all_held_no_lock(void **unused)
{
	static const char *const kinds[] = { "lock 9 30 running 83 %, futex 17 % [futex 0x7f00]",
					     "other_thread 9 30 running 83 %, futex 17 %" };
	static const char *const woken[] = { "1", "0x7fffffff" };

	for (size_t i = 0; i < 2; i++) {
		struct text_trace *trace = text_trace_of("  0 cpu0 switch 0(runnable) 7\n"
							 "  0 cpu1 switch 0(runnable) 9\n"
							 "  5 cpu0 enter futex 0x7f00 128 2\n"
							 " 10 cpu0 switch 7(blocked) 0\n");
		struct told *told;
		char line[80];

		snprintf(line, sizeof(line), "35 cpu1 enter futex 0x7f00 129 %s\n", woken[i]);
		text_trace_add(trace, line);
		text_trace_add(trace, " 40 cpu1 waking 7 cpu 0\n"
				      " 40 cpu0 switch 0(runnable) 7\n"
				      " 45 cpu0 switch 7(blocked) 0\n");
		told = told_trace(trace);
		assert_string_equal(verdict_in(told, 7, 10, 40), kinds[i]);
		told_free(told);
	}
}

static void a_message_queue_is_no_lock(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     "  5 cpu0 enter msgrcv 3\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu1 waking 7 cpu 0\n"
				     " 40 cpu0 switch 0(runnable) 7\n"
				     " 45 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40), "other_thread 9 30 running");
	assert_string_equal(told->why.chain[0].object, "System V message queue 3");
	told_free(told);
}

/* 9, which wakes 7, had its CPU taken by 8. */
static void who_had_no_cpu_is_named_where_it_is_one(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 15 cpu1 switch 9(runnable) 8\n"
				     " 35 cpu1 switch 8(runnable) 9\n"
				     " 40 cpu1 waking 7 cpu 0\n"
				     " 40 cpu0 switch 0(runnable) 7\n"
				     " 45 cpu0 switch 7(runnable) 8\n"
				     " 50 cpu0 switch 8(runnable) 7\n"
				     " 55 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(verdict_in(told, 7, 10, 40),
			    "preempted 8 20 ran instead; other_thread 9 10 running");
	assert_int_equal(told->why.roots[0].kept_off.tid, 9);
	assert_string_equal(verdict_in(told, 7, 45, 50), "preempted 8 5 ran instead");
	assert_int_equal(told->why.roots[0].kept_off.tid, 0);
	told_free(told);
}

static void what_was_lost_is_unknown_with_the_reason(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 30 cpu0 lost 10 9\n"
				     " 40 cpu0 by 7 switch 7(blocked) 0\n");

	assert_string_equal(verdict_of(told, 7),
			    "working 7 20 running; unknown 7 20 events were lost");
	assert_int_equal(told->why.lost_events, 9);
	assert_int_equal(told->why.lost_span_ns, 20);
	told_free(told);
}

/* -------------------------------------------------------------------- classes */

static void sleeping_idling_and_being_held_up_are_told_apart(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R server\n"
				     "fd 7 6 listen \"tcp *:80\"\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  1 cpu0 enter nanosleep\n"
				     "  2 cpu0 switch 7(blocked) 8\n"
				     " 10 cpu0 vector local_timer\n"
				     " 10 cpu0 hrtimer hrtimer_wakeup 1\n"
				     " 12 cpu0 waking 7\n"
				     " 12 cpu0 hrtimerdone\n"
				     " 12 cpu0 vectorexit local_timer\n"
				     " 12 cpu0 switch 8(runnable) 7\n"
				     " 13 cpu0 enter accept4 6\n"
				     " 14 cpu0 switch 7(blocked) 8\n"
				     " 34 cpu0 waking 7\n"
				     " 34 cpu0 switch 8(runnable) 7\n"
				     " 35 cpu0 enter read 9\n"
				     " 36 cpu0 switch 7(blocked) 8\n"
				     " 66 cpu0 waking 7\n"
				     " 66 cpu0 switch 8(runnable) 7\n"
				     " 70 cpu0 switch 7(blocked) 8\n");

	(void)explained(told, 7, 0, 0);
	assert_int_equal(told->why.asked_ns, 10);
	assert_int_equal(told->why.idle_ns, 20);
	assert_int_equal(told->why.held_up_ns, 30);
	assert_int_equal(told->why.blocked_ns, 60);
	told_free(told);
}

/*
 * 7 times out, has 8 do something, and waits on; 8 tells it when it has done that. Up to its time-out 8 had waited
 * for 7, and could not have ended its wait.
 */
static void who_had_who_ends_the_wait_wait_for_it_waited_until_its_own_time_out(void **unused)
{
	struct told *told = replayed("0us cpu0 switch 0(runnable) 7\n"
				     "0us cpu1 switch 0(runnable) 8\n"
				     "1us cpu1 enter futex 8192 128\n"
				     "2us cpu1 switch 8(blocked) 0\n"
				     "3us cpu0 enter futex 4096 128\n"
				     "4us cpu0 switch 7(blocked) 0\n"
				     "100004us cpu0 vector local_timer\n"
				     "100004us cpu0 hrtimer hrtimer_wakeup\n"
				     "100004us cpu0 waking 7 cpu 0\n"
				     "100004us cpu0 hrtimerdone\n"
				     "100004us cpu0 vectorexit local_timer\n"
				     "100004us cpu0 switch 0(runnable) 7\n"
				     "100005us cpu0 leave futex -110\n"
				     "100006us cpu0 enter futex 8192 129\n"
				     "100007us cpu0 waking 8 cpu 1\n"
				     "100007us cpu1 switch 0(runnable) 8\n"
				     "100008us cpu0 leave futex 1\n"
				     "100009us cpu0 enter futex 4096 128\n"
				     "100010us cpu0 switch 7(blocked) 0\n"
				     "110010us cpu1 waking 7 cpu 0\n"
				     "110010us cpu0 switch 0(runnable) 7\n"
				     "110011us cpu0 leave futex 0\n"
				     "110012us cpu0 switch 7(blocked) 0\n");

	(void)explained(told, 7, 0, 0);
	assert_int_equal(told->why.roots[0].kind, WHY_TIMER);
	assert_int_equal(told->why.roots[0].who.tid, 7);
	assert_int_equal(told->why.roots[0].class, WHY_ASKED);
	assert_int_equal(told->why.asked_ns, 100000000);
	assert_int_equal(told->why.held_up_ns, 10000000);
	told_free(told);
}

/* -------------------------------------------------------------------- windows */

static void a_window_cuts_what_is_charged(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 switch 7(blocked) 8\n"
				     " 40 cpu0 waking 7\n"
				     " 55 cpu0 switch 8(runnable) 7\n"
				     " 60 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(verdict_in(told, 7, 20, 45),
			    "other_thread 8 20 running; cpu_queue 8 5 ran instead");
	assert_int_equal(told->why.start_ns, 20);
	assert_int_equal(told->why.end_ns, 45);
	assert_int_equal(told->why.blocked_ns, 20);
	told_free(told);
}

static void an_empty_window_is_an_error(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 60 cpu0 switch 7(blocked) 8\n");
	struct why_opts opts = { .slot = slot_of(told, 7), .start_ns = 40, .end_ns = 40 };
	struct err err = { 0 };
	struct why why;

	assert_true(why_run(told->tl, &told->trace->facts, &opts, &why, &err) < 0);
	opts = (struct why_opts){ .slot = 999 };
	assert_true(why_run(told->tl, &told->trace->facts, &opts, &why, &err) < 0);
	told_free(told);
}

/* Forty threads, each waiting for the next: the bound on depth is far. */
static void a_long_chain_is_followed_to_its_end(void **unused)
{
	struct text_trace *trace = text_trace_new();
	struct told *told;
	char line[80];

	text_trace_add(trace, "0 cpu0 switch 0(runnable) 100\n");
	for (int i = 0; i < 40; i++) {
		snprintf(line, sizeof(line), "%d cpu0 switch %d(blocked) %d\n", 10 + i, 100 + i,
			 101 + i);
		text_trace_add(trace, line);
	}
	for (int i = 40; i > 0; i--) {
		snprintf(line, sizeof(line), "%d cpu0 waking %d\n", 1000 + 10 * (40 - i), 99 + i);
		text_trace_add(trace, line);
		snprintf(line, sizeof(line), "%d cpu0 switch %d(blocked) %d\n",
			 1005 + 10 * (40 - i), 100 + i, 99 + i);
		text_trace_add(trace, line);
	}
	told = told_trace(trace);
	(void)explained(told, 100, 0, 0);
	assert_int_equal(told->why.roots[0].who.tid, 140);
	assert_int_equal(told->why.chain_count, 41);
	assert_int_equal(told->why.depth_limit_hits, 0);
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_charged_to_the_target),
		cmocka_unit_test(interrupts_are_charged_to_themselves),
		cmocka_unit_test(preemption_is_charged_to_each_that_ran_instead),
		cmocka_unit_test(who_yields_is_not_preempted),
		cmocka_unit_test(a_woken_thread_waits_for_the_queue),
		cmocka_unit_test(a_wait_is_charged_to_what_the_waker_did_in_it),
		cmocka_unit_test(the_chain_goes_down_to_the_largest_root),
		cmocka_unit_test(before_its_birth_the_waker_is_its_parent),
		cmocka_unit_test(before_its_birth_the_target_is_its_parent),
		cmocka_unit_test(work_is_charged_to_who_queued_it_until_then),
		cmocka_unit_test(a_sender_is_awaited_until_it_has_sent),
		cmocka_unit_test(a_sender_that_delivers_itself_is_awaited_to_the_end),
		cmocka_unit_test(a_packet_that_a_timer_let_go_names_the_timer),
		cmocka_unit_test(a_packet_that_a_packet_let_go_is_of_who_sent_that),
		cmocka_unit_test(a_packet_of_no_timer_names_none),
		cmocka_unit_test(work_under_a_lock_is_of_the_lock),
		cmocka_unit_test(a_signal_leads_to_its_sender),
		cmocka_unit_test(a_wait_that_nothing_ends_is_in_vain_unless_it_sleeps),
		cmocka_unit_test(who_waits_for_a_child_that_hangs_hangs_there),
		cmocka_unit_test(who_ends_a_thread_is_not_what_it_waited_for),
		cmocka_unit_test(who_ends_a_sleep_is_told_with_it),
		cmocka_unit_test(a_signal_that_is_handled_is_what_ended_the_wait),
		cmocka_unit_test(who_asks_a_thread_to_end_is_not_what_it_waited_for),
		cmocka_unit_test(a_wait_that_went_on_after_a_signal_is_not_in_vain),
		cmocka_unit_test(the_other_threads_of_what_ends_waited_in_vain),
		cmocka_unit_test(the_first_thread_was_there_until_another_ended_the_process),
		cmocka_unit_test(until_it_ended_its_process_that_one_was_awaited),
		cmocka_unit_test(an_own_timer_that_sends_a_signal_is_a_time_out),
		cmocka_unit_test(a_connection_that_gives_up_is_the_network),
		cmocka_unit_test(a_limit_that_ran_out_is_no_sleep),
		cmocka_unit_test(a_timerfd_is_no_limit),
		cmocka_unit_test(who_wakes_all_held_no_lock),
		cmocka_unit_test(a_message_queue_is_no_lock),
		cmocka_unit_test(who_had_no_cpu_is_named_where_it_is_one),
		cmocka_unit_test(what_was_lost_is_unknown_with_the_reason),
		cmocka_unit_test(sleeping_idling_and_being_held_up_are_told_apart),
		cmocka_unit_test(
			who_had_who_ends_the_wait_wait_for_it_waited_until_its_own_time_out),
		cmocka_unit_test(a_window_cuts_what_is_charged),
		cmocka_unit_test(an_empty_window_is_an_error),
		cmocka_unit_test(a_long_chain_is_followed_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

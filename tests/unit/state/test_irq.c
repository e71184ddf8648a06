/* test_irq.c - interrupts and softirqs, and who stands behind a wake-up out of them. */
#include "timeline/totals.h"
#include "told.h"

/* ------------------------------------------------------------------- nesting */

static void an_interrupt_lies_over_what_it_interrupts(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter write\n"
				     " 10 cpu0 irq 24 eth0\n"
				     " 13 cpu0 irqexit 24\n"
				     " 20 cpu0 leave write 1\n"
				     " 30 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 5 write, 10 irq:24 eth0, 13 write, 20 user - 30");
	assert_int_equal(spent_ns(told, 7, WIB_INTERRUPTED), 3);
	told_free(told);
}

static void an_interrupt_nests_in_a_softirq(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 softirq NET_RX\n"
				     " 10 cpu0 vector local_timer\n"
				     " 13 cpu0 vectorexit local_timer\n"
				     " 20 cpu0 softirqexit NET_RX\n"
				     " 30 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 5 softirq:NET_RX, 10 vector:local_timer, "
			    "13 softirq:NET_RX, 20 running - 30");
	told_free(told);
}

static void an_exit_without_its_entry_changes_nothing(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 irqexit 24\n"
				     " 10 cpu0 softirqexit RCU\n"
				     " 12 cpu0 vectorexit irq_work\n"
				     " 30 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running - 30");
	told_free(told);
}

static void a_system_call_ends_interrupts_whose_exit_is_missing(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 irq 24 eth0\n"
				     " 10 cpu0 enter write\n"
				     " 30 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 5 irq:24 eth0, 10 write - 30");
	told_free(told);
}

static void deeper_than_any_kernel_nests_does_no_harm(void **unused)
{
	struct text_trace *trace = text_trace_of("0 cpu0 switch 0(runnable) 7\n");
	struct event ev = { .type = EV_IRQ_ENTRY, .tid = 7, .context = 3, .irq = { .name = "x" } };

	for (ev.time_ns = 1; ev.time_ns < 40; ev.time_ns++)
		tt_add(trace, &ev);
	ev.type = EV_IRQ_EXIT;
	for (; ev.time_ns < 90; ev.time_ns++)
		tt_add(trace, &ev);
	told_free(told_trace(trace));
}

/* Where interrupts are not recorded, a waking out of one makes no doubt. */
static void interrupts_that_are_not_recorded_are_part_of_what_they_interrupt(void **unused)
{
	struct text_trace *trace = text_trace_of("  0 cpu0 switch 0(runnable) 7\n"
						 "  5 cpu0 waking 9\n"
						 " 10 cpu0 waking 8\n"
						 " 15 cpu0 lost 10 1\n"
						 " 15 cpu0 by 7 waking 8\n"
						 " 30 cpu0 switch 7(blocked) 0\n");
	struct told *told;

	trace->events[1].context = trace->events[2].context = trace->events[4].context =
		EV_CTX_KNOWN | EV_CTX_HARDIRQ;
	told = told_trace(trace);
	assert_string_equal(track_of(told, 7), "0 running, 10 ?lost, 15 running - 30");
	told_free(told);
}

/* -------------------------------------------------------------------- wakers */

/* A sleeper 7 on CPU 1; 8 runs on CPU 0, where the events of 'how' wake it at 40. */
static struct told *woken(const char *how)
{
	struct text_trace *trace = text_trace_of("  0 cpu0 switch 0(runnable) 8\n"
						 "  0 cpu1 switch 0(runnable) 7\n"
						 "  4 cpu1 enter read 3\n"
						 " 10 cpu1 switch 7(blocked) 0\n");

	text_trace_add(trace, how);
	text_trace_add(trace, " 60 cpu1 switch 0(runnable) 7\n"
			      " 70 cpu1 switch 7(blocked) 0\n");
	return told_trace(trace);
}

#define assert_woken(how, by)                                                           \
	do {                                                                            \
		struct told *told = woken(how);                                         \
                                                                                        \
		assert_string_equal(actor_text(told, &wait_of(told, 7, 0)->waker), by); \
		assert_int_equal(wait_of(told, 7, 0)->woken_ns, 40);                    \
		told_free(told);                                                        \
	} while (0)

static void a_timer_callback_is_a_timer(void **unused)
{
	assert_woken("35 cpu0 vector local_timer\n"
		     "38 cpu0 hrtimer hrtimer_wakeup 77\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "41 cpu0 hrtimerdone\n"
		     "42 cpu0 vectorexit local_timer\n",
		     "timer hrtimer_wakeup");
}

static void a_timer_is_of_the_thread_that_set_it(void **unused)
{
	assert_woken("20 cpu0 timerstart 77\n"
		     "35 cpu0 vector local_timer\n"
		     "38 cpu0 hrtimer it_real_fn 77\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "41 cpu0 hrtimerdone\n"
		     "42 cpu0 vectorexit local_timer\n",
		     "timer 8 it_real_fn");
}

static void a_disk_request_is_of_the_thread_that_issued_it(void **unused)
{
	assert_woken("20 cpu0 issue vda 4096 R\n"
		     "35 cpu0 irq 24 virtio0\n"
		     "38 cpu0 complete vda 4096\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 irqexit 24\n",
		     "disk 8 vda read");
}

/* The device mapper has no requests of its own; a partition is told as the disk that it is on. */
static void a_request_for_a_device_above_is_of_that_one(void **unused)
{
	assert_woken("20 cpu0 remap vda 4096 dm-0(slow) 96\n"
		     "21 cpu0 issue vda 4096 R\n"
		     "35 cpu0 irq 24 virtio0\n"
		     "38 cpu0 complete vda 4096\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 irqexit 24\n",
		     "disk 8 dm-0(slow) read");
	assert_woken("20 cpu0 remap dm-1(part) 40 dm-0(slow) 96\n"
		     "20 cpu0 remap vda1 41 dm-1(part) 40\n"
		     "20 cpu0 remap vda 4096 vda1 41\n"
		     "21 cpu0 issue vda 4096 R\n"
		     "35 cpu0 irq 24 virtio0\n"
		     "38 cpu0 complete vda 4096\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 irqexit 24\n",
		     "disk 8 dm-0(slow) read");
	assert_woken("20 cpu0 remap vda 4096 vda1 96\n"
		     "21 cpu0 issue vda 4096 R\n"
		     "35 cpu0 irq 24 virtio0\n"
		     "38 cpu0 complete vda 4096\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 irqexit 24\n",
		     "disk 8 vda read");
}

/* What comes later at the same place is somebody else's. */
static void a_device_above_is_of_one_request(void **unused)
{
	assert_woken("20 cpu0 remap vda 4096 dm-0(slow) 96\n"
		     "21 cpu0 issue vda 4096 R\n"
		     "22 cpu0 irq 24 virtio0\n"
		     "23 cpu0 complete vda 4096\n"
		     "24 cpu0 irqexit 24\n"
		     "30 cpu0 issue vda 4096 W\n"
		     "35 cpu0 irq 24 virtio0\n"
		     "38 cpu0 complete vda 4096 W\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 irqexit 24\n",
		     "disk 8 vda write");
}

/* Of a loop device, say. Who sleeps interruptibly was woken by the thread, and not by the disk. */
static void a_kernel_thread_that_completed_a_request_is_the_disk(void **unused)
{
	static const char *const states[] = { "disk", "blocked" };
	static const char *const wakers[] = { "disk 7 vda read", "thread 8" };

	for (int i = 0; i < 2; i++) {
		AUTO_FREE char *text = xasprintf("thread 7 7 1 R prog\n"
						 "thread 8 8 2 I kworker/0:1 kernel\n"
						 "0 cpu1 switch 0(runnable) 7\n"
						 "0 cpu0 switch 0(runnable) 8\n"
						 "2 cpu0 irq 24 virtio0\n"
						 "3 cpu0 irqexit 24\n"
						 "5 cpu1 issue vda 4096 R\n"
						 "10 cpu1 switch 7(%s) 0\n"
						 "38 cpu0 complete vda 4096\n"
						 "40 cpu0 waking 7 cpu 1\n"
						 "50 cpu1 switch 0(runnable) 7\n"
						 "60 cpu1 switch 7(blocked) 0\n",
						 states[i]);
		struct told *told = replayed(text);

		assert_string_equal(actor_text(told, &wait_of(told, 7, 0)->waker), wakers[i]);
		told_free(told);
	}
}

/* What a sleep was for, when the kernel says whether it was I/O. */
static enum wait_kind kind_when(const char *waker, const char *reason)
{
	AUTO_FREE char *text = xasprintf("thread 7 7 1 R prog\n"
					 "thread 8 8 1 R other\n"
					 "thread 9 9 2 I kworker/0:1 kernel\n"
					 "0 cpu1 switch 0(runnable) 7\n"
					 "5 cpu1 issue vda 4096 R\n"
					 "10 cpu1 switch 7(disk) 0\n"
					 "%s"
					 "40 cpu0 waking 7 cpu 1\n"
					 "%s"
					 "50 cpu1 switch 0(runnable) 7\n"
					 "60 cpu1 switch 7(blocked) 0\n",
					 waker, reason);
	struct told *told = replayed(text);
	enum wait_kind kind = wait_kind(wait_of(told, 7, 0));

	told_free(told);
	return kind;
}

static void the_kernel_says_whether_a_sleep_was_for_input_or_output(void **unused)
{
	static const char *const reasons[] = { "", "41 cpu0 reason 7 1\n", "41 cpu0 reason 7 0\n",
					       "41 cpu0 reason 8 0\n" };
	static const struct {
		const char *waker;
		enum wait_kind kinds[4];
	} cases[] = {
		{ "11 cpu0 switch 0(runnable) 8\n",
		  { WAIT_FOR_THREAD, WAIT_FOR_IO, WAIT_FOR_THREAD, WAIT_FOR_THREAD } },
		{ "11 cpu0 switch 0(runnable) 9\n12 cpu0 queuework 5 done_fn\n20 cpu0 work 5 done_fn\n",
		  { WAIT_FOR_IO, WAIT_FOR_IO, WAIT_FOR_THREAD, WAIT_FOR_IO } },
		{ "11 cpu0 switch 8(runnable) 0\n20 cpu0 softirq BLOCK\n30 cpu0 complete vda 4096\n",
		  { WAIT_FOR_DISK, WAIT_FOR_DISK, WAIT_FOR_OTHER, WAIT_FOR_DISK } },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t k = 0; k < ARRAY_LEN(reasons); k++)
			assert_int_equal(kind_when(cases[i].waker, reasons[k]), cases[i].kinds[k]);
	}
}

/* It has no place on the disk: 0 where it begins, -1 where it ends. */
static void a_flush_is_of_the_thread_that_issued_it(void **unused)
{
	assert_woken("20 cpu0 issue vda 0 F\n"
		     "35 cpu0 irq 24 virtio0\n"
		     "38 cpu0 complete vda -1 F\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 irqexit 24\n",
		     "disk 8 vda flush");
}

static void a_request_issued_before_the_recording_still_names_the_disk(void **unused)
{
	assert_woken("35 cpu0 irq 24 virtio0\n"
		     "38 cpu0 complete vda 4096 W\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 irqexit 24\n",
		     "disk vda write");
}

static void without_a_request_the_handler_is_named(void **unused)
{
	assert_woken("35 cpu0 irq 24 i8042\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 irqexit 24\n",
		     "irq 24 i8042");
	assert_woken("35 cpu0 irq 24 nvme0q1\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 irqexit 24\n",
		     "disk 24 nvme0q1");
}

/* The handler that is over completed the request: this waking is not of the disk. */
static void a_request_counts_only_in_the_interrupt_that_completed_it(void **unused)
{
	assert_woken("30 cpu0 irq 24 virtio0\n"
		     "31 cpu0 complete vda 4096\n"
		     "32 cpu0 irqexit 24\n"
		     "35 cpu0 irq 25 i8042\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 irqexit 25\n",
		     "irq 25 i8042");
}

static void another_cpus_interrupt_is_an_ipi(void **unused)
{
	assert_woken("35 cpu0 vector call_function_single\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 vectorexit call_function_single\n",
		     "ipi");
}

static void a_packet_from_outside_is_the_network(void **unused)
{
	assert_woken("30 cpu0 irq 24 eth0\n"
		     "31 cpu0 irqexit 24\n"
		     "35 cpu0 softirq NET_RX\n"
		     "38 cpu0 receive 5 eth0\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 softirqexit NET_RX\n",
		     "network eth0");
}

static void a_packet_of_this_machine_is_of_its_sender(void **unused)
{
	assert_woken("20 cpu0 enter sendto 4\n"
		     "30 cpu0 netqueue 5 lo\n"
		     "31 cpu0 netrx 5 lo\n"
		     "35 cpu0 softirq NET_RX\n"
		     "38 cpu0 receive 5 lo\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 softirqexit NET_RX\n",
		     "network 8 lo");
}

/* Packets are not recorded; the softirq runs nested in the system call that raised it. */
static void a_softirq_nested_in_a_system_call_is_of_its_caller(void **unused)
{
	assert_woken("20 cpu0 enter sendto 4\n"
		     "35 cpu0 softirq NET_RX\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 softirqexit NET_RX\n",
		     "network 8");
	assert_woken("20 cpu0 enter sendto 4\n"
		     "30 cpu0 irq 24 eth0\n"
		     "31 cpu0 irqexit 24\n"
		     "35 cpu0 softirq NET_RX\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 softirqexit NET_RX\n",
		     "network");
}

static void another_softirq_is_named_by_its_action(void **unused)
{
	assert_woken("35 cpu0 softirq RCU\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 softirqexit RCU\n",
		     "softirq");
	assert_woken("35 cpu0 softirq TIMER\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 softirqexit TIMER\n",
		     "timer");
}

static void a_thread_in_its_system_call_wakes_as_itself(void **unused)
{
	struct told *told = woken("20 cpu0 enter write 1\n"
				  "40 cpu0 waking 7 cpu 1\n"
				  "45 cpu0 leave write 1\n");

	assert_string_equal(wait_text(told, 7, 0), "10-40 in read by thread 8");
	assert_string_equal(word_text(told, wait_of(told, 7, 0)->waker.word), "write");
	assert_string_equal(word_text(told, wait_of(told, 7, 0)->waker.below), "user");
	told_free(told);
}

static void the_end_of_a_thread_is_noted(void **unused)
{
	struct told *told = woken("30 cpu0 exit 8\n"
				  "40 cpu0 waking 7 cpu 1\n"
				  "45 cpu0 switch 8(dead) 0\n");

	assert_true(wait_of(told, 7, 0)->flags & WAIT_EXITED);
	told_free(told);
}

/* signal_generate is recorded right after the waking that it makes. */
static void a_signal_is_noted_with_the_waking_it_made(void **unused)
{
	struct told *told = woken("20 cpu0 enter kill 7 10\n"
				  "40 cpu0 waking 7 cpu 1\n"
				  "41 cpu0 signal 10 7\n"
				  "45 cpu0 leave kill 0\n");

	assert_int_equal(wait_of(told, 7, 0)->waker.signal, 10);
	assert_string_equal(wait_text(told, 7, 0), "10-40 in read by thread 8");
	told_free(told);
}

static void a_signal_for_another_process_is_not_of_this_waking(void **unused)
{
	struct told *told = woken("15 cpu0 fork 9\n"
				  "40 cpu0 waking 7 cpu 1\n"
				  "41 cpu0 signal 10 9\n");

	assert_int_equal(wait_of(told, 7, 0)->waker.signal, 0);
	told_free(told);
}

/* Where calls are not recorded: it let another one go on, or woke it, and ended. */
static void the_signal_of_an_end_is_not_of_a_waking_before(void **unused)
{
	struct told *told = woken("40 cpu0 waking 7 cpu 1\n"
				  "41 cpu0 exit 8\n"
				  "42 cpu0 signal 17 7\n");

	assert_int_equal(wait_of(told, 7, 0)->waker.signal, 0);
	told_free(told);
}

static void a_stop_is_ended_by_few_signals(void **unused)
{
	static const int signals[][2] = { { 17, 0 }, { 10, 0 }, { 18, 18 }, { 9, 9 } };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		AUTO_FREE char *text = xasprintf("  0 cpu0 switch 0(runnable) 7\n"
						 "  0 cpu1 switch 0(runnable) 8\n"
						 " 10 cpu0 switch 7(stopped) 0\n"
						 " 40 cpu1 waking 7\n"
						 " 41 cpu1 signal %d 7\n"
						 " 50 cpu0 switch 0(runnable) 7\n"
						 " 90 cpu0 switch 7(blocked) 0\n",
						 signals[i][0]);
		struct told *told = replayed(text);

		assert_int_equal(wait_of(told, 7, 0)->waker.signal, signals[i][1]);
		told_free(told);
	}
}

static void work_is_for_whoever_queued_it(void **unused)
{
	struct told *told = replayed("thread 50 50 2 I kworker kernel\n"
				     "  0 cpu0 switch 0(runnable) 8\n"
				     "  0 cpu1 switch 0(runnable) 7\n"
				     " 10 cpu1 switch 7(blocked) 0\n"
				     " 20 cpu0 queuework 5 flush_fn\n"
				     " 22 cpu0 waking 50 cpu 0\n"
				     " 25 cpu0 switch 8(blocked) 50\n"
				     " 30 cpu0 work 5 flush_fn\n"
				     " 40 cpu0 waking 7 cpu 1\n"
				     " 45 cpu0 workdone 5\n"
				     " 50 cpu0 waking 8\n"
				     " 60 cpu0 switch 50(blocked) 8\n"
				     " 70 cpu0 switch 8(blocked) 0\n");
	const struct wait *wait = wait_of(told, 7, 0);

	assert_string_equal(actor_text(told, &wait->waker), "thread 50");
	assert_string_equal(word_text(told, wait->waker.word), "work:flush_fn");
	assert_string_equal(actor_text(told, &wait->origin), "thread 8");
	assert_int_equal(wait->origin.time_ns, 20);
	/* What it wakes after the work is its own doing. */
	assert_int_equal(wait_of(told, 8, 0)->origin.time_ns, 0);
	assert_string_equal(track_of(told, 50), "0 blocked, 22 queued/0, 25 kernel, "
						"30 work:flush_fn, 45 kernel, 60 blocked - 70");
	told_free(told);
}

static void a_timer_of_its_own_ends_a_wait_by_time_out(void **unused)
{
	struct told *told = replayed("  0 cpu1 switch 0(runnable) 7\n"
				     "  4 cpu1 enter poll\n"
				     "  5 cpu1 timerstart 77\n"
				     " 10 cpu1 switch 7(blocked) 0\n"
				     " 38 cpu1 vector local_timer\n"
				     " 39 cpu1 hrtimer hrtimer_wakeup 77\n"
				     " 40 cpu1 waking 7\n"
				     " 41 cpu1 hrtimerdone\n"
				     " 42 cpu1 vectorexit local_timer\n"
				     " 60 cpu1 switch 0(runnable) 7\n"
				     " 70 cpu1 switch 7(blocked) 0\n");

	assert_string_equal(wait_text(told, 7, 0), "10-40 in poll by timer 7 hrtimer_wakeup");
	assert_true(wait_of(told, 7, 0)->flags & WAIT_TIMED_OUT);
	told_free(told);
}

/* Of a tracer that records no ends of callbacks, the one that was last is not the disk's waking. */
static void a_callback_does_not_go_on_into_the_handler_of_a_device(void **unused)
{
	struct told *told = replayed("  0 cpu1 switch 0(runnable) 7\n"
				     "  4 cpu1 enter read\n"
				     " 10 cpu1 switch 7(disk) 0\n"
				     " 20 cpu1 vector local_timer\n"
				     " 21 cpu1 hrtimer tick_sched_timer 5\n"
				     " 30 cpu1 irq 27 virtio1-req.0\n"
				     " 40 cpu1 waking 7\n"
				     " 41 cpu1 irqexit 27\n"
				     " 60 cpu1 switch 0(runnable) 7\n"
				     " 70 cpu1 switch 7(blocked) 0\n");

	assert_string_equal(wait_text(told, 7, 0), "10-40 in read by disk 27 virtio1-req.0");
	told_free(told);
}

/* A disk's interrupt in the middle of a callback in softirq TIMER. */
static void an_interrupt_on_top_of_a_callback_is_of_its_device(void **unused)
{
	assert_woken("20 cpu0 issue vda 4096 R\n"
		     "30 cpu0 softirq TIMER\n"
		     "31 cpu0 hrtimer process_timeout 77\n"
		     "35 cpu0 irq 24 virtio0\n"
		     "38 cpu0 complete vda 4096\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "42 cpu0 irqexit 24\n"
		     "50 cpu0 softirqexit TIMER\n",
		     "disk 8 vda read");
	/* And the callback goes on after it. */
	assert_woken("30 cpu0 softirq TIMER\n"
		     "31 cpu0 hrtimer process_timeout 77\n"
		     "35 cpu0 irq 24 eth0\n"
		     "38 cpu0 irqexit 24\n"
		     "40 cpu0 waking 7 cpu 1\n"
		     "50 cpu0 softirqexit TIMER\n",
		     "timer process_timeout");
}

/* Without marks of context and without the timer's interrupt, the callback tells who wakes. */
static void a_callback_wakes_where_interrupts_are_not_recorded(void **unused)
{
	struct text_trace *trace = text_trace_of("  0 cpu1 switch 0(runnable) 7\n"
						 "  1 cpu1 hrtimer tick_sched_timer 5\n"
						 "  2 cpu1 hrtimerdone\n"
						 "  4 cpu1 enter nanosleep\n"
						 "  5 cpu1 timerstart 77\n"
						 " 10 cpu1 switch 7(blocked) 8\n"
						 " 39 cpu1 hrtimer hrtimer_wakeup 77\n"
						 " 40 cpu1 waking 7\n"
						 " 41 cpu1 hrtimerdone\n"
						 " 50 cpu1 waking 9\n"
						 " 60 cpu1 switch 8(runnable) 7\n"
						 " 70 cpu1 switch 7(blocked) 0\n");
	struct told *told;

	for (size_t i = 0; i < trace->count; i++)
		trace->events[i].context &= (uint8_t)~EV_CTX_KNOWN;
	told = told_trace(trace);
	assert_string_equal(wait_text(told, 7, 0), "10-40 in nanosleep by timer 7 hrtimer_wakeup");
	told_free(told);
}

/* "waking of an interrupt's thread just behind its handler", in a format with or without contexts. */
static void assert_irq_wakes(const char *exit, const char *waking, bool known, const char *by)
{
	struct text_trace *trace = text_trace_of("  0 cpu0 switch 0(runnable) 8\n"
						 "  0 cpu1 switch 0(runnable) 7\n"
						 " 10 cpu1 switch 7(blocked) 0\n"
						 " 20 cpu0 enter read 3\n"
						 " 35 cpu0 irq 24 ath9k\n");
	struct told *told;

	text_trace_add(trace, exit);
	text_trace_add(trace, waking);
	text_trace_add(trace, " 60 cpu1 switch 0(runnable) 7\n"
			      " 70 cpu1 switch 7(blocked) 0\n");
	for (size_t i = 0; i < trace->count; i++) {
		struct event *ev = &trace->events[i];

		if (!known)
			ev->context &= (uint8_t)~EV_CTX_KNOWN;
		else if (ev->type == EV_SCHED_WAKING)
			ev->context |= EV_CTX_HARDIRQ;
	}
	told = told_trace(trace);
	assert_string_equal(actor_text(told, &wait_of(told, 7, 0)->waker), by);
	told_free(told);
}

static void a_thread_of_an_interrupt_is_woken_by_it_behind_its_exit(void **unused)
{
	static const char *const exits[] = { "38 cpu0 irqexit 24 1\n", "38 cpu0 irqexit 24 2\n",
					     "38 cpu0 irqexit 24 3\n" };

	for (size_t i = 0; i < ARRAY_LEN(exits); i++) {
		assert_irq_wakes(exits[i], "40 cpu0 waking 7:irq/24-ath9k\n", false,
				 "irq 24 ath9k");
		assert_irq_wakes(exits[i], "40 cpu0 waking 7:irq/24-ath9k\n", true, "irq 24 ath9k");
	}
}

static void an_interrupt_that_is_over_wakes_nobody_else(void **unused)
{
	/* Another thread, another interrupt's, one that was not for it, and a call later. */
	assert_irq_wakes("38 cpu0 irqexit 24 2\n", "40 cpu0 waking 7:work\n", false, "thread 8");
	assert_irq_wakes("38 cpu0 irqexit 24 2\n", "40 cpu0 waking 7:irq/2-x\n", false, "thread 8");
	assert_irq_wakes("38 cpu0 irqexit 24 0\n", "40 cpu0 waking 7:irq/24-ath9k\n", false,
			 "thread 8");
	assert_irq_wakes("38 cpu0 irqexit 24 2\n",
			 "39 cpu0 leave read 1\n40 cpu0 waking 7:irq/24-ath9k\n", false,
			 "thread 8");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interrupt_lies_over_what_it_interrupts),
		cmocka_unit_test(an_interrupt_nests_in_a_softirq),
		cmocka_unit_test(an_exit_without_its_entry_changes_nothing),
		cmocka_unit_test(a_system_call_ends_interrupts_whose_exit_is_missing),
		cmocka_unit_test(deeper_than_any_kernel_nests_does_no_harm),
		cmocka_unit_test(interrupts_that_are_not_recorded_are_part_of_what_they_interrupt),
		cmocka_unit_test(a_timer_callback_is_a_timer),
		cmocka_unit_test(a_timer_is_of_the_thread_that_set_it),
		cmocka_unit_test(a_disk_request_is_of_the_thread_that_issued_it),
		cmocka_unit_test(a_request_for_a_device_above_is_of_that_one),
		cmocka_unit_test(a_device_above_is_of_one_request),
		cmocka_unit_test(a_kernel_thread_that_completed_a_request_is_the_disk),
		cmocka_unit_test(the_kernel_says_whether_a_sleep_was_for_input_or_output),
		cmocka_unit_test(a_flush_is_of_the_thread_that_issued_it),
		cmocka_unit_test(a_request_issued_before_the_recording_still_names_the_disk),
		cmocka_unit_test(without_a_request_the_handler_is_named),
		cmocka_unit_test(a_request_counts_only_in_the_interrupt_that_completed_it),
		cmocka_unit_test(another_cpus_interrupt_is_an_ipi),
		cmocka_unit_test(a_packet_from_outside_is_the_network),
		cmocka_unit_test(a_packet_of_this_machine_is_of_its_sender),
		cmocka_unit_test(a_softirq_nested_in_a_system_call_is_of_its_caller),
		cmocka_unit_test(another_softirq_is_named_by_its_action),
		cmocka_unit_test(a_thread_in_its_system_call_wakes_as_itself),
		cmocka_unit_test(the_end_of_a_thread_is_noted),
		cmocka_unit_test(a_signal_is_noted_with_the_waking_it_made),
		cmocka_unit_test(a_signal_for_another_process_is_not_of_this_waking),
		cmocka_unit_test(the_signal_of_an_end_is_not_of_a_waking_before),
		cmocka_unit_test(a_stop_is_ended_by_few_signals),
		cmocka_unit_test(work_is_for_whoever_queued_it),
		cmocka_unit_test(a_timer_of_its_own_ends_a_wait_by_time_out),
		cmocka_unit_test(a_callback_does_not_go_on_into_the_handler_of_a_device),
		cmocka_unit_test(an_interrupt_on_top_of_a_callback_is_of_its_device),
		cmocka_unit_test(a_callback_wakes_where_interrupts_are_not_recorded),
		cmocka_unit_test(a_thread_of_an_interrupt_is_woken_by_it_behind_its_exit),
		cmocka_unit_test(an_interrupt_that_is_over_wakes_nobody_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

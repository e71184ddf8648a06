/* test_queue.c - packets that a queue of a device holds back. */
#include "told.h"

/* 7 waits for what 8 sends. */
#define TWO                               \
	"thread 7 7 1 R receiver\n"       \
	"thread 8 8 1 R sender\n"         \
	"  0 cpu0 switch 0(runnable) 7\n" \
	"  0 cpu1 switch 0(runnable) 8\n"

#define RECEIVED                           \
	"500010 cpu1 softirqexit NET_TX\n" \
	"500010 cpu1 softirq NET_RX\n"     \
	"500011 cpu1 receive 0xa lo\n"     \
	"500020 cpu1 waking 7 cpu 0\n"     \
	"500030 cpu1 softirqexit NET_RX\n" \
	"500040 cpu0 switch 0(runnable) 7\n"

static void says_until(const char *text, uint64_t to_ns, const char *verdict)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_in(told, 7, 10, to_ns), verdict);
	told_free(told);
}

static void says(const char *text, const char *verdict)
{
	says_until(text, 500020, verdict);
}

static void a_packet_waits_in_the_queue(void **unused)
{
	says(TWO " 10 cpu0 switch 7(blocked) 0\n"
		 "100010 cpu1 netqueue 0xa lo\n"
		 "500000 cpu1 softirq NET_TX\n"
		 "500001 cpu1 netrx 0xa lo\n" RECEIVED,
	     "throttled 7 400010 queue of lo; other_thread 8 100000 running");
}

/* It was handed on at once: the network, as before. */
static void a_packet_that_just_passes_does_not(void **unused)
{
	says(TWO " 10 cpu0 switch 7(blocked) 0\n"
		 "499990 cpu1 netqueue 0xa lo\n"
		 "500000 cpu1 softirq NET_TX\n"
		 "500001 cpu1 netrx 0xa lo\n" RECEIVED,
	     "other_thread 8 499990 running; softirq 0 10 softirq NET_RX; softirq 0 10 softirq NET_TX");
}

/* Who sends is slow, as on a guest whose CPU is taken away: no queue is known of. */
#define SLOW                                   \
	TWO " 10 cpu0 switch 7(blocked) 0\n"   \
	    "100010 cpu1 netqueue 0xa lo\n"    \
	    "400000 cpu1 netrx 0xa lo\n"       \
	    "400010 cpu1 softirq NET_RX\n"     \
	    "400011 cpu1 receive 0xa lo\n"     \
	    "400020 cpu1 waking 7 cpu 0\n"     \
	    "400030 cpu1 softirqexit NET_RX\n" \
	    "400040 cpu0 switch 0(runnable) 7\n"

static void who_is_slow_is_no_queue(void **unused)
{
	struct told *told = replayed(SLOW);

	assert_string_equal(verdict_in(told, 7, 10, 400020),
			    "other_thread 8 400000 running; softirq 0 10 softirq NET_RX");
	told_free(told);
}

/*
 * A pair of devices, of which one has the queue; the sender's packets are cut into others. The timer for the next one is
 * set before one is let go.
 */
static void a_pair_of_devices_has_the_queue_at_one_end(void **unused)
{
	says(TWO "  1 cpu1 netqueue 0x1 v0\n"
		 "  2 cpu1 netrx 0x1 v1\n"
		 " 10 cpu0 switch 7(blocked) 0\n"
		 "300010 cpu1 timerstart 77 qdisc_watchdog\n"
		 "400000 cpu1 vector local_timer\n"
		 "400001 cpu1 hrtimer qdisc_watchdog 77\n"
		 "400002 cpu1 hrtimerdone\n"
		 "400003 cpu1 vectorexit local_timer\n"
		 "400004 cpu1 softirq NET_TX\n"
		 "400005 cpu1 timerstart 77 qdisc_watchdog\n"
		 "400006 cpu1 netrx 0xb v1\n"
		 "400007 cpu1 softirqexit NET_TX\n"
		 "499995 cpu1 vector local_timer\n"
		 "499996 cpu1 hrtimer qdisc_watchdog 77\n"
		 "499997 cpu1 hrtimerdone\n"
		 "499998 cpu1 vectorexit local_timer\n"
		 "500000 cpu1 softirq NET_TX\n"
		 "500001 cpu1 timerstart 77 qdisc_watchdog\n"
		 "500002 cpu1 netrx 0xa v1\n"
		 "500010 cpu1 softirqexit NET_TX\n"
		 "500010 cpu1 softirq NET_RX\n"
		 "500011 cpu1 receive 0xa v1\n"
		 "500020 cpu1 waking 7 cpu 0\n"
		 "500030 cpu1 softirqexit NET_RX\n"
		 "500040 cpu0 switch 0(runnable) 7\n",
	     "network 7 300000 packet on v1; throttled 7 200010 queue of v0");
}

/* 7 waits until what it sent is acknowledged: the queue is the one that this was in, not one of the other device. */
static void what_answers_a_packet_was_held_up_with_it(void **unused)
{
	says(TWO "  1 cpu1 netqueue 0x1 v0\n"
		 "  2 cpu1 netrx 0x1 v1\n"
		 "  3 cpu1 netqueue 0x2 v1\n"
		 "  4 cpu1 netrx 0x2 v0\n"
		 "  5 cpu0 netqueue 0xa v0\n"
		 " 10 cpu0 switch 7(blocked) 0\n"
		 "500000 cpu1 softirq NET_TX\n"
		 "500001 cpu1 netrx 0xa v1\n"
		 "500002 cpu1 softirqexit NET_TX\n"
		 "500003 cpu1 softirq NET_RX\n"
		 "500004 cpu1 receive 0xa v1\n"
		 "500005 cpu1 netqueue 0xc v1\n"
		 "500006 cpu1 netrx 0xc v0\n"
		 "500007 cpu1 receive 0xc v0\n"
		 "500020 cpu1 waking 7 cpu 0\n"
		 "500030 cpu1 softirqexit NET_RX\n"
		 "500040 cpu0 switch 0(runnable) 7\n",
	     "throttled 7 500010 queue of v0");
}

/* Which device hands packets to the one they arrive at was not seen. */
static void the_device_with_the_queue_is_not_guessed(void **unused)
{
	says(TWO " 10 cpu0 switch 7(blocked) 0\n"
		 "300010 cpu1 timerstart 77 qdisc_watchdog\n"
		 "500000 cpu1 softirq NET_TX\n"
		 "500002 cpu1 netrx 0xa v1\n"
		 "500010 cpu1 softirqexit NET_TX\n"
		 "500010 cpu1 softirq NET_RX\n"
		 "500011 cpu1 receive 0xa v1\n"
		 "500020 cpu1 waking 7 cpu 0\n"
		 "500030 cpu1 softirqexit NET_RX\n"
		 "500040 cpu0 switch 0(runnable) 7\n",
	     "network 7 300000 packet on v1; throttled 7 200010 queue before v1");
}

/* An acknowledgement, handed over as a packet of nobody known comes in; let go while another one comes in. */
#define SLEEPS TWO " 10 cpu0 switch 7(blocked) 0\n"

#define HANDED_OVER                     \
	"400000 cpu1 softirq NET_RX\n"  \
	"400001 cpu1 receive 0xc lo\n"  \
	"400010 cpu1 netqueue 0xa lo\n" \
	"400030 cpu1 softirqexit NET_RX\n"

#define LET_GO                             \
	"899990 cpu1 softirq NET_RX\n"     \
	"899991 cpu1 receive 0xd lo\n"     \
	"900000 cpu1 netrx 0xa lo\n"       \
	"900011 cpu1 receive 0xa lo\n"     \
	"900020 cpu1 waking 7 cpu 0\n"     \
	"900030 cpu1 softirqexit NET_RX\n" \
	"900040 cpu0 switch 0(runnable) 7\n"

static void a_packet_that_no_thread_sent_waits_in_the_queue(void **unused)
{
	says_until(SLEEPS HANDED_OVER LET_GO, 900020,
		   "throttled 7 500010 queue of lo; network 7 400000 packet on lo");
}

/* What is let go with it is not of who had to send the packet that comes in. */
static void who_lets_a_packet_go_has_not_sent_it(void **unused)
{
	says_until(SLEEPS HANDED_OVER "800000 cpu1 netqueue 0xd lo\n" LET_GO, 900020,
		   "throttled 7 500010 queue of lo; network 7 400000 packet on lo");
}

/* The queue always had the next one: it is why none came earlier. */
static void a_row_of_packets_waits_since_the_queue_is_full(void **unused)
{
	says_until(SLEEPS HANDED_OVER "400040 cpu1 timerstart 77 qdisc_watchdog\n" LET_GO, 900020,
		   "throttled 7 500010 queue of lo; network 7 400000 packet on lo");
	says_until(SLEEPS "300010 cpu1 timerstart 77 qdisc_watchdog\n" HANDED_OVER LET_GO, 900020,
		   "throttled 7 600010 queue of lo; network 7 300000 packet on lo");
}

/* The address was used again, for a packet that arrives elsewhere. */
static void a_packet_of_another_device_was_in_no_queue(void **unused)
{
	says(TWO " 10 cpu0 switch 7(blocked) 0\n"
		 "100000 cpu1 softirq NET_RX\n"
		 "100010 cpu1 netqueue 0xa eth0\n"
		 "100030 cpu1 softirqexit NET_RX\n"
		 "499990 cpu1 softirq NET_RX\n"
		 "500000 cpu1 netrx 0xa tun0\n"
		 "500011 cpu1 receive 0xa tun0\n"
		 "500020 cpu1 waking 7 cpu 0\n"
		 "500030 cpu1 softirqexit NET_RX\n"
		 "500040 cpu0 switch 0(runnable) 7\n",
	     "network 7 500010 packet on tun0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_waits_in_the_queue),
		cmocka_unit_test(a_packet_that_just_passes_does_not),
		cmocka_unit_test(who_is_slow_is_no_queue),
		cmocka_unit_test(a_pair_of_devices_has_the_queue_at_one_end),
		cmocka_unit_test(what_answers_a_packet_was_held_up_with_it),
		cmocka_unit_test(the_device_with_the_queue_is_not_guessed),
		cmocka_unit_test(a_packet_that_no_thread_sent_waits_in_the_queue),
		cmocka_unit_test(who_lets_a_packet_go_has_not_sent_it),
		cmocka_unit_test(a_row_of_packets_waits_since_the_queue_is_full),
		cmocka_unit_test(a_packet_of_another_device_was_in_no_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

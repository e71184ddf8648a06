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

static void says(const char *text, const char *verdict)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_in(told, 7, 10, 500020), verdict);
	told_free(told);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_waits_in_the_queue),
		cmocka_unit_test(a_packet_that_just_passes_does_not),
		cmocka_unit_test(who_is_slow_is_no_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

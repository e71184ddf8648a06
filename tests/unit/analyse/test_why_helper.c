/* test_why_helper.c - a terminal and RCU end waits for others: neither a kworker nor a softirq did. */
#include "told.h"

static const char *helper_of(struct told *told)
{
	const struct why_reason *helper = told->why.chain_count ? told->why.chain[0].helper : NULL;

	return helper ? told_reason(helper) : "none";
}

static void says(const char *text, const char *roots, const char *helper)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_of(told, 7), roots);
	assert_string_equal(helper_of(told), helper);
	told_free(told);
}

#define READER                                                                         \
	"thread 7 7 1 R cat\nthread 8 8 1 R ssh\nthread 9 9 2 S kworker/u8:1 kernel\n" \
	" 0 cpu0 switch 0(runnable) 7\n"                                               \
	" 0 cpu1 switch 0(runnable) 8\n"                                               \
	" 1 cpu0 enter read 0\n"                                                       \
	"10 cpu0 switch 7(blocked) 0\n"

static void what_a_terminal_passes_on_is_of_who_wrote_it(void **unused)
{
	says(READER "30 cpu1 queuework 100 flush_to_ldisc\n"
		    "31 cpu0 switch 0(runnable) 9\n"
		    "32 cpu0 work 100 flush_to_ldisc\n"
		    "40 cpu0 waking 7 cpu 0\n"
		    "41 cpu0 workdone 100\n"
		    "42 cpu0 switch 9(blocked) 7\n"
		    "50 cpu0 leave read 1\n",
	     "other_thread 8 20 running; working 7 18 read; "
	     "other_thread 9 9 work flush_to_ldisc 89 %, kernel thread 11 %; cpu_queue 9 2 ran instead; "
	     "cpu_queue 0 1 wake-up of an idle CPU",
	     "the terminal (written to by ssh[8])");
}

static void another_work_is_no_terminal(void **unused)
{
	says(READER "30 cpu1 queuework 100 wb_workfn\n"
		    "31 cpu0 switch 0(runnable) 9\n"
		    "32 cpu0 work 100 wb_workfn\n"
		    "40 cpu0 waking 7 cpu 0\n"
		    "41 cpu0 workdone 100\n"
		    "42 cpu0 switch 9(blocked) 7\n"
		    "50 cpu0 leave read 1\n",
	     "other_thread 8 20 running; working 7 18 read; "
	     "other_thread 9 9 work wb_workfn 89 %, kernel thread 11 %; cpu_queue 9 2 ran instead; "
	     "cpu_queue 0 1 wake-up of an idle CPU",
	     "none");
}

static void keys_are_the_terminals(void **unused)
{
	struct told *told = replayed(READER "30 cpu1 queuework 100 flush_to_ldisc\n"
					    "31 cpu0 switch 0(runnable) 9\n"
					    "32 cpu0 work 100 flush_to_ldisc\n"
					    "40 cpu0 waking 7 cpu 0\n"
					    "40 cpu0 signal 2 7\n"
					    "41 cpu0 workdone 100\n"
					    "42 cpu0 switch 9(blocked) 7\n"
					    "50 cpu0 leave read -4\n");

	(void)verdict_of(told, 7);
	assert_string_equal(told_reason(told->why.chain[0].instead),
			    "SIGINT of the terminal (Ctrl-C from ssh[8]) interrupted it");
	told_free(told);
}

#define MEMBARRIER                                                                                      \
	"thread 7 7 1 R db\nthread 15 15 2 S rcu_preempt kernel\nthread 16 16 2 S kworker/0:1 kernel\n" \
	" 0 cpu0 switch 0(runnable) 7\n"                                                                \
	" 1 cpu0 enter membarrier\n"                                                                    \
	"10 cpu0 switch 7(blocked) 0\n"

static void a_grace_period_by_that_name(void **unused)
{
	const char *roots =
		"grace_period 7 30 membarrier: an RCU grace period; working 7 18 membarrier; "
		"cpu_queue 0 2 wake-up of an idle CPU";

	says(MEMBARRIER "40 cpu0 softirq RCU\n"
			"40 cpu0 waking 7 cpu 0\n"
			"41 cpu0 softirqexit RCU\n"
			"42 cpu0 switch 0(runnable) 7\n"
			"50 cpu0 leave membarrier 0\n",
	     roots, "the end of an RCU grace period");
}

static void a_grace_period_by_its_thread(void **unused)
{
	says(MEMBARRIER "20 cpu1 switch 0(runnable) 15\n"
			"40 cpu1 waking 7 cpu 0\n"
			"40 cpu0 switch 0(runnable) 7\n"
			"50 cpu0 leave membarrier 0\n",
	     "grace_period 7 30 membarrier: an RCU grace period; "
	     "working 7 20 membarrier",
	     "the end of an RCU grace period");
}

/* A program may call itself as it likes. */
static void a_program_is_no_part_of_the_kernel(void **unused)
{
	says("thread 7 7 1 R db\nthread 15 15 1 R rcu_preempt\n"
	     " 0 cpu0 switch 0(runnable) 7\n"
	     " 0 cpu1 switch 0(runnable) 15\n"
	     " 1 cpu0 enter membarrier\n"
	     "10 cpu0 switch 7(blocked) 0\n"
	     "40 cpu1 waking 7 cpu 0\n"
	     "40 cpu0 switch 0(runnable) 7\n"
	     "50 cpu0 leave membarrier 0\n",
	     "other_thread 15 30 running; working 7 20 membarrier", "none");
}

static void work_of_rcu_that_frees_is_no_grace_period(void **unused)
{
	says(MEMBARRIER "20 cpu1 switch 0(runnable) 16\n"
			"21 cpu1 work 100 process_srcu\n"
			"40 cpu1 waking 7 cpu 0\n"
			"40 cpu0 switch 0(runnable) 7\n"
			"50 cpu0 leave membarrier 0\n",
	     "grace_period 7 30 membarrier: an SRCU grace period; "
	     "working 7 20 membarrier",
	     "the end of an SRCU grace period");
	says(MEMBARRIER "10 cpu1 switch 0(runnable) 16\n"
			"10 cpu1 work 100 kfree_rcu_work\n"
			"40 cpu1 waking 7 cpu 0\n"
			"40 cpu0 switch 0(runnable) 7\n"
			"50 cpu0 leave membarrier 0\n",
	     "other_thread 16 30 work kfree_rcu_work; working 7 20 membarrier", "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_terminal_passes_on_is_of_who_wrote_it),
		cmocka_unit_test(another_work_is_no_terminal),
		cmocka_unit_test(keys_are_the_terminals),
		cmocka_unit_test(a_grace_period_by_that_name),
		cmocka_unit_test(a_grace_period_by_its_thread),
		cmocka_unit_test(a_program_is_no_part_of_the_kernel),
		cmocka_unit_test(work_of_rcu_that_frees_is_no_grace_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

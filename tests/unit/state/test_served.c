/* test_served.c - what a kworker waits for that serves a disk is what the disk's requests wait for. */
#include "told.h"

/* 7 reads from a loop device, 9 serves that: from the disk, or from a daemon, 8. */
#define BEGIN(function)                                                                \
	"thread 7 7 1 R dd\nthread 8 8 1 S fuse\nthread 9 9 2 S kworker/u8:1 kernel\n" \
	" 0 cpu0 switch 0(runnable) 7\n"                                               \
	" 0 cpu1 switch 0(runnable) 8\n"                                               \
	" 1 cpu0 enter read 0\n"                                                       \
	" 2 cpu0 issue 7340032 0 R\n"                                                  \
	" 3 cpu0 queuework 100 " function "\n"                                         \
	"10 cpu0 switch 7(disk) 9\n"                                                   \
	"12 cpu0 work 100 " function "\n"

static void says(const char *text, const char *roots)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_of(told, 7), roots);
	told_free(told);
}

#define BY_DISK(function)                \
	BEGIN(function)                  \
	"20 cpu0 issue 266338304 8 R\n"  \
	"22 cpu0 switch 9(disk) 0\n"     \
	"60 cpu0 irq 24 vda\n"           \
	"61 cpu0 complete 266338304 8\n" \
	"62 cpu0 waking 9 cpu 0\n"       \
	"63 cpu0 irqexit 24\n"           \
	"64 cpu0 switch 0(runnable) 9\n" \
	"70 cpu0 softirq BLOCK\n"        \
	"71 cpu0 complete 7340032 0\n"   \
	"72 cpu0 waking 7 cpu 0\n"       \
	"73 cpu0 softirqexit BLOCK\n"    \
	"74 cpu0 workdone 100\n"         \
	"75 cpu0 switch 9(blocked) 7\n"  \
	"90 cpu0 leave read 1\n"

#define BY_DAEMON(function)              \
	BEGIN(function)                  \
	"20 cpu0 waking 8 cpu 1\n"       \
	"22 cpu0 switch 9(blocked) 0\n"  \
	"60 cpu1 waking 9 cpu 0\n"       \
	"64 cpu0 switch 0(runnable) 9\n" \
	"70 cpu0 softirq BLOCK\n"        \
	"71 cpu0 complete 7340032 0\n"   \
	"72 cpu0 waking 7 cpu 0\n"       \
	"73 cpu0 softirqexit BLOCK\n"    \
	"74 cpu0 workdone 100\n"         \
	"75 cpu0 switch 9(blocked) 7\n"  \
	"90 cpu0 leave read 1\n"

static void the_disk_below(void **unused)
{
	says(BY_DISK("loop_workfn"),
	     "disk 9 40 266338304 read [for 7340032]; working 7 25 read; "
	     "other_thread 9 16 work loop_workfn [for 7340032]; cpu_queue 9 3 ran instead; "
	     "cpu_queue 0 2 wake-up of an idle CPU; softirq 0 2 softirq BLOCK; "
	     "disk 7 2 7340032 read [fd 0]");
}

static void the_daemon_behind_the_file(void **unused)
{
	says(BY_DAEMON("loop_rootcg_workfn"),
	     "other_thread 8 38 running; working 7 25 read; "
	     "other_thread 9 16 work loop_rootcg_workfn [for 7340032]; "
	     "cpu_queue 0 4 wake-up of an idle CPU; cpu_queue 9 3 ran instead; "
	     "softirq 0 2 softirq BLOCK; disk 7 2 7340032 read [fd 0]");
}

/* A write that flushes before and after: all parts are the same work's, and the disk below has one. */
static void a_request_of_several_parts(void **unused)
{
	says(BEGIN("loop_workfn") "20 cpu0 switch 9(disk) 0\n"
				  "60 cpu0 irq 24 vda\n"
				  "61 cpu0 complete 266338304 8\n"
				  "62 cpu0 waking 9 cpu 0\n"
				  "63 cpu0 irqexit 24\n"
				  "64 cpu0 switch 0(runnable) 9\n"
				  "65 cpu0 workdone 100\n"
				  "66 cpu0 softirq BLOCK\n"
				  "67 cpu0 complete 7340032 18446744073709551615 FF 0\n"
				  "68 cpu0 softirqexit BLOCK\n"
				  "69 cpu0 issue 7340032 0 FF 0\n"
				  "70 cpu0 work 100 loop_workfn\n"
				  "71 cpu0 workdone 100\n"
				  "72 cpu0 softirq BLOCK\n"
				  "73 cpu0 complete 7340032 18446744073709551615 FF 0\n"
				  "74 cpu0 waking 7 cpu 0\n"
				  "75 cpu0 softirqexit BLOCK\n"
				  "76 cpu0 switch 9(blocked) 7\n"
				  "90 cpu0 leave read 1\n",
	     "disk 9 42 266338304 read [for 7340032]; working 7 24 read; "
	     "disk 7 10 7340032 flush [fd 0]; other_thread 9 10 work loop_workfn [for 7340032]; "
	     "cpu_queue 0 2 wake-up of an idle CPU; cpu_queue 9 2 ran instead");
}

/* Work that is queued by chance just after a request. */
static void another_work_serves_nothing(void **unused)
{
	says(BY_DISK("wb_workfn"),
	     "disk 7 62 7340032 read [fd 0]; working 7 25 read; cpu_queue 9 3 ran instead");
}

/* The kworker's next wait is for another request. */
static void what_comes_later_does_not_count(void **unused)
{
	says(BEGIN("loop_workfn") "20 cpu0 softirq BLOCK\n"
				  "21 cpu0 complete 7340032 0\n"
				  "22 cpu0 softirqexit BLOCK\n"
				  "23 cpu0 switch 9(disk) 0\n"
				  "40 cpu1 softirq BLOCK\n"
				  "41 cpu1 complete 7340032 0\n"
				  "42 cpu1 waking 7 cpu 0\n"
				  "43 cpu1 softirqexit BLOCK\n"
				  "44 cpu0 switch 0(runnable) 7\n"
				  "50 cpu0 leave read 1\n"
				  "60 cpu1 waking 9 cpu 1\n",
	     "disk 7 32 7340032 read [fd 0]; working 7 26 read 58 %, own code 38 %; "
	     "cpu_queue 0 2 wake-up of an idle CPU");
}

/* With direct I/O the kworker is long at rest: what it issued says it. */
static void a_disk_that_the_kworker_does_not_wait_for(void **unused)
{
	says(BEGIN("loop_workfn") "15 cpu0 issue 266338304 8 R\n"
				  "20 cpu0 workdone 100\n"
				  "21 cpu0 switch 9(blocked) 0\n"
				  "60 cpu0 softirq BLOCK\n"
				  "61 cpu0 complete 266338304 8\n"
				  "62 cpu0 softirqexit BLOCK\n"
				  "63 cpu0 softirq BLOCK\n"
				  "64 cpu0 complete 7340032 0\n"
				  "65 cpu0 waking 7 cpu 0\n"
				  "66 cpu0 softirqexit BLOCK\n"
				  "70 cpu0 switch 0(runnable) 7\n"
				  "90 cpu0 leave read 1\n",
	     "disk 7 51 266338304 read [fd 0]; working 7 30 read; "
	     "cpu_queue 0 5 wake-up of an idle CPU; disk 7 4 7340032 read [fd 0]");
}

/* A limit held back what it issued there: another kworker did that at last. */
#define HELD_BELOW                                             \
	BEGIN("loop_workfn")                                   \
	"15 cpu0 workdone 100\n"                               \
	"16 cpu0 switch 9(blocked) 0\n"                        \
	"40 cpu0 switch 0(runnable) 10\n"                      \
	"41 cpu0 work 300 blk_throtl_dispatch_work_fn\n"       \
	"45 cpu0 insert vda 8 R\n"                             \
	"46 cpu0 fdname 10 -3 limit unknown throttled vda 8\n" \
	"46 cpu0 issue vda 8 R\n"                              \
	"47 cpu0 workdone 300\n"                               \
	"48 cpu0 switch 10(blocked) 0\n"                       \
	"60 cpu0 softirq BLOCK\n"                              \
	"61 cpu0 complete vda 8\n"                             \
	"62 cpu0 softirqexit BLOCK\n"

static void a_limit_of_the_disk_below(void **unused)
{
	struct told *told = replayed("thread 10 10 2 S kworker/1:0 kernel\n" HELD_BELOW
				     "63 cpu0 softirq BLOCK\n"
				     "64 cpu0 complete 7340032 0\n"
				     "65 cpu0 waking 7 cpu 0\n"
				     "66 cpu0 softirqexit BLOCK\n"
				     "70 cpu0 switch 0(runnable) 7\n"
				     "90 cpu0 leave read 1\n");

	assert_string_equal(
		verdict_of(told, 7),
		"throttled 7 35 limit; working 7 30 read; disk 7 20 7340032 read [fd 0]; "
		"cpu_queue 0 5 wake-up of an idle CPU");
	assert_string_equal(
		told_reason(told->why.roots[0].inferred),
		"its request ended right behind one below it that the limit had held back");
	assert_null(told->why.roots[1].inferred);
	assert_null(told->why.roots[2].inferred);
	told_free(told);
}

/* That was complete long before. */
static void a_limit_of_another_request(void **unused)
{
	says("thread 10 10 2 S kworker/1:0 kernel\n" HELD_BELOW "60063 cpu0 softirq BLOCK\n"
	     "60064 cpu0 complete 7340032 0\n"
	     "60065 cpu0 waking 7 cpu 0\n"
	     "60066 cpu0 softirqexit BLOCK\n"
	     "60070 cpu0 switch 0(runnable) 7\n"
	     "60090 cpu0 leave read 1\n",
	     "disk 7 60052 7340032 read [fd 0]; working 7 30 read; "
	     "cpu_queue 0 5 wake-up of an idle CPU; other_thread 9 3 work loop_workfn [for 7340032]");
}

/* Work that a disk's completion queues, as to decrypt what was read: until then the disk was awaited. */
static void work_that_a_disk_queued(void **unused)
{
	says("thread 7 7 1 R dd\nthread 9 9 2 S kworker/u8:1 kernel\n"
	     " 0 cpu0 switch 0(runnable) 7\n"
	     " 1 cpu0 enter read 0\n"
	     " 2 cpu0 issue 266338304 8 R\n"
	     "10 cpu0 switch 7(disk) 0\n"
	     "40 cpu0 softirq BLOCK\n"
	     "41 cpu0 complete 266338304 8\n"
	     "42 cpu0 queuework 200 kcryptd_crypt\n"
	     "43 cpu0 softirqexit BLOCK\n"
	     "43 cpu0 switch 0(runnable) 9\n"
	     "44 cpu0 work 200 kcryptd_crypt\n"
	     "70 cpu0 waking 7 cpu 0\n"
	     "71 cpu0 workdone 200\n"
	     "72 cpu0 switch 9(blocked) 7\n"
	     "90 cpu0 leave read 1\n",
	     "disk 7 32 266338304 read [fd 0]; working 7 28 read; other_thread 9 27 work kcryptd_crypt; "
	     "cpu_queue 9 2 ran instead; cpu_queue 0 1 wake-up of an idle CPU");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_disk_below),
		cmocka_unit_test(the_daemon_behind_the_file),
		cmocka_unit_test(a_request_of_several_parts),
		cmocka_unit_test(another_work_serves_nothing),
		cmocka_unit_test(what_comes_later_does_not_count),
		cmocka_unit_test(a_disk_that_the_kworker_does_not_wait_for),
		cmocka_unit_test(a_limit_of_the_disk_below),
		cmocka_unit_test(a_limit_of_another_request),
		cmocka_unit_test(work_that_a_disk_queued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

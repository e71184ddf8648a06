/* test_why_stuck.c - who is stopped or frozen waits for nothing else, however that ends. */
#include "told.h"

static void says(const char *text, const char *roots, const char *until)
{
	struct told *told = replayed(text);
	const char *said = verdict_of(told, 7);
	bool is_told = false;

	assert_string_equal(said, roots);
	for (size_t i = 0; i < told->why.root_count; i++)
		is_told |= told->why.roots[i].kind == WHY_STOPPED &&
			   strcmp(told_reason(told->why.roots[i].why), until) == 0;
	assert_true(is_told || !until);
	assert_int_equal(told->why.held_up_ns, told->why.blocked_ns);
	told_free(told);
}

static void stopped_until_it_is_let_go_on(void **unused)
{
	says("thread 8 8 1 R sh\n"
	     " 0 cpu0 switch 0(runnable) 7\n"
	     " 0 cpu1 switch 0(runnable) 8\n"
	     "10 cpu0 switch 7(stopped) 0\n"
	     "40 cpu1 waking 7 cpu 0\n"
	     "40 cpu1 signal 18 7\n"
	     "40 cpu0 switch 0(runnable) 7\n"
	     "50 cpu0 switch 7(runnable) 8\n",
	     "stopped 7 30 stopped: SIGCONT of sh[8]; working 7 20 running", "SIGCONT of sh[8]");
}

/* The event of the signal tells of one thread of the process. */
static void all_threads_of_a_process_are_let_go_on_by_one_signal(void **unused)
{
	says("thread 6 6 1 R main\n"
	     "thread 7 6 1 R pool\n"
	     "thread 8 8 1 R sh\n"
	     " 0 cpu0 switch 0(runnable) 7\n"
	     " 0 cpu1 switch 0(runnable) 6\n"
	     " 9 cpu1 switch 6(stopped) 8\n"
	     "10 cpu0 switch 7(stopped) 0\n"
	     "39 cpu1 waking 6 cpu 1\n"
	     "40 cpu1 waking 7 cpu 0\n"
	     "40 cpu1 signal 18 6\n"
	     "40 cpu0 switch 0(runnable) 7\n"
	     "50 cpu0 switch 7(runnable) 8\n",
	     "stopped 7 30 stopped: SIGCONT of sh[8]; working 7 20 running", "SIGCONT of sh[8]");
}

/* What brings the page did not; who killed it is not what it waited for. */
static void killed_in_a_page_fault(void **unused)
{
	static const char fault[] = " 9 cpu0 fault 4096\n", dies[] = "80 cpu0 switch 7(dead) 0\n";
	static const char *const kills[][4] = {
		{ fault, "", "page fault", "interrupted" },
		{ fault, dies, "page fault", "ended" },
		{ "", dies, "return to user mode", "ended" }, /* it was not recorded */
	};

	for (size_t i = 0; i < ARRAY_LEN(kills); i++) {
		AUTO_FREE char *text = xasprintf("thread 8 8 1 R killer\n"
						 " 0 cpu0 switch 0(runnable) 7\n"
						 " 0 cpu1 switch 0(runnable) 8\n"
						 " 5 cpu0 enter getpid\n"
						 " 5 cpu0 leave getpid 7\n"
						 "%s"
						 "10 cpu0 switch 7(blocked) 0\n"
						 "50 cpu1 enter kill 7 9\n"
						 "60 cpu1 waking 7 cpu 0\n"
						 "60 cpu1 signal 9 7\n"
						 "61 cpu0 switch 0(runnable) 7\n"
						 "%s",
						 kills[i][0], kills[i][1]);
		AUTO_FREE char *want = xasprintf("stuck 7 50 %s: SIGKILL of killer[8] %s it",
						 kills[i][2], kills[i][3]);
		struct told *told = replayed(text);

		assert_string_equal(verdict_in(told, 7, 10, 60), want);
		told_free(told);
	}
}

static void stopped_for_good(void **unused)
{
	says(" 0 cpu0 switch 0(runnable) 7\n"
	     "10 cpu0 switch 7(stopped) 0\n"
	     "90 cpu0 switch 0(runnable) 8\n",
	     "stopped 7 80 stopped: the recording ended; working 7 10 running",
	     "the recording ended");
}

static void stopped_before_the_recording_began(void **unused)
{
	says("thread 7 7 1 T job\n"
	     " 0 cpu0 switch 0(runnable) 8\n"
	     "90 cpu0 switch 8(runnable) 0\n",
	     "stopped 7 90 stopped: the recording ended", "the recording ended");
	says("thread 7 7 1 T job\nthread 8 8 1 R sh\nseenin 5 read 0 0\n"
	     " 0 cpu0 switch 0(runnable) 8\n"
	     "40 cpu0 waking 7 cpu 1\n"
	     "40 cpu0 signal 18 7\n"
	     "40 cpu1 switch 0(runnable) 7\n"
	     "90 cpu1 switch 7(runnable) 0\n",
	     "working 7 50 running; stopped 7 40 stopped: SIGCONT of sh[8]", "SIGCONT of sh[8]");
}

/* Its tracer lets it go on, when it has looked. */
static void of_the_traced_the_tracer_counts(void **unused)
{
	struct told *told = replayed("thread 8 8 1 R gdb\n"
				     " 0 cpu0 switch 0(runnable) 7\n"
				     " 0 cpu1 switch 0(runnable) 8\n"
				     "10 cpu0 switch 7(stopped) 0\n"
				     "30 cpu1 enter ptrace\n"
				     "40 cpu1 waking 7 cpu 0\n"
				     "40 cpu0 switch 0(runnable) 7\n"
				     "50 cpu0 switch 7(runnable) 8\n");

	assert_string_equal(verdict_of(told, 7),
			    "other_thread 8 30 running 67 %, ptrace 33 %; working 7 20 running");
	told_free(told);
}

static void frozen_until_it_is_thawed(void **unused)
{
	says("thread 8 8 1 R sh\nfd 8 1 file /sys/fs/cgroup/x/cgroup.freeze\n"
	     " 0 cpu0 switch 0(runnable) 7\n"
	     " 0 cpu1 switch 0(runnable) 8\n"
	     " 1 cpu0 enter getpid\n"
	     " 2 cpu0 leave getpid 7\n"
	     "10 cpu0 switch 7(blocked) 0\n"
	     "30 cpu1 enter write 1 0 2\n"
	     "40 cpu1 waking 7 cpu 0\n"
	     "40 cpu0 switch 0(runnable) 7\n"
	     "42 cpu0 switch 7(runnable) 8\n",
	     "stopped 7 30 frozen: sh[8] thawed it [/sys/fs/cgroup/x/cgroup.freeze]; "
	     "working 7 12 own code 83 %, running 8 %, getpid 8 %",
	     "sh[8] thawed it");
}

#define ASLEEP_IN_READ(files)                                        \
	"thread 6 6 1 R cat\nfd 6 1 pipe pipe:[5]\n"                 \
	"thread 7 7 1 R sh\nfd 7 3 pipe pipe:[5]\n"                  \
	"thread 8 8 1 R sh\n" files " 0 cpu0 switch 0(runnable) 7\n" \
	" 0 cpu1 switch 0(runnable) 8\n"                             \
	" 0 cpu2 switch 0(runnable) 6\n"                             \
	"10 cpu0 enter read 3 0 1\n"                                 \
	"10 cpu0 switch 7(blocked) 0\n"

/* It wakes up to be frozen, and reads on behind that. */
#define FROZEN_AND_READS                                               \
	"30 cpu1 waking 7 cpu 0\n"                                     \
	"30 cpu0 switch 0(runnable) 7\n"                               \
	"30 cpu0 leave read -512\n"                                    \
	"31 cpu0 switch 7(blocked) 0\n"                                \
	"32 cpu1 leave write 1\n"                                      \
	"60 cpu1 enter write 1 0 1\n" THAWN "61 cpu1 waking 7 cpu 0\n" \
	"61 cpu0 switch 0(runnable) 7\n"                               \
	"61 cpu0 enter read 3 0 1\n"                                   \
	"61 cpu0 switch 7(blocked) 0\n"                                \
	"70 cpu1 leave write 1\n"                                      \
	"80 cpu2 enter write 1 0 1\n"                                  \
	"80 cpu2 waking 7 cpu 0\n"                                     \
	"80 cpu0 switch 0(runnable) 7\n"                               \
	"80 cpu0 leave read 1\n"                                       \
	"90 cpu0 switch 7(runnable) 8\n"

/* What it waited for before it was frozen, and after that, is no part of it. */
static void a_freeze_breaks_off_what_it_waits_for(void **unused)
{
#define THAWN ""
	says(ASLEEP_IN_READ(
		     "fd 8 1 file /c/cgroup.freeze\n") "29 cpu1 enter write 1 0 1\n" FROZEN_AND_READS,
	     "other_thread 6 39 running; stopped 7 30 frozen: sh[8] thawed it [/c/cgroup.freeze]; "
	     "working 7 21 own code 52 %, running 48 %",
	     "sh[8] thawed it");
#undef THAWN
}

/* The recorder tells it where the file is not known. */
static void who_freezes_a_cgroup_is_told(void **unused)
{
#define THAWN "60 cpu1 fdname 8 -13 /c unknown throttled\n"
	says(ASLEEP_IN_READ("") "29 cpu1 fdname 8 -12 /c unknown throttled\n" FROZEN_AND_READS,
	     "other_thread 6 39 running; stopped 7 30 frozen: sh[8] thawed it [with its cgroup /c]; "
	     "working 7 21 own code 52 %, running 48 %",
	     "sh[8] thawed it");
#undef THAWN
}

/* Up to the end of the recording: who did that was not awaited. */
static void what_a_stop_breaks_off_did_not_come(void **unused)
{
	struct told *told = replayed(ASLEEP_IN_READ("") "30 cpu1 waking 7 cpu 0\n"
							"30 cpu1 signal 19 7\n"
							"30 cpu0 switch 0(runnable) 7\n"
							"30 cpu0 leave read -512\n"
							"31 cpu0 switch 7(stopped) 0\n"
							"90 cpu0 switch 0(runnable) 8\n");

	(void)verdict_of(told, 7);
	for (size_t i = 0; i < told->why.root_count; i++)
		assert_int_not_equal(told->why.roots[i].who.tid, 8);
	assert_int_equal(told->why.roots[0].kind, WHY_STOPPED);
	assert_int_equal(told->why.roots[0].ns, 59);
	told_free(told);
}

/* Somebody who writes to another file ended a wait, and froze nobody. */
static void other_files_thaw_nobody(void **unused)
{
	struct told *told = replayed("thread 8 8 1 R sh\nfd 8 1 file /tmp/cgroup.events\n"
				     " 0 cpu0 switch 0(runnable) 7\n"
				     " 0 cpu1 switch 0(runnable) 8\n"
				     " 1 cpu0 enter read 3\n"
				     "10 cpu0 switch 7(blocked) 0\n"
				     "30 cpu1 enter write 1 0 2\n"
				     "40 cpu1 waking 7 cpu 0\n"
				     "40 cpu0 switch 0(runnable) 7\n"
				     "42 cpu0 switch 7(runnable) 8\n");

	(void)verdict_of(told, 7);
	for (size_t i = 0; i < told->why.root_count; i++)
		assert_int_not_equal(told->why.roots[i].kind, WHY_STOPPED);
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped_until_it_is_let_go_on),
		cmocka_unit_test(all_threads_of_a_process_are_let_go_on_by_one_signal),
		cmocka_unit_test(killed_in_a_page_fault),
		cmocka_unit_test(stopped_for_good),
		cmocka_unit_test(stopped_before_the_recording_began),
		cmocka_unit_test(of_the_traced_the_tracer_counts),
		cmocka_unit_test(frozen_until_it_is_thawed),
		cmocka_unit_test(a_freeze_breaks_off_what_it_waits_for),
		cmocka_unit_test(who_freezes_a_cgroup_is_told),
		cmocka_unit_test(what_a_stop_breaks_off_did_not_come),
		cmocka_unit_test(other_files_thaw_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_syscall.c - what a thread waits in, and for what. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "timeline/totals.h"
#include "told.h"

/* 7 makes the call 'enter' at 5, waits in it from 10 to 40, and returns at 60. */
static struct told *waited(const char *facts, const char *enter, const char *after)
{
	AUTO_FREE char *text = xasprintf("thread 7 7 1 R prog\n%s\n"
					 "  0 cpu0 switch 0(runnable) 7\n"
					 "  5 cpu0 %s\n"
					 " 10 cpu0 switch 7(blocked) 8\n"
					 " 40 cpu0 waking 7\n"
					 " 50 cpu0 switch 8(blocked) 7\n"
					 "%s\n"
					 " 90 cpu0 switch 7(blocked) 0\n",
					 facts, enter, after);

	return replayed(text);
}

/* Calls of number 'nr' that the thread began, by the sums of its timeline. */
static uint64_t calls_of(struct told *told, int32_t tid, uint32_t nr)
{
	struct totals totals = { 0 };
	const struct total *row;
	uint64_t count;

	timeline_totals(told->tl, slot_of(told, tid), 0, UINT64_MAX, &totals);
	row = totals_find(&totals, total_key(TOTAL_CALL, nr, 0));
	count = row ? row->count : 0;
	totals_fini(&totals);
	return count;
}

/* The same with lean events: 7 blocks at 10 in what 'call' says, is woken at 40, runs until 90 and blocks unsaid. */
static struct told *told_lean(const char *facts, const char *call)
{
	AUTO_FREE char *text = xasprintf("facts lean\nthread 7 7 1 R prog\n%s\n"
					 "  0 cpu0 switch 0(runnable) 7\n"
					 " 10 cpu0 blockedin %s\n"
					 " 10 cpu0 switch 7(blocked) 8\n"
					 " 40 cpu0 waking 7\n"
					 " 50 cpu0 switch 8(blocked) 7\n"
					 " 90 cpu0 switch 7(blocked) 0\n",
					 facts, call);

	return replayed(text);
}

static void lean_events_tell_the_call_of_a_wait_and_nothing_of_work(void **unused)
{
	struct told *told = told_lean("", "read 3");

	assert_string_equal(track_of(told, 7),
			    "0 running, 10 blocked, 40 queued/0, 50 running - 90");
	assert_string_equal(wait_text(told, 7, 0), "10-40 in read by thread 8");
	told_free(told);
}

/* Each call with what it is about, told at its beginning or as the thread blocks. */
static void a_wait_of_lean_events_is_that_of_all_events(void **unused)
{
	static const char *const calls[] = {
		"read 3",
		"recvfrom 3 0 5",
		"accept4 3",
		"futex 0x7f00 128 2",
		"futex 0x7f00 137 0",
		"wait4 8",
		"nanosleep 1",
		"poll 0 0 100",
		"connect 3",
		"flock 3 2",
		"semop 5",
		"msgrcv 6",
		"rt_sigsuspend",
		"io_uring_enter 3 0 1 1",
		"fsync 3",
		"epoll_wait 3 0 5 100",
	};
	static const char fds[] = "thread 8 8 7 R child\nfd 7 3 connected db";

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		AUTO_FREE char *enter = xasprintf("enter %s", calls[i]);
		struct told *full = waited(fds, enter, ""), *lean = told_lean(fds, calls[i]);
		const struct wait *in_full = wait_of(full, 7, 0), *in_lean = wait_of(lean, 7, 0);

		assert_string_equal(wait_text(lean, 7, 0), wait_text(full, 7, 0));
		assert_string_equal(object_of(lean, 7, 0), object_of(full, 7, 0));
		assert_int_equal(in_lean->flags, in_full->flags);
		assert_int_equal(in_lean->fd, in_full->fd);
		told_free(full);
		told_free(lean);
	}
}

static void in_no_call_it_is_a_fault_that_a_thread_blocks_in(void **unused)
{
	struct told *told = told_lean("", "nothing");

	assert_string_equal(wait_text(told, 7, 0), "10-40 in fault by thread 8");
	assert_string_equal(track_of(told, 7),
			    "0 running, 10 blocked, 40 queued/0, 50 running - 90");
	told_free(told);
}

/* It is stopped, frozen, or pauses for its cgroup. */
static void a_call_that_has_ended_is_not_waited_in(void **unused)
{
	struct told *told = told_lean("", "read 3 ended");

	assert_string_equal(wait_text(told, 7, 0), "10-40 in user by thread 8");
	told_free(told);
}

static void a_wait_whose_call_is_lost_is_in_none(void **unused)
{
	struct told *told = replayed("facts lean\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 blockedin read 3\n"
				     " 10 cpu0 switch 7(blocked) 8\n"
				     " 40 cpu0 waking 7\n"
				     " 50 cpu0 switch 8(blocked) 7\n"
				     " 60 cpu0 switch 7(blocked) 8\n"
				     " 70 cpu0 waking 7\n"
				     " 80 cpu0 switch 8(blocked) 7\n");

	assert_string_equal(wait_text(told, 7, 0), "10-40 in read by thread 8");
	assert_string_equal(wait_text(told, 7, 1), "60-70 in running by thread 8");
	told_free(told);
}

static void own_code_and_system_calls_follow_each_other(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter read 3\n"
				     " 15 cpu0 leave read 1\n"
				     " 20 cpu0 enter write 1\n"
				     " 30 cpu0 leave write 1\n"
				     " 40 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 5 read, 15 user, 20 write, 30 user - 40");
	assert_int_equal(calls_of(told, 7, 0), 1);
	assert_int_equal(calls_of(told, 7, 1), 1);
	told_free(told);
}

/* As where a tracer has no exit of the call that a new thread was born in. */
static void a_call_right_behind_another_is_counted(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter read 3\n"
				     " 20 cpu0 enter write 1\n"
				     " 30 cpu0 leave write 1\n"
				     " 40 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 5 read, 20 write, 30 user - 40");
	assert_int_equal(calls_of(told, 7, 0), 1);
	assert_int_equal(calls_of(told, 7, 1), 1);
	told_free(told);
}

static void a_call_is_on_top_again_after_a_wait_in_it(void **unused)
{
	struct told *told = waited("", "enter read 3", " 60 cpu0 leave read 1");

	assert_string_equal(track_of(told, 7),
			    "0 running, 5 read, 10 blocked, 40 queued/0, 50 read, 60 user - 90");
	assert_string_equal(wait_text(told, 7, 0), "10-40 in read by thread 8");
	told_free(told);
}

static void a_call_that_began_unseen_is_named_by_its_exit(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 switch 7(blocked) 8\n"
				     " 40 cpu0 waking 7\n"
				     " 50 cpu0 switch 8(blocked) 7\n"
				     " 60 cpu0 leave read 1\n"
				     " 90 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(wait_text(told, 7, 0), "10-40 in read by thread 8");
	told_free(told);
}

#define SLEEPS_SEEN_AT_10              \
	"facts last 100\n"             \
	"thread 7 7 1 S server\n"      \
	"seenin 10 futex 0x7f00 128\n" \
	"thread 8 8 1 R other\n"       \
	"  0 cpu0 switch 0(runnable) 8\n"

/* Nothing but the dump tells where a thread hangs that hung before. */
static void a_sleeper_is_in_the_call_that_the_dump_saw(void **unused)
{
	struct told *told = replayed(SLEEPS_SEEN_AT_10 " 90 cpu0 switch 8(blocked) 0\n");

	assert_string_equal(wait_text(told, 7, 0), "0-0 in futex by none");
	assert_string_equal(object_of(told, 7, 0), "futex 0x7f00");
	told_free(told);
	told = replayed(SLEEPS_SEEN_AT_10 " 40 cpu0 waking 7\n"
					  " 50 cpu0 switch 8(blocked) 7\n"
					  " 60 cpu0 leave futex 0\n"
					  " 90 cpu0 switch 7(blocked) 0\n");
	assert_string_equal(wait_text(told, 7, 0), "0-40 in futex by thread 8");
	told_free(told);
}

/* It was woken before the dump came to it: what it slept in then is not known. */
static void a_wait_that_ended_before_the_dump_was_in_another_call(void **unused)
{
	struct told *told = replayed(SLEEPS_SEEN_AT_10 "  5 cpu0 waking 7\n"
						       "  6 cpu0 switch 8(blocked) 7\n"
						       "  7 cpu0 leave read 1\n"
						       "  8 cpu0 enter futex 0x7f00 128 2\n"
						       "  9 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(wait_text(told, 7, 0), "0-5 in read by thread 8");
	told_free(told);
}

static void without_system_calls_code_is_just_running(void **unused)
{
	struct told *told = replayed("facts no_syscalls\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 switch 7(runnable) 8\n"
				     " 20 cpu0 switch 8(runnable) 7\n"
				     " 30 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 10 preempted/0, 20 running - 30");
	told_free(told);
}

/* -------------------------------------------------------------------- objects */

#define assert_waits_for(facts, enter, after, object)               \
	do {                                                        \
		struct told *told = waited(facts, enter, after);    \
                                                                    \
		assert_string_equal(object_of(told, 7, 0), object); \
		told_free(told);                                    \
	} while (0)

static void a_descriptor_of_the_dump_has_its_name(void **unused)
{
	assert_waits_for("fd 7 3 file /etc/passwd", "enter read 3", "", "/etc/passwd");
	assert_waits_for("fd 7 3 file /etc/passwd", "enter read 4", "", "");
	assert_waits_for("fd 7 3 file /etc/passwd", "enter fsync 3", "", "/etc/passwd");
}

static void a_futex_is_its_address_and_may_be_a_lock(void **unused)
{
	struct told *told = waited("", "enter futex 0x7f00 128 1", "");

	assert_string_equal(object_of(told, 7, 0), "futex 0x7f00");
	assert_true(wait_of(told, 7, 0)->flags & WAIT_LOCK);
	told_free(told);
	/* FUTEX_WAIT_BITSET: a condition, not a lock. */
	/* A thread that is parked until its word is no longer 0: nobody holds it. */
	told = waited("", "enter futex 0x7f00 128 0", "");
	assert_false(wait_of(told, 7, 0)->flags & WAIT_LOCK);
	told_free(told);
	told = waited("", "enter futex 0x7f00 137 1", "");
	assert_false(wait_of(told, 7, 0)->flags & WAIT_LOCK);
	told_free(told);
}

static void a_child_is_named(void **unused)
{
	assert_waits_for("thread 9 9 7 S child", "enter wait4 9", "", "child child[9]");
	assert_waits_for("", "enter wait4 -1", "", "any child");
}

static void a_name_that_comes_with_the_exit_is_given_to_the_wait(void **unused)
{
	struct told *told = waited("", "enter openat 0 0x1000",
				   " 60 cpu0 fdname 7 3 /mnt/slow file\n"
				   " 61 cpu0 leave openat 3\n"
				   " 65 cpu0 enter read 3\n"
				   " 70 cpu0 switch 7(blocked) 8\n"
				   " 75 cpu0 waking 7\n"
				   " 80 cpu0 switch 8(blocked) 7\n");

	assert_string_equal(object_of(told, 7, 0), "/mnt/slow");
	assert_string_equal(object_of(told, 7, 1), "/mnt/slow");
	assert_int_equal(wait_of(told, 7, 1)->fd, 3);
	told_free(told);
}

/* LTTng tells the name at the entry; 3 becomes a directory, and the second is opened in it. */
static void a_name_that_comes_with_the_entry_is_of_what_was_opened(void **unused)
{
	struct told *told = waited("", "enter openat -100 /srv",
				   " 61 cpu0 leave openat 3\n"
				   " 62 cpu0 enter openat 3 /\n"
				   " 63 cpu0 leave openat -2\n"
				   " 64 cpu0 enter openat 3 /srv/b\n"
				   " 65 cpu0 leave openat 4\n"
				   " 66 cpu0 enter read 4\n"
				   " 70 cpu0 switch 7(blocked) 8\n"
				   " 75 cpu0 waking 7\n"
				   " 80 cpu0 switch 8(blocked) 7\n");

	assert_string_equal(object_of(told, 7, 0), "/srv");
	assert_int_equal(wait_of(told, 7, 0)->fd, 3);
	assert_string_equal(object_of(told, 7, 1), "/srv/b");
	told_free(told);
}

static void a_relative_name_begins_in_its_directory(void **unused)
{
	struct text_trace *trace = text_trace_of("fd 7 5 dir /srv\n"
						 "thread 7 7 1 R work\n"
						 "  0 cpu0 switch 0(runnable) 7\n"
						 " 10 cpu0 enter openat 5 /etc\n"
						 " 11 cpu0 leave openat 6\n"
						 " 20 cpu0 enter read 6\n"
						 " 30 cpu0 switch 7(blocked) 0\n");
	struct told *told;

	for (size_t i = 0; i < trace->count; i++) {
		if (trace->events[i].type == EV_SYS_ENTER && trace->events[i].syscall.path)
			trace->events[i].syscall.path = "etc";
	}
	told = told_trace(trace);
	assert_string_equal(object_of(told, 7, 0), "/srv/etc");
	told_free(told);
}

static void what_a_poll_was_about_is_inferred_from_what_is_read_next(void **unused)
{
	struct told *told = waited("fd 7 3 file /a\nfd 7 4 connected \"tcp 10.0.0.1:80\"\n"
				   "fd 7 1 pipe pipe:[1]",
				   "enter poll 0x1000 2",
				   " 60 cpu0 leave poll 1\n"
				   " 61 cpu0 enter write 1\n"
				   " 62 cpu0 leave write 9\n"
				   " 63 cpu0 enter read 3\n"
				   " 64 cpu0 leave read 9\n"
				   " 65 cpu0 enter openat 5 /b\n"
				   " 66 cpu0 leave openat 6\n"
				   " 67 cpu0 enter read 6\n"
				   " 68 cpu0 leave read 9\n"
				   " 69 cpu0 enter read 4\n"
				   " 70 cpu0 leave read 9\n"
				   " 71 cpu0 enter read 1\n"
				   " 72 cpu0 leave read 9\n");

	assert_string_equal(object_of(told, 7, 0), "then used: fd 4 = tcp 10.0.0.1:80");
	assert_int_equal(wait_of(told, 7, 0)->fd, -1);
	assert_false(wait_of(told, 7, 0)->flags & WAIT_SERVER);
	told_free(told);
}

static void a_poll_that_timed_out_is_about_nothing(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R prog\n"
				     "fd 7 3 file /a\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter poll 0x1000 2 30\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 38 cpu0 vector local_timer\n"
				     " 39 cpu0 hrtimer hrtimer_wakeup 1\n"
				     " 40 cpu0 waking 7\n"
				     " 41 cpu0 hrtimerdone\n"
				     " 42 cpu0 vectorexit local_timer\n"
				     " 50 cpu0 switch 0(runnable) 7\n"
				     " 60 cpu0 leave poll 0\n"
				     " 62 cpu0 enter read 3\n"
				     " 90 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(object_of(told, 7, 0), "");
	told_free(told);
}

static void an_epoll_set_of_a_server_waits_for_work(void **unused)
{
	struct told *told = waited("fd 7 5 epoll epoll\nfd 7 6 listen \"tcp *:80\"\nepoll 7 5 6",
				   "enter epoll_wait 5", "");

	assert_true(wait_of(told, 7, 0)->flags & WAIT_SERVER);
	assert_string_equal(object_of(told, 7, 0), "tcp *:80");
	told_free(told);
	/* Answers come through it as well. */
	told = waited("fd 7 5 epoll epoll\nfd 7 6 listen \"tcp *:80\"\nfd 7 8 connected db\n"
		      "epoll 7 5 6\nepoll 7 5 8",
		      "enter epoll_wait 5", "");
	assert_false(wait_of(told, 7, 0)->flags & WAIT_SERVER);
	told_free(told);
}

static void a_set_is_followed_through_epoll_ctl(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R prog\n"
				     "fd 7 5 epoll epoll\n"
				     "fd 7 6 listen \"tcp *:80\"\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  1 cpu0 enter epoll_ctl 5 1 6\n"
				     "  2 cpu0 leave epoll_ctl 0\n"
				     "  5 cpu0 enter epoll_wait 5\n"
				     " 10 cpu0 switch 7(blocked) 8\n"
				     " 40 cpu0 waking 7\n"
				     " 50 cpu0 switch 8(blocked) 7\n"
				     " 60 cpu0 leave epoll_wait 1\n"
				     " 61 cpu0 enter epoll_ctl 5 2 6\n"
				     " 62 cpu0 leave epoll_ctl 0\n"
				     " 65 cpu0 enter epoll_wait 5\n"
				     " 70 cpu0 switch 7(blocked) 0\n");

	assert_true(wait_of(told, 7, 0)->flags & WAIT_SERVER);
	assert_false(wait_of(told, 7, 1)->flags & WAIT_SERVER);
	told_free(told);
}

static void accept_waits_for_work(void **unused)
{
	struct told *told = waited("fd 7 6 listen \"tcp *:80\"", "enter accept4 6", "");

	assert_true(wait_of(told, 7, 0)->flags & WAIT_SERVER);
	assert_string_equal(object_of(told, 7, 0), "tcp *:80");
	told_free(told);
}

/* A client that does not take its answer holds its server up. */
static void who_answers_does_not_wait_for_work(void **unused)
{
	static const struct {
		const char *enter;
		bool serves;
	} cases[] = {
		{ "read 3", true },    { "recvfrom 3", true }, { "splice 3 0 5", true },
		{ "write 3", false },  { "sendto 3", false },  { "sendfile 3 5", false },
		{ "writev 3", false }, { "close 3", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *enter = xasprintf("enter %s", cases[i].enter);
		struct told *told = waited("fd 7 3 accepted client", enter, "");

		assert_string_equal(object_of(told, 7, 0), "client");
		assert_int_equal(!!(wait_of(told, 7, 0)->flags & WAIT_SERVER), cases[i].serves);
		told_free(told);
	}
}

/* The same in poll or epoll: by what the client was at that ended it. */
static void who_waits_until_an_answer_is_taken_does_not_wait_for_work(void **unused)
{
	static const char *const names[][2] = {
		{ "tcp 127.0.0.1:80->127.0.0.1:9", "tcp 127.0.0.1:9->127.0.0.1:80" },
		{ "unix /s peer 8", "unix /s peer 7" },
	};
	static const char *const sets[] = { "", "fd 7 6 listen \"tcp *:80\"\nepoll 7 5 6\n" };

	for (size_t i = 0; i < 8; i++) {
		const char *call = i & 1 ? "read" : "write";
		AUTO_FREE char *text = xasprintf(
			"thread 7 7 1 R server\nthread 8 8 1 R client\nfd 7 5 epoll epoll\n"
			"fd 7 3 accepted \"%s\"\nepoll 7 5 3\n%sfd 8 4 connected \"%s\"\n"
			"  0 cpu0 switch 0(runnable) 7\n"
			"  0 cpu1 switch 0(runnable) 8\n"
			"  5 cpu0 enter epoll_wait 5\n"
			" 10 cpu0 switch 7(blocked) 0\n"
			" 30 cpu1 enter %s 4\n"
			" 40 cpu1 waking 7\n"
			" 41 cpu1 leave %s 9\n"
			" 50 cpu0 switch 0(runnable) 7\n"
			" 60 cpu0 leave epoll_wait 1\n"
			" 90 cpu0 switch 7(blocked) 0\n",
			names[i & 2 ? 1 : 0][0], sets[i & 4 ? 1 : 0], names[i & 2 ? 1 : 0][1], call,
			call);
		struct told *told = replayed(text);

		assert_int_equal(!!(wait_of(told, 7, 0)->flags & WAIT_SERVER), !(i & 1));
		told_free(told);
	}
}

/* It asks a helper for what a client asked it. */
static void who_waits_for_the_answer_of_a_helper_does_not_wait_for_work(void **unused)
{
	static const struct {
		const char *then; /* it wrote to fd 4, and then maybe to another one */
		const char *ends; /* who wrote at the end */
		bool serves;
	} cases[] = {
		{ "", "enter write 9", false },
		{ "  4 cpu0 enter write 3\n  4 cpu0 leave write 1\n", "enter write 9", true },
		{ "", "enter getpid", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *text = xasprintf(
			"thread 7 7 1 R server\nthread 8 8 1 R helper\nfd 7 5 epoll epoll\n"
			"fd 7 3 accepted client\nfd 7 4 socket \"unix 11->12\"\n"
			"fd 7 6 listen \"tcp *:80\"\nepoll 7 5 3\nepoll 7 5 4\nepoll 7 5 6\n"
			"fd 8 9 socket \"unix 12->11\"\n"
			"  0 cpu0 switch 0(runnable) 7\n"
			"  0 cpu1 switch 0(runnable) 8\n"
			"  1 cpu0 enter read 3\n  2 cpu0 leave read 1\n"
			"  3 cpu0 enter write 4\n  3 cpu0 leave write 1\n%s"
			"  5 cpu0 enter epoll_wait 5\n"
			" 10 cpu0 switch 7(blocked) 0\n"
			" 30 cpu1 %s\n"
			" 40 cpu1 waking 7\n"
			" 50 cpu0 switch 0(runnable) 7\n"
			" 60 cpu0 leave epoll_wait 1\n"
			" 90 cpu0 switch 7(blocked) 0\n",
			cases[i].then, cases[i].ends);
		struct told *told = replayed(text);

		assert_int_equal(!!(wait_of(told, 7, 0)->flags & WAIT_SERVER), cases[i].serves);
		told_free(told);
	}
}

static void descriptors_follow_dup_close_and_fork(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R prog\n"
				     "fd 7 3 pipe pipe:[1]\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  1 cpu0 enter dup2 3 0\n"
				     "  2 cpu0 leave dup2 0\n"
				     "  3 cpu0 enter clone\n"
				     "  4 cpu0 newtask 12\n"
				     "  5 cpu0 leave clone 12\n"
				     "  6 cpu0 enter close 3\n"
				     "  7 cpu0 leave close 0\n"
				     "  8 cpu0 enter read 3\n"
				     " 10 cpu0 switch 7(blocked) 12\n"
				     " 11 cpu0 leave clone 0\n"
				     " 12 cpu0 enter read 0\n"
				     " 20 cpu0 switch 12(blocked) 8\n"
				     " 30 cpu0 waking 12\n"
				     " 31 cpu0 switch 8(blocked) 12\n"
				     " 32 cpu0 leave read 1\n"
				     " 33 cpu0 enter read 3\n"
				     " 40 cpu0 switch 12(blocked) 0\n");

	assert_string_equal(object_of(told, 7, 0), "");
	assert_string_equal(object_of(told, 12, 0), "pipe:[1]");
	/* It was copied before its parent closed it. */
	assert_string_equal(object_of(told, 12, 1), "pipe:[1]");
	told_free(told);
}

static void threads_share_descriptors(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R prog\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  4 cpu0 newtask 12 thread\n"
				     "  5 cpu0 enter openat\n"
				     "  6 cpu0 fdname 7 3 /shared file\n"
				     "  7 cpu0 leave openat 3\n"
				     " 10 cpu0 switch 7(blocked) 12\n"
				     " 12 cpu0 enter read 3\n"
				     " 20 cpu0 switch 12(blocked) 0\n");

	assert_string_equal(object_of(told, 12, 0), "/shared");
	told_free(told);
}

/* ------------------------------------------------------------- faults and locks */

static void a_fault_that_blocks_is_a_trap_from_its_beginning(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  1 cpu0 enter getpid\n"
				     "  2 cpu0 leave getpid 7\n"
				     "  5 cpu0 fault 0x1000\n"
				     " 10 cpu0 switch 7(disk) 8\n"
				     " 40 cpu0 waking 7\n"
				     " 50 cpu0 switch 8(blocked) 7\n"
				     " 60 cpu0 enter getpid\n"
				     " 90 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 1 getpid, 2 user, 5 fault, 10 blocked, 40 queued/0, "
			    "50 fault, 60 getpid - 90");
	assert_string_equal(wait_text(told, 7, 0), "10-40 in fault by thread 8");
	assert_true(wait_of(told, 7, 0)->flags & WAIT_DISK_SLEEP);
	told_free(told);
}

static void what_interrupts_a_fault_that_blocks_does_not_end_it(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  1 cpu0 enter getpid\n"
				     "  2 cpu0 leave getpid 7\n"
				     "  5 cpu0 fault 0x1000\n"
				     "  6 cpu0 irq 9 eth0\n"
				     "  7 cpu0 irqexit 9\n"
				     "  8 cpu0 switch 7(runnable) 8\n"
				     "  9 cpu0 switch 8(blocked) 7\n"
				     " 10 cpu0 switch 7(disk) 8\n"
				     " 20 cpu0 switch 8(blocked) 0\n");

	assert_string_equal(track_of(told, 7),
			    "0 running, 1 getpid, 2 user, 5 fault, 6 irq:9 eth0, 7 fault, "
			    "8 preempted/0, 9 fault, 10 blocked - 20");
	told_free(told);
}

static void a_fault_that_is_long_over_is_not_what_it_waits_in(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  1 cpu0 enter getpid\n"
				     "  2 cpu0 leave getpid 7\n"
				     "  5 cpu0 fault 0x1000\n"
				     "9ms cpu0 switch 7(blocked) 8\n"
				     "9500us cpu0 waking 7\n"
				     "9600us cpu0 switch 8(blocked) 7\n");

	assert_int_equal(word_kind(wait_of(told, 7, 0)->in), WORD_USER);
	told_free(told);
	/* One that is not woken by signals is in a fault, whatever came between. */
	told = replayed("  0 cpu0 switch 0(runnable) 7\n"
			"  1 cpu0 enter getpid\n"
			"  2 cpu0 leave getpid 7\n"
			"  5 cpu0 fault 0x1000\n"
			"9ms cpu0 switch 7(disk) 8\n"
			"9500us cpu0 waking 7\n"
			"9600us cpu0 switch 8(blocked) 7\n");
	assert_int_equal(word_kind(wait_of(told, 7, 0)->in), WORD_TRAP);
	told_free(told);
}

static void a_fault_that_blocks_nobody_is_own_code(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  1 cpu0 enter getpid\n"
				     "  2 cpu0 leave getpid 7\n"
				     "  5 cpu0 fault 0x1000\n"
				     "  8 cpu0 fault 0x2000\n"
				     " 10 cpu0 enter pause\n"
				     " 12 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(track_of(told, 7), "0 running, 1 getpid, 2 user, 10 pause - 12");
	told_free(told);
}

static void a_wait_for_a_kernel_lock_is_one(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     "  1 cpu0 enter unlink\n"
				     "  5 cpu0 lockbegin 0xff00 32\n"
				     " 10 cpu0 switch 7(disk) 8\n"
				     " 40 cpu0 waking 7\n"
				     " 50 cpu0 switch 8(blocked) 7\n"
				     " 52 cpu0 lockend 0xff00\n"
				     " 60 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(object_of(told, 7, 0), "kernel mutex 0xff00");
	assert_true(wait_of(told, 7, 0)->flags & WAIT_LOCK);
	assert_false(wait_of(told, 7, 1)->flags & WAIT_LOCK);
	told_free(told);
}

/* connect() returns EINPROGRESS, and the error of the socket says later how it ended. */
static void a_connection_ends_as_its_socket_says(void **unused)
{
	static const struct {
		const char *told;
		uint32_t error;
	} ends[] = { { "asked 111", ECONNREFUSED }, { "asked 0", 0 }, { NULL, EINPROGRESS } };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		AUTO_FREE char *name =
			ends[i].told ? xasprintf("41 cpu1 fdname 8 -1 127.0.0.1:80 unknown %s\n",
						 ends[i].told)
				     : xstrdup("");
		AUTO_FREE char *text = xasprintf("thread 8 8 1 R a\n"
						 " 0 cpu1 switch 0(runnable) 8:a\n"
						 "10 cpu1 enter connect 3\n"
						 "20 cpu1 leave connect -115\n"
						 "22 cpu1 enter poll 1\n"
						 "28 cpu1 leave poll 1\n"
						 "30 cpu1 enter getsockopt 3\n"
						 "40 cpu1 leave getsockopt 0\n"
						 "%s"
						 "50 cpu1 enter getpid\n",
						 name);
		struct told *told = replayed(text);
		uint32_t slot = timeline_find_thread(told->tl, 8, UINT64_MAX);
		struct tl_interval in;
		struct tl_iter iter;

		tl_iter_begin(&iter, told->tl, &told->tl->threads[slot]->track, 20, 22);
		assert_true(tl_iter_entry(&iter, &in));
		assert_int_equal(word_kind(in.word), WORD_USER);
		assert_int_equal(word_error(in.word), ends[i].error);
		assert_int_equal(word_was_about(in.word) != 0, ends[i].told != NULL);
		told_free(told);
	}
}

/* Where any thread runs any task, another one asks how the connection ended. */
static void another_thread_asks_how_the_connection_ended(void **unused)
{
	struct told *told = replayed("thread 8 8 1 R a\n"
				     "thread 9 8 1 R a\n"
				     "0 cpu1 switch 0(runnable) 8:a\n"
				     "0 cpu0 switch 0(runnable) 9:a\n"
				     "10 cpu1 enter connect 3\n"
				     "20 cpu1 leave connect -115\n"
				     "22 cpu1 enter connect 4\n"
				     "24 cpu1 leave connect 0\n"
				     "30 cpu0 enter getsockopt 3\n"
				     "40 cpu0 leave getsockopt 0\n"
				     "41 cpu0 fdname 9 -1 127.0.0.1:80 unknown asked 111\n"
				     "50 cpu0 enter getpid\n");
	struct tl_interval in;
	struct tl_iter iter;

	(void)unused;
	tl_iter_begin(&iter, told->tl, &told->tl->threads[slot_of(told, 8)]->track, 20, 22);
	assert_true(tl_iter_entry(&iter, &in));
	assert_int_equal(word_error(in.word), ECONNREFUSED);
	assert_int_not_equal(word_was_about(in.word), 0);
	told_free(told);
}

/* connect() is told the path, and who binds the socket has it by its name. */
static void a_unix_socket_is_about_its_path(void **unused)
{
	static const char *const names[] = { "S", "/run/S" };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO_FREE char *text = xasprintf("thread 8 8 1 R a\n"
						 "0 cpu1 switch 0(runnable) 8:a\n"
						 "9 cpu1 fdname 8 3 \"unix listen %s\" listen\n"
						 "10 cpu1 enter listen 3\n"
						 "20 cpu1 leave listen 0\n"
						 "30 cpu1 enter getpid\n",
						 names[i]);
		struct told *told = replayed(text);
		struct tl_interval in;
		struct tl_iter iter;

		tl_iter_begin(&iter, told->tl, &told->tl->threads[slot_of(told, 8)]->track, 20, 22);
		assert_true(tl_iter_entry(&iter, &in));
		assert_int_equal(word_was_about(in.word), word_about_name("S", true));
		told_free(told);
	}
}

/* Where a CPU's events are lost, a fact may be of a thread whose call nobody saw. */
static void a_fact_of_a_thread_whose_call_was_not_seen_is_taken(void **unused)
{
	struct told *told = replayed("thread 8 8 1 R a\n"
				     " 0 cpu1 switch 0(runnable) 8:a\n"
				     "35 cpu1 fdname 8 -1 /x unknown asked 2\n"
				     "50 cpu1 enter getpid\n"
				     "60 cpu1 leave getpid 8\n");

	(void)unused;
	assert_int_not_equal(timeline_find_thread(told->tl, 8, UINT64_MAX), SLOT_NONE);
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fact_of_a_thread_whose_call_was_not_seen_is_taken),
		cmocka_unit_test(lean_events_tell_the_call_of_a_wait_and_nothing_of_work),
		cmocka_unit_test(a_wait_of_lean_events_is_that_of_all_events),
		cmocka_unit_test(in_no_call_it_is_a_fault_that_a_thread_blocks_in),
		cmocka_unit_test(a_call_that_has_ended_is_not_waited_in),
		cmocka_unit_test(a_wait_whose_call_is_lost_is_in_none),
		cmocka_unit_test(own_code_and_system_calls_follow_each_other),
		cmocka_unit_test(a_call_right_behind_another_is_counted),
		cmocka_unit_test(a_call_is_on_top_again_after_a_wait_in_it),
		cmocka_unit_test(a_call_that_began_unseen_is_named_by_its_exit),
		cmocka_unit_test(a_sleeper_is_in_the_call_that_the_dump_saw),
		cmocka_unit_test(a_wait_that_ended_before_the_dump_was_in_another_call),
		cmocka_unit_test(without_system_calls_code_is_just_running),
		cmocka_unit_test(a_descriptor_of_the_dump_has_its_name),
		cmocka_unit_test(a_futex_is_its_address_and_may_be_a_lock),
		cmocka_unit_test(a_child_is_named),
		cmocka_unit_test(a_name_that_comes_with_the_exit_is_given_to_the_wait),
		cmocka_unit_test(a_name_that_comes_with_the_entry_is_of_what_was_opened),
		cmocka_unit_test(a_relative_name_begins_in_its_directory),
		cmocka_unit_test(what_a_poll_was_about_is_inferred_from_what_is_read_next),
		cmocka_unit_test(a_poll_that_timed_out_is_about_nothing),
		cmocka_unit_test(an_epoll_set_of_a_server_waits_for_work),
		cmocka_unit_test(a_set_is_followed_through_epoll_ctl),
		cmocka_unit_test(accept_waits_for_work),
		cmocka_unit_test(who_answers_does_not_wait_for_work),
		cmocka_unit_test(who_waits_for_the_answer_of_a_helper_does_not_wait_for_work),
		cmocka_unit_test(who_waits_until_an_answer_is_taken_does_not_wait_for_work),
		cmocka_unit_test(descriptors_follow_dup_close_and_fork),
		cmocka_unit_test(threads_share_descriptors),
		cmocka_unit_test(a_fault_that_blocks_is_a_trap_from_its_beginning),
		cmocka_unit_test(what_interrupts_a_fault_that_blocks_does_not_end_it),
		cmocka_unit_test(a_fault_that_is_long_over_is_not_what_it_waits_in),
		cmocka_unit_test(a_fault_that_blocks_nobody_is_own_code),
		cmocka_unit_test(a_wait_for_a_kernel_lock_is_one),
		cmocka_unit_test(a_connection_ends_as_its_socket_says),
		cmocka_unit_test(another_thread_asks_how_the_connection_ended),
		cmocka_unit_test(a_unix_socket_is_about_its_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

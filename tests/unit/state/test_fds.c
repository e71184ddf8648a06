/* test_fds.c - what descriptors name from call to call, and what a wait for several is about. */
#include "told.h"

#define SET \
	"fd 7 5 epoll epoll\nfd 7 6 listen \"tcp *:80\"\nfd 7 8 connected db\nfd 7 9 pipe pipe:[1]\n"

/* 7 waits in the call 'enter' from 10 until 8, which is in the call 'waker', wakes it at 40. */
static struct told *polled(const char *facts, const char *enter, const char *waker,
			   const char *after)
{
	AUTO_FREE char *text = xasprintf("thread 7 7 1 R prog\nthread 8 8 1 R other\n%s\n"
					 "  0 cpu0 switch 0(runnable) 7\n"
					 "  5 cpu0 %s\n"
					 " 10 cpu0 switch 7(blocked) 8\n"
					 " 30 cpu0 %s\n"
					 " 40 cpu0 waking 7\n"
					 " 45 cpu0 leave getpid 1\n"
					 " 50 cpu0 switch 8(blocked) 7\n"
					 "%s\n"
					 " 90 cpu0 switch 7(blocked) 0\n",
					 facts, enter, waker, after);

	return replayed(text);
}

/* What the wait of 7 is about, when 'before' was done by it first, and it then reads descriptor 3. */
static struct told *reads_3_after(const char *facts, const char *before)
{
	AUTO_FREE char *text = xasprintf("thread 7 7 1 R prog\n%s\n"
					 "  0 cpu0 switch 0(runnable) 7\n"
					 "%s\n"
					 " 80 cpu0 enter read 3\n"
					 " 90 cpu0 switch 7(blocked) 0\n",
					 facts, before);

	return replayed(text);
}

static void assert_reads(const char *facts, const char *before, const char *name)
{
	struct told *told = reads_3_after(facts, before);

	assert_string_equal(object_of(told, 7, 0), name);
	told_free(told);
}

/* ---------------------------------------------------------------- several */

static void a_set_that_is_known_says_all_that_it_watches(void **unused)
{
	struct told *told = polled(SET "epoll 7 5 6\nepoll 7 5 8\nepoll 7 5 9",
				   "enter epoll_wait 5", "enter getpid", "");

	assert_string_equal(object_of(told, 7, 0),
			    "any of: fd 6 = tcp *:80, fd 8 = db, fd 9 = pipe:[1]");
	assert_int_equal(wait_of(told, 7, 0)->fd, -1);
	told_free(told);
	told = polled(SET "epoll 7 5 9", "enter epoll_wait 5", "enter getpid", "");
	assert_string_equal(object_of(told, 7, 0), "pipe:[1]");
	assert_int_equal(wait_of(told, 7, 0)->fd, 9);
	told_free(told);
}

static void what_a_set_does_not_watch_did_not_come(void **unused)
{
	struct told *told = polled(SET "fd 7 3 pipe pipe:[2]\nepoll 7 5 6\nepoll 7 5 8",
				   "enter epoll_wait 5", "enter getpid",
				   " 60 cpu0 leave epoll_wait 1\n"
				   " 61 cpu0 enter read 3\n 62 cpu0 leave read 1\n"
				   " 63 cpu0 enter read 5\n 64 cpu0 leave read 1\n"
				   " 65 cpu0 enter write 6\n 66 cpu0 leave write 1\n"
				   " 67 cpu0 enter read 8\n 68 cpu0 leave read 1\n");

	assert_string_equal(object_of(told, 7, 0), "then used: fd 8 = db");
	told_free(told);
}

static void a_closed_descriptor_leaves_the_set(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R prog\n" SET "epoll 7 5 8\nepoll 7 5 9\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  1 cpu0 enter close 8\n  2 cpu0 leave close 0\n"
				     "  3 cpu0 enter openat 5 /other\n  4 cpu0 leave openat 8\n"
				     "  5 cpu0 enter epoll_wait 5\n"
				     " 10 cpu0 switch 7(blocked) 8\n");

	assert_string_equal(object_of(told, 7, 0), "pipe:[1]");
	told_free(told);
}

static void of_a_set_that_is_not_known_nothing_is_told(void **unused)
{
	struct told *told = polled("",
				   "enter epoll_ctl 5 1 6\n  6 cpu0 leave epoll_ctl 0\n"
				   "  7 cpu0 enter epoll_wait 5",
				   "enter getpid", "");

	assert_string_equal(object_of(told, 7, 0), "");
	assert_int_equal(wait_of(told, 7, 0)->fd, -1);
	told_free(told);
}

static void who_wakes_by_a_write_says_what_came(void **unused)
{
	const char *after = " 60 cpu0 leave poll 1\n"
			    " 61 cpu0 enter read 6\n 62 cpu0 leave read 1\n";
	struct told *told =
		polled(SET "fd 8 4 pipe pipe:[1]", "enter poll 0x1000 3", "enter write 4", after);

	assert_string_equal(object_of(told, 7, 0), "pipe:[1]");
	assert_int_equal(wait_of(told, 7, 0)->fd, 9);
	told_free(told);
	told = polled("fd 7 3 connected \"tcp 1:2->3:4\"\nfd 8 4 accepted \"tcp 3:4->1:2\"",
		      "enter poll 0x1000 3", "enter sendto 4", after);
	assert_string_equal(object_of(told, 7, 0), "tcp 1:2->3:4");
	told_free(told);
	/* One that the set does not watch, and a write to something else. */
	told = polled(SET "fd 8 4 pipe pipe:[1]\nepoll 7 5 6\nepoll 7 5 8", "enter epoll_wait 5",
		      "enter write 4", "");
	assert_string_equal(object_of(told, 7, 0), "any of: fd 6 = tcp *:80, fd 8 = db");
	told_free(told);
	told = polled(SET "fd 8 4 pipe pipe:[3]", "enter poll 0x1000 3", "enter write 4", "");
	assert_string_equal(object_of(told, 7, 0), "");
	told_free(told);
}

/* The recorder tells of what an epoll descriptor watches only what is watched for room to write. */
static void a_set_watched_for_room_at_its_client_does_not_wait_for_work(void **unused)
{
#define CLIENT \
	"fd 7 5 epoll epoll\nfd 7 8 accepted client\nfd 7 9 pipe pipe:[1]\nepoll 7 5 8\nepoll 7 5 9\n"
	struct told *told = polled(CLIENT, "enter epoll_wait 5", "enter getpid", "");

	assert_true(wait_of(told, 7, 0)->flags & WAIT_SERVER);
	assert_string_equal(object_of(told, 7, 0), "any of: fd 8 = client, fd 9 = pipe:[1]");
	told_free(told);
	told = polled(CLIENT, "enter epoll_wait 5\n 6 cpu0 fdname 7 8 client accepted room",
		      "enter getpid", "");
	assert_false(wait_of(told, 7, 0)->flags & WAIT_SERVER);
	assert_string_equal(object_of(told, 7, 0),
			    "any of: fd 8 = client (to write), fd 9 = pipe:[1]");
	told_free(told);
}

/* A set within a set stands for what that watches. */
static void a_set_within_a_set_is_looked_into(void **unused)
{
#define WITHIN SET "fd 7 4 epoll epoll\nfd 8 4 pipe pipe:[1]\nepoll 7 4 5\n"
	struct told *told = polled(WITHIN "epoll 7 5 9", "enter epoll_wait 4", "enter getpid", "");

	assert_string_equal(object_of(told, 7, 0), "pipe:[1]");
	assert_int_equal(wait_of(told, 7, 0)->fd, 9);
	told_free(told);
	told = polled(WITHIN "epoll 7 5 9\nepoll 7 5 8", "enter epoll_wait 4", "enter write 4", "");
	assert_string_equal(object_of(told, 7, 0), "pipe:[1]");
	assert_int_equal(wait_of(told, 7, 0)->fd, 9);
	told_free(told);
	told = polled(WITHIN "epoll 7 5 9\nepoll 7 5 8", "enter epoll_wait 4", "enter getpid", "");
	assert_string_equal(object_of(told, 7, 0), "any of: fd 8 = db, fd 9 = pipe:[1]");
	told_free(told);
}

#define WATCHES \
	" 6 cpu0 fdname 7 8 db connected watched\n 7 cpu0 fdname 7 9 pipe:[1] pipe watched\n"

static void what_the_recorder_saw_watched_is_what_it_waits_for(void **unused)
{
	/* As it went to sleep, or as it came back. */
	struct told *told = polled(SET, "enter poll 0x1000 2\n" WATCHES, "enter getpid", "");

	assert_string_equal(object_of(told, 7, 0), "any of: fd 8 = db, fd 9 = pipe:[1]");
	told_free(told);
	told = polled(SET, "enter poll 0x1000 2", "enter getpid",
		      " 55 cpu0 fdname 7 8 db connected watched\n"
		      " 56 cpu0 fdname 7 9 pipe:[1] pipe watched\n 60 cpu0 leave poll 1\n"
		      " 62 cpu0 enter read 6\n 63 cpu0 leave read 1\n"
		      " 64 cpu0 enter read 9\n 65 cpu0 leave read 1\n");
	assert_string_equal(object_of(told, 7, 0), "then used: fd 9 = pipe:[1]");
	told_free(told);
	/* The only one needs no more. */
	told = polled(SET, "enter poll 0x1000 1\n 6 cpu0 fdname 7 8 db connected watched",
		      "enter getpid",
		      " 60 cpu0 leave poll 1\n 62 cpu0 enter read 9\n 63 cpu0 leave read 1\n");
	assert_string_equal(object_of(told, 7, 0), "db");
	assert_int_equal(wait_of(told, 7, 0)->fd, 8);
	told_free(told);
	/* Who wrote to one of them is believed more than the list. */
	told = polled(SET "fd 8 4 pipe pipe:[1]", "enter poll 0x1000 2", "enter write 4",
		      " 55 cpu0 fdname 7 8 db connected watched\n"
		      " 56 cpu0 fdname 7 9 pipe:[1] pipe watched\n 60 cpu0 leave poll 1\n");
	assert_string_equal(object_of(told, 7, 0), "pipe:[1]");
	told_free(told);
}

/* No request comes to where it waits to write, and its client is awaited. */
static void who_waits_until_it_can_write_does_not_wait_for_work(void **unused)
{
	static const struct {
		const char *told;
		bool serves;
	} cases[] = {
		{ " 6 cpu0 fdname 7 8 client accepted watched\n", true },
		{ " 6 cpu0 fdname 7 8 client accepted room\n", false },
		{ " 6 cpu0 fdname 7 8 client accepted room\n"
		  " 7 cpu0 fdname 7 9 \"tcp *:80\" listen watched\n",
		  true },
		{ " 6 cpu0 fdname 7 8 client accepted watched\n"
		  " 7 cpu0 fdname 7 8 client accepted room\n",
		  false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *call = xasprintf("enter poll 0x1000 2\n%s", cases[i].told);
		struct told *told = polled("fd 7 8 accepted client\nfd 7 9 listen \"tcp *:80\"\n",
					   call, "enter getpid", "");

		assert_int_equal(!!(wait_of(told, 7, 0)->flags & WAIT_SERVER), cases[i].serves);
		told_free(told);
	}
}

/* Its own timerfd is no limit of the call, which was seen to watch several. */
static void a_timer_that_is_watched_is_what_came(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R waiter\n"
				     "fd 7 3 pipe pipe:[1]\n"
				     "fd 7 4 timerfd timerfd\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  5 cpu0 enter poll 0x1000 2\n"
				     "  6 cpu0 fdname 7 3 pipe:[1] pipe watched\n"
				     "  7 cpu0 fdname 7 4 timerfd timerfd watched\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 40 cpu0 vector local_timer\n"
				     " 40 cpu0 hrtimer timerfd_tmrproc\n"
				     " 40 cpu0 waking 7 cpu 0\n"
				     " 40 cpu0 hrtimerdone\n"
				     " 41 cpu0 vectorexit local_timer\n"
				     " 42 cpu0 switch 0(runnable) 7\n"
				     " 43 cpu0 leave poll 1\n");

	assert_string_equal(object_of(told, 7, 0), "timerfd");
	assert_int_equal(wait_of(told, 7, 0)->fd, 4);
	told_free(told);
}

/* Of more than what is told of a call there may be more still. */
static void how_many_it_watches_is_told_only_where_it_is_known(void **unused)
{
	static const struct {
		unsigned int count;
		const char *more;
	} told_of[] = {
		{ 12, " and 6 more" },
		{ 32, " and at least 26 more" }, /* as much as once was told of one */
		{ 40, " and 34 more" },
		{ 80, " and at least 58 more" },
	};

	for (size_t k = 0; k < ARRAY_LEN(told_of); k++) {
		AUTO_FREE char *text = xstrdup("enter poll 0x1000 80\n");
		struct told *told;

		for (unsigned int i = 0; i < told_of[k].count; i++) {
			char *longer =
				xasprintf("%s 6 cpu0 fdname 7 %u p pipe watched\n", text, 30 + i);

			free(text);
			text = longer;
		}
		told = polled(SET, text, "enter getpid", "");
		assert_string_equal(strstr(object_of(told, 7, 0), " and "), told_of[k].more);
		told_free(told);
	}
}

/* ----------------------------------------------------------- made and closed */

static void exec_closes_what_is_marked(void **unused)
{
	const char *exec =
		" 10 cpu0 enter execve\n 11 cpu0 exec 7 /bin/x\n 12 cpu0 leave execve 0\n";
	AUTO_FREE char *by_flag =
		xasprintf(" 1 cpu0 enter openat 0 /a 02000000\n 2 cpu0 leave openat 3\n%s", exec);
	AUTO_FREE char *without =
		xasprintf(" 1 cpu0 enter openat 0 /a 0\n 2 cpu0 leave openat 3\n%s", exec);
	AUTO_FREE char *by_fcntl = xasprintf(" 1 cpu0 enter openat 0 /a 0\n 2 cpu0 leave openat 3\n"
					     " 3 cpu0 enter fcntl 3 2 1\n 4 cpu0 leave fcntl 0\n%s",
					     exec);
	AUTO_FREE char *by_ioctl =
		xasprintf(" 1 cpu0 enter openat 0 /a 0\n 2 cpu0 leave openat 3\n"
			  " 3 cpu0 enter ioctl 3 0x5451\n 4 cpu0 leave ioctl 0\n%s",
			  exec);
	AUTO_FREE char *by_range = xasprintf(
		" 1 cpu0 enter openat 0 /a 0\n 2 cpu0 leave openat 3\n"
		" 3 cpu0 enter close_range 3 0xffffffff 4\n 4 cpu0 leave close_range 0\n%s",
		exec);
	AUTO_FREE char *by_dup3 = xasprintf(" 1 cpu0 enter openat 0 /a 0\n 2 cpu0 leave openat 4\n"
					    " 3 cpu0 enter dup3 4 3 02000000\n"
					    " 4 cpu0 leave dup3 3\n%s",
					    exec);
	AUTO_FREE char *by_dup2 =
		xasprintf(" 1 cpu0 enter openat 0 /a 02000000\n 2 cpu0 leave openat 4\n"
			  " 3 cpu0 enter dup2 4 3\n 4 cpu0 leave dup2 3\n%s",
			  exec);

	assert_reads("", by_flag, "");
	assert_reads("", without, "/a");
	assert_reads("", by_fcntl, "");
	assert_reads("", by_ioctl, "");
	assert_reads("", by_range, "");
	assert_reads("", by_dup3, "");
	assert_reads("", by_dup2, "/a");
}

static void a_number_that_is_made_anew_loses_its_name(void **unused)
{
	const char *facts = "fd 7 3 pipe pipe:[1]\nfd 7 4 pipe pipe:[2]";

	assert_reads(facts, " 1 cpu0 enter eventfd2 0 0\n 2 cpu0 leave eventfd2 3", "");
	assert_reads(facts, " 1 cpu0 enter pidfd_getfd 9 9\n 2 cpu0 leave pidfd_getfd 3", "");
	assert_reads(facts, " 1 cpu0 enter dup2 9 3\n 2 cpu0 leave dup2 3", "");
	assert_reads(facts, " 1 cpu0 enter close_range 3 3\n 2 cpu0 leave close_range 0", "");
	assert_reads(facts, " 1 cpu0 enter close_range 4 9\n 2 cpu0 leave close_range 0",
		     "pipe:[1]");
	assert_reads(facts, " 1 cpu0 enter ioctl 8 0x5441 0\n 2 cpu0 leave ioctl 3",
		     "terminal, other end of fd 8");
	/* The recorder told before the call was seen to return. */
	assert_reads(facts,
		     " 1 cpu0 enter eventfd2 0 0\n 2 cpu0 fdname 7 3 eventfd eventfd\n"
		     " 3 cpu0 leave eventfd2 3",
		     "eventfd");
}

/* Before the switch, or behind it; of which the process was not known before, or another one. */
static void what_is_told_as_a_thread_blocks_is_what_it_waits_for(void **unused)
{
	static const char *const told_then[][2] = {
		{ "  9 cpu0 fdname 7 3 /x file\n", "" },
		{ "", " 11 cpu0 fdname 7 3 /x file\n" },
		{ "  9 cpu0 fdname 7 3 /x file named 5\n", "" },
		{ "", " 11 cpu0 fdname 7 3 /x file named 5\n" },
	};

	for (size_t i = 0; i < 2 * ARRAY_LEN(told_then); i++) {
		const char *const *told_of = told_then[i / 2];
		AUTO_FREE char *text =
			xasprintf("%s  0 cpu0 switch 0(runnable) 7\n  5 cpu0 enter read 3\n"
				  "%s 10 cpu0 switch 7(blocked) 0\n%s 20 cpu1 waking 7\n"
				  " 30 cpu0 switch 0(runnable) 7\n",
				  i % 2 || i / 2 < 2 ? "thread 7 5 1 R prog\n" : "", told_of[0],
				  told_of[1]);
		struct told *told = replayed(text);

		assert_string_equal(object_of(told, 7, 0), "/x");
		assert_int_equal(thread_of(told, 7)->tgid, 5);
		told_free(told);
	}
}

/* It is the one that is known, and in the sets that it was in. */
static void what_is_told_again_as_a_thread_blocks_stays_in_its_sets(void **unused)
{
	static const char *const names[] = { "pipe:[1]", "pipe:[2]" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO_FREE char *text =
			xasprintf("thread 7 7 1 R prog\n" SET "epoll 7 5 9\n"
				  "  0 cpu0 switch 0(runnable) 7\n  1 cpu0 enter read 9\n"
				  "  2 cpu0 fdname 7 9 %s pipe\n  3 cpu0 leave read 1\n"
				  "  5 cpu0 enter epoll_wait 5\n 10 cpu0 switch 7(blocked) 0\n",
				  names[i]);
		struct told *told = replayed(text);

		assert_string_equal(object_of(told, 7, 0), i == 0 ? "pipe:[1]" : "");
		told_free(told);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_that_is_known_says_all_that_it_watches),
		cmocka_unit_test(what_a_set_does_not_watch_did_not_come),
		cmocka_unit_test(a_closed_descriptor_leaves_the_set),
		cmocka_unit_test(of_a_set_that_is_not_known_nothing_is_told),
		cmocka_unit_test(who_wakes_by_a_write_says_what_came),
		cmocka_unit_test(a_set_watched_for_room_at_its_client_does_not_wait_for_work),
		cmocka_unit_test(a_set_within_a_set_is_looked_into),
		cmocka_unit_test(what_the_recorder_saw_watched_is_what_it_waits_for),
		cmocka_unit_test(who_waits_until_it_can_write_does_not_wait_for_work),
		cmocka_unit_test(a_timer_that_is_watched_is_what_came),
		cmocka_unit_test(how_many_it_watches_is_told_only_where_it_is_known),
		cmocka_unit_test(exec_closes_what_is_marked),
		cmocka_unit_test(a_number_that_is_made_anew_loses_its_name),
		cmocka_unit_test(what_is_told_as_a_thread_blocks_is_what_it_waits_for),
		cmocka_unit_test(what_is_told_again_as_a_thread_blocks_stays_in_its_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

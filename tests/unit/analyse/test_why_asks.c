/*
 * test_why_asks.c - sleeps between calls that fail until one succeeds are charged to the one process
 * that can have changed the answer, and to nobody where that is not known.
 */
#include "asks_script.h"

#include "analyse/why/process.h"

/* Three sleeps with 'name' failing before, and working after; 9 does 'by' in the last one. */
static struct told *asked_for(const char *name, int error, int result, const char *by)
{
	struct script script = begun();

	for (int i = 0; i < 3; i++) {
		call(&script, name, error);
		if (i == 2 && by)
			meanwhile(&script, by, 0);
		nap(&script);
	}
	call(&script, name, result);
	return asked(&script);
}

static void infers(const char *name, int error, int result, const char *by, const char *words)
{
	struct told *told = asked_for(name, error, result, by);
	const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);

	assert_non_null(root);
	assert_string_equal(told_reason(root->inferred), words);
	assert_int_equal(root->class, WHY_HELD_UP);
	assert_in_range(root->ns, 24 * MS, 26 * MS);
	assert_int_equal(told->why.answer_count, 3);
	assert_int_equal(told->why.answer_ns, root->ns);
	assert_int_equal(told->why.held_up_ns, root->ns);
	/* What is left of the last sleep is one. */
	assert_in_range(root_of(told, WHY_TIMER, 7)->ns, 4 * MS, 6 * MS);
	told_free(told);
}

static void says_nothing(struct told *told)
{
	assert_null(root_of(told, WHY_OTHER_THREAD, 9));
	assert_non_null(root_of(told, WHY_TIMER, 7));
	assert_null(root_of(told, WHY_TIMER, 7)->inferred);
	assert_int_equal(told->why.answer_count, 0);
	assert_int_equal(told->why.held_up_ns, 0);
	told_free(told);
}

static void who_can_have_changed_the_answer_is_inferred(void **unused)
{
	infers("flock 3 6", -11, 0, "flock 3 8",
	       "flock() of fd 3 failed with EAGAIN until it called flock()");
	infers("fcntl 3 6", -11, 0, "close 3",
	       "fcntl() of fd 3 failed with EAGAIN until it called close()");
	infers("newfstatat", -2, 0, "rename",
	       "newfstatat() failed with ENOENT until it called rename()");
	infers("openat", -2, 5, "openat 0 0 0101",
	       "openat() failed with ENOENT until it called openat()");
	infers("mkdir", -17, 0, "rmdir", "mkdir() failed with EEXIST until it called rmdir()");
	infers("connect 3", -111, 0, "listen 3",
	       "connect() of fd 3 failed with ECONNREFUSED until it called listen()");
	infers("read 3", -11, 1, "write 4",
	       "read() of fd 3 failed with EAGAIN until it called write()");
	infers("shmget 7", -2, 5, "shmget 7",
	       "shmget() failed with ENOENT until it called shmget()");
	infers("getxattr", -61, 1, "setxattr",
	       "getxattr() failed with ENODATA until it called setxattr()");
	infers("rmdir", -39, 0, "unlink", "rmdir() failed with ENOTEMPTY until it called unlink()");
	infers("rename", -39, 0, "unlink",
	       "rename() failed with ENOTEMPTY until it called unlink()");
	infers("rename", -17, 0, "unlink", "rename() failed with EEXIST until it called unlink()");
	infers("poll 4096 1 0", 0, 1, "write 4", "poll() found nothing until it called write()");
	infers("rename", -2, 0, "rename", "rename() failed with ENOENT until it called rename()");
	infers("connect 3", -11, 0, "accept 3",
	       "connect() of fd 3 failed with EAGAIN until it called accept()");
}

static void the_call_and_its_sleep_are_told_in_the_chain(void **unused)
{
	struct told *told = asked_for("flock 3 6", -11, 0, "flock 3 8");

	assert_string_equal(told->why.chain[0].what, "clock_nanosleep");
	assert_int_equal(told->why.chain[0].count, 3);
	assert_int_equal(told->why.chain[0].answerer.tid, 9);
	assert_non_null(told->why.chain[0].inferred);
	assert_int_equal(told->why.waits[0].class, WHY_HELD_UP);
	assert_int_equal(told->why.waits[0].answerer.tid, 9);
	told_free(told);
}

static void whatever_it_sleeps_with(void **unused)
{
	static const char *const with[] = { "nanosleep", "poll 0 0 10", "select 0 0 0 0 4096",
					    "futex 0x7f0010 137", "epoll_wait 5" };

	for (size_t i = 0; i < ARRAY_LEN(with); i++) {
		struct script script = begun();
		struct told *told;

		for (int nr = 0; nr < 3; nr++) {
			call(&script, "flock 3 6", -11);
			if (nr == 2)
				meanwhile(&script, "flock 3 8", 0);
			nap_in(&script, with[i]);
		}
		call(&script, "flock 3 6", 0);
		told = asked(&script);
		assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
		told_free(told);
	}
}

/* 'long_us' of work behind the sleeps that 'where' has a bit for. */
static struct told *asked_with_long_looks(unsigned where, int long_us)
{
	struct script script = begun();

	for (int i = 0; i < 3; i++) {
		call(&script, "flock 3 6", -11);
		if (i == 2)
			meanwhile(&script, "flock 3 8", 0);
		nap(&script);
		script.at_us += where >> i & 1 ? long_us : 0;
	}
	call(&script, "flock 3 6", 0);
	return asked(&script);
}

/* A guest whose CPU is taken away seems to work. */
static void one_long_look_is_none(void **unused)
{
	for (unsigned where = 1; where <= 4; where *= 2) {
		struct told *told = asked_with_long_looks(where, 3000);

		assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
		assert_int_equal(told->why.answer_count, 3);
		told_free(told);
	}
}

static void who_works_each_time_or_long_does_not_ask(void **unused)
{
	says_nothing(asked_with_long_looks(7, 3000));
	says_nothing(asked_with_long_looks(4, 5000));
}

/* 7 looks at a file that is there until 9 takes 'path' away. */
static struct told *asked_until_gone(const char *path)
{
	AUTO_FREE char *line = xasprintf("fdname 9 -1 %s unknown asked 0", path);
	struct script script = begun();

	for (int i = 0; i < 3; i++) {
		call(&script, "access", 0);
		if (i == 2) {
			int at_us = script.at_us + 5000;

			told_add(&script.other,
				 "%dus cpu1 enter unlink\n%dus cpu1 %s\n%dus cpu1 leave unlink 0\n",
				 at_us, at_us + 5, line, at_us + 10);
		}
		nap(&script);
	}
	says(&script, "enter access", 1);
	says(&script, "fdname 7 -1 /tmp/pid unknown asked 2", 1);
	says(&script, "leave access -2", 1);
	return asked(&script);
}

static void a_file_that_goes_away_is_waited_for(void **unused)
{
	struct told *told = asked_until_gone("/tmp/pid");
	const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);

	assert_non_null(root);
	assert_string_equal(told_reason(root->inferred),
			    "access() found it until it called unlink()");
	told_free(told);
	says_nothing(asked_until_gone("/tmp/other"));
}

static void another_file_that_is_opened_makes_none(void **unused)
{
	says_nothing(asked_for("openat", -2, 5, "openat 0 0 0"));
}

static void nobody_did_anything(void **unused)
{
	says_nothing(asked_for("flock 3 6", -11, 0, NULL));
}

/* 9 and another one take the lock, and let go of it. */
static struct told *asked_of_two(int other)
{
	struct script script = begun();

	for (int i = 0; i < 3; i++) {
		call(&script, "flock 3 6", -11);
		if (i == 2) {
			meanwhile(&script, "flock 3 8", 0);
			told_add(&script.other, "%dus cpu1 switch 9(runnable) %d\n",
				 script.at_us + 5500, other);
			told_add(&script.other, "%dus cpu1 enter flock 3 8\n", script.at_us + 5600);
			told_add(&script.other, "%dus cpu1 leave flock 0\n", script.at_us + 5700);
			told_add(&script.other, "%dus cpu1 switch %d(runnable) 9\n",
				 script.at_us + 5800, other);
		}
		nap(&script);
	}
	call(&script, "flock 3 6", 0);
	return asked(&script);
}

static void several_can_have(void **unused)
{
	says_nothing(asked_of_two(8));
}

/* On a busy machine others do the like. */
static void of_several_the_only_relative(void **unused)
{
	struct told *told = asked_of_two(6);

	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	assert_null(root_of(told, WHY_OTHER_THREAD, 6));
	told_free(told);
}

/* Everybody closes something all the time: a stranger that does has not let go of the lock, which 9 did as it ended. */
static void a_stranger_that_closes_has_not(void **unused)
{
	for (int ends = 0; ends < 2; ends++) {
		struct script script = begun();
		struct told *told;

		for (int i = 0; i < 3; i++) {
			call(&script, "flock 3 6", -11);
			if (i == 2) {
				int at_us = script.at_us + 5500;

				told_add(&script.other, "%dus cpu1 switch 9(%s) 6\n", at_us,
					 ends ? "dead" : "runnable");
				told_add(&script.other, "%dus cpu1 enter close 5\n", at_us + 100);
				told_add(&script.other, "%dus cpu1 leave close 0\n", at_us + 200);
			}
			nap(&script);
		}
		call(&script, "flock 3 6", 0);
		told = asked(&script);
		assert_null(root_of(told, WHY_OTHER_THREAD, 6));
		if (ends)
			assert_string_equal(
				told_reason(root_of(told, WHY_OTHER_THREAD, 9)->inferred),
				"flock() of fd 3 failed with EAGAIN until it ended");
		else
			assert_null(root_of(told, WHY_OTHER_THREAD, 9));
		told_free(told);
	}
}

/* Both lock files, and what they are is known: another file is no answer. */
static void another_file_is_no_answer(void **unused)
{
	static const char *const names[] = { "/a", "/b" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct script script = begun();
		struct told *told;
		char *text = xasprintf("fd 7 3 file /a\nfd 9 3 file %s\n%s", names[i], script.text);

		free(script.text);
		script.text = text;
		for (int nr = 0; nr < 3; nr++) {
			call(&script, "flock 3 6", -11);
			if (nr == 2)
				meanwhile(&script, "flock 3 8", 0);
			nap(&script);
		}
		call(&script, "flock 3 6", 0);
		told = asked(&script);
		if (i == 0) {
			assert_string_equal(
				told_reason(root_of(told, WHY_OTHER_THREAD, 9)->inferred),
				"flock() of fd 3 = /a failed with EAGAIN until it called flock()");
			told_free(told);
		} else {
			says_nothing(told);
		}
	}
}

/* The recorder told who had the lock, a moment after it was refused. */
static void refused(struct script *script, int holder)
{
	AUTO_FREE char *held = xasprintf("fdname 7 3 /a file held %d", holder);

	call(script, "fcntl 3 6", -11);
	says(script, held, 1);
}

static struct script refused_thrice(int holder)
{
	struct script script = begun();
	char *text = xasprintf("fd 7 3 file /a\nfd 9 3 file /a\n%s", script.text);

	free(script.text);
	script.text = text;
	for (int i = 0; i < 3; i++) {
		refused(&script, holder);
		call(&script, "fcntl 3 6", 0); /* another lock of the same file */
		call(&script, "write 1", 10);
		if (i == 2)
			meanwhile(&script, "fcntl 3 6", 0);
		nap(&script);
	}
	return script;
}

static void who_had_the_lock_is_known(void **unused)
{
	struct script script = refused_thrice(9);
	struct told *told;

	call(&script, "fcntl 3 6", 0);
	told = asked(&script);
	assert_null(root_of(told, WHY_LOCK, 9)->inferred);
	assert_string_equal(root_of(told, WHY_LOCK, 9)->object, "fd 3 = /a");
	assert_in_range(root_of(told, WHY_LOCK, 9)->ns, 24 * MS, 26 * MS);
	assert_in_range(root_of(told, WHY_TIMER, 7)->ns, 4 * MS, 6 * MS);
	assert_int_equal(told->why.answer_count, 0);
	assert_in_range(told->why.held_up_ns, 24 * MS, 26 * MS);
	assert_true(told->why.chain[0].known);
	assert_string_equal(told_reason(told->why.chain[0].inferred),
			    "fcntl() of fd 3 = /a failed with EAGAIN: doer[9] had the lock");
	told_free(told);
}

/* Nobody of that number: flock() tells who took it, and it may have ended. The only one with the file has it. */
static void a_holder_that_has_ended_left_it(void **unused)
{
	struct script script = refused_thrice(1234);
	struct told *told = asked(&script);

	assert_non_null(root_of(told, WHY_LOCK, 9));
	told_free(told);
}

static void refused_once_and_then_it_does_something_else(void **unused)
{
	struct script script = begun();

	refused(&script, 9);
	nap(&script);
	call(&script, "write 1", 10);
	nap(&script);
	call(&script, "write 1", 10);
	says_nothing(asked(&script));
}

/* A path is told a moment after the call. 8 makes another file at that time. */
static struct told *named(const char *path, bool told_of_8)
{
	struct script script = begun();
	AUTO_FREE char *line = xasprintf("fdname 9 -1 %s unknown asked 0", path);

	for (int i = 0; i < 3; i++) {
		call(&script, "newfstatat", -2);
		says(&script, "fdname 7 -1 /tmp/d/f unknown asked 2", 1);
		if (i == 2) {
			meanwhile(&script, "mkdir", 0);
			told_add(&script.other, "%dus cpu1 %s\n", script.at_us + 5020, line);
			told_add(&script.other, "%dus cpu1 switch 9(runnable) 8\n",
				 script.at_us + 5500);
			told_add(&script.other, "%dus cpu1 enter mkdir\n", script.at_us + 5600);
			told_add(&script.other, "%dus cpu1 leave mkdir 0\n", script.at_us + 5700);
			if (told_of_8)
				told_add(&script.other,
					 "%dus cpu1 fdname 8 -1 /tmp/g unknown asked 0\n",
					 script.at_us + 5710);
			told_add(&script.other, "%dus cpu1 switch 8(runnable) 9\n",
				 script.at_us + 5800);
		}
		nap(&script);
	}
	call(&script, "newfstatat", 0);
	return asked(&script);
}

static void of_several_the_one_with_the_same_name(void **unused)
{
	for (int told_of_8 = 0; told_of_8 < 2; told_of_8++) {
		struct told *told = named("/d/f", told_of_8);

		assert_string_equal(told_reason(root_of(told, WHY_OTHER_THREAD, 9)->inferred),
				    "newfstatat() of /tmp/d/f failed with ENOENT until it called "
				    "mkdir()");
		told_free(told);
	}
}

static void nobody_made_that_name(void **unused)
{
	says_nothing(named("/tmp/d/ff", true));
}

/* A lock file goes when it gets another name, or when another one gets its own. */
static void a_rename_is_about_two_names(void **unused)
{
	static const char *const names[][2] = { { "/r/index.lock", "/r/index" },
						{ "/r/index.new", "/r/index.lock" },
						{ "/r/index.new", "/r/index" } };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct script script = begun();
		struct told *told;

		for (int nr = 0; nr < 3; nr++) {
			call(&script, "mkdir", -17);
			says(&script, "fdname 7 -1 /r/index.lock unknown asked 17", 1);
			if (nr == 2) {
				meanwhile(&script, "rename", 0);
				for (int half = 0; half < 2; half++)
					told_add(&script.other,
						 "%dus cpu1 fdname 9 -1 %s unknown asked 0\n",
						 script.at_us + 5020, names[i][half]);
			}
			nap(&script);
		}
		call(&script, "mkdir", 0);
		told = asked(&script);
		if (i < 2) {
			assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
			told_free(told);
		} else {
			says_nothing(told);
		}
	}
}

/* What is asked for may have either of two names, too. */
static struct told *renamed(const char *from, const char *to)
{
	const char *const names[] = { from, to };
	struct script script = begun();

	for (int nr = 0; nr < 3; nr++) {
		call(&script, "rename", -2);
		says(&script, "fdname 7 -1 /r/token unknown asked 2", 1);
		says(&script, "fdname 7 -1 /r/mine unknown asked 2", 1);
		if (nr == 2) {
			meanwhile(&script, "rename", 0);
			for (int half = 0; half < 2; half++)
				told_add(&script.other,
					 "%dus cpu1 fdname 9 -1 %s unknown asked 0\n",
					 script.at_us + 5020, names[half]);
		}
		nap(&script);
	}
	call(&script, "rename", 0);
	return asked(&script);
}

static void a_rename_that_fails_asks_for_two_names(void **unused)
{
	struct told *told = renamed("/r/hers", "/r/token");

	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	told_free(told);
	says_nothing(renamed("/r/one", "/r/other"));
}

/* connect() of a socket; 'each_time': it fails in both ways before each sleep. */
static struct told *connected(bool each_time)
{
	static const int errors[] = { -2, -2, -2, -111, -111, -111 };
	struct script script = begun();

	for (int nr = 0; nr < 6; nr++) {
		for (int k = 0; k < (each_time ? 2 : 1); k++) {
			call(&script, "connect 3", each_time ? k ? -2 : -111 : errors[nr]);
			says(&script, "fdname 7 -1 /r/socket unknown asked 2", 1);
		}
		if (!each_time && nr == 2)
			meanwhile(&script, "bind 3", 0);
		if (nr == 5)
			meanwhile(&script, each_time ? "bind 3" : "listen 3", 0);
		nap(&script);
	}
	call(&script, "connect 3", 0);
	return asked(&script);
}

static void another_error_is_an_answer(void **unused)
{
	struct told *told = connected(false);

	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	assert_int_equal(told->why.answer_count, 6);
	told_free(told);
}

static void an_error_that_comes_each_time_is_none(void **unused)
{
	struct told *told = connected(true);

	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	assert_int_equal(told->why.answer_count, 6);
	told_free(told);
}

/* To sleep it reads a timer; the same call asks. */
static void the_call_that_asks_may_be_the_one_that_sleeps(void **unused)
{
	struct script script = begun();
	char *text = xasprintf("fd 7 5 timerfd timerfd\n%s", script.text);
	struct told *told;

	free(script.text);
	script.text = text;
	for (int nr = 0; nr < 3; nr++) {
		call(&script, "read 3", -11);
		if (nr == 2)
			meanwhile(&script, "write 4", 1);
		nap_in(&script, "read 5");
	}
	call(&script, "read 3", 1);
	told = asked(&script);
	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	assert_int_equal(told->why.answer_count, 3);
	told_free(told);
}

/* 9 opens the other end of a FIFO: it sleeps in that until 7 opens this one. */
static void a_call_that_ends_behind_the_answer_may_have_changed_it(void **unused)
{
	struct script script = begun();
	struct told *told;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		call(&script, "openat", -6);
		if (i == 2)
			told_add(&script.other,
				 "%dus cpu1 enter openat\n%dus cpu1 switch 9(blocked) 0\n",
				 script.at_us + 5000, script.at_us + 5010);
		nap(&script);
	}
	says(&script, "enter openat", 1);
	says(&script, "waking 9 cpu 1", 1);
	says(&script, "leave openat 5", 2);
	told_add(&script.other, "%dus cpu1 switch 0(runnable) 9\n%dus cpu1 leave openat 4\n",
		 script.at_us + 5, script.at_us + 20);
	says(&script, "enter getpid", 3000);
	told = asked(&script);
	assert_string_equal(told_reason(root_of(told, WHY_OTHER_THREAD, 9)->inferred),
			    "openat() failed with ENXIO until it called openat()");
	told_free(told);
}

/* What it runs behind the loop, say, is looked for in PATH. */
static void what_is_asked_for_behind_the_answer_is_of_something_else(void **unused)
{
	struct script script = begun();
	struct told *told;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		call(&script, "newfstatat", -2);
		if (i == 2)
			meanwhile(&script, "mkdir", 0);
		nap(&script);
	}
	call(&script, "newfstatat", 0);
	call(&script, "newfstatat", -2);
	told = asked(&script);
	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	told_free(told);
}

/* Unless it sleeps on: then it was something else that was found. */
static void who_sleeps_on_still_asks(void **unused)
{
	struct script script = begun();

	(void)unused;
	for (int i = 0; i < 3; i++) {
		call(&script, "newfstatat", -2);
		if (i == 1)
			meanwhile(&script, "mkdir", 0);
		nap(&script);
		call(&script, "newfstatat", 0);
	}
	call(&script, "newfstatat", -2);
	nap(&script);
	call(&script, "newfstatat", -2);
	says_nothing(asked(&script));
}

/* Thread 7 asks, and has 6 of its process sleep, as a runtime does. */
static void another_thread_sleeps(struct script *script)
{
	says(script, "enter futex 1 129 1", 1);
	says(script, "waking 6 cpu 0", 1);
	says(script, "leave futex 1", 1);
	says(script, "enter futex 2 128", 1);
	says(script, "switch 7(blocked) 6", 1);
	says(script, "leave futex 0", 1);
	says(script, "enter epoll_wait 5", 1);
	says(script, "switch 6(blocked) 0", 10000);
	says(script, "vector local_timer", 0);
	says(script, "hrtimer hrtimer_wakeup", 0);
	says(script, "waking 6 cpu 0", 0);
	says(script, "hrtimerdone", 0);
	says(script, "vectorexit local_timer", 0);
	says(script, "switch 0(runnable) 6", 1);
	says(script, "leave epoll_wait 0", 1);
	says(script, "enter futex 2 129 1", 1);
	says(script, "waking 7 cpu 0", 1);
	says(script, "leave futex 1", 1);
	says(script, "enter futex 1 128", 1);
	says(script, "switch 6(blocked) 7", 1);
	says(script, "leave futex 0", 1);
}

static void one_thread_asks_and_another_one_sleeps(void **unused)
{
	struct script script = begun();
	char *text = xasprintf("thread 6 7 1 S sleeper\n%s", script.text);
	struct told *told;

	free(script.text);
	script.text = text;
	says(&script, "enter futex 2 128", 1);
	says(&script, "switch 7(blocked) 6", 1);
	says(&script, "leave futex 0", 1);
	says(&script, "enter futex 1 128", 1);
	says(&script, "switch 6(blocked) 7", 1);
	for (int i = 0; i < 4; i++) {
		call(&script, "newfstatat", -2);
		if (i == 3)
			meanwhile(&script, "mkdir", 0);
		another_thread_sleeps(&script);
	}
	call(&script, "newfstatat", 0);
	told = asked(&script);
	assert_in_range(root_of(told, WHY_OTHER_THREAD, 9)->ns, 34 * MS, 36 * MS);
	assert_string_equal(told_reason(root_of(told, WHY_OTHER_THREAD, 9)->inferred),
			    "newfstatat() failed with ENOENT until it called mkdir()");
	told_free(told);
}

/* Thread 7 asks an eventfd of its own; a stranger writes somewhere meanwhile, as every process does. */
static void what_a_thread_of_the_process_did_no_stranger_did(void **unused)
{
	struct script script = begun();
	AUTO_FREE char *text =
		xasprintf("thread 7 7 1 R asker\nthread 9 9 1 R doer\nthread 6 7 1 S sleeper\n%s",
			  strstr(script.text, "thread 8"));
	struct told *told;

	free(script.text);
	script.text = xstrdup(text);
	says(&script, "enter eventfd2 0", 1);
	says(&script, "leave eventfd2 3", 1);
	says(&script, "enter futex 2 128", 1);
	says(&script, "switch 7(blocked) 6", 1);
	says(&script, "leave futex 0", 1);
	says(&script, "enter futex 1 128", 1);
	says(&script, "switch 6(blocked) 7", 1);
	for (int i = 0; i < 4; i++) {
		call(&script, "read 3", -11);
		if (i == 3)
			meanwhile(&script, "write 4", 8);
		another_thread_sleeps(&script);
	}
	call(&script, "read 3", 8);
	told = asked(&script);
	assert_null(root_of(told, WHY_OTHER_THREAD, 9));
	told_free(told);
}

/* What is done for the first time opens files of messages, too, and the sleep says that it asked for those. */
static void the_first_time_it_asks_for_other_things_too(void **unused)
{
	struct script script = begun();
	struct told *told;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		call(&script, "connect 3", -111);
		if (i == 0) {
			says(&script, "enter openat", 1);
			says(&script, "fdname 7 -1 /usr/share/messages unknown asked 2", 1);
			says(&script, "leave openat -2", 1);
		}
		if (i == 2)
			meanwhile(&script, "listen 4", 0);
		nap(&script);
	}
	call(&script, "connect 3", 0);
	told = asked(&script);
	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	assert_in_range(root_of(told, WHY_OTHER_THREAD, 9)->ns, 24 * MS, 26 * MS);
	told_free(told);
}

static void it_never_succeeds(void **unused)
{
	struct script script = begun();

	for (int i = 0; i < 5; i++) {
		call(&script, "connect 3", -111);
		meanwhile(&script, "listen 3", 0);
		nap(&script);
	}
	says_nothing(asked(&script));
}

static void once_is_chance(void **unused)
{
	struct script script = begun();

	call(&script, "flock 3 6", -11);
	meanwhile(&script, "flock 3 8", 0);
	nap(&script);
	call(&script, "flock 3 6", 0);
	says_nothing(asked(&script));
}

static void a_loop_that_works_each_time(void **unused)
{
	struct script script = begun();

	for (int i = 0; i < 4; i++) {
		call(&script, "flock 3 6", i < 3 ? -11 : 0);
		script.at_us += 2000;
		if (i == 2)
			meanwhile(&script, "flock 3 8", 0);
		if (i < 3)
			nap(&script);
	}
	says_nothing(asked(&script));
}

static void a_loop_that_tells_something_each_time(void **unused)
{
	struct script script = begun();

	for (int i = 0; i < 3; i++) {
		call(&script, "flock 3 6", -11);
		call(&script, "write 1", 10);
		if (i == 2)
			meanwhile(&script, "flock 3 8", 0);
		nap(&script);
	}
	call(&script, "flock 3 6", 0);
	says_nothing(asked(&script));
}

static void sleeps_without_a_question(void **unused)
{
	struct script script = begun();

	for (int i = 0; i < 4; i++) {
		call(&script, "flock 3 6", 0);
		meanwhile(&script, "flock 3 8", 0);
		nap(&script);
	}
	says_nothing(asked(&script));
}

/* wait4(WNOHANG) finds no child, until one has ended; kill(pid, 0) finds the process, until then. */
static struct told *until_it_ends(const char *name, int last)
{
	struct script script = begun();

	for (int i = 0; i < 3; i++) {
		call(&script, name, 0);
		if (i == 2) {
			told_add(&script.other, "%dus cpu1 exit 9\n", script.at_us + 5000);
			told_add(&script.other, "%dus cpu1 switch 9(dead) 0\n",
				 script.at_us + 5010);
		}
		nap(&script);
	}
	call(&script, name, last);
	return asked(&script);
}

static void the_end_of_a_child_or_a_process(void **unused)
{
	struct told *told = until_it_ends("wait4 9 0 1", 9);

	assert_string_equal(told_reason(root_of(told, WHY_OTHER_THREAD, 9)->inferred),
			    "wait4() of doer[9] found nothing until it ended");
	told_free(told);
	told = until_it_ends("kill 9 0", -3);
	assert_string_equal(told_reason(root_of(told, WHY_OTHER_THREAD, 9)->inferred),
			    "kill() of doer[9] found it there until it ended");
	told_free(told);
	/* A signal that is sent is no question. */
	told = until_it_ends("kill 9 15", -3);
	says_nothing(told);
}

/* Its first thread has ended before, which is asked about all the same. */
static void a_process_has_ended_with_its_last_thread(void **unused)
{
	struct script script = begun();
	char *text = xasprintf("thread 10 9 7 R rest\n%s", script.text);
	struct told *told;

	(void)unused;
	free(script.text);
	script.text = text;
	told_add(&script.other, "500us cpu2 switch 0(runnable) 10\n");
	for (int i = 0; i < 3; i++) {
		call(&script, "wait4 9 0 1", 0);
		if (i > 0)
			told_add(&script.other,
				 i == 1 ? "%dus cpu1 exit 9\n" : "%dus cpu2 exit 10\n",
				 script.at_us + 5000);
		if (i > 0)
			told_add(&script.other,
				 i == 1 ? "%dus cpu1 switch 9(dead) 0\n"
					: "%dus cpu2 switch 10(dead) 0\n",
				 script.at_us + 5010);
		nap(&script);
	}
	call(&script, "wait4 9 0 1", 9);
	told = asked(&script);
	assert_string_equal(told_reason(root_of(told, WHY_OTHER_THREAD, 9)->inferred),
			    "wait4() of doer[9] found nothing until it ended");
	told_free(told);
}

/* The answers of the threads are gone by then, but not what they said. */
static void the_answer_of_a_process_is_inferred_too(void **unused)
{
	struct told *told = asked_for("flock 3", -11, 0, "flock 4");
	const uint64_t start_ns = told->why.start_ns, end_ns = told->why.end_ns;
	const struct why_part parts[] = { { slot_of(told, 7), start_ns, end_ns },
					  { slot_of(told, 8), start_ns, end_ns } };
	const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);
	struct told sum = { 0 };
	struct err err = { 0 };

	assert_int_equal(why_process_run(told->tl, &told->trace->facts, &(struct why_opts){ 0 },
					 parts[0].slot, parts, 2, &sum.why, &err),
			 0);
	assert_non_null(sum.why.process);
	assert_string_equal(told_reason(root_of(&sum, WHY_OTHER_THREAD, 9)->inferred),
			    told_reason(root->inferred));
	assert_int_equal(root_of(&sum, WHY_OTHER_THREAD, 9)->ns, root->ns);
	assert_int_equal(sum.why.answer_count, told->why.answer_count);
	assert_int_equal(sum.why.answer_ns, told->why.answer_ns);
	why_fini(&sum.why);
	told_free(told);
}

/* 'every' look but the first is followed by output; 9 lets go in the last of six sleeps. */
static struct told *asked_with_reports(int every, const char *output)
{
	struct script script = begun();

	for (int i = 0; i < 6; i++) {
		call(&script, "flock 3 6", -11);
		if (i % every == every - 1)
			call(&script, output, 10);
		if (i == 5)
			meanwhile(&script, "flock 3 8", 0);
		nap(&script);
	}
	call(&script, "flock 3 6", 0);
	return asked(&script);
}

static void who_says_now_and_then_that_it_waits_does_nothing_else(void **unused)
{
	static const char *const output[] = { "write 1", "write 2", "writev 2" };

	for (size_t i = 0; i < ARRAY_LEN(output); i++) {
		struct told *told = asked_with_reports(3, output[i]);

		assert_in_range(root_of(told, WHY_OTHER_THREAD, 9)->ns, 54 * MS, 56 * MS);
		told_free(told);
		/* At first there is no look without. */
		told = asked_with_reports(2, output[i]);
		assert_in_range(root_of(told, WHY_OTHER_THREAD, 9)->ns, 44 * MS, 46 * MS);
		told_free(told);
		says_nothing(asked_with_reports(1, output[i]));
	}
	says_nothing(asked_with_reports(2, "sendto 4"));
}

static void locks_that_it_needs_to_look_are_on_the_way(void **unused)
{
	struct script script = begun();
	struct told *told;

	for (int i = 0; i < 4; i++) {
		call(&script, "newfstatat", i < 3 ? -2 : 0);
		/* As Python's GIL: with a limit, and again. */
		for (int k = 0; k < 10; k++) {
			says(&script, "enter futex 0x7f0010 137", 1);
			says(&script, "switch 7(blocked) 0", 5000);
			says(&script, "vector local_timer", 0);
			says(&script, "hrtimer hrtimer_wakeup", 0);
			says(&script, "waking 7 cpu 0", 0);
			says(&script, "hrtimerdone", 0);
			says(&script, "vectorexit local_timer", 0);
			says(&script, "switch 0(runnable) 7", 1);
			says(&script, "leave futex -110", 1);
		}
		if (i == 2)
			meanwhile(&script, "rename", 0);
		if (i < 3)
			nap(&script);
	}
	told = asked(&script);
	assert_in_range(root_of(told, WHY_OTHER_THREAD, 9)->ns, 24 * MS, 26 * MS);
	told_free(told);
}

static void a_queue_may_be_asked_with_a_time_that_is_over(void **unused)
{
	infers("mq_timedreceive 3", -110, 1, "mq_timedsend 3",
	       "mq_timedreceive() of fd 3 failed with ETIMEDOUT until it called mq_timedsend()");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_can_have_changed_the_answer_is_inferred),
		cmocka_unit_test(the_call_and_its_sleep_are_told_in_the_chain),
		cmocka_unit_test(whatever_it_sleeps_with),
		cmocka_unit_test(one_long_look_is_none),
		cmocka_unit_test(who_works_each_time_or_long_does_not_ask),
		cmocka_unit_test(a_file_that_goes_away_is_waited_for),
		cmocka_unit_test(another_file_that_is_opened_makes_none),
		cmocka_unit_test(nobody_did_anything),
		cmocka_unit_test(several_can_have),
		cmocka_unit_test(of_several_the_only_relative),
		cmocka_unit_test(a_stranger_that_closes_has_not),
		cmocka_unit_test(another_file_is_no_answer),
		cmocka_unit_test(who_had_the_lock_is_known),
		cmocka_unit_test(a_holder_that_has_ended_left_it),
		cmocka_unit_test(refused_once_and_then_it_does_something_else),
		cmocka_unit_test(of_several_the_one_with_the_same_name),
		cmocka_unit_test(nobody_made_that_name),
		cmocka_unit_test(a_rename_is_about_two_names),
		cmocka_unit_test(a_rename_that_fails_asks_for_two_names),
		cmocka_unit_test(another_error_is_an_answer),
		cmocka_unit_test(an_error_that_comes_each_time_is_none),
		cmocka_unit_test(the_call_that_asks_may_be_the_one_that_sleeps),
		cmocka_unit_test(a_call_that_ends_behind_the_answer_may_have_changed_it),
		cmocka_unit_test(what_is_asked_for_behind_the_answer_is_of_something_else),
		cmocka_unit_test(who_sleeps_on_still_asks),
		cmocka_unit_test(one_thread_asks_and_another_one_sleeps),
		cmocka_unit_test(what_a_thread_of_the_process_did_no_stranger_did),
		cmocka_unit_test(the_first_time_it_asks_for_other_things_too),
		cmocka_unit_test(it_never_succeeds),
		cmocka_unit_test(once_is_chance),
		cmocka_unit_test(a_loop_that_works_each_time),
		cmocka_unit_test(a_loop_that_tells_something_each_time),
		cmocka_unit_test(sleeps_without_a_question),
		cmocka_unit_test(the_end_of_a_child_or_a_process),
		cmocka_unit_test(a_process_has_ended_with_its_last_thread),
		cmocka_unit_test(the_answer_of_a_process_is_inferred_too),
		cmocka_unit_test(who_says_now_and_then_that_it_waits_does_nothing_else),
		cmocka_unit_test(locks_that_it_needs_to_look_are_on_the_way),
		cmocka_unit_test(a_queue_may_be_asked_with_a_time_that_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

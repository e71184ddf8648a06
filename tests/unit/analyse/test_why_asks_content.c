/*
 * test_why_asks_content.c - sleeps between looks at a file that is there each time: who alone changed it before the
 * last look is who they were for, unless it changes all the time, or several change it.
 */
#include "asks_script.h"

/* Descriptor 3 of 7 and of 9 is the file; 4 of 7 is another one. */
static struct told *looked(struct script *script)
{
	char *text = xasprintf("fd 7 3 file /tmp/d/log\nfd 7 4 file /tmp/d/libs\n"
			       "fd 9 3 file /tmp/d/log\nfd 8 3 file /tmp/d/log\n"
			       "fd 6 3 file /tmp/d/log\n%s",
			       script->text);

	free(script->text);
	script->text = text;
	return asked(script);
}

static void look(struct script *script)
{
	call(script, "read 3", 0);
}

/* Four sleeps, one look before each; 'write' says in which of them 9 writes. */
static struct told *look_and_sleep(const char *write, bool ends_with_look)
{
	struct script script = begun();

	look(&script);
	for (int i = 0; i < 4; i++) {
		if (write[i] == 'w')
			meanwhile(&script, "write 3", 1);
		nap(&script);
		if (i < 3 || ends_with_look)
			look(&script);
	}
	says(&script, "enter write 4", 2);
	says(&script, "leave write 1", 5000);
	return looked(&script);
}

static void who_writes_to_it_is_waited_for(void **unused)
{
	struct told *told = look_and_sleep("...w", true);
	const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);

	assert_non_null(root);
	assert_in_range(root->ns, 34 * MS, 36 * MS);
	assert_string_equal(told_reason(root->inferred),
			    "read() of /tmp/d/log found nothing new until it called write()");
	told_free(told);
}

static void nothing_is_inferred(struct told *told)
{
	for (size_t i = 0; i < told->why.root_count; i++)
		assert_null(told->why.roots[i].inferred);
	told_free(told);
}

/* Four sleeps behind 'look', which succeeds each time; in the last one 9 makes 'call'. */
static struct told *peek_and_sleep(const char *look, const char *call_name)
{
	struct script script = begun();
	char *text =
		xasprintf("fd 7 5 pipe pipe:[5]\nfd 9 5 pipe pipe:[5]\nfd 9 6 pipe pipe:[6]\n%s",
			  script.text);

	free(script.text);
	script.text = text;
	for (int i = 0; i < 4; i++) {
		call(&script, look, 0);
		if (i == 3)
			meanwhile(&script, call_name, 0);
		nap(&script);
	}
	call(&script, look, 0);
	says(&script, "enter write 4", 2);
	says(&script, "leave write 1", 5000);
	return asked(&script);
}

/* FIONREAD, GETVAL: what is in it is not told, but who alone put something in there. */
static void who_puts_into_a_channel_is_waited_for(void **unused)
{
	static const struct {
		const char *look, *does, *words;
	} all[] = {
		{ "ioctl 5", "write 5", "ioctl() found nothing new until it called write()" },
		{ "semctl 70 0 12", "semop 70",
		  "semctl() found nothing new until it called semop()" },
		{ "semctl 70 0 12", "semctl 70 0 16",
		  "semctl() found nothing new until it called semctl()" },
		{ "msgctl 70 2", "msgsnd 70",
		  "msgctl() found nothing new until it called msgsnd()" },
		{ "rt_sigpending", "kill 7 10",
		  "rt_sigpending() found nothing new until it called kill()" },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct told *told = peek_and_sleep(all[i].look, all[i].does);
		const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);

		assert_non_null(root);
		assert_string_equal(told_reason(root->inferred), all[i].words);
		told_free(told);
	}
}

static void another_channel_is_none_of_it(void **unused)
{
	static const char *const all[][2] = {
		{ "ioctl 5", "write 6" },	   { "ioctl 5", "ioctl 5" },
		{ "semctl 70 0 12", "semop 71" },  { "semctl 70 0 12", "semctl 70 0 12" },
		{ "semctl 70 0 12", "msgsnd 70" }, { "rt_sigpending", "kill 8 10" },
		{ "rt_sigpending", "kill 7 0" }
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		nothing_is_inferred(peek_and_sleep(all[i][0], all[i][1]));
}

static void one_line_before_is_no_chance(void **unused)
{
	struct told *told = look_and_sleep("w..w", true);

	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	told_free(told);
}

static void a_log_that_changes_all_the_time_proves_nothing(void **unused)
{
	nothing_is_inferred(look_and_sleep("w.ww", true));
	nothing_is_inferred(look_and_sleep("w.ww", true));
}

static void nobody_wrote(void **unused)
{
	nothing_is_inferred(look_and_sleep("....", true));
	nothing_is_inferred(look_and_sleep("..w.", true));
}

static void who_goes_on_behind_a_sleep_gave_up(void **unused)
{
	nothing_is_inferred(look_and_sleep("...w", false));
}

static void work_between_the_sleeps_is_a_job(void **unused)
{
	struct script script = begun();

	for (int i = 0; i < 4; i++) {
		look(&script);
		script.at_us += 6000;
		if (i == 3)
			meanwhile(&script, "write 3", 1);
		nap(&script);
	}
	look(&script);
	nothing_is_inferred(looked(&script));
}

/* 9 and a stranger of both write to it. */
static void of_several_relatives_none_is_told(void **unused)
{
	struct script script = begun();

	look(&script);
	for (int i = 0; i < 4; i++) {
		if (i == 3) {
			meanwhile(&script, "write 3", 1);
			told_add(&script.other,
				 "%dus cpu1 switch 9(runnable) 8\n%dus cpu1 enter write 3\n"
				 "%dus cpu1 leave write 1\n",
				 script.at_us + 6000, script.at_us + 6001, script.at_us + 6002);
		}
		nap(&script);
		look(&script);
	}
	says(&script, "enter write 4", 2);
	says(&script, "leave write 1", 2);
	nothing_is_inferred(looked(&script));
}

/* What is looked at in between, but not each time, is not what it is for. */
static void another_file_does_not_count(void **unused)
{
	struct script script = begun();

	call(&script, "read 4", 0);
	for (int i = 0; i < 4; i++) {
		if (i == 3)
			meanwhile(&script, "write 3", 1);
		nap(&script);
		call(&script, "read 4", 0);
	}
	says(&script, "enter write 4", 2);
	says(&script, "leave write 1", 2);
	nothing_is_inferred(looked(&script));
}

/* It waits for several things, and 9 ends that wait 3 ms after its begin: 7 writes somewhere, and waits on. */
static void woken_for_something_else(struct script *script)
{
	says(script, "enter epoll_wait 5", 1);
	told_add(&script->other, "%dus cpu1 waking 7 cpu 0\n", script->at_us + 3000);
	says(script, "switch 7(blocked) 0", 3010);
	says(script, "switch 0(runnable) 7", 1);
	says(script, "leave epoll_wait 1", 1);
	call(script, "write 4", 1);
}

static void an_event_loop_is_woken_for_others_too(void **unused)
{
	struct script script = begun();
	struct told *told;

	look(&script);
	for (int i = 0; i < 4; i++) {
		call(&script, "close 9", 0); /* else these are slices of one wait */
		if (i == 1)
			woken_for_something_else(&script);
		if (i == 3)
			meanwhile(&script, "write 3", 1);
		nap_in(&script, "epoll_wait 5");
		look(&script);
	}
	call(&script, "close 9", 0);
	woken_for_something_else(&script);
	script.at_us += 50000; /* it does not look again */
	told = looked(&script);
	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	assert_in_range(root_of(told, WHY_OTHER_THREAD, 9)->ns, 30 * MS, 45 * MS);
	assert_non_null(told->why.chain[0].inferred);
	assert_string_equal(told_reason(told->why.chain[0].inferred),
			    "read() of /tmp/d/log found nothing new until it called write()");
	told_free(told);
}

/* 9 opens it so that it is empty from then on, or does so through a ring of io_uring. */
static void other_ways_to_change_it(void **unused)
{
	static const char *const ways[] = {
		"openat 0 0 01001",	    "creat 0",		"ftruncate 3 0",
		"fallocate 3 0 0 1",	    "sendfile 3 4 0 1", "splice 4 0 3 0 1",
		"copy_file_range 4 0 3 0 1"
	};

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct script script = begun();
		bool opens = ways[i][0] == 'o' || ways[i][1] == 'r';
		struct told *told;

		look(&script);
		for (int k = 0; k < 4; k++) {
			if (k == 3)
				meanwhile(&script, ways[i], opens ? 3 : 1);
			nap(&script);
			look(&script);
		}
		says(&script, "enter write 4", 2);
		says(&script, "leave write 1", 5000);
		told = looked(&script);
		assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
		assert_non_null(root_of(told, WHY_OTHER_THREAD, 9)->inferred);
		told_free(told);
	}
}

/* To open it, or to map it, changes nothing. */
static void other_calls_change_nothing(void **unused)
{
	static const char *const calls[] = { "openat 0 0 0101", "openat 0 0 02", "mmap 0 1 3 1 3 0",
					     "copy_file_range 3 0 4 0 1" };

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct script script = begun();

		look(&script);
		for (int k = 0; k < 4; k++) {
			if (k == 3)
				meanwhile(&script, calls[i], 3);
			nap(&script);
			look(&script);
		}
		says(&script, "enter write 4", 2);
		says(&script, "leave write 1", 5000);
		nothing_is_inferred(looked(&script));
	}
}

/* Few bits are left of two names: among many renames one looks like the file by chance. */
static void a_stranger_that_renames_much_has_not_changed_it(void **unused)
{
	for (int count = 1; count <= 5; count += 4) {
		struct script script = begun();
		struct told *told;

		for (int nr = 0; nr < 4; nr++) {
			look(&script);
			for (int i = 0; i < count && nr == 3; i++) {
				int at_us = script.at_us + 5500 + 100 * i;

				told_add(&script.other,
					 "%dus cpu1 switch 9(runnable) 6\n%dus cpu1 enter rename\n"
					 "%dus cpu1 leave rename 0\n",
					 at_us, at_us + 1, at_us + 9);
				told_add(&script.other,
					 "%dus cpu1 fdname 6 -1 /r/tmp unknown asked 0\n"
					 "%dus cpu1 fdname 6 -1 %s unknown asked 0\n",
					 at_us + 10, at_us + 10, i ? "/r/some" : "/tmp/d/log");
				told_add(&script.other, "%dus cpu1 switch 6(runnable) 9\n",
					 at_us + 20);
			}
			nap(&script);
		}
		look(&script);
		says(&script, "enter write 4", 2);
		says(&script, "leave write 1", 5000);
		told = looked(&script);
		if (count == 1)
			assert_non_null(root_of(told, WHY_OTHER_THREAD, 6));
		else
			assert_null(root_of(told, WHY_OTHER_THREAD, 6));
		told_free(told);
	}
}

/* 7 lists the folder of descriptor 5, and 9 does 'way' in the naps that 'when' says. */
static struct told *listed(const char *way, int result, const char *when)
{
	struct script script = begun();

	told_add(&script.other, "fd 7 5 dir /tmp/d\n");
	call(&script, "getdents64 5", 0);
	for (int i = 0; when[i]; i++) {
		if (when[i] == 'w')
			meanwhile(&script, way, result);
		nap(&script);
		call(&script, "getdents64 5", 48);
	}
	says(&script, "enter write 4", 2);
	says(&script, "leave write 1", 5000);
	return looked(&script);
}

static void names_in_a_folder_that_is_listed_are_a_relatives(void **unused)
{
	static const char *const ways[] = { "openat 0 0 0101", "mkdir 0", "unlink 0",
					    "rename 0 0" };

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct told *told = listed(ways[i], i ? 0 : 3, ".........w");
		const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);
		AUTO_FREE char *words =
			xasprintf("getdents64() of /tmp/d found nothing new until it called %.*s()",
				  (int)strcspn(ways[i], " "), ways[i]);

		assert_non_null(root);
		assert_string_equal(told_reason(root->inferred), words);
		told_free(told);
	}
}

/* What strangers write, into whatever looks like the folder, is no name in it. */
static void a_stranger_that_writes_makes_no_names(void **unused)
{
	struct script script = begun();
	struct told *told;

	told_add(&script.other, "fd 7 5 dir /tmp/d\nfd 6 4 file /other/d\n");
	call(&script, "getdents64 5", 0);
	for (int i = 0; i < 8; i++) {
		if (i == 7)
			meanwhile(&script, "mkdir 0", 0);
		else if (i % 2)
			told_add(&script.other,
				 "%dus cpu1 switch 9(runnable) 6\n%dus cpu1 enter write 4\n"
				 "%dus cpu1 leave write 1\n%dus cpu1 switch 6(runnable) 9\n",
				 script.at_us + 5000, script.at_us + 5001, script.at_us + 5002,
				 script.at_us + 5003);
		nap(&script);
		call(&script, "getdents64 5", 48);
	}
	says(&script, "enter write 4", 2);
	says(&script, "leave write 1", 5000);
	told = looked(&script);
	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	told_free(told);
}

/* To open what is there makes no name; who makes names now and then may do so for another folder. */
static void a_folder_proves_less_than_a_file(void **unused)
{
	nothing_is_inferred(listed("openat 0 0 02", 3, ".........w"));
	nothing_is_inferred(listed("close 3", 0, ".........w"));
	nothing_is_inferred(listed("write 3", 1, ".........w"));
	nothing_is_inferred(listed("mkdir 0", 0, "..w...w..w"));
	nothing_is_inferred(listed("mkdir 0", 0, "........w."));
}

/* 9 has it mapped, by 'map', and works; in the last sleep but 'early' it ends its work, and sleeps. */
static struct told *mapped(const char *map, int naps, int early)
{
	struct script script = begun();

	told_add(&script.other, "%dus cpu1 enter %s\n%dus cpu1 leave mmap 4096\n", script.at_us,
		 map, script.at_us + 1);
	look(&script);
	for (int i = 0; i < naps; i++) {
		if (i == naps - 1 - early)
			told_add(&script.other,
				 "%dus cpu1 enter pause\n%dus cpu1 switch 9(blocked) 0\n",
				 script.at_us + 5000, script.at_us + 5001);
		nap(&script);
		look(&script);
	}
	says(&script, "enter write 4", 2);
	says(&script, "leave write 1", 50000);
	return looked(&script);
}

static void who_has_it_mapped_and_stops_working_is_inferred(void **unused)
{
	struct told *told = mapped("mmap 0 4096 3 1 3 0", 6, 0);
	const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);

	assert_non_null(root);
	assert_in_range(root->ns, 54 * MS, 56 * MS);
	assert_string_equal(told_reason(root->inferred),
			    "read() of /tmp/d/log found nothing new until it stopped "
			    "working: it has that file mapped to write to");
	told_free(told);
}

static void a_mapping_alone_proves_nothing(void **unused)
{
	nothing_is_inferred(mapped("mmap 0 4096 3 1 3 0", 6, 1));  /* it stopped too early */
	nothing_is_inferred(mapped("mmap 0 4096 3 1 3 0", 6, 99)); /* it works on */
	nothing_is_inferred(mapped("mmap 0 4096 1 1 3 0", 6, 0));  /* to read alone */
	nothing_is_inferred(mapped("mmap 0 4096 3 2 3 0", 6, 0));  /* private */
	nothing_is_inferred(mapped("mmap 0 4096 3 1 3 0", 3, 0));  /* few looks */
}

/* Another thread of its process, 10, looks for it, while it waits. */
static void helper_looks(struct script *script)
{
	says(script, "waking 10 cpu 0", 1);
	says(script, "enter futex 0x7f0010 0", 1);
	says(script, "switch 7(blocked) 10", 1);
	says(script, "leave futex 0", 1);
	look(script);
	says(script, "waking 7 cpu 0", 1);
	says(script, "enter futex 0x7f0020 0", 1);
	says(script, "switch 10(blocked) 7", 1);
	says(script, "leave futex 0", 1);
}

/* As look_and_sleep(), where a helper looks; 'work_us' of work each time. */
static struct told *look_by_helper(const char *write, int work_us)
{
	struct script script = begun();
	char *text = xasprintf("thread 10 7 1 S helper\n%s", script.text);
	int naps = (int)strlen(write);

	free(script.text);
	script.text = text;
	helper_looks(&script);
	for (int i = 0; i < naps; i++) {
		if (write[i] == 'w')
			meanwhile(&script, "write 3", 1);
		nap(&script);
		helper_looks(&script);
		script.at_us += work_us;
	}
	says(&script, "enter write 4", 2);
	says(&script, "leave write 1", 200000);
	return looked(&script);
}

static void a_helper_looks_and_another_thread_sleeps(void **unused)
{
	struct told *told = look_by_helper("....w", 0);
	const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);

	assert_non_null(root);
	assert_in_range(root->ns, 44 * MS, 46 * MS);
	assert_non_null(
		strstr(told_reason(root->inferred), "found nothing new until it called write()"));
	told_free(told);
}

static void a_helper_proves_no_more_than_a_thread(void **unused)
{
	nothing_is_inferred(look_by_helper(".....", 0));
	nothing_is_inferred(look_by_helper("..w..", 0));
	nothing_is_inferred(look_by_helper("w.w.w", 0));
	nothing_is_inferred(look_by_helper("....w", 9000));
	nothing_is_inferred(look_by_helper("w", 0));
}

/* Behind 'every' look it says that it waits; 9 writes in the last of six sleeps. */
static struct told *looked_with_reports(int every)
{
	struct script script = begun();

	look(&script);
	for (int i = 0; i < 6; i++) {
		if (i == 5)
			meanwhile(&script, "write 3", 1);
		nap(&script);
		look(&script);
		if (i < 5 && i % every == every - 1)
			call(&script, "write 1", 10);
	}
	says(&script, "enter fsync 4", 2);
	says(&script, "leave fsync 0", 5000);
	return looked(&script);
}

static void who_says_now_and_then_that_it_waits_looks_on(void **unused)
{
	struct told *told = looked_with_reports(2);

	assert_in_range(root_of(told, WHY_OTHER_THREAD, 9)->ns, 54 * MS, 56 * MS);
	told_free(told);
	nothing_is_inferred(looked_with_reports(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_writes_to_it_is_waited_for),
		cmocka_unit_test(who_puts_into_a_channel_is_waited_for),
		cmocka_unit_test(another_channel_is_none_of_it),
		cmocka_unit_test(one_line_before_is_no_chance),
		cmocka_unit_test(a_log_that_changes_all_the_time_proves_nothing),
		cmocka_unit_test(nobody_wrote),
		cmocka_unit_test(who_goes_on_behind_a_sleep_gave_up),
		cmocka_unit_test(work_between_the_sleeps_is_a_job),
		cmocka_unit_test(of_several_relatives_none_is_told),
		cmocka_unit_test(another_file_does_not_count),
		cmocka_unit_test(an_event_loop_is_woken_for_others_too),
		cmocka_unit_test(other_ways_to_change_it),
		cmocka_unit_test(other_calls_change_nothing),
		cmocka_unit_test(a_stranger_that_renames_much_has_not_changed_it),
		cmocka_unit_test(names_in_a_folder_that_is_listed_are_a_relatives),
		cmocka_unit_test(a_stranger_that_writes_makes_no_names),
		cmocka_unit_test(a_folder_proves_less_than_a_file),
		cmocka_unit_test(who_has_it_mapped_and_stops_working_is_inferred),
		cmocka_unit_test(a_mapping_alone_proves_nothing),
		cmocka_unit_test(a_helper_looks_and_another_thread_sleeps),
		cmocka_unit_test(a_helper_proves_no_more_than_a_thread),
		cmocka_unit_test(who_says_now_and_then_that_it_waits_looks_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

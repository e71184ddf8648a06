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

static void one_line_before_is_no_chance(void **unused)
{
	struct told *told = look_and_sleep("w..w", true);

	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	told_free(told);
}

static void nothing_is_inferred(struct told *told)
{
	for (size_t i = 0; i < told->why.root_count; i++)
		assert_null(told->why.roots[i].inferred);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_writes_to_it_is_waited_for),
		cmocka_unit_test(one_line_before_is_no_chance),
		cmocka_unit_test(a_log_that_changes_all_the_time_proves_nothing),
		cmocka_unit_test(nobody_wrote),
		cmocka_unit_test(who_goes_on_behind_a_sleep_gave_up),
		cmocka_unit_test(work_between_the_sleeps_is_a_job),
		cmocka_unit_test(of_several_relatives_none_is_told),
		cmocka_unit_test(another_file_does_not_count),
		cmocka_unit_test(an_event_loop_is_woken_for_others_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

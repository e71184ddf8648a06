/*
 * test_why_unanswered.c - who had been asked on a connection is told of a time-out, and what that one did meanwhile.
 */
#include "asks_script.h"

#define FDS                                                    \
	"fd 7 3 connected \"tcp 127.0.0.1:9->127.0.0.1:80\"\n" \
	"fd 9 4 accepted \"tcp 127.0.0.1:80->127.0.0.1:9\"\n"  \
	"fd 8 5 accepted \"tcp 127.0.0.1:80->127.0.0.1:9\"\n"

static struct script connected(void)
{
	struct script script = begun();
	char *text = xasprintf("thread 7 7 1 R asker\nthread 9 9 1 R doer\n"
			       "thread 8 8 1 S third\n" FDS "%s",
			       strstr(script.text, "  0 cpu0"));

	free(script.text);
	script.text = text;
	return script;
}

/* 7 waits for 40 ms in read(), whose time is up. */
static void times_out(struct script *script)
{
	says(script, "enter read 3", 1);
	says(script, "switch 7(blocked) 0", 40000);
	says(script, "vector local_timer", 0);
	says(script, "hrtimer hrtimer_wakeup", 0);
	says(script, "waking 7 cpu 0", 0);
	says(script, "hrtimerdone", 0);
	says(script, "vectorexit local_timer", 0);
	says(script, "switch 0(runnable) 7", 1);
	says(script, "leave read -11", 1);
	call(script, "close 3", 0);
}

static void ends(struct script *script, const char *words)
{
	struct told *told = asked(script);
	const struct why_root *root = root_of(told, WHY_TIMER, 7);

	assert_non_null(root);
	assert_true(root->timed_out);
	assert_string_equal(told_reason(root->why), words);
	told_free(told);
}

static void who_read_the_request_did_not_answer(void **unused)
{
	struct script script = connected();

	call(&script, "write 3", 5);
	meanwhile(&script, "read 4", 5);
	times_out(&script);
	ends(&script, "doer[9] had read what was sent there and did not answer: it worked");
}

/* Nothing was asked, or all that was asked for has come, or it is answered meanwhile. */
static void but_not_where_no_answer_is_due(void **unused)
{
	for (int i = 0; i < 3; i++) {
		struct script script = connected();

		if (i > 0)
			call(&script, "write 3", 5);
		if (i == 1)
			call(&script, "read 3", 5);
		meanwhile(&script, "read 4", 5);
		if (i == 2) {
			script.at_us += 1000;
			meanwhile(&script, "write 4", 5);
		}
		times_out(&script);
		ends(&script, "");
	}
}

/* Who reads with the same bits much later may read from another connection. */
static void nor_where_it_is_read_late(void **unused)
{
	struct script script = connected();

	call(&script, "write 3", 5);
	script.at_us += 10000;
	meanwhile(&script, "read 4", 5);
	script.at_us -= 10000;
	times_out(&script);
	ends(&script, "");
}

/* A request that nobody has read yet is waited for in vain, whoever does not read it. */
static void nor_where_nobody_has_read_it(void **unused)
{
	struct script script = connected();

	call(&script, "write 3", 5);
	times_out(&script);
	ends(&script, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_read_the_request_did_not_answer),
		cmocka_unit_test(but_not_where_no_answer_is_due),
		cmocka_unit_test(nor_where_it_is_read_late),
		cmocka_unit_test(nor_where_nobody_has_read_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_why_asks_child.c - programs that a shell runs, or children of its that sleep, ask in its stead: what the
 * last two of them did, or were there to find, tells for whom.
 */
#include "asks_script.h"

/* A child that was there before ends while the shell waits for its sleep: it waits on for that. */
static void another_child_ends(struct script *script)
{
	told_add(&script->other, "%dus cpu1 waking 7 cpu 0\n", script->at_us + 2000);
	told_add(&script->other, "%dus cpu1 switch 50(dead) 9\n", script->at_us + 2010);
	script->at_us += 2100;
	says(script, "switch 0(runnable) 7", 1);
	says(script, "leave wait4 50", 1);
	says(script, "enter wait4 -1", 1);
	says(script, "switch 7(blocked) 0", 1);
}

/* mkdir asks for a shell, or it does itself by kill(), and sleep sleeps for it: both are its children. */
static struct told *ask_and_sleep(bool another)
{
	struct script script = begun();

	if (another) {
		char *text = xasprintf("thread 50 50 7 R job\n%s", script.text);

		free(script.text);
		script.text = text;
	}

	for (int i = 0; i < 4; i++) {
		for (int sleeps = 0; sleeps < 2; sleeps++) {
			int tid = 100 + 2 * i + sleeps;
			AUTO_FREE char *fork = xasprintf("fork %d", tid);
			AUTO_FREE char *task = xasprintf("newtask %d", tid);
			AUTO_FREE char *on = xasprintf("switch 7(blocked) %d", tid);
			AUTO_FREE char *nap_off = xasprintf("switch %d(blocked) 0", tid);
			AUTO_FREE char *waking = xasprintf("waking %d cpu 0", tid);
			AUTO_FREE char *nap_on = xasprintf("switch 0(runnable) %d", tid);
			AUTO_FREE char *ended = xasprintf("exit %d", tid);
			AUTO_FREE char *off = xasprintf("switch %d(dead) 7", tid);

			if (i == 3 && sleeps)
				break;
			if (another && !sleeps) {
				call(&script, "kill 50 0", i < 3 ? 0 : -3);
				continue;
			}
			says(&script, "enter clone", 1);
			says(&script, task, 0);
			says(&script, fork, 1);
			says(&script, "leave clone 100", 1);
			says(&script, "enter wait4 -1", 1);
			says(&script, on, 1);
			if (sleeps) {
				if (i == 2 && !another)
					meanwhile(&script, "rmdir", 0);
				says(&script, "enter clock_nanosleep", 1);
				says(&script, nap_off, another && i == 2 ? 5000 : 10000);
				if (another && i == 2) {
					told_add(&script.other, "%dus cpu1 switch 9(runnable) 50\n",
						 script.at_us);
					another_child_ends(&script);
				}
				says(&script, "vector local_timer", 0);
				says(&script, "hrtimer hrtimer_wakeup", 0);
				says(&script, waking, 0);
				says(&script, "hrtimerdone", 0);
				says(&script, "vectorexit local_timer", 0);
				says(&script, nap_on, 1);
				says(&script, "leave clock_nanosleep 0", 1);
			} else {
				call(&script, "mkdir", i < 3 ? -17 : 0);
			}
			says(&script, ended, 1);
			says(&script, "waking 7 cpu 0", 1);
			says(&script, off, 1);
			says(&script, "leave wait4 100", 1);
		}
	}
	return asked(&script);
}

static void children_ask_and_sleep(void **unused)
{
	struct told *told = ask_and_sleep(false);

	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	assert_in_range(root_of(told, WHY_OTHER_THREAD, 9)->ns, 24 * MS, 26 * MS);
	assert_string_equal(told_reason(root_of(told, WHY_OTHER_THREAD, 9)->inferred),
			    "mkdir() failed with EEXIST until it called rmdir()");
	told_free(told);
}

static void the_end_of_another_child_is_no_nap(void **unused)
{
	struct told *told = ask_and_sleep(true);

	assert_int_not_equal(told->why.chain_count, 0);
	assert_non_null(told->why.chain[0].inferred);
	assert_string_equal(told_reason(told->why.chain[0].inferred),
			    "kill() of job[50] found it there until it ended");
	told_free(told);
}

static void says_of(struct script *script, const char *form, int tid)
{
	char line[64];

	snprintf(line, sizeof(line), form, tid);
	says(script, line, 1);
}

static void child_begins(struct script *script, int tid)
{
	says(script, "enter clone", 1);
	says_of(script, "newtask %d", tid);
	says_of(script, "fork %d", tid);
	says_of(script, "leave clone %d", tid);
	says(script, "enter wait4 -1", 1);
	says_of(script, "switch 7(blocked) %d", tid);
}

static void child_ends(struct script *script, int tid)
{
	says_of(script, "exit %d", tid);
	says(script, "waking 7 cpu 0", 1);
	says_of(script, "switch %d(dead) 7", tid);
	says_of(script, "leave wait4 %d", tid);
}

static void child_sleeps(struct script *script, int tid)
{
	child_begins(script, tid);
	says(script, "enter clock_nanosleep", 1);
	says_of(script, "switch %d(blocked) 0", tid);
	script->at_us += 10000;
	says(script, "vector local_timer", 0);
	says(script, "hrtimer hrtimer_wakeup", 0);
	says_of(script, "waking %d cpu 0", tid);
	says(script, "hrtimerdone", 0);
	says(script, "vectorexit local_timer", 0);
	says_of(script, "switch 0(runnable) %d", tid);
	says(script, "leave clock_nanosleep 0", 1);
	child_ends(script, tid);
}

/* It sleeps itself, and programs that it runs ask. */
static void who_sleeps_itself_has_programs_ask(void **unused)
{
	struct script script = begun();
	struct told *told;

	for (int i = 0; i < 4; i++) {
		child_begins(&script, 100 + i);
		call(&script, "mkdir", i < 3 ? -17 : 0);
		child_ends(&script, 100 + i);
		if (i == 2)
			meanwhile(&script, "rmdir", 0);
		if (i < 3)
			nap(&script);
	}
	told = asked(&script);
	assert_non_null(root_of(told, WHY_OTHER_THREAD, 9));
	assert_in_range(root_of(told, WHY_OTHER_THREAD, 9)->ns, 24 * MS, 26 * MS);
	assert_string_equal(told_reason(root_of(told, WHY_OTHER_THREAD, 9)->inferred),
			    "mkdir() failed with EEXIST until it called rmdir()");
	told_free(told);
}

/* A program looks for what it needs itself, and then, by 'name', for what the shell sleeps for. */
static struct told *run_and_sleep(const char *name, int vain, const char *last, int got)
{
	struct script script = begun();

	for (int i = 0; i < 4; i++) {
		child_begins(&script, 100 + 2 * i);
		call(&script, "newfstatat", -2);
		call(&script, "openat", 3);
		call(&script, i < 3 ? name : last, i < 3 ? vain : got);
		call(&script, "newfstatat", -2);
		child_ends(&script, 100 + 2 * i);
		if (i == 2)
			meanwhile(&script, "mkdir", 0);
		if (i < 3)
			child_sleeps(&script, 101 + 2 * i);
	}
	return asked(&script);
}

static void programs_look_for_a_shell(void **unused)
{
	struct told *told = run_and_sleep("newfstatat", -2, "newfstatat", 0);
	const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);

	assert_non_null(root);
	assert_in_range(root->ns, 24 * MS, 26 * MS);
	assert_string_equal(told_reason(root->inferred),
			    "newfstatat() failed with ENOENT until it called mkdir()");
	told_free(told);
}

/* It sleeps itself, and what it runs looks: by a shell, with 'shell'. */
static struct told *run_and_nap(bool shell, bool found)
{
	struct script script = begun();

	for (int i = 0; i < 4; i++) {
		int tid = 100 + 2 * i;

		child_begins(&script, tid);
		if (shell) {
			says_of(&script, "enter clone", 0);
			says_of(&script, "newtask %d", tid + 1);
			says_of(&script, "fork %d", tid + 1);
			says_of(&script, "leave clone %d", tid + 1);
			says(&script, "enter wait4 -1", 1);
			told_add(&script.text, "%dus cpu0 switch %d(blocked) %d\n", script.at_us,
				 tid, tid + 1);
		}
		call(&script, "newfstatat", found && i == 3 ? 0 : -2);
		if (shell) {
			says_of(&script, "exit %d", tid + 1);
			says_of(&script, "waking %d cpu 0", tid);
			told_add(&script.text, "%dus cpu0 switch %d(dead) %d\n", script.at_us,
				 tid + 1, tid);
			says_of(&script, "leave wait4 %d", tid + 1);
		}
		child_ends(&script, tid);
		if (i == 2)
			meanwhile(&script, "mkdir", 0);
		if (i < 3)
			nap(&script);
	}
	script.at_us += 100000; /* it works, and looks no more */
	return asked(&script);
}

static void programs_look_for_who_sleeps_itself(void **unused)
{
	for (int shell = 0; shell < 2; shell++) {
		struct told *told = run_and_nap(shell, true);
		const struct why_root *root = root_of(told, WHY_OTHER_THREAD, 9);

		assert_non_null(root);
		assert_in_range(root->ns, 24 * MS, 26 * MS);
		told_free(told);
		told = run_and_nap(shell, false);
		for (size_t k = 0; k < told->why.root_count; k++)
			assert_null(told->why.roots[k].inferred);
		told_free(told);
	}
}

static void programs_that_do_not_differ_look_for_nothing(void **unused)
{
	static const struct {
		const char *name, *last;
		int vain, got;
	} alike[] = {
		{ "newfstatat", "newfstatat", -2, -2 }, /* gives up */
		{ "newfstatat", "access", -2, 0 },	/* another call */
		{ "getpid", "getpid", 7, 8 },
		{ "newfstatat", "newfstatat", 0, -2 }, /* of what, is not told */
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(alike); i++) {
		struct told *told =
			run_and_sleep(alike[i].name, alike[i].vain, alike[i].last, alike[i].got);

		for (size_t k = 0; k < told->why.root_count; k++)
			assert_null(told->why.roots[k].inferred);
		told_free(told);
	}
}

/* A program that looks for a process, and job, 50, that ends, or somebody that listens, in the last sleep. */
static struct told *find_and_sleep(const char *program, const char *arguments, bool listens)
{
	struct script script = begun();
	char *text = xasprintf("thread 50 50 1 S job\n%s", script.text);

	free(script.text);
	script.text = text;
	for (int i = 0; i < 4; i++) {
		AUTO_FREE char *runs =
			xasprintf("fdname %d -1 \"%s\" unknown runs", 100 + 2 * i, arguments);
		AUTO_FREE char *name = xasprintf("rename %d %s", 100 + 2 * i, program);

		child_begins(&script, 100 + 2 * i);
		says(&script, name, 1);
		says(&script, runs, 1);
		call(&script, "getpid", 7);
		child_ends(&script, 100 + 2 * i);
		if (i == 2 && listens) {
			told_add(&script.other,
				 "%dus cpu1 fdname 9 3 \"tcp listen 0.0.0.0:8080\" listen\n",
				 script.at_us + 4990);
			meanwhile(&script, "listen 3", 0);
		} else if (i == 2) {
			told_add(&script.other, "%dus cpu1 switch 9(runnable) 50\n",
				 script.at_us + 5000);
			told_add(&script.other, "%dus cpu1 switch 50(dead) 9\n",
				 script.at_us + 5010);
		}
		if (i < 3)
			child_sleeps(&script, 101 + 2 * i);
	}
	return asked(&script);
}

static void programs_that_find_processes(void **unused)
{
	static const struct {
		const char *program, *arguments, *words;
		bool listens;
	} cases[] = {
		{ "pgrep", "pgrep -x job", "'pgrep -x job' found it until it ended", false },
		{ "pgrep", "pgrep ^j", "'pgrep ^j' found it until it ended", false },
		{ "ps", "ps -p 50", "'ps -p 50' found it until it ended", false },
		{ "pidof", "pidof jo", NULL, false },
		{ "pgrep", "pgrep -x jo", NULL, false },
		{ "pgrep", "pgrep o", NULL, false }, /* doer is there still */
		{ "pgrep", "pgrep -x other", NULL, false },
		{ "date", "date job", NULL, false },
		{ "ss", "ss -ltn sport 8080",
		  "'ss -ltn sport 8080' did not find it until it called listen()", true },
		{ "ss", "ss -ltn sport 80", NULL, true },
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct told *told =
			find_and_sleep(cases[i].program, cases[i].arguments, cases[i].listens);
		const char *words = NULL;

		for (size_t k = 0; k < told->why.root_count; k++)
			words = words ? words
				: told->why.roots[k].inferred
					? told_reason(told->why.roots[k].inferred)
					: NULL;
		if (cases[i].words) {
			assert_non_null(words);
			assert_string_equal(words, cases[i].words);
		} else {
			assert_null(words);
		}
		told_free(told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_ask_and_sleep),
		cmocka_unit_test(the_end_of_another_child_is_no_nap),
		cmocka_unit_test(who_sleeps_itself_has_programs_ask),
		cmocka_unit_test(programs_look_for_a_shell),
		cmocka_unit_test(programs_look_for_who_sleeps_itself),
		cmocka_unit_test(programs_that_do_not_differ_look_for_nothing),
		cmocka_unit_test(programs_that_find_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

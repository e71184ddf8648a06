/*
 * test_why_slices_names.c - slices of one wait of which the recorder told more at some than at others.
 */
#include "slices_script.h"

#define CONNECT "connect 3"

/* As slice(), and the recorder tells where to while it lasts, if 'told'. */
static void connect_slice(struct script *script, int ms, const char *told)
{
	says(script, "cpu0 enter " CONNECT, 1);
	says(script, "cpu0 switch 7(blocked) 0", 1000);
	if (told)
		says(script, told, 0);
	script->at_us += ms * 1000 - 1000;
	says(script, "cpu0 vector local_timer", 0);
	says(script, "cpu0 hrtimer process_timeout", 0);
	says(script, "cpu0 waking 7 cpu 0", 0);
	says(script, "cpu0 hrtimerdone", 0);
	says(script, "cpu0 vectorexit local_timer", 0);
	says(script, "cpu0 switch 0(runnable) 7", 1);
	says(script, "cpu0 leave connect -11", 1);
}

/* Of 'name' is the socket; its first slice ends in the same, and so does one of which 'told' is told. */
static uint64_t held_up_ns(const char *name, const char *told)
{
	struct script script = begun();
	AUTO_FREE char *named = xasprintf("cpu0 fdname 7 3 \"%s\" socket", name);
	char *text = xasprintf("thread 7 7 1 R client\nthread 9 9 1 R server\n%s", script.text);
	struct told *result;
	uint64_t ns;

	free(script.text);
	script.text = text;
	says(&script, named, 1);
	connect_slice(&script, 50, NULL);
	connect_slice(&script, 50, told);
	woken_slice(&script, CONNECT, 20);
	result = asked(&script);
	ns = charged_ns(result, WHY_OTHER_THREAD, 9);
	told_free(result);
	return ns;
}

static void an_address_that_is_told_of_some_is_that_of_all(void **unused)
{
	assert_int_equal(held_up_ns("unix", NULL), 120 * MS);
	assert_int_equal(held_up_ns("unix", "cpu1 fdname 7 -1 /s unknown asked 0"), 120 * MS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_that_is_told_of_some_is_that_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

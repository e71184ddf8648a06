/* test_unit_failures.c - which failures of units are new, and which units a pattern means. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/unit_failures.h"

static const uint8_t first_run[UNIT_RUN_BYTES] = { 1 }, second_run[UNIT_RUN_BYTES] = { 2 };

static void a_state_is_a_failure_by_its_result_when_it_is_started_again(void **state)
{
	(void)state;
	assert_int_equal(unit_level_of("failed", "failed", ""), UNIT_FAILED);
	assert_int_equal(unit_level_of("active", "running", "success"), UNIT_GOOD);
	assert_int_equal(unit_level_of("inactive", "dead", "exit-code"), UNIT_GOOD);
	assert_int_equal(unit_level_of("activating", "auto-restart", "signal"), UNIT_RETRIES);
	assert_int_equal(unit_level_of("activating", "auto-restart-queued", "signal"),
			 UNIT_RETRIES);
	assert_int_equal(unit_level_of("failed", "failed-before-auto-restart", "signal"),
			 UNIT_RETRIES);
	assert_int_equal(unit_level_of("activating", "auto-restart", "success"), UNIT_GOOD);
	assert_int_equal(unit_level_of("activating", "auto-restart", ""), UNIT_GOOD);
}

static void a_failure_is_new_once(void **state)
{
	struct unit_failures failures = { 0 };

	(void)state;
	assert_false(unit_failures_note(&failures, "a.service", UNIT_GOOD, first_run));
	assert_true(unit_failures_note(&failures, "a.service", UNIT_FAILED, first_run));
	assert_false(unit_failures_note(&failures, "a.service", UNIT_FAILED, first_run));
	assert_true(unit_failures_note(&failures, "b.service", UNIT_FAILED, NULL));
	assert_false(unit_failures_note(&failures, "a.service", UNIT_GOOD, second_run));
	assert_true(unit_failures_note(&failures, "a.service", UNIT_FAILED, second_run));
	unit_failures_fini(&failures);
}

/* systemd 252 tells "failed", then "auto-restart"; when it gives up, "failed" again. */
static void a_restart_is_no_new_failure_and_giving_up_is_one(void **state)
{
	struct unit_failures failures = { 0 };

	(void)state;
	assert_true(unit_failures_note(&failures, "a.service", UNIT_FAILED, first_run));
	assert_false(unit_failures_note(&failures, "a.service", UNIT_RETRIES, first_run));
	assert_false(unit_failures_note(&failures, "a.service", UNIT_RETRIES, first_run));
	assert_true(unit_failures_note(&failures, "a.service", UNIT_FAILED, first_run));
	unit_failures_fini(&failures);
}

/* That it ran in between was gathered into one change. */
static void a_failure_of_another_run_is_new(void **state)
{
	struct unit_failures failures = { 0 };

	(void)state;
	assert_true(unit_failures_note(&failures, "a.service", UNIT_RETRIES, first_run));
	assert_true(unit_failures_note(&failures, "a.service", UNIT_RETRIES, second_run));
	assert_false(unit_failures_note(&failures, "a.service", UNIT_RETRIES, NULL));
	assert_false(unit_failures_note(&failures, "a.service", UNIT_RETRIES, second_run));
	unit_failures_fini(&failures);
}

static void what_a_list_does_not_have_is_good(void **state)
{
	struct unit_failures failures = { 0 };

	(void)state;
	assert_true(unit_failures_note(&failures, "a.service", UNIT_FAILED, NULL));
	assert_true(unit_failures_note(&failures, "b.service", UNIT_RETRIES, NULL));
	unit_failures_begin(&failures);
	unit_failures_list(&failures, "b.service");
	unit_failures_list(&failures, "c.service");
	assert_true(unit_failures_note(&failures, "d.service", UNIT_FAILED, NULL));
	unit_failures_end(&failures);
	assert_int_equal(unit_failures_level(&failures, "a.service"), UNIT_GOOD);
	assert_int_equal(unit_failures_level(&failures, "b.service"), UNIT_RETRIES);
	assert_int_equal(unit_failures_level(&failures, "c.service"), UNIT_GOOD);
	assert_int_equal(unit_failures_level(&failures, "d.service"), UNIT_FAILED);
	unit_failures_fini(&failures);
}

static void of_too_many_the_oldest_is_forgotten(void **state)
{
	struct unit_failures failures = { 0 };
	char name[32];

	(void)state;
	for (int i = 0; i <= UNIT_FAILURES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "%d.service", i);
		assert_true(unit_failures_note(&failures, name, UNIT_FAILED, NULL));
	}
	assert_int_equal(failures.count, UNIT_FAILURES_MAX);
	assert_int_equal(unit_failures_level(&failures, "0.service"), UNIT_GOOD);
	assert_int_equal(unit_failures_level(&failures, "1.service"), UNIT_FAILED);
	unit_failures_fini(&failures);
}

static void a_name_that_is_too_long_is_nobodys(void **state)
{
	struct unit_failures failures = { 0 };
	char name[4 * UNIT_NAME_BYTES];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_false(unit_failures_note(&failures, name, UNIT_FAILED, NULL));
	assert_int_equal(failures.count, 0);
	assert_false(unit_name_is_valid(name));
	assert_false(unit_name_is_valid(""));
	assert_false(unit_name_is_valid("a b.service"));
	assert_false(unit_name_is_valid("a\xc3\xa4.service"));
	assert_true(unit_name_is_valid("a:b-c_d@e\\x2df.service"));
	unit_failures_fini(&failures);
}

static void a_pattern_without_a_type_means_services(void **state)
{
	static const char *const cases[][2] = {
		{ "nginx", "nginx.service" },
		{ "nginx.service", "nginx.service" },
		{ "web@*", "web@*.service" },
		{ "org.example.app", "org.example.app.service" },
		{ "data-*.mount", "data-*.mount" },
		{ "*", "*.service" },
		{ "*.*", "*.*" },
		{ "a b", NULL },
		{ "", NULL },
		{ "a\n", NULL },
		{ "[a-z].service", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *pattern = unit_pattern(cases[i][0]);

		if (cases[i][1])
			assert_string_equal(pattern, cases[i][1]);
		else
			assert_null(pattern);
		free(pattern);
	}
}

static void stars_and_question_marks_stand_for_letters(void **state)
{
	(void)state;
	assert_true(unit_pattern_matches("a*.service", "a.service"));
	assert_true(unit_pattern_matches("a*b*.service", "axbxb.service"));
	assert_true(unit_pattern_matches("*", "x.mount"));
	assert_true(unit_pattern_matches("web@?.service", "web@1.service"));
	assert_false(unit_pattern_matches("web@?.service", "web@12.service"));
	assert_false(unit_pattern_matches("a.service", "a.services"));
	assert_false(unit_pattern_matches("a*b", "axxc"));
	assert_true(unit_pattern_matches("*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
	assert_false(unit_pattern_matches("*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
	assert_true(unit_pattern_is_name("a.service"));
	assert_false(unit_pattern_is_name("a?.service"));
}

static void some_types_have_a_result(void **state)
{
	char *interface = unit_interface("a.b.service");

	(void)state;
	assert_string_equal(interface, "org.freedesktop.systemd1.Service");
	free(interface);
	assert_null(unit_interface("a.target"));
	assert_null(unit_interface("a"));
}

static void an_address_is_a_socket_of_this_machine(void **state)
{
	(void)state;
	assert_true(unit_address_is_local("unix:path=/run/dbus/system_bus_socket"));
	assert_true(unit_address_is_local("unix:abstract=a;unix:path=/b"));
	assert_false(unit_address_is_local("unixexec:path=/bin/sh"));
	assert_false(unit_address_is_local("unix:path=/a;unixexec:path=/bin/sh"));
	assert_false(unit_address_is_local("unix:path=/a;"));
	assert_false(unit_address_is_local("tcp:host=localhost,port=1"));
	assert_false(unit_address_is_local(""));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_state_is_a_failure_by_its_result_when_it_is_started_again),
		cmocka_unit_test(a_failure_is_new_once),
		cmocka_unit_test(a_restart_is_no_new_failure_and_giving_up_is_one),
		cmocka_unit_test(a_failure_of_another_run_is_new),
		cmocka_unit_test(what_a_list_does_not_have_is_good),
		cmocka_unit_test(of_too_many_the_oldest_is_forgotten),
		cmocka_unit_test(a_name_that_is_too_long_is_nobodys),
		cmocka_unit_test(a_pattern_without_a_type_means_services),
		cmocka_unit_test(stars_and_question_marks_stand_for_letters),
		cmocka_unit_test(some_types_have_a_result),
		cmocka_unit_test(an_address_is_a_socket_of_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

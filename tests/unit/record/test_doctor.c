/* test_doctor.c - doctor speaks in sentences, in one order, and leaves nothing behind. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/record.h"

static void is_sentence(const char *text)
{
	assert_non_null(text);
	assert_true(strlen(text) > 8);
	assert_true(text[strlen(text) - 1] != '.');
	assert_null(strchr(text, '\n'));
}

static void every_line_is_whole(void **unused)
{
	struct doctor doctor;

	doctor_run(&doctor);
	assert_true(doctor.count > 8);
	for (size_t i = 0; i < doctor.count; i++) {
		const struct check *check = &doctor.checks[i];

		is_sentence(check->found);
		assert_true(check->name[0]);
		if (check->state != CHECK_OK)
			is_sentence(check->lost);
		else
			assert_null(check->lost);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(check->name, doctor.checks[k].name);
	}
	doctor_fini(&doctor);
	assert_int_equal(doctor.count, 0);
}

static void two_visits_tell_the_same(void **unused)
{
	struct doctor first, second;

	doctor_run(&first);
	doctor_run(&second);
	assert_int_equal(first.count, second.count);
	for (size_t i = 0; i < first.count; i++) {
		assert_string_equal(first.checks[i].name, second.checks[i].name);
		/* The others look at what other programs change. */
		if (strcmp(first.checks[i].name, "memory") &&
		    strcmp(first.checks[i].name, "disk space") &&
		    strcmp(first.checks[i].name, "switches from idle"))
			assert_string_equal(first.checks[i].found, second.checks[i].found);
	}
	doctor_fini(&first);
	doctor_fini(&second);
}

static void nothing_stays(void **unused)
{
	struct doctor doctor;
	char own[64];
	DIR *dir;
	struct dirent *entry;

	doctor_run(&doctor);
	doctor_fini(&doctor);
	snprintf(own, sizeof(own), "holdup-%d-", (int)getpid());
	dir = opendir("/sys/kernel/tracing/instances");
	if (!dir)
		skip();
	while ((entry = readdir(dir)))
		assert_int_not_equal(strncmp(entry->d_name, own, strlen(own)), 0);
	closedir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_is_whole),
		cmocka_unit_test(two_visits_tell_the_same),
		cmocka_unit_test(nothing_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

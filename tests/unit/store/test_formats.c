/* test_formats.c - sections of format texts there and back, and cut ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/formats.h"

static const char *const path = "/tmp/holdup-test-formats";

/* Read back what 'text' gives; the caller frees the sections. */
static int reads(const char *text, size_t bytes, struct formats *out_formats)
{
	AUTO_FREE char *name = xasprintf("%s-%d", path, (int)getpid());
	FILE *file = fopen(name, "wb");
	struct err err;
	int rc;

	fwrite(text, 1, bytes, file);
	fclose(file);
	rc = formats_read(name, out_formats, &err);
	unlink(name);
	return rc;
}

static void sections_come_back_as_they_were(void **unused)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	struct formats formats;

	assert_int_equal(formats_print(out, "header_page", "a\n=== b 1\n", 10), 0);
	assert_int_equal(formats_print(out, "sched/sched_switch", "", 0), 0);
	assert_int_equal(formats_print(out, "x y", "with\0zero", 9), 0);
	fclose(out);
	assert_int_equal(reads(text, bytes, &formats), 0);
	assert_int_equal(formats.count, 3);
	assert_string_equal(formats_find(&formats, "header_page"), "a\n=== b 1\n");
	assert_string_equal(formats_find(&formats, "sched/sched_switch"), "");
	assert_int_equal(formats.sections[2].bytes, 9);
	assert_string_equal(formats.sections[2].name, "x y");
	assert_null(formats_find(&formats, "none"));
	formats_fini(&formats);
	free(text);
}

static void a_file_cut_anywhere_gives_the_sections_before(void **unused)
{
	static const char text[] = "=== first 5\n12345\n=== second 3\nabc\n";
	struct formats formats;

	for (size_t cut = 0; cut < sizeof(text); cut++) {
		int rc = reads(text, cut, &formats);
		size_t whole = (cut >= 18) + (cut >= 35);

		assert_int_equal(formats.count, whole);
		assert_int_equal(rc, cut == 0 || cut == 18 || cut == 35 ? 0 : -EBADMSG);
		formats_fini(&formats);
	}
}

static void lengths_that_lie_are_refused(void **unused)
{
	static const char *const bad[] = { "=== a 99999999999999999999\n",
					   "=== a -1\nb\n",
					   "=== a 0x1\nb\n",
					   "=== a 5\nabc\n",
					   "=== a\n\n",
					   "=== 5\nabcde\n",
					   "==== a 1\nb\n",
					   "=== a 1 \nb\n",
					   "=== a 1\nbb",
					   "=== a 2\nb\n" };
	struct formats formats;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(reads(bad[i], strlen(bad[i]), &formats), -EBADMSG);
		assert_int_equal(formats.count, 0);
		formats_fini(&formats);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_come_back_as_they_were),
		cmocka_unit_test(a_file_cut_anywhere_gives_the_sections_before),
		cmocka_unit_test(lengths_that_lie_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

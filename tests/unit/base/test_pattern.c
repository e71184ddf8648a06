/* test_pattern.c - patterns find what the C library's find, and cost what they say. */
#include "base/pattern.h"

#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"

static uint64_t number = 1;

static uint32_t drawn(uint32_t below)
{
	number = number * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(number >> 33) % below;
}

static const char *const atoms[] = { "a",   "b",   ".", "[ab]", "[^a]", "[[:digit:]_]",
				     "\\w", "\\.", "1" };
static const char *const signs[] = { "", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}" };

static void draw_pattern(char *to, size_t room, uint32_t depth)
{
	uint32_t pieces = 1 + drawn(3);

	for (uint32_t i = 0; i < pieces && strlen(to) + 40 < room; i++) {
		if (depth && drawn(3) == 0) {
			strcat(to, "(");
			draw_pattern(to, room, depth - 1);
			if (drawn(2)) {
				strcat(to, "|");
				draw_pattern(to, room, depth - 1);
			}
			strcat(to, ")");
		} else {
			strcat(to, atoms[drawn(ARRAY_LEN(atoms))]);
		}
		strcat(to, signs[drawn(ARRAY_LEN(signs))]);
	}
}

static void draw_text(char *to)
{
	uint32_t bytes = drawn(12);

	for (uint32_t i = 0; i < bytes; i++)
		*to++ = "ab1_. "[drawn(6)];
	*to = '\0';
}

static void the_same_texts_match_as_in_the_c_library(void **unused)
{
	uint32_t found = 0, other = 0;

	for (uint32_t i = 0; i < 4000; i++) {
		char text[256] = "", where[16], inner[250] = "";
		const char *why = NULL;
		struct pattern *pattern;
		regex_t oracle;

		/* Edges within a pattern: there the C library finds what is not there. */
		draw_pattern(inner, sizeof(inner), 2);
		snprintf(text, sizeof(text), "%s(%s)%s", drawn(4) ? "" : "^", inner,
			 drawn(4) ? "" : "$");
		pattern = pattern_new(text, &why);
		if (!pattern)
			fail_msg("%s: %s", text, why);
		if (regcomp(&oracle, text, REG_EXTENDED | REG_NOSUB) != 0)
			fail_msg("%s", text);
		for (uint32_t k = 0; k < 20; k++) {
			bool ours, theirs;

			draw_text(where);
			ours = pattern_matches(pattern, where, strlen(where));
			theirs = regexec(&oracle, where, 0, NULL, 0) == 0;
			if (ours != theirs)
				fail_msg("\"%s\" in \"%s\": %d, not %d", text, where, ours, theirs);
			found += ours;
			other += !ours;
		}
		regfree(&oracle);
		pattern_free(pattern);
	}
	assert_true(found > 1000 && other > 1000);
}

static bool found(const char *text, const char *where)
{
	const char *why = NULL;
	struct pattern *pattern = pattern_new(text, &why);
	bool is_found = pattern && pattern_matches(pattern, where, strlen(where));

	pattern_free(pattern);
	return is_found;
}

static void words_have_edges(void **unused)
{
	assert_true(found("\\bab\\b", "x ab."));
	assert_false(found("\\bab\\b", "x abc"));
	assert_true(found("\\<a.*b\\>", "(a_1 b)"));
	assert_false(found("\\>a", "ba a"));
	assert_true(found("a\\Bb", "ab"));
	assert_false(found("a\\B", "a"));
	assert_true(found("(\\b|x)+$", "ab"));
}

static void what_is_none_or_too_much_is_refused(void **unused)
{
	static const char *const bad[] = {
		"(",
		"a)(",
		"[a",
		"[[:none:]]",
		"[b-a]",
		"a{2,1}",
		"a{x}",
		"a{256}",
		"*a",
		"a|*",
		"\\",
		"(a)\\1",
		"a{1,2",
		"[[.ab.]]",
		"a{99999999}",
		"a****************",
		"((a{1,200}){1,200}){1,200}",
		"(((((){99}){99}){99}){99}){99}",
		"(.{200}){200}",
	};
	char deep[2 * 1000 + 2];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const char *why = NULL;

		if (pattern_new(bad[i], &why))
			fail_msg("%s", bad[i]);
		assert_non_null(why);
	}
	memset(deep, '(', 1000);
	memset(deep + 1000, ')', 1000);
	deep[2000] = '\0';
	assert_null(pattern_new(deep, &(const char *){ NULL }));
}

/* These take the C library minutes, or gigabytes. */
static void what_is_hard_elsewhere_is_linear(void **unused)
{
	static const char *const hard[] = { "(a*)*b",		"(a|aa)+$",
					    "(a?){200}a{200}b", "(a|b)*a(a|b){200}c",
					    "(.*.*.*.*.*.*)=",	"((((a*)*)*)*)*b" };
	char *text = xmalloc(20001);
	clock_t begin = clock();

	memset(text, 'a', 20000);
	text[20000] = 'x';
	for (size_t i = 0; i < ARRAY_LEN(hard); i++) {
		const char *why = NULL;
		struct pattern *pattern = pattern_new(hard[i], &why);

		if (!pattern)
			fail_msg("%s: %s", hard[i], why);
		assert_false(pattern_matches(pattern, text, 20001));
		pattern_free(pattern);
	}
	free(text);
	assert_in_range((clock() - begin) / CLOCKS_PER_SEC, 0, 10);
}

static void a_text_needs_no_end_and_may_be_of_any_bytes(void **unused)
{
	const char *why = NULL;
	struct pattern *pattern = pattern_new("a\xff.b$", &why);

	assert_true(pattern_matches(pattern, "xa\xff\0bcc", 5));
	assert_false(pattern_matches(pattern, "xa\xff\0bcc", 6));
	assert_false(pattern_matches(pattern, "xa\xff\0bcc", 4));
	pattern_free(pattern);
	pattern = pattern_new("", &why);
	assert_true(pattern_matches(pattern, NULL, 0));
	pattern_free(pattern);
	pattern = pattern_new("a)", &why); /* as POSIX has it: a letter */
	assert_true(pattern_matches(pattern, "a)", 2));
	pattern_free(pattern);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_texts_match_as_in_the_c_library),
		cmocka_unit_test(words_have_edges),
		cmocka_unit_test(what_is_none_or_too_much_is_refused),
		cmocka_unit_test(what_is_hard_elsewhere_is_linear),
		cmocka_unit_test(a_text_needs_no_end_and_may_be_of_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* rules.c - patterns of events; used inside and outside of the process that logs. */
#include "runtime/rules.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#define PATTERN_MAX 255

/* One pattern in a list of them. */
struct pattern {
	const char *text; /* behind the '-' */
	size_t length;
	bool off;
};

/* The next pattern from *at on. False at the end. */
static bool next_pattern(const char **at, struct pattern *out_pattern)
{
	const char *text = *at;

	while (*text == ',' || *text == ' ')
		text++;
	if (!*text)
		return false;
	out_pattern->off = *text == '-';
	text += out_pattern->off;
	out_pattern->text = text;
	out_pattern->length = strcspn(text, ", ");
	*at = text + out_pattern->length;
	return true;
}

static bool pattern_is_sane(const struct pattern *pattern)
{
	size_t colons = 0;

	if (!pattern->length || pattern->length > PATTERN_MAX)
		return false;
	for (size_t i = 0; i < pattern->length; i++) {
		unsigned char c = (unsigned char)pattern->text[i];

		colons += c == ':';
		if (!isalnum(c) && !strchr("_:*?.-", c))
			return false;
	}
	return colons <= 1 && pattern->text[0] != ':';
}

bool rules_are_sane(const char *rules)
{
	struct pattern pattern;

	while (next_pattern(&rules, &pattern)) {
		if (!pattern_is_sane(&pattern))
			return false;
	}
	return true;
}

/* '*' and '?'; goes back to the last star only, so it takes length times length steps at most. */
static bool glob(const char *pattern, size_t length, const char *text)
{
	size_t at = 0, star = SIZE_MAX, after_star = 0, i = 0;

	while (text[i]) {
		if (at < length && pattern[at] == '*') {
			star = at++;
			after_star = i;
		} else if (at < length && (pattern[at] == '?' || pattern[at] == text[i])) {
			at++;
			i++;
		} else if (star != SIZE_MAX) {
			at = star + 1;
			i = ++after_star;
		} else {
			return false;
		}
	}
	while (at < length && pattern[at] == '*')
		at++;
	return at == length;
}

static bool pattern_fits(const struct pattern *pattern, const char *major, const char *name)
{
	const char *colon = memchr(pattern->text, ':', pattern->length);
	size_t before = colon ? (size_t)(colon - pattern->text) : pattern->length;

	if (!colon && pattern->length == 3 && memcmp(pattern->text, "all", 3) == 0)
		return true;
	return glob(pattern->text, before, major) &&
	       (!colon || glob(colon + 1, pattern->length - before - 1, name));
}

bool rules_allow(const char *rules, const char *major, const char *name)
{
	struct pattern pattern;
	bool on = false;

	while (next_pattern(&rules, &pattern)) {
		if (pattern_fits(&pattern, major, name))
			on = !pattern.off;
	}
	return on;
}

/* Take what 'more' says again out of 'rules': the later one counts anyway. */
static void drop_repeated(char *rules, const char *more)
{
	char *to = rules;
	const char *from = rules;
	struct pattern old, again;

	while (next_pattern(&from, &old)) {
		const char *at = more;
		bool repeated = false;

		while (!repeated && next_pattern(&at, &again))
			repeated = again.length == old.length &&
				   memcmp(again.text, old.text, old.length) == 0;
		if (repeated)
			continue;
		if (to != rules)
			*to++ = ',';
		if (old.off)
			*to++ = '-';
		memmove(to, old.text, old.length);
		to += old.length;
	}
	*to = '\0';
}

int rules_add(char *rules, size_t size, const char *more, bool off)
{
	char all[4096];
	const char *at = more;
	struct pattern pattern;
	size_t length;

	if (!rules_are_sane(more))
		return -EINVAL;
	if (strlen(rules) >= sizeof(all))
		return -E2BIG;
	strcpy(all, rules);
	drop_repeated(all, more);
	length = strlen(all);
	while (next_pattern(&at, &pattern)) {
		if (length + pattern.length + 3 > sizeof(all))
			return -E2BIG;
		if (length)
			all[length++] = ',';
		if (pattern.off != off)
			all[length++] = '-';
		memcpy(all + length, pattern.text, pattern.length);
		length += pattern.length;
		all[length] = '\0';
	}
	if (length >= size)
		return -E2BIG;
	memcpy(rules, all, length + 1);
	return 0;
}

/*
 * pattern.h - extended regular expressions whose cost is known before they are used.
 *
 * The C library's have none: "((a{1,200}){1,200}){1,200}" takes gigabytes to compile, and its states
 * pile up while it matches. A pattern here is a list of at most PATTERN_MAX_PLACES places; matching
 * keeps a set of them, on the stack: the time is that of text times places at worst, and memory does
 * not grow. The price is that there are no back-references, which cannot be had for that.
 *
 *	struct pattern *pattern;
 *	const char *why;
 *
 *	pattern = pattern_new("^sys_(enter|exit)$", &why);
 *	if (!pattern)
 *		return err_set(err, -EINVAL, "\"%s\": %s", text, why);
 *	found = pattern_matches(pattern, name, strlen(name));
 *
 * Of bytes, not of characters: as POSIX has it in the C locale, with \w \W \s \S \b \B \< \> of GNU.
 */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#define PATTERN_MAX_PLACES 1000u /* letters, sets, forks; a{9} are nine */
#define PATTERN_MAX_DEPTH  50u	 /* of parentheses */
#define PATTERN_MAX_REPEAT 255u	 /* as POSIX has it */

struct pattern;

/* NULL when it is none, with *out_why the reason: a constant. Free it with pattern_free(). */
struct pattern *pattern_new(const char *text, const char **out_why);
void pattern_free(struct pattern *pattern);

/* Does it match anywhere in the text? Any number of threads may ask. */
bool pattern_matches(const struct pattern *pattern, const char *text, size_t bytes);

#endif

/*
 * text.h - numbers and foreign strings as a person reads them, and back.
 *
 * The formatters return a small value, so that a call can stand where its text
 * is needed; the text lives until the end of the full expression:
 *
 *	fprintf(out, "%s in %s\n", text_size(bytes).s, text_duration(ns).s);
 *
 * Nothing here depends on the locale.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct text {
	char s[40]; /* always terminated */
};

/* Three significant digits, ms from one second on: "90 ns", "8.20 us", "12.3 ms", "1.281 s". */
struct text text_duration(uint64_t ns);

/* One unit for a whole column, so that numbers compare at a glance and add up. */
enum text_unit {
	TEXT_US,
	TEXT_MS,
	TEXT_S,
};

/* The unit in which 'largest_ns' has one to three digits before the point, at most seconds. */
enum text_unit text_unit_for(uint64_t largest_ns);

/* What one in the last printed place (0.001 unit) is worth, in ns. */
uint64_t text_unit_place_ns(enum text_unit unit);

/* "0.011 s": that many thousandths of the unit. */
struct text text_thousandths(uint64_t thousandths, enum text_unit unit);

/* Binary multiples, exact ones without decimals: "640 B", "64 KiB", "12.3 MiB". */
struct text text_size(uint64_t bytes);

/* "1,234,567" */
struct text text_count(uint64_t count);

/* A character as UTF-8, up to 4 bytes, without an end. Returns how many. Of codes that are characters. */
size_t text_put_utf8(char *to, uint32_t code);

/* CLOCK_REALTIME as local time: "2026-11-27 01:43:03"; "" when it is no time. */
struct text text_local_time(uint64_t real_ns);

/* 979 is "97.9 %"; 0 is "0 %", or "<0.1 %" when 'nonzero'; 1000 is "100 %". */
struct text text_permille(uint64_t permille, bool nonzero);

/* The share of 'part' in 'whole', as above; "-" when 'whole' is 0. */
struct text text_percent(uint64_t part, uint64_t whole);

/*
 * Split 'places' among 'count' parts in proportion, so that the rounded values
 * add up to 'places' exactly (largest remainder; the earlier part wins a tie).
 * All are 0 when the parts add up to 0. The sum of the parts must not overflow.
 */
void text_apportion(const uint64_t *parts, size_t count, uint64_t places, uint64_t *out_places);

/* Neither a control character nor one that hides or reorders what stands around it, nor none at all. */
bool text_is_safe(uint32_t code);

/* A character of ASCII that is safe. */
static inline bool text_is_plain(char c)
{
	return c >= ' ' && c < 0x7f;
}

/* A character as JSON escapes it: \u202e, or two halves above 16 bits. */
struct text text_json_escape(uint32_t code);

/*
 * A copy that is safe on a terminal: valid UTF-8 without control characters and
 * without characters that reorder text; anything else becomes \xNN byte by byte, but
 * for \n and \t.
 * Free it with free().
 */
char *text_escaped(const char *text);

/* text_escaped() of what is printed so. Free it. */
char *text_vescaped(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/*
 * The same as text of XML 1.0, for elements and attributes; control characters are escaped first, for
 * XML knows none of them.
 */
void text_put_xml(FILE *out, const char *text);

/* Columns of valid UTF-8 on a terminal, one per character that is not combining. */
size_t text_columns(const char *text);

/*
 * Length in bytes of the UTF-8 character at 'text', 0 when it is not valid there
 * (overlong, surrogate, cut). *out_code is set when the result is not 0.
 */
size_t text_utf8(const char *text, uint32_t *out_code);

/* "64K", "1.5M", "4096", "2GiB": a size in bytes. Returns whether all of it was one. */
bool text_parse_size(const char *text, uint64_t *out_bytes);

/*
 * "300ms", "1.2s", "5us", "7ns", "2min", "1h": a duration; without a unit it is
 * in seconds. Returns whether all of it was one. Exact to the ns.
 */
bool text_parse_duration(const char *text, uint64_t *out_ns);

/*
 * Levenshtein distance: how many letters must be changed, added or left out to make one of the
 * other. Of the second, TEXT_EDITS_MAX letters count.
 */
#define TEXT_EDITS_MAX 128
size_t text_edits(const char *a, const char *b);

/* The part of a path behind its last slash, or all of it: a view. NULL stays NULL. */
const char *text_base_name(const char *path);

/* What a digit of hexadecimal stands for; -1 = it is none. */
static inline int text_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decimal digits only. Returns whether all of it was one that fits. */
bool text_parse_u64(const char *text, uint64_t *out_value);

/*
 * Is 'text', of 'bytes' bytes, of this form? '*' and '?' stand for others, nothing else does. It goes back to the last star
 * only: length times length steps at most.
 */
bool text_glob(const char *glob, const char *text, size_t bytes);

#endif

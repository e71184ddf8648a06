/* text.c - formatting and parsing with integers only, so that every machine agrees. */
#include "base/sorting.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

struct unit {
	const char *name;
	uint64_t ns;
};

static const struct unit units[] = {
	[TEXT_US] = { "us", 1000 },
	[TEXT_MS] = { "ms", 1000 * 1000 },
	[TEXT_S] = { "s", 1000 * 1000 * 1000 },
};

/* value / scale, rounded half up; no overflow. */
static uint64_t rounded(uint64_t value, uint64_t scale)
{
	return value / scale + (value % scale >= scale - scale / 2);
}

/* Print value / scale with 'decimals' (0 to 3) digits behind the point. */
static struct text fixed(uint64_t value, uint64_t scale, size_t decimals, const char *unit)
{
	static const uint64_t powers[] = { 1, 10, 100, 1000 };
	uint64_t power = powers[decimals];
	uint64_t scaled = rounded(value, scale / power);
	uint64_t part = scaled % power;
	char fraction[5] = ".";
	struct text text;

	for (size_t i = decimals; i > 0; i--, part /= 10)
		fraction[i] = (char)('0' + part % 10);
	(void)snprintf(text.s, sizeof(text.s), "%" PRIu64 "%s %s", scaled / power,
		       decimals ? fraction : "", unit);
	return text;
}

/* Three significant digits need this many decimals; -1 when rounding reaches 1000. */
static int decimals_of(uint64_t value, uint64_t scale)
{
	if (rounded(value, scale / 100) < 1000)
		return 2;
	if (rounded(value, scale / 10) < 1000)
		return 1;
	return rounded(value, scale) < 1000 ? 0 : -1;
}

struct text text_duration(uint64_t ns)
{
	if (ns < 1000)
		return fixed(ns, 1, 0, "ns");
	for (size_t i = TEXT_US; i < TEXT_S; i++) {
		int decimals = decimals_of(ns, units[i].ns);

		if (decimals >= 0)
			return fixed(ns, units[i].ns, (size_t)decimals, units[i].name);
	}
	return fixed(ns, units[TEXT_S].ns, 3, units[TEXT_S].name);
}

enum text_unit text_unit_for(uint64_t largest_ns)
{
	if (largest_ns >= units[TEXT_S].ns)
		return TEXT_S;
	return largest_ns >= units[TEXT_MS].ns ? TEXT_MS : TEXT_US;
}

uint64_t text_unit_place_ns(enum text_unit unit)
{
	return units[unit].ns / 1000;
}

struct text text_thousandths(uint64_t thousandths, enum text_unit unit)
{
	return fixed(thousandths, 1000, 3, units[unit].name);
}

struct text text_size(uint64_t bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t power = 0;
	uint64_t scale = 1;
	struct text text;

	/* 1023.5 rounds to 1024: the next unit reads better. */
	while (power + 1 < ARRAY_LEN(names) && bytes / scale >= 1000) {
		scale <<= 10;
		power++;
	}
	if (bytes % scale == 0) {
		(void)snprintf(text.s, sizeof(text.s), "%" PRIu64 " %s", bytes / scale,
			       names[power]);
		return text;
	}
	(void)snprintf(text.s, sizeof(text.s), "%.*f %s",
		       bytes / scale >= 100  ? 0
		       : bytes / scale >= 10 ? 1
					     : 2,
		       (double)bytes / (double)scale, names[power]);
	return text;
}

size_t text_put_utf8(char *to, uint32_t code)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

struct text text_local_time(uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000);
	struct text text = { "" };
	struct tm day;

	if (localtime_r(&seconds, &day))
		(void)strftime(text.s, sizeof(text.s), "%Y-%m-%d %H:%M:%S", &day);
	return text;
}

struct text text_count(uint64_t count)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	struct text text;
	size_t to = 0;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			text.s[to++] = ',';
		text.s[to++] = digits[i];
	}
	text.s[to] = '\0';
	return text;
}

struct text text_permille(uint64_t permille, bool nonzero)
{
	if (permille == 0)
		return nonzero ? (struct text){ "<0.1 %" } : (struct text){ "0 %" };
	if (permille == 1000)
		return (struct text){ "100 %" };
	return fixed(permille, 10, 1, "%");
}

struct text text_percent(uint64_t part, uint64_t whole)
{
	uint64_t permille;

	if (whole == 0)
		return (struct text){ "-" };
	permille = (uint64_t)(((unsigned __int128)part * 1000 + whole / 2) / whole);
	return text_permille(permille, part > 0);
}

struct remainder {
	uint64_t left;
	size_t index;
};

/* Largest first; the earlier part first among equals. */
ORDER_FUNCTION(by_left, struct remainder, ORDER_DOWN(left), ORDER_UP(index));

void text_apportion(const uint64_t *parts, size_t count, uint64_t places, uint64_t *out_places)
{
	AUTO_FREE struct remainder *rests = xcalloc(count, sizeof(*rests));
	uint64_t whole = 0, given = 0;

	for (size_t i = 0; i < count; i++)
		whole += parts[i];
	for (size_t i = 0; i < count; i++) {
		unsigned __int128 exact = (unsigned __int128)parts[i] * places;

		out_places[i] = whole ? (uint64_t)(exact / whole) : 0;
		rests[i] = (struct remainder){ whole ? (uint64_t)(exact % whole) : 0, i };
		given += out_places[i];
	}
	if (whole == 0)
		return;
	qsort(rests, count, sizeof(*rests), by_left);
	for (size_t i = 0; given < places; i++, given++)
		out_places[rests[i].index]++;
}

size_t text_utf8(const char *text, uint32_t *out_code)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t code = s[0];

	if (len > 1 && (s[0] < 0xc2 || s[0] > 0xf4))
		return 0;
	if (len > 1)
		code = s[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80) /* the terminator too */
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < smallest[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*out_code = code;
	return len;
}

struct code_range {
	uint32_t first, last;
};

/* Control characters, and those that are not seen or change how others are. In order. */
static const struct code_range unsafe[] = {
	{ 0x00, 0x1f },	      { 0x7f, 0x9f },	    { 0xad, 0xad },	  { 0x34f, 0x34f },
	{ 0x61c, 0x61c },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },	  { 0x180b, 0x180f },
	{ 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f },	  { 0x3164, 0x3164 },
	{ 0xfdd0, 0xfdef },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },	  { 0xfff0, 0xfffb },
	{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

bool text_is_safe(uint32_t code)
{
	if (code < 0x7f)
		return code >= 0x20;
	for (size_t i = 0; i < ARRAY_LEN(unsafe) && unsafe[i].first <= code; i++) {
		if (code <= unsafe[i].last)
			return false;
	}
	return (code & 0xfffe) != 0xfffe; /* the last two of each plane are no characters */
}

struct text text_json_escape(uint32_t code)
{
	struct text text;

	if (code < 0x10000)
		(void)snprintf(text.s, sizeof(text.s), "\\u%04x", code);
	else
		(void)snprintf(text.s, sizeof(text.s), "\\u%04x\\u%04x",
			       0xd800 | ((code - 0x10000) >> 10), 0xdc00 | (code & 0x3ff));
	return text;
}

/* As programmers write what command lines and scripts are full of; NULL = by its number. */
static const char *escape_of(char c)
{
	return c == '\n' ? "\\n" : c == '\t' ? "\\t" : NULL;
}

char *text_escaped(const char *text)
{
	char *out = xmalloc(strlen(text) * 4 + 1);
	char *to = out;

	while (*text) {
		uint32_t code = 0;
		size_t len, bytes;

		if (text_is_plain(*text)) {
			*to++ = *text++;
			continue;
		}
		if (escape_of(*text)) {
			to = stpcpy(to, escape_of(*text++));
			continue;
		}
		len = text_utf8(text, &code);
		bytes = len ? len : 1;
		if (len && text_is_safe(code)) {
			memcpy(to, text, len);
			to += len;
		} else {
			for (size_t i = 0; i < bytes; i++)
				to += sprintf(to, "\\x%02x", (unsigned char)text[i]);
		}
		text += bytes;
	}
	*to = '\0';
	return out;
}

char *text_vescaped(const char *format, va_list args)
{
	AUTO_FREE char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		return xstrdup("");
	return text_escaped(text);
}

size_t text_columns(const char *text)
{
	size_t columns = 0;

	while (*text) {
		uint32_t code = 0;
		size_t len = text_utf8(text, &code);
		bool wide =
			(code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
			(code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
			(code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
			(code >= 0x1f300 && code <= 0x1faff) ||
			(code >= 0x20000 && code <= 0x3fffd);

		if (code < 0x0300 || code > 0x036f)
			columns += wide ? 2 : 1;
		text += len ? len : 1;
	}
	return columns;
}

struct suffix {
	const char *name;
	uint64_t scale;
};

static const struct suffix size_suffixes[] = {
	{ "", 1 },	     { "B", 1 },
	{ "K", 1u << 10 },   { "KiB", 1u << 10 },
	{ "M", 1u << 20 },   { "MiB", 1u << 20 },
	{ "G", 1u << 30 },   { "GiB", 1u << 30 },
	{ "T", 1ull << 40 }, { "TiB", 1ull << 40 },
	{ NULL, 0 },
};

static const struct suffix duration_suffixes[] = {
	{ "", 1000000000u }, { "s", 1000000000u },    { "ms", 1000000u },      { "us", 1000u },
	{ "ns", 1u },	     { "min", 60000000000u }, { "h", 3600000000000u }, { NULL, 0 },
};

/* 'len' digits as a number; false when it does not fit. */
static bool digits_value(const char *digits, size_t len, uint64_t *out_value)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++) {
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(digits[i] - '0'), &value))
			return false;
	}
	*out_value = value;
	return true;
}

/* 0.DIGITS times 'scale'; digits beyond the ninth do not count. */
static uint64_t fraction_of(const char *digits, size_t len, uint64_t scale)
{
	uint64_t value = 0, place = 1;

	for (size_t i = 0; i < len && i < 9; i++) {
		value = value * 10 + (uint64_t)(digits[i] - '0');
		place *= 10;
	}
	return (uint64_t)((unsigned __int128)value * scale / place);
}

/* DIGITS[.DIGITS][SUFFIX] times the scale of the suffix; what is below 1 is dropped. */
static bool parse_scaled(const char *text, const struct suffix *suffix, uint64_t *out_value)
{
	size_t whole_len = strspn(text, "0123456789");
	bool point = text[whole_len] == '.';
	const char *decimals = text + whole_len + point;
	size_t decimal_len = point ? strspn(decimals, "0123456789") : 0;
	uint64_t value;

	if (whole_len + decimal_len == 0)
		return false;
	while (suffix->name && strcasecmp(suffix->name, decimals + decimal_len) != 0)
		suffix++;
	if (!suffix->name || !digits_value(text, whole_len, &value) ||
	    __builtin_mul_overflow(value, suffix->scale, &value) ||
	    __builtin_add_overflow(value, fraction_of(decimals, decimal_len, suffix->scale),
				   &value))
		return false;
	*out_value = value;
	return true;
}

const char *text_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

bool text_parse_u64(const char *text, uint64_t *out_value)
{
	size_t len = strspn(text, "0123456789");

	return len > 0 && !text[len] && digits_value(text, len, out_value);
}

bool text_parse_size(const char *text, uint64_t *out_bytes)
{
	return parse_scaled(text, size_suffixes, out_bytes);
}

bool text_parse_duration(const char *text, uint64_t *out_ns)
{
	return parse_scaled(text, duration_suffixes, out_ns);
}

size_t text_edits(const char *a, const char *b)
{
	size_t row[TEXT_EDITS_MAX + 1];
	size_t b_bytes = strnlen(b, TEXT_EDITS_MAX);

	for (size_t j = 0; j <= b_bytes; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_bytes; j++) {
			size_t change = diagonal + (a[i - 1] != b[j - 1]);
			size_t best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

			diagonal = row[j];
			row[j] = change < best ? change : best;
		}
	}
	return row[b_bytes];
}

void text_put_xml(FILE *out, const char *text)
{
	AUTO_FREE char *safe = text_escaped(text);

	for (const char *at = safe; *at; at++) {
		switch (*at) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*at, out);
			break;
		}
	}
}

bool text_glob(const char *glob, const char *text, size_t bytes)
{
	const char *end = text + bytes, *star = NULL, *from = NULL;

	for (;;) {
		if (*glob == '*') {
			star = glob++;
			from = text;
		} else if (text < end && (*glob == '?' || (*glob && *glob == *text))) {
			glob++;
			text++;
		} else if (text == end && !*glob) {
			return true;
		} else if (star && from < end) {
			glob = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
}

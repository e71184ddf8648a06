/* json.c - commas, quotes and escapes. */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>

#include "base/digits.h"
#include "base/text.h"

/* What does not stand for itself. Returns its bytes. */
static size_t put_special(FILE *out, const char *text)
{
	uint32_t code = 0;
	size_t len = text_utf8(text, &code);

	if (!len)
		fputs("\\ufffd", out);
	else if (code == '"' || code == '\\')
		fprintf(out, "\\%c", (char)code);
	else if (code == '\n')
		fputs("\\n", out);
	else if (code == '\t')
		fputs("\\t", out);
	else if (!text_is_safe(code))
		fputs(text_json_escape(code).s, out);
	else
		(void)fwrite(text, 1, len, out);
	return len ? len : 1;
}

static void put_string(FILE *out, const char *text)
{
	fputc('"', out);
	while (*text) {
		size_t plain = 0;

		while (text_is_plain(text[plain]) && text[plain] != '"' && text[plain] != '\\')
			plain++;
		if (plain)
			(void)fwrite(text, 1, plain, out);
		text += plain;
		if (*text)
			text += put_special(out, text);
	}
	fputc('"', out);
}

/* What stands before a value: the comma after the one before, and the key. */
static void put_prefix(struct json *json, const char *key)
{
	if (json->filled[json->depth])
		fputc(',', json->out);
	json->filled[json->depth] = true;
	if (key) {
		put_string(json->out, key);
		fputc(':', json->out);
	}
}

static void json_begin_bracket(struct json *json, const char *key, char bracket)
{
	put_prefix(json, key);
	fputc(bracket, json->out);
	assert(json->depth + 1 < JSON_MAX_DEPTH);
	json->filled[++json->depth] = false;
}

static void end(struct json *json, char bracket)
{
	assert(json->depth > 0);
	json->depth--;
	fputc(bracket, json->out);
}

void json_begin_object(struct json *json, const char *key)
{
	json_begin_bracket(json, key, '{');
}

void json_end_object(struct json *json)
{
	end(json, '}');
}

void json_begin_array(struct json *json, const char *key)
{
	json_begin_bracket(json, key, '[');
}

void json_end_array(struct json *json)
{
	end(json, ']');
}

void json_print_u64(struct json *json, const char *key, uint64_t value)
{
	char digits[DIGITS_MAX], *end_of = digits_u64(digits, value);

	put_prefix(json, key);
	(void)fwrite(digits, 1, (size_t)(end_of - digits), json->out);
}

void json_print_i64(struct json *json, const char *key, int64_t value)
{
	char digits[DIGITS_MAX], *end_of = digits_i64(digits, value);

	put_prefix(json, key);
	(void)fwrite(digits, 1, (size_t)(end_of - digits), json->out);
}

void json_print_number(struct json *json, const char *key, const char *digits)
{
	put_prefix(json, key);
	fputs(digits, json->out);
}

void json_print_made(struct json *json, const char *key, const char *text)
{
	put_prefix(json, key);
	fputs(text, json->out);
}

void json_print_bool(struct json *json, const char *key, bool value)
{
	put_prefix(json, key);
	fputs(value ? "true" : "false", json->out);
}

void json_print_null(struct json *json, const char *key)
{
	put_prefix(json, key);
	fputs("null", json->out);
}

void json_print_string(struct json *json, const char *key, const char *value)
{
	put_prefix(json, key);
	if (value)
		put_string(json->out, value);
	else
		fputs("null", json->out);
}

void json_print_share(struct json *json, const char *key, uint64_t part, uint64_t whole)
{
	uint64_t millionths = 0;

	if (whole)
		millionths = (uint64_t)(((unsigned __int128)part * 1000000 + whole / 2) / whole);
	put_prefix(json, key);
	fprintf(json->out, "%" PRIu64 ".%06" PRIu64, millionths / 1000000, millionths % 1000000);
}

void json_fini(struct json *json)
{
	assert(json->depth == 0);
	fputc('\n', json->out);
}

/* query.c - names and values of a request. */
#include "view/query.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"

/* "a%20b" in place. False: an escape is none, or hides the end of the text. */
static bool unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		if (*at != '%') {
			*to++ = *at == '+' ? ' ' : *at;
			continue;
		}
		if (text_hex_digit(at[1]) < 0 || text_hex_digit(at[2]) < 0 ||
		    (at[1] == '0' && at[2] == '0'))
			return false;
		*to++ = (char)(text_hex_digit(at[1]) << 4 | text_hex_digit(at[2]));
		at += 2;
	}
	*to = '\0';
	return true;
}

static int add(struct view_query *query, char *piece, struct err *err)
{
	char *value = strchr(piece, '=');

	if (!value || value == piece)
		return err_set(err, -EINVAL, "a part of the query is not NAME=VALUE");
	*value++ = '\0';
	if (!unescape(value))
		return err_set(err, -EINVAL, "the query has an invalid escape");
	if (query->count == VIEW_QUERY_NAMES || view_query_text(query, piece))
		return err_set(err, -EINVAL, "the query has a duplicate name or too many names");
	query->names[query->count] = piece;
	query->values[query->count++] = value;
	return 0;
}

int view_query_parse(const char *text, struct view_query *out_query, struct err *err)
{
	size_t bytes = strlen(text);
	char *rest = out_query->text;
	int rc = 0;

	if (bytes >= sizeof(out_query->text))
		return err_set(err, -EINVAL, "the query is too long");
	memcpy(out_query->text, text, bytes + 1);
	out_query->count = 0;
	while (rc == 0 && rest && *rest) {
		char *piece = strsep(&rest, "&");

		rc = add(out_query, piece, err);
	}
	return rc;
}

const char *view_query_text(const struct view_query *query, const char *name)
{
	for (uint32_t i = 0; i < query->count; i++) {
		if (strcmp(query->names[i], name) == 0)
			return query->values[i];
	}
	return NULL;
}

int view_query_number(const struct view_query *query, const char *name, uint64_t least,
		      uint64_t most, uint64_t otherwise, uint64_t *out_value, struct err *err)
{
	const char *text = view_query_text(query, name);
	uint64_t value;

	if (!text) {
		*out_value = otherwise;
		return 0;
	}
	if (!text_parse_u64(text, &value) || value < least || value > most)
		return err_set(err, -EINVAL, "%s is not a valid number", name);
	*out_value = value;
	return 0;
}

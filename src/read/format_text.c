/* format_text.c - read the field lines of a format file. */
#include "read/format_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "store/formats.h"

/* The number behind 'key' between 'at' and 'end'; 'otherwise' when there is none. */
static uint32_t number_after(const char *at, const char *end, const char *key, uint32_t otherwise)
{
	const char *found = memmem(at, (size_t)(end - at), key, strlen(key));
	uint64_t value = 0;

	if (!found)
		return otherwise;
	found += strlen(key);
	if (found >= end || !isdigit((unsigned char)*found))
		return otherwise;
	for (; found < end && isdigit((unsigned char)*found) && value < UINT32_MAX; found++)
		value = value * 10 + (uint64_t)(*found - '0');
	return value < UINT32_MAX ? (uint32_t)value : otherwise;
}

static bool format_text_begins(const char *at, const char *end, const char *word)
{
	return (size_t)(end - at) >= strlen(word) && memcmp(at, word, strlen(word)) == 0;
}

static bool format_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Split "unsigned long args[6]" into the name and what it is. */
static bool split_type(struct format_field *field)
{
	const char *start = field->type, *end = start + field->type_bytes;
	const char *bracket = memchr(start, '[', field->type_bytes), *name;
	bool located = format_text_begins(start, end, "__data_loc ");
	bool relative = format_text_begins(start, end, "__rel_loc ");

	/* "__data_loc char[] name" has its brackets before the name. */
	if (bracket && !located && !relative)
		end = bracket;
	while (end > start && !format_is_name(end[-1]))
		end--;
	for (name = end; name > start && format_is_name(name[-1]); name--)
		;
	field->name = name;
	field->name_bytes = (uint32_t)(end - name);
	if (located || relative)
		field->kind = located ? FORMAT_DATA_LOC : FORMAT_REL_LOC;
	else if (bracket)
		field->kind = memmem(start, (size_t)(name - start), "char", 4) ? FORMAT_TEXT
									       : FORMAT_ARRAY;
	field->count = 1;
	if (field->kind == FORMAT_ARRAY)
		field->count = number_after(bracket, field->type + field->type_bytes, "[", 0);
	return field->name_bytes > 0;
}

/* One line that began with "field:"; 'at' stands behind it. */
static bool format_text_parse_field(const char *at, const char *end, struct format_field *out_field)
{
	const char *semicolon = memchr(at, ';', (size_t)(end - at));
	struct format_field field = { .type = at };

	if (!semicolon)
		return false;
	field.type_bytes = (uint32_t)(semicolon - at);
	field.offset = number_after(semicolon, end, "offset:", FORMAT_MAX_END);
	field.bytes = number_after(semicolon, end, "size:", 0);
	field.is_signed = number_after(semicolon, end, "signed:", 0) == 1;
	if (field.offset >= FORMAT_MAX_END || field.bytes == 0 ||
	    field.bytes > FORMAT_MAX_END - field.offset || !split_type(&field))
		return false;
	if (field.kind == FORMAT_ARRAY &&
	    (field.count == 0 || field.count > field.bytes || field.bytes % field.count))
		return false;
	if ((field.kind == FORMAT_DATA_LOC || field.kind == FORMAT_REL_LOC) && field.bytes != 4)
		return false;
	*out_field = field;
	return true;
}

bool format_text_next(const char **cursor, struct format_field *out_field)
{
	const char *at = *cursor;

	while (*at) {
		const char *end = strchrnul(at, '\n');
		const char *start = at;

		while (start < end && (*start == ' ' || *start == '\t'))
			start++;
		at = *end ? end + 1 : end;
		if (format_text_begins(start, end, "field:") &&
		    format_text_parse_field(start + 6, end, out_field)) {
			*cursor = at;
			return true;
		}
	}
	*cursor = at;
	return false;
}

bool format_text_field(const char *text, const char *name, struct format_field *out_field)
{
	size_t bytes = strlen(name);
	struct format_field field;

	while (format_text_next(&text, &field)) {
		if (field.name_bytes == bytes && memcmp(field.name, name, bytes) == 0) {
			*out_field = field;
			return true;
		}
	}
	return false;
}

int32_t format_text_id(const char *text)
{
	const char *line = strstr(text, "ID:");
	unsigned long id;
	char *end;

	if (!line)
		return -1;
	id = strtoul(line + 3, &end, 10);
	return end == line + 3 || id > 65535 ? -1 : (int32_t)id;
}

uint32_t format_text_highest_id(const struct formats *formats)
{
	int32_t highest = 0;

	for (size_t i = 0; i < formats->count; i++) {
		int32_t id = format_text_id(formats->sections[i].text);

		highest = id > highest ? id : highest;
	}
	return (uint32_t)highest;
}

/*
 * "prev_state & 2048 ? "+" : """ on older kernels; newer ones write a sum of the
 * letters' bits there, and then it is the bit above the highest letter.
 */
static uint64_t preempted_bit(const char *fmt, uint64_t highest)
{
	static const char before[] = "prev_state & ";
	const char *plus = strstr(fmt, "\"+\"");
	const char *at = fmt, *last = NULL;
	unsigned long long bit;
	char *end;

	while (plus && (at = strstr(at, before)) && at < plus)
		last = at += strlen(before);
	if (last && isdigit((unsigned char)*last)) {
		bit = strtoull(last, &end, 0);
		while (*end == ' ')
			end++;
		if (*end == '?' && bit)
			return bit;
	}
	return highest << 1;
}

void format_text_states(const char *text, struct format_states *out_states)
{
	const char *fmt = strstr(text, "print fmt:");
	const char *at = fmt;
	uint64_t highest = 0;

	*out_states = (struct format_states){ 0 };
	/* { 0x00000001, "S" }, { 0x00000002, "D" } ... */
	while (at && (at = strchr(at, '{'))) {
		char *end;
		unsigned long long bit = strtoull(++at, &end, 0);

		if (end == at || end[0] != ',' || end[1] != ' ' || end[2] != '"' ||
		    !isalpha((unsigned char)end[3]) || end[4] != '"')
			continue;
		out_states->letter[(unsigned char)end[3] & 127] = bit;
		if (bit > highest)
			highest = bit;
	}
	if (highest == 0) {
		out_states->letter['S'] = 1;
		out_states->letter['D'] = 2;
		return;
	}
	out_states->preempted = preempted_bit(fmt, highest);
}

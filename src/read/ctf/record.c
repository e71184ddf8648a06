/* record.c - fields as places of a record, and the format file that tells of them. */
#include "read/ctf/record.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "read/ctf/meta.h"
#include "read/format_text.h"
#include "read/kernel/events.h"
#include "store/formats.h"

#define MAX_FIELDS 480u
#define MAX_LABELS 64u /* of an enumeration that is printed in words */

/* ------------------------------------------------------------------ plan */

/* What a field of the record is. */
enum shape {
	SHAPE_NUMBER,
	SHAPE_TEXT,
	SHAPE_NUMBERS,
};

struct entry {
	struct ctf_type *type;
	char *name; /* owned */
	bool is_context;
};

struct entries {
	struct entry items[MAX_FIELDS];
	uint32_t count;
	uint32_t left_out; /* for which there is no room */
};

static bool ctf_record_is_number(const struct ctf_type *type)
{
	return type->kind == CTF_INTEGER || type->kind == CTF_ENUM || type->kind == CTF_VARINT;
}

static enum shape ctf_record_shape_of(const struct ctf_type *type)
{
	if (ctf_record_is_number(type))
		return SHAPE_NUMBER;
	if ((type->kind == CTF_ARRAY || type->kind == CTF_SEQUENCE) && !type->is_text &&
	    ctf_record_is_number(type->element))
		return SHAPE_NUMBERS;
	return SHAPE_TEXT;
}

/* A name that a format file can have. */
static char *ctf_record_plain_name(const char *outer, const char *name)
{
	char *made;

	name += *name == '_' && name[1]; /* LTTng puts one before all names */
	made = *outer ? xasprintf("%s_%s", outer, name) : xstrdup(name);
	for (char *c = made; *c; c++) {
		if (!isalnum((unsigned char)*c))
			*c = '_';
	}
	if (strncmp(made, "common_", 7) == 0 || isdigit((unsigned char)*made) || !*made) {
		char *other = xasprintf("_%s", made);

		free(made);
		return other;
	}
	return made;
}

static void ctf_record_collect(struct entries *entries, struct ctf_type *type, const char *outer,
			       bool is_context)
{
	for (uint32_t i = 0; type && i < type->member_count; i++) {
		struct ctf_type *member = type->members[i].type;
		char *name = ctf_record_plain_name(outer, type->members[i].name);

		if (member->kind == CTF_STRUCT) {
			ctf_record_collect(entries, member, name, is_context);
			free(name);
		} else if (entries->count < MAX_FIELDS) {
			entries->items[entries->count] = (struct entry){ member, name, is_context };
			member->field = ++entries->count;
		} else {
			entries->left_out++;
			free(name);
		}
	}
}

uint32_t ctf_record_own(const struct ctf_type *type)
{
	uint32_t count = 0;

	for (uint32_t i = 0; type && i < type->member_count; i++) {
		const struct ctf_type *member = type->members[i].type;

		if (member->kind == CTF_STRUCT)
			count += ctf_record_own(member);
		else
			count += member->role == CTF_ROLE_NONE;
	}
	return count;
}

static bool ctf_record_is_taken(const struct entries *entries, uint32_t index, bool by_later)
{
	for (uint32_t i = by_later ? index + 1 : 0; i < (by_later ? entries->count : index); i++) {
		if (strcmp(entries->items[i].name, entries->items[index].name) == 0)
			return true;
	}
	return false;
}

/* Every name once; the event's own fields keep theirs. */
static void make_unique(struct entries *entries)
{
	for (uint32_t i = 0; i < entries->count; i++) {
		struct entry *entry = &entries->items[i];
		uint32_t number = 2;

		if (entry->is_context && ctf_record_is_taken(entries, i, true)) {
			char *other = xasprintf("context_%s", entry->name);

			free(entry->name);
			entry->name = other;
		}
		while (ctf_record_is_taken(entries, i, false)) {
			char *other = xasprintf("%s_%u", entry->name, number++);

			free(entry->name);
			entry->name = other;
		}
	}
}

static void print_field(FILE *out, const struct entry *entry, uint32_t offset)
{
	const struct ctf_type *type = entry->type;
	bool is_signed = type->is_signed;

	switch (ctf_record_shape_of(type)) {
	case SHAPE_NUMBER:
		fprintf(out, "\tfield:%s %s%s;\toffset:%u;\tsize:8;\tsigned:%d;\n",
			is_signed ? "s64" : "u64", type->base == 16 ? "*" : "", entry->name, offset,
			is_signed);
		break;
	case SHAPE_TEXT:
		fprintf(out, "\tfield:__data_loc char[] %s;\toffset:%u;\tsize:4;\tsigned:0;\n",
			entry->name, offset);
		break;
	case SHAPE_NUMBERS:
		fprintf(out, "\tfield:__data_loc %s[] %s;\toffset:%u;\tsize:4;\tsigned:0;\n",
			type->element->is_signed ? "s64" : "u64", entry->name, offset);
		break;
	}
}

/* Labels that the print format can say: few values, each on its own; nothing that needs an escape. */
static bool has_words(const struct ctf_type *type)
{
	uint64_t values = 0;

	if (type->kind != CTF_ENUM || type->range_count > MAX_LABELS)
		return false;
	for (uint32_t i = 0; i < type->range_count; i++) {
		const struct ctf_range *range = &type->ranges[i];

		if (range->high - range->low >= MAX_LABELS - values || !*range->label)
			return false;
		values += range->high - range->low + 1;
		for (const char *c = range->label; *c; c++) {
			if (!isalnum((unsigned char)*c) && !strchr("_ .:-+/", *c))
				return false;
		}
	}
	return true;
}

static void print_conversion(FILE *out, const struct entry *entry, bool in_hex)
{
	const struct ctf_type *type = entry->type;

	if (in_hex && ctf_record_shape_of(type) == SHAPE_NUMBER)
		fputs("%llx", out);
	else if (ctf_record_shape_of(type) != SHAPE_NUMBER || has_words(type))
		fputs("%s", out);
	else if (type->base == 16)
		fputs("0x%llx", out);
	else if (type->base == 8)
		fputs("0%llo", out);
	else
		fputs(type->is_signed ? "%lld" : "%llu", out);
}

static void ctf_record_print_words(FILE *out, const struct ctf_range *range)
{
	for (uint64_t i = 0; i <= range->high - range->low; i++) {
		uint64_t value = range->low + i;

		fprintf(out, ", { %lld, \"%s\" }", (long long)value, range->label);
	}
}

/* Those of its digits: babeltrace2, too, fills the first one. */
static uint64_t all_bits(const struct ctf_type *type)
{
	uint32_t digit = type->base == 8 ? 3 : 4;
	uint32_t bits = (type->bits + digit - 1) / digit * digit;

	return bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

/* A negative number that is shown by its bits: 0xfd of eight. */
static bool is_cut_short(const struct ctf_type *type)
{
	return type->is_signed && type->bits < 64 && (type->base == 16 || type->base == 8);
}

static void print_argument(FILE *out, const struct entry *entry, bool in_hex)
{
	const struct ctf_type *type = entry->type;
	const char *name = entry->name;

	switch (ctf_record_shape_of(type)) {
	case SHAPE_NUMBER:
		if (in_hex || !has_words(type)) {
			fprintf(out, ", REC->%s", name);
			if (!in_hex && is_cut_short(type))
				fprintf(out, " & 0x%llx", (unsigned long long)all_bits(type));
			break;
		}
		fprintf(out, ", __print_symbolic(REC->%s", name);
		for (uint32_t i = 0; i < type->range_count; i++)
			ctf_record_print_words(out, &type->ranges[i]);
		fputs(")", out);
		break;
	case SHAPE_TEXT:
		fprintf(out, ", __get_str(%s)", name);
		break;
	case SHAPE_NUMBERS:
		fprintf(out,
			", __print_array(__get_dynamic_array(%s), __get_dynamic_array_len(%s) / 8, 8)",
			name, name);
		break;
	}
}

/* All fields, by name. */
static void print_plain_text(FILE *out, const struct entries *entries)
{
	fputs("\nprint fmt: \"", out);
	for (uint32_t i = 0; i < entries->count; i++) {
		fprintf(out, "%s%s=", i ? " " : "", entries->items[i].name);
		print_conversion(out, &entries->items[i], false);
	}
	fputs("\"", out);
	for (uint32_t i = 0; i < entries->count; i++)
		print_argument(out, &entries->items[i], false);
	fputs("\n", out);
}

/* ------------------------------------------------- texts of libholdup's events */

/* A part of a display format: text before a field, and the field; see HOLDUP_EVENT_AS(). */
struct part {
	const char *text;
	size_t length;
	const struct entry *entry; /* NULL: the end */
	bool in_hex;
};

static const struct entry *find_entry(const struct entries *entries, const char *name,
				      size_t length)
{
	for (uint32_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->items[i];

		if (!entry->is_context && strlen(entry->name) == length &&
		    memcmp(entry->name, name, length) == 0)
			return entry;
	}
	return NULL;
}

/* Take the next part from *format. False when "{...}" names no field. */
static bool ctf_record_next_part(const char **format, const struct entries *entries,
				 struct part *out_part)
{
	const char *open = strchr(*format, '{'), *end;
	size_t length;

	*out_part = (struct part){ *format, open ? (size_t)(open - *format) : strlen(*format), NULL,
				   false };
	*format += out_part->length;
	if (!open)
		return true;
	end = strchr(open, '}');
	if (!end)
		return false;
	length = (size_t)(end - open - 1);
	if (length > 2 && memcmp(end - 2, ":x", 2) == 0) {
		out_part->in_hex = true;
		length -= 2;
	}
	out_part->entry = find_entry(entries, open + 1, length);
	*format = end + 1;
	return out_part->entry != NULL;
}

/* The text that the program gave the event; NULL when it has none, or one that cannot be shown. */
static const char *display_format(const struct ctf_event *event, const struct entries *entries)
{
	const char *uri = event->emf_uri, *format, *at;
	struct part part;

	if (!uri || strncmp(uri, "holdup:?", 8) != 0)
		return NULL;
	format = strstr(uri, "&format=");
	if (!format)
		return NULL;
	format += strlen("&format=");
	for (at = format; *at; at++) {
		if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ')
			return NULL;
	}
	at = format;
	do {
		if (!ctf_record_next_part(&at, entries, &part))
			return NULL;
	} while (part.entry);
	return format;
}

static void print_given_text(FILE *out, const char *format, const struct entries *entries)
{
	const char *at = format;
	struct part part;

	fputs("\nprint fmt: \"", out);
	do {
		(void)ctf_record_next_part(&at, entries, &part);
		for (size_t i = 0; i < part.length; i++)
			fprintf(out, "%s%c", part.text[i] == '%' ? "%" : "", part.text[i]);
		if (part.entry)
			print_conversion(out, part.entry, part.in_hex);
	} while (part.entry);
	fputs("\"", out);
	at = format;
	do {
		(void)ctf_record_next_part(&at, entries, &part);
		if (part.entry)
			print_argument(out, part.entry, part.in_hex);
	} while (part.entry);
	fputs("\n", out);
}

static void ctf_record_print_format(FILE *out, const struct ctf_event *event,
				    const struct entries *entries)
{
	const char *format;

	fprintf(out, FORMAT_TEXT_HEAD, event->number);
	for (uint32_t i = 0; i < entries->count; i++)
		print_field(out, &entries->items[i], KERNEL_EVENT_MIN_BYTES + i * CTF_RECORD_PLACE);
	format = display_format(event, entries);
	if (format)
		print_given_text(out, format, entries);
	else
		print_plain_text(out, entries);
}

static void collect_all(struct entries *entries, const struct ctf_stream *stream,
			const struct ctf_event *event)
{
	entries->count = entries->left_out = 0;
	ctf_record_collect(entries, stream->event_context, "", true);
	ctf_record_collect(entries, event->context, "", true);
	ctf_record_collect(entries, event->fields, "", false);
}

uint32_t ctf_record_plan(const struct ctf_stream *stream, struct ctf_event *event,
			 const char *title, struct formats *formats)
{
	AUTO_FREE struct entries *entries = xmalloc(sizeof(*entries));
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	collect_all(entries, stream, event);
	make_unique(entries);
	if (out) {
		ctf_record_print_format(out, event, entries);
		fclose(out);
		formats->sections = vec_room(formats->sections, formats->count, &formats->cap,
					     sizeof(*formats->sections));
		formats->sections[formats->count++] =
			(struct format_section){ xstrdup(title), text, bytes };
	}
	event->record_bytes = KERNEL_EVENT_MIN_BYTES + entries->count * CTF_RECORD_PLACE;
	for (uint32_t i = 0; i < entries->count; i++)
		free(entries->items[i].name);
	return entries->left_out;
}

/* ------------------------------------------------------------------ records */

void ctf_record_open(struct ctf_record *record, uint8_t *bytes, uint32_t fixed)
{
	*record = (struct ctf_record){ .bytes = bytes, .fixed = fixed, .used = fixed };
	memset(bytes, 0, fixed);
}

uint32_t ctf_record_close(struct ctf_record *record, uint16_t number, int32_t tid)
{
	memcpy(record->bytes, &number, sizeof(number));
	memset(record->bytes + 2, 0, 2);
	memcpy(record->bytes + 4, &tid, sizeof(tid));
	return record->is_full ? CTF_RECORD_MAX : record->used;
}

static uint8_t *record_place(const struct ctf_record *record, uint32_t field)
{
	return record->bytes + KERNEL_EVENT_MIN_BYTES + (size_t)(field - 1) * CTF_RECORD_PLACE;
}

/* A text or an array stands from 'start' to the end. */
static void set_place(struct ctf_record *record, uint32_t field, uint32_t start)
{
	uint32_t word = (record->used - start) << 16 | start;

	memcpy(record_place(record, field), &word, sizeof(word));
}

/* One byte of room is always left, for the end of a text. */
static void record_put(struct ctf_record *record, const void *bytes, size_t count)
{
	size_t room = CTF_RECORD_MAX - 1 - record->used;

	if (count > room)
		count = room;
	memcpy(record->bytes + record->used, bytes, count);
	record->used += (uint32_t)count;
}

static void record_put_text(struct ctf_record *record, const char *text)
{
	record_put(record, text, strlen(text));
}

static const char *label_of(const struct ctf_type *type, uint64_t number)
{
	for (uint32_t i = 0; type->kind != CTF_FLOAT && i < type->range_count; i++) {
		const struct ctf_range *range = &type->ranges[i];

		if (type->is_signed ? (int64_t)number >= (int64_t)range->low &&
					      (int64_t)number <= (int64_t)range->high
				    : number >= range->low && number <= range->high)
			return range->label;
	}
	return NULL;
}

/* 16 bits as 32: 5 of exponent become 8, 10 of fraction become 23. */
static uint32_t widen_half(uint32_t half)
{
	uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 0x1f, part = half & 0x3ff;

	if (exponent == 0x1f)
		return sign | 0x7f800000 | part << 13;
	if (exponent == 0 && part == 0)
		return sign;
	if (exponent == 0) { /* below the normal ones: there it is a normal one */
		uint32_t shift = (uint32_t)__builtin_clz(part) - 21;

		return sign | (113 - shift) << 23 | (part << shift & 0x3ff) << 13;
	}
	return sign | (exponent + 112) << 23 | part << 13;
}

static void put_float(struct ctf_record *record, const struct ctf_type *type, uint64_t bits)
{
	uint32_t low = type->bits == 16 ? widen_half((uint32_t)bits) : (uint32_t)bits;
	char text[40];
	double value;
	float small;

	memcpy(&small, &low, sizeof(small));
	memcpy(&value, &bits, sizeof(value));
	snprintf(text, sizeof(text), "%g", type->bits < 64 ? (double)small : value);
	record_put_text(record, text);
}

static void record_put_number(struct ctf_record *record, const struct ctf_type *type,
			      uint64_t number)
{
	const char *label = label_of(type, number);
	char text[40];

	if (type->kind == CTF_FLOAT) {
		put_float(record, type, number);
		return;
	}
	if (label) {
		record_put_text(record, label);
		return;
	}
	if (type->base == 16)
		snprintf(text, sizeof(text), "0x%llx",
			 (unsigned long long)(number & all_bits(type)));
	else if (type->base == 8)
		snprintf(text, sizeof(text), "0%llo",
			 (unsigned long long)(number & all_bits(type)));
	else if (type->is_signed)
		snprintf(text, sizeof(text), "%lld", (long long)number);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	record_put_text(record, text);
}

/* End a text that began at 'start'. */
static void ctf_record_end_text(struct ctf_record *record, uint32_t field, uint32_t start)
{
	record->bytes[record->used++] = '\0';
	set_place(record, field, start);
	if (record->used == CTF_RECORD_MAX) {
		record->used--; /* the next one takes this end as its own */
		record->is_full = true;
	}
}

void ctf_record_number(struct ctf_record *record, const struct ctf_type *type, uint64_t number)
{
	uint32_t start = record->used;

	if (record->depth) {
		record_put_number(record, type, number);
	} else if (record->array_depth) {
		if (CTF_RECORD_MAX - 1 - record->used >= sizeof(number))
			record_put(record, &number, sizeof(number));
	} else if (type->field && type->kind == CTF_FLOAT) {
		put_float(record, type, number);
		ctf_record_end_text(record, type->field, start);
	} else if (type->field) {
		memcpy(record_place(record, type->field), &number, sizeof(number));
	}
}

void ctf_record_text(struct ctf_record *record, const struct ctf_type *type, const char *text,
		     size_t bytes)
{
	uint32_t start = record->used;

	if (record->depth) {
		record_put_text(record, "\"");
		record_put(record, text, bytes);
		record_put_text(record, "\"");
	} else if (type->field) {
		record_put(record, text, bytes);
		ctf_record_end_text(record, type->field, start);
	}
}

void ctf_record_numbers(struct ctf_record *record, const struct ctf_type *type, const uint8_t *at,
			uint64_t count)
{
	const struct ctf_type *element = type->element;
	uint32_t start = record->used, bytes = element->bits / 8, unused = 64 - element->bits;
	uint64_t room = (CTF_RECORD_MAX - 1 - record->used) / sizeof(uint64_t);

	if (count > room)
		count = room;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t number;

		memcpy(&number, at + i * bytes, sizeof(number));
		number <<= unused;
		number = element->is_signed ? (uint64_t)((int64_t)number >> unused)
					    : number >> unused;
		memcpy(record->bytes + record->used, &number, sizeof(number));
		record->used += sizeof(number);
	}
	memset(record->bytes + ctf_record_place(type), 0, CTF_RECORD_PLACE);
	set_place(record, type->field, start);
}

static bool is_list(const struct ctf_type *type)
{
	return type->kind == CTF_ARRAY || type->kind == CTF_SEQUENCE;
}

void ctf_record_begin(struct ctf_record *record, const struct ctf_type *type)
{
	if (record->depth == 0) {
		if (!type->field)
			return; /* its members are fields */
		record->field = type->field;
		record->start = record->used;
		if (ctf_record_shape_of(type) == SHAPE_NUMBERS) {
			record->array_depth = 1;
			return;
		}
	}
	record->depth++;
	record_put_text(record, is_list(type) ? "[" : "{");
	record->first = true;
}

void ctf_record_member(struct ctf_record *record, const char *name, uint64_t index)
{
	char number[24];

	if (record->depth == 0)
		return;
	record_put_text(record, record->first ? " " : ", ");
	record->first = false;
	if (name) {
		record_put_text(record, name + (*name == '_' && name[1]));
	} else {
		snprintf(number, sizeof(number), "[%llu]", (unsigned long long)index);
		record_put_text(record, number);
	}
	record_put_text(record, " = ");
}

void ctf_record_end(struct ctf_record *record, const struct ctf_type *type)
{
	if (record->array_depth) {
		set_place(record, record->field, record->start);
		record->array_depth = 0;
		return;
	}
	if (record->depth == 0)
		return;
	record_put_text(record, is_list(type) ? " ]" : " }");
	record->first = false;
	if (--record->depth == 0)
		ctf_record_end_text(record, record->field, record->start);
}

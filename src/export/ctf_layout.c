/* ctf_layout.c - members in order of their places. */
#include "export/ctf_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "read/format_text.h"
#include "fields/print.h"
#include "read/read.h"

#define HEAD_BYTES 8u /* common_type, common_flags, common_preempt_count, common_pid */

enum shape {
	SHAPE_NUMBER,
	SHAPE_ARRAY,
	SHAPE_LOCATED, /* a word that says where the text or the array is */
	SHAPE_REST,    /* an array up to the end of the record */
};

struct member {
	const struct print_field *field;
	char *name; /* owned */
	enum shape shape;
	uint32_t offset;
	uint32_t element; /* bytes: 1, 2, 4 or 8 */
	uint32_t count;
	uint32_t pad;	/* bytes before it that are no field */
	uint32_t align; /* bytes: of a number behind padding that its size explains */
};

struct ctf_layout {
	bool big_endian;
	uint32_t fixed; /* bytes, all members but the rest */
	struct member *members;
	uint32_t count;
	const struct member *rest; /* NULL = none */
};

static bool is_power(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static enum shape ctf_layout_shape_of(const struct print_event *kind,
				      const struct print_field *field)
{
	bool is_last = field == &kind->fields[kind->field_count - 1];

	if (field->kind == FORMAT_DATA_LOC || field->kind == FORMAT_REL_LOC)
		return SHAPE_LOCATED;
	if (field->bytes == 0)
		return SHAPE_REST;
	/* "caller[8]" of a stack is as long as the stack. */
	if (is_last && field->is_array && strcmp(kind->system, "ftrace") == 0)
		return SHAPE_REST;
	return field->is_array ? SHAPE_ARRAY : SHAPE_NUMBER;
}

ORDER_FUNCTION(by_offset, struct member, ORDER_UP(offset), ORDER_UP(shape));

static bool ctf_layout_is_taken(const struct ctf_layout *layout, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(layout->members[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Every name once. What is a word of TSDL is told apart by the "_" that all readers take off. */
static char *name_for(const struct ctf_layout *layout, uint32_t count, const char *name)
{
	char *made = xstrdup(*name ? name : "field");

	while (ctf_layout_is_taken(layout, count, made)) {
		char *longer = xasprintf("%s_", made);

		free(made);
		made = longer;
	}
	return made;
}

static void set_member(struct member *member, const struct print_event *kind,
		       const struct print_field *field)
{
	member->field = field;
	member->shape = ctf_layout_shape_of(kind, field);
	member->offset = field->offset;
	member->element = is_power(field->element_bytes) ? field->element_bytes : 1;
	member->count = 1;
	if (member->shape == SHAPE_ARRAY)
		member->count = field->bytes / member->element;
	else if (member->shape == SHAPE_NUMBER && field->bytes != member->element)
		member->shape = SHAPE_ARRAY;
	if (member->shape == SHAPE_ARRAY && member->count == 1)
		member->count = field->bytes / member->element;
}

static uint32_t member_bytes(const struct member *member)
{
	switch (member->shape) {
	case SHAPE_LOCATED:
		return 4;
	case SHAPE_REST:
		return 0;
	default:
		return member->element * member->count;
	}
}

/* How the member gets to its place: by its alignment, or by bytes that are no field. */
static void place_member(struct member *member, uint32_t end)
{
	uint32_t natural = member->element;

	member->align = 1;
	if (member->offset == end)
		return;
	if (member->shape == SHAPE_NUMBER &&
	    ((end + natural - 1) & ~(natural - 1)) == member->offset)
		member->align = natural;
	else
		member->pad = member->offset - end;
}

/* Put the members in order; what overlaps another one is left out. */
static void arrange(struct ctf_layout *layout)
{
	uint32_t kept = 0, end = HEAD_BYTES;

	qsort(layout->members, layout->count, sizeof(*layout->members), by_offset);
	for (uint32_t i = 0; i < layout->count; i++) {
		struct member member = layout->members[i];

		if (member.offset < end || layout->rest ||
		    member_bytes(&member) > CTF_LAYOUT_MAX_BYTES / 2 - end)
			continue;
		place_member(&member, end);
		end = member.offset + member_bytes(&member);
		member.name = name_for(layout, kept, member.field->name);
		layout->members[kept] = member;
		if (member.shape == SHAPE_REST)
			layout->rest = &layout->members[kept];
		kept++;
	}
	layout->count = kept;
	layout->fixed = end;
}

static bool is_kernel_head(const struct print_event *kind)
{
	const struct print_field *type = print_event_field(kind, "common_type");
	const struct print_field *pid = print_event_field(kind, "common_pid");

	return type && type->offset == 0 && type->bytes == 2 && pid && pid->offset == 4 &&
	       pid->bytes == 4;
}

struct ctf_layout *ctf_layout_new(const struct print_event *kind, bool big_endian)
{
	struct ctf_layout *layout;

	if (!is_kernel_head(kind))
		return NULL;
	layout = xcalloc(1, sizeof(*layout));
	layout->big_endian = big_endian;
	layout->members = xcalloc(kind->field_count + 1, sizeof(*layout->members));
	for (uint32_t i = 0; i < kind->field_count; i++) {
		const struct print_field *field = &kind->fields[i];

		if (field->offset >= HEAD_BYTES && field->offset < CTF_LAYOUT_MAX_BYTES / 2)
			set_member(&layout->members[layout->count++], kind, field);
	}
	arrange(layout);
	return layout;
}

void ctf_layout_free(struct ctf_layout *layout)
{
	if (!layout)
		return;
	for (uint32_t i = 0; i < layout->count; i++)
		free(layout->members[i].name);
	free(layout->members);
	free(layout);
}

/* ------------------------------------------------------------------ TSDL */

static void print_integer(FILE *out, const struct member *member, uint32_t align)
{
	const struct print_field *field = member->field;

	if (field->is_text)
		fputs("integer { size = 8; align = 8; signed = false; encoding = UTF8; }", out);
	else
		fprintf(out, "integer { size = %u; align = %u; signed = %s;%s }",
			member->element * 8, align * 8,
			field->is_signed && !field->is_pointer ? "true" : "false",
			field->is_pointer ? " base = 16;" : "");
}

/*
 * The word: offset in its lower half, length in bytes in the upper one. A length that counts
 * elements is the upper bits of that.
 */
static void print_word(FILE *out, const struct member *member, bool big_endian)
{
	static const char half[] = "integer { size = 16; align = 8; signed = false; } offset;";
	uint32_t rest = member->element == 1   ? 0
			: member->element == 2 ? 1
			: member->element == 4 ? 2
					       : 3;

	fputs("\t\tstruct { ", out);
	if (!big_endian)
		fprintf(out, "%s ", half);
	if (rest && !big_endian)
		fprintf(out, "integer { size = %u; align = 1; signed = false; } bytes; ", rest);
	fprintf(out, "integer { size = %u; align = %u; signed = false; } length; ", 16 - rest,
		rest ? 1u : 8u);
	if (rest && big_endian)
		fprintf(out, "integer { size = %u; align = 1; signed = false; } bytes; ", rest);
	if (big_endian)
		fprintf(out, "%s ", half);
	fprintf(out, "} _%s_loc;\n", member->name);
}

static void print_member(const struct ctf_layout *layout, const struct member *member, FILE *out)
{
	if (member->pad)
		fprintf(out, "\t\tinteger { size = 8; align = 8; signed = false; } _pad_%u[%u];\n",
			member->offset - member->pad, member->pad);
	switch (member->shape) {
	case SHAPE_NUMBER:
		fputs("\t\t", out);
		print_integer(out, member, member->align);
		fprintf(out, " _%s;\n", member->name);
		break;
	case SHAPE_ARRAY:
		fputs("\t\t", out);
		print_integer(out, member, 1);
		fprintf(out, " _%s[%u];\n", member->name, member->count);
		break;
	case SHAPE_LOCATED:
		print_word(out, member, layout->big_endian);
		break;
	case SHAPE_REST:
		fputs("\t\t", out);
		print_integer(out, member, 1);
		fprintf(out, " _%s[stream.event.context.tail_count];\n", member->name);
		break;
	}
}

void ctf_layout_print(const struct ctf_layout *layout, FILE *out)
{
	for (uint32_t i = 0; i < layout->count; i++)
		print_member(layout, &layout->members[i], out);
	for (uint32_t i = 0; i < layout->count; i++) {
		const struct member *member = &layout->members[i];

		if (member->shape != SHAPE_LOCATED)
			continue;
		fputs("\t\t", out);
		print_integer(out, member, 1);
		fprintf(out, " _%s[_%s_loc.length];\n", member->name, member->name);
	}
}

/* ------------------------------------------------------------------ records */

static uint32_t swapped(const struct ctf_layout *layout, uint32_t word)
{
	return layout->big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		       ? word
		       : __builtin_bswap32(word);
}

/* Copy what the word at 'offset' locates behind 'used', and let the word say so. */
static uint32_t ctf_layout_put_located(const struct ctf_layout *layout, const struct member *member,
				       const struct trace_record *record, uint8_t *to,
				       uint32_t used)
{
	bool relative = member->field->kind == FORMAT_REL_LOC;
	uint32_t word, start, bytes, base = relative ? member->offset + 4 : 0;

	memcpy(&word, to + member->offset, sizeof(word));
	word = swapped(layout, word);
	start = (word & 0xffff) + base;
	bytes = (word >> 16) / member->element * member->element;
	if (start > record->bytes || bytes > record->bytes - start ||
	    bytes > CTF_LAYOUT_MAX_BYTES - used)
		bytes = 0;
	memcpy(to + used, record->data + start * (bytes > 0), bytes);
	word = swapped(layout, bytes << 16 | (used - base));
	memcpy(to + member->offset, &word, sizeof(word));
	return used + bytes;
}

uint32_t ctf_layout_put(const struct ctf_layout *layout, const struct trace_record *record,
			uint8_t *to, uint32_t *out_tail)
{
	uint32_t used = layout->fixed, have = record->bytes < used ? record->bytes : used;

	*out_tail = 0;
	memcpy(to, record->data, have);
	memset(to + have, 0, used - have);
	if (layout->rest && record->bytes > used) {
		uint32_t element = layout->rest->element;
		uint32_t room = CTF_LAYOUT_MAX_BYTES - used, rest = record->bytes - used;

		*out_tail = (rest < room ? rest : room) / element;
		memcpy(to + used, record->data + used, (size_t)*out_tail * element);
		used += *out_tail * element;
	}
	for (uint32_t i = 0; i < layout->count; i++) {
		if (layout->members[i].shape == SHAPE_LOCATED)
			used = ctf_layout_put_located(layout, &layout->members[i], record, to,
						      used);
	}
	return used;
}

/* ctf2_number.c - field classes of CTF 2 that are numbers. */
#include <json-c/json.h>
#include <string.h>

#include "base/mem.h"
#include "read/ctf/ctf2_int.h"

#define MAX_ALIGN (1u << 30)

bool ctf2_align(struct ctf2_parser *parser, struct json_object *object, const char *name,
		struct ctf_type *type)
{
	uint64_t align = type->align;

	if (!ctf2_unsigned(parser, object, name, &align))
		return false;
	if (align == 0 || (align & (align - 1)) || align > MAX_ALIGN)
		return ctf2_wrong(parser, "%s must be a power of two", name);
	if (align > type->align)
		type->align = (uint32_t)align;
	return true;
}

static bool parse_order(struct ctf2_parser *parser, struct json_object *object,
			struct ctf_type *type)
{
	const char *order = NULL, *bits = NULL;

	if (!ctf2_require(parser, object, "byte-order") ||
	    !ctf2_text(parser, object, "byte-order", &order) ||
	    !ctf2_text(parser, object, "bit-order", &bits))
		return false;
	if (strcmp(order, "little-endian") == 0)
		type->order = CTF_ORDER_LITTLE;
	else if (strcmp(order, "big-endian") == 0)
		type->order = CTF_ORDER_BIG;
	else
		return ctf2_wrong(parser, "byte-order must be little-endian or big-endian");
	if (!bits)
		return true;
	if (strcmp(bits, "first-to-last") != 0 && strcmp(bits, "last-to-first") != 0)
		return ctf2_wrong(parser, "bit-order must be first-to-last or last-to-first");
	type->is_reversed = (*bits == 'f') != (type->order == CTF_ORDER_LITTLE);
	return true;
}

static bool ctf2_number_parse_base(struct ctf2_parser *parser, struct json_object *object,
				   struct ctf_type *type)
{
	uint64_t base = type->base;

	if (!ctf2_unsigned(parser, object, "preferred-display-base", &base))
		return false;
	if (base != 2 && base != 8 && base != 10 && base != 16)
		return ctf2_wrong(parser, "preferred-display-base must be 2, 8, 10 or 16");
	type->base = (uint8_t)base;
	return true;
}

/* What all numbers of fixed length have. */
static bool parse_bits(struct ctf2_parser *parser, struct json_object *object,
		       struct ctf_type *type)
{
	uint64_t bits = 0;

	if (!ctf2_require(parser, object, "length") ||
	    !ctf2_unsigned(parser, object, "length", &bits))
		return false;
	if (bits < 1 || bits > 64)
		return ctf2_wrong(parser, "a length must be 1 to 64 bits");
	type->bits = (uint32_t)bits;
	return parse_order(parser, object, type) && ctf2_align(parser, object, "alignment", type);
}

static const struct {
	const char *name;
	uint8_t role;
} role_rows[] = {
	{ "packet-magic-number", CTF_ROLE_MAGIC },
	{ "data-stream-class-id", CTF_ROLE_STREAM_ID },
	{ "data-stream-id", CTF_ROLE_INSTANCE_ID },
	{ "packet-total-length", CTF_ROLE_PACKET_SIZE },
	{ "packet-content-length", CTF_ROLE_CONTENT_SIZE },
	{ "default-clock-timestamp", CTF_ROLE_TIMESTAMP },
	{ "packet-end-default-clock-timestamp", CTF_ROLE_END },
	{ "discarded-event-record-counter-snapshot", CTF_ROLE_DISCARDED },
	{ "packet-sequence-number", CTF_ROLE_SEQUENCE_NUMBER },
	{ "event-record-class-id", CTF_ROLE_EVENT_ID },
};

/* One that is not known is for others. */
bool ctf2_roles(struct ctf2_parser *parser, struct json_object *object, struct ctf_type *type)
{
	struct json_object *roles = NULL;
	size_t count;

	if (!ctf2_array(parser, object, "roles", &roles))
		return false;
	count = roles ? json_object_array_length(roles) : 0;
	for (size_t i = 0; i < count; i++) {
		struct json_object *role = json_object_array_get_idx(roles, i);

		if (!json_object_is_type(role, json_type_string))
			return ctf2_wrong(parser, "a role must be a string");
		for (size_t row = 0; row < ARRAY_LEN(role_rows); row++) {
			if (strcmp(role_rows[row].name, json_object_get_string(role)) == 0)
				type->roles_also |= 1u << role_rows[row].role;
		}
	}
	return true;
}

struct ranges {
	struct ctf_range *items; /* owned */
	size_t count, cap;
};

/* { LABEL: [[LOW, HIGH], ...], ... } */
static bool collect_ranges(struct ctf2_parser *parser, struct json_object *labels, bool is_signed,
			   struct ranges *ranges)
{
	json_object_object_foreach(labels, label, list)
	{
		const char *kept = ctf_keep(&parser->meta->arena, label, strlen(label));
		size_t count = json_object_is_type(list, json_type_array)
				       ? json_object_array_length(list)
				       : 0;

		if (count == 0)
			return ctf2_wrong(parser, "%s must have ranges", label);
		for (size_t i = 0; i < count; i++) {
			struct ctf_range *range;

			ranges->items = vec_room(ranges->items, ranges->count, &ranges->cap,
						 sizeof(*ranges->items));
			range = &ranges->items[ranges->count++];
			range->label = kept;
			if (!ctf2_range(parser, json_object_array_get_idx(list, i), is_signed,
					&range->low, &range->high))
				return false;
		}
	}
	return true;
}

static bool parse_labels(struct ctf2_parser *parser, struct json_object *labels, bool is_signed,
			 struct ctf_type *type)
{
	struct ranges ranges = { 0 };
	bool good = collect_ranges(parser, labels, is_signed, &ranges);

	if (good && ranges.count) {
		type->ranges = ctf_take(&parser->meta->arena, ranges.count * sizeof(*ranges.items));
		memcpy(type->ranges, ranges.items, ranges.count * sizeof(*ranges.items));
		type->range_count = (uint32_t)ranges.count;
	}
	mem_free(&ranges.items);
	return good;
}

static bool parse_mappings(struct ctf2_parser *parser, struct json_object *object,
			   struct ctf_type *type)
{
	struct json_object *mappings = NULL;

	if (!ctf2_object(parser, object, "mappings", &mappings))
		return false;
	if (!mappings || !parse_labels(parser, mappings, type->is_signed, type))
		return !mappings;
	if (type->kind == CTF_INTEGER && type->range_count)
		type->kind = CTF_ENUM;
	return true;
}

/* ------------------------------------------------------------------ numbers */

static bool parse_bit_array(struct ctf2_parser *parser, struct json_object *object,
			    struct ctf_type *type)
{
	static const char *const names[] = { "length", "byte-order", "bit-order", "alignment",
					     NULL };

	type->base = 16;
	return ctf2_check(parser, object, names) && parse_bits(parser, object, type);
}

/* Labels of bits, of which a value may have several: shown as a number. */
static bool parse_bit_map(struct ctf2_parser *parser, struct json_object *object,
			  struct ctf_type *type)
{
	static const char *const names[] = { "length",	  "byte-order", "bit-order",
					     "alignment", "flags",	NULL };
	struct ctf_type labels = { 0 };
	struct json_object *flags = NULL;

	type->base = 16;
	if (!ctf2_check(parser, object, names) || !parse_bits(parser, object, type) ||
	    !ctf2_require(parser, object, "flags") || !ctf2_object(parser, object, "flags", &flags))
		return false;
	if (json_object_object_length(flags) == 0)
		return ctf2_wrong(parser, "flags must not be empty");
	return parse_labels(parser, flags, false, &labels);
}

static bool parse_boolean(struct ctf2_parser *parser, struct json_object *object,
			  struct ctf_type *type)
{
	return parse_bit_array(parser, object, type) && (type->base = 10);
}

static bool parse_integer(struct ctf2_parser *parser, struct json_object *object,
			  struct ctf_type *type)
{
	static const char *const names[] = { "length",	  "byte-order", "bit-order",
					     "alignment", "mappings",	"preferred-display-base",
					     "roles",	  NULL };

	return ctf2_check(parser, object, names) && parse_bits(parser, object, type) &&
	       ctf2_number_parse_base(parser, object, type) && ctf2_roles(parser, object, type) &&
	       parse_mappings(parser, object, type);
}

static bool ctf2_number_parse_signed(struct ctf2_parser *parser, struct json_object *object,
				     struct ctf_type *type)
{
	type->is_signed = true;
	return parse_integer(parser, object, type);
}

static bool parse_varint(struct ctf2_parser *parser, struct json_object *object,
			 struct ctf_type *type)
{
	static const char *const names[] = { "mappings", "preferred-display-base", "roles", NULL };

	type->align = 8;
	type->bits = 64;
	return ctf2_check(parser, object, names) && ctf2_number_parse_base(parser, object, type) &&
	       ctf2_roles(parser, object, type) && parse_mappings(parser, object, type);
}

static bool parse_signed_varint(struct ctf2_parser *parser, struct json_object *object,
				struct ctf_type *type)
{
	type->is_signed = true;
	return parse_varint(parser, object, type);
}

static bool parse_float(struct ctf2_parser *parser, struct json_object *object,
			struct ctf_type *type)
{
	static const char *const names[] = { "length", "byte-order", "bit-order", "alignment",
					     NULL };
	uint64_t bits = 0;

	if (!ctf2_check(parser, object, names) || !ctf2_require(parser, object, "length") ||
	    !ctf2_unsigned(parser, object, "length", &bits))
		return false;
	if (bits == 128)
		return ctf2_wrong(parser, "floats of 128 bits cannot be read");
	if (bits != 16 && bits != 32 && bits != 64)
		return ctf2_wrong(parser, "a float must have 16, 32, 64 or 128 bits");
	return parse_bits(parser, object, type);
}

static const struct ctf2_class rows[] = {
	{ "fixed-length-bit-array", CTF_INTEGER, parse_bit_array },
	{ "fixed-length-bit-map", CTF_INTEGER, parse_bit_map },
	{ "fixed-length-boolean", CTF_INTEGER, parse_boolean },
	{ "fixed-length-unsigned-integer", CTF_INTEGER, parse_integer },
	{ "fixed-length-signed-integer", CTF_INTEGER, ctf2_number_parse_signed },
	{ "fixed-length-floating-point-number", CTF_FLOAT, parse_float },
	/* These two are of drafts of the standard. */
	{ "fixed-length-unsigned-enumeration", CTF_INTEGER, parse_integer },
	{ "fixed-length-signed-enumeration", CTF_INTEGER, ctf2_number_parse_signed },
	{ "variable-length-unsigned-integer", CTF_VARINT, parse_varint },
	{ "variable-length-signed-integer", CTF_VARINT, parse_signed_varint },
};

const struct ctf2_class *ctf2_number_class(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	}
	return NULL;
}

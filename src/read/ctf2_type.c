/* ctf2_type.c - field classes of CTF 2. */
#include <json-c/json.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "read/ctf2_int.h"

#define MAX_PATH    1024u
#define MAX_ALIGN   (1u << 30)
#define MAX_MEMBERS 65536u

typedef bool parse_class(struct ctf2_parser *parser, struct json_object *object,
			 struct ctf_type *type);

/* ------------------------------------------------------------------ parts */

static struct ctf_type *new_type(struct ctf2_parser *parser, enum ctf_kind kind)
{
	struct ctf_type *type = ctf_take(&parser->meta->arena, sizeof(*type));

	type->kind = (uint8_t)kind;
	type->line = parser->line;
	type->align = 1;
	type->base = 10;
	return type;
}

static bool parse_align(struct ctf2_parser *parser, struct json_object *object, const char *name,
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

static bool parse_base(struct ctf2_parser *parser, struct json_object *object,
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
	return parse_order(parser, object, type) && parse_align(parser, object, "alignment", type);
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
static bool parse_roles(struct ctf2_parser *parser, struct json_object *object,
			struct ctf_type *type)
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
	       parse_base(parser, object, type) && parse_roles(parser, object, type) &&
	       parse_mappings(parser, object, type);
}

static bool parse_signed(struct ctf2_parser *parser, struct json_object *object,
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
	return ctf2_check(parser, object, names) && parse_base(parser, object, type) &&
	       parse_roles(parser, object, type) && parse_mappings(parser, object, type);
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

/* ------------------------------------------------------------------ locations */

static const struct {
	const char *name;
	uint8_t scope; /* enum scope of ctf_resolve.c */
} origin_rows[] = {
	{ "packet-header", 0 },
	{ "packet-context", 1 },
	{ "event-record-header", 2 },
	{ "event-record-common-context", 3 },
	{ "event-record-specific-context", 4 },
	{ "event-record-payload", 5 },
};

static bool find_origin(const char *name, struct ctf_type *type)
{
	for (size_t i = 0; i < ARRAY_LEN(origin_rows); i++) {
		if (strcmp(origin_rows[i].name, name) != 0)
			continue;
		type->path_from = (uint8_t)(CTF_PATH_SCOPE + origin_rows[i].scope);
		return true;
	}
	return false;
}

static bool parse_origin(struct ctf2_parser *parser, struct json_object *location,
			 struct ctf_type *type)
{
	const char *origin = NULL;

	type->path_from = CTF_PATH_RELATIVE;
	if (!ctf2_text(parser, location, "origin", &origin))
		return false;
	return !origin || find_origin(origin, type) ||
	       ctf2_wrong(parser, "there is no origin %s", origin);
}

/* A path while it is read: names, of which null takes one away. */
struct path {
	const char *parts[64];
	uint32_t count, up;
};

static bool collect_path(struct ctf2_parser *parser, struct json_object *list, size_t first,
			 struct path *path)
{
	size_t count = json_object_array_length(list);

	for (size_t i = first; i < count; i++) {
		struct json_object *part = json_object_array_get_idx(list, i);

		if (!part && path->count)
			path->count--;
		else if (!part)
			path->up++;
		else if (!json_object_is_type(part, json_type_string))
			return ctf2_wrong(parser, "a path must be of strings and null");
		else if (path->count == ARRAY_LEN(path->parts))
			return ctf2_wrong(parser, "a path is too long");
		else
			path->parts[path->count++] = json_object_get_string(part);
	}
	if (path->count == 0 || path->up > CTF_MAX_DEPTH)
		return ctf2_wrong(parser, "a path leads to no field");
	return true;
}

static bool join_path(struct ctf2_parser *parser, const struct path *path, struct ctf_type *type)
{
	char joined[MAX_PATH + 1];
	size_t used = 0;

	for (uint32_t i = 0; i < path->count; i++) {
		size_t bytes = strlen(path->parts[i]);

		if (bytes + 1 > MAX_PATH - used)
			return ctf2_wrong(parser, "a path is too long");
		if (i)
			joined[used++] = CTF_PATH_MARK;
		memcpy(joined + used, path->parts[i], bytes);
		used += bytes;
	}
	type->path = ctf_keep(&parser->meta->arena, joined, used);
	return true;
}

/* Drafts: ["event-record-payload", "tag"] */
static bool parse_draft_location(struct ctf2_parser *parser, struct json_object *list,
				 struct ctf_type *type)
{
	struct json_object *origin = json_object_array_get_idx(list, 0);
	struct path path = { .count = 0 };

	if (!json_object_is_type(origin, json_type_string) ||
	    !find_origin(json_object_get_string(origin), type))
		return ctf2_wrong(parser, "a location must be an object, or begin with an origin");
	if (!collect_path(parser, list, 1, &path))
		return false;
	if (path.up)
		return ctf2_wrong(parser, "a path leads out of its origin");
	return join_path(parser, &path, type);
}

static bool parse_location(struct ctf2_parser *parser, struct json_object *object, const char *name,
			   struct ctf_type *type)
{
	static const char *const names[] = { "origin", "path", NULL };
	struct json_object *location = NULL, *list = NULL;
	struct path path = { .count = 0 };

	if (json_object_is_type(ctf2_find(object, name), json_type_array))
		return parse_draft_location(parser, ctf2_find(object, name), type);
	if (!ctf2_require(parser, object, name) || !ctf2_object(parser, object, name, &location) ||
	    !ctf2_check(parser, location, names) || !ctf2_require(parser, location, "path") ||
	    !ctf2_array(parser, location, "path", &list) || !parse_origin(parser, location, type) ||
	    !collect_path(parser, list, 0, &path))
		return false;
	if (path.up && type->path_from != CTF_PATH_RELATIVE)
		return ctf2_wrong(parser, "a path leads out of its origin");
	type->path_up = (uint8_t)path.up;
	return join_path(parser, &path, type);
}

/* ------------------------------------------------------------------ texts and bytes */

static bool parse_encoding(struct ctf2_parser *parser, struct json_object *object,
			   struct ctf_type *type)
{
	static const char *const words[] = {
		[CTF_UTF8] = "utf-8",	      [CTF_UTF16_LITTLE] = "utf-16le",
		[CTF_UTF16_BIG] = "utf-16be", [CTF_UTF32_LITTLE] = "utf-32le",
		[CTF_UTF32_BIG] = "utf-32be",
	};
	const char *encoding = words[CTF_UTF8];

	if (!ctf2_text(parser, object, "encoding", &encoding))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i], encoding) != 0)
			continue;
		type->encoding = (uint8_t)i;
		return true;
	}
	return ctf2_wrong(parser, "there is no encoding %s", encoding);
}

static bool parse_string(struct ctf2_parser *parser, struct json_object *object,
			 struct ctf_type *type)
{
	static const char *const names[] = { "encoding", NULL };

	type->align = 8;
	type->is_text = true;
	return ctf2_check(parser, object, names) && parse_encoding(parser, object, type);
}

/* So many bytes. */
static void set_bytes(struct ctf2_parser *parser, struct ctf_type *type)
{
	struct ctf_type *byte = new_type(parser, CTF_INTEGER);

	byte->bits = byte->align = 8;
	byte->order = CTF_ORDER_LITTLE;
	byte->base = 16;
	type->element = byte;
	type->align = 8;
	type->depth = 1;
}

static bool parse_length(struct ctf2_parser *parser, struct json_object *object,
			 struct ctf_type *type)
{
	return ctf2_require(parser, object, "length") &&
	       ctf2_unsigned(parser, object, "length", &type->length);
}

static bool parse_static_string(struct ctf2_parser *parser, struct json_object *object,
				struct ctf_type *type)
{
	static const char *const names[] = { "length", "encoding", NULL };

	set_bytes(parser, type);
	type->is_text = true;
	return ctf2_check(parser, object, names) && parse_encoding(parser, object, type) &&
	       parse_length(parser, object, type);
}

static bool parse_dynamic_string(struct ctf2_parser *parser, struct json_object *object,
				 struct ctf_type *type)
{
	static const char *const names[] = { "length-field-location", "encoding", NULL };

	set_bytes(parser, type);
	type->is_text = true;
	return ctf2_check(parser, object, names) && parse_encoding(parser, object, type) &&
	       parse_location(parser, object, "length-field-location", type);
}

static bool check_media(struct ctf2_parser *parser, struct json_object *object)
{
	const char *media = NULL;

	return ctf2_text(parser, object, "media-type", &media);
}

static bool parse_static_blob(struct ctf2_parser *parser, struct json_object *object,
			      struct ctf_type *type)
{
	static const char *const names[] = { "length", "media-type", "roles", NULL };

	set_bytes(parser, type);
	return ctf2_check(parser, object, names) && check_media(parser, object) &&
	       parse_roles(parser, object, type) && parse_length(parser, object, type);
}

static bool parse_dynamic_blob(struct ctf2_parser *parser, struct json_object *object,
			       struct ctf_type *type)
{
	static const char *const names[] = { "length-field-location", "media-type", NULL };

	set_bytes(parser, type);
	return ctf2_check(parser, object, names) && check_media(parser, object) &&
	       parse_location(parser, object, "length-field-location", type);
}

/* ------------------------------------------------------------------ types of types */

static bool set_depth(struct ctf2_parser *parser, struct ctf_type *type,
		      const struct ctf_type *part)
{
	if (type->depth <= part->depth)
		type->depth = part->depth + 1;
	return type->depth <= CTF_MAX_DEPTH ||
	       ctf2_wrong(parser, "field classes are nested too deeply");
}

static bool parse_element(struct ctf2_parser *parser, struct json_object *object,
			  struct ctf_type *type)
{
	if (!ctf2_require(parser, object, "element-field-class") ||
	    !ctf2_type(parser, ctf2_find(object, "element-field-class"), &type->element) ||
	    !set_depth(parser, type, type->element) ||
	    !parse_align(parser, object, "minimum-alignment", type))
		return false;
	if (type->align < type->element->align)
		type->align = type->element->align;
	return true;
}

static bool parse_static_array(struct ctf2_parser *parser, struct json_object *object,
			       struct ctf_type *type)
{
	static const char *const names[] = { "element-field-class", "length", "minimum-alignment",
					     NULL };

	return ctf2_check(parser, object, names) && parse_length(parser, object, type) &&
	       parse_element(parser, object, type);
}

static bool parse_dynamic_array(struct ctf2_parser *parser, struct json_object *object,
				struct ctf_type *type)
{
	static const char *const names[] = { "element-field-class", "length-field-location",
					     "minimum-alignment", NULL };

	return ctf2_check(parser, object, names) &&
	       parse_location(parser, object, "length-field-location", type) &&
	       parse_element(parser, object, type);
}

static bool parse_member(struct ctf2_parser *parser, struct json_object *object,
			 struct ctf_member *member)
{
	static const char *const names[] = { "name", "field-class", NULL };

	if (!json_object_is_type(object, json_type_object))
		return ctf2_wrong(parser, "a member must be an object");
	return ctf2_check(parser, object, names) && ctf2_require(parser, object, "name") &&
	       ctf2_text(parser, object, "name", &member->name) &&
	       ctf2_require(parser, object, "field-class") &&
	       ctf2_type(parser, ctf2_find(object, "field-class"), &member->type);
}

/* By a hash of the names, so that many do not take long. */
static bool check_member_names(struct ctf2_parser *parser, const struct ctf_type *type)
{
	struct map seen = { 0 };
	bool good = true, added;

	for (uint32_t i = 0; good && i < type->member_count; i++) {
		const char *name = type->members[i].name;

		(void)map_add(&seen, hash_bytes(name, strlen(name), 0), &added);
		if (!added)
			good = ctf2_wrong(parser, "there are two members %s", name);
	}
	map_fini(&seen);
	return good;
}

static bool parse_structure(struct ctf2_parser *parser, struct json_object *object,
			    struct ctf_type *type)
{
	static const char *const names[] = { "member-classes", "minimum-alignment", NULL };
	struct json_object *members = NULL;
	size_t count;

	if (!ctf2_check(parser, object, names) ||
	    !ctf2_array(parser, object, "member-classes", &members) ||
	    !parse_align(parser, object, "minimum-alignment", type))
		return false;
	count = members ? json_object_array_length(members) : 0;
	if (count > MAX_MEMBERS)
		return ctf2_wrong(parser, "a structure has too many members");
	type->members = ctf_take(&parser->meta->arena, count * sizeof(*type->members));
	for (; type->member_count < count; type->member_count++) {
		struct ctf_member *member = &type->members[type->member_count];

		if (!parse_member(parser, json_object_array_get_idx(members, type->member_count),
				  member) ||
		    !set_depth(parser, type, member->type))
			return false;
		if (type->align < member->type->align)
			type->align = member->type->align;
	}
	return check_member_names(parser, type);
}

struct choices {
	struct ctf_choice *items; /* owned */
	size_t count, cap;
};

static bool is_signed_range(struct json_object *pair)
{
	return json_object_is_type(pair, json_type_array) &&
	       json_object_get_int64(json_object_array_get_idx(pair, 0)) < 0;
}

/* selector-field-ranges of an option; of which sign they are is known when it is resolved. */
static bool add_choices(struct ctf2_parser *parser, struct json_object *object, uint32_t member,
			struct choices *choices)
{
	struct json_object *ranges = NULL;
	size_t count;

	if (!ctf2_array(parser, object, "selector-field-ranges", &ranges))
		return false;
	count = ranges ? json_object_array_length(ranges) : 0;
	for (size_t i = 0; i < count; i++) {
		struct json_object *pair = json_object_array_get_idx(ranges, i);
		struct ctf_choice *choice;

		choices->items = vec_room(choices->items, choices->count, &choices->cap,
					  sizeof(*choices->items));
		choice = &choices->items[choices->count++];
		choice->member = member;
		if (!ctf2_range(parser, pair, is_signed_range(pair), &choice->low, &choice->high))
			return false;
	}
	return count > 0 || ctf2_wrong(parser, "selector-field-ranges must not be empty");
}

static void keep_choices(struct ctf2_parser *parser, struct ctf_type *type, struct choices *choices)
{
	size_t bytes = choices->count * sizeof(*choices->items);

	type->choices = ctf_take(&parser->meta->arena, bytes);
	if (bytes)
		memcpy(type->choices, choices->items, bytes);
	type->choice_count = (uint32_t)choices->count;
	type->has_choices = true;
}

/* An option may lack a name. */
static bool parse_option(struct ctf2_parser *parser, struct json_object *object, uint32_t index,
			 struct ctf_type *type, struct choices *choices)
{
	static const char *const names[] = { "name", "field-class", "selector-field-ranges", NULL };
	struct ctf_member *member = &type->members[index];

	if (!json_object_is_type(object, json_type_object))
		return ctf2_wrong(parser, "an option must be an object");
	member->name = "value";
	return ctf2_check(parser, object, names) &&
	       ctf2_text(parser, object, "name", &member->name) &&
	       ctf2_require(parser, object, "field-class") &&
	       ctf2_type(parser, ctf2_find(object, "field-class"), &member->type) &&
	       set_depth(parser, type, member->type) && add_choices(parser, object, index, choices);
}

static bool parse_variant(struct ctf2_parser *parser, struct json_object *object,
			  struct ctf_type *type)
{
	static const char *const names[] = { "options", "selector-field-location", NULL };
	struct json_object *options = NULL;
	struct choices choices = { 0 };
	bool good = true;
	size_t count;

	if (!ctf2_check(parser, object, names) || !ctf2_require(parser, object, "options") ||
	    !ctf2_array(parser, object, "options", &options) ||
	    !parse_location(parser, object, "selector-field-location", type))
		return false;
	count = json_object_array_length(options);
	if (count == 0 || count > MAX_MEMBERS)
		return ctf2_wrong(parser, "a variant has no options, or too many");
	type->members = ctf_take(&parser->meta->arena, count * sizeof(*type->members));
	for (; good && type->member_count < count; type->member_count++)
		good = parse_option(parser, json_object_array_get_idx(options, type->member_count),
				    type->member_count, type, &choices);
	if (good)
		keep_choices(parser, type, &choices);
	mem_free(&choices.items);
	return good;
}

/* Without ranges, the selector is a boolean: anything but 0. */
static bool parse_optional(struct ctf2_parser *parser, struct json_object *object,
			   struct ctf_type *type)
{
	static const char *const names[] = { "field-class", "selector-field-location",
					     "selector-field-ranges", NULL };
	struct choices choices = { 0 };
	bool good = true;

	if (!ctf2_check(parser, object, names) || !ctf2_require(parser, object, "field-class") ||
	    !parse_location(parser, object, "selector-field-location", type))
		return false;
	type->members = ctf_take(&parser->meta->arena, sizeof(*type->members));
	type->member_count = 1;
	type->members[0].name = "value";
	type->is_optional = true;
	if (!ctf2_type(parser, ctf2_find(object, "field-class"), &type->members[0].type) ||
	    !set_depth(parser, type, type->members[0].type))
		return false;
	if (ctf2_find(object, "selector-field-ranges")) {
		good = add_choices(parser, object, 0, &choices);
	} else {
		choices.items = vec_room(NULL, 0, &choices.cap, sizeof(*choices.items));
		choices.items[choices.count++] = (struct ctf_choice){ 1, UINT64_MAX, 0 };
	}
	if (good)
		keep_choices(parser, type, &choices);
	mem_free(&choices.items);
	return good;
}

/* ------------------------------------------------------------------ all of them */

static const struct {
	const char *name;
	enum ctf_kind kind;
	parse_class *parse;
} class_rows[] = {
	{ "fixed-length-bit-array", CTF_INTEGER, parse_bit_array },
	{ "fixed-length-bit-map", CTF_INTEGER, parse_bit_map },
	{ "fixed-length-boolean", CTF_INTEGER, parse_boolean },
	{ "fixed-length-unsigned-integer", CTF_INTEGER, parse_integer },
	{ "fixed-length-signed-integer", CTF_INTEGER, parse_signed },
	{ "fixed-length-floating-point-number", CTF_FLOAT, parse_float },
	/* These two are of drafts of the standard. */
	{ "fixed-length-unsigned-enumeration", CTF_INTEGER, parse_integer },
	{ "fixed-length-signed-enumeration", CTF_INTEGER, parse_signed },
	{ "variable-length-unsigned-integer", CTF_VARINT, parse_varint },
	{ "variable-length-signed-integer", CTF_VARINT, parse_signed_varint },
	{ "null-terminated-string", CTF_STRING, parse_string },
	{ "static-length-string", CTF_ARRAY, parse_static_string },
	{ "dynamic-length-string", CTF_SEQUENCE, parse_dynamic_string },
	{ "static-length-blob", CTF_ARRAY, parse_static_blob },
	{ "dynamic-length-blob", CTF_SEQUENCE, parse_dynamic_blob },
	{ "structure", CTF_STRUCT, parse_structure },
	{ "static-length-array", CTF_ARRAY, parse_static_array },
	{ "dynamic-length-array", CTF_SEQUENCE, parse_dynamic_array },
	{ "optional", CTF_VARIANT, parse_optional },
	{ "variant", CTF_VARIANT, parse_variant },
};

struct ctf_type *ctf2_alias_find(const struct ctf2_parser *parser, const char *name)
{
	const uint64_t *found = map_find(&parser->by_name, hash_bytes(name, strlen(name), 0));

	if (!found || strcmp(parser->aliases[*found].name, name) != 0)
		return NULL;
	return parser->aliases[*found].type;
}

static bool parse_class_object(struct ctf2_parser *parser, struct json_object *object,
			       struct ctf_type **out_type)
{
	const char *name = NULL;

	if (!ctf2_require(parser, object, "type") || !ctf2_text(parser, object, "type", &name))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(class_rows); i++) {
		if (strcmp(class_rows[i].name, name) != 0)
			continue;
		*out_type = new_type(parser, class_rows[i].kind);
		return class_rows[i].parse(parser, object, *out_type);
	}
	return ctf2_wrong(parser, "there is no field class %s", name);
}

bool ctf2_type(struct ctf2_parser *parser, struct json_object *object, struct ctf_type **out_type)
{
	bool good;

	if (json_object_is_type(object, json_type_string)) {
		*out_type = ctf2_alias_find(parser, json_object_get_string(object));
		return *out_type || ctf2_wrong(parser, "there is no field class called %s",
					       json_object_get_string(object));
	}
	if (!json_object_is_type(object, json_type_object))
		return ctf2_wrong(parser, "a field class must be an object or a name");
	if (++parser->depth > CTF_MAX_DEPTH)
		return ctf2_wrong(parser, "field classes are nested too deeply");
	good = parse_class_object(parser, object, out_type);
	parser->depth--;
	return good;
}

bool ctf2_scope(struct ctf2_parser *parser, struct json_object *object, const char *name,
		struct ctf_type **out_type)
{
	struct json_object *found;

	if (!json_object_object_get_ex(object, name, &found))
		return true;
	if (!ctf2_type(parser, found, out_type))
		return false;
	return (*out_type)->kind == CTF_STRUCT ||
	       ctf2_wrong(parser, "%s must be a structure", name);
}

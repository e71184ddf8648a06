/* ctf2_type.c - field classes of CTF 2. */
#include <json-c/json.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "read/ctf/ctf2_int.h"

#define MAX_PATH    1024u
#define MAX_MEMBERS 65536u

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

static bool ctf2_type_find_origin(const char *name, struct ctf_type *type)
{
	for (size_t i = 0; i < ARRAY_LEN(origin_rows); i++) {
		if (strcmp(origin_rows[i].name, name) != 0)
			continue;
		type->path_from = (uint8_t)(CTF_PATH_SCOPE + origin_rows[i].scope);
		return true;
	}
	return false;
}

static bool ctf2_type_parse_origin(struct ctf2_parser *parser, struct json_object *location,
				   struct ctf_type *type)
{
	const char *origin = NULL;

	type->path_from = CTF_PATH_RELATIVE;
	if (!ctf2_text(parser, location, "origin", &origin))
		return false;
	return !origin || ctf2_type_find_origin(origin, type) ||
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
	    !ctf2_type_find_origin(json_object_get_string(origin), type))
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
	    !ctf2_array(parser, location, "path", &list) ||
	    !ctf2_type_parse_origin(parser, location, type) ||
	    !collect_path(parser, list, 0, &path))
		return false;
	if (path.up && type->path_from != CTF_PATH_RELATIVE)
		return ctf2_wrong(parser, "a path leads out of its origin");
	type->path_up = (uint8_t)path.up;
	return join_path(parser, &path, type);
}

/* ------------------------------------------------------------------ texts and bytes */

static bool ctf2_type_parse_encoding(struct ctf2_parser *parser, struct json_object *object,
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

static bool ctf2_type_parse_string(struct ctf2_parser *parser, struct json_object *object,
				   struct ctf_type *type)
{
	static const char *const names[] = { "encoding", NULL };

	type->align = 8;
	type->is_text = true;
	return ctf2_check(parser, object, names) && ctf2_type_parse_encoding(parser, object, type);
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
	return ctf2_check(parser, object, names) &&
	       ctf2_type_parse_encoding(parser, object, type) && parse_length(parser, object, type);
}

static bool parse_dynamic_string(struct ctf2_parser *parser, struct json_object *object,
				 struct ctf_type *type)
{
	static const char *const names[] = { "length-field-location", "encoding", NULL };

	set_bytes(parser, type);
	type->is_text = true;
	return ctf2_check(parser, object, names) &&
	       ctf2_type_parse_encoding(parser, object, type) &&
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
	       ctf2_roles(parser, object, type) && parse_length(parser, object, type);
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

static bool ctf2_type_set_depth(struct ctf2_parser *parser, struct ctf_type *type,
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
	    !ctf2_type_set_depth(parser, type, type->element) ||
	    !ctf2_align(parser, object, "minimum-alignment", type))
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
	    !ctf2_align(parser, object, "minimum-alignment", type))
		return false;
	count = members ? json_object_array_length(members) : 0;
	if (count > MAX_MEMBERS)
		return ctf2_wrong(parser, "a structure has too many members");
	type->members = ctf_take(&parser->meta->arena, count * sizeof(*type->members));
	for (; type->member_count < count; type->member_count++) {
		struct ctf_member *member = &type->members[type->member_count];

		if (!parse_member(parser, json_object_array_get_idx(members, type->member_count),
				  member) ||
		    !ctf2_type_set_depth(parser, type, member->type))
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
	       ctf2_type_set_depth(parser, type, member->type) &&
	       add_choices(parser, object, index, choices);
}

static bool ctf2_type_parse_variant(struct ctf2_parser *parser, struct json_object *object,
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
	    !ctf2_type_set_depth(parser, type, type->members[0].type))
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

static const struct ctf2_class rows[] = {
	{ "null-terminated-string", CTF_STRING, ctf2_type_parse_string },
	{ "static-length-string", CTF_ARRAY, parse_static_string },
	{ "dynamic-length-string", CTF_SEQUENCE, parse_dynamic_string },
	{ "static-length-blob", CTF_ARRAY, parse_static_blob },
	{ "dynamic-length-blob", CTF_SEQUENCE, parse_dynamic_blob },
	{ "structure", CTF_STRUCT, parse_structure },
	{ "static-length-array", CTF_ARRAY, parse_static_array },
	{ "dynamic-length-array", CTF_SEQUENCE, parse_dynamic_array },
	{ "optional", CTF_VARIANT, parse_optional },
	{ "variant", CTF_VARIANT, ctf2_type_parse_variant },
};

struct ctf_type *ctf2_alias_find(const struct ctf2_parser *parser, const char *name)
{
	const uint64_t *found = map_find(&parser->by_name, hash_bytes(name, strlen(name), 0));

	if (!found || strcmp(parser->aliases[*found].name, name) != 0)
		return NULL;
	return parser->aliases[*found].type;
}

static const struct ctf2_class *find_class(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	}
	return ctf2_number_class(name);
}

static bool parse_class_object(struct ctf2_parser *parser, struct json_object *object,
			       struct ctf_type **out_type)
{
	const struct ctf2_class *found;
	const char *name = NULL;

	if (!ctf2_require(parser, object, "type") || !ctf2_text(parser, object, "type", &name))
		return false;
	found = find_class(name);
	if (!found)
		return ctf2_wrong(parser, "there is no field class %s", name);
	*out_type = new_type(parser, found->kind);
	return found->parse(parser, object, *out_type);
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

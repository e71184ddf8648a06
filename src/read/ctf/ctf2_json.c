/* ctf2_json.c - properties of JSON objects. */
#include <errno.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "read/ctf/ctf2_int.h"
#include "read/ctf/parse_int.h"

bool ctf2_wrong(struct ctf2_parser *parser, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)ctf_wrong_at(parser->err, ": fragment at", parser->line, format, args);
	va_end(args);
	return false;
}

struct json_object *ctf2_find(struct json_object *object, const char *name)
{
	struct json_object *found = NULL;

	(void)json_object_object_get_ex(object, name, &found);
	return found;
}

static bool property_is_known(const char *name, const char *const *names)
{
	static const char *const everywhere[] = { "type", "attributes", "extensions",
						  "user-attributes" /* in drafts */ };

	for (size_t i = 0; i < ARRAY_LEN(everywhere); i++) {
		if (strcmp(everywhere[i], name) == 0)
			return true;
	}
	for (; *names; names++) {
		if (strcmp(*names, name) == 0)
			return true;
	}
	return false;
}

/* An extension may change anything, and none is known. */
static bool check_extensions(struct ctf2_parser *parser, struct json_object *object)
{
	struct json_object *extensions;

	if (!json_object_object_get_ex(object, "extensions", &extensions))
		return true;
	if (!json_object_is_type(extensions, json_type_object))
		return ctf2_wrong(parser, "extensions must be an object");
	json_object_object_foreach(extensions, name, value)
	{
		(void)value;
		return ctf2_wrong(parser, "it needs the extension %s, which is not known", name);
	}
	return true;
}

bool ctf2_check(struct ctf2_parser *parser, struct json_object *object, const char *const *names)
{
	struct json_object *attributes;

	json_object_object_foreach(object, name, value)
	{
		(void)value;
		if (!property_is_known(name, names))
			return ctf2_wrong(parser, "there is no property %s here", name);
	}
	if (json_object_object_get_ex(object, "attributes", &attributes) &&
	    !json_object_is_type(attributes, json_type_object))
		return ctf2_wrong(parser, "attributes must be an object");
	if (json_object_object_get_ex(object, "user-attributes", &attributes) &&
	    !json_object_is_type(attributes, json_type_object))
		return ctf2_wrong(parser, "user-attributes must be an object");
	return check_extensions(parser, object);
}

bool ctf2_require(struct ctf2_parser *parser, struct json_object *object, const char *name)
{
	return json_object_object_get_ex(object, name, NULL) ||
	       ctf2_wrong(parser, "the property %s is missing", name);
}

bool ctf2_is_number(struct json_object *object)
{
	return json_object_is_type(object, json_type_int);
}

static bool is_negative(struct json_object *number)
{
	return json_object_get_int64(number) < 0;
}

bool ctf2_unsigned(struct ctf2_parser *parser, struct json_object *object, const char *name,
		   uint64_t *out_number)
{
	struct json_object *found;

	if (!json_object_object_get_ex(object, name, &found))
		return true;
	if (!ctf2_is_number(found) || is_negative(found))
		return ctf2_wrong(parser, "%s must be a number of 0 or more", name);
	*out_number = json_object_get_uint64(found);
	return true;
}

bool ctf2_signed(struct ctf2_parser *parser, struct json_object *object, const char *name,
		 int64_t *out_number)
{
	struct json_object *found;

	if (!json_object_object_get_ex(object, name, &found))
		return true;
	if (!ctf2_is_number(found))
		return ctf2_wrong(parser, "%s must be a number", name);
	*out_number = json_object_get_int64(found);
	return true;
}

char *ctf2_keep(struct ctf2_parser *parser, struct json_object *text)
{
	const char *string = json_object_get_string(text);

	/* With a zero character within, it ends there. */
	return ctf_keep(&parser->meta->arena, string, strlen(string));
}

bool ctf2_text(struct ctf2_parser *parser, struct json_object *object, const char *name,
	       const char **out_text)
{
	struct json_object *found;

	if (!json_object_object_get_ex(object, name, &found))
		return true;
	if (!json_object_is_type(found, json_type_string))
		return ctf2_wrong(parser, "%s must be a string", name);
	*out_text = ctf2_keep(parser, found);
	return true;
}

bool ctf2_object(struct ctf2_parser *parser, struct json_object *object, const char *name,
		 struct json_object **out_object)
{
	struct json_object *found;

	if (!json_object_object_get_ex(object, name, &found))
		return true;
	if (!json_object_is_type(found, json_type_object))
		return ctf2_wrong(parser, "%s must be an object", name);
	*out_object = found;
	return true;
}

bool ctf2_array(struct ctf2_parser *parser, struct json_object *object, const char *name,
		struct json_object **out_array)
{
	struct json_object *found;

	if (!json_object_object_get_ex(object, name, &found))
		return true;
	if (!json_object_is_type(found, json_type_array))
		return ctf2_wrong(parser, "%s must be an array", name);
	*out_array = found;
	return true;
}

bool ctf2_range(struct ctf2_parser *parser, struct json_object *pair, bool is_signed,
		uint64_t *out_low, uint64_t *out_high)
{
	struct json_object *low, *high;

	if (!json_object_is_type(pair, json_type_array) || json_object_array_length(pair) != 2)
		return ctf2_wrong(parser, "a range must be two numbers");
	low = json_object_array_get_idx(pair, 0);
	high = json_object_array_get_idx(pair, 1);
	if (!ctf2_is_number(low) || !ctf2_is_number(high))
		return ctf2_wrong(parser, "a range must be two numbers");
	if (!is_signed && (is_negative(low) || is_negative(high)))
		return ctf2_wrong(parser, "a range of an unsigned number is below 0");
	*out_low = is_negative(low) ? (uint64_t)json_object_get_int64(low)
				    : json_object_get_uint64(low);
	*out_high = is_negative(high) ? (uint64_t)json_object_get_int64(high)
				      : json_object_get_uint64(high);
	if (is_signed ? (int64_t)*out_low > (int64_t)*out_high : *out_low > *out_high)
		return ctf2_wrong(parser, "a range ends before it begins");
	return true;
}

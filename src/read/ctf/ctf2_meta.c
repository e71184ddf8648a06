/* ctf2_meta.c - the fragments of CTF 2 metadata. */
#include "read/ctf/ctf2_meta.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "read/ctf/ctf2_int.h"

#define MAX_BYTES     (32u << 20) /* of all fragments: as types they are some times as large */
#define MAX_FRAGMENT  (8u << 20)
#define JSON_DEPTH    256
#define RECORD_MARK   '\x1e'
#define MAX_STREAMS   4096u
#define MAX_CLOCKS    4096u
#define MAX_FREQUENCY UINT64_C(1000000000000)

static bool ctf2_meta_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == RECORD_MARK;
}

bool ctf2_is_metadata(const char *text, size_t bytes)
{
	size_t at = 0;

	while (at < bytes && ctf2_meta_is_blank(text[at]))
		at++;
	return at < bytes && (text[at] == '{' || (at > 0 && text[at - 1] == RECORD_MARK));
}

/* ------------------------------------------------------------------ preamble, aliases */

static bool ctf2_meta_parse_uuid(struct ctf2_parser *parser, struct json_object *object,
				 bool *out_has, uint8_t out_uuid[16])
{
	struct json_object *list = NULL;

	if (!ctf2_array(parser, object, "uuid", &list) || !list)
		return !list && !ctf2_find(object, "uuid");
	if (json_object_array_length(list) != 16)
		return ctf2_wrong(parser, "a uuid must be 16 numbers");
	for (size_t i = 0; i < 16; i++) {
		struct json_object *number = json_object_array_get_idx(list, i);

		if (!ctf2_is_number(number) || json_object_get_int64(number) < 0 ||
		    json_object_get_int64(number) > 255)
			return ctf2_wrong(parser, "a uuid must be 16 numbers of a byte");
		out_uuid[i] = (uint8_t)json_object_get_int64(number);
	}
	*out_has = true;
	return true;
}

static bool parse_preamble(struct ctf2_parser *parser, struct json_object *object)
{
	static const char *const names[] = { "version", "uuid", NULL };
	uint64_t version = 0;

	if (parser->has_preamble)
		return ctf2_wrong(parser, "there are two preambles");
	parser->has_preamble = true;
	if (!ctf2_check(parser, object, names) || !ctf2_require(parser, object, "version") ||
	    !ctf2_unsigned(parser, object, "version", &version))
		return false;
	if (version != 2)
		return ctf2_wrong(parser, "this is CTF %llu, but CTF 1.8 and 2 can be read",
				  (unsigned long long)version);
	return ctf2_meta_parse_uuid(parser, object, &parser->meta->has_uuid, parser->meta->uuid);
}

static bool ctf2_meta_parse_alias(struct ctf2_parser *parser, struct json_object *object)
{
	static const char *const names[] = { "name", "field-class", NULL };
	struct ctf2_alias alias = { NULL, NULL };

	if (!ctf2_check(parser, object, names) || !ctf2_require(parser, object, "name") ||
	    !ctf2_text(parser, object, "name", &alias.name) ||
	    !ctf2_require(parser, object, "field-class") ||
	    !ctf2_type(parser, ctf2_find(object, "field-class"), &alias.type))
		return false;
	if (ctf2_alias_find(parser, alias.name))
		return ctf2_wrong(parser, "there are two field classes called %s", alias.name);
	map_put(&parser->by_name, hash_bytes(alias.name, strlen(alias.name), 0),
		parser->alias_count);
	parser->aliases = vec_room(parser->aliases, parser->alias_count, &parser->alias_cap,
				   sizeof(*parser->aliases));
	parser->aliases[parser->alias_count++] = alias;
	return true;
}

/* ------------------------------------------------------------------ trace, clocks */

/* "namespace", "name", "uid": who it is, for people. */
static bool check_identity(struct ctf2_parser *parser, struct json_object *object)
{
	const char *text = NULL;

	return ctf2_text(parser, object, "namespace", &text) &&
	       ctf2_text(parser, object, "name", &text) && ctf2_text(parser, object, "uid", &text);
}

static bool parse_environment(struct ctf2_parser *parser, struct json_object *object)
{
	struct ctf_meta *meta = parser->meta;
	struct json_object *environment = NULL;

	if (!ctf2_object(parser, object, "environment", &environment))
		return false;
	if (!environment)
		return true;
	json_object_object_foreach(environment, name, value)
	{
		struct ctf_env *env;

		meta->envs =
			vec_room(meta->envs, meta->env_count, &meta->env_cap, sizeof(*meta->envs));
		env = &meta->envs[meta->env_count];
		*env = (struct ctf_env){ ctf_keep(&meta->arena, name, strlen(name)), NULL, 0 };
		if (json_object_is_type(value, json_type_string))
			env->text = ctf2_keep(parser, value);
		else if (ctf2_is_number(value))
			env->number = json_object_get_int64(value);
		else
			return ctf2_wrong(parser, "%s must be a string or a number", name);
		meta->env_count++;
	}
	return true;
}

static bool ctf2_meta_parse_trace(struct ctf2_parser *parser, struct json_object *object)
{
	static const char *const names[] = {
		"namespace", "name", "uid", "environment", "packet-header-field-class", "uuid", NULL
	};
	struct ctf_meta *meta = parser->meta;
	uint8_t uuid[16];
	bool has_uuid = false;

	if (meta->has_trace)
		return ctf2_wrong(parser, "there are two trace classes");
	if (meta->stream_count)
		return ctf2_wrong(parser, "the trace class follows a data stream class");
	meta->has_trace = true;
	return ctf2_check(parser, object, names) && check_identity(parser, object) &&
	       ctf2_meta_parse_uuid(parser, object, &has_uuid, uuid) &&
	       parse_environment(parser, object) &&
	       ctf2_scope(parser, object, "packet-header-field-class", &meta->packet_header);
}

/* "unix-epoch", or who says what 0 is. */
static bool ctf2_meta_parse_origin(struct ctf2_parser *parser, struct json_object *object,
				   struct ctf_clock *clock)
{
	static const char *const names[] = { "namespace", "name", "uid", NULL };
	struct json_object *origin = ctf2_find(object, "origin");

	if (!origin)
		return true;
	if (json_object_is_type(origin, json_type_object))
		return ctf2_check(parser, origin, names) && check_identity(parser, origin);
	clock->absolute = json_object_is_type(origin, json_type_string) &&
			  strcmp(json_object_get_string(origin), "unix-epoch") == 0;
	return clock->absolute || ctf2_wrong(parser, "origin must be unix-epoch or an object");
}

static bool parse_offset(struct ctf2_parser *parser, struct json_object *object,
			 struct ctf_clock *clock)
{
	static const char *const names[] = { "seconds", "cycles", NULL };
	struct json_object *offset = NULL;

	if (!ctf2_object(parser, object, "offset-from-origin", &offset))
		return false;
	if (!offset)
		return true;
	if (!ctf2_check(parser, offset, names) ||
	    !ctf2_signed(parser, offset, "seconds", &clock->offset_s) ||
	    !ctf2_unsigned(parser, offset, "cycles", &clock->offset))
		return false;
	return clock->offset < clock->freq ||
	       ctf2_wrong(parser, "the cycles of an offset are a second or more");
}

static bool find_clock(const struct ctf_meta *meta, const char *id)
{
	for (size_t i = 0; i < meta->clock_count; i++) {
		if (strcmp(meta->clocks[i]->name, id) == 0)
			return true;
	}
	return false;
}

static bool ctf2_meta_parse_clock(struct ctf2_parser *parser, struct json_object *object)
{
	static const char *const names[] = { "id",	    "namespace", "name",
					     "uid",	    "frequency", "precision",
					     "accuracy",    "origin",	 "offset-from-origin",
					     "description", "uuid",	 NULL };
	struct ctf_meta *meta = parser->meta;
	struct ctf_clock *clock = ctf_take(&meta->arena, sizeof(*clock));
	const char *id = NULL, *text = NULL;
	uint64_t accuracy = 0;

	/* Before the final text of the standard, the name was what others refer to. */
	if (!ctf2_check(parser, object, names) || !check_identity(parser, object) ||
	    !ctf2_text(parser, object, "name", &id) || !ctf2_text(parser, object, "id", &id) ||
	    !ctf2_text(parser, object, "description", &text) ||
	    !ctf2_require(parser, object, "frequency") ||
	    !ctf2_unsigned(parser, object, "frequency", &clock->freq) ||
	    !ctf2_unsigned(parser, object, "precision", &clock->precision) ||
	    !ctf2_unsigned(parser, object, "accuracy", &accuracy))
		return false;
	if (!id)
		return ctf2_wrong(parser, "the property id is missing");
	if (clock->freq == 0 || clock->freq > MAX_FREQUENCY)
		return ctf2_wrong(parser, "frequency must be 1 to %llu",
				  (unsigned long long)MAX_FREQUENCY);
	if (find_clock(meta, id) || meta->clock_count == MAX_CLOCKS)
		return ctf2_wrong(parser, "there are two clock classes %s, or too many", id);
	clock->name = id;
	meta->clocks = vec_room(meta->clocks, meta->clock_count, &meta->clock_cap,
				sizeof(struct ctf_clock *));
	meta->clocks[meta->clock_count++] = clock;
	return ctf2_meta_parse_origin(parser, object, clock) && parse_offset(parser, object, clock);
}

/* ------------------------------------------------------------------ streams, events */

static bool parse_default_clock(struct ctf2_parser *parser, struct json_object *object,
				struct ctf_stream *stream)
{
	if (!ctf2_text(parser, object, "default-clock-class-name", &stream->clock_name) ||
	    !ctf2_text(parser, object, "default-clock-class-id", &stream->clock_name))
		return false;
	return !stream->clock_name || find_clock(parser->meta, stream->clock_name) ||
	       ctf2_wrong(parser, "there is no clock class %s before this", stream->clock_name);
}

static bool ctf2_meta_parse_stream(struct ctf2_parser *parser, struct json_object *object)
{
	static const char *const names[] = { "id",
					     "namespace",
					     "name",
					     "uid",
					     "default-clock-class-id",
					     "default-clock-class-name",
					     "packet-context-field-class",
					     "event-record-header-field-class",
					     "event-record-common-context-field-class",
					     NULL };
	struct ctf_meta *meta = parser->meta;
	struct ctf_stream *stream = ctf_take(&meta->arena, sizeof(*stream));

	stream->line = parser->line;
	if (!ctf2_check(parser, object, names) || !check_identity(parser, object) ||
	    !ctf2_unsigned(parser, object, "id", &stream->id))
		return false;
	if (ctf_meta_stream(meta, stream->id) || meta->stream_count == MAX_STREAMS)
		return ctf2_wrong(parser, "there are two data stream classes %llu, or too many",
				  (unsigned long long)stream->id);
	meta->streams = vec_room(meta->streams, meta->stream_count, &meta->stream_cap,
				 sizeof(struct ctf_stream *));
	meta->streams[meta->stream_count++] = stream;
	return parse_default_clock(parser, object, stream) &&
	       ctf2_scope(parser, object, "packet-context-field-class", &stream->packet_context) &&
	       ctf2_scope(parser, object, "event-record-header-field-class",
			  &stream->event_header) &&
	       ctf2_scope(parser, object, "event-record-common-context-field-class",
			  &stream->event_context);
}

/* Attributes of tracers: { NAMESPACE: { "emf-uri": ..., "log-level": ... } } */
static void take_attributes(struct ctf2_parser *parser, struct json_object *object,
			    struct ctf_event *event)
{
	struct json_object *attributes = ctf2_find(object, "attributes");

	if (!attributes)
		return;
	json_object_object_foreach(attributes, space, values)
	{
		struct json_object *uri, *level;

		(void)space;
		if (!json_object_is_type(values, json_type_object))
			continue;
		uri = ctf2_find(values, "emf-uri");
		level = ctf2_find(values, "log-level");
		if (json_object_is_type(uri, json_type_string))
			event->emf_uri = ctf2_keep(parser, uri);
		if (ctf2_is_number(level))
			event->loglevel = json_object_get_int64(level);
	}
}

static bool ctf2_meta_parse_event(struct ctf2_parser *parser, struct json_object *object)
{
	static const char *const names[] = {
		"id",  "data-stream-class-id",	       "namespace",	      "name",
		"uid", "specific-context-field-class", "payload-field-class", NULL
	};
	struct ctf_meta *meta = parser->meta;
	struct ctf_event *event = ctf_take(&meta->arena, sizeof(*event));

	event->line = parser->line;
	event->name = "";
	if (!ctf2_check(parser, object, names) || !check_identity(parser, object) ||
	    !ctf2_unsigned(parser, object, "id", &event->id) ||
	    !ctf2_unsigned(parser, object, "data-stream-class-id", &event->stream_id) ||
	    !ctf2_text(parser, object, "name", &event->name) ||
	    !ctf2_scope(parser, object, "specific-context-field-class", &event->context) ||
	    !ctf2_scope(parser, object, "payload-field-class", &event->fields))
		return false;
	if (!ctf_meta_stream(meta, event->stream_id))
		return ctf2_wrong(parser, "there is no data stream class %llu before this",
				  (unsigned long long)event->stream_id);
	take_attributes(parser, object, event);
	meta->events = vec_room(meta->events, meta->event_count, &meta->event_cap,
				sizeof(struct ctf_event *));
	meta->events[meta->event_count++] = event;
	return true;
}

/* ------------------------------------------------------------------ fragments */

static const struct {
	const char *name;
	bool (*parse)(struct ctf2_parser *parser, struct json_object *object);
} fragment_rows[] = {
	{ "preamble", parse_preamble },
	{ "field-class-alias", ctf2_meta_parse_alias },
	{ "trace-class", ctf2_meta_parse_trace },
	{ "clock-class", ctf2_meta_parse_clock },
	{ "data-stream-class", ctf2_meta_parse_stream },
	{ "event-record-class", ctf2_meta_parse_event },
};

static bool parse_fragment(struct ctf2_parser *parser, struct json_object *object)
{
	const char *name = NULL;

	if (!json_object_is_type(object, json_type_object))
		return ctf2_wrong(parser, "it is no object");
	if (!ctf2_require(parser, object, "type") || !ctf2_text(parser, object, "type", &name))
		return false;
	if (!parser->has_preamble && strcmp(name, "preamble") != 0)
		return ctf2_wrong(parser, "the first fragment must be the preamble");
	for (size_t i = 0; i < ARRAY_LEN(fragment_rows); i++) {
		if (strcmp(fragment_rows[i].name, name) == 0)
			return fragment_rows[i].parse(parser, object);
	}
	return ctf2_wrong(parser, "there is no fragment of type %s", name);
}

/* Where the fragment that begins at 'text' ends by the mark of the next one. */
static size_t fragment_room(const char *text, size_t bytes)
{
	const char *mark = memchr(text, RECORD_MARK, bytes);
	size_t room = mark ? (size_t)(mark - text) : bytes;

	return room < MAX_FRAGMENT ? room : MAX_FRAGMENT;
}

/* One fragment; 'out_used' is set to its bytes. */
static bool parse_next(struct ctf2_parser *parser, struct json_tokener *tokener, const char *text,
		       size_t bytes, size_t *out_used)
{
	size_t room = fragment_room(text, bytes);
	struct json_object *object;
	bool good;

	json_tokener_reset(tokener);
	object = json_tokener_parse_ex(tokener, text, (int)room);
	if (!object || json_tokener_get_error(tokener) != json_tokener_success) {
		json_object_put(object);
		if (json_tokener_get_error(tokener) == json_tokener_continue)
			return ctf2_wrong(parser,
					  room == MAX_FRAGMENT ? "it is too long" : "it is cut");
		return ctf2_wrong(parser, "no JSON: %s",
				  json_tokener_error_desc(json_tokener_get_error(tokener)));
	}
	good = parse_fragment(parser, object);
	json_object_put(object);
	*out_used = json_tokener_get_parse_end(tokener);
	return good && (*out_used > 0 || ctf2_wrong(parser, "it is empty"));
}

static bool parse_all(struct ctf2_parser *parser, struct json_tokener *tokener, const char *text,
		      size_t bytes)
{
	size_t at = 0, used = 0;

	for (;;) {
		for (; at < bytes && ctf2_meta_is_blank(text[at]); at++)
			parser->line += text[at] == '\n';
		if (at == bytes)
			return parser->has_preamble || ctf2_wrong(parser, "there is no preamble");
		if (!parse_next(parser, tokener, text + at, bytes - at, &used))
			return false;
		for (size_t end = at + used; at < end; at++)
			parser->line += text[at] == '\n';
	}
}

int ctf2_parse(struct ctf_meta *meta, const char *text, size_t bytes, struct err *err)
{
	struct err local = { 0 }; /* the caller's may be NULL */
	struct ctf2_parser parser = { .meta = meta, .err = &local, .line = 1 };
	struct json_tokener *tokener;
	bool good;

	if (bytes > MAX_BYTES)
		return err_set(err, -EBADMSG, "metadata: more than %u MiB", MAX_BYTES >> 20);
	tokener = json_tokener_new_ex(JSON_DEPTH);
	if (!tokener)
		return err_set(err, -ENOMEM, "no memory for JSON");
	json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8);
	good = parse_all(&parser, tokener, text, bytes);
	json_tokener_free(tokener);
	map_fini(&parser.by_name);
	free(parser.aliases);
	return good ? 0 : err_set(err, -EBADMSG, "%s", local.text);
}

/* blocks.c - the blocks of TSDL: trace, env, clock, stream, event. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "read/ctf/parse_int.h"

#define MAX_SEEN 64u /* attributes in a block */

/* What a block is about, and what it had so far. */
struct block {
	const char *what;
	void *object;
	const char
		*known; /* its attributes, each between blanks: none of them stands there twice */
	const char *seen[MAX_SEEN];
	uint32_t seen_count;
};

typedef bool parse_attribute(struct ctf_parser *parser, struct block *block, const char *name);

static bool attribute_is_known(const struct block *block, const char *name)
{
	size_t bytes = strlen(name);
	const char *at = block->known;

	if (bytes == 0)
		return false;
	while (at && (at = strstr(at, name)) != NULL) {
		if (at > block->known && at[-1] == ' ' && at[bytes] == ' ')
			return true;
		at += bytes;
	}
	return false;
}

static bool note_seen(struct ctf_parser *parser, struct block *block, const char *name)
{
	if (!attribute_is_known(block, name))
		return true;
	for (uint32_t i = 0; i < block->seen_count; i++) {
		if (strcmp(block->seen[i], name) == 0)
			return ctf_wrong(parser, parser->token.line, "%s has %s twice", block->what,
					 name);
	}
	if (block->seen_count < MAX_SEEN)
		block->seen[block->seen_count++] = name;
	return true;
}

static bool has_seen(const struct block *block, const char *name)
{
	for (uint32_t i = 0; i < block->seen_count; i++) {
		if (strcmp(block->seen[i], name) == 0)
			return true;
	}
	return false;
}

/* A name that is written as a word or as a literal string. */
static bool ctf_blocks_parse_name(struct ctf_parser *parser, const char **out_name)
{
	if (parser->token.kind != CTF_TOKEN_WORD && parser->token.kind != CTF_TOKEN_TEXT)
		return ctf_wrong(parser, parser->token.line, "a name is missing");
	*out_name = parser->token.text;
	return ctf_advance(parser);
}

/* NAME = value; or NAME := type; */
static bool parse_entry(struct ctf_parser *parser, struct block *block, parse_attribute *parse)
{
	const char *name;

	return ctf_parse_path(parser, &name) && note_seen(parser, block, name) &&
	       parse(parser, block, name) && ctf_expect(parser, ';');
}

/* WORD { entries }; */
static bool parse_block(struct ctf_parser *parser, struct block *block, parse_attribute *parse)
{
	int rc;

	ctf_scope_begin(parser);
	if (!ctf_advance(parser) || !ctf_expect(parser, '{'))
		return false;
	while ((rc = ctf_next_entry(parser)) > 0) {
		bool any;

		if (!ctf_parse_declaration(parser, &any) ||
		    (!any && !parse_entry(parser, block, parse)))
			return false;
	}
	ctf_scope_end(parser);
	return rc == 0 && ctf_advance(parser) && ctf_expect(parser, ';');
}

/* := struct { ... } */
static bool parse_scope(struct ctf_parser *parser, const char *name, struct ctf_type **out_type)
{
	uint32_t line = parser->token.line;

	if (parser->token.kind != CTF_TOKEN_ASSIGN)
		return ctf_wrong(parser, line, "':=' is missing");
	if (!ctf_advance(parser) || !ctf_parse_type(parser, out_type))
		return false;
	return (*out_type)->kind == CTF_STRUCT ||
	       ctf_wrong(parser, line, "%s must be a struct", name);
}

static bool ctf_blocks_parse_uuid(struct ctf_parser *parser, uint8_t out_uuid[16])
{
	uint32_t line = parser->token.line, digits = 0;
	const char *text;

	if (!ctf_parse_text(parser, "uuid", &text))
		return false;
	for (size_t i = 0; i < 36 && text[i]; i++) {
		char c = text[i];
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? c != '-' : !isxdigit((unsigned char)c))
			break;
		if (!dash) {
			int value = isdigit((unsigned char)c)
					    ? c - '0'
					    : tolower((unsigned char)c) - 'a' + 10;

			out_uuid[digits / 2] =
				(uint8_t)(digits % 2 ? out_uuid[digits / 2] << 4 | value : value);
			digits++;
		}
	}
	return (digits == 32 && strlen(text) == 36) || ctf_wrong(parser, line, "this is no uuid");
}

/* ------------------------------------------------------------------ trace */

static bool parse_version(struct ctf_parser *parser, const char *name, uint64_t wanted)
{
	uint32_t line = parser->token.line;
	uint64_t number;

	if (!ctf_parse_unsigned(parser, name, &number))
		return false;
	return number == wanted ||
	       ctf_wrong(parser, line, "version %s is %llu, but only CTF 1.8 can be read", name,
			 (unsigned long long)number);
}

static bool parse_trace_entry(struct ctf_parser *parser, struct block *block, const char *name)
{
	struct ctf_meta *meta = block->object;
	uint8_t order;

	if (strcmp(name, "packet.header") == 0)
		return parse_scope(parser, name, &meta->packet_header);
	if (!ctf_expect(parser, '='))
		return false;
	if (strcmp(name, "major") == 0)
		return parse_version(parser, name, 1);
	if (strcmp(name, "minor") == 0)
		return parse_version(parser, name, 8);
	if (strcmp(name, "uuid") == 0) {
		meta->has_uuid = true;
		return ctf_blocks_parse_uuid(parser, meta->uuid);
	}
	if (strcmp(name, "byte_order") != 0)
		return ctf_skip_value(parser);
	if (!ctf_order_of(parser, &order))
		return false;
	meta->big_endian = order == CTF_ORDER_BIG;
	return order != CTF_ORDER_NATIVE ||
	       ctf_wrong(parser, parser->token.line, "byte_order of the trace must be le or be");
}

static bool ctf_blocks_parse_trace(struct ctf_parser *parser)
{
	static const char *const needed[] = { "major", "minor", "byte_order" };
	struct block block = { .what = "trace",
			       .object = parser->meta,
			       .known = " packet.header major minor uuid byte_order " };
	uint32_t line = parser->token.line;

	if (parser->meta->has_trace)
		return ctf_wrong(parser, line, "there is a second trace block");
	parser->meta->has_trace = true;
	if (!parse_block(parser, &block, parse_trace_entry))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		if (!has_seen(&block, needed[i]))
			return ctf_wrong(parser, line, "trace has no %s", needed[i]);
	}
	return true;
}

/* ------------------------------------------------------------------ env */

/* What has more than 64 bits with its sign is cut to them. */
static bool parse_wrapped(struct ctf_parser *parser, int64_t *out_number)
{
	uint64_t number;
	bool negative;

	if (!ctf_parse_number(parser, &number, &negative))
		return false;
	*out_number = (int64_t)number;
	return true;
}

static bool parse_env_entry(struct ctf_parser *parser, struct block *block, const char *name)
{
	struct ctf_meta *meta = block->object;
	struct ctf_env *env;

	meta->envs = vec_room(meta->envs, meta->env_count, &meta->env_cap, sizeof(*meta->envs));
	env = &meta->envs[meta->env_count++];
	*env = (struct ctf_env){ .name = name };
	if (!ctf_expect(parser, '='))
		return false;
	if (parser->token.kind == CTF_TOKEN_TEXT)
		return ctf_parse_text(parser, name, &env->text);
	if (parser->token.kind == CTF_TOKEN_WORD)
		return ctf_parse_path(parser, &env->text);
	return parse_wrapped(parser, &env->number);
}

static bool parse_env(struct ctf_parser *parser)
{
	struct block block = { .what = "env", .object = parser->meta };

	return parse_block(parser, &block, parse_env_entry);
}

/* ------------------------------------------------------------------ clock */

static bool parse_freq(struct ctf_parser *parser, uint64_t *out_freq)
{
	uint32_t line = parser->token.line;

	if (!ctf_parse_unsigned(parser, "freq", out_freq))
		return false;
	return *out_freq || ctf_wrong(parser, line, "freq must not be 0");
}

static bool parse_clock_entry(struct ctf_parser *parser, struct block *block, const char *name)
{
	struct ctf_clock *clock = block->object;
	uint8_t uuid[16];
	const char *text;

	if (!ctf_expect(parser, '='))
		return false;
	if (strcmp(name, "name") == 0)
		return ctf_blocks_parse_name(parser, &clock->name);
	if (strcmp(name, "freq") == 0)
		return parse_freq(parser, &clock->freq);
	if (strcmp(name, "offset") == 0)
		return ctf_parse_unsigned(parser, name, &clock->offset);
	if (strcmp(name, "offset_s") == 0)
		return ctf_parse_signed(parser, name, &clock->offset_s);
	if (strcmp(name, "precision") == 0)
		return ctf_parse_unsigned(parser, name, &clock->precision);
	if (strcmp(name, "absolute") == 0)
		return ctf_parse_bool(parser, &clock->absolute);
	if (strcmp(name, "uuid") == 0)
		return ctf_blocks_parse_uuid(parser, uuid);
	if (strcmp(name, "description") == 0)
		return ctf_parse_text(parser, name, &text);
	return ctf_skip_value(parser);
}

static bool ctf_blocks_parse_clock(struct ctf_parser *parser)
{
	struct ctf_meta *meta = parser->meta;
	struct ctf_clock *clock = ctf_take(&meta->arena, sizeof(*clock));
	struct block block = { .what = "clock",
			       .object = clock,
			       .known = " name freq offset offset_s precision absolute uuid "
					"description " };
	uint32_t line = parser->token.line;

	clock->freq = 1000000000;
	if (!parse_block(parser, &block, parse_clock_entry))
		return false;
	if (!clock->name)
		return ctf_wrong(parser, line, "a clock has no name");
	for (size_t i = 0; i < meta->clock_count; i++) {
		if (strcmp(meta->clocks[i]->name, clock->name) == 0)
			return ctf_wrong(parser, line, "there are two clocks %s", clock->name);
	}
	if (meta->clock_count == 1024)
		return ctf_wrong(parser, line, "there are more than 1024 clocks");
	meta->clocks = vec_room(meta->clocks, meta->clock_count, &meta->clock_cap,
				sizeof(struct ctf_clock *));
	meta->clocks[meta->clock_count++] = clock;
	return true;
}

/* ------------------------------------------------------------------ stream */

static bool parse_stream_entry(struct ctf_parser *parser, struct block *block, const char *name)
{
	struct ctf_stream *stream = block->object;

	if (strcmp(name, "packet.context") == 0)
		return parse_scope(parser, name, &stream->packet_context);
	if (strcmp(name, "event.header") == 0)
		return parse_scope(parser, name, &stream->event_header);
	if (strcmp(name, "event.context") == 0)
		return parse_scope(parser, name, &stream->event_context);
	if (!ctf_expect(parser, '='))
		return false;
	return strcmp(name, "id") == 0 ? ctf_parse_unsigned(parser, name, &stream->id)
				       : ctf_skip_value(parser);
}

static bool ctf_blocks_parse_stream(struct ctf_parser *parser)
{
	struct ctf_meta *meta = parser->meta;
	struct ctf_stream *stream = ctf_take(&meta->arena, sizeof(*stream));
	struct block block = { .what = "stream",
			       .object = stream,
			       .known = " packet.context event.header event.context id " };

	stream->line = parser->token.line;
	if (!parse_block(parser, &block, parse_stream_entry))
		return false;
	if (ctf_meta_stream(meta, stream->id))
		return ctf_wrong(parser, stream->line, "there are two streams with id %llu",
				 (unsigned long long)stream->id);
	if (meta->stream_count == 4096)
		return ctf_wrong(parser, stream->line, "there are more than 4096 streams");
	meta->streams = vec_room(meta->streams, meta->stream_count, &meta->stream_cap,
				 sizeof(struct ctf_stream *));
	meta->streams[meta->stream_count++] = stream;
	return true;
}

/* ------------------------------------------------------------------ event */

static bool parse_event_entry(struct ctf_parser *parser, struct block *block, const char *name)
{
	struct ctf_event *event = block->object;

	if (strcmp(name, "context") == 0)
		return parse_scope(parser, name, &event->context);
	if (strcmp(name, "fields") == 0)
		return parse_scope(parser, name, &event->fields);
	if (!ctf_expect(parser, '='))
		return false;
	if (strcmp(name, "name") == 0)
		return ctf_blocks_parse_name(parser, &event->name);
	if (strcmp(name, "id") == 0)
		return ctf_parse_unsigned(parser, name, &event->id);
	if (strcmp(name, "stream_id") == 0)
		return ctf_parse_unsigned(parser, name, &event->stream_id);
	if (strcmp(name, "loglevel") == 0)
		return ctf_parse_signed(parser, name, &event->loglevel);
	if (strcmp(name, "model.emf.uri") == 0)
		return ctf_parse_text(parser, name, &event->emf_uri);
	return ctf_skip_value(parser);
}

static bool ctf_blocks_parse_event(struct ctf_parser *parser)
{
	struct ctf_meta *meta = parser->meta;
	struct ctf_event *event = ctf_take(&meta->arena, sizeof(*event));
	struct block block = { .what = "event",
			       .object = event,
			       .known = " context fields name id stream_id loglevel "
					"model.emf.uri " };

	event->line = parser->token.line;
	event->name = "";
	if (!parse_block(parser, &block, parse_event_entry))
		return false;
	meta->events = vec_room(meta->events, meta->event_count, &meta->event_cap,
				sizeof(struct ctf_event *));
	meta->events[meta->event_count++] = event;
	return true;
}

/* callsite: where an event stands in a program; nothing of it is kept. */
static bool parse_callsite_entry(struct ctf_parser *parser, struct block *block, const char *name)
{
	(void)block;
	(void)name;
	return ctf_expect(parser, '=') && ctf_skip_value(parser);
}

static bool parse_callsite(struct ctf_parser *parser)
{
	struct block block = { .what = "callsite" };

	return parse_block(parser, &block, parse_callsite_entry);
}

bool ctf_parse_blocks(struct ctf_parser *parser)
{
	static const struct {
		const char *word;
		bool (*parse)(struct ctf_parser *parser);
	} rows[] = {
		{ "trace", ctf_blocks_parse_trace }, { "env", parse_env },
		{ "clock", ctf_blocks_parse_clock }, { "stream", ctf_blocks_parse_stream },
		{ "event", ctf_blocks_parse_event }, { "callsite", parse_callsite },
	};

	while (parser->token.kind != CTF_TOKEN_END) {
		size_t i = 0;
		bool any;

		if (ctf_accept(parser, ';'))
			continue;
		while (i < ARRAY_LEN(rows) && !ctf_is_word(parser, rows[i].word))
			i++;
		if (i < ARRAY_LEN(rows)) {
			if (!rows[i].parse(parser))
				return false;
		} else if (!ctf_parse_declaration(parser, &any)) {
			return false;
		} else if (!any) {
			return ctf_wrong(parser, parser->token.line,
					 "neither a block nor a type begins here");
		}
	}
	return parser->meta->has_trace ||
	       ctf_wrong(parser, parser->token.line, "there is no trace block");
}
